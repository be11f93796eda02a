"""Transport level by level, in NumPy: what Sliced Anchor Wasserstein integrates over t.

With weights every moment of a sweep is sorted afresh, O(L N log N) for L moves of N rows: the C++ kernels change what
moved and take O(N) per move at most.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from anchorot._kernels.powers import BLOCK_NUMBERS, scale_back, scale_of, span_of
from anchorot._kernels.records import Events, LevelMoves, common_segments, from_heights, heights_after
from anchorot._typing import Float64s, Floats


@np.errstate(over="ignore", invalid="ignore")
def level_transport(x: Floats, y: Floats, p: int, threads: int) -> float:
    """Root of the mean of |G_X - G_Y|^p over the common refinement of the levels and of the anchors' shares."""
    span = span_of(x[[0, -1]], y[[0, -1]])
    if span == np.inf:
        return np.inf
    scale = scale_of(span)
    at_x, at_y, width = common_segments(len(x), len(y))
    i, j, share = common_segments(x.shape[1], y.shape[1])
    is_even = x.shape[1] == y.shape[1]  # then both are read as they are
    total = 0.0
    step = max(1, BLOCK_NUMBERS // len(share))
    for start in range(0, len(width), step):
        block = slice(start, start + step)
        of_x, of_y = x[at_x[block]], y[at_y[block]]
        gaps = np.subtract(of_x, of_y, dtype=np.float64) if is_even else of_x[:, i].astype(np.float64) - of_y[:, j]
        total += float(width[block] @ (np.ldexp(np.abs(gaps), -scale) ** p @ share))
    return scale_back(total ** (1 / p), scale, 1)


@np.errstate(over="ignore", invalid="ignore")
def sweep_transport(x: Events, y: Events, threads: int) -> float:
    """∬ |F - G| dx dt by a sweep over the positions: the CDF heights are sorted afresh after every gap."""
    positions = np.concatenate([x.position, y.position])
    order = np.argsort(positions, kind="stable")
    positions = positions[order]
    row = np.concatenate([x.row, y.row + np.uint32(len(x.mass))])[order]
    height = heights_after(row, np.concatenate([x.jump, y.jump])[order])
    if np.isinf(positions[-1] - positions[0]):
        return np.inf
    signed_mass = np.concatenate([x.mass, -y.mass])
    total = 0.0
    for gaps, heights in _moments(positions, row, height, np.zeros(len(signed_mass), np.int64), positions[-1]):
        by_height = np.argsort(heights, axis=1)
        d = np.cumsum(signed_mass[by_height], axis=1)[:, :-1]
        widths = from_heights(np.diff(np.take_along_axis(heights, by_height, axis=1), axis=1))
        total += float(gaps @ np.sum(np.abs(d) * widths, axis=1))
    return total


@np.errstate(over="ignore", invalid="ignore")
def level_sweep_transport(x: LevelMoves, mass_x: Float64s, y: LevelMoves, mass_y: Float64s) -> float:
    """Root of ∫ W_2² dt by a sweep over the levels: the quantiles are sorted afresh after every gap."""
    values = [np.concatenate([side.start, side.after]) for side in (x, y)]
    span = span_of(*values)
    if span == np.inf:
        return np.inf
    scale, n = scale_of(span), len(mass_x)
    order = np.argsort(np.concatenate([x.level, y.level]), kind="stable")
    level = np.concatenate([x.level, y.level])[order]
    row = np.concatenate([x.row, y.row + np.uint32(n)])[order]
    after = np.ldexp(np.concatenate([x.after, y.after])[order], -scale)
    start = np.ldexp(np.concatenate([x.start, y.start]), -scale)
    total = (level[0] if len(level) else 1.0) * float(
        np.sum(_squares(start[None, :n], mass_x, start[None, n:], mass_y))
    )
    for widths, quantiles in _moments(level, row, after, start, 1.0):
        total += float(widths @ _squares(quantiles[:, :n], mass_x, quantiles[:, n:], mass_y))
    return scale_back(float(total**0.5), scale, 1)


def quantile_averages(x: LevelMoves, mass: Float64s, shape: tuple[int, int]) -> Float64s:
    """Averages of G(s, t) over cells: between moves the quantiles are sorted afresh, and cut at the cells' shares."""
    edges = np.linspace(0, 1, shape[0] + 1)
    first = x.level[:1] if len(x.level) else np.ones(1)
    out, here = np.zeros(shape), 0.0
    for widths, quantiles in chain([(first, x.start[None])], _moments(x.level, x.row, x.after, x.start, 1.0)):
        ends = np.minimum(here + np.cumsum(widths), 1.0)
        low, high = np.append(here, ends[:-1])[:, None], ends[:, None]
        overlap = np.maximum(np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1]), 0.0)
        out += shape[0] * (overlap.T @ _share_averages(quantiles, mass, shape[1]))
        here = float(ends[-1])
    return out


def _share_averages(values: Float64s, mass: Float64s, count: int) -> Float64s:
    """Averages of weighted samples' quantiles over equal shares, one sample per row."""
    ordered, ends = _sorted_sample(values, mass)
    begins = np.concatenate([np.zeros((len(ends), 1)), ends[:, :-1]], axis=1)
    cells = [
        np.sum(np.maximum(np.minimum(ends, (k + 1) / count) - np.maximum(begins, k / count), 0.0) * ordered, axis=1)
        for k in range(count)
    ]
    return count * np.stack(cells, axis=1)


def _moments(time: Float64s, row: Any, after: Any, start: Any, end: float) -> Iterator[tuple[Float64s, Any]]:
    """Lengths of the gaps between moves and, for each, the values of all rows; values only ever rise."""
    now = start
    step = max(1, BLOCK_NUMBERS // len(start))
    for first in range(0, len(time), step):
        block = slice(first, first + step)
        count = len(time[block])
        values = np.broadcast_to(now, (count, len(start))).copy()
        places = np.arange(count), row[block]
        values[places] = np.maximum(values[places], after[block])
        values = np.maximum.accumulate(values, axis=0)
        now = values[-1]
        gaps = np.diff(time[first : first + count + 1], append=end if first + count >= len(time) else [])
        apart = gaps > 0
        if apart.any():
            yield gaps[apart], values[apart]


def _squares(x: Float64s, mass_x: Float64s, y: Float64s, mass_y: Float64s) -> Float64s:
    """W_2² between two weighted samples, one pair of them per row."""
    (x, end_x), (y, end_y) = _sorted_sample(x, mass_x), _sorted_sample(y, mass_y)
    ends = np.concatenate([end_x, end_y], axis=1)
    order = np.argsort(ends, axis=1, kind="stable")
    width = np.diff(np.take_along_axis(ends, order, axis=1), axis=1, prepend=0.0)
    from_x = order < x.shape[1]
    at_x = np.minimum(np.cumsum(from_x, axis=1) - from_x, x.shape[1] - 1)
    at_y = np.minimum(np.cumsum(~from_x, axis=1) - ~from_x, y.shape[1] - 1)
    gap = np.take_along_axis(x, at_x, axis=1) - np.take_along_axis(y, at_y, axis=1)
    return np.sum(width * gap * gap, axis=1)


def _sorted_sample(values: Float64s, mass: Float64s) -> tuple[Float64s, Float64s]:
    order = np.argsort(values, axis=1, kind="stable")
    ends = np.minimum(np.cumsum(mass[order], axis=1), 1.0)
    ends[:, -1] = 1.0
    return np.take_along_axis(values, order, axis=1), ends
