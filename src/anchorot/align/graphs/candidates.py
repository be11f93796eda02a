"""Several ways to an alignment of two networks; the value chooses, and agreement ends the search.

Messages between edges are best where they fit into memory; the path from convex to concave takes any network. A way
that reaches the bound, or the result of another way, is the last. If no two agree, nodes vote (the chain): those whose
edges are common to their match, and whose neighbours' are, speak for the neighbours of both, and all begins again.
All these compare every node with every other. In large networks each node has a few candidates only (`sparse`); in
networks between, that is tried first.
"""

import time
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import numpy as np

from anchorot._progress import Advance, no_progress
from anchorot._typing import Float32s, Int64s
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.evidence import excess_evidence
from anchorot.align.graphs.heat import anchor_costs
from anchorot.align.graphs.messages import BeliefPropagation, Schedule, count_messages
from anchorot.align.graphs.path import STAGES, STEPS, follow_path
from anchorot.align.graphs.pins import are_mostly_tied, pinned_costs
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.refine import finish
from anchorot.align.graphs.score import edge_support
from anchorot.align.graphs.sparse import candidates as sparse_candidates
from anchorot.align.graphs.symmetry import Hashes, canonical_order

# Share of common edges, and β at the first and the last step; chosen by hand. The second reckons with fewer common
# edges, and goes from less to more belief in neighbours.
SCHEDULES = {"messages": Schedule(0.65, 0.7, 1.1), "messages_doubting": Schedule(0.5, 0.8, 1.2)}
SHARPNESS = {"path": 10.0, "path_soft_start": 1.0}  # of the anchors' costs, in their standard deviations
MAX_MESSAGES = 160_000_000  # 1.3 GB; beyond, the path is faster, on a device too, and as good
SHARES = (0.3, 0.5, 0.7)  # of the nodes that vote, in rounds of the chain
VOTE = 2.0  # weight of a vote, in standard deviations, beside that of anchors
PLENTY = 0.9  # of what could be common is: no matching by chance does that, unless edges are few
FEW = 3.0  # edges of a node, on average: what is little more than a tree is common to networks with nothing in common
SAME = 0.5  # of the nodes are matched alike, at values within NEAR of the best: two ways have found one result
NEAR = 0.01  # of the value of the best
ROUNDING = 1e-6  # of the bound
FORBIDDEN = 40.0  # in logarithms of odds
PINNINGS = 4  # attempts with nodes matched at random, where most look alike
JITTER = 1e-3  # of the anchors' standard deviation: lets nodes that are alike go different ways
LARGE = 3000  # nodes, from where one way that ends well is enough, without votes
ALL_PAIRS, FEW_CANDIDATES = 3000, 5000  # nodes: all pairs are compared up to the first, a few beyond the second


class Ways(Enum):
    """What is tried."""

    DENSE = "all pairs of nodes are compared"
    SPARSE = "each node has a few candidates"
    SPARSE_FIRST = "the second, and where it does not end well, the first"


class Found(NamedTuple):
    """Where one start led."""

    name: str
    matches: Int64s
    value: float
    seconds: float
    n_iter: int
    is_finished: bool  # whether no exchange helps any more
    is_vote: bool = False  # whether it began from another's matches
    is_settled: bool = False  # whether nothing better was to be expected after it


def solve(
    problem: Problem,
    attributes: tuple[Hashes, Hashes],
    backend: Backend,
    rng: np.random.Generator,
    ways: Ways,
    advance: Advance = no_progress,
) -> list[Found]:
    """All that was tried, the best first.

    Nodes are first brought into a canonical order, so that names change nothing but where nodes are alike.
    `attributes` are what nodes have besides edges; `advance` is called after every step.
    """
    begin = time.perf_counter()
    sides = zip((problem.first, problem.second), attributes, strict=True)
    seed = int(rng.integers(2**63))  # one for both, so that nodes that are alike get no order from it
    orders = [canonical_order(matrix, own, np.random.default_rng(seed)) for matrix, own in sides]
    ordered = problem.reordered(*orders)
    identity = np.arange(problem.n)
    if problem.n == problem.m and _is_best(ordered, identity):  # isomorphic networks need no search
        tried = [
            Found(
                "refinement", identity, ordered.value(identity), time.perf_counter() - begin, 0, True, is_settled=True
            )
        ]
    else:
        tried = search(ordered, backend, np.random.default_rng(seed), ways, advance)
    found = []
    for one in tried:
        matches = np.empty(problem.n, np.int64)
        matches[orders[0]] = orders[1][one.matches]
        found.append(one._replace(matches=matches))
    return found


