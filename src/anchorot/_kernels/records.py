"""Arguments and results of the kernels, and the arithmetic that they share.

Records are named tuples of arrays, each with its shape and its order. Heights of CDFs are integers, so that sums are
exact; levels of two uniform spaces are brought on one scale.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float32s, Float64s, Floats, Int32s, Int64s

HEIGHT_BITS = 62
"""CDF heights are integers in units of 2**-62: sums of weights do not depend on their order, equal heights are
equal, and the unit is a thousand times finer than the rounding of a weight."""


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
    """One increasing step function of the level per row: value[i, a] up to the level end[i, a], the last being 1."""

    value: Float64s
    end: Float64s


class ShareSteps(NamedTuple):
    """At level[e] the share of point[e] rises by step[e]; every share is 0 below level 0 and above level 1."""

    level: Float64s  # ascending
    point: NDArray[np.uint32]
    step: Float64s


class LevelBlocks(NamedTuple):
    """Sorted levels of several collections one after the other, no number above the max_cost of the comparison."""

    numbers: Float64s  # of all blocks
    shape: Int64s  # (blocks, 3): where a block begins, how many levels it has, how many numbers each
    mass: Float64s  # (blocks,) of each of its numbers


class VectorLevels(NamedTuple):
    """Sorted levels whose numbers weigh what their anchors do: vectors."""

    levels: Float64s  # (levels, anchors)
    anchor: NDArray[np.uint32]  # (levels, anchors) whose each number is
    vectors: Float64s  # (anchors, size)


class WeightedLevels(NamedTuple):
    """Sorted levels whose numbers weigh what their anchors do; masses need not sum to 1."""

    levels: Float64s  # (levels, anchors)
    anchor: NDArray[np.uint32]  # (levels, anchors) whose each number is
    height: Int64s  # (anchors,) mass in units of 2**-62


class GridSpec(NamedTuple):
    """Equal cells over the range [low, high] of x and all levels t in [0, 1]."""

    cells_x: int
    cells_t: int
    low: float
    high: float


class SparseRows(NamedTuple):
    """A sparse matrix by its rows, as SciPy keeps one: row i holds the columns neighbour[start[i]:start[i + 1]]."""

    start: Int32s  # (rows + 1,)
    neighbour: Int32s  # (entries,)
    weight: Float32s  # (entries,)


class EdgeRows(NamedTuple):
    """The edges of a graph, each in both directions, by their tails."""

    start: Int32s  # (nodes + 1,)
    neighbour: Int32s  # (edges,) the head
    reverse: Int32s  # (edges,) where the same edge stands the other way round
    kind: Int32s  # (edges,)


class EdgeLanes(NamedTuple):
    """The same, with LANES nodes of about the same degree side by side, so that a kernel can work on all at once.

    Group g has the slots start[g]:start[g + 1]; a slot holds one edge of each of the group's nodes. An empty place has
    the last kind, of which all ratios are zero.
    """

    start: Int32s  # (groups + 1,)
    node: Int32s  # (groups * LANES,) -1 for none
    neighbour: Int32s  # (slots * LANES,)
    reverse: Int32s  # (slots * LANES,) a place
    kind: Int32s  # (slots * LANES,)


LANES = 16  # float32 numbers of one AVX-512 register: messages of this many nodes are computed at a time


class PairRows(NamedTuple):
    """Pairs of nodes of two graphs that may go together, by nodes of the first, the nodes of the second ascending."""

    start: Int32s  # (n + 1,)
    column: Int32s  # (pairs,) the node of the second graph
    columns: int  # m


class PairLinks(NamedTuple):
    """Links of each pair (i, j) to others: an edge (i, k) and an edge (j, l) where (k, l) is a pair too.

    They stand by pairs, then by the first edge, then by the second.
    """

    start: Int64s  # (pairs + 1,)
    target: Int32s  # (links,) the pair (k, l)
    reverse: Int32s  # (links,) the same link the other way round
    first_edge: Int32s  # (links,) the number of the edge (i, k)
    second_edge: Int32s  # (links,)


def to_heights(weights: Float64s) -> Int64s:
    """Weights in units of 2**-62."""
    return np.rint(np.ldexp(weights, HEIGHT_BITS)).astype(np.int64)


def whole_heights(weights: Float64s) -> Int64s:
    """Weights of sum 1 in units of 2**-62, of sum 2**62: an integral to a far max_cost multiplies what is missing."""
    heights = to_heights(weights)
    heights[np.argmax(heights)] += (1 << HEIGHT_BITS) - heights.sum()
    return heights


def level_heights(count: int) -> Int64s:
    """Heights of `count` equal levels, of sum 2**62."""
    return np.diff(to_heights(np.arange(count + 1) / count))


def from_heights(heights: Int64s) -> Float64s:
    """Heights as floats in [0, 1]."""
    return np.ldexp(heights.astype(np.float64), -HEIGHT_BITS)


class LowerRows(NamedTuple):
    """A symmetric sparse matrix (n, n) by rows: what stands before the diagonal, and the diagonal."""

    start: Int64s  # (n + 1,)
    column: Int32s  # (numbers,) below the number of its row
    value: Float64s  # (numbers,)
    diagonal: Float64s  # (n,)


class Factor(NamedTuple):
    """L and D of a matrix L D L' by columns: what stands below the diagonal of L, which is 1, and that of D."""

    start: Int64s  # (n + 1,)
    row: Int32s  # (numbers,)
    value: Float64s  # (numbers,)
    diagonal: Float64s  # (n,)


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
