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


def row_order(row: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Order by row, stable. NumPy has a radix sort for 16 bits, ten times as fast."""
    narrow = len(row) > 0 and row.max() <= np.iinfo(np.uint16).max
    return np.argsort(row.astype(np.uint16) if narrow else row, kind="stable")


def heights_along(row: NDArray[np.uint32], jump: Int64s) -> Int64s:
    """Height of each event's row just after it, where events stand row by row."""
    total = np.cumsum(jump.view(np.uint64))  # may wrap around; differences stay right
    first = np.flatnonzero(np.diff(row, prepend=row[:1] + 1))
    counts = np.diff(np.append(first, len(row)))
    before = np.append(np.uint64(0), total)[first]
    return (total - np.repeat(before, counts)).view(np.int64)


def heights_after(row: NDArray[np.uint32], jump: Int64s) -> Int64s:
    """Height of each event's row just after it."""
    order = row_order(row)
    heights = np.empty(len(row), np.int64)
    heights[order] = heights_along(row[order], jump[order])
    return heights
