"""Entropic transport for a batch of problems: Sinkhorn's iteration in the log domain, finished by Newton's method.

The same plan as :mod:`anchorot.distances.sinkhorn`: epsilon falls by stages, each starts from the last one's
potentials, and what a few dozen iterations do not bring to the goal is finished by Newton steps on the (concave) dual,
one Cholesky factorisation of a Schur complement each. Letters: c costs, a, b marginals, f, g potentials, P the plan.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

STAGE_FACTOR = 4.0  # by which epsilon falls from stage to stage
STAGE_TOLERANCE = 1e-2  # of a stage but the last
STAGE_ITERATIONS = 60  # of Sinkhorn in a stage, before Newton
CHECK_EVERY = 10  # iterations between two looks at the plan
HALVINGS = 30  # of a Newton step, before it is given up


@dataclass(frozen=True)
class Solution:
    """Plans and potentials of a batch of transport problems."""

    plan: Tensor
    f: Tensor
    g: Tensor
    n_iter: int
    converged: bool


@dataclass
class _State:
    """A batch of problems at one epsilon, and how far their solution is."""

    c: Tensor
    a: Tensor
    b: Tensor
    f: Tensor
    g: Tensor
    eps: float
    n_iter: int = 0

    def iterate(self) -> None:
        """One iteration: rows, then columns."""
        self.f = self.eps * (self.a.log() - ((self.g[:, None, :] - self.c) / self.eps).logsumexp(-1))
        self.g = self.eps * (self.b.log() - ((self.f[:, :, None] - self.c) / self.eps).logsumexp(-2))
        self.n_iter += 1

    def plan(self) -> Tensor:
        return ((self.f[:, :, None] + self.g[:, None, :] - self.c) / self.eps).exp()

    def dual(self, f: Tensor, g: Tensor) -> Tensor:
        """<a, f> + <b, g> - eps Σ P, (batch,)."""
        total = ((f[:, :, None] + g[:, None, :] - self.c) / self.eps).exp().sum((-1, -2))
        linear = torch.where(self.a > 0, self.a * f, 0.0).sum(-1) + torch.where(self.b > 0, self.b * g, 0.0).sum(-1)
        return linear - self.eps * total


def solve(costs: Tensor, a: Tensor, b: Tensor, epsilon: float, max_iter: int, tolerance: float) -> Solution:
    """Solve min <P, costs> + epsilon Σ P (log P - 1) for each of a batch, (batch, n, m), all at once.

    Done means for every entry: the marginals, and the plan's change in the next iteration, are below `tolerance`.
    """
    least = costs.amin((-1, -2), keepdim=True)  # a constant moves into f
    state = _State(
        costs - least, a, b, torch.zeros_like(a), torch.zeros_like(b), max(epsilon, float(costs.max() - least.min()))
    )
    while True:
        goal = tolerance if state.eps == epsilon else STAGE_TOLERANCE
        done = _sinkhorn(state, goal, min(max_iter, state.n_iter + STAGE_ITERATIONS)) or _newton(state, goal, max_iter)
        if state.eps == epsilon or state.n_iter >= max_iter:
            break
        state.eps = max(epsilon, state.eps / STAGE_FACTOR)
    return Solution(state.plan(), state.f + least[..., 0], state.g, state.n_iter, done and state.eps == epsilon)


def _sinkhorn(state: _State, goal: float, last: int) -> bool:
    while state.n_iter < last:
        state.iterate()
        if (state.n_iter % CHECK_EVERY == 0 or state.n_iter == last) and _is_done(state.plan(), state.a, goal):
            return True
    return False


def _is_done(plan: Tensor, a: Tensor, goal: float) -> bool:
    rows, squares = plan.sum(-1), plan.square().sum(-1)
    relative = torch.where(rows > 0, a / rows - 1, 0.0)
    change = ((relative**2 * squares).sum(-1) / squares.sum(-1)).sqrt()
    error = (rows - a).abs().sum(-1)
    return bool((torch.maximum(change, error) < goal).all())


def _newton(state: _State, goal: float, max_iter: int) -> bool:
    """Newton steps on the dual, each followed by an iteration."""
    while state.n_iter < max_iter:
        state.iterate()
        plan = state.plan()
        if _is_done(plan, state.a, goal):
            return True
        rows, columns = plan.sum(-1), plan.sum(-2)
        safe = torch.where(rows > 0, rows, 1.0)
        miss_rows, miss_columns = state.a - rows, state.b - columns
        # [diag(rows), P; P^T, diag(columns)] (df, dg) = eps (miss_rows, miss_columns), with df eliminated
        ridge = 1e-10 * columns + 1e-12 * columns.amax(-1, keepdim=True)  # f + c, g - c is the same plan
        schur = torch.diag_embed(columns + ridge) - plan.mT @ (plan / safe[:, :, None])
        factor, failed = torch.linalg.cholesky_ex(schur)
        right = state.eps * (miss_columns - (plan.mT @ (miss_rows / safe)[:, :, None])[..., 0])
        dg = torch.cholesky_solve(right[:, :, None], factor)[..., 0]
        df = (state.eps * miss_rows - (plan @ dg[:, :, None])[..., 0]) / safe
        usable = (failed == 0) & df.isfinite().all(-1) & dg.isfinite().all(-1)
        _line_search(state, torch.where(usable[:, None], df, 0.0), torch.where(usable[:, None], dg, 0.0))
    return False


def _line_search(state: _State, df: Tensor, dg: Tensor) -> None:
    """Go along (df, dg), each entry as far as its dual rises; stay where it does not."""
    now = state.dual(state.f, state.g)
    step = torch.ones_like(now)[:, None]
    for _ in range(HALVINGS):
        fell = ~(state.dual(state.f + step * df, state.g + step * dg) >= now - 1e-14 * now.abs())
        if not bool(fell.any()):
            break
        step = torch.where(fell[:, None], step / 2, step)
    else:
        step = torch.where(fell[:, None], 0.0, step)
    state.f, state.g = state.f + step * df, state.g + step * dg
