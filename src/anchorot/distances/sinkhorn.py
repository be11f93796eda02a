"""Entropic optimal transport at epsilons down to 1e-13 of the costs: stabilised Sinkhorn, finished by Newton's method.

min_P <P, C> - eps H(P) has the solution P = exp((f + g - C) / eps), and Sinkhorn's iteration fits f and g to the two
marginals in turn. Its number of iterations grows as eps falls, without bound. Here

1. Sinkhorn iterates on scalings u, v of a fixed kernel exp((f + g - C) / eps), two matrix-vector products per
   iteration and no exponentials; when u or v grow large they are absorbed into f and g by an iteration in the log
   domain;
2. if that takes too many iterations, eps starts again at the range of the costs and falls by a factor of 4 per stage;
   each stage starts from the last one's f and g, with a few iterations of Sinkhorn;
3. what these do not bring to the stage's goal is finished by Newton steps on the (concave) dual, each one Cholesky
   factorisation of a Schur complement, with a line search. A few dozen of them solve what tens of thousands of
   iterations do not.

A stage looks for what is to be added to the f and g of the stages before, given the reduced costs C - f - g. Its own f
and g are of the size of eps, not of the costs, so that rounding them moves the plan by parts in 10^14 and not by the
costs' rounding over eps. The schedule, numbers and rules alone, serves the same solver on tensors too
(`anchorot.torch.wasserstein`).
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s

SMALLEST_EPSILON = 1e-13
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
MAX_POTENTIAL = (
    1e4  # times epsilon: potentials this large are taken out of the costs, lest their rounding move the plan
)
STOPPED_EARLY = "POT's network simplex stopped at its limit of iterations; the plan may not be optimal"
LARGEST_LOG_SCALING = 100.0  # of u and v, before they are absorbed


"""Of the range of costs: at this epsilon and below, the exact problem is solved instead. Costs are rounded at 1e-16 of
their range, which would move the plan of such an epsilon by parts in a thousand."""

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


@dataclass
class _State:
    """A problem, its potentials in two parts, those of earlier stages and what this one adds, and the work done."""

    cost: Float64s
    a: Float64s
    b: Float64s
    n_iter: int = 0
    log_a: Float64s = field(init=False)
    log_b: Float64s = field(init=False)

    def __post_init__(self) -> None:
        self.log_a, self.log_b = np.log(self.a), np.log(self.b)
        self.start_again()

    def start_again(self) -> None:
        """Forget all potentials."""
        self.settled_f, self.settled_g = np.zeros_like(self.a), np.zeros_like(self.b)
        self.f, self.g = np.zeros_like(self.a), np.zeros_like(self.b)
        self.reduced = self.cost

    def settle(self) -> None:
        """Take what was found out of the costs: at the beginning of a stage, and where potentials grow far."""
        self.settled_f, self.settled_g = self.settled_f + self.f, self.settled_g + self.g
        self.f, self.g = np.zeros_like(self.a), np.zeros_like(self.b)
        self.reduced = self.cost - self.settled_f[:, None] - self.settled_g

    def plan(self, eps: float) -> Float64s:
        return np.exp((self.f[:, None] + self.g - self.reduced) / eps)

    def iterate(self, eps: float) -> None:
        """One Sinkhorn iteration in the log domain: rows, then columns."""
        self.f = eps * (self.log_a - _log_sum_exp((self.g - self.reduced) / eps, axis=1))
        self.fit_columns(eps)
        self.n_iter += 1

    def fit_columns(self, eps: float) -> None:
        self.g = eps * (self.log_b - _log_sum_exp((self.f[:, None] - self.reduced) / eps, axis=0))

    def dual(self, f: Float64s, g: Float64s, eps: float) -> float:
        """<a, f> + <b, g> - eps Σ P."""
        with np.errstate(over="ignore"):  # minus infinity is no rise
            total = eps * np.exp((f[:, None] + g - self.reduced) / eps).sum()
        return float(self.a @ f + self.b @ g - total)


@dataclass(frozen=True)
class EntropicPlan:
    """Solution of an entropic transport problem."""

    plan: Float64s
    f: Float64s
    g: Float64s
    n_iter: int
    converged: bool
    marginal_error: float


def entropic_plan(
    cost: Float64s, a: Float64s, b: Float64s, epsilon: float, max_iter: int, tolerance: float
) -> EntropicPlan:
    """Solve min <P, cost> + epsilon Σ P (log P - 1) over plans with marginals a, b > 0.

    Converged means: one more iteration changes the plan by no more than `tolerance`, relatively (the paper's rule), and
    the plan's marginals are off by no more than `tolerance` in sum.
    """
    state = _State(cost, a, b)
    last = Stage(epsilon, tolerance)
    if not _sinkhorn(state, last, first_budget(len(b), max_iter)) and state.n_iter < max_iter:
        state.start_again()
        for stage in stages(epsilon, float(np.ptp(cost)), tolerance):
            state.settle()
            if not _sinkhorn(state, stage, min(max_iter - state.n_iter, STAGE_ITERATIONS)):
                _newton(state, stage, max_iter)
        if state.n_iter >= max_iter:  # perhaps before the last stage: at least the columns are right
            state.fit_columns(epsilon)
    plan = state.plan(epsilon)
    change, error = _distance_from_fixed_point(plan, a, b)
    f, g = state.settled_f + state.f, state.settled_g + state.g
    return EntropicPlan(plan, f, g, state.n_iter, is_done(change, error, tolerance), error)


def _is_done(state: _State, plan: Float64s, stage: Stage) -> bool:
    return is_done(*_distance_from_fixed_point(plan, state.a, state.b), stage.goal)


def _distance_from_fixed_point(plan: Float64s, a: Float64s, b: Float64s) -> tuple[float, float]:
    """Relative change of the plan in the next iteration, which multiplies it by 1 + du and 1 + dv, and its error."""
    with np.errstate(over="ignore", invalid="ignore"):
        du = _excess(a, plan.sum(axis=1))[:, None]
        dv = _excess(b, ((1 + du) * plan).sum(axis=0))
        change = np.linalg.norm(plan * (du + dv + du * dv)) / np.linalg.norm(plan)
    return float(change), marginal_error(plan, a, b)


def _excess(wanted: Float64s, sums: Float64s) -> Float64s:
    """By how much to raise sums, relatively; sums that have underflowed cannot be raised."""
    return np.divide(wanted, sums, out=np.ones_like(wanted), where=sums > 0) - 1


def _log_sum_exp(x: Float64s, axis: int) -> Float64s:
    top = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)


def _sinkhorn(state: _State, stage: Stage, budget: int) -> bool:
    """Iterate until the goal is met (True) or the budget spent (False)."""
    last = state.n_iter + budget
    while state.n_iter < last:
        state.iterate(stage.epsilon)
        kernel = state.plan(stage.epsilon)
        if _is_done(state, kernel, stage):
            return True
        _scale(state, stage, kernel, last)
    return False


def _scale(state: _State, stage: Stage, kernel: Float64s, last: int) -> None:
    """Iterate on scalings of the kernel until they grow too large or the rows are right, then absorb them."""
    a, b = state.a, state.b
    u, v = np.ones_like(a), np.ones_like(b)
    while state.n_iter < last:
        row_sums = kernel @ v
        if not row_sums.all():
            break
        next_u = a / row_sums
        column_sums = next_u @ kernel
        if not column_sums.all():
            break
        u, v = next_u, b / column_sums
        state.n_iter += 1
        if max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max()) > LARGEST_LOG_SCALING:
            break
        if state.n_iter % CHECK_EVERY == 0 and np.abs(u * (kernel @ v) - a).sum() <= stage.goal:
            break
    state.f, state.g = state.f + stage.epsilon * np.log(u), state.g + stage.epsilon * np.log(v)


def _newton(state: _State, stage: Stage, max_iter: int) -> None:
    """Newton steps on the dual, each followed by an iteration in the log domain."""
    while state.n_iter < max_iter:
        state.iterate(stage.epsilon)
        plan = state.plan(stage.epsilon)
        if _is_done(state, plan, stage):
            return
        _newton_step(state, plan, stage.epsilon)
        if max(np.abs(state.f).max(), np.abs(state.g).max()) > MAX_POTENTIAL * stage.epsilon:
            state.settle()


def _newton_step(state: _State, plan: Float64s, eps: float) -> None:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    rows, columns = plan.sum(axis=1), plan.sum(axis=0)
    safe = np.where(rows > 0, rows, 1.0)  # where a row has underflowed, iterations go on
    miss_rows, miss_columns = state.a - rows, state.b - columns
    # [diag(rows), P; P^T, diag(columns)] (df, dg) = eps (miss_rows, miss_columns), with df eliminated
    schur = np.diag(columns * (1 + RIDGE)) - plan.T @ (plan / safe[:, None])
    try:
        dg = cho_solve(cho_factor(schur), eps * (miss_columns - plan.T @ (miss_rows / safe)))
    except LinAlgError:
        return
    df = (eps * miss_rows - plan @ dg) / safe
    _line_search(state, eps, df, dg, float(miss_rows @ df + miss_columns @ dg))


def _line_search(state: _State, eps: float, df: Float64s, dg: Float64s, slope: float) -> None:
    """Go along (df, dg) as far as the dual rises enough; stay if it does not."""
    now = state.dual(state.f, state.g, eps)
    for step in 0.5 ** np.arange(HALVINGS):
        f, g = state.f + step * df, state.g + step * dg
        if rises_enough(state.dual(f, g, eps), now, step, slope):
            state.f, state.g = f, g
            return


def marginal_error(plan: Float64s, a: Float64s, b: Float64s) -> float:
    """Sum of absolute differences between a plan's marginals and the weights."""
    return float(abs(plan.sum(axis=1) - a).sum() + abs(plan.sum(axis=0) - b).sum())
