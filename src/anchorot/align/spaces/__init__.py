"""Which point of one thing is which of another."""
