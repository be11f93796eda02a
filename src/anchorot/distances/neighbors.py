"""What every search for nearest spaces returns."""

from __future__ import annotations

from dataclasses import dataclass

from anchorot._html import card, rows
from anchorot._typing import Float64s, Int64s


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest spaces to a query, nearest first; equally near ones in the order in which they were given.

    :meth:`SearchIndex.query` and :func:`nearest_gw` return one.

    Attributes
    ----------
    index : ndarray of shape (k,)
        Which spaces: ids of an index, or places in a sequence.
    distance : ndarray of shape (k,)
        What they were compared by: the Anchor Energy to the query (the square of a distance), or the loss of
        `gromov_wasserstein`.
    names : tuple of k str, or None
        Their names, if they have names.
    n_exact : int
        How many times that was computed; lower bounds ruled out the rest.
    exact : bool
        Whether the answer is proved to be that of computing it for all spaces.
    """

    index: Int64s
    distance: Float64s
    names: tuple[str, ...] | None
    n_exact: int
    exact: bool

    def _repr_html_(self) -> str:
        names = self.index.tolist() if self.names is None else self.names
        found = [[name, f"{value:.6g}"] for name, value in zip(names, self.distance, strict=True)]
        told = {"answer": "proved" if self.exact else "not proved", "compared exactly": self.n_exact}
        return card("Neighbors", told, below=rows(["space", "distance"], found))
