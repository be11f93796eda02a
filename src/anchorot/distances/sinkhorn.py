"""Entropic optimal transport that converges at any epsilon: stabilised Sinkhorn, finished by Newton's method.

min_P <P, C> - eps H(P) has the solution P = exp((f + g - C) / eps), and Sinkhorn's iteration fits f and g to the two
marginals in turn. Its number of iterations grows as eps falls, without bound. Here

1. Sinkhorn iterates on scalings u, v of a fixed kernel exp((f + g - C) / eps), two matrix-vector products an iteration
   and no exponentials; when u or v grow large they are absorbed into f and g by one iteration in the log domain;
2. if that takes too many iterations, eps starts again at the range of the costs and falls by a factor of 4 a stage;
   each stage starts from the last one's f and g, with a few iterations of Sinkhorn;
3. what these do not bring to the stage's goal is finished by Newton steps on the (concave) dual, each one Cholesky
   factorisation of a Schur complement, with a line search. A few dozen of them solve what tens of thousands of
   iterations do not.
"""

from dataclasses import dataclass

import numpy as np

from anchorot._typing import Float64s

STAGE_FACTOR = 4.0
STAGE_TOLERANCE = 1e-2  # of a stage but the last
STAGE_ITERATIONS = 60  # of Sinkhorn in a stage, before Newton
LARGEST_LOG_SCALING = 100.0  # of u and v, before they are absorbed
CHECK_EVERY = 10  # iterations between two looks at the marginals


@dataclass
class _State:
    """Potentials of the current stage, and how much of the budget is spent."""

    f: Float64s
    g: Float64s
    n_iter: int = 0


@dataclass(frozen=True)
class EntropicPlan:
    """Solution of an entropic transport problem."""

    plan: Float64s
    f: Float64s
    g: Float64s
    n_iter: int
    converged: bool


def entropic_plan(
    cost: Float64s, a: Float64s, b: Float64s, epsilon: float, max_iter: int, tolerance: float
) -> EntropicPlan:
    """Solve min <P, cost> + epsilon Σ P (log P - 1) over plans with marginals a, b > 0.

    Converged means: one more iteration changes the plan by less than `tolerance`, relatively (the paper's rule), and
    the plan's marginals are off by less than `tolerance` in sum.
    """
    state = _State(np.zeros(len(a)), np.zeros(len(b)))
    log_a, log_b = np.log(a), np.log(b)
    budget = min(max_iter, 200 + len(b) // 2)
    if not _sinkhorn(state, cost, log_a, log_b, epsilon, tolerance, budget):
        state = _State(np.zeros(len(a)), np.zeros(len(b)), state.n_iter)
        for eps in _stages(epsilon, float(np.ptp(cost))):
            goal = tolerance if eps == epsilon else STAGE_TOLERANCE
            budget = min(max_iter - state.n_iter, STAGE_ITERATIONS)
            if not _sinkhorn(state, cost, log_a, log_b, eps, goal, budget):
                _newton(state, cost, log_a, log_b, eps, goal, max_iter)
    plan = _plan(state, cost, epsilon)
    change, error = _distance_from_fixed_point(plan, a)
    return EntropicPlan(plan, state.f, state.g, state.n_iter, change < tolerance and error < tolerance)


def _stages(epsilon: float, largest: float) -> list[float]:
    stages = [epsilon]
    while stages[-1] * STAGE_FACTOR < largest:
        stages.append(stages[-1] * STAGE_FACTOR)
    return stages[::-1]


def _plan(state: _State, cost: Float64s, eps: float) -> Float64s:
    return np.exp((state.f[:, None] + state.g - cost) / eps)


def _distance_from_fixed_point(plan: Float64s, a: Float64s) -> tuple[float, float]:
    """Relative change of the plan in the next iteration (its column sums being right), and its marginal error."""
    rows = plan.sum(axis=1)
    relative = np.divide(a, rows, out=np.full_like(a, np.inf), where=rows > 0) - 1
    squares = np.einsum("ij,ij->i", plan, plan)
    with np.errstate(over="ignore", invalid="ignore"):
        change = np.sqrt(np.nansum(relative**2 * squares) / squares.sum())
    return float(change), float(np.abs(rows - a).sum())


def _log_sum_exp(x: Float64s, axis: int) -> Float64s:
    top = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)


