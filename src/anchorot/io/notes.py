"""What readers have to note about a file, for the caller and for whoever reads on behalf of another."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from anchorot.exceptions import InputNote

_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


def note(name: str, said: str) -> None:
    """Warn of something about the file of that name, where anchorot was called: once, whichever way it was read."""
    heard = _heard.get()
    if heard is not None:
        heard.append(said)
    warnings.warn(f"{name} {said}", InputNote, stacklevel=_frames_of_ours())


def _frames_of_ours() -> int:
    """How many frames up the first is that is not anchorot's."""
    frame, count = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "anchorot":
        frame, count = frame.f_back, count + 1
    return count


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect what is noted in a block, without names; the warnings go out all the same.

    To catch warnings instead would change the filters that all threads share.
    """
    heard: list[str] = []
    outer = _heard.get()
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)
        if outer is not None:
            outer += heard