def choose_ways(size: int, is_sparse: bool | None, needs_all_pairs: bool) -> Ways:
    """What is tried for networks of this size, unless `is_sparse` says it."""
    if is_sparse is not None:
        return Ways.SPARSE if is_sparse else Ways.DENSE
    if needs_all_pairs or size <= ALL_PAIRS:
        return Ways.DENSE
    return Ways.SPARSE if size > FEW_CANDIDATES else Ways.SPARSE_FIRST


def count_steps(problem: Problem, ways: Ways) -> int:
    """About how many steps the first ways take, for a bar: they end most searches."""
    if ways is not Ways.DENSE:
        return sparse_candidates.count_steps()
    has_messages = 0 < count_messages(problem) <= MAX_MESSAGES
    return sum(one.steps for one in SCHEDULES.values()) if has_messages else len(SHARPNESS) * STAGES * STEPS


def _is_best(problem: Problem, matches: Int64s) -> bool:
    """Whether a matching is allowed and as good as can be."""
    is_allowed = problem.kinds is None or np.array_equal(problem.kinds[0], problem.kinds[1][matches])
    return is_allowed and problem.value(matches) >= problem.bound - ROUNDING * abs(problem.bound)


def search(problem: Problem, backend: Backend, rng: np.random.Generator, ways: Ways, advance: Advance) -> list[Found]:
    """All that was tried, the best first."""
    found: list[Found] = []
    if ways is not Ways.DENSE:
        found.append(_sparse(problem, backend, rng, advance))
        if ways is Ways.SPARSE or found[0].is_settled:
            return found
    begin = time.perf_counter()
    short, costs = anchor_costs(problem.first, problem.second, problem.is_directed, backend)
    is_tied = are_mostly_tied(-problem.without_forbidden(_known(problem) - short))
    for one in _attempts(problem, backend, found, rng, (short, costs), is_tied, begin, advance):
        found.append(one)
        if is_settled(problem, found, is_tied):  # the last one says so of all
            found[-1] = one._replace(is_settled=True)
            break
    return sorted(found, key=lambda one: -one.value)


def _sparse(problem: Problem, backend: Backend, rng: np.random.Generator, advance: Advance) -> Found:
    begin = time.perf_counter()
    result = sparse_candidates.search(problem, backend.threads, rng, advance)
    seconds = time.perf_counter() - begin
    one = Found("candidates", result.matches, result.value, seconds, result.n_iter, result.is_finished)
    return one._replace(is_settled=is_settled(problem, [one], is_tied=False))


def is_settled(problem: Problem, found: list[Found], is_tied: bool) -> bool:
    """Whether nothing better is to be expected: the value is as large as can be, or nearly, or two ways agree.

    Where nodes look alike (`is_tied`), ways that agree have the same common edges: symmetries move the matches, and a
    matching of two pieces that do not fit together has nearly as many common edges as the best.
    """
    last, best = found[-1], max(found, key=lambda one: one.value)
    if _is_best(problem, best.matches):
        return True
    degree = min(problem.first.nnz / problem.n, problem.second.nnz / problem.m)
    if not is_tied and not problem.has_worth and degree > FEW and best.value >= PLENTY * problem.bound:
        return True
    least = best.value - NEAR * problem.magnitude(best.matches)
    if last.value < least:
        return False
    others = [one for one in found[:-1] if one.value >= least]
    if last.is_vote and others and excess_evidence(problem, best.matches) < 0:
        return False  # voters were wrong, and wrong again: their matches come from the matching that they agree with
    if not is_tied:
        return any(np.mean(one.matches == last.matches) > SAME for one in others)
    edges = problem.common(last.matches).astype(bool)
    shared = [edges.multiply(problem.common(one.matches)).nnz for one in others]
    return max(shared, default=-1) >= (1 - NEAR) * edges.nnz


