"""Where an alignment of tensors begins: the twin of :mod:`anchorot.distances.starts`, for batches, on their device.

Rows of costs become quantile functions at K levels, and anchors are compared by the mean difference at those. Between
uniform spaces of one size, up to 1024 points, that is exact (K = n); else K = 512 levels do for a start.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from anchorot.distances.annealing import WARM, entropic_step
from anchorot.distances.quadratic import spread
from anchorot.distances.starts import RANGES

LEVELS = 512
MOST_LEVELS = 1024  # all of them, up to here
# What start="anchors" tries. The one that is not annealed comes last: by then it shows whether it is worth its swaps.
ANCHOR_STARTS = ("middle", "near, annealed", "product", "near")
STARTS = (*RANGES, "product")


class StartingPlans(NamedTuple):
    """Plans of a batch to begin from, and the temperatures to go through."""

    plan: Tensor  # (batch, n, m), float32
    temperatures: tuple[float, ...]


class Anchors:
    """The rows of two batches of spaces, sorted once, to be seen at several ranges."""

    def __init__(self, x: Tensor, y: Tensor, a: Tensor, b: Tensor, *, is_uniform: bool) -> None:
        n, m = x.shape[-1], y.shape[-1]
        levels = n if is_uniform and n == m <= MOST_LEVELS else LEVELS
        self._rows = [_quantiles(cost, None if is_uniform else w, levels) for cost, w in ((x, a), (y, b))]
        self._all = torch.cat([rows.flatten(1) for rows in self._rows], 1).sort(1).values
        self._a, self._b = a, b

    def start(self, name: str) -> StartingPlans:
        """Return the start of that name."""
        if name == "product":
            return StartingPlans(self._a[:, :, None] * self._b[:, None, :], WARM)
        share, blur, temperatures = RANGES[name]
        costs = self._costs(share)
        plan, _, _ = entropic_step(costs, blur * spread(costs), self._a, self._b, 0 * self._a, 0 * self._b)
        return StartingPlans(plan, temperatures)

    def _costs(self, share: float) -> Tensor:
        """Transport costs between anchors that see costs up to a quantile of all, the rest as far as that."""
        place = share * (self._all.shape[1] - 1)
        low = int(place)
        high = min(low + 1, self._all.shape[1] - 1)
        reach = torch.lerp(self._all[:, low], self._all[:, high], place - low)[:, None, None]
        x, y = (torch.minimum(rows, reach) for rows in self._rows)
        return torch.cdist(x, y, p=1) / x.shape[-1]


def _quantiles(cost: Tensor, weights: Tensor | None, levels: int) -> Tensor:
    """(batch, n, levels): quantiles of every row of costs in the middle of equally wide levels."""
    n = cost.shape[-1]
    middles = (torch.arange(levels, device=cost.device, dtype=torch.float64) + 0.5) / levels
    if weights is None:
        ordered = cost.sort(-1).values
        return ordered if levels == n else ordered[..., (middles * n).long().clamp(max=n - 1)]
    ordered, order = cost.sort(-1)
    summed = weights.double()[:, None, :].expand(cost.shape).gather(-1, order).cumsum(-1)
    places = torch.searchsorted(summed, middles.expand(*cost.shape[:-1], levels).contiguous())
    return ordered.gather(-1, places.clamp(max=n - 1))
