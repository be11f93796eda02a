"""What the types of nodes tell about classes of graphs, and whether Weisfeiler and Leman tell it better."""
