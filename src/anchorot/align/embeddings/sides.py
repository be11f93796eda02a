"""The two sides of an alignment: their points, centred, in one unit, and in the directions in which they vary."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Int64s
from anchorot.exceptions import InputError

MIN_SPREAD = 1e-13  # of the largest variance of a direction: those below are rounding
MIN_LENGTH = 1e-9  # of the root mean square: a shorter row has no direction


class Side(NamedTuple):
    """Points of one side with mean 0, in units of their root mean square distance from it."""

    points: Float64s  # (n, r), in their main directions, r at most min(d, n - 1)
    axes: Float64s  # (d, r), columns orthonormal: those directions
    mean: Float64s  # (d,)
    unit: float
    order: Int64s  # by distance from the mean, so that neither numbers nor rotations decide which points are drawn
    before: Side | None = None  # the side whose points were brought to length 1, if this is of directions

    @classmethod
    def of(cls, rows: Float64s) -> Self:
        """Centre and scale rows, and leave out directions in which they do not vary."""
        size = unit_of(float(np.abs(rows).max()))  # in which sums of the largest numbers do not overflow
        small = rows / size
        mean = small.mean(axis=0)
        centred = small - mean
        largest = float(np.abs(centred).max()) or 1.0
        unit = largest * float(np.sqrt(np.square(centred / largest).sum(axis=1).mean())) or 1.0
        points = centred / unit
        axes = main_directions(points)
        points = points @ axes
        return cls(points, axes, mean * size, unit * size, _by_distance(points))

    def directions(self) -> Self:
        """The same points at length 1, seen from their mean; a point in the middle stays there."""
        return type(self).of(at_length_one(self.points))._replace(before=self)

    @classmethod
    def of_cosines(cls, rows: Float64s) -> Self:
        """Rows at length 1, seen from the origin; then as `of`."""
        size = unit_of(float(np.abs(rows).max()))
        n, d = rows.shape
        return cls(rows / size, np.eye(d), np.zeros(d), size, np.arange(n)).directions()

    @property
    def basis(self) -> Float64s:
        """(d, r): the directions of the points among those of the given rows."""
        return self.axes if self.before is None else self.before.basis @ self.axes

    def place(self, rows: Float64s) -> Float64s:
        """Bring further rows (k, d) to where the points are (k, r)."""
        if self.before is not None:
            rows = at_length_one(self.before.place(rows))
        return (rows / self.unit - self.mean / self.unit) @ self.axes

    def at(self, chosen: Int64s) -> Self:
        """Some of the points."""
        points = self.points[chosen]
        return self._replace(points=points, order=_by_distance(points))

    def draw(self, count: int, rng: np.random.Generator) -> Int64s:
        """Some of the points, all in their order if there are few."""
        n = len(self.points)
        return self.order if count >= n else self.order[np.sort(rng.choice(n, count, replace=False))]


class Sides(NamedTuple):
    """Both sides, compared in one kind of rows."""

    rows: str  # "unit" or "raw"; "cosine" where rows at length 1 are seen from the origin
    x: Side
    y: Side

    @property
    def n_directions(self) -> int:
        """Number of common directions."""
        return min(self.x.points.shape[1], self.y.points.shape[1])

    @property
    def n_points(self) -> int:
        """Points of the larger side."""
        return max(len(self.x.points), len(self.y.points))


def _by_distance(points: Float64s) -> Int64s:
    return np.argsort(np.square(points).sum(axis=1).round(9), kind="stable")


def at_length_one(points: Float64s) -> Float64s:
    """Points at length 1; those of nearly no length at 0."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return np.divide(points, length, out=np.zeros_like(points), where=length > MIN_LENGTH)


def main_directions(points: Float64s) -> Float64s:
    """(d, r): the directions in which centred points vary, those of the largest variance first; at least one."""
    n, d = points.shape
    if d <= n:
        values, vectors = np.linalg.eigh(points.T @ points)
        kept = values > MIN_SPREAD * max(values[-1], np.finfo(float).tiny)
        basis = vectors[:, kept][:, ::-1]
    else:
        values, vectors = np.linalg.eigh(points @ points.T)
        kept = values > MIN_SPREAD * max(values[-1], np.finfo(float).tiny)
        basis = np.linalg.qr(points.T @ (vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1])[0]
    return basis if basis.shape[1] else np.eye(d, 1)


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
