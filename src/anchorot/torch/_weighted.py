r"""Anchor Energy of weighted spaces, with gradients in costs and weights.

p = 1 sweeps over the costs: what moves are the heights of the anchors' CDFs, so that large costs do no harm. p >= 3
sweeps over the levels: what moves are the anchors' quantiles. p = 2 needs their weighted mean only. In the first, costs
are times and weights are values; in the others it is the other way round.

On the CPU a value alone comes from anchorot's own kernels, which sweep one event at a time and many times faster; on a
CUDA device p = 1 is swept in stretches by kernels of anchorot's own, all pairs of a batch together. All else is swept
here, in blocks of events that do not depend on each other, as a GPU likes it.

Rows of signed mass s (of sum 0) hold values z that move one at a time. With the energy f = -Σ s_r s_q |z_r - z_q|^p and
the potential Φ(v) = Σ s_q |v - z_q|^p of a moment, a move v -> w of mass s changes f by
2 s² |w - v|^p - 2 s (Φ(w) - Φ(v)). The values at the beginning of any block of events are looked up, not swept to; in
it, Φ is that of the beginning plus the mutual terms of its events. So blocks go through the same few batched sorts,
searches and sums: O(L (B + N log N / B)) for L events of N rows in blocks of B, and memory bounded by BLOCK_NUMBERS.

The integral of f over time is the energy. Its derivatives are
- in the time of an event: f before - f after;
- in the value that a row has for a while: -2 s ∫ Φ'(z) over that while;
- in the mass of a row: -2 ∫ Φ(z) over all time,
and ∫ Φ over a block is the potential of its beginning for the block's length, plus that of unit moves v_e -> w_e of
masses s_e for the time that is left after e.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, isqrt
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from anchorot._kernels.powers import gap_energy, moments
from anchorot.anchors.features import AnchorFeatures
from anchorot.space import Space
from anchorot.torch import _stretches
from anchorot.torch._levels import heights_after

LARGEST_BLOCK = 128  # events handled at once; their mutual terms cost its square each block
BLOCK_NUMBERS = {"cpu": 1 << 20, "cuda": 1 << 27}  # in one batch of blocks


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
        spaces = (Space(cost.numpy(), weights.numpy(), copy=False) for cost, weights in ((cost_x, a), (cost_y, b)))
        x, y = (AnchorFeatures.of(space, mean_only=p == 2) for space in spaces)
        return WeightedEnergy(torch.tensor(x.energy_to(y, p), dtype=torch.float64), [None] * 4)
    sides = sorted_rows(cost_x, a), sorted_rows(cost_y, b)
    mass = torch.cat([a, -b])
    if p == 1:
        swept = sweep_costs(sides, mass, integrals=wanted[2] or wanted[3])
    else:
        swept = _sweep_levels(sides, mass, p, integrals=any(wanted))
    gradients: list[Tensor | None] = [None] * 4
    start = 0
    for side, (rows, sign) in enumerate(zip(sides, (1, -1), strict=True)):
        own = slice(start, start + len(rows.cost))
        start = own.stop
        part = swept.of_rows(own, rows, mass[own], by_cost=p == 1)
        if wanted[side]:
            gradients[side] = part.in_costs().to(cost_x.dtype)
        if wanted[2 + side]:
            gradients[2 + side] = part.in_weights() - 2 * sign * swept.potential[own]
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


@dataclass(frozen=True)
class MoveTable:
    """Values of rows that move: row r has value[r, k] from time[r, k - 1] to time[r, k].

    A table, a row of it for each row, as batched searches want it. The sweeps on the CPU take one list of moves in the
    order of time instead: `LevelMoves` of one space's quantiles, `PlaceMoves` between numbered values.
    """

    time: Tensor  # (rows, K) ascending; infinity after a row's last move
    value: Tensor  # (rows, K + 1)

    @classmethod
    def join(cls, tables: list[tuple[Tensor, Tensor]]) -> MoveTable:
        """One table of several."""
        longest = max(time.shape[1] for time, _ in tables)
        times = [pad(time, (0, longest - time.shape[1]), value=torch.inf) for time, _ in tables]
        values = [torch.cat([v, v[:, -1:].expand(-1, longest + 1 - v.shape[1])], dim=1) for _, v in tables]
        return cls(torch.cat(times), torch.cat(values))


@dataclass(frozen=True)
class Swept:
    """The energy's integral over time, and what its derivatives are made of; the last two only if asked for."""

    total: Tensor  # scalar
    rise: Tensor  # (rows, K) by how much a move raises f
    slope: Tensor  # (rows, K + 1) ∫ Φ'(z) while the row has that value
    potential: Tensor  # (rows,) ∫ Φ(z) over all time

    def of_rows(self, own: slice, rows: SortedRows, mass: Tensor, *, by_cost: bool = True) -> RowGradients:
        """What the rows of one side have of the derivatives; swept over the costs, or over the levels."""
        seen = rows.cost.shape[1]
        in_times = -self.rise[own, : seen if by_cost else seen - 1]
        in_values = -2 * mass[:, None] * self.slope[own, : seen + 1 if by_cost else seen]
        if by_cost:
            return RowGradients(rows.order, in_times, in_values[:, 1:])
        return RowGradients(rows.order, in_values, pad(in_times, (0, 1)))


