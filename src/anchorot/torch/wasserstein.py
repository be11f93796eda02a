"""Anchor Wasserstein of tensors: costs between anchors, transport on the device, gradient by the envelope theorem.

The solver is the twin of :mod:`anchorot.distances.sinkhorn`, for a batch of problems, by the same schedule and the same
rules, with all iterations in the log domain: first Sinkhorn at the epsilon wanted;
what that does not solve, by stages of falling epsilon, each on the costs that the stages before have reduced, with
Newton steps on the (concave) dual where a few dozen iterations do not bring it to its goal. Letters: c costs, a, b
marginals, f, g potentials, P the plan. Points without weight take no part: their potentials are -infinity.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from anchorot._validate import check_integer, check_nonnegative, check_power
from anchorot.distances import sinkhorn as schedule
from anchorot.distances.sinkhorn import DEFAULT_EPSILON, LEAST_MEAN, Stage, is_exact, not_converged
from anchorot.distances.wasserstein import exact_transport
from anchorot.exceptions import ConvergenceWarning
from anchorot.torch._checks import (
    check_in_range,
    check_spaces,
    cost_span,
    heavy_costs,
    or_uniform,
)
from anchorot.torch._levels import row_steps, segments, step_costs


@dataclass(frozen=True, eq=False)
class TensorTransport:
    """Transport plans between batches of spaces, and what they cost; compare :class:`anchorot.Transport`.

    Attributes
    ----------
    value : tensor of shape (...)
        The objective that was minimised, with its entropy term; differentiable in costs and weights.
    cost : tensor of shape (...)
        The transport part of it alone, detached.
    plan : tensor of shape (..., n, m)
        Detached, as all that follows.
    potentials : (tensor of shape (..., n), tensor of shape (..., m))
        Dual variables.
    epsilon : float
        Strength of the entropic regularisation; 0 if all of the batch were solved exactly.
    n_iter : int
        Iterations that the slowest of the batch took.
    converged : bool
        Whether all of the batch converged.
    marginal_error : tensor of shape (...)
        Sum of absolute differences between the plan's marginals and the weights, in float64.
    """

    value: Tensor
    cost: Tensor
    plan: Tensor
    potentials: tuple[Tensor, Tensor]
    epsilon: float
    n_iter: int
    converged: bool
    marginal_error: Tensor


def anchor_wasserstein(
    cost_x: Tensor,
    cost_y: Tensor,
    weights_x: Tensor | None = None,
    weights_y: Tensor | None = None,
    p: int = 1,
    epsilon: float | None = None,
    *,
    max_iter: int = 10_000,
    tolerance: float = 1e-6,
) -> TensorTransport:
    r"""Anchor Wasserstein between batches of spaces, differentiably.

    See :func:`anchorot.anchor_wasserstein` for what it is, and for epsilon. The gradient is that of the envelope
    theorem, :math:`\sum_{ij} P^*_{ij}\, \partial OT(h_i, g_j)`: nothing is differentiated through the iterations, and
    it is as exact as the plan is.

    Parameters
    ----------
    cost_x, cost_y : tensor of shape (..., n, n) and (..., m, m)
    weights_x, weights_y : tensor of shape (..., n) and (..., m), optional
        Weights; uniform by default. Gradients are those of ``weights / weights.sum()``.
    p : int from 1 to 64
    epsilon : float >= 0, optional
        Strength of the entropic regularisation; by default 1e-3 of the mean cost between anchors, of each of the batch,
        and held fixed by the gradient. 0, and whatever is at most 1e-13 of the range of an entry's costs
        between anchors, solves the problem exactly, on the CPU.
    max_iter, tolerance : int, float
        The solver stops when the marginals are off, and the plan changes, by no more than the tolerance; at `max_iter`
        iterations there is a `ConvergenceWarning` and ``converged=False``.

    Returns
    -------
    TensorTransport

    Notes
    -----
    O(n m (n + m)) time for the costs between anchors, O(n m) an iteration of Sinkhorn, O(n m²) a step of Newton's
    method, which finishes what Sinkhorn does not. The whole batch iterates until its last entry is done, in float64.

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> line = torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> aot.anchor_wasserstein(line, 1 - torch.eye(3), epsilon=0).value
    tensor(0.2222)
    """
    p = check_power(p)
    strength = None if epsilon is None else check_nonnegative(epsilon, "epsilon")
    tolerance = check_nonnegative(tolerance, "tolerance")
    max_iter = check_integer(max_iter, "max_iter", 1)
    x, y, a, b = check_spaces(cost_x, cost_y, weights_x, weights_y, wait=True)
    batch, n, m = x.shape[:-2], x.shape[-1], y.shape[-1]
    x, y = x.reshape(-1, n, n), y.reshape(-1, m, m)
    a, b = (None if w is None else w.reshape(-1, w.shape[-1]) for w in (a, b))
    wx, wy = or_uniform(a, x), or_uniform(b, y)
    costs = row_costs(heavy_costs(x, a, rows=False), heavy_costs(y, b, rows=False), a, b, p)
    check_in_range(torch.where((wx > 0)[:, :, None] & (wy > 0)[:, None, :], costs, 0.0), p, wait=True)
    # what is left beyond the range is of points without weight, which pay nothing of it
    costs = torch.where(costs.isfinite(), costs.double(), torch.finfo(torch.float64).max)
    problems = (costs.detach(), wx.detach(), wy.detach())
    if strength is None:
        (low_x, high_x), (low_y, high_y) = (cost_span(t.double(), w) for t, w in ((x, wx), (y, wy)))
        span = torch.maximum(high_x, high_y) - torch.minimum(low_x, low_y)
        found, epsilons = _solve_by_mean(*problems, (LEAST_MEAN * span) ** p, max_iter, tolerance)
    else:
        found, epsilons = _solve(*problems, strength, max_iter, tolerance)
    if not bool(found.converged.all()):
        worst = int(found.marginal_error.where(~found.converged, -1.0).argmax())
        text = not_converged(float(epsilons[worst]), int(found.n_iter[worst]), float(found.marginal_error[worst]))
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    cost = (found.plan * costs).sum((-1, -2))
    entropy = epsilons * (torch.xlogy(found.plan, found.plan) - found.plan).sum((-1, -2))
    marginals = _moved(found.f, wx) + _moved(found.g, wy)
    value = (cost + entropy + marginals).to(x.dtype)
    return TensorTransport(
        value.view(batch),
        cost.detach().to(x.dtype).view(batch),
        found.plan.to(x.dtype).view(*batch, n, m),
        (found.f.to(x.dtype).view(*batch, n), found.g.to(x.dtype).view(*batch, m)),
        float(epsilons.max()),
        int(found.n_iter.max()),
        bool(found.converged.all()),
        found.marginal_error.view(batch),
    )


def _moved(potential: Tensor, weights: Tensor) -> Tensor:
    """Zero, whose derivative in the weights is the potential."""
    return (torch.where(potential.isfinite(), potential, 0.0) * (weights - weights.detach())).sum(-1)


def _solve(
    costs: Tensor, a: Tensor, b: Tensor, epsilon: float, max_iter: int, tolerance: float
) -> tuple[Solution, Tensor]:
    """Solve each of a batch; also return the epsilon of each, 0 where the problem was solved exactly."""
    counted, least, spread = costs_that_count(costs, a, b)
    exact = is_exact(epsilon, spread)
    places, parts = [], []
    for chosen, is_entropic in ((exact, False), (~exact, True)):
        place = torch.nonzero(chosen)[:, 0]
        if len(place) == 0:
            continue
        places.append(place)
        if is_entropic:
            found = solve(counted[place], a[place], b[place], epsilon, max_iter, tolerance)
            parts.append(replace(found, f=found.f + least[place, None]))
        else:
            parts.append(_exact(costs[place], a[place], b[place]))
    return Solution.join(places, parts), torch.where(exact, 0.0, torch.full_like(spread, epsilon))


def _solve_by_mean(
    costs: Tensor, a: Tensor, b: Tensor, least: Tensor, max_iter: int, tolerance: float
) -> tuple[Solution, Tensor]:
    """Solve each of a batch at the default epsilon of its own mean cost, in units of which all have the same one.

    A mean cost below the least one is rounding.
    """
    mean = (a[:, :, None] * costs * b[:, None, :]).sum((-1, -2))
    unit = torch.maximum(mean, torch.where(least.isfinite(), least, 0.0))
    unit = torch.where(unit > 0, unit, 1.0)
    found, epsilons = _solve(costs / unit[:, None, None], a, b, DEFAULT_EPSILON, max_iter, tolerance)
    scaled = replace(found, f=found.f * unit[:, None], g=found.g * unit[:, None])
    return scaled, epsilons * unit


def _exact(costs: Tensor, a: Tensor, b: Tensor) -> Solution:
    """Solve one problem after the other on the CPU."""
    solved = [
        exact_transport(cost, weights_x, weights_y)
        for cost, weights_x, weights_y in zip(*(t.cpu().numpy() for t in (costs, a, b)), strict=True)
    ]
    f, g = zip(*(each.potentials for each in solved if each.potentials), strict=True)
    numbers = ([getattr(each, name) for each in solved] for name in ("n_iter", "converged", "marginal_error"))
    arrays = (np.stack([each.plan for each in solved]), np.stack(f), np.stack(g), *map(np.array, numbers))
    return Solution(*(torch.from_numpy(array).to(costs.device) for array in arrays))


def row_costs(x: Tensor, y: Tensor, a: Tensor | None, b: Tensor | None, p: int) -> Tensor:
    """M[i, j] = OT_p between the costs that point i of x and point j of y see; (batch, n, m).

    O(n m (n + m)) time. Uniform spaces: memory O(n² + m² + n m). With weights the gradient computes blocks of rows anew
    instead of keeping what it needs of them.
    """
    if a is None and b is None:
        return _uniform_costs(x, y, p)
    (cost_x, end_x), (cost_y, end_y) = row_steps(x, a), row_steps(y, b)
    entries = zip(cost_x, end_x, cost_y, end_y, strict=True)
    return torch.stack([step_costs(*entry, p) for entry in entries])


def _uniform_costs(x: Tensor, y: Tensor, p: int) -> Tensor:
    side, _ = segments(x.shape[-1], y.shape[-1], x.device)
    root = (side.width ** (1 / p)).to(x.dtype)
    qx, qy = x.sort(dim=-1).values[..., side.own], y.sort(dim=-1).values[..., side.other]
    centre = qx[..., :1, :].detach()  # of every level: far from zero the products with the root would lose digits
    qx, qy = (qx - centre) * root, (qy - centre) * root
    found = torch.cdist(qx, qy, p=p, compute_mode="donot_use_mm_for_euclid_dist")
    return found if p == 1 else found**p


@dataclass(frozen=True)
class Solution:
    """Plans and potentials of a batch of transport problems."""

    plan: Tensor  # (batch, n, m)
    f: Tensor
    g: Tensor
    n_iter: Tensor  # (batch,), as what follows
    converged: Tensor
    marginal_error: Tensor

    @classmethod
    def join(cls, places: list[Tensor], parts: list[Solution]) -> Solution:
        """One batch of several, given the place of every entry."""
        order = torch.cat(places).argsort()
        return cls(*(torch.cat([getattr(part, each.name) for part in parts])[order] for each in fields(cls)))

    def take(self, chosen: Tensor) -> Solution:
        """Return some entries of the batch."""
        return Solution(*(getattr(self, each.name)[chosen] for each in fields(self)))


class _State:
    """A batch of problems, their potentials in two parts, those of earlier stages and what this one adds."""

    def __init__(self, c: Tensor, a: Tensor, b: Tensor, n_iter: int = 0) -> None:
        self.c, self.a, self.b, self.n_iter = c, a, b, n_iter
        self.log_a, self.log_b = a.log(), b.log()
        self.settled_f, self.settled_g = torch.zeros_like(a), torch.zeros_like(b)
        self.f, self.g = _start(a), _start(b)
        self.reduced = c

    def settle(self) -> None:
        """Take what was found out of the costs: at the beginning of a stage, and where potentials grow far."""
        self.settled_f = self.settled_f + torch.where(self.a > 0, self.f, 0.0)
        self.settled_g = self.settled_g + torch.where(self.b > 0, self.g, 0.0)
        self.f, self.g = _start(self.a), _start(self.b)
        self.reduced = self.c - self.settled_f[:, :, None] - self.settled_g[:, None, :]

    def largest(self) -> float:
        """Largest potential that is not settled, of all points that have a weight."""
        return max(float(f[weights > 0].abs().max()) for f, weights in ((self.f, self.a), (self.g, self.b)))

    def plan(self, eps: float) -> Tensor:
        return self._plan(self.f, self.g, eps)

    def _plan(self, f: Tensor, g: Tensor, eps: float) -> Tensor:
        return ((f[:, :, None] + g[:, None, :] - self.reduced) / eps).exp()

    def iterate(self, eps: float) -> None:
        """One iteration: rows, then columns."""
        self.f = eps * (self.log_a - ((self.g[:, None, :] - self.reduced) / eps).logsumexp(-1))
        self.fit_columns(eps)
        self.n_iter += 1

    def fit_columns(self, eps: float) -> None:
        self.g = eps * (self.log_b - ((self.f[:, :, None] - self.reduced) / eps).logsumexp(-2))

    def dual(self, f: Tensor, g: Tensor, eps: float) -> Tensor:
        """<a, f> + <b, g> - eps Σ P, (batch,)."""
        linear = torch.where(self.a > 0, self.a * f, 0.0).sum(-1) + torch.where(self.b > 0, self.b * g, 0.0).sum(-1)
        return linear - eps * self._plan(f, g, eps).sum((-1, -2))

    def solution(self, last: Stage) -> Solution:
        plan = self.plan(last.epsilon)
        change, error = _distance_from_fixed_point(plan, self.a, self.b)
        n_iter = torch.full_like(error, self.n_iter, dtype=torch.int64)
        done = schedule.is_done(change, error, last.goal)
        return Solution(plan, self.settled_f + self.f, self.settled_g + self.g, n_iter, done, error)


def _start(weights: Tensor) -> Tensor:
    return torch.zeros_like(weights).masked_fill(weights == 0, -torch.inf)


def costs_that_count(costs: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Costs less the smallest between points that have a weight (0 between others), the smallest, and the range."""
    heavy = (a > 0)[:, :, None] & (b > 0)[:, None, :]
    least = torch.where(heavy, costs, torch.inf).amin((-1, -2))
    spread = torch.where(heavy, costs, -torch.inf).amax((-1, -2)) - least
    return torch.where(heavy, costs - least[:, None, None], 0.0), least, spread


