"""Map a function over tasks, with threads of this process or with worker processes on this machine.

`Threads` and `Processes` are executors, as `many/cluster.py` is on Dask. A worker process is a plain child that
communicates through pipes. Those of `multiprocessing`, joblib and loky import the caller's script again or outlive it
when it is killed, cannot be started by a daemon, and fail all tasks when one of them dies. `interruptible` lets Ctrl-C
interrupt one long step.
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

from anchorot._worker import HEADER
from anchorot.exceptions import AnchorotError, first_line, type_of

TASKS_PER_WORKER = 2  # submitted at a time: one running, one in the queue
PROGRAM = Path(__file__).with_name("_worker.py")
Task = TypeVar("Task")
Result = TypeVar("Result")
Function = Callable[[Any], Any] | tuple[str, str]  # or the path of a file and the name of a function in it
MAX_QUICK_POINTS = 800  # points of a space up to which every step is short
POLL_SECONDS = 0.2  # between two checks; where signals end a wait, it ends at once


class StoppedError(AnchorotError):
    """The work was stopped while this task was running."""


class CannotStartError(AnchorotError):
    """No worker process can be started: this program is not a Python interpreter, or is not allowed to start any."""


class LostProcessError(AnchorotError):
    """A worker process ended before its task was done: it was killed, ran out of memory or crashed."""

    def __init__(self, status: int, task: Any) -> None:
        super().__init__(f"a worker process ended with status {status} before its work was done")
        self.status, self.task = status, task


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_pool_worker() -> bool:
    """Whether this process is a worker of joblib or of a multiprocessing pool."""
    from multiprocessing import current_process

    process = current_process()
    return process.daemon or type(process).__name__ == "LokyProcess"


class Threads:
    """Threads of this process; n = 1 runs in the caller's own. Leaving the context waits for running tasks only."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._executor = ThreadPoolExecutor(n, "anchorot") if n > 1 else None
        self._event = threading.Event()
        self.stop, self.is_stopped = self._event.set, self._event.is_set  # for functions that can end early

    def __enter__(self) -> Self:
        """Enter."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Cancel tasks that have not started, and wait for the running ones."""
        self.stop()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], *, in_order: bool = False
    ) -> Iterator[tuple[Task, Result]]:
        """Yield tasks with their results, as they finish or in order; raise what the function raises.

        Tasks are taken from the iterable only when a worker will soon be free.
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
    """Worker processes on this machine, started on demand, restarted if they die, and ended with this process.

    They do not import the caller's script: what it defines is sent by value. Ctrl-C reaches only the caller. If a
    worker dies, only its current task fails.
    """

    def __init__(self, n: int = 1) -> None:
        super().__init__(n)  # threads that each wait for one process
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        _POOLS.add(self)

    def __exit__(self, *exception: object) -> None:
        """Kill all processes, even while they run a task."""
        self.stop()
        ending = threading.Thread(target=self.end_all)  # a second Ctrl-C cannot stop this half-way
        ending.start()
        ending.join()
        super().__exit__(*exception)

    def end_all(self) -> None:
        """End all processes."""
        for process in list(self._all):
            self._end(process)

    def end_idle(self) -> None:
        """End idle processes to free their memory; they are started again when needed."""
        idle, self._idle = self._idle, []
        for process in idle:
            self._end(process)

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], *, in_order: bool = False
    ) -> Iterator[tuple[Task, Result]]:
        """Yield tasks with their results, as `Threads.map` does.

        A function is sent to each process once, so its state persists there from task to task.
        """
        return super().map(partial(self.call, function), tasks, in_order=in_order)

    def call(self, function: Function, task: Any) -> Any:
        """Call a function in a process and wait; raise what it raises, or a `LostProcessError`. Thread-safe."""
        process = self._idle_or_new()
        try:
            if self.is_stopped():
                raise StoppedError
            is_done, content = process.ask(function, task)
        except BaseException:  # after an interrupt, its reply would be taken for that of the next task
            self._end(process)
            raise
        self._idle.append(process)
        return pickle.loads(content) if is_done else _raise(content)

    def _idle_or_new(self) -> "_Process":
        with suppress(IndexError):
            while not (process := self._idle.pop()).is_alive():
                self._end(process)  # it was killed
            return process
        process = _Process()
        self._all.add(process)
        return process

    def _end(self, process: "_Process") -> None:
        self._all.discard(process)
        process.end()

    def _forget(self) -> None:
        """Drop all processes in a forked child: they belong to the parent."""
        for process in self._all:
            process.forget()
        self._all, self._idle = set(), []


class _Process:
    """One worker process, which runs one task at a time."""

    def __init__(self) -> None:
        self._function: Function | None = None  # the function sent last
        self._is_ready = False
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C reaches only the caller
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
        """Whether the process still runs."""
        return self._popen.poll() is None

    def ask(self, function: Function, task: Any) -> tuple[bool, bytes]:
        """Run a task; return whether it succeeded, and the pickled result or error."""
        self._is_ready = self._is_ready or self._reply(sys.path) is not None
        if not self._is_ready:
            raise CannotStartError(f"no worker process can be started by {sys.executable}")
        content = None if function is self._function else _pickled(function)
        reply = self._reply((content, _pickled(task)))
        if reply is None:
            raise LostProcessError(self.end(), task)
        self._function = function
        return reply

    def _reply(self, request: Any) -> tuple[bool, bytes] | None:
        """Return its reply; None if the process has ended."""
        requests, replies = self._pipes
        with suppress(OSError, ValueError):  # a broken pipe, or one that `end` has closed
            pickle.dump(request, requests, 5)
            requests.flush()
            header = replies.read(HEADER.size)
            if len(header) == HEADER.size:
                is_done, size = HEADER.unpack(header)
                content = replies.read(size)
                return (is_done, content) if len(content) == size else None
        return None

    def end(self) -> int:
        """Kill the process if it still runs; return its exit status."""
        self._popen.kill()
        status = self._popen.wait()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        return status

    def forget(self) -> None:
        """Drop the process without a ResourceWarning."""
        self._popen.returncode = 0


_POOLS: "weakref.WeakSet[Processes]" = weakref.WeakSet()


def _forget_all() -> None:
    for pool in list(_POOLS):
        pool._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _pickled(value: Any) -> bytes:
    """Pickle an object by reference, or by value if the caller's script or a function defines it."""
    with suppress(Exception):
        content = pickle.dumps(value, 5)
        if b"__main__" not in content:
            return content
    try:
        import cloudpickle

        return cloudpickle.dumps(value)
    except Exception as error:
        raise AnchorotError(f"{type_of(value)} cannot be sent to another process ({first_line(error)})") from error


def _raise(content: bytes) -> Any:
    pickled, text, trace = pickle.loads(content)
    try:
        error = pickle.loads(pickled)
    except Exception:  # it cannot be unpickled here
        error = AnchorotError(text)
    if not isinstance(error, AnchorotError | OSError):
        error.add_note(f"In a worker process: {trace}")
    raise error


class _Abandoned(BaseException):
    """Raised in a thread whose result is no longer needed."""


def interruptible(work: Callable[[], Result], n_points: int = MAX_QUICK_POINTS) -> Result:
    """Return `work()`; a signal ends the wait at once, however long a call into compiled code takes.

    Python handles signals between its own instructions, in the main thread. An assignment, a transport problem or a
    product of large matrices is one instruction of seconds or minutes that releases the interpreter lock: it runs in
    another thread while the main thread waits. When a signal raises an exception there, the work ends at its next
    Python instruction. Outside the main thread, and for few points (short steps), this is a plain call.

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
    context = copy_context()  # includes NumPy's error settings

    def run() -> None:
        try:
            found.append(context.run(work))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="anchorot", daemon=True)  # does not delay the exit of the program
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
    """End a thread at its next Python instruction."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned))
