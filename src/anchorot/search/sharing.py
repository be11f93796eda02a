"""What threads and forked processes share: a lock for many readers or one writer, free in a forked child."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Many readers hold it at a time, or one writer. Readers that come while a writer waits let it go first.

    A process is forked while no thread of it writes: forking takes all locks in the order in which they were made, and
    so must whoever holds several. In the child the lock is free, for the threads that held it are the parent's.
    """

    def __init__(self) -> None:
        self._free()
        _LOCKS[id(self)] = self

    def _free(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._readers = 0
        self._is_written = False
        self._writers_waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock for reading."""
        self._begin_reading()
        try:
            yield
        finally:
            self._end_reading()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock for writing."""
        with self._changed:
            self._writers_waiting += 1
            try:
                self._changed.wait_for(lambda: not self._is_written and self._readers == 0)
                self._is_written = True
            finally:
                self._writers_waiting -= 1
                self._changed.notify_all()  # readers waited for it, and it may have been interrupted
        try:
            yield
        finally:
            with self._changed:
                self._is_written = False
                self._changed.notify_all()

    def _begin_reading(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_written and self._writers_waiting == 0)
            self._readers += 1

    def _end_reading(self) -> None:
        with self._changed:
            self._readers -= 1
            self._changed.notify_all()


_LOCKS: "weakref.WeakValueDictionary[int, SharedLock]" = weakref.WeakValueDictionary()
_FORKING = threading.local()  # the locks that a thread holds while it forks


def _all_locks() -> list[SharedLock]:
    return [lock for reference in _LOCKS.valuerefs() if (lock := reference()) is not None]


def _before_fork() -> None:
    _FORKING.locks = _all_locks()
    for lock in _FORKING.locks:
        lock._begin_reading()


def _after_fork_in_parent() -> None:
    for lock in _FORKING.locks:
        lock._end_reading()
    _FORKING.locks = []


def _after_fork_in_child() -> None:
    for lock in _all_locks():
        lock._free()
    _FORKING.locks = []


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
