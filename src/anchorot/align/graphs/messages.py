"""Belief propagation on pairs of edges: evidence for a pair of nodes from their neighbours.

If node i is j, most edges of i are edges of j, and lead to nodes that go together. At the pair (i, j) let w_kl be the
odds that the edge (i, k) is the edge (j, l), as far as everything but the edge itself can tell. The evidence for (i, j)
is the logarithm of Z_ij, the sum over all matchings of neighbours, each used once, of the products of their w (the
likelihood ratio of two trees: Piccioli, Semerjian, Sicuro and Zdeborová 2022, Ganassali, Massoulié and Lelarge 2022; in
Bethe's approximation here), and

    P    = exp(prior + β log Z), scaled so that rows and columns sum to one,
    w_kl = c · ratio(kinds of the two edges) · P_kl · (share of Z_kl in which neither edge is used)

with c = s / (q (1 - s)⁴), q the share of pairs of nodes that are joined and s that of edges which are common. Two
things make it work where counting common neighbours does not: each neighbour is used once, and no pair receives
its own message. As β rises, the plan turns from flat to sharp at some point by itself; beyond, it would find
patterns in noise. So β rises slowly.

Trees say nothing of networks whose nodes have the same degree; cycles do. Edges of either network are sorted by the
number of short cycles through them (and by weight, where edges have one) into equally many kinds, and pairs of edges
whose kinds go together are likelier: the ratio is that of two normal scores with correlation r to independent ones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri
from scipy.stats import rankdata

from anchorot._kernels.records import LANES, EdgeLanes, EdgeRows
from anchorot._progress import Advance, no_progress
from anchorot._typing import Float32s, Float64s, Int32s
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.problem import Problem

KINDS = 8  # of edges, by the cycles through them: a sparse network of 60 nodes still has some twenty edges of each
SHARE = 0.65  # s: of the edges that are common, as the first schedule of the solver reckons with
# Of cycles of 3, 4 and 5 edges, by their k = 2, 3 and 4 other edges: s^k / (1 - s^2k) for counts of correlation s^k.
CYCLE_WEIGHTS = tuple(round(SHARE**k / (1 - SHARE ** (2 * k)), 2) for k in (2, 3, 4))
CORRELATION = 0.4  # of the scores of a common edge in both networks: about s^2, that of its triangles
BLOCK_NUMBERS = 1 << 22  # float32 numbers (16 MB) of rows whose walks are counted at a time
SCALINGS = 10  # rounds that bring a plan's rows and columns nearly to their sums; every step scales anew
# Done when a step moves less than this share of the plan's mass, and the largest entries of its rows exceed that on
# average: a plan that is still flat moves slowly too.
MIN_MASS_MOVED, MIN_BELIEF = 0.05, 0.4


class Schedule(NamedTuple):
    """How sure to be of what neighbours say."""

    common: float  # s: the share of common edges to reckon with
    first: float  # β at the beginning
    last: float  # and at the end
    steps: int = 60


def count_messages(problem: Problem) -> int:
    """How many numbers belief propagation keeps and works on: pairs of edges, and of neighbours of one pair of nodes.

    Nodes of the second network stand in groups, and each has as many places as the largest of its group has edges.
    """
    both = [matrix + matrix.T if problem.is_directed else matrix for matrix in (problem.first, problem.second)]
    first, second = (np.sort(np.diff(matrix.indptr))[::-1].astype(np.int64) for matrix in both)
    places = LANES * int(second[::LANES].sum())
    return int(first.sum()) * places + LANES * int(first[0]) * int(second[0])


class BeliefPropagation:
    """The edges of two networks, sorted for passing messages; made once, used by several schedules."""

    def __init__(self, problem: Problem, backend: Backend) -> None:
        self._problem, self._backend = problem, backend
        sides = [Edges.of(matrix, problem.is_directed) for matrix in (problem.padded, problem.second)]
        self._ratios = likelihood_ratios(*sides)
        empty = self._ratios.shape[1] - 1
        self._messages = backend.messages(sides[0].rows(), edge_lanes(sides[1].rows(), empty))
        joined = np.sqrt(float(len(sides[0].neighbour)) * len(sides[1].neighbour))
        self._density = joined / problem.m**2

    def plan(self, prior: Float32s, schedule: Schedule, advance: Advance = no_progress) -> tuple[Float32s, int]:
        """The plan at the end of a schedule, and the number of steps."""
        backend, n = self._backend, self._problem.n
        copies, known = backend.dense(self._problem.copies), backend.dense(prior)
        flat = np.ones_like(prior)
        lost = 1 - schedule.common
        ratios = self._ratios * np.float32(schedule.common / (self._density * lost**4))
        self._messages.begin(lost**2)
        plan = backend.tilt(backend.dense(flat.copy()), known, 1.0, copies, SCALINGS)
        for step in range(schedule.steps):
            trust = schedule.first + (schedule.last - schedule.first) * step / schedule.steps
            evidence = trust * self._messages.step(plan, ratios) + known
            found = backend.tilt(backend.dense(flat.copy()), evidence, 1.0, copies, SCALINGS)
            moved = float(abs(found[:n] - plan[:n]).sum()) / n
            plan = found
            advance(1)
            if moved < MIN_MASS_MOVED and float(backend.host(plan)[:n].max(axis=1).mean()) > MIN_BELIEF:
                break
        return backend.host(plan), step + 1


class Edges(NamedTuple):
    """Edges in both directions, by tail and then by head."""

    start: Int32s
    neighbour: Int32s
    reverse: Int32s
    way: Int32s  # 0: there and back, 1: there, 2: back
    kind: Int32s  # of the cycles through it
    scores: Float64s  # of the kinds

    @classmethod
    def of(cls, matrix: csr_array, is_directed: bool, cycles: Callable[[csr_array], Float64s] | None = None) -> "Edges":
        """Take the edges of a network, scored by `cycles`, or by `cycle_scores`."""
        both = (matrix + matrix.T).tocsr() if is_directed else matrix.copy()
        both.sort_indices()
        n = both.shape[0]
        tails, heads = np.repeat(np.arange(n), np.diff(both.indptr)), both.indices
        reverse = np.empty(len(heads), np.int32)
        reverse[np.lexsort((tails, heads))] = np.arange(len(heads))
        way = np.zeros(len(heads), np.int32)
        if is_directed:
            there, back = (np.asarray(matrix[x, y]) != 0 for x, y in ((tails, heads), (heads, tails)))
            way = np.where(there & back, 0, np.where(there, 1, 2)).astype(np.int32)
        kind, scores = _kinds((cycles or cycle_scores)(both) + _normal_scores(both.data))
        return cls(both.indptr.astype(np.int32), heads.astype(np.int32), reverse, way, kind, scores)

    def rows(self) -> EdgeRows:
        """Bring them to the form that kernels read."""
        return EdgeRows(self.start, self.neighbour, self.reverse, self.way * KINDS + self.kind)


def cycle_scores(matrix: csr_array) -> Float64s:
    """Of every entry of a symmetric matrix: cycles of 3, 4 and 5 edges through that edge, weighted.

    Walks that never turn straight round: N_2 = A² - D, N_{k+1} = N_k A - N_{k-1} (D - 1).
    """
    n = matrix.shape[0]
    pattern = csr_array((np.ones(matrix.nnz, np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
    degree = np.diff(matrix.indptr).astype(np.float32)
    tails = np.repeat(np.arange(n), np.diff(matrix.indptr))
    found = np.empty((3, matrix.nnz))
    rows = max(1, BLOCK_NUMBERS // max(1, n))
    for begin in range(0, n, rows):
        end = min(n, begin + rows)
        entries = slice(int(matrix.indptr[begin]), int(matrix.indptr[end]))
        at = tails[entries] - begin, matrix.indices[entries]
        before, walks = np.zeros((end - begin, n), np.float32), pattern[begin:end].toarray()
        for length in range(3):
            back = before * (degree - 1)
            if length == 0:
                back[np.arange(end - begin), np.arange(begin, end)] = degree[begin:end]
            before, walks = walks, (walks @ pattern) - back
            found[length, entries] = walks[at]
    return weighted_cycles(found)


def weighted_cycles(found: Any) -> Float64s:
    """One score of the numbers of cycles of 3, 4 and 5 edges through every edge, (3, edges)."""
    total = np.zeros(found.shape[1])
    for weight, counts in zip(CYCLE_WEIGHTS, found, strict=True):
        spread = counts.std() if len(counts) else 0.0
        if spread > 0:
            total += weight * (counts - counts.mean()) / spread
    return total


def _normal_scores(values: Any) -> Float64s:
    """Zeros if all are alike."""
    return ndtri((rankdata(values) - 0.5) / max(1, len(values)))


def _kinds(values: Float64s) -> tuple[Int32s, Float64s]:
    """Kinds of equally many values, and the mean normal score of each."""
    if not len(values):
        return np.zeros(0, np.int32), np.zeros(KINDS)
    rounded = np.round(values, 9)  # equal cycles, equal kinds, in whatever order they were summed
    kind = np.minimum((rankdata(rounded) - 1) / len(values) * KINDS, KINDS - 1).astype(np.int32)
    count = np.bincount(kind, minlength=KINDS)
    return kind, np.bincount(kind, _normal_scores(rounded), KINDS) / np.maximum(count, 1)


def likelihood_ratios(first: Edges, second: Edges) -> Float32s:
    """(3 KINDS, 3 KINDS + 1): likelihood ratios of pairs of kinds; the last column is for no edge."""
    x, y, r = first.scores[:, None], second.scores, CORRELATION
    alike = np.exp((r * x * y - r * r * (x * x + y * y) / 2) / (1 - r * r)) / np.sqrt(1 - r * r)
    ways = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])  # an edge there and back against one there
    table = np.zeros((3 * KINDS, 3 * KINDS + 1), np.float32)
    table[:, :-1] = np.kron(ways, alike)
    return table


def edge_lanes(edges: EdgeRows, empty: int) -> EdgeLanes:
    """Put LANES nodes of about the same degree side by side."""
    degree = np.diff(edges.start).astype(np.int64)
    n = len(degree)
    order = np.argsort(-degree, kind="stable")
    groups = max(1, -(-n // LANES))
    node = np.full(groups * LANES, -1, np.int32)
    node[:n] = order
    slots = degree[order[::LANES]] if n else np.zeros(1, np.int64)
    start = np.append(0, np.cumsum(slots))
    place_of = np.empty(n, np.int64)
    place_of[order] = np.arange(n)
    tails = np.repeat(np.arange(n), degree)
    slot = start[place_of[tails] // LANES] + np.arange(len(tails)) - np.repeat(edges.start[:-1], degree)
    place = slot * LANES + place_of[tails] % LANES
    neighbour, reverse, kind = (np.full(int(start[-1]) * LANES, value, np.int32) for value in (0, 0, empty))
    neighbour[place], reverse[place], kind[place] = edges.neighbour, place[edges.reverse], edges.kind
    return EdgeLanes(start.astype(np.int32), node, neighbour, reverse, kind)
