"""Rows: the costs of each of n points to its k nearest, to landmarks or to anything else, without a square matrix."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from anchorot._kernels.records import from_heights, to_heights
from anchorot._points import WeightedPoints, read_only
from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import (
    as_array,
    check_choice,
    check_finite,
    check_free_memory,
    check_integer,
    check_numbers,
    check_positive,
    check_types,
    check_weights,
    point_values,
    uniform_weights,
)
from anchorot.exceptions import InputError, printable
from anchorot.provenance import Origin

TREE_METRICS = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}  # and their powers, as a k-d tree has them
QUERY_ROWS = 1 << 14  # points whose neighbours are looked up at a time: 26 MB at k = 100
ROUNDING = 1e-12  # of the largest cost: rows that differ by less are equal but for rounding


class Rows(WeightedPoints):
    """The costs of n weighted points, k each: enough for Anchor Energy and its family, without a square matrix.

    Distances to the k nearest points, for clouds too large for a matrix (:meth:`from_points`) and for crystals, which
    are infinite (:func:`from_crystal`), or to k landmarks. The order within a row does not matter. Functions that
    compare spaces by their anchors accept them too: :func:`anchor_energy`, :func:`sliced_anchor_wasserstein`,
    :func:`anchor_wasserstein`, :func:`signature`, :func:`pairwise`, :func:`duplicates`, tests and estimators. Rows of
    different k can be compared; all columns count equally.

    Parameters
    ----------
    values : array_like of shape (n, k)
        Row i holds the costs of point i: finite float64 or float32 numbers.
    weights : array_like of shape (n,), optional
        Of the points: non-negative, of sum 1 within 1e-6. Uniform by default.
    types : iterable of n hashable objects, optional
        The type of each point, such as an element. Distances use them with ``attributes="types"``.
    column_types : iterable of k hashable objects, optional
        The type of the points that each column is about; needed with `types`.
    origin : Origin, optional
        The file that the rows were read from.
    copy : bool
        Copy `values`. With ``copy=False`` they are shared and must not be changed later.

    Examples
    --------
    >>> import anchorot as ao
    >>> path, ring = ao.Rows([[1, 2], [1, 1], [1, 2]]), ao.Rows([[1, 1]])
    >>> ao.sliced_anchor_wasserstein(path, ring) == 1 / 3
    True
    >>> ao.Rows([[1, 2], [1, 1]], [2 / 3, 1 / 3])
    Rows(n=2, k=2, weighted, float64)
    """

    not_a_space: ClassVar[str] = (
        "rows lack the square matrix that this needs; they serve anchor_energy, sliced_anchor_wasserstein, "
        "anchor_wasserstein, pairwise (metrics 'ae', 'saw', 'aw') and duplicates"
    )

    def __init__(
        self,
        values: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        types: Iterable[Hashable] | None = None,
        column_types: Iterable[Hashable] | None = None,
        origin: Origin | None = None,
        copy: bool = True,
    ) -> None:
        checked = check_numbers(values, "values")
        if checked.ndim != 2 or 0 in checked.shape:
            raise InputError(f"values has shape {checked.shape}, but rows (n, k) with n >= 1 and k >= 1 are needed")
        check_finite(checked, "values")
        checked = np.ascontiguousarray(checked)
        if copy and np.may_share_memory(checked, as_array(values, "values")):
            checked = checked.copy()
        n, k = checked.shape
        self._values = read_only(checked)
        self._weights = read_only(uniform_weights(n) if weights is None else check_weights(weights, n, "values"))
        self._types = None if types is None else check_types(types, n, "values")
        self._column_types = None if column_types is None else _check_column_types(column_types, k)
        self._origin = origin

    @classmethod
    def from_points(
        cls,
        points: ArrayLike,
        k: int,
        metric: str = "euclidean",
        *,
        weights: ArrayLike | None = None,
        types: Iterable[Hashable] | None = None,
        dtype: DTypeLike = "float64",
        threads: int = 1,
    ) -> Rows:
        """Return the distances of every point of a cloud to its k nearest others, by a k-d tree; exact.

        A point does not count itself. O(n k) memory: a million points take 0.8 GB at k = 100, half in float32.

        Parameters
        ----------
        points : array_like of shape (n, d)
        k : int
            Below n. At n - 1 these are the rows of the square matrix without its diagonal.
        metric : {"euclidean", "cityblock", "chebyshev"}
        weights : array_like of shape (n,), optional
        types : iterable of n hashable objects, optional
            Every point then has the k nearest of each type, and k is below the number of points of each.
        dtype : float64 or float32
            Of the distances that are kept.
        threads : int
            The result does not depend on it.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.Rows.from_points([[0, 0], [3, 4], [0, 1]], k=1).values.tolist()
        [[1.0], [4.242640687119285], [1.0]]
        """
        x: Float64s = check_numbers(points, "points").astype(np.float64, copy=False)
        if x.ndim != 2 or 0 in x.shape:
            raise InputError(f"points has shape {x.shape}, but (n, d) with n >= 1 and d >= 1 is needed")
        check_finite(x, "points")
        k, power = check_integer(k, "k", 1), TREE_METRICS[check_choice(metric, "metric", tuple(TREE_METRICS))]
        if np.dtype(dtype) not in (np.float64, np.float32):
            raise InputError(f"dtype must be float64 or float32, but got {np.dtype(dtype)}")
        kinds = None if types is None else check_types(types, len(x), "points")
        groups = {None: np.arange(len(x))} if kinds is None else _members(kinds)
        fewest = min(map(len, groups.values()))
        if k >= fewest:
            of = "points" if kinds is None else "points of one type"
            raise InputError(f"k must be below the number of {of}, but got k={k} for {fewest}")
        size = len(x) * k * len(groups) * np.dtype(dtype).itemsize
        check_free_memory(size, f"distances of {len(x)} points to {k} others", "keep fewer points, or take a smaller k")
        values = np.empty((len(x), k * len(groups)), dtype)
        for place, members in enumerate(groups.values()):
            _nearest(x, members, power, threads, values[:, place * k : (place + 1) * k])
        check_finite(values, "distances between points")
        columns = None if kinds is None else [kind for kind in groups for _ in range(k)]
        return cls(values, weights, types=kinds, column_types=columns, copy=False)

    @property
    def k(self) -> int:
        """Number of costs of each point."""
        return self._values.shape[1]

    @property
    def values(self) -> Floats:
        """Costs, shape (n, k), read-only; row i holds those of point i."""
        return self._values

    @property
    def column_types(self) -> tuple[Hashable, ...] | None:
        """Type of the points that each column is about, if known."""
        return self._column_types

    def support(self) -> Rows:
        """Return the rows of the points of positive weight; the others change no distance."""
        return self if self._weights.all() else self._take(np.flatnonzero(self._weights), self._weights)

    def ranked(self) -> Rows:
        """Return the robust form: every cost replaced by the share of all costs, by weight, that are smaller.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.Rows([[5, 7], [7, 9]]).ranked().values.tolist()
        [[0.0, 0.25], [0.25, 0.75]]
        """
        order = np.argsort(self._values, axis=None, kind="stable")
        ordered = self._values.ravel()[order]
        first = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)
        if self.is_uniform:
            below = first / order.size
        else:  # integers: their sums do not depend on the order
            heights = to_heights(self._weights / self.k)[order // self.k]
            below = from_heights(np.append(0, np.cumsum(heights))[first])
        ranks = np.empty(order.size)
        ranks[order] = np.repeat(below, np.diff(first, append=order.size))
        return self._with(_values=read_only(ranks.reshape(self._values.shape)))

    def reaching(self, max_cost: float) -> Rows:
        """Return the same rows with costs above `max_cost` replaced by it."""
        if float(self._values.max()) <= max_cost:
            return self
        return self._with(_values=read_only(np.minimum(self._values, np.float64(max_cost))))

    def merged(self, tolerance: float | None = None) -> Rows:
        """Return the rows with equal ones merged: one stays of each kind, and their weights add up.

        Distances stay what they are, but rows are fewer: equivalent atoms of a crystal see the same.

        Parameters
        ----------
        tolerance : float, optional
            Rows are merged whose sorted costs differ nowhere by more than this; no distance changes by more. By
            default 1e-12 of the largest cost, for rounding.

        Examples
        --------
        >>> import anchorot as ao
        >>> path = ao.Rows([[1, 2], [1, 1], [2, 1]]).merged()
        >>> path.values.tolist(), path.weights.round(3).tolist()
        ([[1.0, 1.0], [1.0, 2.0]], [0.333, 0.667])
        """
        limit = ROUNDING * float(np.abs(self._values).max())
        limit = limit if tolerance is None else check_positive(tolerance, "tolerance")
        if self.n == 1:
            return self
        seen = self._sorted_by_type()
        codes = np.zeros(self.n, np.int64) if self._types is None else _codes(self._types)
        order = np.lexsort((*seen.T[::-1], seen.sum(axis=1), codes))  # different rows may have one sum
        ordered = seen[order]
        apart = (np.abs(np.diff(ordered, axis=0)) > limit).any(axis=1) | (np.diff(codes[order]) != 0)
        if apart.all():
            return self
        first = np.append(0, np.flatnonzero(apart) + 1)
        return self._take(order[first], np.add.reduceat(self._weights[order], first))

    def _sorted_by_type(self) -> Floats:
        """What each point sees in order: of every type of columns apart."""
        if self._column_types is None:
            return np.sort(self._values, axis=1)
        groups = _members(self._column_types).values()
        return np.concatenate([np.sort(self._values[:, columns], axis=1) for columns in groups], axis=1)

    def _take(self, index: Int64s, weights: Float64s) -> Rows:
        """Some of the rows, with weights for each of them, or of all rows."""
        own = weights if len(weights) == len(index) else weights[index]
        types = None if self._types is None else [self._types[i] for i in index]
        rest: dict[str, Any] = {"types": types, "column_types": self._column_types, "origin": self._origin}
        return Rows(self._values[index], own / own.sum(), **rest, copy=False)

    def __repr__(self) -> str:
        kind = "uniform" if self.is_uniform else "weighted"
        types = "" if self._types is None else f", types={len(set(self._types))}"
        origin = "" if self._origin is None else f", from {printable(self._origin.name)}"
        return f"Rows(n={self.n}, k={self.k}, {kind}, {self._values.dtype}{types}{origin})"


def _nearest(x: Float64s, members: Int64s, power: float, threads: int, out: Floats) -> None:
    """Distances of all points to the nearest of some, themselves left out; as many as there are columns."""
    from scipy.spatial import cKDTree

    tree = cKDTree(x[members])
    k = out.shape[1]
    own = np.zeros(len(x), bool)
    own[members] = True
    for start in range(0, len(x), QUERY_ROWS):
        block = slice(start, start + QUERY_ROWS)
        found = tree.query(x[block], k + 1, p=power, workers=threads)[0]
        # a point among its members is at 0 from itself, and so is the first that is found
        with np.errstate(over="ignore"):
            out[block] = np.where(own[block, None], found[:, 1:], found[:, :-1])


def _members(kinds: tuple[Hashable, ...]) -> dict[Hashable, Int64s]:
    """Where each type occurs, types in the order of their first occurrence."""
    found: dict[Hashable, list[int]] = {}
    for place, kind in enumerate(kinds):
        found.setdefault(kind, []).append(place)
    return {kind: np.array(places) for kind, places in found.items()}


def _codes(kinds: tuple[Hashable, ...]) -> Int64s:
    number = {kind: code for code, kind in enumerate(dict.fromkeys(kinds))}
    return np.array([number[kind] for kind in kinds])


def _check_column_types(kinds: Iterable[Hashable], k: int) -> tuple[Hashable, ...]:
    found = point_values(kinds, "column_types")
    if len(found) != k:
        raise InputError(f"column_types has {len(found)} entries, but values has {k} columns")
    return check_types(found, k)
