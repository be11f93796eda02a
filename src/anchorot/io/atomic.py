"""Atomic writes: a file appears complete or not at all."""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

STALE_SECONDS = 3600.0  # age after which a temporary file is considered abandoned
MAX_STEM_LENGTH, MAX_SUFFIX_LENGTH = 24, 16  # of a temporary name
LONG_FILE = re.compile(r"\.(?P<stem>.*)-[0-9a-f]{8}\.anchorot-new(-journal)?")  # SQLite adds the latter
MAX_LONG_STEM_LENGTH = 48  # of the name of a file that is written for long


@contextmanager
def replacing(
    path: str | os.PathLike[str], *, follows_links: bool = True, unless_there: bool = False, is_long: bool = False
) -> Iterator[Path]:
    """Yield a temporary path beside `path` to write to; rename it to `path` if the block succeeds.

    A link is followed or raises an error, and only regular files are replaced. With `unless_there` no file is replaced:
    if two processes write at the same time, the first wins. Errors in writing are `OSError`s that name `path`. With
    `is_long` the block does other work too, and names its errors itself (`naming`); what killed processes left of
    `path` is removed.
    """
    with naming(path, None):
        target = _target(path, follows_links)
        if is_long:
            remove_leftovers(target)
        temporary = long_file_beside(target) if is_long else _new_file_beside(target, Path(path).suffix)
    try:
        with nullcontext() if is_long else naming(path, temporary):
            yield temporary
        with naming(path, temporary):
            if not (unless_there and _has_linked(temporary, target)):
                temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _has_linked(temporary: Path, target: Path) -> bool:
    """Hard-link a file unless the target exists; return False where the file system has no hard links."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the `OSError` that `replacing` would raise before anything is written; leave no file behind."""
    with naming(path, None):
        _new_file_beside(_target(path, follows_links=True), Path(path).suffix).unlink()


def remove_stale(half_written: Iterable[Path]) -> None:
    """Remove temporary files of killed processes, but not those that a process may still be writing."""
    for path in half_written:
        with suppress(FileNotFoundError):  # its owner removed it first
            status = path.lstat()
            if time.time() - status.st_mtime > STALE_SECONDS and not stat.S_ISDIR(status.st_mode):
                path.unlink()


@contextmanager
def naming(path: str | os.PathLike[str], temporary: Path | None) -> Iterator[None]:
    """Make errors name `path`, which the caller knows, instead of the temporary file or no file."""
    try:
        yield
    except OSError as error:
        is_about_another = temporary is not None and error.filename not in (None, str(temporary), temporary)
        if is_about_another:
            raise
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), os.fspath(path)) from error


def _target(path: str | os.PathLike[str], follows_links: bool) -> Path:
    """Return the file, with links resolved if they are followed; it need not exist."""
    target = Path(os.path.realpath(path) if follows_links else path)
    try:
        mode = target.lstat().st_mode if not follows_links else target.stat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder, but a file is needed")
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "this is a link, which is not followed here; move it away")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "this is not a regular file, so it is not replaced")
    return target


def _new_file_beside(target: Path, suffix: str) -> Path:
    """Create an empty file with a recognisable name; NumPy and matplotlib need the suffix."""
    return new_file(target, target.stem[:MAX_STEM_LENGTH], suffix if len(suffix) <= MAX_SUFFIX_LENGTH else "")


def long_file_beside(target: Path) -> Path:
    """Create an empty file to write to for long, whose name tells that it is ours and of what."""
    return new_file(target, _long_stem(target), ".anchorot-new")


def remove_leftovers(target: Path) -> None:
    """Remove what killed processes left of a file that is written for long."""
    for file in target.parent.iterdir():
        found = LONG_FILE.fullmatch(file.name)
        if found is not None and found["stem"] == _long_stem(target):
            remove_stale([file])


def _long_stem(target: Path) -> str:
    return target.name.lstrip(".")[:MAX_LONG_STEM_LENGTH]


def new_file(beside: Path, stem: str, suffix: str) -> Path:
    """Create an empty file beside another, with the usual permissions under the umask."""
    while True:
        path = beside.with_name(f".{stem}-{secrets.token_hex(4)}{suffix}")
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return path
