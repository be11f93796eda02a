"""Nearest neighbours among spaces that are all on one CUDA device, with their vectors; see `many/nearest.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from anchorot._parallel import StoppedError
from anchorot._typing import Float64s, Int64s
from anchorot.anchors.encoder import Sketches
from anchorot.anchors.features import AnchorFeatures
from anchorot.torch._pairs import (
    PackedEvents,
    PackedLevels,
    Stopped,
    join_events,
    join_levels,
    level_energies,
    pack_events,
    pack_levels,
    sweep_energies,
)

PACKED_SPACES = 4096  # that are brought to a device together
GAP_NUMBERS = 1 << 26  # pairs whose bounds are computed together
PAIRS = 1 << 22  # that are compared together
MORE_CANDIDATES = 16  # than k, of a row, whose energies say how far to look


class Near(NamedTuple):
    """Pairs of rows, counted within a block, and columns, with their energies."""

    row: Tensor
    column: Tensor
    energy: Tensor


class DeviceSearch:
    """All spaces of a search on a device: what their energies need, and the vectors that bound these.

    Parameters
    ----------
    indices : sequence of int
        The spaces that can be used.
    item : callable
        Returns the features of one.
    sketches : Sketches
        Of all spaces, also of those that cannot be used.
    """

    def __init__(
        self, indices: Sequence[int], item: Callable[[int], AnchorFeatures], sketches: Sketches, device: torch.device
    ) -> None:
        uniform = [index for index in indices if item(index).levels is not None]
        self._is_weighted = torch.ones(len(sketches.norms), dtype=torch.bool, device=device)
        self._is_weighted[uniform] = False
        self._levels: PackedLevels | None = None
        self._events: PackedEvents | None = None
        if uniform:
            all_levels = ([item(i).levels for i in some] for some in _batches(uniform))
            levels = join_levels([pack_levels([x for x in some if x is not None], device) for some in all_levels])
            self._levels = levels._replace(place=self._by_index(levels.place, uniform))
        if len(uniform) < len(indices):  # then uniform ones, too, are swept, next to weighted ones
            events = join_events([pack_events([item(i).events for i in some], device) for some in _batches(indices)])
            self._events = events._replace(place=self._by_index(events.place, indices))
        # products of float32 that are rounded more coarsely than its own are no bounds
        is_exact = torch.get_float32_matmul_precision() == "highest"
        self._vectors = torch.from_numpy(sketches.vectors).to(device, torch.float32 if is_exact else torch.float64)
        self._norms = torch.from_numpy(sketches.norms).to(self._vectors)
        self._sketches = sketches

    def _by_index(self, place: Tensor, indices: Sequence[int]) -> Tensor:
        """The places of some spaces, among those of all."""
        out = place.new_zeros(len(self._is_weighted), place.shape[1])
        out[list(indices)] = place
        return out

    def nearest(self, rows: Int64s, offset: int, k: int, stopped: Stopped) -> tuple[Int64s, Float64s, Int64s]:
        """The k nearest of some good rows among all spaces from `offset` on.

        Their columns, -1 where there are fewer, their energies, and how many each row was compared with.
        """
        height = max(1, GAP_NUMBERS // (len(self._norms) - offset))
        parts = [rows[start : start + height] for start in range(0, len(rows), height)]
        found = []
        for part in parts:
            found.append([side.numpy(force=True) for side in self._nearest(part, offset, k, stopped)])
            if stopped():
                raise StoppedError
        index, value, compared = (np.concatenate(side) for side in zip(*found, strict=True))
        return index, value, compared

    def _nearest(self, rows: Int64s, offset: int, k: int, stopped: Stopped) -> tuple[Tensor, Tensor, Tensor]:
        own = torch.from_numpy(rows).to(self._norms.device)
        gaps = torch.addmm(self._norms[offset:], self._vectors[own], self._vectors[offset:].T, alpha=-2)
        if offset == 0:
            gaps.scatter_(1, own[:, None], torch.inf)
        near, columns = torch.topk(gaps, min(k + MORE_CANDIDATES, gaps.shape[1]), largest=False, sorted=False)
        is_good = torch.isfinite(near)
        first = self._compared(is_good, own, offset, stopped, columns)
        energies = torch.full_like(near, torch.inf, dtype=torch.float64).masked_scatter_(is_good, first.energy)
        limits = torch.kthvalue(energies, k).values
        radius = float(self._sketches.radii.max())
        largest = self._sketches.part(rows).largest_gaps(limits.numpy(force=True), radius)
        within = (gaps <= torch.from_numpy(largest).to(gaps)[:, None]).scatter_(1, columns, False)
        rest = self._compared(within, own, offset, stopped)
        pairs = Near(*(torch.cat(parts) for parts in zip(first, rest, strict=True)))
        return *_least(pairs, limits, k), torch.bincount(pairs.row, minlength=len(rows))

    def _compared(
        self, wanted: Tensor, own: Tensor, offset: int, stopped: Stopped, columns: Tensor | None = None
    ) -> Near:
        """Energies of the pairs that are wanted, of rows and of all columns, or of those that each row has."""
        row, column = wanted.nonzero(as_tuple=True)
        if columns is not None:
            column = columns[row, column]
        energies = [torch.empty(0, dtype=torch.float64, device=own.device)]
        for start in range(0, len(row), PAIRS):
            part = slice(start, start + PAIRS)
            x, y = own[row[part]], column[part] + offset
            energies.append(self._energies(torch.minimum(x, y), torch.maximum(x, y), stopped))
        return Near(row, column, torch.cat(energies))

    def _energies(self, x: Tensor, y: Tensor, stopped: Stopped) -> Tensor:
        """Energies of pairs of spaces, by sweeps if one of the two is weighted."""
        out = torch.empty(len(x), dtype=torch.float64, device=x.device)
        swept = self._is_weighted[x] | self._is_weighted[y]
        if (levels := self._levels) is not None and not swept.all():
            u, v = (levels._replace(place=levels.place[side[~swept]]) for side in (x, y))
            out[~swept] = level_energies(u, v, stopped, in_turn=True)[:, 0]
        if (events := self._events) is not None and swept.any():
            f, g = (events._replace(place=events.place[side[swept]]) for side in (x, y))
            out[swept] = sweep_energies(f, g, stopped, in_turn=True)[:, 0]
        return out


def _batches(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(indices), PACKED_SPACES):
        yield indices[start : start + PACKED_SPACES]


def _least(pairs: Near, limits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Columns and energies of the k least of each row, equal ones by column; -1 and infinity where there are fewer."""
    within = pairs.energy <= limits[pairs.row]
    row, column, energy = (part[within] for part in pairs)
    order = torch.argsort(column)
    order = order[torch.argsort(energy[order], stable=True)]
    order = order[torch.argsort(row[order], stable=True)]
    row, column, energy = row[order], column[order], energy[order]
    begins = torch.searchsorted(row, torch.arange(len(limits), device=row.device))
    rank = torch.arange(len(row), device=row.device) - begins[row]
    row, column, energy, rank = (part[rank < k] for part in (row, column, energy, rank))
    index = torch.full((len(limits), k), -1, dtype=torch.int64, device=row.device)
    value = torch.full((len(limits), k), torch.inf, dtype=torch.float64, device=row.device)
    index[row, rank], value[row, rank] = column, energy
    return index, value
