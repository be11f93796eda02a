"""What readers have to note about a file, for the caller and for whoever reads on behalf of another."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from anchorot.exceptions import note_input

_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


def note(name: str, said: str) -> None:
    """Warn of something about the file of that name, where anchorot was called: once, whichever way it was read."""
    heard = _heard.get()
    if heard is not None:
        heard.append(said)
    note_input(f"{name} {said}")


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
