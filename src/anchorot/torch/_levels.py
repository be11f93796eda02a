r"""Anchor Energy of uniform spaces, level by level, in plain PyTorch or in anchorot's CUDA kernels.

Letters: n, m points; A a side's levels, (batch * levels, points), each level sorted; B the other side's. With
z_1 <= ... <= z_{n+m} the merged level and D_r the signed mass after r of them (algorithm of AE as 2 ∫ (F - G)²),

    AE_1 = Σ_levels 2 dt Σ_r (z_{r+1} - z_r) D_r²,    ∂AE_1/∂z_r = 2 dt (D_{r-1}² - D_r²).

No merge is needed: the place of z in the other side, by binary search, gives D and the number before z. Where x and y
are equal, x comes first. D is an integer in units of 1 / (n m): exact.

p = 2 needs the mean quantile functions M alone: AE_2 = 2 ∫ (M - M')² dt. For p >= 3 with q = p - 2 and D the signed
CDF of a merged level,

    energy = p (p - 1) ∬ |x - y|^q D(x) D(y) dx dy,    ∂energy/∂z = -2 p (p - 1) s ∫ |z - y|^q D(y) dy

for a number z of mass s: gaps alone, as in `anchorot._kernels.powers`.

A *tag* is the flat index of the cost that a sorted number came from; gradients are scattered by it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from anchorot._kernels.powers import gap_energy, moments
from anchorot._kernels.records import HEIGHT_BITS, common_segments
from anchorot.torch import _cuda

BLOCK_NUMBERS = {"cpu": 1 << 18, "cuda": 1 << 26}  # handled at a time by plain PyTorch


@dataclass(frozen=True)
class Side:
    """How the levels of one side meet those of the other: segments of [0, 1], and which of them a level has."""

    own: Tensor  # (segments,) level of this side
    other: Tensor  # (segments,) level of the other side
    width: Tensor  # (segments,) float64
    first: Tensor  # (levels + 1,) the segments of level k are first[k], ..., first[k + 1] - 1


class SideEnergy(NamedTuple):
    """What one side adds to the energy, and its derivative."""

    value: Tensor  # (batch,) float64
    gradient: Tensor | None  # like the costs


@lru_cache(maxsize=16)
def segments(levels_x: int, levels_y: int, device: torch.device) -> tuple[Side, Side]:
    """Segments of the common refinement of both sides' levels, as seen from either side."""
    k, l, width = (torch.from_numpy(part).to(device) for part in common_segments(levels_x, levels_y))
    first_x, first_y = (
        torch.searchsorted(own, torch.arange(count + 1, device=device)) for own, count in ((k, levels_x), (l, levels_y))
    )
    return Side(k, l, width, first_x), Side(l, k, width, first_y)


def sort_rows(values: Tensor, tags: Tensor | None = None, *, tagged: bool = False) -> tuple[Tensor, Tensor | None]:
    """Sort the last dimension; carry `tags` along, or make flat indices if `tagged`."""
    if _cuda.serves(values, tagged=tagged or tags is not None):
        return _cuda.sort_rows(values, tags, tagged=tagged)
    ordered, order = values.sort(dim=-1)
    if tags is not None:
        return ordered, tags.gather(-1, order)
    if not tagged:
        return ordered, None
    width = values.shape[-1]
    starts = torch.arange(0, values.numel(), width, device=values.device).view(*values.shape[:-1], 1)
    return ordered, order + starts


def quantiles(cost: Tensor, *, tagged: bool) -> tuple[Tensor, Tensor | None]:
    """Row k of each matrix: the k-th smallest cost of every anchor. (batch, n, n) and the tags."""
    ordered, tags = sort_rows(cost, tagged=tagged)
    return ordered.mT.contiguous(), None if tags is None else tags.mT.contiguous()


