"""The alignment of large networks: messages between candidate pairs of nodes alone."""

import numpy as np

from anchorot._kernels.records import EdgeRows, PairLinks, PairRows
from anchorot._typing import Float32s, Int64s

BLOCK_LINKS = 1 << 22  # pairs of edges that are looked up at a time


def count_links(first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> Int64s:
    """Count what `link_pairs` finds."""
    return np.diff(link_pairs(first, second, pairs, threads).start)


def link_pairs(first: EdgeRows, second: EdgeRows, pairs: PairRows, threads: int) -> PairLinks:
    """Try all pairs of edges of every pair, some pairs at a time."""
    rows = np.repeat(np.arange(len(pairs.start) - 1), np.diff(pairs.start))
    name = rows * pairs.columns + pairs.column  # ascending
    degrees = [np.diff(own.start).astype(np.int64) for own in (first, second)]
    before = np.append(0, np.cumsum(degrees[0][rows] * degrees[1][pairs.column]))
    found = []
    begin = 0
    while begin < len(name):
        end = max(begin + 1, int(np.searchsorted(before, before[begin] + BLOCK_LINKS, side="right")) - 1)
        own, place = _counted(before[begin : end + 1] - before[begin])
        own += begin
        width = degrees[1][pairs.column[own]]
        e, f = first.start[rows[own]] + place // width, second.start[pairs.column[own]] + place % width
        wanted = first.neighbour[e].astype(np.int64) * pairs.columns + second.neighbour[f]
        target = np.searchsorted(name, wanted)
        kept = np.flatnonzero(name[np.minimum(target, len(name) - 1)] == wanted)
        found.append(np.stack([own[kept], e[kept], f[kept], target[kept]]))
        begin = end
    owner, e, f, target = np.concatenate(found, axis=1) if found else np.zeros((4, 0), np.int64)
    start = np.append(0, np.cumsum(np.bincount(owner, minlength=len(name))))
    # The way back ends where this one begins, by the same edges.
    order, there = np.lexsort((f, e, owner)), np.lexsort((second.reverse[f], first.reverse[e], target))
    reverse = np.empty(len(owner), np.int32)
    reverse[there] = order
    return PairLinks(start, target.astype(np.int32), reverse, e.astype(np.int32), f.astype(np.int32))


def _counted(starts: Int64s) -> tuple[Int64s, Int64s]:
    """For every number up to the last start: the range that it is in, and its place there."""
    counts = np.diff(starts)
    own = np.repeat(np.arange(len(counts)), counts)
    return own, np.arange(len(own)) - starts[own]


def pass_pair_messages(
    first: EdgeRows,
    second: EdgeRows,
    pairs: PairRows,
    links: PairLinks,
    ratios: Float32s,
    plan: Float32s,
    free_ends: Float32s,
    rounds: int,
    threads: int,
) -> tuple[Float32s, Float32s]:
    """Sum over the links of a pair that share an edge of the first graph, or one of the second."""
    count = len(plan)
    pair = np.repeat(np.arange(count), np.diff(links.start))
    groups, owners = [], []
    for edges, number in ((links.first_edge, len(first.neighbour)), (links.second_edge, len(second.neighbour))):
        names, group = np.unique(pair * max(1, number) + edges, return_inverse=True)
        groups.append(group)
        owners.append(names // max(1, number))
    weight = ratios[first.kind[links.first_edge], second.kind[links.second_edge]].astype(np.float64)
    weight *= plan[links.target] * free_ends[links.reverse]
    b = np.ones_like(weight)
    for _ in range(rounds):
        total = 1 + np.bincount(groups[0], weight * b, len(owners[0]))
        a = 1 / np.maximum(1, total[groups[0]] - weight * b)
        sums = 1 + np.bincount(groups[1], weight * a, len(owners[1]))
        b = 1 / np.maximum(1, sums[groups[1]] - weight * a)
    total = 1 + np.bincount(groups[0], weight * b, len(owners[0]))
    odds = 1 + weight * a * b
    evidence = np.bincount(owners[0], np.log(total), count) + np.bincount(owners[1], np.log(sums), count)
    evidence -= np.bincount(pair, np.log(odds), count)
    return evidence.astype(np.float32), (a * b / odds).astype(np.float32)
