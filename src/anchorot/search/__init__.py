"""Many spaces in, the nearest out."""
