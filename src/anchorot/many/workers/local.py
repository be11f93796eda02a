"""Workers on this machine: threads, which share everything, and processes, which share nothing."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from anchorot.exceptions import AnchorotError
from anchorot.io.readers import Readers
from anchorot.many.tiles import Tile, pieces
from anchorot.many.workers.cache import ItemCache
from anchorot.many.workers.job import Job, SpaceSummary, TileValues
from anchorot.many.workers.software import check_software, installed_software

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

TASKS_PER_WORKER = 2  # handed out: one at work, one in the queue
PIECES_PER_WORKER = 16  # of the spaces to prepare, at least: else some workers are done long before others
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Budget:
    """How the memory of one process is spent.

    Attributes
    ----------
    cache : int
        Bytes of prepared spaces to keep.
    room : int
        Bytes of them that may stay while others pass by.
    hold : int
        Spaces that one thread may have in hand, whether or not they are still kept.
    """

    cache: int
    room: int
    hold: int

    @classmethod
    def of(cls, summaries: Sequence[SpaceSummary], memory: int, n_threads: int) -> "Budget":
        """All for keeping if everything fits; else half for keeping, half in hand."""
        if sum(summary.n_bytes for summary in summaries) <= memory:
            return cls(memory, memory, len(summaries))
        largest = max(summary.n_bytes for summary in summaries)
        return cls(memory // 2, memory // 4, max(1, memory // 2 // (n_threads * largest) - 1))


def is_pool_worker() -> bool:
    """Whether this process is a worker of joblib or of a multiprocessing pool, which has all cores at work already.

    Such a process cannot start others: a daemon may not, and joblib's lack what a spawned one needs of ``__main__``.
    """
    from multiprocessing import current_process

    process = current_process()
    return process.daemon or type(process).__name__ == "LokyProcess"


class ThreadWorkers:
    """Threads of this process: no copies, no pickling. One thread is the caller's own."""

    def __init__(self, job: Job, n_jobs: int, memory: int) -> None:
        self._job = job
        self._n_jobs = n_jobs
        self._memory = memory
        self._readers = Readers(n_jobs, len(job.inputs))
        self._cache = ItemCache(partial(job.prepare, read=self._readers.read), memory)
        self._stop = threading.Event()
        self._executor = ThreadPoolExecutor(n_jobs, "anchorot") if n_jobs > 1 else None

    def __enter__(self) -> Self:
        """Enter."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop after the pairs that are being compared."""
        self._stop.set()
        self._readers.close()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    @property
    def software(self) -> dict[str, str]:
        """What the last bits of values depend on."""
        return self._job.software

    def survey(self, strips: Iterable[range]) -> Iterator[tuple[range, list[SpaceSummary]]]:
        """Prepare all spaces, in pieces small enough for all workers to end together, and keep what fits."""
        size = max(1, len(self._job.inputs) // (PIECES_PER_WORKER * self._n_jobs))

        def look(strip: range) -> list[SpaceSummary]:
            return [self._job.survey(index, self._cache.get) for index in strip if not self._stop.is_set()]

        yield from completed(self._executor, look, pieces(strips, size), TASKS_PER_WORKER * self._n_jobs)
        self._readers.rest()

    def room(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of prepared spaces that may stay while others pass by."""
        return Budget.of(summaries, self._memory, self._n_jobs).room

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles from shared prepared spaces."""
        budget = Budget.of(summaries, self._memory, self._n_jobs)
        self._cache.limit = budget.cache

        def compute(tile: Tile) -> TileValues:
            return self._job.compute(tile, summaries, self._cache.get, budget.hold, self._stop.is_set)

        return completed(self._executor, compute, tiles, TASKS_PER_WORKER * self._n_jobs)


class ProcessWorkers:
    """Processes that load and prepare spaces for themselves, for metrics that spend their time in Python."""

    def __init__(self, job: Job, n_jobs: int, memory: int) -> None:
        self._job = job
        self._n_jobs = n_jobs
        self._memory = memory // n_jobs
        self._surveyors = ThreadWorkers(job, n_jobs, memory=0)
        self._executor: Executor | None = None
        self._link: Connection | None = None

    def __enter__(self) -> Self:
        """Enter."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the processes, at once if something went wrong."""
        self._surveyors.__exit__(*exception)
        if self._link is not None and any(exception):
            self._link.close()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        if self._link is not None:
            self._link.close()

    @property
    def software(self) -> dict[str, str]:
        """What the last bits of values depend on."""
        return self._job.software

    def survey(self, strips: Iterable[range]) -> Iterator[tuple[range, list[SpaceSummary]]]:
        """Look at all spaces in threads of this process, and keep none."""
        return self._surveyors.survey(strips)

    def room(self, summaries: Sequence[SpaceSummary]) -> int:
        """Bytes of prepared spaces that may stay in a process while others pass by."""
        return Budget.of(summaries, self._memory, 1).room

    def run(self, tiles: Iterable[Tile], summaries: Sequence[SpaceSummary]) -> Iterator[tuple[Tile, TileValues]]:
        """Compute tiles in processes that are started now."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        context = get_context("spawn")  # a fork would copy locks that other threads hold
        link, self._link = context.Pipe(duplex=False)
        arguments = (self._job, list(summaries), self._memory, link)
        self._executor = ProcessPoolExecutor(self._n_jobs, context, initializer=_start_process, initargs=arguments)
        try:
            with _ctrl_c_kept_from_children():
                for _ in range(self._n_jobs):  # a task, whatever it is, starts a process while none is idle
                    self._executor.submit(int)
            yield from completed(self._executor, _compute_in_process, tiles, TASKS_PER_WORKER * self._n_jobs)
        except BrokenExecutor:
            raise AnchorotError(
                "a worker process ended before its work was done: it was killed, ran out of memory or could not start; "
                "a script that uses processes must begin its work under `if __name__ == '__main__':`"
            ) from None


@contextmanager
def _ctrl_c_kept_from_children() -> Iterator[None]:
    """Let processes started in a block never hear Ctrl-C, not even while they are importing; ours comes after it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it would unblock the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # children inherit what is blocked
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Process:
    """What a worker process keeps from tile to tile."""

    job: Job
    summaries: Sequence[SpaceSummary]
    cache: ItemCache
    hold: int


def _start_process(job: Job, summaries: Sequence[SpaceSummary], memory: int, link: "Connection") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the first one decides
    threading.Thread(target=_end_with_parent, args=(link,), daemon=True).start()
    budget = Budget.of(summaries, memory, 1)
    _Process.job, _Process.summaries, _Process.hold = job, summaries, budget.hold
    _Process.cache = ItemCache(job.prepare, budget.cache)


def _end_with_parent(link: "Connection") -> None:
    """End this process when the other end of the link is closed, on purpose or because the parent was killed."""
    try:
        link.recv()
    except (EOFError, OSError):
        os._exit(1)


def _compute_in_process(tile: Tile) -> TileValues:
    job = _Process.job
    check_software(installed_software(job.metric.packages), job.software, f"worker process {os.getpid()}")
    return job.compute(tile, _Process.summaries, _Process.cache.get, _Process.hold)


def completed(
    executor: Executor | None, function: Callable[[Task], Result], tasks: Iterable[Task], window: int
) -> Iterator[tuple[Task, Result]]:
    """Yield tasks with their results as they are finished, with at most `window` of them handed out at a time."""
    if executor is None:
        for task in tasks:
            yield task, function(task)
        return
    pending: dict[Future[Result], Task] = {}
    for task in tasks:
        pending[executor.submit(function, task)] = task
        if len(pending) >= window:
            yield from _finished(pending)
    while pending:
        yield from _finished(pending)


def _finished(pending: dict[Future[Result], Task]) -> Iterator[tuple[Task, Result]]:
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in done:
        yield pending.pop(future), future.result()
