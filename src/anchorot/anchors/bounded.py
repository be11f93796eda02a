"""What distances between vectors of a search bound: Anchor Energy, Sliced Anchor Wasserstein, or Anchor Wasserstein.

Vectors are made of averages over cells, in [0, 1]: of F(x, t) for Anchor Energy, and for the others of G(s, t), see
`signature`, cut off at the ends of the grid's range and divided by its width. In these units, with d the distance of
two spaces' averages,

    AE >= 2 (high - low) d²,     SAW_p >= (high - low) d,     AW_p = cost >= SAW_p^p >= ((high - low) d)^p

where d is the root of the mean squared difference, and the mean absolute difference for p = 1 of SAW and AW.
"""

import math
from typing import NamedTuple

import numpy as np

from anchorot._typing import Float64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid, plain_averages, signature_of

VALUE_ERROR = 1e-12  # of a computed value, in units of how far the costs reach (to the power of the value)
SHARE_ERROR = 1e-9  # of a transport cost: what its solver may stop short of
MIN_RADIUS = 1e-7  # what rounding to float32 may move a vector by
MAX_RADIUS = 4.0  # vectors are at most 2 apart, so that a larger one says no more


class BoundedMetric(NamedTuple):
    """A metric that vectors bound: "ae" with p = 1, "saw" or "aw" with p = 1 or 2."""

    metric: str = "ae"
    p: int = 1

    @property
    def is_energy(self) -> bool:
        """Whether F is averaged, over cells along x and t; else G, along s and t."""
        return self.metric == "ae"

    @property
    def is_absolute(self) -> bool:
        """Whether vectors are compared by absolute differences, not by their squares."""
        return not self.is_energy and self.p == 1

    @property
    def power(self) -> int:
        """Power of the vectors' distance in the bound."""
        return {"ae": 2, "saw": 1, "aw": self.p}[self.metric]

    def scale(self, grid: Grid) -> float:
        """What that power is multiplied with."""
        width = grid.high - grid.low
        return 2 * width if self.is_energy else width**self.power

    def averages(self, features: AnchorFeatures, grid: Grid) -> Float64s:
        """Averages over the cells of a grid, in [0, 1]."""
        if self.is_energy:
            return plain_averages(features, grid.cells)
        shares, levels = grid.shape
        costs = signature_of(features, (levels, shares)).T * math.sqrt(shares * levels)
        return np.clip((costs - grid.low) / (grid.high - grid.low), 0.0, 1.0)

    def bounds(self, gaps: Float64s, grid: Grid) -> Float64s:
        """Lower bounds of values, from distances of vectors less their radii."""
        least = self.scale(grid) * np.maximum(gaps, 0) ** self.power
        return least if self.is_energy else least * (1 - SHARE_ERROR)

    def gap(self, value: float, grid: Grid) -> float:
        """The least distance of vectors, less their radii, whose bound is at least this value."""
        most = value if self.is_energy else value * (1 + 2 * SHARE_ERROR)
        return float((most / self.scale(grid)) ** (1 / self.power))

    def rounding_radius(self, features: AnchorFeatures, grid: Grid) -> float:
        """How far the vector of a space in float32 may be from the true one, with what a computed value may lack.

        Let D be the distance of the rounded vectors of x and y, r_x and r_y their distances to the true ones, and A the
        value in units of `scale`: A^(1/power) >= D - r_x - r_y. The computed value may be less than A. For AE it is by
        VALUE_ERROR (s_x + s_y) / 2 where s is how far costs reach, in units of the range; with z = sqrt(A) -
        sqrt(VALUE_ERROR s_x) - sqrt(VALUE_ERROR s_y) >= 0 it is at least z². So the radius of x is r_x +
        sqrt(VALUE_ERROR s_x). In the same way it is r_x + sqrt(VALUE_ERROR) s_x where squares are added up, and r_x +
        VALUE_ERROR s_x for absolute differences, both with s for the size of the costs. Vectors have norms up to 1, so
        that r_x is less than MIN_RADIUS.
        """
        (low, high), width = features.span, grid.high - grid.low
        if self.is_energy:
            error = math.sqrt(VALUE_ERROR * (max(high, grid.high) - min(low, grid.low)) / width)
        else:
            size = max(map(abs, (low, high, grid.low, grid.high))) / width
            error = (VALUE_ERROR if self.is_absolute else math.sqrt(VALUE_ERROR)) * size
        return min(MIN_RADIUS + error, MAX_RADIUS)


ENERGY = BoundedMetric()
