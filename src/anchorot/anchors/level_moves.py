"""Quantiles of collections of measures as the level rises: their mean, and how those of two move together."""

import numpy as np

from anchorot._kernels.records import LevelMoves
from anchorot._typing import Floats
from anchorot.anchors.line import StepFunction

BLOCK_NUMBERS = 1 << 18  # averaged at a time: 2 MB of temporary numbers


def mean_of_levels(levels: Floats) -> StepFunction:
    """Mean quantile function from a matrix whose row k holds the anchors' quantiles at level k, in any order."""
    count, anchors = levels.shape
    origin = float(levels[count // 2, 0])
    value = np.empty(count)
    step = max(1, BLOCK_NUMBERS // anchors)
    for start in range(0, count, step):
        block = slice(start, start + step)
        with np.errstate(over="ignore", invalid="ignore"):
            value[block] = np.subtract(levels[block], origin, dtype=np.float64).mean(axis=1)
    return StepFunction(value, np.arange(1, count + 1) / count, origin)


def merged_moves(x: LevelMoves, y: LevelMoves) -> LevelMoves:
    """Moves of the rows of two collections, those of y numbered after those of x."""
    order = np.argsort(np.concatenate([x.level, y.level]), kind="stable")  # which sees that both are sorted
    row = np.concatenate([x.row, y.row + np.uint32(len(x.start))])[order]
    sides = (x.level, y.level), (x.before, y.before), (x.after, y.after)
    level, before, after = (np.concatenate(side)[order] for side in sides)
    return LevelMoves(level, row, before, after, np.concatenate([x.start, y.start]))
