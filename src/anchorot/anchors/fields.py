"""Fields of view: what is known of spaces whose points are a sample of a larger pattern, such as cells of a tissue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anchorot._typing import Floats

if TYPE_CHECKING:
    from anchorot.space import Space

NEIGHBOR = 10  # whose median distance is the default of max_cost: the best on average of 22 simulated designs


class Field(NamedTuple):
    """A field of view at a glance."""

    area: float
    near: float  # NaN if unknown; median over the points of the cost to the 10th nearest other point
    counts: dict[Hashable, int]  # points of each type; of the type None, if they have none

    @property
    def n_points(self) -> int:
        """Number of points."""
        return sum(self.counts.values())

    @classmethod
    def of(cls, space: Space, *, near: bool = True) -> Field | None:
        """Look at the points of positive weight of a space; None if its area is unknown."""
        if space.area is None:
            return None
        seen = space.support()
        distance = _median_near(seen.cost) if near else math.nan
        return cls(space.area, distance, dict(Counter(seen.types or (None,) * seen.n)))


def _median_near(cost: Floats) -> float:
    """Median over the points of the cost to the 10th nearest other, or to the farthest of fewer."""
    n = len(cost)
    if n == 1:
        return float(cost[0, 0])
    others = cost[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    place = min(NEIGHBOR, n - 1) - 1
    return float(np.median(np.partition(others, place, axis=1)[:, place]))


def local_cost(fields: Iterable[Field | None]) -> float | None:
    """Return the default of max_cost, the median over the fields of `near`; None without fields."""
    near = [field.near for field in fields if field is not None]
    return float(np.median(near)) if near else None
