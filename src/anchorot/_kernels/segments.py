"""The levels of two uniform spaces on one scale."""

import numpy as np

from anchorot._typing import Float64s, Int64s


def common_segments(levels_x: int, levels_y: int) -> tuple[Int64s, Int64s, Float64s]:
    """Common refinement of {k / levels_x} and {l / levels_y}: k, l and width of each segment of [0, 1]."""
    cuts = np.union1d(np.arange(levels_x + 1) * levels_y, np.arange(levels_y + 1) * levels_x)
    return cuts[:-1] // levels_y, cuts[:-1] // levels_x, np.diff(cuts) / (levels_x * levels_y)
