"""Anchor Wasserstein of tensors: solved on the device, gradient by the envelope theorem."""

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from anchorot._validate import check_integer, check_nonnegative
from anchorot.distances.wasserstein import exact_transport
from anchorot.exceptions import ConvergenceWarning
from anchorot.torch._checks import check_costs, check_weights
from anchorot.torch._row_costs import row_costs
from anchorot.torch._sinkhorn import Solution, solve


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
    n_iter : int
        Iterations that the slowest of the batch took.
    converged : bool
        Whether all of the batch converged.
    """

    value: Tensor
    cost: Tensor
    plan: Tensor
    potentials: tuple[Tensor, Tensor]
    epsilon: float
    n_iter: int
    converged: bool


def anchor_wasserstein(
    C1: Tensor,  # noqa: N803
    C2: Tensor,  # noqa: N803
    a: Tensor | None = None,
    b: Tensor | None = None,
    p: int = 1,
    epsilon: float = 1e-3,
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
    C1, C2 : tensor of shape (..., n, n) and (..., m, m)
    a, b : tensor of shape (..., n) and (..., m), optional
        Weights; uniform by default. Gradients are those of ``a / a.sum()``.
    p : int >= 1
    epsilon : float >= 0
        Strength of the entropic regularisation. 0 solves the problem exactly, on the CPU.
    max_iter, tolerance : int, float
        The solver stops when the marginals are off, and the plan changes, by less than the tolerance; beyond `max_iter`
        iterations comes a `ConvergenceWarning` and ``converged=False``.

    Notes
    -----
    O(n m (n + m)) time for the costs between anchors, O(n m) an iteration of Sinkhorn, O(n m²) a step of Newton's
    method, which finishes what Sinkhorn does not. The whole batch iterates until its last entry is done, in float64.

    Examples
    --------
    >>> line = torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> anchor_wasserstein(line, 1 - torch.eye(3), epsilon=0).value
    tensor(0.2222)
    """
    p = check_integer(p, "p", 1)
    epsilon, tolerance = check_nonnegative(epsilon, "epsilon"), check_nonnegative(tolerance, "tolerance")
    max_iter = check_integer(max_iter, "max_iter", 1)
    x, y = check_costs(C1, C2)
    batch, n, m = x.shape[:-2], x.shape[-1], y.shape[-1]
    weights_x = None if a is None else check_weights(a, x, "a", "C1").reshape(-1, n)
    weights_y = None if b is None else check_weights(b, y, "b", "C2").reshape(-1, m)
    x, y = x.reshape(-1, n, n), y.reshape(-1, m, m)
    costs = row_costs(x, y, weights_x, weights_y, p).double()
    wx, wy = (
        torch.full(t.shape[:-1], 1 / t.shape[-1], dtype=torch.float64, device=t.device) if w is None else w
        for w, t in ((weights_x, x), (weights_y, y))
    )
    fixed = costs.detach(), wx.detach(), wy.detach()
    if epsilon == 0:
        found = _exact(*fixed)
    else:
        found = solve(*fixed, epsilon, max_iter, tolerance)
        if not found.converged:
            text = f"the solver did not converge in {found.n_iter} iterations at epsilon={epsilon:g}"
            warnings.warn(f"{text}; raise max_iter or epsilon", ConvergenceWarning, stacklevel=2)
    cost = (found.plan * costs).sum((-1, -2))
    entropy = epsilon * (torch.xlogy(found.plan, found.plan) - found.plan).sum((-1, -2))
    marginals = _moved(found.f, wx) + _moved(found.g, wy)
    value = (cost + entropy + marginals).to(x.dtype)
    return TensorTransport(
        value.view(batch),
        cost.detach().to(x.dtype).view(batch),
        found.plan.to(x.dtype).view(*batch, n, m),
        (found.f.to(x.dtype).view(*batch, n), found.g.to(x.dtype).view(*batch, m)),
        epsilon,
        found.n_iter,
        found.converged,
    )


def _moved(potential: Tensor, weights: Tensor) -> Tensor:
    """Zero, whose derivative in the weights is the potential."""
    return (torch.where(potential.isfinite(), potential, 0.0) * (weights - weights.detach())).sum(-1)


def _exact(costs: Tensor, a: Tensor, b: Tensor) -> Solution:
    solved = []
    for cost, weights_x, weights_y in zip(*(t.cpu().numpy() for t in (costs, a, b)), strict=True):
        solved.append(exact_transport(cost, weights_x, weights_y))
    plan = torch.stack([torch.from_numpy(each.plan) for each in solved])
    f, g = (
        torch.stack([torch.from_numpy(each.potentials[side]) for each in solved if each.potentials]) for side in (0, 1)
    )
    device = costs.device
    return Solution(plan.to(device), f.to(device), g.to(device), 1, all(each.converged for each in solved))
