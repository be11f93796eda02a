"""The Anchor Energy Plan and ranks, which depend on the order of costs only and have no gradient."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from anchorot.torch._checks import check_cost, check_spaces, check_weights, is_uniform, or_uniform
from anchorot.torch._levels import blocks, heights_after, segments


@torch.no_grad()
def anchor_energy_plan(
    cost_x: Tensor,
    cost_y: Tensor,
    weights_x: Tensor | None = None,
    weights_y: Tensor | None = None,
) -> Tensor:
    """Anchor Energy Plan between batches of spaces: the mean of the optimal couplings of all pairs of anchors.

    See :func:`anchorot.anchor_energy_plan`. Ties are split. The plan depends on the order of costs only, so it has no
    gradient in them: the result is detached.

    Parameters
    ----------
    cost_x, cost_y : tensor of shape (..., n, n) and (..., m, m)
    weights_x, weights_y : tensor of shape (..., n) and (..., m), optional
        Weights; uniform by default.

    Returns
    -------
    tensor of shape (..., n, m)

    Notes
    -----
    Uniform spaces: two sorts and one matrix product. With weights, O(n² m log m), one batch entry after the other.

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> path = torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> aot.anchor_energy_plan(path, path)[0]
    tensor([0.1296, 0.0741, 0.1296])
    """
    x, y, a, b = check_spaces(cost_x, cost_y, weights_x, weights_y)
    batch, n, m = x.shape[:-2], x.shape[-1], y.shape[-1]
    x, y = x.reshape(-1, n, n), y.reshape(-1, m, m)
    if is_uniform(a) and is_uniform(b):
        plan = _uniform_plan(x, y)
    else:
        weights = or_uniform(a, x).reshape(-1, n), or_uniform(b, y).reshape(-1, m)
        plan = torch.stack([_weighted_plan(*entry) for entry in zip(x, y, *weights, strict=True)])
    return plan.to(x.dtype).view(*batch, n, m)


def _uniform_plan(x: Tensor, y: Tensor) -> Tensor:
    side, _ = segments(x.shape[-1], y.shape[-1], x.device)
    return (level_shares(x)[:, side.own] * side.width[:, None]).mT @ level_shares(y)[:, side.other]


def level_shares(cost: Tensor) -> Tensor:
    """Share of the rows in which each column has each rank, ties split: (batch, n levels, n points) float64."""
    batch, n, _ = cost.shape
    ordered, order = cost.sort(dim=-1)
    first, end = tie_blocks(ordered)
    share = 1 / (n * (end - first)).double()
    # a block of equal costs spreads its share over its levels: added where it begins, subtracted where it ends
    steps = torch.zeros(batch, (n + 1) * n, dtype=torch.float64, device=cost.device)
    steps.scatter_add_(1, (first * n + order).flatten(1), share.flatten(1))
    steps.scatter_add_(1, (end * n + order).flatten(1), -share.flatten(1))
    return steps.view(batch, n + 1, n)[:, :-1].cumsum(1).clamp(min=0)


def tie_blocks(ordered: Tensor) -> tuple[Tensor, Tensor]:
    """For every place of every sorted row: where the block of values equal to it begins, and where it ends."""
    n = ordered.shape[-1]
    place = torch.arange(n, device=ordered.device)
    is_first = pad(ordered.diff(dim=-1) != 0, (1, 0), value=True)
    is_last = pad(is_first[..., 1:], (0, 1), value=True)
    first = torch.where(is_first, place, 0).cummax(-1).values
    end = torch.where(is_last, place + 1, n).flip(-1).cummin(-1).values.flip(-1)
    return first, end


def _weighted_plan(x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Σ_i share_ik (G_l(end_ik) - G_l(begin_ik)), with G_l the primitive of the share of point l at level t."""
    (begin_x, end_x, share_x), (begin_y, end_y, share_y) = _intervals(x, a), _intervals(y, b)
    knots, order = torch.cat([begin_y, end_y]).T.contiguous().sort(dim=-1)
    steps = torch.cat([share_y, -share_y]).T.gather(-1, order)
    sums, moments = (pad(t.cumsum(-1), (1, 0)) for t in (steps, steps * knots))
    plan = torch.zeros(len(b), len(a), dtype=torch.float64, device=x.device)
    for block in blocks(len(a), 2 * x.shape[1] * len(b), x.device):
        levels = torch.stack([begin_x[block], end_x[block]]).flatten().expand(len(b), -1).contiguous()
        below = torch.searchsorted(knots, levels)
        primitive = sums.gather(-1, below) * levels - moments.gather(-1, below)
        gained = primitive.view(len(b), 2, -1, len(a)).diff(dim=1)[:, 0]
        plan += (gained * share_x[block]).sum(1)
    return plan.T.clamp(min=0)


def _intervals(cost: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[anchor, point]: from which to which level the point's block of ties goes, and the point's share of it."""
    ordered, order = cost.sort(dim=-1, stable=True)
    first, end = tie_blocks(ordered)
    height = pad(heights_after(weights, order), (1, 0))
    begin, stop = (torch.empty_like(height[:, 1:]).scatter_(1, order, height.gather(1, t)) for t in (first, end))
    share = weights[:, None] * weights / (stop - begin)
    return begin, stop, torch.where(stop > begin, share, 0.0)


def ranks(cost: Tensor, weights: Tensor | None = None) -> Tensor:
    """Share of all costs of a space that are smaller, for every cost: the paper's robust representation.

    ``p(i, j) = #{(k, l): cost[k, l] < cost[i, j]} / n**2``, as :meth:`anchorot.Space.ranked`. Ranks do not move when
    costs move a little, so there is nothing to differentiate: the result is detached from `cost`.

    Parameters
    ----------
    cost : tensor of shape (..., n, n)
    weights : tensor of shape (..., n), optional
        Weights; points of weight zero are not counted.

    Returns
    -------
    tensor of shape (..., n, n)

    Examples
    --------
    >>> import torch
    >>> import anchorot.torch as aot
    >>> aot.ranks(torch.tensor([[0.0, 5.0], [7.0, 0.0]]))
    tensor([[0.0000, 0.5000],
            [0.7500, 0.0000]])
    """
    cost = check_cost(cost, "cost").detach()
    if weights is None:
        counted, count = cost, torch.tensor(float(cost.shape[-1] ** 2), dtype=torch.float64, device=cost.device)
    else:
        heavy = check_weights(weights, cost, "weights", "cost").detach() > 0
        counted = torch.where(heavy[..., :, None] & heavy[..., None, :], cost, torch.inf)
        count = heavy.sum(-1, dtype=torch.float64)[..., None] ** 2
    smaller = torch.searchsorted(counted.flatten(-2).sort(dim=-1).values, cost.flatten(-2).contiguous())
    return (smaller / count).to(cost.dtype).view_as(cost)
