"""All pairs of spaces on a CUDA device, and averages over grids: ``pairs.cu``, ``pair_sweeps.cu``, ``pair_gaps.cu``.

Prepared spaces are packed: the numbers of many in one tensor, with a table of where each begins. Values of uniform
spaces have the bits of the native kernels; none depends on what else is computed along with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from itertools import product
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from anchorot._kernels.records import Events, GridSpec
from anchorot._typing import Float64s, Floats, Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.line import StepFunction
from anchorot.exceptions import AnchorotError
from anchorot.torch._cuda import Kernel, compile_kernels, long, pointer
from anchorot.torch._levels import quantiles, sort_rows

NAMES = (
    "level_parts",
    "sum_parts",
    "step_pairs",
    "sweep_parts",
    "sweep_gap_parts",
    "gap_sums",
    "gap_parts",
    "cell_averages",
)
SOURCES = ("pairs.cu", "pair_sweeps.cu", "pair_gaps.cu")
THREADS = 128  # of a block, except in sweeps
LANES = 32  # threads that sweep a stretch of events together
STRETCH, ROW_STRETCH = 8192, 32  # least events of a stretch, in all and for every row
SHARED_MEMORY = 48 * 1024  # of a block, without asking for more
ROW_BYTES, STATE_BYTES = 28, 32  # of all that is known of one row in a sweep, and of what comes on top
PART_NUMBERS = 1 << 25  # that are added up to values of pairs, of one launch
LAUNCH_STEPS = 1 << 37  # numbers merged, about, in one launch: well below a second
EVENT_STEPS = 32  # what an event costs, in numbers merged
GAP_TILE = 4  # spaces of either side whose gaps a group of lanes sums together, as in pair_gaps.cu
SAFE_EXPONENT = 400  # beyond 2^400, and below 2^-400, squares of costs are left to the CPU, as in native/transport.cpp
MOST_ROWS = 850  # of a space that is swept on a device: the heights of two share a block's memory

Stopped = Callable[[], bool]
Launch = Callable[[Tensor, int, int], None]


def pair_energies(x: PackedSpaces, y: PackedSpaces, stopped: Stopped) -> Float64s:
    """AE of all pairs of spaces of x and of y; NaN for those that are not for a device, and once it is stopped."""
    if x.steps is not None and y.steps is not None:
        return step_energies(x.steps, y.steps, stopped).numpy(force=True)
    out = np.full((x.count, y.count), np.nan)
    if x.levels is not None and y.levels is not None:
        out[np.ix_(x.uniform, y.uniform)] = level_energies(x.levels, y.levels, stopped).numpy(force=True)
    for rows, columns, events_x, events_y in _swept(x, y):
        out[np.ix_(rows, columns)] = sweep_energies(events_x, events_y, stopped).numpy(force=True)
    with np.errstate(over="ignore"):  # beyond the range of floats, as it is for the other kernels
        max_cost = np.maximum.outer(x.spans[:, 1], y.spans[:, 1]) - np.minimum.outer(x.spans[:, 0], y.spans[:, 0])
    out[np.isinf(max_cost)] = np.inf
    return out


def pair_distances(x: PackedSpaces, y: PackedSpaces, p: int, stopped: Stopped) -> Float64s:
    """SAW_p of all pairs of spaces of x and of y; NaN for those that are not for a device, and once it is stopped."""
    out = np.full((x.count, y.count), np.nan)
    for one, other in product(x.gaps, y.gaps):
        means = gap_means(one, other, p, stopped).numpy(force=True)
        # PyTorch's root of doubles may be off by one bit on CPUs, that of NumPy is correctly rounded
        out[np.ix_(one.members, other.members)] = means if p == 1 else np.sqrt(means)
    for rows, columns, events_x, events_y in _swept(x, y):
        found = sweep_energies(events_x, events_y, stopped, name="sweep_gap_parts")
        out[np.ix_(rows, columns)] = found.numpy(force=True)
    with np.errstate(over="ignore"):
        spans = np.maximum.outer(x.spans[:, 1], y.spans[:, 1]) - np.minimum.outer(x.spans[:, 0], y.spans[:, 0])
    if p == 2:
        out[np.abs(np.frexp(spans)[1]) > SAFE_EXPONENT] = np.nan
    out[np.isinf(spans)] = np.inf
    return out


def gap_means(x: PackedGaps, y: PackedGaps, p: int, stopped: Stopped) -> Tensor:
    """SAW_p to the power p of all pairs of uniform spaces, of one shape on either side."""
    rows, columns, device = len(x.numbers), len(y.numbers), x.numbers.device
    out, (k, n), (l, m) = _empty(rows, columns, device), x.shape, y.shape
    if x.shape == y.shape:
        kernel, groups = _kernels(device)["gap_sums"], THREADS // LANES
        across = 2 if groups >= 4 else 1
        for first, stop in _bands(out, 1, k * n, stopped):
            part, some = out[first:stop], x.numbers[first:stop]
            grid = -(-len(some) // (groups // across * GAP_TILE)), -(-columns // (across * GAP_TILE))
            sizes = long(len(some)), long(columns), long(k * n), long(p)
            kernel.launch(grid, THREADS, (pointer(some), pointer(y.numbers), pointer(part), *sizes))
        out /= k * n
    else:
        most = k + l - gcd(k, l)
        kernel, inputs = _kernels(device)["gap_parts"], (pointer(x.numbers), pointer(y.numbers))

        def launch(part: Tensor, first: int, pairs: int) -> None:
            sizes = [long(size) for size in (first, columns, k, n, l, m, p, most, pairs * most)]
            kernel.launch((-(-pairs * most // THREADS), 1), THREADS, (*inputs, pointer(part), *sizes))

        out = _by_parts(launch, out, most, most * (n + m), stopped)
    return out


def _swept(x: PackedSpaces, y: PackedSpaces) -> Iterator[tuple[list[int], list[int], PackedEvents, PackedEvents]]:
    """Pairs that need a sweep: those of which at least one is weighted."""
    if x.events is not None and y.events is not None:
        yield x.weighted, y.weighted, x.events, y.events
    if x.events is not None and y.small:
        yield x.weighted, y.small, x.events, y.uniform_events
    if y.events is not None and x.small:
        yield x.small, y.weighted, x.uniform_events, y.events


def level_energies(x: PackedLevels, y: PackedLevels, stopped: Stopped, *, in_turn: bool = False) -> Tensor:
    """AE (p = 1) of all pairs from their levels, or (pairs, 1), `in_turn`, of the first with the first and so on."""
    most = max(k + l - gcd(k, l) for k, _ in set(x.shapes) for l, _ in set(y.shapes))
    steps = most * (max(n for _, n in x.shapes) + max(m for _, m in y.shapes))
    kernel, columns = _kernels(x.numbers.device)["level_parts"], 0 if in_turn else len(y.place)
    inputs = [pointer(t) for t in (x.numbers, x.place, y.numbers, y.place)]

    def launch(part: Tensor, first: int, pairs: int) -> None:
        sizes = long(first), long(columns), long(most), long(pairs * most)
        kernel.launch((-(-pairs * most // THREADS), 1), THREADS, (*inputs, pointer(part), *sizes))

    out = _empty(len(x.place), columns or 1, x.numbers.device)
    return _by_parts(launch, out, most, steps, stopped)


def sweep_energies(
    x: PackedEvents, y: PackedEvents, stopped: Stopped, *, in_turn: bool = False, name: str = "sweep_parts"
) -> Tensor:
    """AE (p = 1) of all pairs from their events, or SAW_1, by sweeps; or `in_turn`, see `level_energies`."""
    rows = max(n for _, n in x.sizes) + max(m for _, m in y.sizes)
    events = max(e for e, _ in x.sizes) + max(e for e, _ in y.sizes)
    most, columns = -(-events // STRETCH), 0 if in_turn else len(y.place)
    threads, kernel = _sweep(name, -(-rows // 32) * 32, x.position.device)
    inputs = [pointer(t) for side in (x, y) for t in (side.position, side.row, side.jump, side.mass, side.place)]

    def launch(part: Tensor, first: int, pairs: int) -> None:
        sizes = long(first), long(columns), long(most), long(pairs * most)
        kernel.launch((-(-pairs * most * LANES // threads), 1), threads, (*inputs, pointer(part), *sizes))

    out = _empty(len(x.place), columns or 1, x.position.device)
    return _by_parts(launch, out, most, EVENT_STEPS * events, stopped)


def step_energies(x: PackedSteps, y: PackedSteps, stopped: Stopped) -> Tensor:
    """AE of p = 2 of all pairs from their mean quantile functions."""
    kernel, columns = _kernels(x.value.device)["step_pairs"], len(y.place)
    inputs = [pointer(t) for side in (x, y) for t in (side.value, side.end, side.origin, side.place)]
    out = _empty(len(x.place), columns, x.value.device)
    for first, stop in _bands(out, 1, x.longest + y.longest, stopped):
        pairs = (stop - first) * columns
        arguments = *inputs, pointer(out[first:stop]), long(first), long(columns), long(pairs)
        kernel.launch((-(-pairs // THREADS), 1), THREADS, arguments)
    return out


def grid_averages(cost: Tensor, grid: GridSpec) -> Tensor:
    """Averages of F over a grid's cells, (spaces, cells_x, cells_t), of uniform spaces with costs (spaces, n, n)."""
    levels, _ = sort_rows(*quantiles(cost, tagged=False))
    count, levels_each, n = levels.shape
    sums = torch.empty(count * grid.cells_t * 2 * (grid.cells_x + 1), dtype=torch.float64, device=cost.device)
    out = torch.empty(count, grid.cells_x, grid.cells_t, dtype=torch.float64, device=cost.device)
    span = torch.tensor([grid.low, grid.high], dtype=torch.float64, device=cost.device)
    tensors = [pointer(t) for t in (levels, sums, out, span)]
    sizes = [long(size) for size in (count, levels_each, n, grid.cells_x, grid.cells_t)]
    blocks = -(-count * grid.cells_t // THREADS)
    _kernels(cost.device)["cell_averages"].launch((blocks, 1), THREADS, (*tensors, *sizes))
    return out


def check_kernels(device: torch.device) -> None:
    """Refuse a device that the kernels cannot be compiled for, in one line."""
    if torch.version.hip is not None:
        raise AnchorotError("all pairs on a device need CUDA, but this PyTorch is for ROCm; leave device out")
    try:
        _kernels(device)
    except (OSError, RuntimeError, AttributeError) as error:
        line = str(error).splitlines()[0]
        raise AnchorotError(
            f"the kernels for all pairs cannot be compiled for {device} ({line}); leave it out"
        ) from None


def free_bytes(device: torch.device) -> int:
    """Free bytes of a device's memory."""
    return torch.cuda.mem_get_info(device)[0]


def _empty(rows: int, columns: int, device: torch.device) -> Tensor:
    return torch.full((rows, columns), torch.nan, dtype=torch.float64, device=device)


def _by_parts(launch: Launch, out: Tensor, most: int, steps: int, stopped: Stopped) -> Tensor:
    """Values of pairs as sums of their `most` parts, a band of rows at a time; `steps` is the work of a pair."""
    add_up, columns = _kernels(out.device)["sum_parts"], out.shape[1]
    for first, stop in _bands(out, most, steps, stopped):
        pairs = (stop - first) * columns
        part = torch.empty(pairs * most, dtype=torch.float64, device=out.device)
        launch(part, first, pairs)
        sums = pointer(part), pointer(out[first:stop]), long(pairs), long(most)
        add_up.launch((-(-pairs // THREADS), 1), THREADS, sums)
    return out


def _bands(out: Tensor, most: int, steps: int, stopped: Stopped) -> Iterator[tuple[int, int]]:
    """Bands of rows whose pairs fit into one launch each; waits for each, so that an interrupt takes effect."""
    rows, columns = out.shape
    height = max(1, min(PART_NUMBERS // (columns * most), LAUNCH_STEPS // (columns * steps)))
    for first in range(0, rows, height):
        if stopped():
            return
        yield first, min(first + height, rows)
        if out.is_cuda:
            torch.cuda.current_stream(out.device).synchronize()


def _sweep(name: str, rows: int, device: torch.device) -> tuple[int, Kernel]:
    """Threads of a block, as many groups of lanes as its memory holds heights for, and the kernel."""
    groups = min(THREADS // LANES, SHARED_MEMORY // (ROW_BYTES * rows + STATE_BYTES))
    return groups * LANES, _compiled(groups * LANES, rows, device)[name]


def _kernels(device: torch.device) -> dict[str, Kernel]:
    return _compiled(THREADS, 32, device)


@cache
def _compiled(threads: int, rows: int, device: torch.device) -> dict[str, Kernel]:
    source = "".join(Path(__file__).with_name(name).read_text() for name in SOURCES)
    sizes = {"THREADS": threads, "LANES": LANES, "ROWS": rows, "STRETCH": STRETCH, "ROW_STRETCH": ROW_STRETCH}
    return dict(zip(NAMES, compile_kernels(source, NAMES, dict[str, object](sizes), device), strict=True))


class PackedLevels(NamedTuple):
    """Sorted levels of many uniform spaces."""

    numbers: Tensor  # float64, padded on both sides for reads beyond the ends
    place: Tensor  # (spaces, 3): where a space begins, how many levels it has, how many numbers each
    shapes: list[tuple[int, int]]


class PackedGaps(NamedTuple):
    """Sorted levels of the uniform spaces of one shape."""

    numbers: Tensor  # (spaces, levels * anchors) float64
    shape: tuple[int, int]
    members: list[int]  # which of all spaces they are


class PackedSteps(NamedTuple):
    """Mean quantile functions of many spaces."""

    value: Tensor
    end: Tensor
    origin: Tensor  # (spaces,)
    place: Tensor  # (spaces, 2): where the steps of a space begin, and how many there are
    longest: int


class PackedEvents(NamedTuple):
    """Jumps of the CDFs of many spaces of any weights."""

    position: Tensor
    row: Tensor
    jump: Tensor
    mass: Tensor
    place: Tensor  # (spaces, 4): where a space's events begin, their number, where its masses begin, their number
    sizes: list[tuple[int, int]]  # events and rows


def pack_levels(spaces: Sequence[Floats], device: torch.device) -> PackedLevels:
    """Bring levels to a device, turned so that threads at neighbouring levels read neighbouring numbers."""
    shapes = [(len(levels), levels.shape[1]) for levels in spaces]
    padding = max(levels for levels, _ in shapes)
    parts = [np.zeros(padding), *(levels.T.astype(np.float64).ravel() for levels in spaces), np.zeros(padding)]
    begins = _begins([levels * count for levels, count in shapes]) + padding
    place = np.column_stack([begins, np.array(shapes)])
    return PackedLevels(_to(np.concatenate(parts), device), _to(place, device), shapes)


def pack_gaps(spaces: dict[int, Floats], device: torch.device) -> list[PackedGaps]:
    """Bring levels to a device as they are, those of each shape together."""
    members: dict[tuple[int, int], list[int]] = {}
    for index, levels in spaces.items():
        members.setdefault((len(levels), levels.shape[1]), []).append(index)
    packed = []
    for shape, some in members.items():
        numbers = np.stack([spaces[index].ravel() for index in some]).astype(np.float64, copy=False)
        packed.append(PackedGaps(_to(numbers, device), shape, some))
    return packed


def join_levels(parts: Sequence[PackedLevels]) -> PackedLevels:
    """Levels that were brought to a device a part at a time, as one."""
    place = _moved([part.place for part in parts], [{0: len(part.numbers)} for part in parts])
    shapes = sorted({shape for part in parts for shape in part.shapes})  # of what sorts, no more
    return PackedLevels(torch.cat([part.numbers for part in parts]), place, shapes)


def join_events(parts: Sequence[PackedEvents]) -> PackedEvents:
    """Events that were brought to a device a part at a time, as one."""
    place = _moved([part.place for part in parts], [{0: len(part.row), 2: len(part.mass)} for part in parts])
    position, row, jump, mass = (torch.cat(side) for side in zip(*(part[:4] for part in parts), strict=True))
    return PackedEvents(position, row, jump, mass, place, sorted({size for part in parts for size in part.sizes}))


def _moved(places: list[Tensor], lengths: list[dict[int, int]]) -> Tensor:
    """Places of parts that come one after another, where a column counts the numbers of each part."""
    moved = [place.clone() for place in places]
    for column in lengths[0]:
        for place, begin in zip(moved, _begins([length[column] for length in lengths]).tolist(), strict=True):
            place[:, column] += begin
    return torch.cat(moved)


def pack_steps(spaces: Sequence[StepFunction], device: torch.device) -> PackedSteps:
    """Bring step functions to a device."""
    counts = [len(steps.value) for steps in spaces]
    value, end = (np.concatenate(side) for side in ([s.value for s in spaces], [s.end for s in spaces]))
    origin, place = np.array([steps.origin for steps in spaces]), np.column_stack([_begins(counts), counts])
    return PackedSteps(_to(value, device), _to(end, device), _to(origin, device), _to(place, device), max(counts))


def pack_events(spaces: Sequence[Events], device: torch.device) -> PackedEvents:
    """Bring events to a device."""
    sizes = [(len(events.position), len(events.mass)) for events in spaces]
    position, row, jump, mass = (np.concatenate(part) for part in zip(*spaces, strict=True))
    events, rows = (list(part) for part in zip(*sizes, strict=True))
    place = np.column_stack([_begins(events), events, _begins(rows), rows])
    numbers = (position, row.astype(np.int32), jump, mass, place)
    at, row_of, by, masses, where = (_to(part, device) for part in numbers)
    return PackedEvents(at, row_of, by, masses, where, sizes)


class PackedSpaces:
    """Some prepared spaces on a device, in all forms that their pairs need.

    Attributes
    ----------
    uniform, weighted : list of int
        Which of them have levels, and which are swept. The rest has too many points for either: `energies` leaves it.
    """

    def __init__(
        self,
        indices: Sequence[int],
        item: Callable[[int], AnchorFeatures],
        p: int,
        device: torch.device,
        *,
        sliced: bool = False,
    ) -> None:
        items = [item(index) for index in indices]
        self.count, self.device = len(items), device
        self.spans = np.array([(0.0, 0.0) if x.is_mean_only else x.span for x in items])
        self.uniform = [k for k, x in enumerate(items) if x.levels is not None]
        self.weighted = [k for k, x in enumerate(items) if x.levels is None and p == 1 and is_small(x)]
        self.small = [k for k in self.uniform if is_small(items[k])]  # may be swept next to weighted ones
        self.steps = pack_steps([x.mean_quantile for x in items], device) if p == 2 and not sliced else None
        self.levels = self.events = None
        levels = {k: x.levels for k, x in enumerate(items) if x.levels is not None}
        self.gaps = pack_gaps(levels, device) if sliced else []
        if self.uniform and p == 1 and not sliced:
            self.levels = pack_levels(list(levels.values()), device)
        if self.weighted:
            self.events = pack_events([items[k].events for k in self.weighted], device)
        self._small_items = [partial(item, indices[k]) for k in self.small]

    @cached_property
    def uniform_events(self) -> PackedEvents:
        """Events of the small uniform ones, which they need next to weighted ones only."""
        return pack_events([item().events for item in self._small_items], self.device)

    @property
    def n_bytes(self) -> int:
        """Bytes on the device."""
        packs = (*self.gaps, self.steps, self.levels, self.events, self.__dict__.get("uniform_events"))
        tensors = (part for pack in packs if pack is not None for part in pack if isinstance(part, Tensor))
        return sum(tensor.nbytes for tensor in tensors)


def is_small(x: AnchorFeatures) -> bool:
    """Whether a space may be swept on a device."""
    return (x.levels.shape[1] if x.levels is not None else len(x.events.mass)) <= MOST_ROWS


def _begins(counts: Sequence[int]) -> Int64s:
    return np.cumsum(np.array([0, *counts[:-1]], dtype=np.int64))


def _to(array: Any, device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
