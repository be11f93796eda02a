"""Nearest-neighbour search in large collections of spaces."""

from anchorot.search.projections import embedded_energy

__all__ = ["embedded_energy"]
