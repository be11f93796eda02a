"""Blocks of equal values in sorted rows."""

import numpy as np

from anchorot._typing import Floats, Int64s


def tie_blocks(ordered: Floats) -> tuple[Int64s, Int64s]:
    """For every place of every sorted row: where the block of values equal to it begins, and where it ends."""
    place = np.arange(ordered.shape[1])
    is_first = np.ones(ordered.shape, bool)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_last = np.roll(is_first, -1, axis=1)
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    end = np.minimum.accumulate(np.where(is_last, place + 1, len(place))[:, ::-1], axis=1)[:, ::-1]
    return first, end
