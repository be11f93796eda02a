r"""Sliced Anchor Wasserstein on tensors, with gradients.

Uniform weights: both sides' levels are sorted, G(s, t) is read off them, and SAW_p^p = ∬ |G_X - G_Y|^p ds dt. Its
derivative in a number of X's is p ∬ sign(G_X - G_Y) |G_X - G_Y|^(p-1) over the cells where that number stands,
scattered back through the permutations of both sorts.

Any weights: a sum over the segments between the levels at which some row's quantile steps, each a transport between
two weighted samples; autograd follows the sorts of values, shares and levels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from anchorot._validate import check_finite_number, check_low_power
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.space import Space
from anchorot.torch._checks import check_in_range, check_spaces, cost_span, heavy_costs, is_uniform, or_uniform
from anchorot.torch._levels import blocks, flat_levels, row_steps, scatter, segments, sorted_levels
from anchorot.torch.energy import Block, attributes_of, merged_levels, of_uniform, type_blocks


def sliced_anchor_wasserstein(
    cost_x: Tensor,
    cost_y: Tensor,
    weights_x: Tensor | None = None,
    weights_y: Tensor | None = None,
    p: int = 1,
    *,
    types: tuple[Tensor, Tensor] | None = None,
    max_cost: float | None = None,
) -> Tensor:
    r"""Sliced Anchor Wasserstein distance between batches of spaces, exactly and differentiably.

    See :func:`anchorot.sliced_anchor_wasserstein` for what it is. As a loss it has the weakness of Anchor Energy:
    levels do not determine a shape, so spaces at distance 0 may differ.

    Parameters
    ----------
    cost_x, cost_y : tensor of shape (..., n, n) and (..., m, m)
        Costs, float32 or float64, on one device. Leading dimensions are batches and broadcast. Sums are float64.
    weights_x, weights_y : tensor of shape (..., n) and (..., m), optional
        Weights, of sum 1 within 1e-6; uniform by default. Gradients are those of ``weights / weights.sum()``. Where
        costs or sums of weights tie, as at uniform weights, the distance has a kink and the gradient is one of its
        one-sided derivatives.
    p : {1, 2}
        Power of the cost.
    types : (tensor of shape (..., n), tensor of shape (..., m)), optional
        Integers that say what kind of point each is. p = 1 and uniform weights only.
    max_cost : float, optional
        Costs above this value count as this value; with types by default the largest cost of both batches, a constant
        for gradients.

    Returns
    -------
    tensor of shape (...)
        At 0 the gradient is 0.

    Notes
    -----
    Uniform weights: O(n² log n) time for spaces of one size, in a batch together; memory is O(n²) with gradients too.
    With weights one pair after the other, O(n² (n + m) log n) where gradients are asked for or the device is not the
    CPU, in blocks that are computed anew for the gradient.

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> line = torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> aot.sliced_anchor_wasserstein(line, 1 - torch.eye(3))
    tensor(0.2222)
    """
    p = check_low_power(p)
    x, y, a, b = check_spaces(cost_x, cost_y, weights_x, weights_y)
    batch, n, m = x.shape[:-2], x.shape[-1], y.shape[-1]
    x, y, dtype = heavy_costs(x, a), heavy_costs(y, b), x.dtype
    uniform = is_uniform(a) and is_uniform(b)
    if types is not None:
        found = _typed(x, y, a, b, types, max_cost, p).to(dtype)
    else:
        if max_cost is not None:
            limit = check_finite_number(max_cost, "max_cost")
            x, y = (cost.double().clamp(max=limit) for cost in (x, y))  # float32 would round it to another value
        x, y = x.reshape(-1, n, n), y.reshape(-1, m, m)
        if uniform:
            found = of_uniform(_uniform_parts, x, y, p).to(dtype).view(batch)
        else:
            a, b = or_uniform(a, x).reshape(-1, n), or_uniform(b, y).reshape(-1, m)
            found = torch.stack([_weighted(*pair, p) for pair in zip(x, y, a, b, strict=True)]).to(dtype).view(batch)
    check_in_range(found, p)
    return found


# -- uniform weights -------------------------------------------------------------------------------------------------


def _uniform_parts(
    cost_x: Tensor, cost_y: Tensor, p: int, wanted: tuple[bool, bool]
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """SAW_p, (batch,) float64, and its gradients in the costs where wanted."""
    x, y, *tags = sorted_levels(cost_x, cost_y, wanted)
    if x.shape[-1] == y.shape[-1]:
        power, slopes_x, slopes_y = _same_size(x, y, p, wanted=any(wanted))
    else:
        power, slopes_x, slopes_y = _refined(x, y, p, wanted=any(wanted))
    value = power if p == 1 else power.sqrt()
    gradients: list[Tensor | None] = []
    for slopes, tag, want, cost in zip((slopes_x, slopes_y), tags, wanted, (cost_x, cost_y), strict=True):
        if not want or slopes is None or tag is None:
            gradients.append(None)
            continue
        if p == 2:  # the derivative of the root; where the distance is 0, so are the slopes
            slopes = slopes / (2 * value.clamp(min=torch.finfo(torch.float64).tiny))[:, None, None]
        gradients.append(scatter(slopes, tag, cost.dtype))
    return value, gradients[0], gradients[1]


Powers = tuple[Tensor, Tensor | None, Tensor | None]  # SAW_p^p and its derivatives in the sorted levels


def _same_size(x: Tensor, y: Tensor, p: int, *, wanted: bool) -> Powers:
    gap = x.double() - y.double()
    cells = gap[0].numel()
    power = (gap.abs() if p == 1 else gap * gap).sum((-2, -1)) / cells
    if not wanted:
        return power, None, None
    slopes = (gap.sign() if p == 1 else 2 * gap) / cells
    return power, slopes, -slopes


def _refined(x: Tensor, y: Tensor, p: int, *, wanted: bool) -> Powers:
    """Over the common refinements of levels and of shares of the anchors."""
    batch, (levels_x, n), (levels_y, m) = len(x), x.shape[-2:], y.shape[-2:]
    at_level, at_share = segments(levels_x, levels_y, x.device)[0], segments(n, m, x.device)[0]
    own, other = flat_levels(at_level.own, levels_x, batch), flat_levels(at_level.other, levels_y, batch)
    width = at_level.width.repeat(batch)
    power = torch.empty_like(width)
    slopes_x, slopes_y = (torch.zeros(t.shape, dtype=torch.float64, device=t.device).flatten(0, 1) for t in (x, y))
    x, y = x.flatten(0, 1), y.flatten(0, 1)
    for block in blocks(len(width), n + m, x.device):
        gap = x[own[block]][:, at_share.own].double() - y[other[block]][:, at_share.other].double()
        power[block] = (gap.abs() if p == 1 else gap * gap) @ at_share.width
        if wanted:
            slope = (gap.sign() if p == 1 else 2 * gap) * at_share.width * width[block, None]
            rows_x = slope.new_zeros(len(slope), n).index_add_(1, at_share.own, slope)
            rows_y = slope.new_zeros(len(slope), m).index_add_(1, at_share.other, slope)
            slopes_x.index_add_(0, own[block], rows_x)
            slopes_y.index_add_(0, other[block], rows_y, alpha=-1)
    value = (power * width).view(batch, -1).sum(-1)
    return value, slopes_x.view(batch, levels_x, n), slopes_y.view(batch, levels_y, m)


# -- any weights -----------------------------------------------------------------------------------------------------


def _weighted(x: Tensor, y: Tensor, a: Tensor, b: Tensor, p: int) -> Tensor:
    """SAW_p of two weighted spaces."""
    needs_gradient = torch.is_grad_enabled() and any(t.requires_grad for t in (x, y, a, b))
    if x.device.type == "cpu" and not needs_gradient:
        spaces = (Space(cost.detach().numpy(), w.detach().numpy(), copy=False) for cost, w in ((x, a), (y, b)))
        one, two = (AnchorFeatures.of(space) for space in spaces)
        return torch.tensor(one.sliced_to(two, p), dtype=torch.float64)
    a, b = a.double() / a.double().sum(), b.double() / b.double().sum()
    sides = row_steps(x, a), row_steps(y, b)
    ends, order = torch.cat([end.flatten() for _, end in sides]).sort(stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    of_x, of_y = place[: x.numel()].view(x.shape), place[x.numel() :].view(y.shape)
    width = ends.diff(prepend=ends.new_zeros(1))
    # segments without width count where their ends have a derivative
    number = torch.arange(len(width), device=x.device) if width.requires_grad else torch.nonzero(width > 0)[:, 0]
    power = width.new_zeros(())
    for block in blocks(len(number), 4 * (len(x) + len(y)), x.device):
        some = number[block]
        samples = sides[0][0], of_x, a, sides[1][0], of_y, b
        power = power + width[some] @ checkpoint(_transports, some, *samples, p, use_reentrant=False)
    return power if p == 1 else _root(power)


def _root(power: Tensor) -> Tensor:
    """Root whose gradient at 0 is 0."""
    is_zero = power <= 0
    return torch.where(is_zero, torch.zeros_like(power), torch.where(is_zero, torch.ones_like(power), power).sqrt())


def _transports(
    number: Tensor, x: Tensor, place_x: Tensor, a: Tensor, y: Tensor, place_y: Tensor, b: Tensor, p: int
) -> Tensor:
    """W_p^p between the quantiles of both sides on each of some segments, by the places of their ends in order."""
    (x, end_x), (y, end_y) = _sample(number, x, place_x, a), _sample(number, y, place_y, b)
    n, m = x.shape[1], y.shape[1]
    ends, order = torch.cat([end_x, end_y], dim=-1).sort(dim=-1, stable=True)
    width = ends.diff(dim=-1, prepend=torch.zeros_like(ends[:, :1]))
    from_x = order < n
    at_x = (from_x.cumsum(-1) - from_x.long()).clamp(max=n - 1)
    at_y = ((~from_x).cumsum(-1) - (~from_x).long()).clamp(max=m - 1)
    gap = x.gather(-1, at_x) - y.gather(-1, at_y)
    return (width * (gap.abs() if p == 1 else gap * gap)).sum(-1)


def _sample(number: Tensor, values: Tensor, place: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Quantiles of all rows on each segment, sorted, and the share of the mass up to each; (segments, rows)."""
    # a row's steps that ended before the segment: its own value there
    step = torch.searchsorted(place, number.expand(len(place), -1).contiguous()).clamp(max=place.shape[1] - 1)
    quantile, order = values.gather(1, step).mT.sort(dim=-1, stable=True)
    return quantile, weights[order].cumsum(-1)


