r"""Anchor Energy of tensors: plain, by types or vectors of points, and up to a max_cost.

Types split anchors and what they see into blocks (c, b), each a collection of measures whose masses need not sum to 1;
vectors give anchors masses of several coordinates. Costs end at max_cost, and so does the integral:

    AE = Σ_blocks 2 ∬_{x <= max_cost} |D(x, t)|² dx dt ,   D the mass of one side's quantiles up to x less the other's.

Uniform weights: levels are merged by one sort, and autograd does the rest. Any weights: the sweep over events, with
what a block's masses lack standing at max_cost, as one row more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from anchorot._validate import check_finite_number, check_power
from anchorot.distances.w2_energy import is_w2
from anchorot.exceptions import InputError
from anchorot.torch._checks import check_in_range, check_spaces, cost_span, heavy_costs, is_uniform, or_uniform
from anchorot.torch._levels import level_energy, power_energy, segments
from anchorot.torch._weighted import sorted_rows, sweep_costs, weighted_energies
from anchorot.torch.ground import entries, ground_energy


def anchor_energy(
    cost_x: Tensor,
    cost_y: Tensor,
    weights_x: Tensor | None = None,
    weights_y: Tensor | None = None,
    p: int = 1,
    *,
    ground: str = "w1",
    types: tuple[Tensor, Tensor] | None = None,
    features: tuple[Tensor, Tensor] | None = None,
    max_cost: float | None = None,
) -> Tensor:
    r"""Anchor Energy between batches of spaces, exactly and differentiably.

    See :func:`anchorot.anchor_energy` for what it is. The gradient is analytic: at a level of width dt with merged
    quantiles z and signed mass D, :math:`\partial AE/\partial z_r = 2\,dt\,(D_{r-1}^2 - D_r^2)`. Where costs tie it is
    a subgradient. Second derivatives are refused.

    Parameters
    ----------
    cost_x, cost_y : tensor of shape (..., n, n) and (..., m, m)
        Costs, float32 or float64, on one device. Leading dimensions are batches and broadcast. Sums are float64.
    weights_x, weights_y : tensor of shape (..., n) and (..., m), optional
        Weights, of sum 1 within 1e-6; uniform by default. Gradients are those of ``weights / weights.sum()``. At
        uniform weights the energy has a kink in the weights: their gradient there is the middle of its one-sided
        derivatives.
    p : int from 1 to 64
        Power of the cost.
    ground : {"w1", "w2"}
        The distance between anchors: OT_p, or the unsquared W_2, which sees all that anchors differ in but takes O(n³)
        time. The latter goes with p=1, and not with types, features or max_cost; :func:`projected_energy` estimates it.
    types : (tensor of shape (..., n), tensor of shape (..., m)), optional
        Integers that say what kind of point each is: Anchor Energy with types, which splits anchors, and what they see,
        by type. p = 1 only.
    features : (tensor of shape (..., n, d), tensor of shape (..., m, d)), optional
        A vector for every point, which its anchor weighs (already mapped: see :func:`anchorot.anchors.feature_map`);
        gradients reach them. p = 1 only, and not together with types.
    max_cost : float, optional
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
    x, y, a, b = check_spaces(cost_x, cost_y, weights_x, weights_y)
    batch, n, m = x.shape[:-2], x.shape[-1], y.shape[-1]
    x, y, dtype = heavy_costs(x, a), heavy_costs(y, b), x.dtype
    has_attributes = types is not None or features is not None or max_cost is not None
    if is_w2(ground, alone=p == 1 and not has_attributes):
        energies = [ground_energy(*entry) for entry in entries(x, y, a, b)]
        return _in_range(torch.stack(energies).to(dtype), p).view(batch)
    if has_attributes:
        if p != 1:
            raise InputError(f"types, features and max_cost need p=1, but got p={p}")
        if types is not None and features is not None:
            raise InputError("got types and features, but points are distinguished by one of them; leave the other out")
        if max_cost is None:
            limit = max(float(cost_span(*side)[1].max()) for side in ((x, a), (y, b)))
        else:
            limit = check_finite_number(max_cost, "max_cost")
        x, y = (cost.double().clamp(max=limit) for cost in (x, y))  # float32 would round max_cost
        attributes = attributes_of(x, y, types, features)
        if attributes is not None:
            return _in_range(attribute_energy(x, y, a, b, attributes, limit).to(dtype), p)
    x, y = x.reshape(-1, n, n), y.reshape(-1, m, m)
    if is_uniform(a) and is_uniform(b):
        return _in_range(of_uniform(_uniform_parts, x, y, p).to(dtype), p).view(batch)
    a, b = or_uniform(a, x).reshape(-1, n), or_uniform(b, y).reshape(-1, m)
    return _in_range(_weighted_energy(x, y, a, b, p).to(dtype), p).view(batch)


