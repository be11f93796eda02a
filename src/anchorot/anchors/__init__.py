"""A space as measures on the line: its anchors, sorted once and compared many times."""
