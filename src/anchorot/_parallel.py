"""The same done to many things at a time, by threads of this process or by processes of this machine.

`Threads` and `Processes` map a function over tasks, as `many/cluster.py` does on Dask. A process is a plain child that
speaks through pipes. Those of `multiprocessing`, joblib and loky import the caller's script again or outlive it when it
is killed, cannot be started by a daemon, and where one dies, fail the tasks of all. `interruptible` lets Ctrl-C be
heard during one long step.
"""

import ctypes
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Self, TypeVar

from anchorot._validate import check_integer, type_of
from anchorot._worker import HEADER
from anchorot.exceptions import AnchorotError, first_line

TASKS_PER_WORKER = 2  # handed out: one at work, one in the queue
PROGRAM = Path(__file__).with_name("_worker.py")
Task = TypeVar("Task")
Result = TypeVar("Result")
Function = Callable[[Any], Any] | tuple[str, str]  # or the path of a file, and the name of a function in it
MAX_QUICK_POINTS = 800  # points of a space, up to which no step takes long
POLL_SECONDS = 0.2  # between two looks; where waiting hears signals, it ends at once


class StoppedError(AnchorotError):
    """The work was stopped while this task was being done."""


class CannotStartError(AnchorotError):
    """No process can be started: this program is not a Python interpreter, or may not start any."""


class LostProcessError(AnchorotError):
    """A process ended before its task was done: it was killed, ran out of memory or crashed."""

    def __init__(self, status: int, task: Any) -> None:
        super().__init__(f"a worker process ended with status {status} before its work was done")
        self.status, self.task = status, task


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_workers(n_jobs: int) -> int:
    """How many workers are meant: -1 is one per core, but one alone where another pool has all cores at work."""
    if n_jobs == -1:
        return 1 if is_pool_worker() else cores()
    return check_integer(n_jobs, "n_jobs", 1)


def is_pool_worker() -> bool:
    """Whether this process is a worker of joblib or of a multiprocessing pool."""
    from multiprocessing import current_process

    process = current_process()
    return process.daemon or type(process).__name__ == "LokyProcess"


class Threads:
    """Threads of this process; one is the caller's own. Leaving the context stops after the tasks that are at work."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._executor = ThreadPoolExecutor(n, "anchorot") if n > 1 else None
        self._event = threading.Event()
        self.stop, self.is_stopped = self._event.set, self._event.is_set  # for functions that can end early

    def __enter__(self) -> Self:
        """Enter."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Let nothing begin that has not begun, and wait for the rest."""
        self.stop()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], *, in_order: bool = False
    ) -> Iterator[tuple[Task, Result]]:
        """Yield tasks with their results, as they are finished or in order; raise what the function raises.

        Tasks are taken when a worker will soon be free for them.
        """
        if self._executor is None:
            for task in tasks:
                yield task, function(task)
            return
        pending: dict[Future[Result], Task] = {}
        finished: SimpleQueue[Future[Result]] = SimpleQueue()

        def take() -> tuple[Task, Result]:
            future = next(iter(pending)) if in_order else finished.get()
            return pending.pop(future), future.result()

        try:
            for task in tasks:
                future = self._executor.submit(function, task)
                pending[future] = task
                future.add_done_callback(finished.put)
                if len(pending) >= TASKS_PER_WORKER * self.n:
                    yield take()
            while pending:
                yield take()
        finally:
            for future in list(pending):
                future.cancel()


class Processes(Threads):
    """Processes of this machine, each started when it is first needed, again if it dies, and ended with this one.

    None imports the caller's script: what is defined there is sent by value. Ctrl-C is for the caller alone. One that
    dies costs the task that it was at, and no other.
    """

    def __init__(self, n: int = 1) -> None:
        super().__init__(n)  # threads, each of which waits for one process
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        _POOLS.add(self)

    def __exit__(self, *exception: object) -> None:
        """End all processes, whatever they are doing."""
        self.stop()
        ending = threading.Thread(target=self.end_all)  # which another Ctrl-C does not stop half-way
        ending.start()
        ending.join()
        super().__exit__(*exception)

    def end_all(self) -> None:
        """End all processes."""
        for process in list(self._all):
            self._end(process)

    def end_idle(self) -> None:
        """End processes that have nothing to do, which take memory; they are started again when they are needed."""
        idle, self._idle = self._idle, []
        for process in idle:
            self._end(process)

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], *, in_order: bool = False
    ) -> Iterator[tuple[Task, Result]]:
        """Yield tasks with their results, as `Threads.map` does.

        A function is sent to a process once: what it keeps in itself from task to task stays there.
        """
        return super().map(partial(self.call, function), tasks, in_order=in_order)

    def call(self, function: Function, task: Any) -> Any:
        """Call a function in a process, and wait; raise what it raises, or a `LostProcessError`. For any thread."""
        process = self._idle_or_new()
        try:
            if self.is_stopped():
                raise StoppedError
            is_done, content = process.ask(function, task)
        except BaseException:  # if we are interrupted, its answer would be taken for that to another task
            self._end(process)
            raise
        self._idle.append(process)
        return pickle.loads(content) if is_done else _raise(content)

    def _idle_or_new(self) -> "_Process":
        with suppress(IndexError):
            while not (process := self._idle.pop()).is_alive():
                self._end(process)  # somebody has
            return process
        process = _Process()
        self._all.add(process)
        return process

    def _end(self, process: "_Process") -> None:
        self._all.discard(process)
        process.end()

    def _forget(self) -> None:
        """In a forked child: the processes are the parent's."""
        for process in self._all:
            process.forget()
        self._all, self._idle = set(), []


