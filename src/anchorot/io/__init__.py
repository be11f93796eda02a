"""Spaces from what people have: points, graphs, meshes, neurons, cells, and files of them."""
