"""Results of searches for the nearest spaces; and the search by Gromov-Wasserstein, which lower bounds shorten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import WithFacts, card, rows
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_integer, check_list
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.rows import AnchorRows
from anchorot.distances.bounds import first_cost, third_cost
from anchorot.distances.gromov import gromov_wasserstein
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Of the square of the largest cost: bounds this near to the loss of a copy, which is 0, rule out nothing
ROUNDING = 1e-14
MAX_SHOWN = 5  # nearest spaces in a repr


@dataclass(frozen=True, eq=False, repr=False)
class Neighbors(WithFacts):
    """The nearest spaces to a query, or to each of many, nearest first; equally near ones in the order of the spaces.

    :meth:`SearchIndex.query`, :func:`~anchorot.distances.nearest_gw` and :func:`pairwise` with `k` return one.

    Attributes
    ----------
    index : ndarray of shape (k,) or (N, k)
        Which spaces: ids of an index, or places in a sequence; -1 where there are no more that can be used.
    value : ndarray of the same shape
        What they were compared by: the Anchor Energy, which is the square of a distance, the loss of
        :func:`anchorot.gromov_wasserstein`, or the value of another metric of :func:`pairwise`. NaN where the index is
        -1.
    names : tuple of k str, or None
        Their names, if they have names.
    n_exact : int
        How many times that was computed; lower bounds ruled out the rest.
    exact : bool
        Whether these are certainly the nearest, as if it had been computed for all spaces.
    n_spaces : int
        Among how many spaces they were looked for: all indices are below it.
    """

    index: Int64s
    value: Float64s
    names: tuple[str, ...] | None
    n_exact: int
    exact: bool
    n_spaces: int

    def to_sparse(self) -> csr_matrix:
        """A graph of neighbours: the matrix of all pairs, with no entries but those of the nearest.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (N, n_spaces)
            Entry (i, j) is the `value` of the neighbour j of space i, in the units of :func:`pairwise`: Anchor Energies
            are squares, and ``.sqrt()`` makes distances of them. Entries of a row are in the order of the neighbours;
            those of equal spaces are stored zeros. No space is its own neighbour, unless it is among `others`.

        Examples
        --------
        >>> import anchorot as ao
        >>> lines = [ao.from_points([[0], [1], [length]]) for length in (2, 3, 9, 10)]
        >>> graph = ao.pairwise(lines, k=1).to_sparse()
        >>> graph.shape, graph.indices.tolist()
        ((4, 4), [1, 0, 3, 2])
        """
        from scipy.sparse import csr_matrix

        index, value = np.atleast_2d(self.index), np.atleast_2d(self.value)
        ends = np.concatenate([[0], np.cumsum((index >= 0).sum(axis=1))])
        return csr_matrix((value[index >= 0], index[index >= 0], ends), shape=(len(index), self.n_spaces))

    def facts(self) -> dict[str, str]:
        """Summarise the neighbours in words; what `repr` and notebooks show."""
        if self.index.ndim == 2:
            said = {"of": f"{len(self.index)} spaces, {self.index.shape[1]} each"}
        else:
            nearest = [f"{name} at {value}" for name, value in self._found()[:MAX_SHOWN]]
            said = {"nearest": ", ".join(nearest) + ", ..." * (len(self.index) > MAX_SHOWN)}
        return said | {"result": "exact" if self.exact else "approximate", "compared exactly": str(self.n_exact)}

    def _found(self) -> list[tuple[Any, str]]:
        names = self.index.tolist() if self.names is None else self.names
        return [(name, f"{value:.6g}") for name, value in zip(names, self.value, strict=True)]

    def _repr_html_(self) -> str:
        below = "" if self.index.ndim == 2 else rows(["space", "value"], self._found())
        return card("Neighbors", self.facts(), below=below)


def nearest_gw(
    query: Space | ArrayLike,
    spaces: Sequence[Space | ArrayLike],
    k: int = 1,
    *,
    robust: bool = False,
    epsilon: float | None = None,
    start: str = "anchors",
) -> Neighbors:
    """The k spaces nearest to a query by Gromov-Wasserstein, computing it only where a lower bound allows.

    Bounds are tried from the cheapest to the dearest: eccentricities (FLB) and Sliced Anchor Wasserstein for all
    spaces, then, in the order of those, the third bound, and the loss itself only while some bound is below the k-th
    best loss found.
    What the solver finds is never below a bound, so the result is that of solving for all spaces; equal losses keep
    the order of `spaces`.

    Parameters
    ----------
    query : Space or array_like
    spaces : sequence of Space or array_like
    k : int
        How many; at most ``len(spaces)``.
    robust : bool
        Compare ranks of costs.
    epsilon : float >= 0, optional
        As in :func:`anchorot.gromov_wasserstein`, by default 0. Above 0 spaces are compared by the losses of entropic
        plans, which are not below the bounds either.
    start : str
        Where the solver begins, as in :func:`anchorot.gromov_wasserstein`.

    Returns
    -------
    Neighbors
        `index` counts the entries of `spaces`; `value` is in the scale of `gromov_wasserstein`.

    Examples
    --------
    >>> import anchorot as ao
    >>> lines = [ao.from_points([[0], [1], [length]]) for length in (2, 3, 9)]
    >>> ao.distances.nearest_gw(ao.from_points([[0], [1], [8]]), lines, k=2).index.tolist()
    [2, 1]
    """
    k, spaces = check_integer(k, "k", 1), check_list(spaces, "spaces", "space")
    if k > len(spaces):
        raise InputError(f"k={k} nearest spaces are asked for, but there are only {len(spaces)}")
    x, *others = (as_space(s, robust=robust).support() for s in [query, *spaces])
    features, rows = AnchorFeatures.of(x), AnchorRows.of(x)
    cheap = [max(first_cost(x, y, 2), features.sliced_to(AnchorFeatures.of(y), 2) ** 2) for y in others]
    rounding = ROUNDING * max(float(np.abs(y.cost).max()) for y in (x, *others)) ** 2
    found: list[tuple[float, int]] = []  # the k best losses so far, with their spaces
    n_exact = 0
    for place in np.argsort(cheap, kind="stable"):
        limit = found[-1][0] if len(found) == k else np.inf
        slack = 1e-9 * limit + rounding if np.isfinite(limit) else 0.0
        if cheap[place] > limit + slack:
            break
        if third_cost(rows, AnchorRows.of(others[place]), 2).cost > limit + slack:
            continue
        n_exact += 1
        loss = gromov_wasserstein(x, others[place], epsilon, start=start).cost
        found = sorted([*found, (loss, int(place))])[:k]
    losses, places = zip(*found, strict=True)
    return Neighbors(np.array(places), np.array(losses), None, n_exact, exact=True, n_spaces=len(spaces))
