"""What an alignment of two embeddings is: a map that takes new points too, matches, and their confidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import check_finite, check_numbers
from anchorot.align.correspondence import Candidate, Correspondence
from anchorot.align.embeddings.pairs import pairs_of
from anchorot.exceptions import InputError


class BlurredPairs(NamedTuple):
    """Points of both sides after the map, and how far apart points may be that might belong together."""

    points: Floats
    others: Floats
    temperature: float  # of squared distances
    device: str | None

    def shares(self) -> Any:
        """Where points might belong, by their distances after the map."""
        return pairs_of(self.points, self.others, self.device).shares(self.temperature)


@dataclass(frozen=True, eq=False, repr=False)
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
    candidates : tuple of Candidate
        The maps that were compared, best first; their `objective` is that of all points where they were fitted to all,
        and else that of a sample. The runner-up's `details` have its `rotation`.
    runner_up : Candidate or None
        Another map that is about as good, of symmetric data a mirror image, say; then only knowledge that is not in the
        embeddings can tell which is right.
    converged : bool
        Whether rounds of assignment and rotation ended because matches stayed.
    n_second : int
    reliable : None
        Not estimated for embeddings.
    """

    matches: Int64s
    confidence: Float64s
    rotation: Float64s
    scale: float
    offset: Float64s
    metric: str
    objective: float
    candidates: tuple[Candidate, ...]
    runner_up: Candidate | None
    converged: bool
    n_second: int = field(repr=False)
    _blurred: BlurredPairs = field(repr=False)
    reliable: float | None = None

    method = "align_embeddings"
    is_one_to_one = True
    is_map = False
    numbers = ("objective", "scale", "metric")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either side."""
        return len(self.matches), self.n_second

    def soft(self, candidate: Candidate | None = None) -> Any:
        """Where points might belong, (n, m): rows and columns sum to at most 1. Sparse for more than 5 000 points."""
        return self._blurred.shares() if candidate is None else super().soft(candidate)

    def _own_facts(self, full: bool) -> dict[str, str]:
        dims = " to ".join(str(size) for size in self.rotation.shape)
        return {
            "map": f"{dims} dimensions, scale {self.scale:.4g}, {self.metric}",
            "left after the map": f"{self.objective:.1%} of the variance",
        }

    def transform(self, x: ArrayLike) -> Float64s:
        """Carry points of the first side over to the second, also such as were not aligned.

        Parameters
        ----------
        x : array_like of shape (k, d)

        Returns
        -------
        ndarray of shape (k, e)
            Near the rows of the second side; with ``metric="cosine"`` near these at length 1.
        """
        points = unit_rows(check_embedding(x, "x", self.rotation.shape[0]), "x", self.metric)
        return self.scale * (points @ self.rotation) + self.offset

    def inverse_transform(self, y: ArrayLike) -> Float64s:
        """Carry points of the second side back to the first; after `transform` that is a projection.

        Parameters
        ----------
        y : array_like of shape (k, e)
            As `transform` returns them: with ``metric="cosine"`` rows of the second side at length 1.

        Returns
        -------
        ndarray of shape (k, d)
        """
        points = check_embedding(y, "y", self.rotation.shape[1])
        return ((points - self.offset) @ self.rotation.T) / self.scale


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
