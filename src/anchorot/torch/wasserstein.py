"""Anchor Wasserstein of tensors: costs between anchors, transport on the device, gradient by the envelope theorem.

The solver is that of arrays, :mod:`anchorot.distances.sinkhorn`, for a batch of problems.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anchorot._validate import check_integer, check_nonnegative, check_power
from anchorot.distances.sinkhorn import (
    DEFAULT_EPSILON,
    LEAST_MEAN,
    EntropicPlan,
    entropic_plans,
    is_exact,
    not_converged,
)
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
) -> tuple[EntropicPlan, Tensor]:
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
            found = entropic_plans(counted[place], a[place], b[place], epsilon, max_iter, tolerance)
            parts.append(found._replace(f=found.f + least[place, None]))
        else:
            parts.append(_exact(costs[place], a[place], b[place]))
    order = torch.cat(places).argsort()
    joined = EntropicPlan(*(torch.cat(part)[order] for part in zip(*parts, strict=True)))
    return joined, torch.where(exact, 0.0, torch.full_like(spread, epsilon))


def _solve_by_mean(
    costs: Tensor, a: Tensor, b: Tensor, least: Tensor, max_iter: int, tolerance: float
) -> tuple[EntropicPlan, Tensor]:
    """Solve each of a batch at the default epsilon of its mean cost, in units of which all have the same one.

    A mean cost below the least one is rounding.
    """
    mean = (a[:, :, None] * costs * b[:, None, :]).sum((-1, -2))
    unit = torch.maximum(mean, torch.where(least.isfinite(), least, 0.0))
    unit = torch.where(unit > 0, unit, 1.0)
    found, epsilons = _solve(costs / unit[:, None, None], a, b, DEFAULT_EPSILON, max_iter, tolerance)
    return found._replace(f=found.f * unit[:, None], g=found.g * unit[:, None]), epsilons * unit


def _exact(costs: Tensor, a: Tensor, b: Tensor) -> EntropicPlan:
    """Solve one problem after the other on the CPU."""
    solved = [
        exact_transport(cost, weights_x, weights_y)
        for cost, weights_x, weights_y in zip(*(t.cpu().numpy() for t in (costs, a, b)), strict=True)
    ]
    f, g = zip(*(each.potentials for each in solved if each.potentials), strict=True)
    numbers = ([getattr(each, name) for each in solved] for name in ("n_iter", "converged", "marginal_error"))
    arrays = (np.stack([each.plan for each in solved]), np.stack(f), np.stack(g), *map(np.array, numbers))
    return EntropicPlan(*(torch.from_numpy(array).to(costs.device) for array in arrays))


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


def costs_that_count(costs: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Costs less the smallest between points that have a weight (0 between others), the smallest, and the range."""
    heavy = (a > 0)[:, :, None] & (b > 0)[:, None, :]
    least = torch.where(heavy, costs, torch.inf).amin((-1, -2))
    spread = torch.where(heavy, costs, -torch.inf).amax((-1, -2)) - least
    return torch.where(heavy, costs - least[:, None, None], 0.0), least, spread
