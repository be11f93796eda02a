"""The program of a process that reads files for another; see `readers.py`."""

import os
import pickle
import sys
import warnings
from typing import Any

from anchorot.exceptions import AnchorotError, first_line
from anchorot.io.files import Unread
from anchorot.io.notes import listening


def serve() -> None:
    """Answer requests until there are no more."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what libraries print is no answer
        warnings.simplefilter("ignore")  # notes are sent, and shown by whoever asked
        _send("ready", answers)
        while True:
            try:
                unread = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            _send(_answer(unread), answers)


def _answer(unread: Unread) -> tuple[Any, list[str]]:
    """The space or the error, and what was noted."""
    with listening() as notes:
        try:
            return unread(), notes
        except Exception as error:
            return error, notes


def _send(answer: Any, answers: Any) -> None:
    try:
        data = pickle.dumps(answer)
    except Exception as error:
        found = answer[0]  # an exception of some library that cannot be pickled
        data = pickle.dumps((AnchorotError(first_line(found if isinstance(found, Exception) else error)), []))
    answers.write(data)
    answers.flush()
