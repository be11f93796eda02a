"""Entropic Gromov-Wasserstein: mirror descent with plans that neither underflow nor lose their mass.

The fixed points of T = argmin_P <L(T), P> - eps H(P), with L the gradient of the loss, are the stationary points of
loss(T) - eps H(T). A step goes to the entropic plan of the gradient, which :mod:`anchorot.distances.sinkhorn` finds at
any epsilon, or, where that would raise the objective, part of the way there.
"""

from typing import NamedTuple

import numpy as np

from anchorot._typing import Float64s
from anchorot.distances.quadratic import Quadratic
from anchorot.distances.schedule import is_exact
from anchorot.distances.sharpening import conditional_gradient, round_to_marginals
from anchorot.distances.sinkhorn import entropic_plan
from anchorot.distances.transport import with_entropy

INNER = 1e-4  # of the mass that the last step moved: tolerance of the next entropic plan
LEAST_INNER = 1e-11  # what rounding allows
INNER_ITERATIONS = 10_000
HALVINGS = 30  # of a step that would raise the objective
ROUNDING = 1e-14  # of the square of the unit of costs: no rise
STUCK = "no step lowers the objective, though the plan is not stationary; try another start"
AT_LIMIT = "the limit of iterations was reached; raise max_iter"
LOOSE = "Sinkhorn's iteration did not reach its tolerance; raise epsilon or the tolerance"


class Settled(NamedTuple):
    """Where mirror descent ended."""

    plan: Float64s
    objective: float
    n_iter: int
    problem: str  # what kept it from converging, or nothing


def mirror_descent(
    problem: Quadratic, plan: Float64s, a: Float64s, b: Float64s, epsilon: float, max_iter: int, tolerance: float
) -> Settled:
    """Lower loss - epsilon H from a plan of marginals a, b > 0 until the plan changes by no more than the tolerance.

    An epsilon that float64 does not tell from zero is zero: the descent is then the conditional gradient.
    """
    if is_exact(epsilon, float(np.ptp(problem.slope(plan)))):
        sharp = conditional_gradient(problem, plan, a, b)
        return Settled(sharp.plan, sharp.objective, sharp.n_steps, "" if sharp.converged else AT_LIMIT)
    f, g, moved = 0 * a, 0 * b, 1.0
    value = _objective(problem, plan, epsilon)
    for n_iter in range(1, max_iter + 1):
        slope = problem.slope(plan) - f[:, None] - g  # less what is known: the same plan, in fewer iterations
        inner = max(INNER * moved, LEAST_INNER)
        found = entropic_plan(slope - slope.min(), a, b, epsilon, INNER_ITERATIONS, inner)
        f, g, before = f + found.f, g + found.g, plan
        towards = round_to_marginals(found.plan, a, b)
        moved = float(np.abs(towards - before).sum())
        plan, value = _as_far_as_it_falls(problem, before, towards, value, epsilon, inner)
        if np.linalg.norm(towards - before) <= tolerance:  # POT's rule
            return Settled(plan, value, n_iter, "" if found.converged else LOOSE)
        if plan is before:
            return Settled(plan, value, n_iter, STUCK)
    return Settled(plan, value, max_iter, AT_LIMIT)


def _objective(problem: Quadratic, plan: Float64s, epsilon: float) -> float:
    return with_entropy(float(problem.value(plan)), plan, epsilon)


def _as_far_as_it_falls(
    problem: Quadratic, plan: Float64s, towards: Float64s, value: float, epsilon: float, inexact: float
) -> tuple[Float64s, float]:
    """The first plan on the way, halved again and again, that is no worse; the plan itself if there is none.

    Mass that an inexact plan has misplaced may cost as much as itself, in units of the costs' square.
    """
    for share in 0.5 ** np.arange(HALVINGS):
        there = towards if share == 1 else plan + share * (towards - plan)
        reached = _objective(problem, there, epsilon)
        if reached <= value + ROUNDING + inexact:
            return there, reached
    return plan, value
