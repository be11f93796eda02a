"""The program of a worker process: `_parallel.py` starts it and sends it functions and tasks.

It imports only the standard library, so it starts fast; other modules are imported with the function that needs them.
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

HEADER = struct.Struct("<?Q")  # of a reply: whether the task succeeded, and the size of the pickled result or error


def serve() -> None:
    """Run tasks until there are no more; exit at once when the parent process ends."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # keeps text that libraries print out of the replies
    warnings.simplefilter("ignore")
    sys.path[:] = pickle.load(requests)
    inbox: SimpleQueue[tuple[bytes | None, bytes]] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, inbox), daemon=True).start()
    _send(replies, True, b"")
    function: Any = None
    while True:
        content, task = inbox.get()
        try:
            if content is not None:
                function = _load(content)
            _send(replies, True, pickle.dumps(function(pickle.loads(task)), 5))
        except BaseException as error:
            _send(replies, False, _pickle_error(error))


def _receive(requests: BinaryIO, inbox: "SimpleQueue[Any]") -> None:
    """Receive requests even while a task runs, so that the end of the parent process is always noticed."""
    try:
        while True:
            inbox.put(pickle.load(requests))
    finally:
        os._exit(0)


def _load(content: bytes) -> Callable[[Any], Any]:
    """Unpickle a function; a pair is the path of a script without package imports, and the name of a function in it."""
    found = pickle.loads(content)
    return runpy.run_path(found[0])[found[1]] if isinstance(found, tuple) else found


def _send(replies: BinaryIO, is_done: bool, content: bytes) -> None:
    replies.write(HEADER.pack(is_done, len(content)))
    replies.write(content)
    replies.flush()


def _pickle_error(error: BaseException) -> bytes:
    """Pickle an error (None if it cannot be pickled), its text as a fallback, and its traceback."""
    text, trace = f"{type(error).__name__}: {error}", traceback.format_exc()
    try:
        return pickle.dumps((pickle.dumps(error), text, trace))
    except Exception:
        return pickle.dumps((None, text, trace))


if __name__ == "__main__":
    serve()
