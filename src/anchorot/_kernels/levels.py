"""Levels: those of two uniform spaces on one scale, and those that tied values share."""

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s


def common_segments(levels_x: int, levels_y: int) -> tuple[Int64s, Int64s, Float64s]:
    """Common refinement of {k / levels_x} and {l / levels_y}: k, l and width of each segment of [0, 1]."""
    cuts = np.union1d(np.arange(levels_x + 1) * levels_y, np.arange(levels_y + 1) * levels_x)
    return cuts[:-1] // levels_y, cuts[:-1] // levels_x, np.diff(cuts) / (levels_x * levels_y)


def tie_blocks(ordered: Floats) -> tuple[Int64s, Int64s]:
    """For every place of every sorted row: where the block of values equal to it begins, and where it ends."""
    place = np.arange(ordered.shape[1])
    is_first = np.ones(ordered.shape, bool)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_last = np.roll(is_first, -1, axis=1)
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    end = np.minimum.accumulate(np.where(is_last, place + 1, len(place))[:, ::-1], axis=1)[:, ::-1]
    return first, end
