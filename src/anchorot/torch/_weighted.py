r"""Anchor Energy of weighted spaces, with gradients in costs and weights.

p = 1 sweeps over the costs: what moves are the heights of the anchors' CDFs, so that large costs do no harm. p >= 3
sweeps over the levels: what moves are the anchors' quantiles. p = 2 needs their weighted mean only. In the first, costs
are times and weights are values; in the others it is the other way round.

On the CPU a value alone comes from anchorot's own kernels, which sweep one event at a time and many times faster; on a
CUDA device p = 1 is swept in stretches by kernels of anchorot's own, all pairs of a batch together.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from anchorot.distances.energy import anchor_energy
from anchorot.space import Space
from anchorot.torch import _stretches
from anchorot.torch._heights import heights_after
from anchorot.torch._sweep import MoveTable, Swept, sweep


class WeightedEnergy(NamedTuple):
    """Energy of a pair of spaces or of a batch, and its gradients in costs and weights of both, where wanted."""

    value: Tensor
    gradients: list[Tensor | None]


class SortedRows(NamedTuple):
    """The anchors of a space, sorted."""

    cost: Tensor  # (n, n) float64
    order: Tensor
    height: Tensor  # (n, n) of the CDF after each cost


def weighted_energies(
    cost_x: Tensor, cost_y: Tensor, a: Tensor, b: Tensor, p: int, wanted: tuple[bool, ...]
) -> WeightedEnergy:
    """AE_p of a batch of pairs of weighted spaces."""
    if p == 1 and _stretches.serves(cost_x, cost_y):
        return WeightedEnergy(*_stretches.stretch_energy(cost_x, cost_y, a, b, wanted))
    found = [weighted_energy(*pair, p, wanted) for pair in zip(cost_x, cost_y, a, b, strict=True)]
    gradients = zip(*(pair.gradients for pair in found), strict=True)
    stacked = [torch.stack(g) if want else None for g, want in zip(gradients, wanted, strict=True)]
    return WeightedEnergy(torch.stack([pair.value for pair in found]), stacked)


def weighted_energy(
    cost_x: Tensor, cost_y: Tensor, a: Tensor, b: Tensor, p: int, wanted: tuple[bool, ...]
) -> WeightedEnergy:
    """AE_p of two weighted spaces."""
    if cost_x.device.type == "cpu" and not any(wanted):
        x, y = (Space(cost.numpy(), weights.numpy(), copy=False) for cost, weights in ((cost_x, a), (cost_y, b)))
        return WeightedEnergy(torch.tensor(anchor_energy(x, y, p), dtype=torch.float64), [None] * 4)
    sides = sorted_rows(cost_x, a), sorted_rows(cost_y, b)
    mass = torch.cat([a, -b])
    by_cost = p == 1
    weights_wanted = wanted[2] or wanted[3]
    if by_cost:
        swept = sweep_costs(sides, mass, integrals=weights_wanted)
    else:
        swept = _sweep_levels(sides, mass, p, integrals=any(wanted))
    gradients: list[Tensor | None] = [None] * 4
    start = 0
    for side, (rows, sign) in enumerate(zip(sides, (1, -1), strict=True)):
        own = slice(start, start + len(rows.cost))
        start = own.stop
        n = len(rows.cost)
        # the derivative in the time of every move, and in the value that every while has
        in_times = -swept.rise[own, : n if by_cost else n - 1]
        in_values = -2 * mass[own, None] * swept.slope[own, : n + 1 if by_cost else n]
        if wanted[side]:
            table = in_times if by_cost else in_values
            gradients[side] = torch.zeros_like(rows.cost).scatter_(1, rows.order, table).to(cost_x.dtype)
        if wanted[2 + side]:
            # a weight raises all heights of a row from its own on
            later = in_values[:, 1:] if by_cost else pad(in_times, (0, 1))
            raised = later.flip(1).cumsum(1).flip(1)
            weight = torch.zeros_like(a if side == 0 else b).index_add_(0, rows.order.flatten(), raised.flatten())
            gradients[2 + side] = weight - 2 * sign * swept.potential[own]
    return WeightedEnergy(swept.total, gradients)


def sorted_rows(cost: Tensor, weights: Tensor) -> SortedRows:
    """Sort the rows of costs, and say how high their CDFs are after each."""
    ordered, order = cost.double().sort(dim=-1, stable=True)
    return SortedRows(ordered, order, heights_after(weights, order))


def sweep_costs(sides: tuple[SortedRows, SortedRows], mass: Tensor, *, integrals: bool) -> Swept:
    """Sweep over the costs of two sides (p = 1), whose rows have masses of sum 0."""
    extremes = torch.stack([extreme for rows in sides for extreme in rows.cost.aminmax()])
    tables = [(rows.cost, pad(rows.height, (1, 0))) for rows in sides]
    return _with_span(tables, mass, 1, torch.stack(extremes.aminmax()), integrals=integrals)


def _sweep_levels(sides: tuple[SortedRows, SortedRows], mass: Tensor, p: int, *, integrals: bool) -> Swept:
    tables = [(rows.height[:, :-1], rows.cost) for rows in sides]
    if p == 2:
        return _mean_sweep(MoveTable.join(tables), mass)
    return _with_span(tables, mass, p, mass.new_tensor([0.0, 1.0]), integrals=integrals)


def _with_span(tables: list[tuple[Tensor, Tensor]], mass: Tensor, p: int, span: Tensor, *, integrals: bool) -> Swept:
    """Sweep with one more row, without mass, whose events are the beginning and the end."""
    still = tables[0][1][:1, :1]
    moves = MoveTable.join([(span.view(1, 2), still.expand(1, 3)), *tables])
    swept = sweep(moves, pad(mass, (1, 0)), p, integrals=integrals)
    return Swept(swept.total, swept.rise[1:], swept.slope[1:], swept.potential[1:])


def _mean_sweep(moves: MoveTable, mass: Tensor) -> Swept:
    """Sweep for p = 2: f = 2 M², with M = Σ s z the difference of the mean quantile functions."""
    rows, most = moves.time.shape
    time, order = moves.time.flatten().clamp(max=1.0).sort(stable=True)
    values = moves.value - moves.value[:1, :1]  # masses sum to 0, but only up to rounding
    steps = (mass[:, None] * values.diff(dim=1)).flatten()[order]
    mean = mass @ values[:, 0] + pad(steps.cumsum(0), (1, 0))
    knots = pad(torch.cat([time, time.new_ones(1)]), (1, 0))
    primitive = pad((mean * knots.diff()).cumsum(0), (1, 0))
    rise = torch.empty_like(steps)
    rise[order] = 2 * (mean**2).diff()
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    at_moves = primitive[place.view(rows, most) + 1]
    whole = torch.cat([primitive[:1].expand(rows, 1), at_moves, primitive[-1:].expand(rows, 1)], dim=1)
    slope = -2 * whole.diff(dim=1)
    total = 2 * (mean**2 * knots.diff()).sum()
    return Swept(total, rise.view(rows, most), slope, (slope * values).sum(1))
