"""CDF heights in integers, so that sums are exact."""

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s

HEIGHT_BITS = 62
"""CDF heights are integers in units of 2**-62: sums of weights do not depend on their order, equal heights are
equal, and the unit is a thousand times finer than the rounding of a weight."""


def to_heights(weights: Float64s) -> Int64s:
    """Weights in units of 2**-62."""
    return np.rint(np.ldexp(weights, HEIGHT_BITS)).astype(np.int64)


def from_heights(heights: Int64s) -> Float64s:
    """Heights as floats in [0, 1]."""
    return np.ldexp(heights.astype(np.float64), -HEIGHT_BITS)


def heights_after(row: NDArray[np.uint32], jump: Int64s) -> Int64s:
    """Height of each event's row just after it."""
    order = np.argsort(row, kind="stable")
    total = np.cumsum(jump[order].view(np.uint64))  # may wrap around; differences stay right
    first = np.flatnonzero(np.diff(row[order], prepend=row[order[:1]] + 1))
    counts = np.diff(np.append(first, len(row)))
    before = np.append(np.uint64(0), total)[first]
    heights = np.empty(len(row), np.int64)
    heights[order] = (total - np.repeat(before, counts)).view(np.int64)
    return heights