class RowGradients(NamedTuple):
    """Derivatives of sorted rows in each of their costs, and in the height of their CDF after it."""

    order: Tensor  # (rows, seen) which point each cost is of
    costs: Tensor
    heights: Tensor

    def in_costs(self) -> Tensor:
        """Derivatives in the costs, (rows, seen), in the order of the points."""
        return torch.empty_like(self.costs).scatter_(1, self.order, self.costs)

    def in_weights(self) -> Tensor:
        """Derivatives in the weights of the points that are seen: a weight raises all heights from its own on."""
        raised = self.heights.flip(1).cumsum(1).flip(1)
        return raised.new_zeros(raised.shape[1]).index_add_(0, self.order.flatten(), raised.flatten())


def sweep(moves: MoveTable, mass: Tensor, p: int, *, integrals: bool) -> Swept:
    """Integrate the energy from the first event to the last."""
    rows, most = moves.time.shape
    flat_time, order = moves.time.flatten().sort(stable=True)
    count = int(torch.isfinite(flat_time).sum())
    time, order = flat_time[:count], order[:count]
    place = torch.full((rows * most,), count, device=order.device)
    place[order] = torch.arange(count, device=order.device)
    rise, slope = torch.zeros_like(moves.time).flatten(), torch.zeros_like(moves.value).flatten()
    potential, total = torch.zeros_like(mass), torch.zeros_like(mass[0])
    size = _block_size(rows)
    starts = _block_starts(time, rows, size)
    stops = torch.cat([starts[1:], starts.new_tensor([count])])
    step = max(1, BLOCK_NUMBERS.get(time.device.type, 1 << 22) // (rows * (p + 1) + size**2))
    for first, last in zip(starts.split(step), stops.split(step), strict=True):
        block = _Block(moves, mass, p, time, order, place.view(rows, most), first, last, size)
        total += block.total
        rise[block.event[block.inside]] = block.rise[block.inside]
        if integrals:
            block.add_integrals(slope, potential)
    return Swept(total, rise.view(rows, most), slope.view(rows, most + 1), potential)


def _block_size(rows: int) -> int:
    """About twice the root of the rows: mutual terms of a block then cost as much as its sort of all rows."""
    return min(LARGEST_BLOCK, 2 * isqrt(rows) + 2)


def _block_starts(time: Tensor, rows: int, size: int) -> Tensor:
    """Begin a block every `size` events, and after gaps so long that what rounding leaves of f would count."""
    regular = torch.arange(0, len(time), size, device=time.device)
    long_gaps = torch.nonzero(time.diff() * rows > time[1:] - time[0]).flatten() + 1
    return torch.cat([regular, long_gaps]).unique()


class _Block:
    """Several blocks of events at once, a row of every tensor each. Letters: event e moves mass s from v to w."""

    def __init__(
        self,
        moves: MoveTable,
        mass: Tensor,
        p: int,
        time: Tensor,
        order: Tensor,
        place: Tensor,
        first: Tensor,
        last: Tensor,
        size: int,
    ) -> None:
        rows, most = moves.time.shape
        self.p, self.most = p, most
        event = first[:, None] + torch.arange(size, device=time.device)
        self.inside = event < last[:, None]
        event = event.clamp(max=len(time) - 1)
        # from the event before the block to its last: the gap between two blocks goes with the energy that is new
        start, stop = time[(first - 1).clamp(min=0)][:, None], time[last - 1][:, None]
        now = torch.where(self.inside, time[event], stop)
        self.length = stop - start
        self.left = stop - now  # of the block's time after each event
        self.event = order[event]
        self.row, number = self.event // most, self.event % most
        self.interval = self.row * (most + 1) + number
        self.s = mass[self.row] * self.inside
        values = moves.value.flatten()
        self.v, self.w = values[self.interval], values[self.interval + 1]
        done = torch.searchsorted(place, first.expand(rows, -1).contiguous())  # events of each row before the block
        self.current = done.T.contiguous() + torch.arange(rows, device=time.device) * (most + 1)
        self.z = values[self.current]
        z, by_value = self.z.sort(dim=-1)
        self.at_start = _Potential(z, mass[by_value], p)
        earlier = torch.ones(size, size, device=time.device, dtype=torch.bool).tril(-1)
        self.jump = self.at_start(self.w) - self.at_start(self.v)
        mutual = (self._mutual() * earlier * self.s[:, None, :]).sum(-1)
        self.rise = 2 * self.s * (self.s * _power(self.w - self.v, p) - self.jump - mutual)
        energy = self.at_start.energy()[:, None]
        after = energy + self.rise.cumsum(-1)
        if p <= 2:
            after = after.clamp(min=0)
        self.total = (energy * (now[:, :1] - start)).sum() + (after[:, :-1] * now.diff(dim=-1)).sum()

    def _mutual(self) -> Tensor:
        """[e, e']: by how much a unit mass's move v' -> w' changes Φ(w) - Φ(v)."""
        v, w, other_v, other_w = self.v[:, :, None], self.w[:, :, None], self.v[:, None, :], self.w[:, None, :]
        if self.p == 1:  # CDFs only rise: twice the common part of two rises
            return -2 * (torch.minimum(w, other_w) - torch.maximum(v, other_v)).clamp(min=0)
        from_w = _power(w - other_w, self.p) - _power(w - other_v, self.p)
        return from_w - _power(v - other_w, self.p) + _power(v - other_v, self.p)

    def add_integrals(self, slope: Tensor, potential: Tensor) -> None:
        """Add the blocks' parts of ∫ Φ'(z) to each value's interval and of ∫ Φ(z) to each row."""
        together = torch.minimum(self.left[:, :, None], self.left[:, None, :]) * self.s[:, None, :]
        points, by_value = torch.cat([self.w, self.v], dim=-1).sort(dim=-1)
        pulls = torch.cat([self.s * self.left, -self.s * self.left], dim=-1).gather(-1, by_value)
        of_moves, length = _Potential(points, pulls, self.p), self.length
        # rows as if nothing of theirs moved, then the events' corrections from their time on
        still = length * self.at_start.slope(self.z) + of_moves.slope(self.z)
        slope.index_add_(0, self.current.flatten(), still.flatten())
        rows = torch.arange(self.z.shape[1], device=slope.device).expand_as(self.z)
        potential.index_add_(0, rows.flatten(), (length * self.at_start(self.z) + of_moves(self.z)).flatten())
        gained = (self.left * self.jump + (together * self._mutual()).sum(-1)) * self.inside
        potential.index_add_(0, self.row.flatten(), gained.flatten())
        for value, sign, shift in ((self.w, 1, 1), (self.v, -1, 0)):
            mutual = _slope(value[:, :, None] - self.w[:, None, :], self.p) - _slope(
                value[:, :, None] - self.v[:, None, :], self.p
            )
            part = self.left * self.at_start.slope(value) + (together * mutual).sum(-1)
            slope.index_add_(0, (self.interval + shift).flatten(), (sign * part * self.inside).flatten())


def _power(x: Tensor, p: int) -> Tensor:
    return x.abs() ** p


def _slope(x: Tensor, p: int) -> Tensor:
    """Derivative of |x|^p; 0 at 0."""
    return p * x.sign() * x.abs() ** (p - 1)


class _Potential:
    """Φ(v) = Σ s_q |z_q - v|^p at any v, from prefix sums of powers about the middle of the sorted z."""

    def __init__(self, z: Tensor, mass: Tensor, p: int) -> None:
        self.z, self.mass, self.p = z, mass, p
        self.centre = 0.5 * z[:, :1] + 0.5 * z[:, -1:]
        x = z - self.centre
        self.prefix = [pad((mass * x**k).cumsum(-1), (1, 0)) for k in range(p + 1)]

    def energy(self) -> Tensor:
        """Energy of the masses themselves."""
        d, gaps = self.prefix[0][:, 1:-1], self.z.diff(dim=-1)
        return gap_energy(gaps, d, self.p, moments(torch, gaps, d, self.p - 2))

    def __call__(self, v: Tensor) -> Tensor:
        return self._sum(v, 0, right=False)

    def slope(self, v: Tensor) -> Tensor:
        """Φ'(v); where it jumps, the middle."""
        left = self._sum(v, 1, right=False)
        return left if self.p > 1 else 0.5 * (left + self._sum(v, 1, right=True))

    def _sum(self, v: Tensor, derivative: int, *, right: bool) -> Tensor:
        below_v, x, p = torch.searchsorted(self.z, v.contiguous(), right=right), v - self.centre, self.p
        total = torch.zeros_like(x)
        for k in range(p + 1 - derivative):
            below = self.prefix[k].gather(-1, below_v)
            # |z - v|^p = (v - z)^p below v, and (-1)^p times that above
            moment = below + (-1) ** p * (self.prefix[k][:, -1:] - below)
            factor = float(comb(p, k) * (-1) ** k * ((p - k) if derivative else 1))  # may exceed 64 bits
            total = total + factor * x ** (p - k - derivative) * moment
        return total
