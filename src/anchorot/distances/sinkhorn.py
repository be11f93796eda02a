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
costs' rounding over eps.

All of it runs on NumPy arrays and on tensors, for a batch of problems of one size: costs are (batch, n, m). Points
without weight take no part: their potentials are -infinity.
"""

from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s
from anchorot.distances.quadratic import library_of, transpose

SMALLEST_EPSILON = 1e-13
"""Of the range of costs: at this epsilon and below, the exact problem is solved instead. Costs are rounded at 1e-16 of
their range, which would move the plan of such an epsilon by parts in a thousand."""
DEFAULT_EPSILON = 1e-3  # of Anchor Wasserstein, in units of the mean cost between anchors
LEAST_MEAN = 1e-10  # of the range of costs, both to the power p: a mean below this is rounding, and no unit
STAGE_FACTOR = 4.0  # by which epsilon falls from stage to stage
STAGE_TOLERANCE = 1e-2  # of a stage but the last
STAGE_ITERATIONS = 60  # of Sinkhorn in a stage, before Newton
LOOK_EVERY = 5  # iterations between two looks at the scalings,
CHECK_EVERY = 10  # and at the marginals
HALVINGS = 40  # of a Newton step, before it is given up
LONG_HALVINGS = 29  # after which it is cut to MAX_LOG_MOVE: parts that hardly share mass ask for 1e11 too much
MAX_LOG_MOVE = 50.0  # of an entry of the plan
ARMIJO = 1e-4  # share of the rise promised by the slope that a step must bring
ROUNDING = 1e-14  # of the dual's value
RIDGE = 1e-12  # of a column's mass, added to the Schur complement: f + c, g - c is the same plan
MAX_POTENTIAL = (
    1e4  # times epsilon: potentials this large are taken out of the costs, lest their rounding move the plan
)
STOPPED_EARLY = "POT's network simplex stopped at its limit of iterations; the plan may not be optimal"
LARGEST_LOG_SCALING = 100.0  # of u and v, before they are absorbed

PerProblem = Any  # a number, or one number for each problem


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


class EntropicPlan(NamedTuple):
    """Solution of an entropic transport problem, or of each of a batch."""

    plan: Any  # (n, m)
    f: Any
    g: Any
    n_iter: PerProblem
    converged: PerProblem
    marginal_error: PerProblem


def entropic_plan(
    cost: Float64s, a: Float64s, b: Float64s, epsilon: float, max_iter: int, tolerance: float
) -> EntropicPlan:
    """Solve one problem, see `entropic_plans`."""
    found = entropic_plans(cost[None], a[None], b[None], epsilon, max_iter, tolerance)
    return EntropicPlan(*(part[0] for part in found))


@np.errstate(all="ignore")  # logarithms of no weight, and what overflows, are infinite
def entropic_plans(cost: Any, a: Any, b: Any, epsilon: float, max_iter: int, tolerance: float) -> EntropicPlan:
    """Solve min <P, cost> + epsilon Σ P (log P - 1) over plans with marginals a, b, for each of a batch.

    Converged means: one more iteration changes the plan by no more than `tolerance`, relatively (the paper's rule), and
    the plan's marginals are off by no more than `tolerance` in sum. Costs are not negative.
    """
    last = Stage(epsilon, tolerance)
    state = _State(cost, a, b)
    _sinkhorn(state, last, first_budget(b.shape[-1], max_iter))
    found = state.solution(last)
    rest = ~found.converged
    if not bool(rest.any()) or state.n_iter >= max_iter:
        return found
    state = _State(cost[rest], a[rest], b[rest], state.n_iter)
    for stage in stages(epsilon, float(state.cost.max()), tolerance):
        state.settle()
        if not _sinkhorn(state, stage, min(max_iter - state.n_iter, STAGE_ITERATIONS)):
            _newton(state, stage, max_iter)
    if state.n_iter >= max_iter:  # perhaps before the last stage: at least the columns are right
        state.fit_columns(epsilon)
    for part, staged in zip(found, state.solution(last), strict=True):
        part[rest] = staged
    return found


class _State:
    """A batch of problems, their potentials in two parts, those of earlier stages and what this one adds."""

    def __init__(self, cost: Any, a: Any, b: Any, n_iter: int = 0) -> None:
        self.xp = library_of(cost)
        self.cost, self.a, self.b, self.n_iter = cost, a, b, n_iter
        self.log_a, self.log_b = self.xp.log(a), self.xp.log(b)
        self.settled_f, self.settled_g, self.reduced = 0 * a, 0 * b, cost
        self.f, self.g = self._where_heavy(0 * a, 0 * b, -np.inf)

    def _where_heavy(self, f: Any, g: Any, otherwise: float) -> tuple[Any, Any]:
        """What belongs to points that have a weight, and another number for the rest."""
        return self.xp.where(self.a > 0, f, otherwise), self.xp.where(self.b > 0, g, otherwise)

    def settle(self) -> None:
        """Take what was found out of the costs: at the beginning of a stage, and where potentials grow far."""
        f, g = self._where_heavy(self.f, self.g, 0.0)
        self.settled_f, self.settled_g = self.settled_f + f, self.settled_g + g
        self.f, self.g = self._where_heavy(0 * f, 0 * g, -np.inf)
        self.reduced = self.cost - self.settled_f[:, :, None] - self.settled_g[:, None, :]

    def largest(self) -> float:
        """Largest potential that is not settled."""
        return max(float(abs(part).max()) for part in self._where_heavy(self.f, self.g, 0.0))

    def plan(self, eps: float) -> Any:
        return self._plan(self.f, self.g, eps)

    def _plan(self, f: Any, g: Any, eps: float) -> Any:
        return self.xp.exp((f[:, :, None] + g[:, None, :] - self.reduced) / eps)

    def iterate(self, eps: float) -> None:
        """One Sinkhorn iteration in the log domain: rows, then columns."""
        self.f = eps * (self.log_a - self._log_sum_exp((self.g[:, None, :] - self.reduced) / eps, 2))
        self.fit_columns(eps)
        self.n_iter += 1

    def fit_columns(self, eps: float) -> None:
        self.g = eps * (self.log_b - self._log_sum_exp((self.f[:, :, None] - self.reduced) / eps, 1))

    def _log_sum_exp(self, x: Any, axis: int) -> Any:
        top = self.xp.amax(x, axis)
        spread = x - (top[:, :, None] if axis == 2 else top[:, None, :])
        return self.xp.log(self.xp.exp(spread).sum(axis)) + top

    def dual(self, f: Any, g: Any, eps: float) -> PerProblem:
        """<a, f> + <b, g> - eps Σ P."""
        of_a, of_b = self._where_heavy(self.a * f, self.b * g, 0.0)
        return of_a.sum(-1) + of_b.sum(-1) - eps * self._plan(f, g, eps).sum((-1, -2))

    def is_done(self, plan: Any, stage: Stage) -> bool:
        """Whether all problems meet the goal."""
        return bool(is_done(*self._distance_from_fixed_point(plan), stage.goal).all())

    def _distance_from_fixed_point(self, plan: Any) -> tuple[PerProblem, PerProblem]:
        """Relative change of a plan in the next iteration, which multiplies it by 1 + du and 1 + dv, and its error."""
        du = self._excess(self.a, plan.sum(-1))[:, :, None]
        dv = self._excess(self.b, ((1 + du) * plan).sum(-2))[:, None, :]
        change = self.xp.sqrt(((plan * (du + dv + du * dv)) ** 2).sum((-1, -2)) / (plan**2).sum((-1, -2)))
        return change, _marginal_errors(plan, self.a, self.b)

    def _excess(self, wanted: Any, sums: Any) -> Any:
        """By how much to raise sums, relatively; sums that have underflowed cannot be raised."""
        return self.xp.where(sums > 0, wanted / sums - 1, 0.0)

    def solution(self, last: Stage) -> EntropicPlan:
        plan = self.plan(last.epsilon)
        change, error = self._distance_from_fixed_point(plan)
        n_iter = self.xp.full_like(error, self.n_iter)
        f, g = self.settled_f + self.f, self.settled_g + self.g
        return EntropicPlan(plan, f, g, n_iter, is_done(change, error, last.goal), error)


def _sinkhorn(state: _State, stage: Stage, budget: int) -> bool:
    """Iterate until the goal is met (True) or the budget spent (False)."""
    last = state.n_iter + budget
    while state.n_iter < last:
        state.iterate(stage.epsilon)
        kernel = state.plan(stage.epsilon)
        if state.is_done(kernel, stage):
            return True
        _scale(state, stage, kernel, last)
    return False


def _scale(state: _State, stage: Stage, kernel: Any, last: int) -> None:
    """Iterate on scalings of the kernel until they grow too large or the rows are right, then absorb them.

    They are looked at now and then, since that takes as long as an iteration between few points, and a device must be
    waited for; iterations that have led out of the range of floats by then are forgotten.
    """
    xp, a, b = state.xp, *state._where_heavy(state.a, state.b, 1.0)
    none_a, none_b = (1.0 * (weights == 0) for weights in (state.a, state.b))  # keeps sums over nothing from zero
    u, v = xp.ones_like(a), xp.ones_like(b)
    kept, n_iter = (u, v), state.n_iter
    while n_iter < last:
        u = a / (_row_sums(kernel, v) + none_a)
        v = b / (_column_sums(u, kernel) + none_b)
        n_iter += 1
        if n_iter % LOOK_EVERY and n_iter < last:
            continue
        largest = float(max(abs(xp.log(u)).max(), abs(xp.log(v)).max()))
        if not largest < np.inf:
            break
        kept, state.n_iter = (u, v), n_iter
        if largest > LARGEST_LOG_SCALING:
            break
        if n_iter % CHECK_EVERY == 0:
            missed = abs(u * _row_sums(kernel, v) - state.a).sum(-1)
            if float(missed.max()) <= stage.goal:
                break
    state.f, state.g = state.f + stage.epsilon * xp.log(kept[0]), state.g + stage.epsilon * xp.log(kept[1])


def _row_sums(kernel: Any, v: Any) -> Any:
    return (kernel @ v[:, :, None])[:, :, 0]


def _column_sums(u: Any, kernel: Any) -> Any:
    return (u[:, None, :] @ kernel)[:, 0]


def _newton(state: _State, stage: Stage, max_iter: int) -> None:
    """Newton steps on the dual, each followed by an iteration in the log domain."""
    while state.n_iter < max_iter:
        state.iterate(stage.epsilon)
        plan = state.plan(stage.epsilon)
        if state.is_done(plan, stage):
            return
        _newton_step(state, plan, stage.epsilon)
        if state.largest() > MAX_POTENTIAL * stage.epsilon:
            state.settle()


def _newton_step(state: _State, plan: Any, eps: float) -> None:
    xp, rows, columns = state.xp, plan.sum(-1), plan.sum(-2)
    safe = xp.where(rows > 0, rows, 1.0)  # where a row has underflowed, iterations go on
    miss_rows, miss_columns = state.a - rows, state.b - columns
    # [diag(rows), P; P^T, diag(columns)] (df, dg) = eps (miss_rows, miss_columns), with df eliminated
    schur = -(transpose(plan) @ (plan / safe[:, :, None]))
    schur.reshape(len(schur), -1)[:, :: schur.shape[-1] + 1] += xp.where(columns > 0, columns * (1 + RIDGE), 1.0)
    dg = _solve_positive(schur, eps * (miss_columns - _column_sums(miss_rows / safe, plan)))
    df = (eps * miss_rows - _row_sums(plan, dg)) / safe
    usable = (xp.isfinite(df).all(-1) & xp.isfinite(dg).all(-1))[:, None]
    df, dg = xp.where(usable, df, 0.0), xp.where(usable, dg, 0.0)
    _line_search(state, eps, df, dg, (miss_rows * df).sum(-1) + (miss_columns * dg).sum(-1))


def _solve_positive(matrices: Any, right: Any) -> Any:
    """Solve systems of positive definite matrices; NaN where one is not."""
    if library_of(matrices) is np:
        return np.stack([_solve_one(*pair) for pair in zip(matrices, right, strict=True)])
    import torch

    factor, failed = torch.linalg.cholesky_ex(matrices)
    found = torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    return torch.where(failed[:, None] == 0, found, torch.nan)


def _solve_one(matrix: Float64s, right: Float64s) -> Float64s:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return cho_solve(cho_factor(matrix), right)
    except LinAlgError:
        return np.full_like(right, np.nan)


def _line_search(state: _State, eps: float, df: Any, dg: Any, slope: PerProblem) -> None:
    """Go along (df, dg), each problem as far as its dual rises enough; stay where it does not."""
    xp, now = state.xp, state.dual(state.f, state.g, eps)
    step = xp.ones_like(now)
    for halvings in range(HALVINGS):
        f, g = state.f + step[:, None] * df, state.g + step[:, None] * dg
        short = ~rises_enough(state.dual(f, g, eps), now, step, slope)
        if not bool(short.any()):
            break
        step = xp.where(short, step / 2, step)
        if halvings == LONG_HALVINGS:
            cut = xp.minimum(step, MAX_LOG_MOVE * eps / _largest_sum(xp, df, dg))
            step = xp.where(short, cut, step)
    else:
        step = xp.where(short, 0.0, step)
    state.f, state.g = state.f + step[:, None] * df, state.g + step[:, None] * dg


def _largest_sum(xp: Any, df: Any, dg: Any) -> PerProblem:
    """Largest |df_i + dg_j| of each problem."""
    tops, bottoms = (sum(of(part, -1) for part in (df, dg)) for of in (xp.amax, xp.amin))
    return xp.maximum(abs(tops), abs(bottoms))


def marginal_error(plan: Float64s, a: Float64s, b: Float64s) -> float:
    """Sum of absolute differences between a plan's marginals and the weights."""
    return float(_marginal_errors(plan, a, b))


def _marginal_errors(plan: Any, a: Any, b: Any) -> PerProblem:
    return abs(plan.sum(-1) - a).sum(-1) + abs(plan.sum(-2) - b).sum(-1)
