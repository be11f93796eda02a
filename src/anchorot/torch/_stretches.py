r"""Anchor Energy of weighted spaces (p = 1) in anchorot's CUDA kernels: a sweep over the costs, cut into stretches.

The events of a pair, its n² + m² costs, lift one row's distribution function each. In the order of time (cost) they are
cut into stretches of about as many events as there are rows, which run side by side, whatever pairs of a batch they are
of. What a stretch computes stands in `stretches.cu` and what follows there.

Letters of shapes: G pairs of n and m points, L = n² + m² events, N = n + m rows, K stretches of at most B events.
"""

from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from anchorot._kernels.records import HEIGHT_BITS
from anchorot.torch import _cuda
from anchorot.torch._cuda import Argument, Kernel, compile_kernels, long, pointer, short

Value = Tensor | int | tuple[type, Argument] | None  # of an argument; integers have 64 bits unless they say otherwise

THREADS = 256  # of a block
LEAST_SIZE = 256  # places for events in a stretch
TABLE_NUMBERS = 1 << 24  # in one table of the stretches that are handled at a time
LARGEST_EVENT = 1 << 31  # numbers of events have 32 bits, signed
FINE_BITS = 60  # sums over overlapping events are integers
SOURCES = ("stretches.cu", "stretch_sweep.cu", "stretch_weights.cu")
KERNELS = (
    "row_heights",
    "mark_starts",
    "place_events",
    "start_heights",
    "weigh_heights",
    "lower_heights",
    "arrange_events",
    "pass_heights",
    "sweep_stretches",
    "sum_stretches",
    "turn_events",
    "rest_rows",
    "collect_rests",
    "collect_turns",
    "raise_rows",
)


def serves(x: Tensor, y: Tensor) -> bool:
    """Whether the kernels can be used for batches like these."""
    fits = x[0].numel() + y[0].numel() < LARGEST_EVENT
    return fits and _cuda.serves(x, tagged=True) and _cuda.serves(y, tagged=True)


def stretch_energy(
    x: Tensor, y: Tensor, a: Tensor, b: Tensor, wanted: tuple[bool, ...]
) -> tuple[Tensor, list[Tensor | None]]:
    """AE_1 of weighted spaces, (G,) float64, and its gradients in both costs and both weights, where wanted."""
    with torch.cuda.device(x.device):
        sweep = _Sweep(x, y, a, b)
        in_costs = [
            torch.empty(cost.shape, dtype=cost.dtype, device=cost.device) if want else None
            for cost, want in zip((x, y), wanted[:2], strict=True)
        ]
        weights = _Weights(sweep) if any(wanted[2:]) else None
        for begin in range(0, sweep.stretches, sweep.step):
            stretches = _Stretches(sweep, begin, min(begin + sweep.step, sweep.stretches), weights is not None)
            stretches.integrate(in_costs)
            if weights:
                weights.add(stretches)
        in_weights = weights.gradients(wanted[2:]) if weights else [None, None]
        return sweep.value(), in_costs + in_weights


