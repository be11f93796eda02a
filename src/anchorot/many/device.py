"""Workers on CUDA devices: threads of this machine prepare the spaces, devices compare them, a tile at a time each.

Values of uniform spaces, but of Anchor Energy with p = 2, have the bits of the native kernels: a checkpoint of them may
go from devices to CPUs and back. All others have the bits of devices, the same on every one, and a checkpoint that is
theirs.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._parallel import StoppedError, Threads
from anchorot._typing import Float64s, Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.many.job import Job, PreparedSpace, SpaceSummary, ThreadWorkers
from anchorot.many.metric import Metric
from anchorot.many.nearest import Best, NearestJob
from anchorot.many.tiles import Tile, TileValues, runs

if TYPE_CHECKING:
    from anchorot.torch._nearest import DeviceSearch
    from anchorot.torch._pairs import PackedSpaces

DEVICE_SIDE = {"ae": 256, "saw": 1024}  # of a tile: enough pairs to keep a device busy for milliseconds
SPACE_SHARE = 2  # of a device's free memory, one part in this many is for spaces
BLOCK_SHARE = 8  # and of those, one part in this many for the spaces of one block of pairs, each way

GetItem = Callable[[int], AnchorFeatures]


def check_for_device(metric: Metric) -> None:
    """Refuse what devices do not compute."""
    options = metric.options
    if options["metric"] not in ("ae", "saw") or options["p"] not in (1, 2):
        found = f"metric {options['metric']!r} and p={options['p']}"
        raise InputError(f"devices compute metrics 'ae' and 'saw' with p = 1 or 2, but got {found}; leave device out")
    if "ground" in options:
        raise InputError("devices compute ground='w1' only, but got ground='w2'; leave device out")
    if options.get("attributes") is not None:
        raise InputError(
            f"attributes are not supported on CUDA, but got attributes={options['attributes']!r}; leave device out"
        )


class DeviceWorkers(ThreadWorkers):
    """CUDA devices, each with a thread that feeds it; other threads prepare spaces."""

    def __init__(self, job: Job, devices: Sequence[str], n_jobs: int, memory: int) -> None:
        self._inputs_given, self._has_levels_alone, self._has_large = job.inputs, True, False
        many = None if job.inputs.prepare_many is None else self._prepare_many
        super().__init__(
            replace(job, inputs=replace(job.inputs, prepare=self._prepare, prepare_many=many)), n_jobs, memory
        )
        self._devices = [Device(name, job.metric) for name in devices]
        self._feeders = Threads(len(devices) + 1)  # so that a device waits for no tile that is put on disk

    def _prepare(self, space: Any) -> PreparedSpace:
        assert self._inputs_given.prepare is not None
        return self._noted(self._inputs_given.prepare(space))

    def _prepare_many(self, spaces: Any, indices: range) -> dict[int, PreparedSpace]:
        assert self._inputs_given.prepare_many is not None
        return {index: self._noted(each) for index, each in self._inputs_given.prepare_many(spaces, indices).items()}

    def _noted(self, prepared: PreparedSpace) -> PreparedSpace:
        """Remember whether a space had no levels, and whether one is too large to be swept."""
        from anchorot.torch._pairs import is_small

        if prepared.item.levels is None:  # set, never cleared: other threads do the same
            self._has_levels_alone = False
        if prepared.sketch is not None and not is_small(prepared.item):
            self._has_large = True
        return prepared

    def __exit__(self, *exception: object) -> None:
        """Stop after the pairs that are being compared, and free the devices' memory."""
        super().__exit__(*exception)
        self._feeders.__exit__(*exception)
        self._devices.clear()

    @property
    def software(self) -> dict[str, str]:
        """What the last bits depend on: whose arithmetic it is, on whatever it runs."""
        options = self._job.metric.options
        is_native = (options["p"] == 1 or options["metric"] == "saw") and self._has_levels_alone
        return self._job.software | {"kernels": "native" if is_native else "cuda"}

    def resident_bytes(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of spaces that may stay on a device while others pass by."""
        limit = min(device.limit for device in self._devices)
        return limit if sum(summary.n_bytes for summary in summaries) <= limit else limit // 4

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles, each on the next device that is free."""
        free: SimpleQueue[Device] = SimpleQueue()
        for device in self._devices:
            free.put(device)

        job, find = self._job, self._find_nearest
        if isinstance(job, NearestJob) and not self._can_bound(job, summaries):
            find = self._find_among_all

        def compute(tile: Tile) -> TileValues:
            device = free.get()
            try:
                if isinstance(job, NearestJob):
                    return find(job, tile, summaries, device)
                return self._compute(tile, summaries, device)
            finally:
                free.put(device)

        return self._feeders.map(compute, tiles)

    def _compute(self, tile: Tile, summaries: Sequence[SpaceSummary], device: "Device") -> TileValues:
        """Compare all pairs of a tile, a block that fits at a time."""
        offset = self._job.offset
        rows = [i for i in tile.rows if summaries[i].problem is None]
        columns = [offset + j for j in tile.columns if summaries[offset + j].problem is None]
        item = partial(self._job.item, summaries=summaries, get=self._get)
        found = np.full((len(rows), len(columns)), np.nan)
        for some, others in product(device.blocks(rows, summaries), device.blocks(columns, summaries)):
            if not tile.is_diagonal or columns[others.stop - 1] > rows[some.start]:
                found[some, others] = device.energies(rows[some], columns[others], item, self.is_stopped)
        if tile.is_diagonal:
            found = np.triu(found, 1)
        n_failed = self._settle(found, rows, columns, item)
        if tile.is_diagonal:
            found += found.T
        values = np.full((len(tile.rows), len(tile.columns)), np.nan)
        values[np.ix_(np.array(rows, int) - tile.rows.start, np.array(columns, int) - offset - tile.columns.start)] = (
            found
        )
        return TileValues(values, 0, n_failed)

    def _can_bound(self, job: NearestJob, summaries: Sequence[SpaceSummary]) -> bool:
        """Whether energies are bounded by vectors, and every device takes all spaces."""
        if job.sketches is None or (self._has_large and not self._has_levels_alone):
            return False
        growth = 2 if self._has_levels_alone else 8  # from float32 to float64, and levels to events
        total = growth * sum(summary.n_bytes for summary in summaries) + job.sketches.vectors.nbytes
        return 2 * total <= min(device.limit for device in self._devices)  # twice while they are brought there

    def _find_nearest(
        self, job: NearestJob, tile: Tile, summaries: Sequence[SpaceSummary], device: "Device"
    ) -> TileValues:
        """Find the nearest neighbours of a strip by bounds."""
        best, rows = Best(len(tile.rows), job.k), [i for i in tile.rows if summaries[i].problem is None]
        if rows:
            item, places = partial(job.item, summaries=summaries, get=self._get), np.array(rows) - tile.rows.start
            found = device.nearest(np.array(rows), job, summaries, item, self.is_stopped)
            best.index[places], best.value[places], best.counts[places, 0] = found
        return best.tile_values()

    def _find_among_all(
        self, job: NearestJob, tile: Tile, summaries: Sequence[SpaceSummary], device: "Device"
    ) -> TileValues:
        """Find the nearest neighbours of a strip by comparing it with all columns."""
        best = Best(len(tile.rows), job.k)
        columns = range(job.inputs.n if job.inputs.m is None else job.inputs.m)
        job.add_tiles(best, tile.rows, columns, lambda part: self._compute(part, summaries, device))
        return best.tile_values()

    def _settle(self, found: Float64s, rows: list[int], columns: list[int], item: GetItem) -> int:
        """Ask the CPU about pairs that a device gave no number for: it has one, or an error that names them."""

        def ask(place: list[int]) -> float:
            if self.is_stopped():
                raise StoppedError
            i, j = rows[place[0]], columns[place[1]]
            return self._job.compare(i, item(i), j, item(j)).value

        places = np.argwhere(~np.isfinite(found))
        asked = self.map(ask, places.tolist(), in_order=True)
        values = np.array([value for _, value in asked])
        found[tuple(places.T)] = np.where(np.isfinite(values), values, np.nan)
        return int(np.count_nonzero(~np.isfinite(values)))


class Device:
    """One CUDA device and the spaces on it, the least recently used of which are dropped where memory is full."""

    def __init__(self, name: str, metric: Metric) -> None:
        import torch

        from anchorot.torch._pairs import check_kernels, free_bytes

        self._device, self._p = torch.device(name), metric.options["p"]
        self._is_sliced = metric.options["metric"] == "saw"
        check_kernels(self._device)
        self.limit = free_bytes(self._device) // SPACE_SHARE
        self._kept: OrderedDict[tuple[int, ...], PackedSpaces] = OrderedDict()
        self._search: DeviceSearch | None = None

    def nearest(
        self,
        rows: Int64s,
        job: NearestJob,
        summaries: Sequence[SpaceSummary],
        item: GetItem,
        stopped: Callable[[], bool],
    ) -> tuple[Int64s, Float64s, Int64s]:
        """The nearest neighbours of some good rows; all good spaces are brought to the device first."""
        import torch

        from anchorot.torch._nearest import DeviceSearch

        assert job.sketches is not None
        with torch.cuda.device(self._device):
            if self._search is None:
                good = [index for index, summary in enumerate(summaries) if summary.problem is None]
                self._search = DeviceSearch(good, item, job.sketches, self._device)
            return self._search.nearest(rows, job.offset, job.k, stopped)

    def blocks(self, indices: list[int], summaries: Sequence[SpaceSummary]) -> list[slice]:
        """Cut some spaces into runs that fit beside others; always in the same way, so that they are found again."""
        return list(runs((summaries[index].n_bytes for index in indices), self.limit // BLOCK_SHARE))

    def energies(self, rows: list[int], columns: list[int], item: GetItem, stopped: Callable[[], bool]) -> Float64s:
        """Values of all pairs of some spaces with others; NaN where it has none."""
        import torch

        from anchorot.torch._pairs import pair_distances, pair_energies

        with torch.cuda.device(self._device):
            x, y = (self._packed(tuple(indices), item) for indices in (rows, columns))
            found = pair_distances(x, y, self._p, stopped) if self._is_sliced else pair_energies(x, y, stopped)
        self._free_memory()
        return found

    def _packed(self, indices: tuple[int, ...], item: GetItem) -> "PackedSpaces":
        from anchorot.torch._pairs import PackedSpaces

        if indices not in self._kept:
            self._kept[indices] = PackedSpaces(indices, item, self._p, self._device, sliced=self._is_sliced)
        self._kept.move_to_end(indices)
        return self._kept[indices]

    def _free_memory(self) -> None:
        total = sum(packed.n_bytes for packed in self._kept.values())
        while total > self.limit and len(self._kept) > 1:
            total -= self._kept.popitem(last=False)[1].n_bytes
