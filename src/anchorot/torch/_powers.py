r"""Anchor Energy of uniform spaces for p >= 2, level by level.

p = 2 needs the mean quantile functions M alone: AE_2 = 2 ∫ (M - M')² dt. For p >= 3 with q = p - 2 and D the signed
CDF of a merged level,

    energy = p (p - 1) ∬ |x - y|^q D(x) D(y) dx dy,    ∂energy/∂z = -2 p (p - 1) s ∫ |z - y|^q D(y) dy

for a number z of mass s: gaps alone, as in `anchorot._kernels.numpy.sweep`.
"""

from math import comb

import torch
from torch import Tensor

from anchorot.torch._levels import blocks, flat_levels, quantiles, scatter, segments

Energies = tuple[Tensor, Tensor | None, Tensor | None]


def power_energy(cost_x: Tensor, cost_y: Tensor, p: int, wanted: tuple[bool, bool]) -> Energies:
    """AE_p of uniform spaces, (batch,) float64, and its gradients in the costs where wanted."""
    x, tags_x = quantiles(cost_x, tagged=wanted[0])
    y, tags_y = quantiles(cost_y, tagged=wanted[1])
    energies = _squared_means if p == 2 else _merged_levels
    value, slopes_x, slopes_y = energies(x, y, p, any(wanted))
    return value, _gradient(slopes_x, tags_x, cost_x.dtype), _gradient(slopes_y, tags_y, cost_y.dtype)


def _gradient(slopes: Tensor | None, tags: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if slopes is None or tags is None else scatter(slopes.expand(tags.shape), tags, dtype)


def _squared_means(x: Tensor, y: Tensor, p: int, wanted: bool) -> Energies:
    """For p = 2; slopes have one column for all anchors."""
    side, _ = segments(x.shape[-2], y.shape[-2], x.device)
    # means about a number of each level: far from zero a mean would be rounded to the size of the costs
    (centre_x, mean_x), (centre_y, mean_y) = _centred_mean(x), _centred_mean(y)
    gap = centre_x[:, side.own] - centre_y[:, side.other] + (mean_x[:, side.own] - mean_y[:, side.other])
    value = 2 * (side.width * gap**2).sum(-1)
    if not wanted:
        return value, None, None
    rise = 4 * side.width * gap
    slopes_x = torch.zeros_like(mean_x).index_add_(1, side.own, rise) / x.shape[-1]
    slopes_y = torch.zeros_like(mean_y).index_add_(1, side.other, rise) / -y.shape[-1]
    return value, slopes_x[..., None], slopes_y[..., None]


def _centred_mean(levels: Tensor) -> tuple[Tensor, Tensor]:
    """One number of each level, and the mean of the others' differences from it."""
    centre = levels[..., 0].double()
    return centre, (levels.double() - centre[..., None]).mean(-1)


def _merged_levels(x: Tensor, y: Tensor, p: int, wanted: bool) -> Energies:
    batch, (n, m) = len(x), (x.shape[-1], y.shape[-1])
    side, _ = segments(x.shape[-2], y.shape[-2], x.device)
    own, other = flat_levels(side.own, x.shape[-2], batch), flat_levels(side.other, y.shape[-2], batch)
    width = side.width.repeat(batch)
    slopes_x, slopes_y = (torch.zeros_like(t, dtype=torch.float64).view(-1, t.shape[-1]) for t in (x, y))
    x, y = x.view(-1, n), y.view(-1, m)
    energy = torch.empty_like(width)
    for block in blocks(len(width), (n + m) * p, x.device):
        z, order = torch.cat([x[own[block]], y[other[block]]], dim=-1).double().sort(dim=-1)
        mass = torch.where(order < n, m, -n)  # in units of 1 / (n m): sums are exact
        d = mass.cumsum(-1)[:, :-1].double() / (n * m)
        energy[block], field = gap_energy(z.diff(dim=-1), d, p, wanted)
        if wanted:
            slope = torch.empty_like(z).scatter_(-1, order, mass * field * (-2 * p * (p - 1) / (n * m)))
            slope *= width[block, None]
            slopes_x.index_add_(0, own[block], slope[:, :n])
            slopes_y.index_add_(0, other[block], slope[:, n:])
    value = (energy * width).view(batch, -1).sum(-1)
    return value, slopes_x.view(batch, -1, n), slopes_y.view(batch, -1, m)


def gap_energy(gaps: Tensor, d: Tensor, p: int, wanted: bool) -> tuple[Tensor, Tensor]:
    """Energy for p >= 3 of a signed measure with CDF d on its gaps, and ∫ |z - y|^(p-2) D(y) dy at its points.

    See `anchorot._kernels.numpy.sweep` for the recurrence. The second is left empty if not wanted.
    """
    q = p - 2
    below = _moments(gaps, d, q)
    inner = d * gaps ** (q + 2) / ((q + 1) * (q + 2))
    for j in range(q + 1):
        inner = inner + comb(q, j) * gaps ** (q - j + 1) / (q - j + 1) * below[j][..., :-1]
    energy = 2 * p * (p - 1) * (d * inner).sum(-1)
    if not wanted:
        return energy, energy.new_empty(0)
    above = _moments(gaps.flip(-1), d.flip(-1), q)[q].flip(-1)
    return energy, below[q] + above


def _moments(gaps: Tensor, d: Tensor, q: int) -> list[Tensor]:
    """A_k(z) = ∫_{y < z} (z - y)^k D(y) dy at every point z, for k = 0, ..., q."""
    found: list[Tensor] = []
    for k in range(q + 1):
        growth = d * gaps ** (k + 1) / (k + 1)
        for j in range(k):
            growth = growth + comb(k, j) * gaps ** (k - j) * found[j][..., :-1]
        found.append(torch.nn.functional.pad(growth.cumsum(-1), (1, 0)))
    return found
