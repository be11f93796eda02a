"""Transport costs between every anchor of one space and every anchor of another, differentiably."""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from anchorot.torch._heights import heights_after
from anchorot.torch._levels import blocks, segments


def row_costs(x: Tensor, y: Tensor, a: Tensor | None, b: Tensor | None, p: int) -> Tensor:
    """M[i, j] = OT_p between the costs that point i of x and point j of y see; (batch, n, m).

    O(n m (n + m)) time. Uniform spaces: memory O(n² + m² + n m). With weights the gradient computes blocks of rows anew
    instead of keeping what it needs of them.
    """
    if a is None and b is None:
        return _uniform_costs(x, y, p)
    (cost_x, end_x), (cost_y, end_y) = _steps(x, a), _steps(y, b)
    entries = zip(cost_x, end_x, cost_y, end_y, strict=True)
    return torch.stack([_weighted_costs(*entry, p) for entry in entries])


def _steps(cost: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Quantile functions of the rows: their values, and the levels up to which they hold."""
    n = cost.shape[-1]
    ordered, order = cost.double().sort(dim=-1)
    if weights is None:
        return ordered, (torch.arange(1, n + 1, device=cost.device).double() / n).expand(cost.shape)
    summed = weights[:, None, :].expand(cost.shape).gather(-1, order).cumsum(-1)
    return ordered, heights_after(weights, order) + (summed - summed.detach())  # exact, with the sums' derivative


def _uniform_costs(x: Tensor, y: Tensor, p: int) -> Tensor:
    side, _ = segments(x.shape[-1], y.shape[-1], x.device)
    root = (side.width ** (1 / p)).to(x.dtype)
    qx, qy = x.sort(dim=-1).values[..., side.own], y.sort(dim=-1).values[..., side.other]
    centre = qx[..., :1, :].detach()  # of every level: far from zero the products with the root would lose digits
    qx, qy = (qx - centre) * root, (qy - centre) * root
    found = torch.cdist(qx, qy, p=p, compute_mode="donot_use_mm_for_euclid_dist")
    return found if p == 1 else found**p


def _weighted_costs(cost_x: Tensor, end_x: Tensor, cost_y: Tensor, end_y: Tensor, p: int) -> Tensor:
    size = len(cost_y) * (cost_x.shape[1] + cost_y.shape[1])
    parts = [
        checkpoint(_block_costs, cost_x[block], end_x[block], cost_y, end_y, p, use_reentrant=False)
        for block in blocks(len(cost_x), size, cost_x.device)
    ]
    return torch.cat(parts)


def _block_costs(cost_x: Tensor, end_x: Tensor, cost_y: Tensor, end_y: Tensor, p: int) -> Tensor:
    """∫ |Q_i(t) - Q_j(t)|^p dt over the common refinement of each pair's levels."""
    shape = len(cost_x), len(cost_y), -1
    n, m = cost_x.shape[1], cost_y.shape[1]
    ends, order = torch.cat([end_x[:, None].expand(shape), end_y.expand(shape)], dim=-1).sort(dim=-1)
    width = ends.diff(dim=-1, prepend=torch.zeros_like(ends[..., :1]))
    from_x = order < n
    # how many steps of each ended before: the step that holds at this width
    at_x = (from_x.cumsum(-1) - from_x.long()).clamp(max=n - 1)
    at_y = ((~from_x).cumsum(-1) - (~from_x).long()).clamp(max=m - 1)
    gap = cost_x[:, None].expand(shape).gather(-1, at_x) - cost_y.expand(shape).gather(-1, at_y)
    return (width * gap.abs() ** p).sum(-1)
