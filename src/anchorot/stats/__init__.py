"""Collections in, a p-value out."""
