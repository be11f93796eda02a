"""Levels whose anchors weigh unequally, in NumPy: merges of two weighted samples, many levels at a time."""

import numpy as np

from anchorot._kernels.powers import blocks_of, scale_back, scale_of, span_of
from anchorot._kernels.records import WeightedLevels, common_segments, from_heights
from anchorot._typing import Float64s, Int64s


@np.errstate(over="ignore", invalid="ignore")
def weighted_gaps(x: WeightedLevels, y: WeightedLevels, power: int, max_cost: float, threads: int) -> float:
    """Integrate |D|^power over the gaps of the merged order of every two levels, the last of which ends at max_cost."""
    n, m = x.levels.shape[1], y.levels.shape[1]
    if n + m == 0:
        return 0.0
    if n and m and np.isinf(span_of(x.levels[[0, -1]], y.levels[[0, -1]])):
        return np.inf
    total = 0.0
    at_x, at_y, width = common_segments(len(x.levels), len(y.levels))
    for block in blocks_of(len(width), n + m):
        places = np.concatenate([x.levels[at_x[block]], y.levels[at_y[block]]], axis=1)
        height = np.concatenate([x.height[x.anchor[at_x[block]]], -y.height[y.anchor[at_y[block]]]], axis=1)
        order = np.argsort(places, axis=1, kind="stable")
        places = np.take_along_axis(places, order, axis=1)
        d = from_heights(np.cumsum(np.take_along_axis(height, order, axis=1), axis=1))
        ends = np.append(places[:, 1:], np.maximum(places[:, -1:], max_cost), axis=1)
        ends[:, -1:] = np.where(d[:, -1:] == 0, places[:, -1:], ends[:, -1:])  # max_cost may be infinite
        total += float(width[block] @ np.sum((ends - places) * np.abs(d) ** power, axis=1))
    return total


@np.errstate(over="ignore", invalid="ignore")
def weighted_transport(x: WeightedLevels, y: WeightedLevels, threads: int) -> float:
    """Root of the integral of the squared gap of quantiles over the merged heights of every two levels."""
    span = span_of(x.levels[[0, -1]], y.levels[[0, -1]])
    if span == np.inf:
        return np.inf
    scale, n, m = scale_of(span), x.levels.shape[1], y.levels.shape[1]
    total = 0.0
    at_x, at_y, width = common_segments(len(x.levels), len(y.levels))
    for block in blocks_of(len(width), n + m):
        (u, end_x), (v, end_y) = _sample(x, at_x[block]), _sample(y, at_y[block])
        ends = np.concatenate([end_x, end_y], axis=1)
        order = np.argsort(ends, axis=1, kind="stable")
        share = from_heights(np.diff(np.take_along_axis(ends, order, axis=1), axis=1, prepend=0))
        from_x = order < n
        i = np.minimum(np.cumsum(from_x, axis=1) - from_x, n - 1)
        j = np.minimum(np.cumsum(~from_x, axis=1) - ~from_x, m - 1)
        gap = np.ldexp(np.take_along_axis(u, i, axis=1) - np.take_along_axis(v, j, axis=1), -scale)
        total += float(width[block] @ np.sum(share * gap * gap, axis=1))
    return scale_back(total**0.5, scale, 1)


def _sample(x: WeightedLevels, levels: Int64s) -> tuple[Float64s, Int64s]:
    """Some levels, and the heights at which their quantiles end."""
    return x.levels[levels], np.cumsum(x.height[x.anchor[levels]], axis=1)
