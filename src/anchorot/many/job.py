"""All pairs of spaces, tile by tile: what is done to a space and to a pair, and the threads or processes that do it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import isfinite
from os import getpid
from typing import Any, NamedTuple

import numpy as np

from anchorot._parallel import CannotStartError, LostProcessError, Processes, StoppedError
from anchorot.anchors.batches import makes_costs, plain_costs
from anchorot.anchors.encoder import Encoder, Sketch
from anchorot.anchors.features import AnchorFeatures
from anchorot.config import check_software, installed_software
from anchorot.exceptions import AnchorotError, InputError
from anchorot.many.metric import Metric, Outcome
from anchorot.many.spaces import Inputs, ItemCache, LocalSpaces, array_bytes, digest
from anchorot.many.tiles import Tile, TileValues, runs
from anchorot.space import Space, as_space

MOST_GROWTH = 4  # times that features can grow, when uniform ones meet others
BYTES_TOGETHER = 1 << 26  # of spaces that are compared in one call, each pair counted: some hundredths of a second


class PreparedSpace(NamedTuple):
    """A space as `Metric.prepare` made it, with a digest if a checkpoint asks for one, a vector if a search does."""

    item: Any
    digest: str | None
    sketch: Sketch | None = None


class SpaceSummary(NamedTuple):
    """What is known of a space before it is compared: how much memory it takes, and whether it can be used."""

    n_bytes: int
    digest: str | None
    problem: str | None = None  # why it cannot be used
    sketch: Sketch | None = None


Summaries = Sequence[SpaceSummary] | Mapping[int, SpaceSummary]


def summarise(prepared: PreparedSpace, index: int) -> SpaceSummary:
    """Sum up a space that can be used."""
    return SpaceSummary(array_bytes(prepared), prepared.digest, sketch=prepared.sketch)


def never() -> bool:
    """Tell a worker that cannot be stopped to go on."""
    return False


@dataclass(frozen=True)
class Preparation:
    """What is done to a space before it is compared: with digests, it is known whether it is still the same later.

    An encoder makes the vectors that bound what a search compares by.
    """

    metric: Metric
    with_digests: bool
    encoder: Encoder | None = None

    def __call__(self, space: Space | AnchorFeatures) -> PreparedSpace:
        """Prepare a space."""
        item = self.metric.prepare(space)
        sketch = None if self.encoder is None else self.encoder.encode(item)
        return PreparedSpace(item, digest(space) if self.with_digests else None, sketch)

    def apply_to(self, inputs: Inputs) -> Inputs:
        """Return the inputs with this done to every space."""
        return replace(inputs, prepare=self, prepare_many=None if self.metric.prepare_many is None else self.together)

    def together(self, spaces: Any, indices: range) -> dict[int, PreparedSpace]:
        """Prepare many spaces of a sequence in one call; those that have to be prepared alone are left out."""
        assert self.metric.prepare_many is not None
        costs = plain_costs(spaces, indices)
        items = self.metric.prepare_many(costs)
        good = [place for place, item in enumerate(items) if item is not None]
        sketches: list[Sketch | None] = [None] * len(good)
        if self.encoder is not None:
            sketches = [*self.encoder.encode_many([items[place] for place in good])]
        prepared = {}
        for place, sketch in zip(good, sketches, strict=True):
            own: Any = costs[place] if makes_costs(spaces) else spaces[indices[place]]
            seal = digest(as_space(own)) if self.with_digests else None
            prepared[indices[place]] = PreparedSpace(items[place], seal, sketch)
        return prepared


@dataclass(frozen=True)
class Job:
    """What to compare, and how; the inputs are prepared for it."""

    metric: Metric
    inputs: Inputs

    @property
    def software(self) -> dict[str, str]:
        """Versions that the values depend on, by name; every worker must have them."""
        return installed_software(self.metric.packages)

    @property
    def offset(self) -> int:
        """The index of the space of the first column."""
        return 0 if self.inputs.m is None else self.inputs.n

    def without_inputs(self) -> "Job":
        """Return the same job, light enough to be sent away."""
        return replace(self, inputs=self.inputs.only(()))

    def compute(
        self,
        tile: Tile,
        summaries: Summaries,
        get: Callable[[int], PreparedSpace],
        max_rows: int,
        stopped: Callable[[], bool] = never,
    ) -> TileValues:
        """Compare all pairs of a tile, with at most `max_rows` of its rows in memory at a time."""
        values = np.full((len(tile.rows), len(tile.columns)), np.nan)
        n_unconverged = n_failed = 0
        good = [j for j in tile.columns if summaries[self.offset + j].problem is None]

        for first in range(0, len(tile.rows), max_rows):
            indices = [i for i in tile.rows[first : first + max_rows] if summaries[i].problem is None]
            rows = [(i, self.item(i, summaries, get)) for i in indices]
            n_bytes = sum(summaries[i].n_bytes for i in indices)
            sizes = (n_bytes + len(rows) * summaries[self.offset + j].n_bytes for j in good)
            for run in runs(sizes, BYTES_TOGETHER, most=max(1, max_rows + 1 - len(rows))):
                columns = [(j, self.item(self.offset + j, summaries, get)) for j in good[run]]
                counts = [self._n_rows_before(indices, j) if tile.is_diagonal else len(rows) for j in good[run]]
                found = self.compare_all(rows, columns, counts, stopped)
                n_unconverged += found.n_unconverged
                n_failed += found.n_failed
                places = [i - tile.rows.start for i in indices], [j - tile.columns.start for j in good[run]]
                values[np.ix_(*places)] = found.values
        if tile.is_diagonal:
            below = np.tril_indices(len(values), -1)
            values[below] = values.T[below]
            if self.metric.zero_to_itself:
                at = [j - tile.columns.start for j in good]
                values[at, at] = 0.0
        return TileValues(values, n_unconverged, n_failed)

    def _n_rows_before(self, indices: list[int], j: int) -> int:
        """How many rows a column of a tile on the diagonal is compared with: those above it, and perhaps itself."""
        return (bisect_left if self.metric.zero_to_itself else bisect_right)(indices, j)

    def compare_all(
        self,
        rows: list[tuple[int, Any]],
        columns: list[tuple[int, Any]],
        counts: list[int],
        stopped: Callable[[], bool] = never,
    ) -> TileValues:
        """Compare the first counts[k] of the rows with column k, all with their numbers: in one call if that can be."""
        if stopped():
            raise StoppedError
        if self.metric.compare_many is not None:
            xs, ys = [x for _, x in rows], [y for _, y in columns]
            together = self.metric.compare_many(xs, ys, np.array(counts))
            if together is not None:
                return TileValues(together)
        values = np.full((len(rows), len(columns)), np.nan)
        n_unconverged = n_failed = 0
        for k, (j, y) in enumerate(columns):
            for row, (i, x) in enumerate(rows[: counts[k]]):
                if stopped():
                    raise StoppedError
                value, converged = self.compare(i, x, self.offset + j, y)
                if not isfinite(value):
                    n_failed += 1
                    continue
                values[row, k] = value
                n_unconverged += not converged
        return TileValues(values, n_unconverged, n_failed)

    def compare(self, i: int, x: Any, j: int, y: Any) -> Outcome:
        """Compare the prepared spaces i and j; an `InputError` names them."""
        try:
            return self.metric.compare(x, y)
        except InputError as error:
            raise InputError(f"{self.inputs.name(i)} and {self.inputs.name(j)}: {error}") from error

    def item(self, index: int, summaries: Summaries, get: Callable[[int], PreparedSpace]) -> Any:
        """Return a prepared space, if it is still what it was when the run began."""
        try:
            entry = get(index)
        except InputError as error:
            raise InputError(f"{error} (it was fine when the run began)") from error
        if entry.digest != summaries[index].digest:
            raise InputError(f"{self.inputs.name(index)} has changed since the run began")
        return entry.item


# -- who does it ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """How the memory of one process is spent.

    Attributes
    ----------
    cache : int
        Bytes of prepared spaces to keep.
    resident : int
        Bytes of them that may stay while others pass by.
    max_rows : int
        Spaces that one thread may work on, whether or not they are still kept.
    """

    cache: int
    resident: int
    max_rows: int

    @classmethod
    def of(cls, summaries: Sequence[SpaceSummary], memory: int, n_threads: int) -> "Budget":
        """All for keeping if everything fits; else half for keeping, half to work on."""
        if sum(summary.n_bytes for summary in summaries) <= memory:
            return cls(memory, memory, len(summaries))
        largest = max(summary.n_bytes for summary in summaries)
        return cls(memory // 2, memory // 4, max(1, memory // 2 // (n_threads * largest) - 1))


class ThreadWorkers(LocalSpaces):
    """Threads of this process, which share prepared spaces: no copies, no pickling. One thread is the caller's own."""

    def __init__(self, job: Job, n_jobs: int, memory: int) -> None:
        super().__init__(job.inputs, n_jobs, memory)
        self._job, self._memory = job, memory

    def follow(self, job: Job) -> None:
        """Go on with another job about the same spaces, once they are prepared."""
        self._job = replace(job, inputs=self._job.inputs)

    @property
    def software(self) -> dict[str, str]:
        """What the last bits of values depend on, by name; known when all spaces were prepared."""
        return self._job.software

    def resident_bytes(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of prepared spaces that may stay while others pass by."""
        return Budget.of(summaries, self._memory, self.n).resident

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles, taken when a worker is free; yield them as they are finished. No order changes any bit."""
        budget = Budget.of(summaries, self._memory, self.n)
        self._cache.limit = budget.cache
        get = self._get
        if MOST_GROWTH * sum(summary.n_bytes for summary in summaries) <= budget.cache:
            get = cache(get)  # all will stay, so that nothing need be weighed

        def compute(tile: Tile) -> TileValues:
            return self._job.compute(tile, summaries, get, budget.max_rows, self.is_stopped)

        return self.map(compute, tiles)


class ProcessWorkers(ThreadWorkers):
    """Processes that load and prepare spaces for themselves, for metrics that spend their time in Python.

    Before that, threads of this process look at all spaces, and keep none.
    """

    def __init__(self, job: Job, n_jobs: int, memory: int) -> None:
        super().__init__(job, n_jobs, memory=0)
        self._memory_each = memory // n_jobs
        self._processes = Processes(n_jobs)

    def __exit__(self, *exception: object) -> None:
        """End the processes, whatever they are doing."""
        self._processes.__exit__(*exception)
        super().__exit__(*exception)

    def resident_bytes(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of prepared spaces that may stay in a process while others pass by."""
        return Budget.of(summaries, self._memory_each, 1).resident

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles in processes that are started now."""
        compute = TileFunction(self._job, summaries, self._memory_each)
        try:
            yield from self._processes.map(compute, tiles)
        except LostProcessError as lost:
            rows, columns = (f"{part.start} to {part.stop - 1}" for part in (lost.task.rows, lost.task.columns))
            raise AnchorotError(
                f"{lost}, at the pairs of rows {rows} and columns {columns}: it was killed, crashed or ran out of "
                "memory; fewer workers (n_jobs) take less"
            ) from None
        except CannotStartError as error:
            raise AnchorotError(f"{error}; take backend='threads'") from None


class TileFunction:
    """What computes tiles in a process, which keeps the spaces that it has prepared from tile to tile."""

    def __init__(self, job: Job, summaries: Sequence[SpaceSummary], memory: int) -> None:
        self._job, self._software = job, job.software  # that of the process that hands out the work
        self._summaries, self._budget = list(summaries), Budget.of(summaries, memory, 1)

    @cached_property
    def _cache(self) -> ItemCache:
        check_software(self._job.software, self._software, f"worker process {getpid()}")
        return ItemCache(self._job.inputs.load, self._budget.cache)

    def __call__(self, tile: Tile) -> TileValues:
        """Compare all pairs of a tile."""
        return self._job.compute(tile, self._summaries, self._cache.get, self._budget.max_rows)