def level_energy(
    cost_x: Tensor, cost_y: Tensor, wanted: tuple[bool, bool]
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """AE_1 of uniform spaces, (batch,) float64, and its gradients in the costs where wanted."""
    x, y, *tags = sorted_levels(cost_x, cost_y, wanted)
    tags_x, tags_y = (side if want else None for side, want in zip(tags, wanted, strict=True))
    return merged_energy(x, y, segments(x.shape[-2], y.shape[-2], x.device), tags_x, tags_y)


def sorted_levels(
    cost_x: Tensor, cost_y: Tensor, wanted: tuple[bool, bool]
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Levels of both sides, each sorted, and their tags."""
    if _cuda.turns(cost_x, cost_y, tagged=any(wanted)):
        (x, y), (tags_x, tags_y) = _cuda.sorted_levels(cost_x, cost_y, tagged=any(wanted))
    else:
        x, tags_x = sort_rows(*quantiles(cost_x, tagged=wanted[0]))
        y, tags_y = sort_rows(*quantiles(cost_y, tagged=wanted[1]))
    return x, y, tags_x, tags_y


def merged_energy(
    x: Tensor, y: Tensor, sides: tuple[Side, Side], tags_x: Tensor | None = None, tags_y: Tensor | None = None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Energy of sorted levels, (batch,) float64, and the gradients in the costs that tags point to."""
    one, two = sides
    if _cuda.serves(x, tagged=tags_x is not None) and _cuda.serves(y, tagged=tags_y is not None):
        meet = (one.first, two.first), (one.other, two.other), one.width
        value, (in_x, in_y) = _cuda.level_energy((x, y), *meet, (tags_x, tags_y))
        return value, in_x, in_y
    of_x = _plain_side_energy(x, y, one, tags_x, upper=False)
    of_y = _plain_side_energy(y, x, two, tags_y, upper=True)
    return of_x.value + of_y.value, of_x.gradient, of_y.gradient


def _plain_side_energy(a: Tensor, b: Tensor, side: Side, tags: Tensor | None, *, upper: bool) -> SideEnergy:
    """Sum over the numbers of side a of their gaps times D², with b's numbers at the same place first if `upper`."""
    batch, (n, m) = len(a), (a.shape[-1], b.shape[-1])
    own, other = (flat_levels(level, len(t[0]), batch) for level, t in ((side.own, a), (side.other, b)))
    width = side.width.repeat(batch)
    a, b = a.reshape(-1, n), b.reshape(-1, m)
    energy = torch.empty_like(width)
    slopes = None if tags is None else torch.zeros(a.shape, dtype=torch.float64, device=a.device)
    place = torch.arange(n, device=a.device)
    for block in blocks(len(width), n + m, a.device):
        z, others = a[own[block]], b[other[block]]
        count = torch.searchsorted(others, z, right=upper)
        d = (place * m - count * n).double() / (n * m)
        energy[block] = 2 * ((z.double() - _number_before(z, others, count)) * d**2).sum(-1)
        if slopes is not None:
            slopes.index_add_(0, own[block], 2 * width[block, None] * (d**2 - (d + 1 / n) ** 2))
    value = (energy * width).view(batch, -1).sum(-1)
    return SideEnergy(value, None if slopes is None or tags is None else scatter(slopes, tags, a.dtype))


def _number_before(z: Tensor, others: Tensor, count: Tensor) -> Tensor:
    """Of every number the one before it in the merged order; of the very first, itself."""
    own = torch.cat([z[:, :1], z[:, :-1]], dim=-1)
    other = others.gather(-1, (count - 1).clamp(min=0))
    before = torch.where(count > 0, torch.maximum(own, other), own)
    before[:, 0] = torch.where(count[:, 0] > 0, other[:, 0], z[:, 0])
    return before.double()


def flat_levels(level: Tensor, levels: int, batch: int) -> Tensor:
    """Places of the given levels of every batch entry among the levels of all."""
    starts = torch.arange(batch, device=level.device)[:, None] * levels
    return (starts + level).flatten()


def blocks(count: int, size: int, device: torch.device) -> list[slice]:
    """Slices of `count` things of `size` numbers each, as many at a time as are good for the device."""
    step = max(1, BLOCK_NUMBERS.get(device.type, 1 << 22) // size)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def scatter(slopes: Tensor, tags: Tensor, dtype: torch.dtype) -> Tensor:
    """Bring derivatives from the sorted order back to the order of the costs."""
    batch, levels, n = tags.shape
    out = torch.empty(tags.numel(), dtype=dtype, device=tags.device)
    places = tags.flatten().long() & 0xFFFFFFFF if tags.dtype == torch.int32 else tags.flatten()  # the kernels' tags
    out[places] = slopes.to(dtype).flatten()
    return out.view(batch, n, levels)


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
        gaps, q = z.diff(dim=-1), p - 2
        below = moments(torch, gaps, d, q)
        energy[block] = gap_energy(gaps, d, p, below)
        if wanted:
            field = below[q] + moments(torch, gaps.flip(-1), d.flip(-1), q)[q].flip(-1)
            slope = torch.empty_like(z).scatter_(-1, order, mass * field * (-2 * p * (p - 1) / (n * m)))
            slope *= width[block, None]
            slopes_x.index_add_(0, own[block], slope[:, :n])
            slopes_y.index_add_(0, other[block], slope[:, n:])
    value = (energy * width).view(batch, -1).sum(-1)
    return value, slopes_x.view(batch, -1, n), slopes_y.view(batch, -1, m)


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


def row_steps(cost: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Quantile functions of rows of costs, (..., n, n): values in float64, and the levels up to which they hold."""
    n = cost.shape[-1]
    ordered, order = cost.double().sort(dim=-1)
    if weights is None:
        return ordered, (torch.arange(1, n + 1, device=cost.device).double() / n).expand(cost.shape)
    summed = weights[..., None, :].expand(cost.shape).gather(-1, order).cumsum(-1)
    return ordered, heights_after(weights, order) + (summed - summed.detach())  # exact, with the sums' derivative


def step_costs(cost_x: Tensor, end_x: Tensor, cost_y: Tensor, end_y: Tensor, p: int) -> Tensor:
    """∫ |Q_i(t) - Q_j(t)|^p dt between all rows of two spaces, given as by `row_steps`; (n, m).

    The gradient computes blocks of rows anew instead of keeping what it needs of them.
    """
    size = len(cost_y) * (cost_x.shape[1] + cost_y.shape[1])
    parts = [
        checkpoint(_block_costs, cost_x[block], end_x[block], cost_y, end_y, p, use_reentrant=False)
        for block in blocks(len(cost_x), size, cost_x.device)
    ]
    return torch.cat(parts)


def _block_costs(cost_x: Tensor, end_x: Tensor, cost_y: Tensor, end_y: Tensor, p: int) -> Tensor:
    """Sum over the common refinement of each pair's levels."""
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
