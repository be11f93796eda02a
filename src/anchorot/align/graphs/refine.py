"""From a plan to a matching that no small change improves: conditional gradient, then exchanges."""

from collections.abc import Callable

import numpy as np

from anchorot._typing import Float32s, Int64s
from anchorot.align.graphs.backend import Backend
from anchorot.align.graphs.path import Slope
from anchorot.align.graphs.problem import Problem

MOST_STEPS = 30  # of conditional gradient
MOST_ROUNDS = 100  # of exchanges

BestExchanges = Callable[[Problem, Int64s], tuple[Int64s, Float32s]]


def finish(problem: Problem, plan: Float32s, backend: Backend) -> tuple[Int64s, float, bool]:
    """The best matching that is found from a plan of (rows, m), its value, and whether no exchange helps any more.

    Never worse than the plan's own best.
    """
    begun = assignment(problem.without_forbidden(plan[: problem.n]))
    climbed = conditional_gradient(problem, plan, backend)
    matches = max((begun, climbed), key=problem.value)
    return exchange(problem, matches)


def assignment(worth: Float32s) -> Int64s:
    """Matching of the largest sum."""
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(worth, maximize=True)[1]


def conditional_gradient(problem: Problem, plan: Float32s, backend: Backend) -> Int64s:
    """Go from matching to matching, each time as far as the value rises (Vogelstein et al. 2015)."""
    slope = Slope(problem, backend)
    n = problem.n
    here = backend.dense(plan)
    gradient = slope(here, 1.0)
    for _ in range(MOST_STEPS):
        matches = assignment(problem.without_forbidden(backend.host(gradient)[:n]))
        vertex = np.zeros((problem.rows, problem.m), np.float32)
        vertex[np.arange(n), matches] = 1
        if problem.rows > n:
            vertex[n] = np.isin(np.arange(problem.m), matches, invert=True) / (problem.m - n)
        there = backend.dense(vertex)
        way = there - here
        gradient_there = slope(there, 1.0)
        rise = float((gradient[:n] * way[:n]).sum())
        bend = float(((gradient_there[:n] - gradient[:n]) * way[:n]).sum()) / 2
        length = 1.0 if bend >= 0 else min(1.0, -rise / (2 * bend))
        if length * rise + length**2 * bend <= 1e-6 * max(1.0, abs(rise)) or length <= 0:
            break
        here = there if length == 1 else here + length * way
        gradient = gradient_there if length == 1 else gradient + length * (gradient_there - gradient)
    return assignment(problem.without_forbidden(backend.host(here)[:n]))


def best_exchanges(problem: Problem, matches: Int64s) -> tuple[Int64s, Float32s]:
    """(n,): with whose match every node would best exchange its own, and what is gained."""
    change = problem.changes_by_swap(matches)
    target = change.argmax(axis=1)
    return target, change[np.arange(problem.n), target]


def exchange(
    problem: Problem, matches: Int64s, best: BestExchanges = best_exchanges, most_rounds: int = MOST_ROUNDS
) -> tuple[Int64s, float, bool]:
    """Exchange the matches of two nodes, or take a node that is free, as long as that helps."""
    value = problem.value(matches)
    for _ in range(most_rounds):
        target, gain = best(problem, matches)
        order = np.argsort(-gain, kind="stable")
        order = order[gain[order] > 1e-6 * max(1.0, abs(value))]
        if not len(order):
            return matches, value, True
        several = _moved(matches, target, order, problem.m)
        there = problem.value(several)
        if there <= value:  # gains of exchanges that meet do not add up
            several = _moved(matches, target, order[:1], problem.m)
            there = problem.value(several)
        if there <= value:
            return matches, value, True
        matches, value = several, there
    return matches, value, False


def _moved(matches: Int64s, target: Int64s, order: Int64s, m: int) -> Int64s:
    """Move nodes to their targets in this order, the node matched there the other way; each moves once at the most."""
    partner = np.full(m, -1)
    partner[matches] = np.arange(len(matches))
    moved, is_used = matches.copy(), np.zeros(m, bool)
    for i in order:
        here, there = matches[i], target[i]
        if is_used[here] or is_used[there]:
            continue
        is_used[[here, there]] = True
        moved[i] = there
        if partner[there] >= 0:
            moved[partner[there]] = here
    return moved
