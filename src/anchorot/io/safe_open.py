"""The only code that opens files: regular files, up to a size limit; errors and notes name the file.

HDF5 and SciPy's MATLAB reader are compiled code that trusts the file's contents: a damaged file may make them crash,
hang or use all memory, and checks before the call cannot be complete. Such files are therefore read by a separate
process with bounds on time and memory: a bad file ends only that process, and the next file gets a new one.
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

MAX_BYTES = 2 << 30  # default limit of bytes read or decompressed from one file
MIN_SECONDS = 30.0  # time limit for any file read by a process,
MIN_BYTES_PER_SECOND = 5e6  # plus the minimum speed for larger ones
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # which Windows lacks
PIECE_BYTES = 1 << 20  # decompressed at a time
GZIP_FILE = "a gzip file"
GZIP_MAGIC = b"\x1f\x8b"
TIMED_OUT = 1  # exit status of a process that exceeded the time limit
READ = (str(Path(__file__).with_name("sandboxed_readers.py")), "read")
_processes = Processes()
atexit.register(_processes.end_all)
_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Start the message of every `InputError` with the file's name, in one line; make every `OSError` name the file."""
    try:
        yield
    except InputError as error:
        text = " ".join(str(error).split())  # it may quote the file
        raise InputError(f"{name_of(file)}: {text}") from None
    except OSError as error:
        if error.filename is not None or error.strerror is None:
            raise
        raise OSError(error.errno, error.strerror, str(file)) from None  # raised while reading an open file


@contextmanager
def opened(file: Path, *, follows_links: bool = True) -> Iterator[BufferedReader]:
    """Open a regular file for reading; a pipe or a device could block for ever.

    In folders that anchorot fills, where others may also write, links are not followed: they could lead to any file.
    """
    # Without O_NONBLOCK, opening a pipe blocks until another process writes to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not (follows_links or NO_FOLLOW):
        own_file_exists(file)
    try:
        descriptor = os.open(file, flags | (0 if follows_links else NO_FOLLOW))
    except OSError:
        if not follows_links:
            own_file_exists(file)  # for a clearer message about links than the system's
        raise
    try:
        _check_regular(os.fstat(descriptor).st_mode, None if follows_links else file)
    except InputError:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as handle:
        yield handle


def own_file_exists(path: Path) -> bool:
    """Whether a file exists in a folder that anchorot fills; raise if it is not a regular file."""
    try:
        _check_regular(os.lstat(path).st_mode, path)
    except FileNotFoundError:
        return False
    return True


def _check_regular(mode: int, own: Path | None) -> None:
    """Raise if this is not a regular file; the message names the path of anchorot's own files."""
    if stat.S_ISREG(mode):
        return
    kind = "a pipe, a device or a socket, but a regular file"
    if stat.S_ISDIR(mode):
        kind = "a folder, but a file"
    elif stat.S_ISLNK(mode):
        kind = "a link, but a regular file"
    raise InputError(f"this is {kind} is needed" if own is None else f"{own}: this is {kind} is needed; move it away")


def content_of(file: Path, limit: int) -> bytes:
    """Return the bytes of a regular file, decompressed if it ends in .gz; raise if there are more than `limit`."""
    with opened(file) as handle:
        check_limit(os.fstat(handle.fileno()).st_size, "the file", limit)
        content = handle.read(limit + 1) if not is_gzipped(file) else b"".join(_decompressed(handle, limit))
    check_limit(len(content), "the file", limit)  # some files are larger than the system reports
    return content


def head_of(file: Path, size: int) -> bytes:
    """Return the first bytes of a regular file, decompressed if it ends in .gz."""
    with opened(file) as handle, reading(GZIP_FILE):
        return gzip.GzipFile(fileobj=handle).read(size) if is_gzipped(file) else handle.read(size)


