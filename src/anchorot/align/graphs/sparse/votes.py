"""Votes: a matched pair of nodes is evidence for the pairs of their neighbours."""

import numpy as np
from scipy.sparse import csr_array, diags_array

from anchorot._kernels.records import PairRows
from anchorot._typing import Float32s, Float64s, Int64s
from anchorot.align.graphs.blocks import row_blocks
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.sparse.pairs import ranks, rows_of

SURE = 0.1  # belief from which a pair votes
MOST_VOTES = 30_000_000  # by all pairs together; hubs, whose votes say least, are the first that have none
LONG_ROW = 4  # times as many entries as are wanted
ROUNDING = 1e-3  # of a mean: keeps all entries of a row where they are equal
BLOCK_VOTES = 1 << 21  # that are counted at a time


class Votes:
    """Votes of some pairs for others, by rows or by columns."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        turned = problem.transposed
        self._views = [((problem.first, turned[0]), (problem.second, turned[1]))]
        if problem.is_directed:
            self._views.append(((turned[0], problem.first), (turned[1], problem.second)))
        both = [own + other for own, other in zip((problem.first, problem.second), turned, strict=True)]
        self._counts = [np.diff(own.indptr).astype(np.int64) for own in both]
        self._degrees = [np.maximum(own.sum(axis=1) / 2, 1e-6).astype(np.float64) for own in both]

    def top(self, voters: csr_array, count: int) -> tuple[Int64s, Int64s, Float32s]:
        """Pairs of a kind that are among the `count` with most votes of either of their nodes, and their votes."""
        voters = self._affordable(voters)
        i, j, votes = self._best(voters, count, 0)
        k, l, others = self._best(voters.T.tocsr(), count, 1)
        names = np.concatenate([i * self._problem.m + j, l * self._problem.m + k])
        names, place = np.unique(names, return_index=True)
        return names // self._problem.m, names % self._problem.m, np.concatenate([votes, others])[place]

    def common_edges(self, matches: Int64s, i: Int64s, j: Int64s) -> Float64s:
        """Weight of the edges of i that would be common if it were matched with j, and all others stayed."""
        total = np.zeros(len(i))
        for (here, _), (_, back) in self._views:
            images = csr_array(
                (here.data, matches[here.indices], here.indptr), shape=(self._problem.n, self._problem.m)
            )
            turned = back.T.tocsr()
            for part in row_blocks(np.diff(images.indptr)[i] + np.diff(turned.indptr)[j], BLOCK_VOTES):
                total[part] += images[i[part]].multiply(turned[j[part]]).sum(axis=1)
        return total

    def _affordable(self, voters: csr_array) -> csr_array:
        """Voters of the smallest degrees, as many as may vote, each with the weight of its vote."""
        entries = voters.tocoo()
        k, l = entries.coords
        cost = self._counts[0][k] * self._counts[1][l]
        order = np.argsort(cost, kind="stable")
        kept = order[np.cumsum(cost[order]) <= MOST_VOTES]
        weight = entries.data[kept] / np.log(2 + np.sqrt(self._counts[0][k[kept]] * self._counts[1][l[kept]]))
        return csr_array((weight.astype(np.float32), (k[kept], l[kept])), shape=voters.shape)

    def _best(self, voters: csr_array, count: int, side: int) -> tuple[Int64s, Int64s, Float32s]:
        found, kinds = [], self._problem.kinds
        scale = diags_array((1 / np.sqrt(self._degrees[1 - side])).astype(np.float32))
        views = [((view[side], view[1 - side])) for view in self._views]
        cost = np.asarray(views[0][0][0].astype(bool) @ (voters.astype(bool) @ self._counts[1 - side]), np.float64)
        for rows in row_blocks(cost, BLOCK_VOTES):
            total = None
            for (here, _), (_, back) in views:
                votes = (here[rows] @ voters) @ back
                total = votes if total is None else total + votes
            total = (total @ scale).tocsr()
            i = np.repeat(np.arange(rows.start, rows.stop), np.diff(total.indptr))
            if kinds is not None:
                total.data[kinds[side][i] != kinds[1 - side][total.indices]] = 0
            kept = _above(total, i - rows.start, count)
            own, j, votes = i[kept], total.indices[kept].astype(np.int64), total.data[kept]
            best = ranks(own, votes, j) < count
            found.append((own[best], j[best], votes[best] / np.sqrt(self._degrees[side][own[best]])))
        i, j, votes = (np.concatenate(part) for part in zip(*found, strict=True))
        return i, j, votes.astype(np.float32)


def _above(votes: csr_array, rows: Int64s, count: int) -> Int64s:
    """Entries worth sorting: of long rows, most of which chance has made, those above the mean."""
    sizes = np.diff(votes.indptr)
    mean = votes.sum(axis=1) / np.maximum(sizes, 1)
    least = np.where(sizes > LONG_ROW * count, mean * (1 - ROUNDING), 0)
    return np.flatnonzero((votes.data >= least[rows]) & (votes.data > 0))


def greedy_matching(pairs: PairRows, plan: Float32s) -> Int64s:
    """(n,): match every node's best partner that prefers it too, and again among those left; -1 for none."""
    rows = rows_of(pairs)
    n, m = len(pairs.start) - 1, pairs.columns
    matches, taken = np.full(n, -1), np.zeros(m, bool)
    alive = np.flatnonzero(plan > 1e-3)
    for _ in range(10):
        alive = alive[(matches[rows[alive]] < 0) & ~taken[pairs.column[alive]]]
        if not len(alive):
            break
        order = alive[np.argsort(-plan[alive], kind="stable")]
        best_row, best_column = np.full(n, -1), np.full(m, -1)
        best_row[rows[order[::-1]]] = order[::-1]
        best_column[pairs.column[order[::-1]]] = order[::-1]
        both = best_row[best_row >= 0]
        both = both[best_column[pairs.column[both]] == both]
        matches[rows[both]] = pairs.column[both]
        taken[pairs.column[both]] = True
    return matches
