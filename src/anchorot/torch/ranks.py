"""Ranks of costs."""

import torch
from torch import Tensor

from anchorot.torch._checks import check_cost, check_weights


def ranks(C: Tensor, a: Tensor | None = None) -> Tensor:  # noqa: N803
    """Share of all costs of a space that are smaller, for every cost: the paper's robust representation.

    ``p(i, j) = #{(k, l): C[k, l] < C[i, j]} / n**2``, as :meth:`anchorot.Space.ranked`. Ranks are not differentiable:
    they do not move when costs move a little, so the result is detached from `C`.

    Parameters
    ----------
    C : tensor of shape (..., n, n)
    a : tensor of shape (..., n), optional
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
    cost = check_cost(C, "C").detach()
    if a is None:
        counted, count = cost, torch.tensor(float(cost.shape[-1] ** 2), dtype=torch.float64, device=cost.device)
    else:
        heavy = check_weights(a, cost, "a", "C").detach() > 0
        counted = torch.where(heavy[..., :, None] & heavy[..., None, :], cost, torch.inf)
        count = heavy.sum(-1, dtype=torch.float64)[..., None] ** 2
    smaller = torch.searchsorted(counted.flatten(-2).sort(dim=-1).values, cost.flatten(-2).contiguous())
    return (smaller / count).to(cost.dtype).view_as(cost)
