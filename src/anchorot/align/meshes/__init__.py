"""Correspondences between two surfaces, from landmarks, eigenfunctions and the outward orientation."""