class _Sweep:
    """The events of all pairs, row by row and in the order of time, and the stretches that they are cut into."""

    def __init__(self, x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> None:
        self.pairs, self.n, self.m = len(x), x.shape[-1], y.shape[-1]
        self.rows, self.events = self.n + self.m, self.n**2 + self.m**2
        self.total = self.pairs * self.events
        self.device, self.kernels = x.device, _kernels(x.dtype, x.device)
        sides = [_cuda.sort_rows(cost, tagged=True) for cost in (x, y)]
        self.tags = [tags for _, tags in sides]
        self.when, self.order = torch.cat([cost.flatten(1) for cost, _ in sides], 1).sort(dim=1, stable=True)
        self.height = self._heights(a, b)
        self.mass = torch.cat([a, -b], dim=1)
        _, exponent = torch.frexp(torch.maximum(a.amax(1), b.amax(1)))
        self.scale = torch.ldexp(torch.ones_like(a[:, 0]), FINE_BITS - exponent)  # sums of two weights and more fit
        self.size = max(LEAST_SIZE, self.rows)
        self.of_rank, self.of_event, self.first = self._cut()
        self.stretches = len(self.first) - 1
        self.step = max(1, TABLE_NUMBERS // self.size)
        self.integral = self.empty(self.stretches)

    def _heights(self, *weights: Tensor) -> Tensor:
        """Height of every event's row after it, (G, L) int64."""
        height = self.empty(self.pairs, self.events, dtype=torch.int64)
        bits, start = torch.tensor(HEIGHT_BITS, device=height.device), 0
        for side, tags in zip(weights, self.tags, strict=True):
            integers, n = torch.ldexp(side, bits).round().long(), side.shape[1]
            known = integers, integers.sum(1), tags, height[:, start:], self.events, short(n)
            self.launch("row_heights", self.pairs * n, *known)
            start += n * n
        return height

    def _cut(self) -> tuple[Tensor, Tensor, Tensor]:
        """Number the stretch of every rank, from 1, and of every event, from 0; and where each stretch begins."""
        starts, of_event = self.empty(2, self.total, dtype=torch.int32)
        self.each("mark_starts", self.total, self.when, starts, self.total, self.events, short(self.size))
        of_rank = starts.cumsum(0, dtype=torch.int32)
        self.each("place_events", self.total, self.order, of_rank, of_event, self.total, self.events)
        first = torch.nonzero(starts).flatten()
        return of_rank, of_event, torch.cat([first, first.new_full((1,), self.total)])

    def empty(self, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
        """Memory on the device."""
        return torch.empty(shape, dtype=dtype, device=self.device)

    def launch(self, name: str, blocks: int, *arguments: Value) -> None:
        """Launch a kernel of a number of blocks."""
        values = [long(v) if isinstance(v, int) else v if isinstance(v, tuple) else pointer(v) for v in arguments]
        self.kernels[name].launch((blocks, 1), THREADS, values)

    def each(self, name: str, items: int, *arguments: Value) -> None:
        """Launch a kernel with a thread for each item."""
        self.launch(name, -(-items // THREADS), *arguments)

    @property
    def sizes(self) -> tuple[tuple[type, Argument], ...]:
        """The sizes of both sides, as arguments."""
        return short(self.n), short(self.m)

    def value(self) -> Tensor:
        """AE of every pair."""
        found = self.empty(self.pairs)
        self.launch("sum_stretches", self.pairs, self.integral, self.of_rank, found, self.events)
        return found


class _Stretches:
    """Some stretches: the heights of all rows at their beginnings, and their events in the order of lower heights."""

    def __init__(self, sweep: _Sweep, begin: int, end: int, with_left: bool) -> None:
        self.sweep, self.begin, self.end, self.count = sweep, begin, end, end - begin
        self.places = self.count * sweep.size
        self._start_rows()
        self._arrange_events(with_left)

    def _start_rows(self) -> None:
        sweep, count = self.sweep, self.count
        starts = sweep.empty(count, sweep.rows, dtype=torch.int64)
        known = sweep.of_rank, sweep.of_event, sweep.height
        sweep.each("start_heights", sweep.total, *known, starts, sweep.total, self.begin, self.end, *sweep.sizes)
        self.z, self.z_tags = _sorted_integers(starts)
        self.d, self.primitive = sweep.empty(2, count, sweep.rows)
        self.energy = sweep.empty(count)
        found = self.d, self.primitive, self.energy, self.begin, *sweep.sizes
        sweep.launch("weigh_heights", count, self.z, self.z_tags, sweep.mass, sweep.first, *found)

    def _arrange_events(self, with_left: bool) -> None:
        sweep = self.sweep
        steps: tuple[Value, ...] = (self.places, self.begin, short(sweep.size), *sweep.sizes)
        lower = sweep.empty(self.count, sweep.size, dtype=torch.int64)
        sweep.each("lower_heights", self.places, sweep.order, sweep.height, sweep.first, lower, *steps)
        self.lower, self.tags = _sorted_integers(lower)
        self.upper, self.masses = torch.empty_like(lower), sweep.empty(*lower.shape)
        self.left = torch.empty_like(self.masses) if with_left else None
        known = sweep.when, sweep.order, sweep.height, sweep.mass, sweep.first, self.tags
        sweep.each("arrange_events", self.places, *known, self.upper, self.masses, self.left, *steps)

    def integrate(self, gradients: list[Tensor | None]) -> None:
        """Integrate the energy over each stretch; write the derivatives in costs."""
        sweep, size = self.sweep, short(self.sweep.size)
        area, passed = torch.empty_like(self.masses), torch.zeros_like(self.upper)
        events = self.lower, self.upper, self.masses, self.tags, sweep.first
        found: tuple[Value, ...] = (sweep.scale, area, passed, self.places, self.begin, size, *sweep.sizes)
        sweep.each("pass_heights", self.places, *events, self.z, self.d, self.primitive, *found)
        known = sweep.when, sweep.order, sweep.height, sweep.mass, sweep.first, self.energy, area, passed, sweep.scale
        wanted = *sweep.tags, *gradients, sweep.integral, self.begin, size, *sweep.sizes
        sweep.launch("sweep_stretches", self.count, *known, *wanted)


class _Weights:
    """What derivatives in weights are made of: integrals for each event and the while before it, (G, L)."""

    def __init__(self, sweep: _Sweep) -> None:
        self.sweep = sweep
        self.rests = sweep.empty(2, sweep.total).zero_()
        self.last_rests = sweep.empty(2, sweep.pairs * sweep.rows).zero_()
        self.turns = sweep.empty(3, sweep.total)

    def add(self, part: _Stretches) -> None:
        """Add what some stretches contribute."""
        attributes = self.sweep.empty(3, part.z.numel(), dtype=torch.int64).zero_()
        self._add_turns(part, attributes)
        self._add_rests(part, attributes)

    def _add_turns(self, part: _Stretches, attributes: Tensor) -> None:
        sweep, size = self.sweep, short(self.sweep.size)
        turns = sweep.empty(3, part.places, dtype=torch.int64).zero_()
        events = part.lower, part.upper, part.masses, part.left, part.tags, sweep.first
        steps = part.places, part.z.numel(), part.begin, size, short(sweep.rows)
        sweep.each("turn_events", part.places, *events, part.z, part.d, part.primitive, turns, attributes, *steps)
        known = sweep.when, sweep.order, sweep.first, turns
        sweep.each("collect_turns", part.places, *known, *self.turns, part.places, part.begin, size, sweep.events)

    def _add_rests(self, part: _Stretches, attributes: Tensor) -> None:
        sweep = self.sweep
        rests = sweep.empty(2, part.z.numel())
        known = sweep.when, sweep.first, part.z, part.z_tags, part.d, part.primitive, attributes
        sweep.launch("rest_rows", part.count, *known, *rests, part.z.numel(), part.begin, *sweep.sizes)
        found = *self.rests, *self.last_rests, sweep.total, part.begin, part.end, *sweep.sizes
        sweep.each("collect_rests", sweep.total, sweep.of_rank, sweep.of_event, *rests, *found)

    def gradients(self, wanted: tuple[bool, ...]) -> list[Tensor | None]:
        """Derivatives in the weights of both sides, up to a constant: their sum is fixed."""
        sweep = self.sweep
        raised = [sweep.empty(sweep.pairs, size, size) for size in (sweep.n, sweep.m)]
        potential = sweep.empty(sweep.pairs, sweep.rows)
        known = sweep.mass, *self.rests, *self.last_rests, *self.turns, *sweep.tags
        sweep.launch("raise_rows", sweep.pairs * sweep.rows, *known, *raised, potential, *sweep.sizes)
        halves = potential.split([sweep.n, sweep.m], dim=1)
        found = (rows.sum(-2) - sign * half for rows, half, sign in zip(raised, halves, (4, -4), strict=True))
        return [part if want else None for part, want in zip(found, wanted, strict=True)]


def _sorted_integers(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Sort rows of integers that are not negative: as floats of the same bits they have the same order."""
    ordered, tags = _cuda.sort_rows(rows.view(torch.float64), tagged=True)
    assert tags is not None
    return ordered.view(torch.int64), tags


@cache
def _kernels(dtype: torch.dtype, device: torch.device) -> dict[str, Kernel]:
    source = "".join(Path(__file__).with_name(name).read_text() for name in SOURCES)
    defines: dict[str, object] = {"KEY": "double" if dtype == torch.float64 else "float", "THREADS": THREADS}
    return dict(zip(KERNELS, compile_kernels(source, KERNELS, defines, device), strict=True))