def _attempts(
    problem: Problem,
    backend: Backend,
    found: list[Found],
    rng: np.random.Generator,
    anchors: tuple[Float32s, Float32s],
    is_tied: bool,
    begin: float,
    advance: Advance,
) -> Iterator[Found]:
    """One way after the other; `found` is what became of those before."""
    short, costs = anchors
    jitter = np.float32(JITTER) * rng.standard_normal((problem.n, problem.m), np.float32)
    near, prior = (problem.padded_rows(jitter - own) for own in (short, costs))
    worth = problem.padded_rows(_known(problem))
    beliefs = BeliefPropagation(problem, backend) if 0 < count_messages(problem) <= MAX_MESSAGES else None

    def attempt(name: str, start: Float32s, schedule: Schedule | None) -> Found:
        nonlocal begin
        if schedule is not None and beliefs is not None:
            plan, steps = beliefs.plan(start + worth, schedule, advance)
        else:
            plan, steps = follow_path(problem, start + worth, backend, advance), STAGES * STEPS
        matches, value, is_finished = finish(problem, plan, backend)
        before, begin = begin, time.perf_counter()
        return Found(name, matches, value, begin - before, steps, is_finished)

    for turn in range(PINNINGS if is_tied else 0):
        base = costs if turn % 2 else np.zeros_like(costs)  # what little distinguishes nodes may be what differs
        start = problem.padded_rows(jitter - pinned_costs(problem, base, rng))
        yield attempt(f"pinned {turn + 1}", start, SCHEDULES["messages"])
    if beliefs is not None:
        for name, schedule in SCHEDULES.items():
            yield attempt(name, near, schedule)
    for name, sharpness in SHARPNESS.items():
        yield attempt(name, np.float32(sharpness) * prior, None)
    if problem.m > LARGE:
        return
    for share in SHARES:
        best = max(found, key=lambda one: one.value)
        vote = problem.padded_rows(votes(problem, best.matches, share, backend))
        doubting = SCHEDULES["messages_doubting"] if beliefs is not None else None
        voted = attempt(f"votes of {100 * share:.0f} %", (prior if beliefs is None else near) + VOTE * vote, doubting)
        yield voted._replace(is_vote=True)


def _known(problem: Problem) -> Float32s:
    """What is known of pairs of nodes apart from edges, as logarithms of odds."""
    known = np.zeros((problem.n, problem.m), np.float32)
    if problem.linear is not None:
        known += problem.linear
    if problem.forbidden is not None:
        known[problem.forbidden] -= FORBIDDEN
    return known


def votes(problem: Problem, matches: Int64s, share: float, backend: Backend) -> Float32s:
    """(n, m): how many of the surest matches are neighbours, or neighbours' neighbours, of both; standardised."""
    sure = edge_support(problem.common(matches))
    voters = np.argsort(-sure, kind="stable")[: max(1, int(share * problem.n))]
    ballot = np.zeros((problem.n, problem.m), np.float32)
    ballot[voters, matches[voters]] = 1
    both = [matrix if not problem.is_directed else matrix + matrix.T for matrix in (problem.first, problem.second)]
    a, b = (backend.sparse(matrix) for matrix in both)
    degrees = [np.maximum(matrix.sum(axis=1), 1e-9).astype(np.float32) for matrix in both]
    cast = backend.dense(ballot)
    near = backend.host(backend.right(backend.left(a, cast), b))
    twice = backend.host(backend.left(a, backend.left(a, cast))) - degrees[0][:, None] * ballot
    far = backend.host(backend.right(backend.right(backend.dense(twice), b), b)) - twice * degrees[1]
    mean = 2 * np.sqrt(degrees[0].mean() * degrees[1].mean())
    found = (near + far / mean) / np.sqrt(degrees[0][:, None] * degrees[1])
    spread = float(found.std())
    return found / np.float32(spread) if spread > 0 else found
