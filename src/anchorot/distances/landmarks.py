"""Landmarks that cover what has more points than a matrix of costs can hold."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import check_memory
from anchorot.space import Space

BYTES_PER_DISTANCE = 12  # for every landmark and point: rows of a side, the same in the order of matches, and some room


class Distances(Protocol):
    """What is asked of a large thing. Its points are counted by their places in `kept`."""

    @property
    def total(self) -> int:
        """Number of points, those that cannot have a match included."""

    @property
    def kept(self) -> Int64s:
        """The points that can."""

    @property
    def begin(self) -> int:
        """A point at the rim, the same however points are numbered unless several are as far out."""

    def row(self, point: int) -> Floats:
        """Distances from a point to all."""

    def space(self, index: Int64s, cost: Float64s) -> Space:
        """The space of some points, between which rows have these costs."""


class SpaceDistances:
    """A space, whose costs are there already."""

    def __init__(self, space: Space) -> None:
        self.whole = space
        self.total = space.n
        self.kept = np.flatnonzero(space.weights)

    @property
    def begin(self) -> int:
        """The point of the largest mean cost."""
        return int(np.argmax((self.whole.cost @ self.whole.weights)[self.kept]))

    def row(self, point: int) -> Floats:
        """Costs from a point to all of positive weight."""
        return self.whole.cost[self.kept[point], self.kept]

    def space(self, index: Int64s, cost: Float64s) -> Space:
        """The space of some points, with their weights; `cost` is known more exactly here."""
        return self.whole.take(self.kept[index])


class Landmarks(NamedTuple):
    """Points that cover a large thing, and their distances to all of it."""

    source: Distances
    chosen: Int64s  # (k,)
    rows: NDArray[np.float32]  # (k, n), in units of `unit`
    unit: float

    @property
    def space(self) -> Space:
        """The space of the landmarks."""
        return self.source.space(self.chosen, self.rows[:, self.chosen].astype(np.float64) * self.unit)

    def rows_of(self, points: Int64s) -> NDArray[np.float32]:
        """Distances from other points to all, in the same units."""
        found = np.empty((len(points), len(self.source.kept)), np.float32)
        for row, point in zip(found, points.tolist(), strict=True):
            np.divide(self.source.row(point), self.unit, out=row, casting="unsafe")
        return found


def farthest(source: Distances, k: int, unit: float) -> Landmarks:
    """Landmarks that cover a thing: each is the farthest from all before it. All points, in order, if there are few.

    The first is the farthest from `source.begin`, so that copies with other numbers have the same landmarks.
    """
    n = len(source.kept)
    check_memory(n, BYTES_PER_DISTANCE * min(k, n) / n, "distances to landmarks of")
    found = Landmarks(source, np.arange(min(k, n)), np.empty((min(k, n), n), np.float32), unit)
    max_cost = np.full(n, np.inf)
    point = int(np.argmax(source.row(source.begin)))
    for place in range(len(found.chosen)):
        point = place if k >= n else point
        found.chosen[place] = point
        found.rows[place] = found.rows_of(found.chosen[place : place + 1])[0]
        max_cost = np.minimum(max_cost, found.rows[place])
        max_cost[point] = -np.inf  # never twice, even where points lie on one spot
        point = int(np.argmax(max_cost))
    return found