def solve(c: Tensor, a: Tensor, b: Tensor, epsilon: float, max_iter: int, tolerance: float) -> Solution:
    """Solve min <P, c> + epsilon Σ P (log P - 1) for each of a batch, (batch, n, m), all at once.

    Costs are as from `costs_that_count`. For what `converged` means, see `schedule.is_done`.
    """
    last = Stage(epsilon, tolerance)
    state = _State(c, a, b)
    _sinkhorn(state, last, schedule.first_budget(b.shape[-1], max_iter))
    found = state.solution(last)
    rest = torch.nonzero(~found.converged)[:, 0]
    if len(rest) == 0 or state.n_iter >= max_iter:
        return found
    done = torch.nonzero(found.converged)[:, 0]
    staged = _by_stages(_State(c[rest], a[rest], b[rest], state.n_iter), last, max_iter)
    return Solution.join([done, rest], [found.take(done), staged])


def _by_stages(state: _State, last: Stage, max_iter: int) -> Solution:
    for stage in schedule.stages(last.epsilon, float(state.c.max()), last.goal):
        state.settle()
        if not _sinkhorn(state, stage, min(max_iter - state.n_iter, schedule.STAGE_ITERATIONS)):
            _newton(state, stage, max_iter)
    if state.n_iter >= max_iter:  # perhaps before the last stage: at least the columns are right
        state.fit_columns(last.epsilon)
    return state.solution(last)


