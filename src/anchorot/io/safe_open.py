"""The one door to files: regular files only, and no more of them than a stated limit; errors and notes name the file.

HDF5 and SciPy's MATLAB reader are compiled code that trusts what a file says of itself: on a damaged one they may
crash, hang or take all memory, and no check of ours in front of them would be complete. So a process reads such files,
with bounds on time and memory: whatever a file does, only that process is lost, and the next file gets another.
"""

import atexit
import gzip
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from anchorot._parallel import CannotStartError, LostProcessError, Processes
from anchorot._typing import Float64s
from anchorot.exceptions import AnchorotError, InputError, first_line, note_input
from anchorot.io.names import is_gzipped, name_of

MAX_BYTES = 2 << 30  # what is read, or unpacked, of one file unless more is asked for
MIN_SECONDS = 30.0  # to wait for any file that a process reads,
MIN_BYTES_PER_SECOND = 5e6  # and how fast larger ones must be read
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # which Windows lacks
PIECE_BYTES = 1 << 20  # unpacked at a time
GZIP_FILE = "a gzip file"
GZIP_MAGIC = b"\x1f\x8b"
TIMED_OUT = 1  # how a process ends that has taken longer
READ = (str(Path(__file__).with_name("sandboxed_readers.py")), "read")
_processes = Processes()
atexit.register(_processes.end_all)
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Begin the message of every `InputError` with the name of the file, in one line; let every `OSError` name it."""
    try:
        yield
    except InputError as error:
        said = " ".join(str(error).split())  # it may quote what is in the file
        raise InputError(f"{name_of(file)}: {said}") from None
    except OSError as error:
        if error.filename is not None or error.strerror is None:
            raise
        raise OSError(error.errno, error.strerror, str(file)) from None  # of reading what was opened


@contextmanager
def opened(file: Path, *, follows_links: bool = True) -> Iterator[BufferedReader]:
    """Open a regular file to be read; a pipe or a device could keep us waiting for ever.

    Follow no links in folders that anchorot fills, where others may write too: a link could lead to any file.
    """
    # Without O_NONBLOCK even the opening of a pipe waits, until somebody writes into it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not (follows_links or NO_FOLLOW):
        own_file_exists(file)
    try:
        descriptor = os.open(file, flags | (0 if follows_links else NO_FOLLOW))
    except OSError:
        if not follows_links:
            own_file_exists(file)  # a link is refused in our words, not in those of the system
        raise
    try:
        _check_regular(os.fstat(descriptor).st_mode, None if follows_links else file)
    except InputError:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as handle:
        yield handle


def own_file_exists(path: Path) -> bool:
    """Whether a file is there, in a folder that anchorot fills; anything but a regular file is refused by its path."""
    try:
        _check_regular(os.lstat(path).st_mode, path)
    except FileNotFoundError:
        return False
    return True


def _check_regular(mode: int, own: Path | None) -> None:
    """Refuse what is not a regular file; the path of one of our own is part of the message."""
    if stat.S_ISREG(mode):
        return
    kind = "a pipe, a device or a socket, but a regular file"
    if stat.S_ISDIR(mode):
        kind = "a folder, but a file"
    elif stat.S_ISLNK(mode):
        kind = "a link, but a regular file"
    raise InputError(f"this is {kind} is needed" if own is None else f"{own}: this is {kind} is needed; move it away")


def content_of(file: Path, limit: int) -> bytes:
    """Return all bytes of a regular file, unpacked if it ends in .gz; there must be at most `limit` of them."""
    with opened(file) as handle:
        check_limit(os.fstat(handle.fileno()).st_size, "the file", limit)
        content = _unpacked(handle, limit) if is_gzipped(file) else handle.read(limit + 1)
    check_limit(len(content), "the file", limit)  # some files have more than they say
    return content


def head_of(file: Path, size: int) -> bytes:
    """Return the first bytes of a regular file, unpacked if it ends in .gz."""
    with opened(file) as handle, reading(GZIP_FILE):
        return gzip.GzipFile(fileobj=handle).read(size) if is_gzipped(file) else handle.read(size)


def _unpacked(handle: BinaryIO, limit: int) -> bytes:
    """Unpack a gzip file piece by piece, since a small one may unpack to any size."""
    pieces, size = [], 0
    with reading(GZIP_FILE), gzip.GzipFile(fileobj=handle) as content:
        while piece := content.read(PIECE_BYTES):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise InputError(
                    f"it unpacks to more than {limit / 1e9:.3g} GB; if you trust it, raise max_bytes (--max-bytes)"
                )
    return b"".join(pieces)


def check_limit(size: int, what: str, limit: int) -> None:
    """Refuse to read `size` bytes of something, if that is more than the limit."""
    if size > limit:
        raise InputError(
            f"{what} takes {size / 1e9:.3g} GB, but no more than {limit / 1e9:.3g} GB of a file are read; "
            "if you trust it, raise max_bytes (--max-bytes)"
        )


@contextmanager
def reading(kind: str) -> Iterator[None]:
    """Turn whatever another library raises on a broken file into one clear line.

    Its warnings are left alone: to catch them would change the filters that all threads share. Those of NumPy's
    arithmetic are of no use here, and can be kept quiet in this thread alone.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (AnchorotError, OSError) as error:
        if isinstance(error, AnchorotError) or error.filename is not None:
            raise  # what the system has to say about a file is said as it is
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None
    except Exception as error:
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None


