"""Entropic optimal transport at epsilons down to 1e-13 of the costs: stabilised Sinkhorn, finished by Newton's method.

min_P <P, C> - eps H(P) has the solution P = exp((f + g - C) / eps), and Sinkhorn's iteration fits f and g to the two
marginals in turn. Its number of iterations grows as eps falls, without bound. Here

1. Sinkhorn iterates on scalings u, v of a fixed kernel exp((f + g - C) / eps), two matrix-vector products an iteration
   and no exponentials; when u or v grow large they are absorbed into f and g by one iteration in the log domain;
2. if that takes too many iterations, eps starts again at the range of the costs and falls by a factor of 4 a stage;
   each stage starts from the last one's f and g, with a few iterations of Sinkhorn;
3. what these do not bring to the stage's goal is finished by Newton steps on the (concave) dual, each one Cholesky
   factorisation of a Schur complement, with a line search. A few dozen of them solve what tens of thousands of
   iterations do not.

A stage looks for what is to be added to the f and g of the stages before, given the reduced costs C - f - g. Its own f
and g are of the size of eps, not of the costs, so that rounding them moves the plan by parts in 10^14 and not by the
costs' rounding over eps. :mod:`anchorot.distances.schedule` has the numbers and rules; the same solver on tensors is
`anchorot.torch.wasserstein`.
"""

from dataclasses import dataclass, field

import numpy as np

from anchorot._typing import Float64s
from anchorot.distances import schedule
from anchorot.distances.schedule import Stage
from anchorot.distances.transport import marginal_error

LARGEST_LOG_SCALING = 100.0  # of u and v, before they are absorbed


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
    if not _sinkhorn(state, last, schedule.first_budget(len(b), max_iter)) and state.n_iter < max_iter:
        state.start_again()
        for stage in schedule.stages(epsilon, float(np.ptp(cost)), tolerance):
            state.settle()
            if not _sinkhorn(state, stage, min(max_iter - state.n_iter, schedule.STAGE_ITERATIONS)):
                _newton(state, stage, max_iter)
        if state.n_iter >= max_iter:  # perhaps before the last stage: at least the columns are right
            state.fit_columns(epsilon)
    plan = state.plan(epsilon)
    change, error = _distance_from_fixed_point(plan, a, b)
    f, g = state.settled_f + state.f, state.settled_g + state.g
    return EntropicPlan(plan, f, g, state.n_iter, schedule.is_done(change, error, tolerance), error)


def _is_done(state: _State, plan: Float64s, stage: Stage) -> bool:
    return schedule.is_done(*_distance_from_fixed_point(plan, state.a, state.b), stage.goal)


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
        if state.n_iter % schedule.CHECK_EVERY == 0 and np.abs(u * (kernel @ v) - a).sum() <= stage.goal:
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
        if max(np.abs(state.f).max(), np.abs(state.g).max()) > schedule.FAR * stage.epsilon:
            state.settle()


def _newton_step(state: _State, plan: Float64s, eps: float) -> None:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    rows, columns = plan.sum(axis=1), plan.sum(axis=0)
    safe = np.where(rows > 0, rows, 1.0)  # where a row has underflowed, iterations go on
    miss_rows, miss_columns = state.a - rows, state.b - columns
    # [diag(rows), P; P^T, diag(columns)] (df, dg) = eps (miss_rows, miss_columns), with df eliminated
    schur = np.diag(columns * (1 + schedule.RIDGE)) - plan.T @ (plan / safe[:, None])
    try:
        dg = cho_solve(cho_factor(schur), eps * (miss_columns - plan.T @ (miss_rows / safe)))
    except LinAlgError:
        return
    df = (eps * miss_rows - plan @ dg) / safe
    _line_search(state, eps, df, dg, float(miss_rows @ df + miss_columns @ dg))


def _line_search(state: _State, eps: float, df: Float64s, dg: Float64s, slope: float) -> None:
    """Go along (df, dg) as far as the dual rises enough; stay if it does not."""
    now = state.dual(state.f, state.g, eps)
    for step in 0.5 ** np.arange(schedule.HALVINGS):
        f, g = state.f + step * df, state.g + step * dg
        if schedule.rises_enough(state.dual(f, g, eps), now, step, slope):
            state.f, state.g = f, g
            return
