"""What passes between the kernels and their callers: named tuples of arrays, each with its shape and its order."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s


class Events(NamedTuple):
    """Every jump of every CDF of a collection of measures (the rows), by position."""

    position: Float64s  # (L,) ascending
    row: NDArray[np.uint32]  # (L,) which CDF jumps
    jump: Int64s  # (L,) by how much, in units of 2**-62
    mass: Float64s  # (rows,) weight of every row, of sum 1


class LevelMoves(NamedTuple):
    """How the quantiles of a collection of measures move as the level t rises from 0 to 1, by value.

    `PlaceMoves` say the same of numbered places, over levels or over positions.
    """

    level: Float64s  # (moves,) ascending
    row: NDArray[np.uint32]  # (moves,) which measure
    before: Float64s  # (moves,) its quantile below that level
    after: Float64s  # (moves,) and above
    start: Float64s  # (rows,) quantiles at t = 0


class PlaceMoves(NamedTuple):
    """Rows that move from place to place: CDF heights as x runs over the line, or quantiles as t runs over [0, 1].

    Places are numbered, so that many labellings of the rows can be swept together.
    """

    time: Float64s  # (L,) ascending; a row moves once at a time
    row: NDArray[np.uint32]  # (L,) which row moves
    target: NDArray[np.uint32]  # (L,) to which place
    start: NDArray[np.uint32]  # (rows,) places at the beginning
    place: Float64s  # (places,) ascending
    begin: float  # of the time; all moves lie between
    end: float


class RowItems(NamedTuple):
    """Rows belong to items, which change sides as a whole."""

    item: NDArray[np.uint32]  # (rows,)
    mass: Float64s  # (rows,) of sum 1 over the rows of an item


class StepRows(NamedTuple):
    """One increasing step function of the level a row: value[i, a] up to the level end[i, a], the last being 1."""

    value: Float64s
    end: Float64s


class ShareSteps(NamedTuple):
    """At level[e] the share of point[e] rises by step[e]; every share is 0 below level 0 and above level 1."""

    level: Float64s  # ascending
    point: NDArray[np.uint32]
    step: Float64s


class LevelBlocks(NamedTuple):
    """Sorted levels of several collections one after the other, no number above the reach they are compared up to."""

    numbers: Float64s  # of all blocks
    shape: Int64s  # (blocks, 3): where a block begins, how many levels it has, how many numbers each
    mass: Float64s  # (blocks,) of each of its numbers


class VectorLevels(NamedTuple):
    """Sorted levels whose numbers weigh what their anchors do: vectors."""

    levels: Float64s  # (levels, anchors)
    anchor: NDArray[np.uint32]  # (levels, anchors) whose each number is
    vectors: Float64s  # (anchors, size)


class GridSpec(NamedTuple):
    """Equal cells over the range [low, high] of x and all levels t in [0, 1]."""

    cells_x: int
    cells_t: int
    low: float
    high: float
