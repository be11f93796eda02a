"""Which point of one surface is which of another: landmarks, eigenfunctions, and a look from outside."""
