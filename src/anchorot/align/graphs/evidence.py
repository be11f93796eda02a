"""Whether a whole matching is better than chance, from the edges that are common.

The evidence for a matching is the logarithm of the likelihood ratio of the table of pairs of nodes, joined or not in
either network, to that of networks with nothing in common. A search among N matchings finds about log N of it by
chance. Networks of clusters have more: pairs with common neighbours are likely to be joined in both, whatever the
matching. So the evidence is averaged with that within pairs that have equally many common neighbours.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, gammaln, xlogy

from anchorot._typing import Float64s, Int64s
from anchorot.align.graphs.problem import Problem

MOST_NEIGHBOURS = 3  # common neighbours that are counted one by one; more are one class
STEEPNESS = 4.0  # of the chance in nats per node: 120 pairs of random networks, calibration error 0.06, AUC 0.98
BLOCK_NUMBERS = 1 << 22  # pairs of nodes that are counted at a time


def reliability(problem: Problem, matches: Int64s) -> float:
    """Estimated chance that a matching, as a whole, is no product of chance."""
    return float(expit(STEEPNESS * excess_evidence(problem, matches)))


def excess_evidence(problem: Problem, matches: Int64s) -> float:
    """Nats per node by which common edges speak for a matching, less what chance would find. Features do not count."""
    tables = _pair_tables(problem, matches)
    whole = _likelihood_ratio(tables[0].sum(axis=0))
    within = sum(_likelihood_ratio(table) for side in tables for table in side) / len(tables)
    n, by_chance = _count_matchings(problem)
    once = 1.0 if problem.is_directed else 0.5  # pairs without direction are counted twice
    return (once * (whole + within) / 2 - by_chance) / max(1, n)


def _pair_tables(problem: Problem, matches: Int64s) -> Float64s:
    """(2, classes, 2, 2): pairs of nodes by common neighbours in the first or second network, and by edges in both."""
    sides = [_pattern(problem.first), _pattern(problem.second[matches][:, matches])]
    both = [_pattern(side + side.T) if problem.is_directed else side for side in sides]
    counts = np.zeros((2, 4 * (MOST_NEIGHBOURS + 1)))
    rows = max(1, BLOCK_NUMBERS // max(1, problem.n))
    for begin in range(0, problem.n, rows):
        block = slice(begin, min(problem.n, begin + rows))
        joined = [side[block].toarray().astype(np.int64) for side in sides]
        here = np.arange(block.start, block.stop)
        for count, side in zip(counts, both, strict=True):
            near = np.minimum((side[block] @ side).toarray(), MOST_NEIGHBOURS).astype(np.int64)
            code = 4 * near + 2 * joined[0] + joined[1]
            own = np.bincount(code[here - begin, here], minlength=len(count))  # a node is no pair
            count += np.bincount(code.ravel(), minlength=len(count)) - own
    return counts.reshape(2, -1, 2, 2)


def _pattern(matrix: csr_array) -> csr_array:
    return csr_array((np.ones(matrix.nnz, np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def _likelihood_ratio(table: Float64s) -> float:
    """Logarithm of that of a table of counts to independence; 0 if edges coincide no more often than by chance."""
    total = table.sum()
    if table[1, 1] * total <= table[1].sum() * table[:, 1].sum():
        return 0.0
    margins = np.concatenate([table.sum(axis=0), table.sum(axis=1)])
    return float(xlogy(table, table).sum() - xlogy(margins, margins).sum() + xlogy(total, total))


def _count_matchings(problem: Problem) -> tuple[int, float]:
    """How many nodes with edges can be matched with such nodes, and the logarithm of the number of ways to do so."""
    kinds = problem.kinds or [np.zeros(size, np.int64) for size in (problem.n, problem.m)]
    degrees = [np.diff(side.indptr) + np.diff(side.T.tocsr().indptr) for side in (problem.first, problem.second)]
    joined = [kind[degree > 0] for kind, degree in zip(kinds, degrees, strict=True)]
    values = np.unique(np.concatenate(joined))
    counts = [np.searchsorted(np.sort(own), values, "right") - np.searchsorted(np.sort(own), values) for own in joined]
    fewer, more = np.minimum(*counts), np.maximum(*counts)
    return int(fewer.sum()), float((gammaln(more + 1) - gammaln(more - fewer + 1)).sum())