def _sinkhorn(state: _State, stage: Stage, budget: int) -> bool:
    """Iterate until all problems meet the goal (True) or the budget is spent (False)."""
    first, last = state.n_iter + 1, state.n_iter + budget
    while state.n_iter < last:
        state.iterate(stage.epsilon)
        is_look = state.n_iter in (first, last) or state.n_iter % schedule.CHECK_EVERY == 0
        if is_look and _are_done(state, state.plan(stage.epsilon), stage):
            return True
    return False


def _are_done(state: _State, plan: Tensor, stage: Stage) -> bool:
    return bool(schedule.is_done(*_distance_from_fixed_point(plan, state.a, state.b), stage.goal).all())


def _distance_from_fixed_point(plan: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Relative change of each plan in the next iteration, which multiplies it by 1 + du and 1 + dv, and its error."""
    rows, columns = plan.sum(-1), plan.sum(-2)
    du = _excess(a, rows)[:, :, None]
    dv = _excess(b, ((1 + du) * plan).sum(-2))[:, None, :]
    change = torch.linalg.matrix_norm(plan * (du + dv + du * dv)) / torch.linalg.matrix_norm(plan)
    return change, (rows - a).abs().sum(-1) + (columns - b).abs().sum(-1)


def _excess(wanted: Tensor, sums: Tensor) -> Tensor:
    """By how much to raise sums, relatively; sums that have underflowed cannot be raised."""
    return torch.where(sums > 0, wanted / sums - 1, 0.0)


def _newton(state: _State, stage: Stage, max_iter: int) -> None:
    """Newton steps on the dual, each followed by an iteration."""
    while state.n_iter < max_iter:
        state.iterate(stage.epsilon)
        plan = state.plan(stage.epsilon)
        if _are_done(state, plan, stage):
            return
        _newton_step(state, plan, stage.epsilon)
        if state.largest() > schedule.MAX_POTENTIAL * stage.epsilon:
            state.settle()


def _newton_step(state: _State, plan: Tensor, eps: float) -> None:
    rows, columns = plan.sum(-1), plan.sum(-2)
    safe = torch.where(rows > 0, rows, 1.0)  # where a row has underflowed, iterations go on
    miss_rows, miss_columns = state.a - rows, state.b - columns
    # [diag(rows), P; P^T, diag(columns)] (df, dg) = eps (miss_rows, miss_columns), with df eliminated
    diagonal = torch.where(columns > 0, columns * (1 + schedule.RIDGE), 1.0)
    schur = torch.diag_embed(diagonal) - plan.mT @ (plan / safe[:, :, None])
    factor, failed = torch.linalg.cholesky_ex(schur)
    right = eps * (miss_columns - (plan.mT @ (miss_rows / safe)[:, :, None])[..., 0])
    dg = torch.cholesky_solve(right[:, :, None], factor)[..., 0]
    df = (eps * miss_rows - (plan @ dg[:, :, None])[..., 0]) / safe
    usable = ((failed == 0) & df.isfinite().all(-1) & dg.isfinite().all(-1))[:, None]
    df, dg = torch.where(usable, df, 0.0), torch.where(usable, dg, 0.0)
    _line_search(state, eps, df, dg, (miss_rows * df).sum(-1) + (miss_columns * dg).sum(-1))


def _line_search(state: _State, eps: float, df: Tensor, dg: Tensor, slope: Tensor) -> None:
    """Go along (df, dg), each problem as far as its dual rises enough; stay where it does not."""
    now = state.dual(state.f, state.g, eps)
    step = torch.ones_like(now)
    for _ in range(schedule.HALVINGS):
        f, g = state.f + step[:, None] * df, state.g + step[:, None] * dg
        short = ~schedule.rises_enough(state.dual(f, g, eps), now, step, slope)
        if not bool(short.any()):
            break
        step = torch.where(short, step / 2, step)
    else:
        step = torch.where(short, 0.0, step)
    state.f, state.g = state.f + step[:, None] * df, state.g + step[:, None] * dg
