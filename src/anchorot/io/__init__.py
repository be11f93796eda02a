"""Spaces from what people have: points and files."""

from anchorot.io.files import read, write
from anchorot.io.points import from_points

__all__ = ["from_points", "read", "write"]
