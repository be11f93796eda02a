"""Long work that hears Ctrl-C: it runs in a thread, and the main thread waits for it, or for a signal."""

import ctypes
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

FEW = 800  # points of a space, up to which no step takes long
PAUSE = 0.2  # seconds between two looks; where waiting hears signals, they are not waited for


class _Abandoned(BaseException):
    """Raised in a thread whose result nobody waits for any more."""


def interruptible(work: Callable[[], T], n_points: int = FEW) -> T:
    """Return what `work` returns; a signal ends the wait at once, however long a call into compiled code takes.

    Python hears signals between its own steps, in the main thread. An assignment, a transport problem or a product of
    large matrices is one step of seconds or minutes, which leaves the interpreter free meanwhile: so the main thread
    waits beside it. When a signal raises an exception there, the work ends at its next step in Python. It is a plain
    call where no signal is heard, outside the main thread, and for few points, which take short steps.

    Examples
    --------
    >>> from anchorot._interrupt import interruptible
    >>> interruptible(lambda: 6 * 7)
    42
    """
    if n_points < FEW or threading.current_thread() is not threading.main_thread():
        return work()
    found: list[T] = []
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
            thread.join(PAUSE)
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
