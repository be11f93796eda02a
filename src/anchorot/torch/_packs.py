"""Prepared spaces on a device, packed: the numbers of many in one tensor, with a table of where each begins."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from anchorot._kernels.records import Events
from anchorot._typing import Floats, Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.line import StepFunction

MOST_ROWS = 850  # of a space that is swept on a device: the heights of two share a block's memory


class PackedLevels(NamedTuple):
    """Sorted levels of many uniform spaces."""

    numbers: Tensor  # float64, with room on both sides for a look beyond
    place: Tensor  # (spaces, 3): where a space begins, how many levels it has, how many numbers each
    shapes: list[tuple[int, int]]


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
    room = max(levels for levels, _ in shapes)
    parts = [np.zeros(room), *(levels.T.astype(np.float64).ravel() for levels in spaces), np.zeros(room)]
    begins = _begins([levels * count for levels, count in shapes]) + room
    place = np.column_stack([begins, np.array(shapes)])
    return PackedLevels(_to(np.concatenate(parts), device), _to(place, device), shapes)


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
        self, indices: Sequence[int], item: Callable[[int], AnchorFeatures], p: int, device: torch.device
    ) -> None:
        items = [item(index) for index in indices]
        self.count, self.device = len(items), device
        self.spans = np.array([(0.0, 0.0) if x.is_mean_only else x.span for x in items])
        self.uniform = [k for k, x in enumerate(items) if x.levels is not None]
        self.weighted = [k for k, x in enumerate(items) if x.levels is None and p == 1 and _is_small(x)]
        self.small = [k for k in self.uniform if _is_small(items[k])]  # may be swept next to weighted ones
        self.steps = pack_steps([x.mean_quantile for x in items], device) if p == 2 else None
        self.levels = self.events = None
        if self.uniform and p == 1:
            self.levels = pack_levels([x.levels for x in items if x.levels is not None], device)
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
        packs = (self.steps, self.levels, self.events, self.__dict__.get("uniform_events"))
        tensors = (part for pack in packs if pack is not None for part in pack if isinstance(part, Tensor))
        return sum(tensor.nbytes for tensor in tensors)


def _is_small(x: AnchorFeatures) -> bool:
    return (x.levels.shape[1] if x.levels is not None else len(x.events.mass)) <= MOST_ROWS


def _begins(counts: Sequence[int]) -> Int64s:
    return np.cumsum(np.array([0, *counts[:-1]], dtype=np.int64))


def _to(array: Any, device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