def _log_iteration(state: _State, cost: Float64s, log_a: Float64s, log_b: Float64s, eps: float) -> None:
    """One Sinkhorn iteration in the log domain: rows, then columns."""
    state.f = eps * (log_a - _log_sum_exp((state.g - cost) / eps, axis=1))
    state.g = eps * (log_b - _log_sum_exp((state.f[:, None] - cost) / eps, axis=0))
    state.n_iter += 1


def _sinkhorn(
    state: _State, cost: Float64s, log_a: Float64s, log_b: Float64s, eps: float, goal: float, budget: int
) -> bool:
    """Iterate until the goal is met (True) or the budget spent (False)."""
    a, b = np.exp(log_a), np.exp(log_b)
    last = state.n_iter + budget
    while state.n_iter < last:
        _log_iteration(state, cost, log_a, log_b, eps)
        kernel = _plan(state, cost, eps)
        change, error = _distance_from_fixed_point(kernel, a)
        if change < goal and error < goal:
            return True
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
            if state.n_iter % CHECK_EVERY == 0 and np.abs(u * (kernel @ v) - a).sum() < goal:
                break
        state.f, state.g = state.f + eps * np.log(u), state.g + eps * np.log(v)
    return False


def _newton(
    state: _State, cost: Float64s, log_a: Float64s, log_b: Float64s, eps: float, goal: float, max_iter: int
) -> None:
    """Newton steps on the dual <a, f> + <b, g> - eps Σ P, each followed by an iteration in the log domain."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    a, b = np.exp(log_a), np.exp(log_b)
    while state.n_iter < max_iter:
        _log_iteration(state, cost, log_a, log_b, eps)
        plan = _plan(state, cost, eps)
        change, error = _distance_from_fixed_point(plan, a)
        if change < goal and error < goal:
            return
        rows, columns = plan.sum(axis=1), plan.sum(axis=0)
        if not rows.all():
            continue  # a row has underflowed: iterate on
        miss_rows, miss_columns = a - rows, b - columns
        # [diag(rows), P; P^T, diag(columns)] (df, dg) = eps (miss_rows, miss_columns), with df eliminated
        schur = np.diag(columns) - plan.T @ (plan / rows[:, None])
        schur[np.diag_indices_from(schur)] += 1e-10 * columns + 1e-12 * columns.max()  # f + c, g - c is the same plan
        try:
            dg = cho_solve(cho_factor(schur), eps * (miss_columns - plan.T @ (miss_rows / rows)))
        except LinAlgError:
            continue
        df = (eps * miss_rows - plan @ dg) / rows
        _line_search(state, cost, a, b, eps, plan, df, dg, float(miss_rows @ df + miss_columns @ dg))


def _line_search(
    state: _State,
    cost: Float64s,
    a: Float64s,
    b: Float64s,
    eps: float,
    plan: Float64s,
    df: Float64s,
    dg: Float64s,
    slope: float,
) -> None:
    """Go along (df, dg) as far as the dual rises enough (Armijo); stay if it does not."""
    now = float(a @ state.f + b @ state.g - eps * plan.sum())
    for step in 0.5 ** np.arange(30):
        f, g = state.f + step * df, state.g + step * dg
        with np.errstate(over="ignore"):
            value = float(a @ f + b @ g - eps * np.exp((f[:, None] + g - cost) / eps).sum())
        if value >= now + 1e-4 * step * slope - 1e-14 * abs(now):
            state.f, state.g = f, g
            return