def _in_range(energy: Tensor, p: int) -> Tensor:
    check_in_range(energy, p)
    return energy


Parts = Callable[[Tensor, Tensor, int, tuple[bool, bool]], tuple[Tensor, Tensor | None, Tensor | None]]


class _OfUniform(Function):
    """A value of uniform spaces and its gradients in their costs, made in the forward pass, from the same sorts."""

    @staticmethod
    def forward(ctx: Any, parts: Parts, x: Tensor, y: Tensor, p: int) -> Tensor:
        value, *gradients = parts(x, y, p, ctx.needs_input_grad[1:3])
        ctx.save_for_backward(*gradients)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        scaled = (None if g is None else g * grad[:, None, None].to(g.dtype) for g in ctx.saved_tensors)
        return None, *scaled, None


_of_uniform: Callable[..., Tensor] = _OfUniform.apply


def of_uniform(parts: Parts, x: Tensor, y: Tensor, p: int) -> Tensor:
    """Value of two batches of costs, from a function to the value and those gradients that are wanted."""
    if torch.is_grad_enabled() and (x.requires_grad or y.requires_grad):
        return _of_uniform(parts, x, y, p)
    return parts(x, y, p, (False, False))[0]  # without what autograd takes to look at a call


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


_weighted_energy: Callable[..., Tensor] = _WeightedEnergy.apply


class Block(NamedTuple):
    """Anchors (rows) that see some points (columns)."""

    cost: Tensor  # (anchors, seen) float64, up to max_cost
    weights: Tensor  # (seen,) of sum 1
    mass: Tensor  # (anchors, size)


class PointAttributes(NamedTuple):
    """Types (batch..., points) or vectors (batch..., points, size) of both sides."""

    x: Tensor
    y: Tensor
    are_types: bool


def attributes_of(
    x: Tensor, y: Tensor, types: tuple[Tensor, Tensor] | None, features: tuple[Tensor, Tensor] | None
) -> PointAttributes | None:
    """Return the attributes of two batches of costs, one for every point of every entry; None if there are none."""
    given: Any = types if features is None else features
    name = "types" if features is None else "features"
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2 or not all(isinstance(side, Tensor) for side in given):
        raise InputError(f"{name} must be two tensors, one for each side, but got {type(given).__name__}")
    sides = []
    for side, cost, which in zip(given, (x, y), ("cost_x", "cost_y"), strict=True):
        is_float = side.dtype in (torch.float32, torch.float64)
        if is_float != (features is not None):
            needed = "float vectors" if features is not None else "integers"
            raise InputError(f"{name} of {which} have dtype {side.dtype}, but {needed} are needed")
        tail = side.shape[-1:] if is_float else ()
        try:
            sides.append(side.to(cost.device).expand(*cost.shape[:-1], *tail))
        except RuntimeError:
            raise InputError(
                f"{name} of {which} have shape {tuple(side.shape)}, but the costs have {tuple(cost.shape)}"
            ) from None
    if features is not None and sides[0].shape[-1] != sides[1].shape[-1]:
        raise InputError(f"features have lengths {sides[0].shape[-1]} and {sides[1].shape[-1]}, but must have the same")
    return PointAttributes(sides[0], sides[1], types is not None)


def attribute_energy(
    x: Tensor, y: Tensor, a: Tensor | None, b: Tensor | None, attributes: PointAttributes, max_cost: float
) -> Tensor:
    """Energy with attributes of every entry of two batches of float64 costs up to max_cost."""
    uniform = is_uniform(a) and is_uniform(b)
    a, b = or_uniform(a, x), or_uniform(b, y)
    batch = x.shape[:-2]
    flat = [t.reshape(-1, *t.shape[len(batch) :]) for t in (x, a, attributes.x, y, b, attributes.y)]
    energies = []
    for cost_x, w_x, mark_x, cost_y, w_y, mark_y in zip(*flat, strict=True):
        if attributes.are_types:
            pairs = list(type_blocks((cost_x, w_x, mark_x), (cost_y, w_y, mark_y)))
        else:
            pairs = [(_whole(cost_x, w_x, mark_x), _whole(cost_y, w_y, mark_y))]
        energies.append(torch.stack([block_energy(*pair, max_cost, uniform=uniform) for pair in pairs]).sum())
    return torch.stack(energies).view(batch)


