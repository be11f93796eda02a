"""The one door to files: regular files only, and never more of them than a stated limit."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from anchorot.exceptions import InputError

MAX_BYTES = 2 << 30  # what is read, or unpacked, of one file unless more is asked for


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Begin the message of every `InputError` with the name of the file that it is about, all in one line."""
    try:
        yield
    except InputError as error:
        said = " ".join(str(error).split())  # it may quote what is in the file
        raise InputError(f"{file.name}: {said}") from None


@contextmanager
def opened(file: Path, *, follows_links: bool = True) -> Iterator[BufferedReader]:
    """Open a regular file to be read; a pipe or a device could keep us waiting for ever."""
    # Without O_NONBLOCK even the opening of a pipe waits, until somebody writes into it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(file, flags | (0 if follows_links else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _check_regular(os.fstat(descriptor).st_mode)
    except InputError:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as handle:
        yield handle


def _check_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise InputError("this is a folder, but a file is needed")
    if not stat.S_ISREG(mode):
        raise InputError("this is a pipe, a device or a socket, but a regular file is needed")


def content_of(file: Path, limit: int) -> bytes:
    """Return all bytes of a regular file that has at most `limit` of them."""
    with opened(file) as handle:
        check_limit(os.fstat(handle.fileno()).st_size, "the file", limit)
        content = handle.read(limit + 1)
    check_limit(len(content), "the file", limit)  # some files have more than they say
    return content


def check_limit(size: int, what: str, limit: int) -> None:
    """Refuse to read `size` bytes of something, if that is more than the limit."""
    if size > limit:
        raise InputError(
            f"{what} takes {size / 1e9:.3g} GB, but no more than {limit / 1e9:.3g} GB of a file are read; "
            "if you trust it, raise max_bytes of read (--max-bytes)"
        )
