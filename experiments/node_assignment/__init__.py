"""Does the Anchor Energy Plan match nodes of like role in two random graphs? The paper's figure 5."""
