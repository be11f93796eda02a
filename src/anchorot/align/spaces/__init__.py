"""Correspondences between the points of two spaces."""
