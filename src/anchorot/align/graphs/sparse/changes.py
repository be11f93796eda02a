"""What exchanges of two nodes' matches would change, for the pairs where that is more than to lose both nodes' edges.

If i goes where k is matched, j, and k where i is, the value changes by

    slope_ij - slope_iπ(i) + slope_kπ(i) - slope_kj + the edges between the two,

with slope_ij what the pair is worth while all others stay: 0 unless a neighbour of i is matched with one of j. For all
other pairs the change is -own_i - own_k, own_i = slope_iπ(i): no more than a number for each node is needed.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from anchorot._typing import Float32s, Float64s, Int64s
from anchorot.align.graphs.blocks import row_blocks
from anchorot.align.graphs.problem import Problem

BLOCK_ENTRIES = 1 << 21  # that are computed at a time
MOST_LOOKS = 100  # nodes that are tried for one that no entry names, where a node has no edge to lose


class Exchanges(NamedTuple):
    """Exchanges of some nodes: the places of row i are start[i - rows.start] to the next."""

    rows: slice
    start: Int64s  # (rows + 1,)
    column: Int64s  # (entries,) ascending in a row; the match itself is among them
    change: Float32s  # (entries,) -inf where kinds differ, 0 at the match

    @property
    def row(self) -> Int64s:
        """(entries,): the node."""
        return np.repeat(np.arange(self.rows.start, self.rows.stop), np.diff(self.start))


class Changes:
    """All exchanges at one matching of all nodes."""

    def __init__(self, problem: Problem, matches: Int64s) -> None:
        self._problem, self._matches = problem, matches
        first, turned_first = problem.first, problem.transposed[0]
        second, turned_second = problem.second, problem.transposed[1]
        images, turned_images = second[matches], turned_second[matches]
        inner, turned_inner = images[:, matches].tocsr(), turned_images[:, matches].tocsr()
        #: pairs of matrices whose products add up to slope, (n, m), and to slope at the matches of others, (n, n)
        self._near = [(first, turned_images), (turned_first, images)]
        self._far = [(inner, turned_first), (turned_inner, first)]
        both = first + turned_first
        self._between = both.multiply(inner + turned_inner).tocsr()
        common = first.multiply(inner)
        here = np.arange(problem.n), matches
        self.own = (common.sum(axis=1) + common.sum(axis=0) + problem.own_worth(*here)).astype(np.float32)
        self.left = np.zeros(problem.m, np.float32)  # what the node that is matched with j would lose
        self.left[matches] = self.own
        self._partner = np.full(problem.m, -1)
        self._partner[matches] = np.arange(problem.n)

    def __iter__(self) -> Iterator[Exchanges]:
        """All nodes, some at a time."""
        cost = sum(
            np.bincount(
                np.repeat(np.arange(self._problem.n), np.diff(a.indptr)), np.diff(b.indptr)[a.indices], self._problem.n
            )
            for a, b in (self._near[0], self._far[0])
        )
        for rows in row_blocks(cost + 1, BLOCK_ENTRIES):
            yield self._exchanges(rows)

    def _exchanges(self, rows: slice) -> Exchanges:
        count, m = rows.stop - rows.start, self._problem.m
        near, far = (_summed(parts, rows).tocoo() for parts in (self._near, self._far))
        between = self._between[rows].tocoo()
        here = np.arange(count)
        i = np.concatenate([near.coords[0], far.coords[0], between.coords[0], here])
        j = np.concatenate(
            [near.coords[1], self._matches[far.coords[1]], self._matches[between.coords[1]], self._matches[rows]]
        )
        values = np.concatenate([near.data, far.data, between.data, np.zeros(count, np.float32)])
        found = csr_array((values, (i, j)), shape=(count, m))  # adds up
        found.sort_indices()
        column, start = found.indices.astype(np.int64), found.indptr.astype(np.int64)
        node = np.repeat(np.arange(rows.start, rows.stop), np.diff(start))
        change = found.data - self.own[node] - self.left[column]
        if self._problem.loops is not None:
            other, match = self._partner[column], self._matches[node]
            change += self._problem.own_worth(node, column)
            change += np.where(other >= 0, self._problem.own_worth(np.maximum(other, 0), match), np.float32(0))
        kinds = self._problem.kinds
        if kinds is not None:
            change[kinds[0][node] != kinds[1][column]] = -np.inf
        change[column == self._matches[node]] = 0
        return Exchanges(rows, start, column, change.astype(np.float32))

    def others(self, entries: Exchanges, limit: float) -> tuple[Int64s, Float32s]:
        """Of exchanges that are no entries: how many change more than `limit`, and the largest of the other changes.

        Both of every row. Loops, which favour some of these pairs, do not count here.
        """
        problem, rows = self._problem, entries.rows
        count = rows.stop - rows.start
        kinds = problem.kinds or (np.zeros(problem.n, np.int64), np.zeros(problem.m, np.int64))
        order = np.lexsort((np.arange(problem.m), self.left, kinds[1]))  # by kind, those first that lose least
        ordered, kind = self.left[order], kinds[1][order]
        begin, end = (np.searchsorted(kind, kinds[0][rows], side) for side in ("left", "right"))
        place = np.empty(problem.m, np.int64)
        place[order] = np.arange(problem.m)
        own = self.own[rows]
        free = begin + _below(ordered, begin, end, -limit - own)  # they lose too little to count
        row = entries.row - rows.start
        is_known = (place[entries.column] < free[row]) & (place[entries.column] >= begin[row])
        ties = free - begin - np.bincount(row[is_known], minlength=count)
        names = row * problem.m + entries.column
        best = np.full(count, -np.inf, np.float32)
        np.maximum.at(best, row, np.where(entries.change < limit, entries.change, -np.inf))
        found, at = np.full(count, -np.inf, np.float32), free.copy()
        active = np.arange(count)
        for _ in range(MOST_LOOKS):
            active = active[at[active] < end[active]]
            change = -own[active] - ordered[at[active]]
            active = active[change > best[active]]
            if not len(active):
                break
            wanted = active * problem.m + order[at[active]]
            is_entry = names[np.minimum(np.searchsorted(names, wanted), len(names) - 1)] == wanted
            hit = active[~is_entry]
            found[hit] = -own[hit] - ordered[at[hit]]
            active = active[is_entry]
            at[active] += 1
        return ties, found


def _below(ordered: Float32s, begin: Int64s, end: Int64s, limit: Float32s) -> Int64s:
    """How many of ordered[begin:end], which ascend, are at most the limit."""
    found = np.zeros(len(begin), np.int64)
    some = np.flatnonzero(limit >= 0)  # no loss is below zero
    for start in np.unique(begin[some]):
        rows = some[begin[some] == start]
        found[rows] = np.searchsorted(ordered[start : end[rows[0]]], limit[rows], side="right")
    return found


def _summed(parts: list[tuple[csr_array, csr_array]], rows: slice) -> csr_array:
    return sum((a[rows] @ b for a, b in parts[1:]), parts[0][0][rows] @ parts[0][1])


def margins_and_ties(problem: Problem, matches: Int64s, unit: float, tolerance: float) -> tuple[Float64s, Int64s]:
    """Of every node: what the next best exchange costs that costs something, and how many (itself too) cost nothing.

    In `unit`; what costs at most `tolerance` of it costs nothing. The margin is infinite where there is no exchange.
    """
    changes = Changes(problem, matches)
    margins, ties = np.empty(problem.n), np.empty(problem.n, np.int64)
    limit = -tolerance * unit
    for entries in changes:
        row = entries.row - entries.rows.start
        is_tie = entries.change >= limit
        count = entries.rows.stop - entries.rows.start
        best = np.full(count, -np.inf, np.float32)
        np.maximum.at(best, row, np.where(is_tie, -np.inf, entries.change))
        more, other = changes.others(entries, limit)
        margins[entries.rows] = -np.maximum(best, other) / unit
        ties[entries.rows] = np.bincount(row, is_tie, count).astype(np.int64) + more
    return margins, ties
