"""Which point of one embedding is which of another: a map between two sets of vectors, found without pairs."""
