"""Correspondences between two spaces, graphs, meshes or embeddings: which point matches which."""
