"""Quantiles of a collection of measures as the level rises: how they move, their mean, and their energy for p >= 3."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.numpy.sweep import block_sweep
from anchorot._typing import Float64s, Floats
from anchorot.anchors.line import StepFunction

BLOCK_NUMBERS = 1 << 18  # averaged at a time: 2 MB of temporary numbers


class LevelMoves(NamedTuple):
    """How the quantiles of a collection of measures move as the level t rises from 0 to 1, by value.

    The kernels' `PlaceMoves` say the same of numbered places, over levels or over positions.
    """

    level: Float64s  # (moves,) ascending
    row: NDArray[np.uint32]  # (moves,) which measure
    before: Float64s  # (moves,) its quantile below that level
    after: Float64s  # (moves,) and above
    start: Float64s  # (rows,) quantiles at t = 0


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


@np.errstate(over="ignore", invalid="ignore")
def sweep_levels(x: LevelMoves, y: LevelMoves, mass_x: Float64s, mass_y: Float64s, p: int) -> float:
    """Integrate the energy distance at level t over t in [0, 1], as quantiles move one at a time."""
    order = np.argsort(np.concatenate([x.level, y.level]), kind="stable")

    def merged(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.concatenate([a, b])[order]

    return block_sweep(
        time=merged(x.level, y.level),
        row=merged(x.row, y.row + np.uint32(len(mass_x))),
        before=merged(x.before, y.before),
        after=merged(x.after, y.after),
        start=np.concatenate([x.start, y.start]),
        signed_mass=np.concatenate([mass_x, -mass_y]),
        p=p,
        span=(0.0, 1.0),
    )
