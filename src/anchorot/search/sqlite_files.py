"""Checks of an index file and the files beside it before SQLite opens them.

SQLite identifies its files by name only. It takes any file named like the index plus "-journal" or "-wal" for a part of
the index: it would play the file back into the index, write to it, and delete it.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from anchorot.exceptions import InputError
from anchorot.io.names import name_of
from anchorot.io.safe_open import opened

MAGIC = b"SQLite format 3\0"
HEAD_BYTES = 100  # of the header of an SQLite file
APPLICATION = b"anch"
VERSION = 2  # of the tables, kept in the header (user_version)
VERSION_OF_ENERGIES = 1  # of an index of Anchor Energies, which earlier versions read too
PAGE_BYTES = 8192  # twice SQLite's default: features are blobs of several kB
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
JOURNAL_HEAD_BYTES = 28  # these 8 bytes, and five numbers of 4 bytes, the last of them the page size


# -- an index --------------------------------------------------------------------------------------------------------


def refuse(name: str, what: str) -> NoReturn:
    """Raise an InputError: the file is damaged, and how."""
    raise InputError(f"{name}: {what}; the file is damaged: build the index again")


def check_is_index(path: Path) -> None:
    """Refuse a file whose first bytes are not those of an index of this version."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise InputError(
            f"{name_of(path)}: a folder, but an index is one file; if an earlier version wrote it, build it again"
        )
    if not stat.S_ISREG(mode):  # opening a pipe may wait for ever
        raise InputError(f"{path.name}: not a regular file, but an index is one")
    head = _head(path)
    if not _is_ours(head):
        raise InputError(f"{path.name}: not a search index of anchorot")
    version = int.from_bytes(head[60:64])
    if version not in (VERSION_OF_ENERGIES, VERSION):
        raise InputError(
            f"{path.name}: version {version} of the format, but this anchorot reads up to version {VERSION}; "
            "build the index again, or use the anchorot that wrote it"
        )
    if head[18:20] != b"\1\1":  # of the first page: a write-ahead log would be looked for
        refuse(path.name, "its journal is not a rollback journal")


def check_replaceable(target: Path) -> None:
    """Refuse a path that is anything but an index, or has files beside it that SQLite would take for its parts."""
    if target.exists() and not (target.is_file() and _is_ours(_head(target))):
        raise InputError(f"{name_of(target)}: already exists and is not a search index; give another path")
    check_companions(target)


def _head(path: Path) -> bytes:
    with opened(path) as file:
        return file.read(HEAD_BYTES)


def _is_ours(head: bytes) -> bool:
    return len(head) == HEAD_BYTES and head.startswith(MAGIC) and head[68:72] == APPLICATION


# -- files that SQLite takes for parts of an index -------------------------------------------------------------------


def check_companions(target: Path) -> None:
    """Refuse files named like the journal or log of an index, except the journal of an existing index."""
    for kind in ("journal", "wal"):  # an index has no write-ahead log
        file = f"{target}-{kind}"
        if os.path.lexists(file) and not (kind == "journal" and target.exists() and _is_journal(Path(file))):
            name = target.name
            raise InputError(f"{name}-{kind}: SQLite would take this file for a part of {name}; move it away")


def _is_journal(path: Path) -> bool:
    """Whether a file is the journal of a change of an index, or was one a moment ago."""
    try:
        with opened(path, follows_links=False) as file:
            head = file.read(JOURNAL_HEAD_BYTES)
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(JOURNAL_MAGIC)))
            tail = file.read()
    except FileNotFoundError:
        return True
    except InputError:  # a link, a folder or a pipe
        return False
    # A change begins with an empty file, then a head without the magic; a killed process may leave half of it.
    # A journal that ends with the magic also names a file, which SQLite would delete; journals of an index name none.
    begins = JOURNAL_MAGIC.startswith(head[:8].rstrip(b"\0")) and head[24:] in (PAGE_BYTES.to_bytes(4), bytes(4))
    return not head or (begins and tail != JOURNAL_MAGIC)


# -- new files -------------------------------------------------------------------------------------------------------


@contextmanager
def naming(target: Path, temporary: Path) -> Iterator[None]:
    """Make errors about a temporary file name the index that it was for."""
    try:
        yield
    except OSError as error:
        if error.filename not in (temporary, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from None
