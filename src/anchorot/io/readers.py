"""Processes that read files, side by side: readers hold Python's lock, so threads would wait for each other.

They are started by hand and not by `multiprocessing`, whose processes import the caller's script again. Where none can
be started, as in a program that is no Python interpreter, threads read as well as they can.
"""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from anchorot._validate import check_integer
from anchorot.exceptions import AnchorotError, InputError
from anchorot.io.cache import is_costly
from anchorot.io.files import Unread, UnreadGraph
from anchorot.io.notes import note

PROGRAM = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from anchorot.io.reader_process import serve
serve()"""
SECONDS_PER_BYTE = 3e-6  # that meshes take, about
PAYS = 4.0  # seconds of reading that are worth the start of processes
AHEAD = 2  # spaces a worker that may be ready before they are asked for
Content = TypeVar("Content")
Result = TypeVar("Result")
Readable = Unread | UnreadGraph


class Readers:
    """As many processes as threads may ask for at a time; each is started when it is first needed.

    Parameters
    ----------
    n_jobs : int
        Threads that will ask. One reads by itself.
    n_files : int
        How many files will be asked for, about: few small ones are not worth a process.
    """

    def __init__(self, n_jobs: int, n_files: int) -> None:
        self._alone = n_jobs == 1
        self._left = n_files
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._all: list[_Process] = []
        self._closed = False

    def close(self) -> None:
        """End all processes, whatever they are reading."""
        with self._lock:
            self._closed = True
        ending = threading.Thread(target=self._end_all)  # which another Ctrl-C does not stop half-way
        ending.start()
        ending.join()

    def _end_all(self) -> None:
        for process in self._all:
            process.end()

    def rest(self) -> None:
        """End idle processes, which take memory; they are started again where that pays."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._all = [process for process in self._all if process not in idle]
        for process in idle:
            process.end()

    def read(self, unread: Readable) -> Any:
        """Read a file where that is quickest: what is in the cache, or is small, right here."""
        self._left -= 1
        if self._alone or not is_costly(unread.path, unread.options):
            return unread()
        kept = unread.kept()
        if kept is not None:
            return kept
        process = self._process(unread)
        if self._closed:
            raise AnchorotError(f"{unread.path.name}: reading was stopped")
        return unread() if process is None else self._ask(process, unread)

    def _process(self, unread: Readable) -> "_Process | None":
        """An idle process, or a new one if that pays and is possible."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            seconds = unread.path.stat().st_size * SECONDS_PER_BYTE * max(1, self._left + 1)
            if self._alone or self._closed or not (self._all or seconds >= PAYS):
                return None
            try:
                process = _Process()
            except (OSError, TypeError, ValueError):  # there is no interpreter by that name
                self._alone = True
                return None
            self._all.append(process)
        if process.is_ready():
            return process
        self._alone = True
        return None

    def _ask(self, process: "_Process", unread: Readable) -> Any:
        answer = process.ask(unread)
        if answer is None:
            raise InputError(f"{unread.path.name}: the process that read it ended, was killed or ran out of memory")
        with self._lock:
            self._idle.append(process)
        found, notes = answer
        if isinstance(found, BaseException):
            raise found
        for said in notes:
            note(unread.path.name, said)
        return found


class _Process:
    """One process; it reads a file at a time."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for whoever asked
        )

    def is_ready(self) -> bool:
        """Wait until it has started; False if it could not."""
        return self._received() == "ready"

    def ask(self, unread: Readable) -> Any:
        """What it answers, a space or an error, and what was noted; None if it has ended."""
        assert self._popen.stdin is not None
        try:
            pickle.dump(unread, self._popen.stdin)
            self._popen.stdin.flush()
        except OSError:
            return None
        return self._received()

    def _received(self) -> Any:
        assert self._popen.stdout is not None
        try:
            return pickle.load(self._popen.stdout)
        except Exception:  # cut short, or an error that cannot be made again here
            return None

    def end(self) -> None:
        """End it at once."""
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def read_all(
    files: Iterable[Callable[[], Content]],
    n_jobs: int,
    n_files: int,
    then: Callable[[int, Content], Result],
) -> Generator[Result | Exception]:
    """Read files side by side; yield, in their order, what `then` makes of place and content, or an error.

    Other functions are called in threads, and so is `then`.
    """
    readers, executor = Readers(n_jobs, n_files), ThreadPoolExecutor(n_jobs, "anchorot")

    def attempt(place: int, entry: Callable[[], Content]) -> Result | Exception:
        try:
            return then(place, readers.read(entry) if isinstance(entry, Readable) else entry())
        except Exception as error:
            return error

    waiting = enumerate(files)
    try:
        pending = [executor.submit(attempt, *each) for each in islice(waiting, AHEAD * n_jobs)]
        while pending:
            found = pending.pop(0).result()
            pending += [executor.submit(attempt, *each) for each in islice(waiting, 1)]
            yield found
    finally:
        readers.close()
        executor.shutdown(cancel_futures=True)


def workers_of(n_jobs: int) -> int:
    """How many workers are meant; -1 for one a core."""
    return cores() if n_jobs == -1 else check_integer(n_jobs, "n_jobs", 1)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