def _whole(cost: Tensor, weights: Tensor, vectors: Tensor) -> Block:
    return Block(cost, weights, weights[:, None] * vectors.double())


def block_energy(x: Block, y: Block, max_cost: float, *, uniform: bool) -> Tensor:
    """Energy between two blocks, one of which may have no anchors; all weights are alike if `uniform`."""
    if uniform:
        return _merged_energy(x, y, max_cost)
    parts = [
        _rows_energy(*_complete_masses(x, k, max_cost), *_complete_masses(y, k, max_cost))
        for k in range(x.mass.shape[1])
    ]
    return torch.stack(parts).sum()


def type_blocks(x: tuple[Tensor, Tensor, Tensor], y: tuple[Tensor, Tensor, Tensor]) -> Iterator[tuple[Block, Block]]:
    """Pairs of blocks of two spaces, each (costs, weights, types), for all pairs of types."""
    kinds = torch.unique(torch.cat([x[2], y[2]])).tolist()
    for anchor in kinds:
        for seen in kinds:
            yield _block(*x, anchor, seen), _block(*y, anchor, seen)


def _block(cost: Tensor, weights: Tensor, types: Tensor, anchor: int, seen: int) -> Block:
    rows, columns = torch.nonzero(types == anchor)[:, 0], torch.nonzero(types == seen)[:, 0]
    if len(columns) == 0 or len(rows) == 0:
        return Block(cost.new_empty(0, 1), weights.new_ones(1), weights.new_empty(0, 1))
    part = weights[columns]
    total = part.sum()
    # a type whose points have no weight has no shares of its own, but where weights have a gradient some must stand in
    shares = part / total if bool(total > 0) else torch.full_like(part, 1 / len(part))
    return Block(cost[rows][:, columns], shares, (weights[rows] * total)[:, None])


def _merged_energy(x: Block, y: Block, max_cost: float) -> Tensor:
    area, d = merged_levels(x, y, max_cost)
    return 2 * (area * (d * d).sum(dim=-1)).sum()


def merged_levels(x: Block, y: Block, max_cost: float) -> tuple[Tensor, Tensor]:
    """Areas between the merged numbers of both sides' levels, and D there: the mass of x up to them less that of y."""
    (n, levels_x), (m, levels_y) = x.cost.shape, y.cost.shape
    side, _ = segments(levels_x, levels_y, x.cost.device)
    of_x, of_y = (block.cost.sort(dim=-1).values.mT for block in (x, y))
    z, order = torch.cat([of_x[side.own], of_y[side.other]], dim=-1).sort(dim=-1)
    if n + m == 0:
        return z, z[..., None]
    d = torch.cat([x.mass, -y.mass])[order].cumsum(dim=-2)
    gaps = torch.diff(z, dim=-1, append=z.new_full((len(z), 1), max_cost))
    return side.width[:, None] * gaps, d


def _complete_masses(block: Block, coordinate: int, max_cost: float) -> tuple[Tensor, Tensor, Tensor]:
    """Costs, weights and masses of one coordinate, with one more anchor at max_cost that makes all masses sum to 0."""
    mass = block.mass[:, coordinate]
    last = block.cost.new_full((1, block.cost.shape[1]), max_cost)
    return torch.cat([block.cost, last]), block.weights, torch.cat([mass, -mass.sum()[None]])


class _RowsEnergy(Function):
    """Energy of two collections of weighted measures whose masses have the same sum, and its analytic gradients."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Tensor:
        cost_x, w_x, mass_x, cost_y, w_y, mass_y = tensors
        sides = sorted_rows(cost_x, w_x), sorted_rows(cost_y, w_y)
        mass = torch.cat([mass_x, -mass_y])
        swept = sweep_costs(sides, mass, integrals=True)
        gradients, start = [], 0
        for rows, sign in ((sides[0], 1), (sides[1], -1)):
            own = slice(start, start + len(rows.cost))
            start = own.stop
            part = swept.of_rows(own, rows, mass[own])
            gradients += [part.in_costs(), part.in_weights(), -2 * sign * swept.potential[own]]
        ctx.save_for_backward(*gradients)
        return swept.total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        return tuple(part * grad for part in ctx.saved_tensors)


_rows_energy: Callable[..., Tensor] = _RowsEnergy.apply
