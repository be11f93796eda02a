"""What an alignment of two embeddings is: a map that carries on to new points, who goes with whom, and how sure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._html import card
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_finite, check_integer, check_numbers
from anchorot.align.correspondence import Correspondence, Start, sparse_plan
from anchorot.exceptions import InputError


@dataclass(frozen=True, eq=False)
class EmbeddingRival:
    """Another map between two embeddings that is about as good: of symmetric data, say, a mirror image.

    Attributes
    ----------
    matches : ndarray of shape (n,)
    objective : float
    differs : float
        Share of the first side's points that it matches otherwise.
    rotation : ndarray of shape (d, e)
    """

    matches: Int64s = field(repr=False)
    objective: float
    differs: float
    rotation: Float64s = field(repr=False)


@dataclass(frozen=True, eq=False)
class EmbeddingAlignment(Correspondence):
    """A map from one embedding to another, and which point is which after it.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        Index of every point's match, no two alike; -1 where there is none: too few points on the other side, or
        nothing that fits.
    confidence : ndarray of shape (n,)
        Estimated chance that a point's match is the right one; 0 without a match. It assumes that most points have a
        partner (where the two sides have no objects in common, a match is the nearest in kind), and is too low between
        models that are unlike each other: see the guide on embeddings.
    rotation : ndarray of shape (d, e)
        Semi-orthogonal: the rows (columns if d > e) have length 1 and are perpendicular.
    scale : float
    offset : ndarray of shape (e,)
    metric : {"cosine", "euclidean"}
    objective : float
        Mean squared distance of matched points after the map, where the second side's points have a mean squared
        distance of 1 from their mean.
    starts : tuple of Start
        All that was tried, best first.
    runner_up : EmbeddingRival or None
        Another map that is about as good; then only knowledge that is not in the embeddings can tell which is right.
    converged : bool
        Whether two starts from different points led to the same map, and rounds ended because nothing moved.
    n_second : int
    masses : callable
        What computes `soft` when that is asked for.
    """

    matches: Int64s
    confidence: Float64s
    rotation: Float64s
    scale: float
    offset: Float64s
    metric: str
    objective: float
    starts: tuple[Start, ...]
    runner_up: EmbeddingRival | None
    converged: bool
    n_second: int = field(repr=False)
    masses: Callable[[], Any] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either side."""
        return len(self.matches), self.n_second

    @cached_property
    def soft(self) -> Any:
        """Where points might belong, (n, m): rows and columns sum to at most 1. Sparse for more than 5 000 points."""
        return self.masses()

    def _masses(self, soft: bool) -> Any:
        return self.soft if soft else sparse_plan(self.matches, self.n_second)

    def transform(self, X: ArrayLike) -> Float64s:  # noqa: N803
        """Carry points of the first side over to the second, also such as were not aligned.

        Parameters
        ----------
        X : array_like of shape (k, d)

        Returns
        -------
        ndarray of shape (k, e)
            Near the rows of the second side; with ``metric="cosine"`` near these at length 1.
        """
        points = unit_rows(check_embedding(X, "X", self.rotation.shape[0]), "X", self.metric)
        return self.scale * (points @ self.rotation) + self.offset

    def inverse_transform(self, Y: ArrayLike) -> Float64s:  # noqa: N803
        """Carry points of the second side back to the first; after `transform` that is a projection.

        Parameters
        ----------
        Y : array_like of shape (k, e)
            As `transform` returns them: with ``metric="cosine"`` rows of the second side at length 1.

        Returns
        -------
        ndarray of shape (k, d)
        """
        points = check_embedding(Y, "Y", self.rotation.shape[1])
        return ((points - self.offset) @ self.rotation.T) / self.scale

    def top_k(self, k: int) -> Int64s:
        """The k points that each may belong to: its match, and then the likeliest.

        Parameters
        ----------
        k : int

        Returns
        -------
        ndarray of shape (n, k)
            Indices of points of the second side; -1 where there are not as many.
        """
        count = check_integer(k, "k", 1)
        return top_of(self.soft + 2 * self._masses(soft=False), count)

    def __repr__(self) -> str:
        n, m = self.shape
        state = "" if self.converged else ", NOT converged"
        rival = ", with a runner-up" if self.runner_up is not None else ""
        return f"EmbeddingAlignment({n} x {m} points, objective={self.objective:.4g}{state}{rival})"

    def _repr_html_(self) -> str:
        n, m = self.shape
        rival = self.runner_up
        is_matched = self.matches >= 0
        facts = {
            "points": f"{n} and {m}, {int(is_matched.sum())} matched",
            "map": f"{self.rotation.shape[0]} to {self.rotation.shape[1]} dimensions, scale {self.scale:.4g}",
            "left": f"{100 * self.objective:.4g} % of the variance",
            "confidence": f"{self.confidence[is_matched].mean() if is_matched.any() else 0:.3g} on average",
            "runner-up": "none" if rival is None else f"{rival.objective:.4g}, differs on {100 * rival.differs:.3g} %",
            "search": f"{'converged' if self.converged else 'NOT converged'}, best of {len(self.starts)} starts",
        }
        return card("EmbeddingAlignment", facts)


def check_embedding(values: ArrayLike, name: str, width: int | None = None) -> Float64s:
    """Turn rows into finite float64 numbers (n, d), of a given width if there is one."""
    array: Float64s = check_numbers(values, name).astype(np.float64)
    if array.ndim != 2 or array.shape[1] == 0 or (width is None and len(array) == 0):
        raise InputError(f"{name} has shape {array.shape}, but (n, d) is needed: one row for each point")
    if width is not None and array.shape[1] != width:
        raise InputError(f"{name} has {array.shape[1]} columns, but the points that were aligned have {width}")
    check_finite(array, name)
    return array


def unit_rows(points: Float64s, name: str, metric: str) -> Float64s:
    """Rows of length 1, where directions alone count; else as they are."""
    if metric != "cosine":
        return points
    largest = np.abs(points).max(axis=1, keepdims=True)
    if not largest.all():
        row = int(np.argmin(largest[:, 0]))
        raise InputError(f"{name}[{row}] is zero and has no direction; leave it out, or take metric='euclidean'")
    small = points / largest  # whose squares neither vanish nor overflow
    return small / np.linalg.norm(small, axis=1, keepdims=True)


def top_of(masses: Any, k: int) -> Int64s:
    """Columns of the k largest entries of every row, the largest first; -1 where there are not as many."""
    from scipy.sparse import issparse

    n, m = masses.shape
    found = np.full((n, k), -1)
    if not issparse(masses):
        count = min(k, m)
        found[:, :count] = np.argsort(-masses, axis=1, kind="stable")[:, :count]
        return found
    order = np.lexsort((-masses.data, np.repeat(np.arange(n), np.diff(masses.indptr))))
    columns = masses.indices[order]
    place = np.arange(len(columns)) - np.repeat(masses.indptr[:-1], np.diff(masses.indptr))
    kept = place < k
    found[np.repeat(np.arange(n), np.diff(masses.indptr))[kept], place[kept]] = columns[kept]
    return found