class _Process:
    """One process; it does a task at a time."""

    def __init__(self) -> None:
        self._function: Function | None = None  # that it was sent last
        self._is_ready = False
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the caller
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # the same on Windows
            )
        except (OSError, TypeError, ValueError) as error:
            raise CannotStartError(f"no worker process can be started ({first_line(error)})") from None

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        return self._popen.stdin, self._popen.stdout

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def ask(self, function: Function, task: Any) -> tuple[bool, bytes]:
        """Return whether it could do a task, and the pickled result or error."""
        self._is_ready = self._is_ready or self._answer(sys.path) is not None
        if not self._is_ready:
            raise CannotStartError(f"no worker process can be started by {sys.executable}")
        content = None if function is self._function else _pickled(function)
        answer = self._answer((content, _pickled(task)))
        if answer is None:
            raise LostProcessError(self.end(), task)
        self._function = function
        return answer

    def _answer(self, request: Any) -> tuple[bool, bytes] | None:
        """What it answers; None if it has ended."""
        requests, answers = self._pipes
        with suppress(OSError, ValueError):  # of a pipe that is broken, or that `end` has closed
            pickle.dump(request, requests, 5)
            requests.flush()
            header = answers.read(HEADER.size)
            if len(header) == HEADER.size:
                is_done, size = HEADER.unpack(header)
                content = answers.read(size)
                return (is_done, content) if len(content) == size else None
        return None

    def end(self) -> int:
        """End it at once, if it has not ended; return how it did."""
        self._popen.kill()
        status = self._popen.wait()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        return status

    def forget(self) -> None:
        """Let go of it without a warning that it is left behind."""
        self._popen.returncode = 0


_POOLS: "weakref.WeakSet[Processes]" = weakref.WeakSet()


def _forget_all() -> None:
    for pool in list(_POOLS):
        pool._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _pickled(thing: Any) -> bytes:
    """Pickle something by reference, or by value where it is defined in the caller's script or in a function."""
    with suppress(Exception):
        content = pickle.dumps(thing, 5)
        if b"__main__" not in content:
            return content
    try:
        import cloudpickle

        return cloudpickle.dumps(thing)
    except Exception as error:
        raise AnchorotError(f"{type_of(thing)} cannot be sent to another process ({first_line(error)})") from error


def _raise(content: bytes) -> Any:
    pickled, text, place = pickle.loads(content)
    try:
        error = pickle.loads(pickled)
    except Exception:  # no error that can be made again here
        error = AnchorotError(text)
    if not isinstance(error, AnchorotError | OSError):
        error.add_note(f"In a worker process: {place}")
    raise error


class _Abandoned(BaseException):
    """Raised in a thread whose result nobody waits for any more."""


def interruptible(work: Callable[[], Result], n_points: int = MAX_QUICK_POINTS) -> Result:
    """Return what `work` returns; a signal ends the wait at once, however long a call into compiled code takes.

    Python hears signals between its own steps, in the main thread. An assignment, a transport problem or a product of
    large matrices is one step of seconds or minutes, which leaves the interpreter free meanwhile: so the main thread
    waits beside it. When a signal raises an exception there, the work ends at its next step in Python. It is a plain
    call where no signal is heard, outside the main thread, and for few points, which take short steps.

    Examples
    --------
    >>> from anchorot._parallel import interruptible
    >>> interruptible(lambda: 6 * 7)
    42
    """
    if n_points < MAX_QUICK_POINTS or threading.current_thread() is not threading.main_thread():
        return work()
    found: list[Result] = []
    failed: list[BaseException] = []
    context = copy_context()  # how NumPy treats errors goes with it

    def run() -> None:
        try:
            found.append(context.run(work))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(
        target=run, name="anchorot", daemon=True
    )  # which the end of the program does not wait for
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
    except BaseException:
        _abandon(thread)
        raise
    if failed:
        raise failed.pop()
    return found[0]


def _abandon(thread: threading.Thread) -> None:
    """Let a thread end at its next step in Python."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned))
