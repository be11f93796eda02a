"""Belief propagation between candidate pairs: the messages of `graphs.messages` where all other pairs have P = 0."""

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import PairRows
from anchorot._progress import Advance, no_progress
from anchorot._typing import Float32s, Int64s
from anchorot.align.graphs.messages import Edges, likelihood_ratios
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.sparse.cycles import sparse_cycle_scores
from anchorot.align.graphs.sparse.pairs import rows_of

COMMON = 0.65  # share of the edges that are common, as messages reckon with
ROUNDS = 2  # of the sum over matchings
STEPS = 8
MIN_MASS_MOVED = 0.02  # of the plan: messages that move less have settled
SCALINGS = 3


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
