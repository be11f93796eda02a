"""Candidates: for each node of two networks a few of the other that may be its match."""

import numpy as np

from anchorot._kernels.records import PairRows
from anchorot._typing import Float32s, Int64s

BLOCK_NUMBERS = 1 << 23  # distances that are computed at a time
STRANDS = 16  # distances of which only the least is compared at first


def nearest(x: Float32s, y: Float32s, count: int) -> Int64s:
    """(n, count): the nearest rows of y for every row of x, by increasing distance."""
    count = min(count, len(y))
    width = -(-len(y) // STRANDS)
    padding = STRANDS * width - len(y)
    norms = np.concatenate([np.square(y).sum(axis=1), np.full(padding, np.inf, np.float32)])
    turned = np.ascontiguousarray(np.concatenate([y, np.zeros((padding, y.shape[1]), np.float32)]).T)
    found = np.empty((len(x), count), np.int64)
    rows = max(1, BLOCK_NUMBERS // len(norms))
    for begin in range(0, len(x), rows):
        block = x[begin : begin + rows]
        distance = norms - 2 * (block @ turned)
        place = np.arange(width)[None]
        if count < width:  # the nearest are where the least of a strand is among the least
            least = distance.reshape(len(block), STRANDS, width).min(axis=1)
            place = np.argpartition(least, count - 1, axis=1)[:, :count]
        place = (place[:, None] + width * np.arange(STRANDS)[:, None]).reshape(place.shape[0], -1)
        place = np.broadcast_to(place, (len(block), place.shape[1]))
        own = np.take_along_axis(distance, place, axis=1)
        best = np.argpartition(own, count - 1, axis=1)[:, :count]
        values = np.take_along_axis(own, best, axis=1)
        best = np.take_along_axis(place, best, axis=1)
        found[begin : begin + rows] = np.take_along_axis(best, np.lexsort((best, values)), axis=1)
    return found


def nearest_of_kind(
    points: tuple[Float32s, Float32s], kinds: tuple[Int64s, Int64s] | None, count: int, m: int
) -> tuple[Int64s, Int64s]:
    """Names of the pairs of one kind among whose node's `count` nearest, in either network, the other is; their ranks.

    A pair (i, j) has the name i m + j; of two ranks the better one counts.
    """
    names, ranks = [], []
    codes = kinds or (np.zeros(len(points[0]), np.int64), np.zeros(len(points[1]), np.int64))
    for own in np.intersect1d(*codes):
        i, j = (np.flatnonzero(code == own) for code in codes)
        x, y = points[0][i], points[1][j]
        there, back = nearest(x, y, count), nearest(y, x, count)
        names += [(i[:, None] * m + j[there]).ravel(), (i[back] * m + j[:, None]).ravel()]
        ranks += [np.tile(np.arange(found.shape[1]), len(found)) for found in (there, back)]
    all_names, rank = np.concatenate(names), np.concatenate(ranks)
    order = np.lexsort((rank, all_names))
    found, first = np.unique(all_names[order], return_index=True)
    return found, rank[order][first]


def pair_rows(names: Int64s, n: int, m: int) -> PairRows:
    """Pairs by rows, from their ascending names."""
    rows = names // m
    start = np.searchsorted(rows, np.arange(n + 1))
    return PairRows(start.astype(np.int32), (names - rows * m).astype(np.int32), m)


def rows_of(pairs: PairRows) -> Int64s:
    """(pairs,): the node of the first network."""
    return np.repeat(np.arange(len(pairs.start) - 1), np.diff(pairs.start))


def ranks(group: Int64s, worth: Float32s, tie: Int64s) -> Int64s:
    """Place of every entry in its group, the greatest worth first."""
    order = np.lexsort((tie, -worth, group))
    grouped = group[order]
    first = np.flatnonzero(np.diff(grouped, prepend=-1))
    place = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    found = np.empty(len(group), np.int64)
    found[order] = place
    return found
