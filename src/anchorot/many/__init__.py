"""Many spaces or files in, a matrix or files of spaces out."""
