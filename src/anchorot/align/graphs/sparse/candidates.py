"""Ever better candidates, round by round: messages between candidates, and votes of the surest for others.

A match that is no candidate cannot be found, so candidates change: after messages have settled, nodes keep those that
are believed most, and take those that most neighbours of matched nodes vote for.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from anchorot._kernels.records import PairRows
from anchorot._progress import Advance, no_progress
from anchorot._typing import Float32s, Int64s
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.sparse.beliefs import STEPS, PairBeliefs
from anchorot.align.graphs.sparse.pairs import nearest_of_kind, pair_rows, ranks, rows_of
from anchorot.align.graphs.sparse.refine import completed, finish
from anchorot.align.graphs.sparse.votes import SURE, Votes, greedy_matching
from anchorot.align.graphs.sparse.whitening import looks, looks_of_loops

NEAREST = 30  # candidates of a node by its looks, in the first round
STILL_NEAR = 8  # in the rounds up to LOOK_ROUNDS
LOOK_ROUNDS = 4  # rounds; later ones have votes enough; chosen by hand
MOST_ROUNDS = 30  # small worlds of 5000 nodes that lose a fifth of their edges need 15
USUAL_ROUNDS = 5  # rounds that the progress bar reckons with
BELIEVED, VOTED = 7, 12  # candidates of a node in later rounds
TRUST = (0.6, 0.7, 0.8, 0.9, 1.0)  # weight of the messages, round by round
CANDIDATE_EDGES = 1000  # a node has this many candidates together with their edges, but
FEWEST, MOST = 3, 60  # at least, for hubs, and at most; chosen by hand
HUB = 50  # edges: two hubs are a pair only if both want to
MAX_LINKS = 12_000_000  # between pairs: 0.4 GB
MIN_GAIN = 0.0002  # of the common edges: rounds that gain less have stalled
MOST_STALLED = 3  # rounds in a row without a gain, while beliefs are weak; chosen by hand
MIN_BELIEF = 0.6  # on average, in a node's best candidate: a round that stalls above it is the last


class Result(NamedTuple):
    """What a search led to."""

    matches: Int64s
    value: float
    is_finished: bool  # whether no exchange helps any more
    n_iter: int


class Round(NamedTuple):
    """Pairs, the belief in each, and what follows from them."""

    pairs: PairRows
    plan: Float32s
    matches: Int64s  # (n,) -1 for none
    value: float  # of these matches
    belief: float  # in the best candidate of a node, on average
    steps: int


def count_steps() -> int:
    """About how many steps a search takes: a round's for what comes before the first, too."""
    return (USUAL_ROUNDS + 1) * STEPS


def search(problem: Problem, threads: int, rng: np.random.Generator, advance: Advance = no_progress) -> Result:
    """The best matching that is found among candidates."""
    if not (problem.first.nnz and problem.second.nnz):
        matches = completed(problem, np.full(problem.n, -1), looks_of_loops(problem))
        return Result(matches, problem.value(matches), True, 0)
    seen = looks(problem, rng)
    beliefs, votes = PairBeliefs(problem, threads), Votes(problem)
    names, rank = nearest_of_kind(seen.points, problem.kinds, NEAREST, problem.m)
    advance(STEPS)
    near, score = names[rank < STILL_NEAR], -rank.astype(np.float32)
    best, values, n_iter = np.full(problem.n, -1), [0.0], 0
    for turn in range(MOST_ROUNDS):
        names = within_limits(names, score, beliefs, problem)
        prior = seen.priors(names // problem.m, names % problem.m)
        prior += problem.own_worth(names // problem.m, names % problem.m)
        last = one_round(problem, names, prior, beliefs, TRUST[min(turn, len(TRUST) - 1)], advance)
        n_iter += last.steps
        if last.value > max(values) or turn == 0:
            best = last.matches
        values.append(last.value)
        if has_stalled(values, last.belief):
            break
        names, score = renewed(problem, last, votes, near if turn < LOOK_ROUNDS else near[:0])
    return Result(*finish(problem, best, votes, seen), n_iter)


def one_round(
    problem: Problem, names: Int64s, prior: Float32s, beliefs: PairBeliefs, trust: float, advance: Advance
) -> Round:
    """Pass messages between candidates, and match those that prefer each other."""
    pairs = pair_rows(names, problem.n, problem.m)
    plan, steps = beliefs.plan(pairs, prior, trust, advance)
    matches = greedy_matching(pairs, plan)
    most = np.zeros(problem.n)
    np.maximum.at(most, rows_of(pairs), plan)
    return Round(pairs, plan, matches, partial_value(problem, matches), float(most.mean()), steps)


def has_stalled(values: list[float], belief: float) -> bool:
    """Whether further rounds would gain little; the first value is that of no match."""
    gains = np.diff(values) - (np.maximum.accumulate(values) - values)[:-1]
    has_gained = gains > MIN_GAIN * np.array(values[1:])
    patience = 1 if belief > MIN_BELIEF else MOST_STALLED
    return len(gains) >= patience and not has_gained[-patience:].any()


def renewed(problem: Problem, last: Round, votes: Votes, near: Int64s) -> tuple[Int64s, Float32s]:
    """Names of new candidates, and the evidence for each: belief, and votes."""
    rows, column = rows_of(last.pairs), last.pairs.column.astype(np.int64)
    sure = last.plan > SURE
    voters = csr_array((last.plan[sure], (rows[sure], column[sure])), shape=(problem.n, problem.m))
    i, j, count = votes.top(voters, VOTED)
    kept = (ranks(rows, last.plan, column) < BELIEVED) & (last.plan > 1e-6)
    believed, voted = rows[kept] * problem.m + column[kept], i * problem.m + j
    names = np.unique(np.concatenate([believed, voted, near]))
    score = np.zeros(len(names), np.float32)
    score[np.searchsorted(names, voted)] += count
    score[np.searchsorted(names, believed)] += last.plan[kept]
    return names, score


def within_limits(names: Int64s, score: Float32s, beliefs: PairBeliefs, problem: Problem) -> Int64s:
    """Candidates that are left when hubs have few, and all together few links."""
    i, j = names // problem.m, names % problem.m
    here, there = beliefs.degrees[0][i], beliefs.degrees[1][j]
    by_row, by_column = ranks(i, score, j), ranks(j, score, i)
    edges = CANDIDATE_EDGES
    while True:
        wanted = [
            rank < np.clip(edges // np.maximum(degree, 1), FEWEST, MOST)
            for rank, degree in ((by_row, here), (by_column, there))
        ]
        kept = np.where((here > HUB) & (there > HUB), wanted[0] & wanted[1], wanted[0] | wanted[1])
        found = names[kept]
        if edges <= FEWEST or beliefs.count_links(pair_rows(found, problem.n, problem.m)) <= MAX_LINKS:
            return found
        edges //= 2


def partial_value(problem: Problem, matches: Int64s) -> float:
    """The value of matches of some nodes."""
    some = np.flatnonzero(matches >= 0)
    images = matches[some]
    common = problem.first[some][:, some].multiply(problem.second[images][:, images])
    return float(common.sum(dtype=np.float64) + problem.own_worth(some, images).sum(dtype=np.float64))
