"""From candidates to a matching of all nodes that no small change improves: assignments among candidates, exchanges."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from anchorot._typing import Float32s, Int64s
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.refine import assignment, exchange
from anchorot.align.graphs.sparse.changes import Changes
from anchorot.align.graphs.sparse.votes import Votes
from anchorot.align.graphs.sparse.whitening import Looks

MOST_ASSIGNMENTS = 5  # each from the last one's result, as long as the value rises; chosen by hand
MOST_ROUNDS = 30  # of exchanges
VOTED = 12  # candidates of a node, by the common edges that they would have
LOOKS = 0.3  # of a common edge: what looking alike is worth, where edges do not decide
REACH = 64.0  # of squared distances of looks, over which that falls
MOST_AT_ONCE = 1000  # nodes without candidates that are assigned by their looks; more are paired in their order


def finish(problem: Problem, matches: Int64s, votes: Votes, looks: Looks) -> tuple[Int64s, float, bool]:
    """The best matching that is found from matches of some nodes, its value, and whether no exchange helps any more."""
    best = completed(problem, matches, looks)
    value = problem.value(best)
    for _ in range(MOST_ASSIGNMENTS):
        climbed = completed(problem, _assigned(problem, best, votes, looks), looks)
        there = problem.value(climbed)
        if there <= value:
            break
        best, value = climbed, there
    return exchange(problem, best, best_exchanges, MOST_ROUNDS)


def best_exchanges(problem: Problem, matches: Int64s) -> tuple[Int64s, Float32s]:
    """What `graphs.refine.best_exchanges` finds: exchanges that gain are among those that `Changes` lists."""
    target, gain = matches.copy(), np.zeros(problem.n, np.float32)
    for entries in Changes(problem, matches):
        row = entries.row
        order = np.lexsort((entries.column, -entries.change, row))
        first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
        target[row[first]], gain[row[first]] = entries.column[first], entries.change[first]
    return target, gain


def _assigned(problem: Problem, matches: Int64s, votes: Votes, looks: Looks) -> Int64s:
    """(n,): the matching of most common edges with matches as they are, among candidates; -1 for nodes without one."""
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    here = np.arange(problem.n)
    voters = csr_array((np.ones(problem.n, np.float32), (here, matches)), shape=(problem.n, problem.m))
    i, j, _ = votes.top(voters, VOTED)
    names = np.unique(np.concatenate([i * problem.m + j, here * problem.m + matches]))
    i, j = names // problem.m, names % problem.m
    once = 1.0 if problem.is_directed else 0.5  # edges without direction count twice in values
    worth = votes.common_edges(matches, i, j) + once * problem.own_worth(i, j)
    worth += LOOKS * np.exp(-looks.distances(i, j) / REACH)
    # A node may go to a place of its own, which is worth nothing; weights of 0 would be no entries.
    i, j = np.append(i, here), np.append(j, problem.m + here)
    cost = 1 + worth.max(initial=0) - np.append(worth, np.zeros(problem.n))
    found = min_weight_full_bipartite_matching(
        coo_array((cost, (i, j)), shape=(problem.n, problem.m + problem.n)).tocsr()
    )[1]
    return np.where(found < problem.m, found, -1).astype(np.int64)


def completed(problem: Problem, matches: Int64s, looks: Looks) -> Int64s:
    """Match all nodes that have no match with nodes of their kind that are free, by looks."""
    found = matches.copy()
    is_free = np.ones(problem.m, bool)
    is_free[found[found >= 0]] = False
    kinds: Any = problem.kinds or (np.zeros(problem.n, np.int64), np.zeros(problem.m, np.int64))
    left, free = np.flatnonzero(found < 0), np.flatnonzero(is_free)
    for kind in np.unique(kinds[0][left]):
        own, other = left[kinds[0][left] == kind], free[kinds[1][free] == kind]
        if len(own) * len(other) <= MOST_AT_ONCE**2:
            i, j = np.repeat(own, len(other)), np.tile(other, len(own))
            found[own] = other[assignment(-looks.distances(i, j).reshape(len(own), len(other)))]
            continue
        order = [
            np.argsort(-side[nodes, -1], kind="stable") for side, nodes in zip(looks.points, (own, other), strict=True)
        ]
        found[own[order[0]]] = other[order[1]][: len(own)]
    return found
