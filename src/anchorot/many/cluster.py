"""Work on a Dask cluster: submitted a few tasks at a time, repeated where a worker is lost; errors are one line.

Dask pickles functions by their names. A worker that cannot import what a name stands for ends at once without a word,
and a scheduler refuses the task. Therefore a task is a pickle inside the arguments of `call`, and `call` itself is
pickled by value: even a worker without anchorot can say what it lacks.

Spaces are loaded a few by a task. Those of a strip are joined and stay on the cluster; whatever is done to them, or to
the pairs of two strips, is a task on these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple, Self
from uuid import uuid4

from anchorot.anchors.encoder import Sketches
from anchorot.config import check_software, installed_software
from anchorot.exceptions import AnchorotError, InputError, first_line
from anchorot.io.safe_open import collecting_notes, note
from anchorot.many.job import Job, SpaceSummary
from anchorot.many.nearest import Best, NearestJob, StripSpaces
from anchorot.many.spaces import Function, Inputs, call_for
from anchorot.many.tiles import Tile, TileValues, pieces

RETRIES = 3  # of a task that fails, as when a file system does for a moment
WINDOW = 256  # tasks handed to the cluster at a time
SPACES_PER_TASK = 4  # that are loaded by one task: to read a file may take seconds


class Cluster:
    """The cluster of a `dask.distributed.Client`, whose workers must have the software of this process.

    What a task needs is part of it, so Dask makes again what a lost worker had. Scattered data it could not.

    Parameters
    ----------
    client : dask.distributed.Client
    packages : tuple of str
        What results depend on besides anchorot.
    """

    def __init__(self, client: Any, packages: tuple[str, ...]) -> None:
        if not hasattr(client, "scheduler_info") or client.asynchronous:
            raise InputError(f"client must be a dask.distributed.Client that is not asynchronous, but got {client!r}")
        self._client = client
        self._software = installed_software(packages)
        self._address = client.scheduler.address if client.scheduler is not None else "an unknown address"
        self._pending: dict[Any, Any] = {}  # tasks under way, by their futures

    def __enter__(self) -> Self:
        """Refuse workers with other software; those that join later find out by themselves."""
        with self._failing_in_one_line():
            found = self._client.run(call, _pickle_call(installed_software, tuple(self._software)), on_error="return")
        for address, software in found.items():
            if isinstance(software, ImportError):
                raise AnchorotError(f"worker {address}: {software}")
            if isinstance(software, dict):  # else it was lost just now
                check_software(software, self._software, f"worker {address}")
        return self

    def __exit__(self, *exception: object) -> None:
        """Take back what was handed out and is not done."""
        self.cancel(self._pending)
        self._pending.clear()

    def cancel(self, futures: Iterable[Any]) -> None:
        """Take back tasks, or let go of their results."""
        with suppress(Exception):  # a lost scheduler cannot be notified
            self._client.cancel(list(futures))

    def submit(self, function: Callable[..., Any], *arguments: Any, after: tuple[Any, ...] = ()) -> Any:
        """Return the future of a call; the results of the tasks `after` which it comes are its last arguments."""
        inner = function.func if isinstance(function, partial) else function
        key = f"{inner.__name__}-{uuid4()}"  # Dask shows the name, and learns from it how long such tasks take
        content = _pickle_call(work, self._software, function, *arguments)
        return self._client.submit(call, content, *after, key=key, retries=RETRIES)

    def map(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Any],
        after: Callable[[Any], tuple[Any, ...]] = lambda _: (),
    ) -> Iterator[tuple[Any, Any]]:
        """Yield tasks with their results, as they are finished.

        A task may come `after` others, whose futures are asked for when its turn is: the function takes their results
        besides the task.
        """
        from distributed import as_completed

        waiting = iter(tasks)
        finished: Any = as_completed([], loop=self._client.loop)  # type: ignore[no-untyped-call]
        while True:
            with self._failing_in_one_line():
                for task in waiting:
                    future = self.submit(function, task, after=after(task))
                    self._pending[future] = task
                    finished.add(future)
                    if len(self._pending) >= WINDOW:
                        break
                if not self._pending:
                    return
                batch = finished.next_batch()
                # gathered rather than taken one by one: what was lost since it was finished is made again
                results = self._client.gather(batch)
            for future, result in zip(batch, results, strict=True):
                yield self._pending.pop(future), result

    @contextmanager
    def _failing_in_one_line(self) -> Iterator[None]:
        """Say in one line what has become of the cluster."""
        from distributed import KilledWorker
        from distributed.client import ClosedClientError

        try:
            yield
        except AnchorotError:
            raise
        except ImportError as error:
            raise AnchorotError(str(error)) from None
        except KilledWorker as error:
            raise AnchorotError(
                f"{error.allowed_failures + 1} Dask workers ended over one task, the last {error.last_worker.address}: "
                "they were killed or ran out of memory; their logs may say more"
            ) from None
        except (CancelledError, ClosedClientError, OSError) as error:
            if self._client.status == "running" and isinstance(error, CancelledError):
                raise AnchorotError(f"the tasks on the Dask cluster were cancelled ({first_line(error)})") from None
            raise AnchorotError(
                f"the Dask scheduler at {self._address} was lost; begin again with another (from a checkpoint pairwise "
                "goes on with what is left)"
            ) from None


def call(content: bytes, *arguments: Any) -> Any:
    """Call a pickled function on a worker; an `ImportError` says what the worker lacks for that."""
    import pickle

    try:
        function = pickle.loads(content)
    except Exception as error:
        from distributed import get_worker

        try:
            name = f"worker {get_worker().address}: "
        except ValueError:  # outside of tasks, where the caller knows whom it asked
            name = ""
        problem = (str(error) or type(error).__name__).splitlines()[0]
        raise ImportError(f"{name}{problem}; workers need anchorot, and all that the spaces are made by") from None
    return function(*arguments)


call.__module__ = "__main__"  # what is defined there is pickled by value


def _pickle_call(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Return what `call` calls."""
    from distributed.protocol.pickle import dumps

    return dumps(partial(function, *arguments))  # type: ignore[no-untyped-call]


