"""The entropic solver's schedule and rules, in one place for its twins.

They are :mod:`anchorot.distances.sinkhorn`, on arrays, and `anchorot.torch.wasserstein`, on tensors. Here are numbers
alone: no arrays are made.
"""

from typing import Any, NamedTuple

SMALLEST_EPSILON = 1e-13
"""Of the range of costs: at this epsilon and below, the exact problem is solved instead. Costs are rounded at 1e-16 of
their range, which would move the plan of such an epsilon by parts in a thousand."""
DEFAULT_EPSILON = 1e-3  # of Anchor Wasserstein, in units of the mean cost between anchors
LEAST_MEAN = 1e-10  # of the range of costs, both to the power p: a mean below this is rounding, and no unit
STAGE_FACTOR = 4.0  # by which epsilon falls from stage to stage
STAGE_TOLERANCE = 1e-2  # of a stage but the last
STAGE_ITERATIONS = 60  # of Sinkhorn in a stage, before Newton
CHECK_EVERY = 10  # iterations between two looks at the marginals
HALVINGS = 30  # of a Newton step, before it is given up
ARMIJO = 1e-4  # share of the rise promised by the slope that a step must bring
ROUNDING = 1e-14  # of the dual's value
RIDGE = 1e-12  # of a column's mass, added to the Schur complement: f + c, g - c is the same plan
FAR = 1e4  # times epsilon: potentials this large are taken out of the costs, lest their rounding move the plan
STOPPED_EARLY = "POT's network simplex stopped at its limit of iterations; the plan may not be optimal"

PerProblem = Any  # a number, or a tensor of one number for each problem


class Stage(NamedTuple):
    """An epsilon to solve for, and when its solution is good enough."""

    epsilon: float
    goal: float


def is_exact(epsilon: float, spread: PerProblem) -> PerProblem:
    """Whether to solve the exact problem: float64 cannot tell the entropic one from it, given the range of costs."""
    return epsilon <= SMALLEST_EPSILON * spread


def first_budget(columns: int, max_iter: int) -> int:
    """Iterations at the last epsilon right away: about as many as what the stages would cost."""
    return min(max_iter, 200 + columns // 2)


def stages(epsilon: float, spread: float, tolerance: float) -> list[Stage]:
    """Epsilons that fall from the range of costs to the one wanted."""
    epsilons = [epsilon]
    while epsilons[-1] * STAGE_FACTOR < spread:
        epsilons.append(epsilons[-1] * STAGE_FACTOR)
    return [Stage(each, STAGE_TOLERANCE) for each in epsilons[:0:-1]] + [Stage(epsilon, tolerance)]


def is_done(change: PerProblem, error: PerProblem, goal: float) -> PerProblem:
    """Whether the plan changes by no more than the goal in the next iteration, and misses its marginals by no more."""
    return (change <= goal) & (error <= goal)


def not_converged(epsilon: float, n_iter: int, marginal_error: float) -> str:
    """Say why a plan may not be optimal, and what helps."""
    if epsilon == 0:
        return STOPPED_EARLY
    return (
        f"Sinkhorn did not converge in {n_iter} iterations at epsilon={epsilon:g}: its marginals are off by "
        f"{marginal_error:.1e}; raise max_iter or epsilon, or take epsilon=0"
    )


def rises_enough(value: PerProblem, now: PerProblem, step: PerProblem, slope: PerProblem) -> PerProblem:
    """Whether a step along a direction of this slope raises the dual from `now` enough (Armijo's rule)."""
    return value >= now + ARMIJO * step * slope - ROUNDING * abs(now)
