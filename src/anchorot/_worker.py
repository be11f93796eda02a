"""The program of a process that works for another one: `_parallel.py` starts it, and sends it functions and tasks.

It imports the standard library alone, so that it starts at once; whatever else a function needs is imported with it.
"""

import os
import pickle
import runpy
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, BinaryIO

HEADER = struct.Struct("<?Q")  # of an answer: whether the task was done, and the bytes of the result or the error


def serve() -> None:
    """Do tasks until there are no more; end at once when whoever sends them is gone."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what libraries print is no answer
    warnings.simplefilter("ignore")
    sys.path[:] = pickle.load(requests)
    inbox: SimpleQueue[tuple[bytes | None, bytes]] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, inbox), daemon=True).start()
    _send(answers, True, b"")
    function: Any = None
    while True:
        content, task = inbox.get()
        try:
            if content is not None:
                function = _load(content)
            _send(answers, True, pickle.dumps(function(pickle.loads(task)), 5))
        except BaseException as error:
            _send(answers, False, _pickle_error(error))


def _receive(requests: BinaryIO, inbox: "SimpleQueue[Any]") -> None:
    """Take requests as they come, also while a task is at work: so the end of the other process is never missed."""
    try:
        while True:
            inbox.put(pickle.load(requests))
    finally:
        os._exit(0)


def _load(content: bytes) -> Callable[[Any], Any]:
    """Return a function, or that of a name in a file that needs no package."""
    found = pickle.loads(content)
    return runpy.run_path(found[0])[found[1]] if isinstance(found, tuple) else found


def _send(answers: BinaryIO, is_done: bool, content: bytes) -> None:
    answers.write(HEADER.pack(is_done, len(content)))
    answers.write(content)
    answers.flush()


def _pickle_error(error: BaseException) -> bytes:
    """Pickle an error, if it can be pickled, its text for those who cannot unpickle it, and where it was raised."""
    text, place = f"{type(error).__name__}: {error}", traceback.format_exc()
    try:
        return pickle.dumps((pickle.dumps(error), text, place))
    except Exception:
        return pickle.dumps((None, text, place))


if __name__ == "__main__":
    serve()
