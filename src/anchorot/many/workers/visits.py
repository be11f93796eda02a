"""The same done to each of many spaces: by threads and reader processes here, or on a Dask cluster."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, Self

from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.io.files import Unread
from anchorot.io.notes import listening, note
from anchorot.io.readers import Readers, workers_of
from anchorot.many.tiles import strips, tile_side
from anchorot.many.workers.inputs import Inputs
from anchorot.many.workers.local import TASKS_PER_WORKER, completed, is_pool_worker
from anchorot.many.workers.tasks import ClusterTasks
from anchorot.space import Space

SPACES_PER_TASK = 4  # at least, where there are more
Visitor = Callable[[Space | AnchorFeatures, str], Any]  # what to do to a space, which is called so


class Visits(Protocol):
    """Go to all spaces, maybe more than once; leaving the context stops what is still under way."""

    def __enter__(self) -> Self:
        """Enter."""

    def __exit__(self, *exception: object) -> None:
        """Let go of everything."""

    def go(self, visitor: Visitor, *, last: bool = True) -> Iterator[tuple[int, Any]]:
        """Yield the index of each space with what the visitor makes of it, as they are finished.

        Unless the visit is the `last`, spaces stay where they were read, if there is room for them.
        """


def visits_of(inputs: Inputs, n_jobs: int, client: Any, *, skip: bool = False) -> Visits:
    """Visits by as many workers here, -1 for one a core; or by those of a `dask.distributed.Client`.

    Spaces that cannot be loaded raise an `InputError`, or have None in place of a result if `skip`.
    """
    n_workers = 1 if n_jobs == -1 and is_pool_worker() else workers_of(n_jobs)
    return LocalVisits(inputs, n_workers, skip) if client is None else ClusterVisits(inputs, client, skip)


class LocalVisits:
    """Threads of this process; files are read by others where that pays."""

    def __init__(self, inputs: Inputs, n_jobs: int, skip: bool) -> None:
        self._inputs = inputs
        self._skip = skip
        self._n_jobs = min(n_jobs, max(1, len(inputs)))
        self._readers = Readers(self._n_jobs, len(inputs))
        self._executor = ThreadPoolExecutor(self._n_jobs, "anchorot") if self._n_jobs > 1 else None

    def __enter__(self) -> Self:
        """Enter."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop after the spaces that are being looked at."""
        self._readers.close()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def go(self, visitor: Visitor, *, last: bool = True) -> Iterator[tuple[int, Any]]:
        """Load each space, and let it go; files come from the cache the second time."""

        def visit(index: int) -> Any:
            space = _loaded(self._inputs, index, self._skip, self._readers.read)
            return None if space is None else visitor(space, self._inputs.name(index))

        return completed(self._executor, visit, range(len(self._inputs)), TASKS_PER_WORKER * self._n_jobs)


class Loaded(NamedTuple):
    """A space, None if it is skipped, what it is called, and what was noted when it was read."""

    space: Space | AnchorFeatures | None
    name: str
    notes: list[str]


class ClusterVisits:
    """Workers of a `dask.distributed.Client`: some spaces are one task, whose result stays on the cluster."""

    def __init__(self, inputs: Inputs, client: Any, skip: bool) -> None:
        self._inputs = inputs
        self._skip = skip
        self._tasks = ClusterTasks(client, ("numpy", *inputs.packages))
        self._blocks: dict[range, Any] = {}
        self._is_first = True

    def __enter__(self) -> Self:
        """Enter, unless a worker has other software."""
        self._tasks.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        """Take back what was handed out and is not done; let go of the spaces."""
        self._tasks.__exit__(*exception)
        self._tasks.cancel(self._blocks.values())
        self._blocks.clear()

    def go(self, visitor: Visitor, *, last: bool = True) -> Iterator[tuple[int, Any]]:
        """Load spaces on the cluster, where they stay until the last visit."""
        n = len(self._inputs)

        def hand_out(strip: range) -> Any:
            block = self._blocks.pop(strip, None)
            if block is None:
                block = self._tasks.submit(load_block, self._inputs.only(strip), strip, self._skip)
            if not last:
                self._blocks[strip] = block
            return self._tasks.submit(visit_block, visitor, self._is_first, after=(block,))

        for strip, (found, notes) in self._tasks.completed(hand_out, strips(n, tile_side(n, n, SPACES_PER_TASK))):
            for index, result, heard in zip(strip, found, notes, strict=True):
                for said in heard:
                    note(self._inputs.label(index), said)
                yield index, result
        self._is_first = False


def load_block(inputs: Inputs, strip: range, skip: bool) -> list[Loaded]:
    """Load the spaces of a strip."""
    block = []
    for index in strip:
        with listening() as notes:
            block.append(Loaded(_loaded(inputs, index, skip), inputs.name(index), notes))
    return block


def visit_block(visitor: Visitor, with_notes: bool, block: list[Loaded]) -> tuple[list[Any], list[list[str]]]:
    """Visit the spaces of a strip; what was noted about each is told once."""
    found = [None if loaded.space is None else visitor(loaded.space, loaded.name) for loaded in block]
    return found, [loaded.notes if with_notes else [] for loaded in block]


def _loaded(
    inputs: Inputs, index: int, skip: bool, read: Callable[[Unread], Space] = Unread.__call__
) -> Space | AnchorFeatures | None:
    try:
        return inputs.load(index, read)
    except InputError:
        if skip:
            return None
        raise