def work(software: dict[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on a worker, unless its software is not the caller's: it may have joined just now."""
    from distributed import get_worker

    check_software(installed_software(tuple(software)), software, f"worker {get_worker().address}")
    return function(*arguments)


# -- spaces --------------------------------------------------------------------------------------------------------


class Loaded(NamedTuple):
    """What was loaded, or the error of a bad space, and what was noted about it."""

    found: Any
    notes: list[str]


Block = dict[int, Loaded]  # the spaces of a strip


class ClusterSpaces(Cluster):
    """Spaces on a Dask cluster, in strips that are loaded when first needed, and stay there if they are to be kept."""

    def __init__(self, inputs: Inputs, client: Any, strips: list[range], packages: tuple[str, ...]) -> None:
        super().__init__(client, packages)
        self._inputs, self._strips = inputs, strips
        self._blocks: dict[int, Any] = {}  # futures of strips, by their first space
        self._is_first = True

    def __exit__(self, *exception: object) -> None:
        """Take back what was handed out and is not done; let go of the spaces."""
        super().__exit__(*exception)
        self.cancel(self._blocks.values())
        self._blocks.clear()

    def __len__(self) -> int:
        return len(self._inputs)

    def each(self, function: Function, *, keep: bool = False) -> Iterator[tuple[int, Any]]:
        """Yield indices and results, as finished; what was noted about a space is passed on the first time."""

        def after(strip: range) -> tuple[Any]:
            block = self._blocks.pop(strip.start, None)
            if block is None:
                block = self._load(strip)
            if keep:
                self._blocks[strip.start] = block
            return (block,)

        for strip, (found, notes) in self.map(partial(map_block, function), self._strips, after):
            for index, result, said in zip(strip, found, notes, strict=True):
                for each in said if self._is_first else ():
                    note(self._inputs.label(index), each)
                yield index, result
        self._is_first = False

    def _load(self, strip: range) -> Any:
        parts = [self.submit(load_block, self._inputs.only(part), part) for part in pieces(strip, SPACES_PER_TASK)]
        return parts[0] if len(parts) == 1 else self.submit(join_blocks, after=tuple(parts))


def load_block(inputs: Inputs, strip: range) -> Block:
    """Load the spaces of a strip."""
    block: Block = {}
    for index in strip:
        with collecting_notes() as notes:
            block[index] = Loaded(call_for(inputs.load, lambda space, _: space, index), notes)
    return block


def join_blocks(*parts: Block) -> Block:
    """Put the spaces of a strip together."""
    return {index: loaded for part in parts for index, loaded in part.items()}


def map_block(function: Function, strip: range, block: Block) -> tuple[list[Any], list[list[str]]]:
    """Do the same to the spaces of a strip; return the results, and what was noted about each."""
    results = [call_for(partial(_found, block), function, index) for index in strip]
    return results, [block[index].notes for index in strip]


def _found(block: Block, index: int) -> Any:
    found = block[index].found
    if isinstance(found, Exception):
        raise found
    return found


# -- tiles ---------------------------------------------------------------------------------------------------------


class ClusterWorkers(ClusterSpaces):
    """The workers of a Dask cluster, which compare prepared spaces; their memory is managed by Dask."""

    def __init__(self, job: Job, client: Any, side: int) -> None:
        packages = (*job.metric.packages, *job.inputs.packages)
        super().__init__(job.inputs, client, job.inputs.strips(side), packages)
        self._job = job
        self.software = job.software

    def follow(self, job: Job) -> None:
        """Go on with another job about the same spaces, once they are prepared."""
        self._job = job

    def resident_bytes(self, summaries: Sequence[SpaceSummary]) -> int:
        """All stay."""
        return sum(summary.n_bytes for summary in summaries)

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles on the cluster."""
        if isinstance(self._job, NearestJob):
            yield from self._run_strips(self._job, tiles, summaries)
            return
        offset = self._job.offset

        def with_summaries(tile: Tile) -> tuple[Tile, dict[int, SpaceSummary]]:
            return tile, {index: summaries[index] for index in (*tile.rows, *(offset + j for j in tile.columns))}

        def blocks(task: tuple[Tile, Any]) -> tuple[Any, Any]:
            return self._blocks[task[0].rows.start], self._blocks[offset + task[0].columns.start]

        compute = partial(compute_tile, self._job.without_inputs())
        for (tile, _), found in self.map(compute, map(with_summaries, tiles), blocks):
            yield tile, found

    def _run_strips(
        self, job: NearestJob, strips: Iterable[Tile], summaries: Sequence[SpaceSummary]
    ) -> Iterator[tuple[Tile, TileValues]]:
        """Let every strip meet one block of columns after another, its own first; what is found is handed on."""
        light, scale = job.without_inputs(), None if job.encoder is None else job.encoder.scale
        blocks = {
            strip.start: self.submit(
                check_block, light, scale, strip, [summaries[i] for i in strip], after=(self._blocks[strip.start],)
            )
            for strip in self._strips
        }
        columns = [strip.start for strip in self._strips if strip.start >= job.offset]

        def all_but_the_last(strip: Tile) -> tuple[Any, ...]:
            first = columns.index(strip.rows.start) if job.offset == 0 else 0
            own, found = blocks[strip.rows.start], tuple[Any, ...]()
            *others, last = columns[first:] + columns[:first]
            for start in others:
                found = (self.submit(extend_strip, light, strip, after=(own, blocks[start], *found)),)
            return own, blocks[last], *found

        for strip, best in self.map(partial(extend_strip, light), strips, all_but_the_last):
            yield strip, best.tile_values()


def compute_tile(
    job: Job, task: tuple[Tile, dict[int, SpaceSummary]], row_block: Block, column_block: Block
) -> TileValues:
    """Compare all pairs of a tile."""
    tile, summaries = task
    return job.compute(tile, summaries, partial(_found, row_block | column_block), len(tile.rows))


def check_block(
    job: NearestJob, scale: float | None, strip: range, summaries: list[SpaceSummary], block: Block
) -> StripSpaces:
    """The prepared spaces of a strip, if they are still what they were when the run began, with their vectors."""
    known, get = dict(zip(strip, summaries, strict=True)), partial(_found, block)
    items = {index: job.item(index, known, get) for index in strip if known[index].problem is None}
    found = (get(index).sketch if index in items else None for index in strip)
    return StripSpaces(strip, items, None if scale is None else Sketches.of(list(found), scale))


def extend_strip(
    job: NearestJob, strip: Tile, rows: StripSpaces, columns: StripSpaces, best: Best | None = None
) -> Best:
    """Look for the nearest of the spaces of a strip among those of another, and keep the best so far."""
    found = Best(len(strip.rows), job.k) if best is None else deepcopy(best)  # which another task may ask for again
    job.add_strip(found, rows, columns)
    return found
