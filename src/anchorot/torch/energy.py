"""Anchor Energy of tensors."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from anchorot._validate import check_finite_number, check_power
from anchorot.distances.ground import is_w2
from anchorot.torch._checks import check_costs, check_in_range, check_weights, cost_span, heavy_costs, is_uniform
from anchorot.torch._ground import entries, ground_energy
from anchorot.torch._levels import level_energy
from anchorot.torch._marked import check_marks, marked_energy, marks_of
from anchorot.torch._powers import power_energy
from anchorot.torch._weighted import weighted_energies


def anchor_energy(
    C1: Tensor,  # noqa: N803
    C2: Tensor,  # noqa: N803
    a: Tensor | None = None,
    b: Tensor | None = None,
    p: int = 1,
    *,
    ground: str = "w1",
    types: tuple[Tensor, Tensor] | None = None,
    features: tuple[Tensor, Tensor] | None = None,
    reach: float | None = None,
) -> Tensor:
    r"""Anchor Energy between batches of spaces, exactly and differentiably.

    See :func:`anchorot.anchor_energy` for what it is. The gradient is analytic: at a level of width dt with merged
    quantiles z and signed mass D, :math:`\partial AE/\partial z_r = 2\,dt\,(D_{r-1}^2 - D_r^2)`. Where costs tie it is
    a subgradient. Second derivatives are refused.

    Parameters
    ----------
    C1, C2 : tensor of shape (..., n, n) and (..., m, m)
        Costs, float32 or float64, on one device. Leading dimensions are batches and broadcast. Sums are float64.
    a, b : tensor of shape (..., n) and (..., m), optional
        Weights, of sum 1 within 1e-6; uniform by default. Gradients are those of ``a / a.sum()``. At uniform weights
        the energy has a kink in the weights: their gradient there is the middle of its one-sided derivatives.
    p : int from 1 to 64
        Power of the cost.
    ground : {"w1", "w2"}
        The distance between anchors: OT_p, or the unsquared W_2, which sees all that anchors differ in but takes O(n³)
        time. The latter goes with p=1, and not with types, features or reach; :func:`projected_energy` estimates it.
    types : (tensor of shape (..., n), tensor of shape (..., m)), optional
        Integers that say what kind of point each is: marked Anchor Energy, which splits anchors and what they see by
        type. p = 1 only.
    features : (tensor of shape (..., n, d), tensor of shape (..., m, d)), optional
        A vector for every point, which its anchor weighs (already mapped: see :func:`anchorot.feature_map`); gradients
        reach them. p = 1 only, and not together with types.
    reach : float, optional
        Compare costs up to here; with types or features by default the largest cost of both batches, a constant for
        gradients. p = 1 only.

    Returns
    -------
    tensor of shape (...)

    Notes
    -----
    Uniform weights: O(n² log n) time; a batch is one set of sorts. General weights on a CUDA device, p = 1: a sweep in
    stretches that run side by side, those of a batch too, O(n² (log n + c)) where a rise of one row's distribution
    function overlaps c others of its stretch, a few on average and 2 n at most. Elsewhere with gradients, and for
    p >= 3, blocks of B events, one batch entry after the other, O(n² (B + n log n / B)), and a few times that for
    gradients in the weights. Memory is O(n²) with gradients too: what is kept for the backward pass is the gradient
    itself, of the size of the inputs.

    Types and features go through plain PyTorch, one batch entry after the other: O((n + m)² log n) time and memory with
    uniform weights, d times that for features, and a sweep with others.

    On CUDA nothing waits for the device (except checks of weights): costs that are not finite, or whose powers are not,
    give a value that is not finite, while on the CPU they are refused.

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> line = torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> triangle = 1 - torch.eye(3)
    >>> aot.anchor_energy(line, triangle)
    tensor(0.2963)
    """
    p = check_power(p)
    x, y = check_costs(C1, C2)
    batch, n, m = x.shape[:-2], x.shape[-1], y.shape[-1]
    weights_x = None if a is None else check_weights(a, x, "a", "C1")
    weights_y = None if b is None else check_weights(b, y, "b", "C2")
    x, y, dtype = heavy_costs(x, weights_x), heavy_costs(y, weights_y), x.dtype
    is_marked = types is not None or features is not None or reach is not None
    if is_w2(ground, alone=p == 1 and not is_marked):
        energies = [ground_energy(*entry) for entry in entries(x, y, weights_x, weights_y)]
        return _in_range(torch.stack(energies).to(dtype), p).view(batch)
    if is_marked:
        check_marks(p, types, features)
        if reach is None:
            limit = max(float(cost_span(*side)[1].max()) for side in ((x, weights_x), (y, weights_y)))
        else:
            limit = check_finite_number(reach, "reach")
        x, y = (cost.double().clamp(max=limit) for cost in (x, y))  # float32 would round the reach to another one
        marks = marks_of(x, y, types, features)
        if marks is not None:
            return _in_range(marked_energy(x, y, weights_x, weights_y, marks, limit).to(dtype), p)
    x, y = x.reshape(-1, n, n), y.reshape(-1, m, m)
    if all(w is None or (not w.requires_grad and is_uniform(w)) for w in (weights_x, weights_y)):
        return _in_range(_uniform_energy(x, y, p).to(dtype), p).view(batch)
    wx, wy = (
        (torch.full(cost.shape[:-1], 1 / cost.shape[-1], dtype=torch.float64, device=cost.device) if w is None else w)
        for w, cost in ((weights_x, x), (weights_y, y))
    )
    return _in_range(_weighted_energy(x, y, wx.reshape(-1, n), wy.reshape(-1, m), p).to(dtype), p).view(batch)


def _in_range(energy: Tensor, p: int) -> Tensor:
    check_in_range(energy, p)
    return energy


class _UniformEnergy(Function):
    """Value and analytic gradient in the costs; the gradient is made in the forward pass, from the same sorts."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, p: int) -> Tensor:
        value, *gradients = _uniform_parts(x, y, p, ctx.needs_input_grad[:2])
        ctx.save_for_backward(*gradients)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return *(None if g is None else g * grad[:, None, None] for g in ctx.saved_tensors), None


class _WeightedEnergy(Function):
    """Value and analytic gradients in costs and weights."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, b: Tensor, p: int) -> Tensor:
        wanted = ctx.needs_input_grad[:4]
        value, gradients = weighted_energies(x, y, a, b, p, wanted)
        ctx.save_for_backward(*gradients)
        return value.to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        scaled = (None if g is None else g * grad.view(-1, *[1] * (g.ndim - 1)).to(g.dtype) for g in ctx.saved_tensors)
        return *scaled, None


def _uniform_parts(
    x: Tensor, y: Tensor, p: int, wanted: tuple[bool, bool]
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    value, in_x, in_y = level_energy(x, y, wanted) if p == 1 else power_energy(x, y, p, wanted)
    return value.to(x.dtype), in_x, in_y


def _uniform_energy(x: Tensor, y: Tensor, p: int) -> Tensor:
    if torch.is_grad_enabled() and (x.requires_grad or y.requires_grad):
        return _differentiable_uniform_energy(x, y, p)
    return _uniform_parts(x, y, p, (False, False))[0]  # without what autograd takes to look at a call


_differentiable_uniform_energy: Callable[..., Tensor] = _UniformEnergy.apply
_weighted_energy: Callable[..., Tensor] = _WeightedEnergy.apply
