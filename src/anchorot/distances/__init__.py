"""Two spaces in, a number or a plan out."""
