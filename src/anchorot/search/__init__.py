"""Vectors of spaces, and an index of many spaces that finds the nearest ones."""

from anchorot.search.projections import embedded_energy

__all__ = ["embedded_energy"]
