"""What readers have to note about a file, for the caller and for whoever reads on behalf of another."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from anchorot.exceptions import InputNote

_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


def note(name: str, said: str, stacklevel: int) -> None:
    """Warn of something about the file of that name."""
    heard = _heard.get()
    if heard is not None:
        heard.append(said)
    warnings.warn(f"{name} {said}", InputNote, stacklevel=stacklevel + 1)


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect what is noted in a block, without names; the warnings go out all the same.

    To catch warnings instead would change the filters that all threads share.
    """
    heard: list[str] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)
