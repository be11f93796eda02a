"""Entropic transport for a batch of problems: Sinkhorn's iteration in the log domain, finished by Newton's method.

The twin of :mod:`anchorot.distances.sinkhorn`, by the same schedule and the same rules
(:mod:`anchorot.distances.schedule`), with all iterations in the log domain: first Sinkhorn at the epsilon wanted; what
that does not solve, by stages of falling epsilon, each on the costs that the stages before have reduced, with Newton
steps on the (concave) dual where a few dozen iterations do not bring it to its goal. Letters: c costs, a, b marginals,
f, g potentials, P the plan. Points without weight take no part: their potentials are -infinity.
"""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from anchorot.distances import schedule
from anchorot.distances.schedule import Stage


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
    def join(cls, places: list[Tensor], parts: "list[Solution]") -> "Solution":
        """One batch of several, given the place of every entry."""
        order = torch.cat(places).argsort()
        return cls(*(torch.cat([getattr(part, each.name) for part in parts])[order] for each in fields(cls)))

    def take(self, chosen: Tensor) -> "Solution":
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
        if state.largest() > schedule.FAR * stage.epsilon:
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
