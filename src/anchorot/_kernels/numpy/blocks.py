"""Level by level in blocks, in NumPy: marked Anchor Energies, and averages of F(x, t) over the cells of a grid."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.records import (
    Events,
    GridSpec,
    LevelBlocks,
    VectorLevels,
    common_segments,
    from_heights,
    heights_after,
)
from anchorot._typing import Float64s, Floats, Int64s

BLOCK_NUMBERS = 1 << 18  # handled at a time: a few MB of temporary arrays


def blocks_of(count: int, size: int) -> Iterator[slice]:
    """Slices of `count` things of `size` numbers each, as many at a time as temporary arrays should hold."""
    step = max(1, BLOCK_NUMBERS // max(1, size))
    return (slice(start, start + step) for start in range(0, count, step))


def block_energies(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, reach: float, threads: int) -> Float64s:
    """Energy of every pair of blocks up to the reach."""
    return np.array([_pair_profile(x, y, pair, np.array([reach]))[0] for pair in pairs])


def block_profile(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, reaches: Float64s, threads: int) -> Float64s:
    """Energy of all pairs of blocks together up to each reach."""
    return np.sum([_pair_profile(x, y, pair, reaches) for pair in pairs], axis=0)


def vector_profile(x: VectorLevels, y: VectorLevels, reaches: Float64s, threads: int) -> Float64s:
    """Energy of two collections of vectors up to each reach."""
    vectors = np.concatenate([x.vectors, -y.vectors])
    total = np.zeros(len(reaches))
    at_x, at_y, width = common_segments(len(x.levels), len(y.levels))
    for block in blocks_of(len(width), (x.levels.shape[1] + y.levels.shape[1]) * x.vectors.shape[1]):
        merged = np.concatenate([x.levels[at_x[block]], y.levels[at_y[block]]], axis=1)
        anchor = np.concatenate([x.anchor[at_x[block]], y.anchor[at_y[block]] + np.uint32(len(x.vectors))], axis=1)
        order = np.argsort(merged, axis=1, kind="stable")
        d = np.cumsum(vectors[np.take_along_axis(anchor, order, axis=1)], axis=1)
        places = np.take_along_axis(merged, order, axis=1)
        total += _up_to(reaches, places, np.einsum("ijk,ijk->ij", d, d), width[block])
    return total


def _pair_profile(x: LevelBlocks, y: LevelBlocks, pair: Int64s, reaches: Float64s) -> Float64s:
    (levels_x, mass_x), (levels_y, mass_y) = _block(x, pair[0]), _block(y, pair[1])
    n, m = levels_x.shape[1], levels_y.shape[1]
    total = np.zeros(len(reaches))
    at_x, at_y, width = common_segments(len(levels_x), len(levels_y))
    for block in blocks_of(len(width), n + m):
        merged = np.concatenate([levels_x[at_x[block]], levels_y[at_y[block]]], axis=1)
        order = np.argsort(merged, axis=1, kind="stable")
        taken_x = np.cumsum(order < n, axis=1)
        d = taken_x * mass_x - (np.arange(1, n + m + 1) - taken_x) * mass_y
        total += _up_to(reaches, np.take_along_axis(merged, order, axis=1), d * d, width[block])
    return total


def _block(blocks: LevelBlocks, index: int) -> tuple[Float64s, float]:
    """Levels of a block, and the mass of each of its numbers; -1 is one level without numbers."""
    if index < 0:
        return np.empty((1, 0)), 0.0
    start, levels, count = blocks.shape[index]
    return blocks.numbers[start : start + levels * count].reshape(levels, count), float(blocks.mass[index])


@np.errstate(over="ignore", invalid="ignore")  # as in C++, what overflows is infinite or NaN; callers refuse it
def _up_to(reaches: Float64s, places: Float64s, squares: Float64s, width: Float64s) -> Float64s:
    """Twice the integrals up to each reach: after places[s, k] the integrand is squares[s, k], up to the next place."""
    if places.shape[1] == 0:
        return np.zeros(len(reaches))
    found = []
    for reach in reaches:
        ends = np.minimum(np.append(places[:, 1:], np.full((len(places), 1), reach), axis=1), reach)
        found.append(2 * float(width @ np.sum(np.maximum(ends - places, 0) * squares, axis=1)))
    return np.array(found)


def level_averages(levels: Floats, grid: GridSpec) -> Float64s:
    """First integrate over each cell of x at every level, then over the levels in each cell of t."""
    count, anchors = levels.shape
    along_x = np.empty((count, grid.cells_x))
    for block in blocks_of(count, anchors):
        part = levels[block]
        group = np.repeat(np.arange(len(part)), anchors)
        along_x[block] = _integrals(part.ravel(), group, np.full(part.size, 1 / anchors), len(part), grid)
    height = grid.cells_t / count  # of a level, in units of a cell
    start = np.arange(count) * height
    cell = np.arange(grid.cells_t)[:, None]
    overlap = np.maximum(np.minimum(start + height, cell + 1) - np.maximum(start, cell), 0)
    return along_x.T @ overlap.T


def event_averages(events: Events, grid: GridSpec) -> Float64s:
    """An anchor's quantile stays at a jump's position for the levels that the jump covers: cut those at cells of t."""
    cells_t = grid.cells_t
    after = heights_after(events.row, events.jump)
    top = np.minimum(from_heights(after) * cells_t, cells_t)
    bottom = np.minimum(from_heights(after - events.jump) * cells_t, cells_t)
    first = np.minimum(bottom.astype(np.intp), cells_t - 1)
    pieces = np.maximum(np.ceil(top).astype(np.intp) - first, 1)
    total = np.zeros((cells_t, grid.cells_x))
    for block in blocks_of(len(top), 1):
        event = np.repeat(np.arange(len(top))[block], pieces[block])
        begin = np.cumsum(pieces[block]) - pieces[block]
        cell = first[event] + np.arange(len(event)) - np.repeat(begin, pieces[block])
        share = np.maximum(np.minimum(top[event], cell + 1) - np.maximum(bottom[event], cell), 0)
        total += _integrals(events.position[event], cell, events.mass[events.row[event]] * share, cells_t, grid)
    return np.ascontiguousarray(total.T)


def _integrals(position: Floats, group: NDArray[np.intp], mass: Float64s, groups: int, grid: GridSpec) -> Float64s:
    """Integrals over the cells of x, in units of a cell, of each group's Σ mass [position <= x].

    A mass counts whole in all cells right of its own, and in its own for the part right of it. What lies left of the
    range counts whole everywhere; what lies right of it has an extra cell that is cut off.
    """
    cells = grid.cells_x
    low, high = 0.5 * grid.low, 0.5 * grid.high  # halves, so that no difference overflows
    with np.errstate(over="ignore"):  # what is infinitely far outside is just outside
        x = np.clip((0.5 * position.astype(np.float64) - low) * (cells / (high - low)), 0, cells)
    cell = x.astype(np.intp)
    place = group * (cells + 1) + cell
    size = groups * (cells + 1)
    whole = np.bincount(place, mass, minlength=size).reshape(groups, cells + 1)[:, :-1]
    part = np.bincount(place, mass * (cell + 1 - x), minlength=size).reshape(groups, cells + 1)[:, :-1]
    return np.cumsum(whole, axis=1, dtype=np.float64) - whole + part
