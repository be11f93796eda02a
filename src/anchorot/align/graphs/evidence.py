"""Whether a whole matching is right, from the edges that are common and from the neighbourhoods of matches.

The evidence for a matching is the logarithm of the likelihood ratio of the table of pairs of nodes, joined or not in
either network, to that of networks with nothing in common. A search among N matchings finds about log N of it by
chance. Networks of clusters have more: pairs with common neighbours are likely to be joined in both, whatever the
matching. So the evidence is averaged with that within pairs that have equally many common neighbours.

Two networks of one kind, such as points of a square joined to those nearby, have even more in common. There most nodes
would do as well elsewhere, which `score.py` sees. So the chance is a logistic function of the evidence and of the mean
chance that a match is in the right neighbourhood; ``python benchmarks/calibrate.py --fit whole_graphs`` fits it.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, logit, xlogy

from anchorot._typing import Float64s, Int64s
from anchorot.align.calibration import load
from anchorot.align.graphs.blocks import row_blocks
from anchorot.align.graphs.problem import Problem

MOST_NEIGHBOURS = 3  # common neighbours that are counted one by one; more are one class
MOST_EVIDENCE = 1.0  # nats per node: more of it says no more, and unrelated networks of one kind have up to 3
CLIP = 0.01  # least mean chance that counts, and largest one from 1
BLOCK_NUMBERS = 1 << 22  # pairs of nodes that are counted at a time


def reliability(problem: Problem, matches: Int64s, regions: Float64s) -> float:
    """Estimated chance that at least 80 % of the matches are at or near the truth, up to symmetries.

    `regions`, (n,), are the chances that matches are in the right neighbourhood.
    """
    return float(load("graphs.whole").probability(whole_features(problem, matches, regions)))


def whole_features(problem: Problem, matches: Int64s, regions: Float64s) -> dict[str, float]:
    """Evidence for a matching as a whole."""
    joined = np.diff(problem.first.indptr) + np.diff(problem.transposed[0].indptr) > 0  # nothing is known of others
    share = float(regions[joined].mean()) if joined.any() else 0.0
    return {
        "evidence": float(np.clip(excess_evidence(problem, matches), -MOST_EVIDENCE, MOST_EVIDENCE)),
        "regions": float(logit(min(max(share, CLIP), 1 - CLIP))),
    }


def excess_evidence(problem: Problem, matches: Int64s) -> float:
    """Evidence of common edges for a matching, in nats per node, less what chance would find. Features do not count."""
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
    counts = np.zeros((2, 4 * (MOST_NEIGHBOURS + 1)), np.int64)
    for count, side in zip(counts, both, strict=True):
        degree = np.diff(side.indptr)
        for rows in row_blocks(side @ degree + degree, BLOCK_NUMBERS):
            near = side[rows] @ side
            near.data = 4 * np.minimum(near.data, MOST_NEIGHBOURS)
            coded = (near + 2 * sides[0][rows] + sides[1][rows]).tocoo()
            is_pair = coded.coords[0] + rows.start != coded.coords[1]  # a node is no pair
            count += np.bincount(coded.data[is_pair].astype(np.int64), minlength=len(count))
    counts[:, 0] = problem.n * (problem.n - 1) - counts[:, 1:].sum(axis=1)
    return counts.reshape(2, -1, 2, 2).astype(np.float64)


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
