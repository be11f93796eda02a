"""Averages of F(x, t) over the cells of a grid, in NumPy."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.heights import from_heights, heights_after
from anchorot._kernels.records import Events, GridSpec
from anchorot._typing import Float64s, Floats

BLOCK_NUMBERS = 1 << 18  # numbers put into cells at a time: a few MB of temporary arrays


def level_averages(levels: Floats, grid: GridSpec) -> Float64s:
    """First integrate over each cell of x at every level, then over the levels in each cell of t."""
    count, anchors = levels.shape
    along_x = np.empty((count, grid.cells_x))
    for block in _blocks(count, anchors):
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
    for block in _blocks(len(top), 1):
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


def _blocks(count: int, length: int) -> Iterator[slice]:
    step = max(1, BLOCK_NUMBERS // length)
    return (slice(start, start + step) for start in range(0, count, step))
