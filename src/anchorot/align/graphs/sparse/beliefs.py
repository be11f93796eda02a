"""Belief propagation between candidate pairs: the messages of `graphs.messages` where all other pairs have P = 0."""

import numpy as np
from scipy.sparse import csr_array

from anchorot._kernels import kernels
from anchorot._kernels.records import PairRows
from anchorot._progress import Advance, no_progress
from anchorot._typing import Float32s, Float64s, Int64s
from anchorot.align.graphs.blocks import row_blocks
from anchorot.align.graphs.messages import Edges, likelihood_ratios, weighted_cycles
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.sparse.pairs import rows_of

COMMON = 0.65  # share of the edges that are common, as messages reckon with
ROUNDS = 2  # of the sum over matchings
STEPS = 8  # at most, before candidates are renewed; chosen by hand
MIN_MASS_MOVED = 0.02  # of the plan: messages that move less have settled
SCALINGS = 3  # of rows and columns: the next step scales anew
BLOCK_NUMBERS = 1 << 22  # entries of rows that are multiplied at a time
MAX_NUMBERS = 1 << 28  # of all edges together: beyond, where hubs have many neighbours, cycles of 5 edges do not count


class PairBeliefs:
    """The edges of two networks, sorted for passing messages between any candidates."""

    def __init__(self, problem: Problem, threads: int) -> None:
        self._threads, self._m = threads, problem.m
        sides = [Edges.of(own, problem.is_directed, sparse_cycle_scores) for own in (problem.first, problem.second)]
        self.degrees = tuple(np.diff(side.start).astype(np.int64) for side in sides)
        self._first, self._second = (side.rows() for side in sides)
        pairs = np.sqrt(float(len(sides[0].neighbour)) * len(sides[1].neighbour))
        density = max(pairs, 1.0) / (float(problem.n) * problem.m)
        self._ratios = likelihood_ratios(*sides) * np.float32(COMMON / (density * (1 - COMMON) ** 2))

    def count_links(self, pairs: PairRows) -> int:
        """How many links messages would pass along."""
        return int(kernels.count_links(self._first, self._second, pairs, self._threads).sum())

    def plan(
        self, pairs: PairRows, prior: Float32s, trust: float, advance: Advance = no_progress
    ) -> tuple[Float32s, int]:
        """(pairs,): the belief in each pair, of sum 1 at most over a node's; and the number of steps."""
        rows = rows_of(pairs)
        links = kernels.link_pairs(self._first, self._second, pairs, self._threads)
        free = np.full(len(links.target), (1 - COMMON) ** 2, np.float32)
        plan = scaled(prior, rows, pairs)
        steps = 0
        while steps < STEPS:
            evidence, free = kernels.pass_pair_messages(
                self._first, self._second, pairs, links, self._ratios, plan, free, ROUNDS, self._threads
            )
            before, plan = plan, scaled(prior + np.float32(trust) * evidence, rows, pairs)
            steps += 1
            advance(1)
            if np.abs(plan - before).sum() < MIN_MASS_MOVED * (len(pairs.start) - 1):
                break
        return plan, steps


def scaled(worth: Float32s, rows: Int64s, pairs: PairRows) -> Float32s:
    """exp(worth), scaled so that rows sum to 1, and columns to 1 at most."""
    if not len(worth):
        return worth
    some = np.flatnonzero(np.diff(pairs.start) > 0)
    most = np.zeros(len(pairs.start) - 1, np.float32)
    most[some] = np.maximum.reduceat(worth, pairs.start[some])
    plan = np.exp(np.maximum(worth - most[rows], -87)).astype(np.float64)
    for _ in range(SCALINGS):
        plan /= np.bincount(rows, plan, len(most))[rows]
        plan /= np.maximum(1, np.bincount(pairs.column, plan, pairs.columns))[pairs.column]
    return plan.astype(np.float32)


def sparse_cycle_scores(matrix: csr_array) -> Float64s:
    """What `messages.cycle_scores` computes: of every entry the cycles of 3, 4 and 5 edges through it.

    With N = A² - D, the walks of two steps that do not turn round, an edge (u, v) has A²_uv cycles of three edges,
    (N A)_uv - (d_v - 1) of four, and (N N)_uv - sum over w of A_uw (d_w - 2) A_wv of five.
    """
    pattern = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    degree = np.diff(matrix.indptr).astype(np.float64)
    tails, heads = np.repeat(np.arange(len(degree)), np.diff(matrix.indptr)), matrix.indices
    twice = (pattern @ pattern).tocsr()
    twice.setdiag(0)
    twice.eliminate_zeros()
    twice.sort_indices()
    found = np.zeros((3, matrix.nnz))
    found[0] = _row_products(pattern, pattern, tails, heads)
    found[1] = _row_products(twice, pattern, tails, heads) - (degree[heads] - 1)
    if _row_sizes(twice, twice, tails, heads).sum() <= MAX_NUMBERS:
        weighted = csr_array((degree[pattern.indices] - 2, pattern.indices, pattern.indptr), shape=pattern.shape)
        found[2] = _row_products(twice, twice, tails, heads) - _row_products(weighted, pattern, tails, heads)
    return weighted_cycles(found)


def _row_sizes(a: csr_array, b: csr_array, i: Int64s, j: Int64s) -> Int64s:
    return np.diff(a.indptr)[i].astype(np.int64) + np.diff(b.indptr)[j]


def _row_products(a: csr_array, b: csr_array, i: Int64s, j: Int64s) -> Float64s:
    """Products of the rows i of a and the rows j of b."""
    found = np.zeros(len(i))
    for part in row_blocks(_row_sizes(a, b, i, j), BLOCK_NUMBERS):
        found[part] = a[i[part]].multiply(b[j[part]]).sum(axis=1)
    return found
