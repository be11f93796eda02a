"""Workers on a Dask cluster.

Each strip of spaces is one task, whose result stays on the cluster, and each tile is a task on two of those. The inputs
are part of the tasks, so Dask makes again what a lost worker held. Scattered data it could not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Self
from uuid import uuid4

from anchorot.exceptions import AnchorotError, InputError, first_line
from anchorot.many.tiles import Tile
from anchorot.many.workers.job import Job, PreparedSpace, SpaceSummary, TileValues
from anchorot.many.workers.remote import call, pickled, work
from anchorot.many.workers.software import check_software, installed_software

RETRIES = 3  # of a task that fails, as when a file system does for a moment
WINDOW = 256  # tasks handed to the cluster at a time
Block = dict[int, PreparedSpace | InputError]  # the spaces of a strip: prepared, or why not


class ClusterWorkers:
    """The workers of a `dask.distributed.Client`; their memory is Dask's affair."""

    def __init__(self, job: Job, client: Any) -> None:
        if not hasattr(client, "scheduler_info") or client.asynchronous:
            raise InputError(f"client must be a dask.distributed.Client that is not asynchronous, but got {client!r}")
        self._job = job
        self._client = client
        self._address = client.scheduler.address if client.scheduler is not None else "an unknown address"
        self._blocks: dict[int, Any] = {}  # futures of strips, by their first space
        self._pending: dict[Any, Any] = {}  # tasks under way, by their futures

    def __enter__(self) -> Self:
        """Refuse workers with other software; those that join later find out by themselves."""
        with self._failing_in_one_line():
            found = self._client.run(call, pickled(installed_software, self._job.metric.packages), on_error="return")
        for address, software in found.items():
            if isinstance(software, ImportError):
                raise AnchorotError(f"worker {address}: {software}")
            if isinstance(software, dict):  # else it was lost just now
                check_software(software, self._job.software, f"worker {address}")
        return self

    def __exit__(self, *exception: object) -> None:
        """Take back what was handed out and is not done; let go of the prepared spaces."""
        with suppress(Exception):  # where the scheduler is lost there is nobody to tell
            self._client.cancel([*self._pending, *self._blocks.values()])
        self._blocks.clear()
        self._pending.clear()

    def survey(self, strips: Iterable[range]) -> Iterator[tuple[range, list[SpaceSummary]]]:
        """Prepare all spaces on the cluster, where they stay."""
        job = self._job.only(range(0))

        def hand_out(strip: range) -> Any:
            block = self._submit(make_block, self._job.only(strip), strip)
            self._blocks[strip.start] = block
            return self._submit(survey_block, job, blocks=(block,))

        return self._completed(hand_out, strips)

    def room(self, summaries: Sequence[SpaceSummary]) -> int:
        """All stay."""
        return sum(summary.n_bytes for summary in summaries)

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles on the cluster."""
        inputs = self._job.inputs
        job = self._job.only(range(0))
        offset = 0 if inputs.m is None else inputs.n

        def hand_out(tile: Tile) -> Any:
            columns = range(offset + tile.columns.start, offset + tile.columns.stop)
            known = {index: summaries[index] for index in (*tile.rows, *columns)}
            blocks = self._blocks[tile.rows.start], self._blocks[columns.start]
            return self._submit(compute_tile, job, tile, known, blocks=blocks)

        return self._completed(hand_out, tiles)

    def _submit(self, function: Callable[..., Any], *arguments: Any, blocks: tuple[Any, ...] = ()) -> Any:
        key = f"{function.__name__}-{uuid4()}"  # Dask shows the name, and learns from it how long such tasks take
        return self._client.submit(call, pickled(work, function, *arguments), *blocks, key=key, retries=RETRIES)

    def _completed(self, hand_out: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        from distributed import as_completed

        waiting = iter(tasks)
        finished: Any = as_completed([], loop=self._client.loop)  # type: ignore[no-untyped-call]
        while True:
            with self._failing_in_one_line():
                for task in waiting:
                    future = hand_out(task)
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
                f"the Dask scheduler at {self._address} was lost; a run with a checkpoint goes on from finished tiles"
            ) from None


def make_block(job: Job, strip: range) -> Block:
    """Prepare the spaces of a strip."""
    block: Block = {}
    for index in strip:
        try:
            block[index] = job.prepare(index)
        except InputError as error:
            block[index] = error
    return block


def survey_block(job: Job, block: Block) -> list[SpaceSummary]:
    """Sum up the spaces of a strip."""
    return [job.survey(index, partial(_entry, block)) for index in block]


def compute_tile(
    job: Job, tile: Tile, summaries: dict[int, SpaceSummary], row_block: Block, column_block: Block
) -> TileValues:
    """Compare all pairs of a tile."""
    return job.compute(tile, summaries, partial(_entry, row_block | column_block), len(tile.rows))


def _entry(block: Block, index: int) -> PreparedSpace:
    found = block[index]
    if isinstance(found, InputError):
        raise found
    return found