# -- types -----------------------------------------------------------------------------------------------------------


def _typed(
    x: Tensor, y: Tensor, a: Tensor | None, b: Tensor | None, types: Any, max_cost: float | None, p: int
) -> Tensor:
    """Sum over all pairs of types of ∬ |F - G| dx dt, for every entry of two batches of uniform spaces."""
    if p != 1 or not (is_uniform(a) and is_uniform(b)):
        raise InputError("types need p=1 and uniform weights on tensors; on arrays the weights may be any")
    limit = (
        check_finite_number(max_cost, "max_cost")
        if max_cost is not None
        else max(float(cost_span(*side)[1].max()) for side in ((x, a), (y, b)))
    )
    x, y = (cost.double().clamp(max=limit) for cost in (x, y))
    attributes = attributes_of(x, y, types, None)
    assert attributes is not None
    a, b = or_uniform(a, x), or_uniform(b, y)
    batch = x.shape[:-2]
    flat = [t.reshape(-1, *t.shape[len(batch) :]) for t in (x, a, attributes.x, y, b, attributes.y)]
    found = []
    for cost_x, w_x, kind_x, cost_y, w_y, kind_y in zip(*flat, strict=True):
        pairs = type_blocks((cost_x, w_x, kind_x), (cost_y, w_y, kind_y))
        found.append(torch.stack([_block_distance(*pair, limit) for pair in pairs]).sum())
    return torch.stack(found).view(batch)


def _block_distance(x: Block, y: Block, max_cost: float) -> Tensor:
    area, d = merged_levels(x, y, max_cost)
    return (area * d.abs().sum(dim=-1)).sum()
