"""Many spaces in, a matrix out."""
