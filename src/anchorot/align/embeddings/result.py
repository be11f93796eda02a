"""What an alignment of two embeddings is: a map that takes new points too, matches, and their confidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import check_finite, check_integer, check_numbers
from anchorot.align.correspondence import Candidate, Correspondence
from anchorot.align.embeddings.candidates import Map
from anchorot.align.embeddings.labels import concentration, effective_votes, shrunk
from anchorot.align.embeddings.pairs import BlurredPairs
from anchorot.align.embeddings.retrieval import crowding, ranked
from anchorot.align.embeddings.sides import Sides, unit_rows
from anchorot.align.plans import carried_labels, encode_labels
from anchorot.exceptions import InputError


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingAlignment(Correspondence):
    """A map from one embedding to another, and which point is which after it.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        Index of every point's match, no two alike; -1 where there is none: too few points on the other side, or
        nothing that fits.
    confidence : ndarray of shape (n,)
        Estimated chance that a point's match is the right one; 0 without a match, 1 for `seeds`. It is computed by maps
        that did not see the point, and assumes that most points have a partner: where the two sides have no objects in
        common, a match is the nearest in kind.
    reliable : float
        Estimated chance that the map is right, see :class:`Correspondence`. It is low where held-out points do not
        confirm the map and the two clouds do not lie in each other after it, and where other maps, of directions or of
        positions, explain the two sides about as well.
    rotation : ndarray of shape (d, e)
        Semi-orthogonal: the rows (columns if d > e) have length 1 and are perpendicular; directions in which the points
        of a side do not vary have no part in it.
    scale : float
    offset : ndarray of shape (e,)
    metric : {"auto", "cosine", "euclidean"}
        As it was asked for.
    rows : {"unit", "raw"}
        What was compared at the end: directions alone, or positions.
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
    """

    matches: Int64s
    confidence: Float64s
    reliable: float
    rotation: Float64s
    scale: float
    offset: Float64s
    metric: str
    rows: str
    objective: float
    candidates: tuple[Candidate, ...]
    runner_up: Candidate | None
    converged: bool
    n_second: int = field(repr=False)
    _sides: Sides = field(repr=False)
    _map: Map = field(repr=False)  # of these sides
    _voting: tuple[tuple[BlurredPairs, float], ...] = field(repr=False)  # plausible maps, and their weights

    method = "align_embeddings"
    is_one_to_one = True
    is_map = False
    numbers = ("objective", "scale", "metric", "rows")
    remedies = "known pairs (seeds=), another metric or more points may help"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either side."""
        return len(self.matches), self.n_second

    def soft(self, candidate: Candidate | None = None) -> Any:
        """Where points might belong, (n, m): rows and columns sum to at most 1. Sparse for more than 5 000 points.

        All maps that explain the two sides about as well have a part in it.
        """
        if candidate is not None:
            return super().soft(candidate)
        first, *others = self._voting
        found = first[0].shares() * first[1]
        for pairs, weight in others:
            found = found + pairs.shares() * weight
        return found

    def transfer(
        self, labels: Iterable[Any], *, onto: str = "first", soft: bool = True
    ) -> tuple[NDArray[Any], Float64s]:
        """Give each point of one side the label of the other side's points that most of its mass goes to.

        As :meth:`anchorot.Correspondence.transfer`, but all maps that explain the two sides about as well have a vote,
        and the share is the estimated chance that the label is right. Where the map is right (`reliable`), that is the
        share of the votes, the more so the more votes there are and the more often neighbours have the same label, see
        `anchorot.align.embeddings.labels`; where it is not, how common the label is.
        """
        masses = self._masses_onto(onto, soft)
        kinds, codes = encode_labels(labels, masses.shape[1])
        found, share = carried_labels(masses, kinds[codes])
        common = dict(zip(kinds.tolist(), np.bincount(codes) / len(codes), strict=True))
        by_chance = np.array([common.get(label, 0.0) for label in found.tolist()])
        places = self._voting[0][0]
        goals, labelled = (places.points, places.others) if onto == "first" else (places.others, places.points)
        strength = concentration(goals, labelled, codes, places.device)
        chance = shrunk(share, effective_votes(masses), by_chance, strength)
        return found, np.where(share > 0, self.reliable * chance + (1 - self.reliable) * by_chance, 0.0)

    def top_k(self, k: int) -> Int64s:
        """The k points that each may belong to: its match, then the nearest after the map, corrected for hubs (CSLS).

        Parameters
        ----------
        k : int

        Returns
        -------
        ndarray of shape (n, k)
            Indices of points of the second side; -1 where there are fewer.
        """
        count = check_integer(k, "k", 1)
        near = self._nearest(self._map.map_first(self._sides.x.points), count + 1)
        is_match = near == self.matches[:, None]
        order = np.argsort(np.where(is_match, -1, np.arange(near.shape[1])), axis=1, kind="stable")
        rest = np.take_along_axis(near, order, axis=1)
        has_match = self.matches >= 0
        is_missing = has_match & ~is_match.any(axis=1)
        rest[is_missing] = np.concatenate([self.matches[is_missing, None], rest[is_missing][:, :-1]], axis=1)
        found = np.full((len(near), count), -1)
        width = min(count, self.n_second)
        found[:, :width] = rest[:, :width]
        return found

    def retrieve(self, x: ArrayLike, k: int = 1) -> Int64s:
        """Points of the second side that are nearest to further points of the first, corrected for hubs (CSLS).

        Parameters
        ----------
        x : array_like of shape (l, d)
            Rows of the first side's kind, also such as were not aligned.
        k : int

        Returns
        -------
        ndarray of shape (l, k)
            Indices of points of the second side, the nearest first; as many as there are if these are fewer than k.
        """
        count = check_integer(k, "k", 1)
        points = unit_rows(check_embedding(x, "x", self.rotation.shape[0]), "x", self.metric)
        return self._nearest(self._map.map_first(self._sides.x.place(points)), count)

    def _nearest(self, moved: Floats, k: int) -> Int64s:
        aligned, others = self._map.map_first(self._sides.x.points), self._map.map_second(self._sides.y.points)
        return ranked(moved, others, crowding(others, aligned, self._voting[0][0].device), k)

    def _own_facts(self, full: bool) -> dict[str, str]:
        dims = " to ".join(str(size) for size in self.rotation.shape)
        return {
            "map": f"{dims} dimensions, scale {self.scale:.4g}, {self.metric}, {self.rows} rows",
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
