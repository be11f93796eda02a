"""CDF heights on tensors, summed in integers as in `anchorot._kernels.records`."""

import torch
from torch import Tensor

from anchorot._kernels.records import HEIGHT_BITS


def heights_after(weights: Tensor, order: Tensor) -> Tensor:
    """Height of every row's CDF after each of its points, (..., rows, n), in the order of each row.

    Equal sums of weights are equal. From the last point that has a weight on, the height is 1 and not the rounded sum
    of all weights: the cost of a point without weight, however large, holds on no level at all.
    """
    scale = torch.tensor(HEIGHT_BITS, device=weights.device)
    integers = torch.ldexp(weights.detach(), scale).round().long()
    summed = integers[..., None, :].expand(order.shape).gather(-1, order).cumsum(-1)
    heights = torch.ldexp(summed.double(), -scale).clamp(max=1.0)
    return torch.where(summed == summed[..., -1:], 1.0, heights)
