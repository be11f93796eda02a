"""All pairs of spaces, tile by tile: what is done to a space and to a pair, and the threads or processes that do it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from os import getpid
from typing import Any, NamedTuple

import numpy as np

from anchorot._parallel import CannotStartError, LostProcessError, Processes, StoppedError
from anchorot.anchors.features import AnchorFeatures
from anchorot.config import check_software, installed_software
from anchorot.exceptions import AnchorotError, InputError
from anchorot.many.metrics import Metric, Outcome
from anchorot.many.spaces import Inputs, ItemCache, LocalSpaces, array_bytes, digest
from anchorot.many.tiles import Tile, TileValues
from anchorot.space import Space


class PreparedSpace(NamedTuple):
    """A space as `Metric.prepare` made it, with its digest if a checkpoint asks for one."""

    item: Any
    digest: str | None


class SpaceSummary(NamedTuple):
    """What is known of a space before it is compared: how much memory it takes, and whether it can be used."""

    n_bytes: int
    digest: str | None
    problem: str | None = None  # why it cannot be used


Summaries = Sequence[SpaceSummary] | Mapping[int, SpaceSummary]


def summarise(prepared: PreparedSpace, index: int) -> SpaceSummary:
    """Sum up a space that can be used."""
    return SpaceSummary(array_bytes(prepared), prepared.digest)


def never() -> bool:
    """Tell a worker that cannot be stopped to go on."""
    return False


@dataclass(frozen=True)
class Preparation:
    """What is done to a space before it is compared: with digests, it is known whether it is still the same later."""

    metric: Metric
    with_digests: bool

    def __call__(self, space: Space | AnchorFeatures) -> PreparedSpace:
        """Prepare a space."""
        return PreparedSpace(self.metric.prepare(space), digest(space) if self.with_digests else None)


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

        for first in range(0, len(tile.rows), max_rows):
            indices = [i for i in tile.rows[first : first + max_rows] if summaries[i].problem is None]
            rows = [(i, self.item(i, summaries, get)) for i in indices]
            for column, j in enumerate(tile.columns):
                if summaries[self.offset + j].problem is not None:
                    continue
                wanted = [(i, x) for i, x in rows if not tile.is_diagonal or i < j or (i == j and self._compares_self)]
                y = self.item(self.offset + j, summaries, get) if wanted else None
                outcomes = self.compare_all(wanted, self.offset + j, y, stopped)
                for (i, _), (value, converged) in zip(wanted, outcomes, strict=True):
                    if not isfinite(value):
                        n_failed += 1
                        continue
                    values[i - tile.rows.start, column] = value
                    n_unconverged += not converged
                if tile.is_diagonal and not self._compares_self:
                    values[column, column] = 0.0
        if tile.is_diagonal:
            below = np.tril_indices(len(values), -1)
            values[below] = values.T[below]
        return TileValues(values, n_unconverged, n_failed)

    @property
    def _compares_self(self) -> bool:
        return not self.metric.zero_to_itself

    def compare_all(
        self, rows: list[tuple[int, Any]], j: int, y: Any, stopped: Callable[[], bool] = never
    ) -> Iterator[Outcome]:
        """Compare prepared spaces, each with its number, with the space j: in one call where the metric has one."""
        many = self.metric.compare_many
        if stopped():
            raise StoppedError
        together = many([x for _, x in rows], y) if many is not None and len(rows) > 1 else None
        if together is not None:
            yield from map(Outcome, together.tolist())
            return
        for i, x in rows:
            if stopped():
                raise StoppedError
            yield self.compare(i, x, j, y)

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
    room : int
        Bytes of them that may stay while others pass by.
    max_rows : int
        Spaces that one thread may work on, whether or not they are still kept.
    """

    cache: int
    room: int
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

    @property
    def software(self) -> dict[str, str]:
        """What the last bits of values depend on, by name; known when all spaces were prepared."""
        return self._job.software

    def room(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of prepared spaces that may stay while others pass by."""
        return Budget.of(summaries, self._memory, self.n).room

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles, taken when a worker is free; yield them as they are finished. No order changes any bit."""
        budget = Budget.of(summaries, self._memory, self.n)
        self._cache.limit = budget.cache

        def compute(tile: Tile) -> TileValues:
            return self._job.compute(tile, summaries, self._get, budget.max_rows, self.is_stopped)

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

    def room(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of prepared spaces that may stay in a process while others pass by."""
        return Budget.of(summaries, self._memory_each, 1).room

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
