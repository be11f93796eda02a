"""How the Anchor Energy of samples approaches that of what they were drawn from."""