def read_guarded(reader: str, file: Path, limit: int, **options: str) -> dict[str, Any]:
    """Return the arrays that one of the `sandboxed_readers` finds in a file; at most `limit` bytes of them."""
    with opened(file) as handle:  # what the system has to say about the file is raised as it is
        seconds = MIN_SECONDS + os.fstat(handle.fileno()).st_size / MIN_BYTES_PER_SECOND
    request = {"reader": reader, "path": str(file.resolve()), "seconds": seconds, "limit": limit, "options": options}
    try:
        found = _processes.call(READ, request)
    except CannotStartError as error:
        raise AnchorotError(f"files ending in {file.suffix} are read by a process of their own, but {error}") from None
    except LostProcessError as lost:
        reason = f"it took more than {seconds:.0f} s"
        if lost.status != TIMED_OUT:
            reason = f"the reader of {file.suffix} ended with status {lost.status} on it"
        raise InputError(f"not a file that can be read ({reason})") from None
    if isinstance(found, str):
        raise InputError(found)
    return found


def lines_of(file: Path, limit: int, comment: str | None = None) -> list[str]:
    """Lines of a text file that are neither blank nor comments; a byte-order mark counts for nothing."""
    content = content_of(file, limit)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        hint = "; it is compressed by gzip, so its name should end in .gz" if content.startswith(GZIP_MAGIC) else ""
        raise InputError(f"not a text file in UTF-8{hint}") from None
    lines = [line for line in text.splitlines() if line.strip()]
    if comment is not None:
        lines = [line for line in lines if line.lstrip()[0] not in comment]
    if not lines:
        raise InputError("the file is empty")
    return lines


def whole_number(word: str) -> int | None:
    """Return the number that a word of ASCII digits stands for, if it fits into 64 bits; else None.

    Neither `str.isdigit` nor `int` will do: the one takes "²" for a number, the other refuses very long ones.
    """
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None


def check_no_underscore(text: str) -> None:
    """Refuse numbers such as "1_0", which is 10 to Python and to nobody else who reads the file."""
    if "_" in text:
        wrong = next(word for word in text.split() if "_" in word)
        raise InputError(f"could not convert string to float: {wrong[:40]!r}")


def numbers(lines: list[str], separator: str | None) -> Float64s:
    """Matrix of the numbers in the lines; all need the same number of them."""
    if not lines:
        raise InputError("there are no numbers")
    rows: list[Float64s] = []
    for number, line in enumerate(lines, start=1):
        try:
            check_no_underscore(line)
            row = np.array(line.split(separator), dtype=np.float64)
        except ValueError as error:
            raise InputError(f"line {number} of numbers: {first_line(error)}") from None
        if rows and len(row) != len(rows[0]):
            raise InputError(f"line {number} of numbers has {len(row)} of them, but line 1 has {len(rows[0])}")
        rows.append(row)
    return np.stack(rows)


def note(name: str, said: str) -> None:
    """Warn of something about the file of that name, where anchorot was called: once, whichever way it was read."""
    heard = _heard.get()
    if heard is not None:
        heard.append(said)
    note_input(f"{name} {said}")


@contextmanager
def collecting_notes() -> Iterator[list[str]]:
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