def _decompressed(handle: BinaryIO, limit: int) -> Iterator[bytes]:
    """Decompress a gzip file in pieces, since a small file may decompress to any size."""
    size = 0
    with reading(GZIP_FILE), gzip.GzipFile(fileobj=handle) as content:
        while piece := content.read(PIECE_BYTES):
            size += len(piece)
            if size > limit:
                raise InputError(
                    f"it unpacks to more than {limit / 1e9:.3g} GB; if you trust it, raise max_bytes (--max-bytes)"
                )
            yield piece


def check_limit(size: int, what: str, limit: int) -> None:
    """Raise if `size` bytes exceed the limit."""
    if size > limit:
        raise InputError(
            f"{what} takes {size / 1e9:.3g} GB, but no more than {limit / 1e9:.3g} GB of a file are read; "
            "if you trust it, raise max_bytes (--max-bytes)"
        )


@contextmanager
def reading(kind: str) -> Iterator[None]:
    """Turn any error that another library raises on a broken file into one clear line.

    Its warnings are not caught: that would change the filters that all threads share. NumPy's arithmetic warnings are
    useless here, and are disabled for this thread only.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (AnchorotError, OSError) as error:
        if isinstance(error, AnchorotError) or error.filename is not None:
            raise  # errors of the system keep their message
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None
    except Exception as error:
        raise InputError(f"not {kind} that can be read ({first_line(error)})") from None


def read_guarded(reader: str, file: Path, limit: int, **options: str) -> dict[str, Any]:
    """Return the arrays that one of the `sandboxed_readers` finds in a file; at most `limit` bytes of them."""
    with opened(file) as handle:  # errors of the system keep their message
        seconds = MIN_SECONDS + os.fstat(handle.fileno()).st_size / MIN_BYTES_PER_SECOND
    request = {"reader": reader, "path": str(file.resolve()), "seconds": seconds, "limit": limit, "options": options}
    try:
        found = _processes.call(READ, request)
    except CannotStartError as error:
        raise AnchorotError(f"files ending in {file.suffix} are read by a separate process, but {error}") from None
    except LostProcessError as error:
        reason = f"it took more than {seconds:.0f} s"
        if error.status != TIMED_OUT:
            reason = f"the reader of {file.suffix} ended with status {error.status} on it"
        raise InputError(f"not a file that can be read ({reason})") from None
    if isinstance(found, str):
        raise InputError(found)
    return found


def lines_of(file: Path, limit: int, comment: str | None = None) -> list[str]:
    """Return the lines of a text file that are neither blank nor comments, without a byte-order mark."""
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
    """Return the integer that a word of ASCII digits represents, if it fits into 64 bits; else None.

    `str.isdigit` alone accepts "²", and `int` alone raises on very long numbers.
    """
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None


def is_number(word: str) -> bool:
    """Whether a word is a number; "1_0", which only Python reads as 10, is not."""
    if "_" in word:
        return False
    try:
        float(word)
    except ValueError:
        return False
    return True


def check_no_underscore(text: str) -> None:
    """Raise on numbers such as "1_0", which only Python reads as 10."""
    if "_" in text:
        wrong = next(word for word in text.split() if "_" in word)
        raise InputError(f"could not convert string to float: {wrong[:40]!r}")


def numbers(lines: list[str], separator: str | None) -> Float64s:
    """Return the matrix of the numbers in the lines; all lines must have the same number of them."""
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


def note(name: str, text: str) -> None:
    """Warn about the file of that name at the line that called anchorot, and record the note for `collecting_notes`."""
    notes = _notes.get()
    if notes is not None:
        notes.append(text)
    note_input(f"{name} {text}")


@contextmanager
def collecting_notes() -> Iterator[list[str]]:
    """Collect the notes of a block, without the files' names; the warnings are issued as well.

    Catching warnings instead would change the filters that all threads share.
    """
    notes: list[str] = []
    outer = _notes.get()
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)
        if outer is not None:
            outer += notes
