"""An index is one SQLite file: a change is made whole or not at all, whoever reads, writes or is killed meanwhile.

    about       part 0: the header in JSON; part 1: the directions that vectors are coordinates along; with checksums
    spaces      a row per space: an entry that says what its features are, its name, its vector, and a checksum
    features    the bytes of a space's features, in several rows if they are long
    removed     ids that are gone, in the order in which they went, so that readers can follow

As long as the header keeps its key, rows of spaces and features never change, and ids are never given again. So a
reader needs no lock between reading vectors and reading features: it finds what it wants, or that it is gone.

The journal is SQLite's rollback journal, not its write-ahead log: that one needs memory that all readers share, which
neither a cluster's file system nor a folder that cannot be written to has. Nothing is memory-mapped: a file that is cut
short while it is mapped ends the process.
"""

import errno
import os
import sqlite3
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import AnchorotError, InputError
from anchorot.search.file_format import (
    MAX_ID,
    Batch,
    Header,
    are_sound,
    checked_batch,
    checksum,
    refuse,
    unpack_features,
)
from anchorot.search.sqlite_files import (
    APPLICATION,
    PAGE_BYTES,
    VERSION,
    check_companions,
    check_is_index,
    check_replaceable,
    naming,
    new_name,
    remove_leftovers,
)

SCHEMA = (
    "CREATE TABLE about (part INTEGER PRIMARY KEY, data BLOB, checksum BLOB)",
    "CREATE TABLE spaces (id INTEGER PRIMARY KEY, entry BLOB, name BLOB, vector BLOB, checksum INTEGER)",
    "CREATE TABLE features (id INTEGER PRIMARY KEY, data BLOB)",
    "CREATE TABLE removed (place INTEGER PRIMARY KEY, id INTEGER, checksum INTEGER)",
)
BATCH_ROWS = 1024  # spaces read at a time
PART_BYTES = 1 << 29  # of features in one row: SQLite takes up to 10^9
VACUUM_PAGES = 4096  # moved at a time
PATIENCE_S = 60  # for another process that writes
PAUSE_S = 0.01

BUSY = "another process is changing the index, or still reading it; try again"
OS_ERRORS = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
}
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # the latter where it quotes damage that is no text
DEFENSIVE = 1010  # SQLITE_DBCONFIG_DEFENSIVE, which Python can set from 3.12 on
SETTINGS = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "secure_delete = OFF")
CACHE_KB = 1 << 16  # that a change may keep in memory: what it writes before its end is synchronised page by page

Result = TypeVar("Result")

# Threads of a process take turns with SQLite, and no process is forked while one of them is at it: a child would
# inherit locks that nobody opens, or a change that is half made. What takes turns is a small part of a query. Whoever
# opens the file in another way does so in turn, too: closing it gives up the locks that the process has on it.
_TURN = threading.Lock()
if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release)


class StaleError(Exception):
    """What was to be read is gone or another since the header was read: read that again."""


class IndexFile:
    """The file of an index, open in this process.

    Parameters
    ----------
    path : path
        Where it is.
    is_kept : bool
        Whether it must outlive a failure of the system; else it is one that is being made, or temporary.
    """

    def __init__(self, path: str | os.PathLike[str], is_kept: bool = True) -> None:
        self.path = Path(path).absolute()
        self.name = self.path.name
        self._is_kept = is_kept
        self._process = os.getpid()
        self._readers: list[sqlite3.Connection] = []  # one, once the file has been read
        weakref.finalize(self, _close, self._readers)
        self._real = self.path  # behind links
        self._opened: tuple[int, ...] = ()  # process and state of the file that the reader is of
        self._sound: set[int] = set()  # ids of features that were checked since then
        self._header: tuple[Any, Header] | None = None  # as it was last read

    @classmethod
    def create(cls, path: Path, header: Header) -> "IndexFile":
        """Make an index of an empty file."""
        file = cls(path, is_kept=False)
        with _TURN, _one_line_errors(path), closing(file._connect("rw", is_new=True)) as connection:
            for setting in (f"page_size = {PAGE_BYTES}", "auto_vacuum = INCREMENTAL"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {int.from_bytes(APPLICATION)}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            _put(connection, 0, header.to_bytes())
            _put(connection, 1, header.encoder.to_bytes())
            connection.execute("COMMIT")
        return file

    # -- reading -----------------------------------------------------------------------------------------------------

    def header(self) -> Header:
        """The header as it is now."""
        return self._read(lambda _, now: now)

    def batches(self, header: Header, first: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """All spaces of a state of the index with ids from `first` on and below `stop`, some at a time."""
        end = header.next_id if stop is None else min(stop, header.next_id)
        query = f"SELECT * FROM spaces WHERE id >= ? AND id < ? ORDER BY id LIMIT {BATCH_ROWS}"
        while rows := self._select(header, query, first, end):
            batch = checked_batch(rows, header, first, self.name)
            first = rows[-1][0] + 1
            yield batch

    def removed(self, header: Header, since: int) -> list[tuple[int, int]]:
        """Ids of the spaces that were removed after the first `since`, and the checksums of their rows."""
        query = "SELECT id, checksum FROM removed WHERE place >= ? AND place < ?"
        found = self._select(header, query, since, header.n_removed)
        if not all(isinstance(number, int) for row in found for number in row):
            refuse(self.name, "it has lost track of what was removed")
        return found

    def _select(self, header: Header, query: str, *arguments: int) -> list[Any]:
        return self._read(lambda connection, _: connection.execute(query, arguments).fetchall(), header)

    def features(self, header: Header, entries: np.ndarray) -> list[AnchorFeatures]:
        """Features of some spaces of a state of the index."""
        kinds = zip(
            self.data(header, entries), entries["anchors"].tolist(), entries["item_bytes"].tolist(), strict=True
        )
        return [unpack_features(*kind, header.view.robust) for kind in kinds]

    def data(self, header: Header, entries: np.ndarray) -> list[bytes]:
        """The bytes of the features of some spaces; checked, when they are first read, to be what kernels can take."""
        wanted = entries.tolist()
        keys = [key for i, length, *_ in wanted for key in keys_of(i, length)]
        query = f"SELECT id, data FROM features WHERE id IN ({','.join('?' * len(keys))})"  # prepared once a length

        def read(connection: sqlite3.Connection, now: Header) -> list[bytes]:
            rows = dict(connection.execute(query, keys))
            return [self._checked_data(rows, entry, header, now) for entry in wanted]

        return self._read(read, header)

    def _checked_data(self, rows: dict[int, Any], entry: tuple[Any, ...], header: Header, now: Header) -> bytes:
        i, length, anchors, item_bytes, stored, _ = entry
        parts = [part for key in keys_of(i, length) if type(part := rows.get(key)) is bytes]
        data: bytes = parts[0] if len(parts) == 1 else b"".join(parts)
        if len(data) == length and i in self._sound:
            return data
        if len(data) != length or zlib.crc32(data) != stored:
            self.refuse_or_retry(header, now, f"the features of id {i} are not those that were saved")
        if not are_sound(unpack_features(data, anchors, item_bytes, now.view.robust)):
            refuse(self.name, f"the features of id {i} are not sorted costs of points whose weights have the sum 1")
        self._sound.add(i)
        return data

    def refuse_or_retry(self, header: Header, now: Header, what: str) -> NoReturn:
        """Say that the file is damaged, unless it has changed since the header was read."""
        if now.state != header.state:
            raise StaleError
        refuse(self.name, what)

    def _read(self, action: Callable[[sqlite3.Connection, Header], Result], header: Header | None = None) -> Result:
        """What an action finds in one state of the file, which must be one of the index that the header is of."""

        def attempt() -> Result:
            connection = self._current_reader()
            connection.execute("BEGIN")
            try:
                now = self._current_header(connection)
                if header is not None and now.key != header.key:
                    raise StaleError
                return action(connection, now)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

        return self._patiently(attempt)

    def _current_reader(self) -> sqlite3.Connection:
        """A connection of this process to the file as it is; features are checked anew where it has changed."""
        opened = self._opened
        try:
            found = os.stat(self.path)
            opened = os.getpid(), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
        except FileNotFoundError:
            if not self._readers:  # else what was deleted can be read on
                raise
        if not self._readers or opened != self._opened:
            _close(self._readers)
            self._header, self._sound = None, set()
            self._real = Path(os.path.realpath(self.path))
            self._readers.append(self._connect("ro"))
            self._opened = opened
        check_companions(self._real)
        return self._readers[0]

    def _current_header(self, connection: sqlite3.Connection) -> Header:
        query = "SELECT data, checksum FROM about WHERE part = ?"
        found = connection.execute(query, (0,)).fetchone()
        if self._header is None or self._header[0] != found:
            data = _checked_part(found, self.name)
            directions = _checked_part(connection.execute(query, (1,)).fetchone(), self.name)
            self._header = found, Header.from_bytes(data, directions, self.name)
        return self._header[1]

    # -- changing ----------------------------------------------------------------------------------------------------

    def change(self, action: Callable[[sqlite3.Connection, Header], Header]) -> Header:
        """Let an action change the file, and its header, whole or not at all; return the header before.

        It may be tried more than once.
        """

        def attempt() -> Header:
            with closing(self._connect("rw")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE_S}")  # for those who still read, at the end
                before = self._current_header(connection)
                after = action(connection, before)
                _put(connection, 0, after.to_bytes())
                if after.encoder is not before.encoder:
                    _put(connection, 1, after.encoder.to_bytes())
                connection.execute("COMMIT")
            return before

        return self._patiently(attempt)

    def compact(self) -> None:
        """Give back the space of what was removed, some pages at a time."""

        def attempt() -> int:
            with closing(self._connect("rw")) as connection:
                connection.execute("PRAGMA busy_timeout = 1000")
                # `execute` would take the first of these steps only
                connection.executescript(f"BEGIN IMMEDIATE; PRAGMA incremental_vacuum({VACUUM_PAGES}); COMMIT")
                return int(connection.execute("PRAGMA freelist_count").fetchone()[0])

        while self._patiently(attempt):
            pass

    def discard(self) -> None:
        """Remove the file, if this process has made it."""
        if os.getpid() == self._process:
            _close(self._readers)
            self.path.unlink(missing_ok=True)

    # -- connections -------------------------------------------------------------------------------------------------

    def _connect(self, mode: str, *, is_new: bool = False) -> sqlite3.Connection:
        """A connection that trusts nothing in the file, and waits for nobody."""
        if not is_new:
            check_is_index(self.path)
            check_companions(Path(os.path.realpath(self.path)))
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}", timeout=0, uri=True, isolation_level=None, check_same_thread=False
        )
        try:
            if hasattr(connection, "setconfig"):
                connection.setconfig(DEFENSIVE, True)
            for setting in SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._is_kept else 'OFF'}")
            if mode == "rw":
                connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            found = () if is_new else tuple(sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master"))
        except SQLITE_ERRORS:
            connection.close()
            raise
        if not is_new and found != SCHEMA:
            connection.close()
            refuse(self.name, "its tables are not those of an index")
        return connection

    def _patiently(self, action: Callable[[], Result]) -> Result:
        """Do something in turn, again if another process is in the way; whatever SQLite objects to gets one line."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with _TURN, _one_line_errors(self.path):
                try:
                    return action()
                except sqlite3.OperationalError as error:
                    if time.monotonic() > deadline:
                        raise
                    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
                        self._undo()
                    elif _code(error) != sqlite3.SQLITE_BUSY:
                        raise
            time.sleep(PAUSE_S)

    def _undo(self) -> None:
        """Undo a change that a killed process had begun; a read-only connection cannot."""
        try:
            self._connect("rw").close()
        except sqlite3.OperationalError as error:
            if _code(error) == sqlite3.SQLITE_BUSY:
                return
            what = "a change of it was cut off, and is undone when it is opened where it can be written"
            raise PermissionError(errno.EACCES, what, str(self.path)) from None


def _close(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


def keys_of(i: int, length: int) -> Sequence[int]:
    """Which rows hold the features of a space."""
    return (i,) if length <= PART_BYTES else range(i, i + MAX_ID * -(-length // PART_BYTES), MAX_ID)


def parts_of(i: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """What these rows hold."""
    for k, key in enumerate(keys_of(i, len(data))):
        yield key, data[k * PART_BYTES : (k + 1) * PART_BYTES]


def _put(connection: sqlite3.Connection, part: int, data: bytes) -> None:
    connection.execute("REPLACE INTO about VALUES (?, ?, ?)", (part, data, checksum(data)))


def _checked_part(found: Any, name: str) -> bytes:
    data, stored = found or (None, None)
    if not isinstance(data, bytes) or checksum(data) != stored:
        refuse(name, "its header is not the one that was saved")
    return data


# -- files that appear whole -----------------------------------------------------------------------------------------


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty file beside `path` to make an index of; when the block ends well, it takes the place of `path`.

    An index that is there is overwritten in one change, which its readers and writers see as any other. Nothing else is
    overwritten.
    """
    target = replaceable(path)
    remove_leftovers(target)
    temporary = new_name(target)
    try:
        with naming(target, temporary):
            yield temporary
            _publish(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def replaceable(path: str | os.PathLike[str]) -> Path:
    """The file behind links, which is an index or is not there yet."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # which leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    with _TURN:
        check_replaceable(target)
    return target


def _publish(temporary: Path, target: Path) -> None:
    with _TURN, _one_line_errors(target):
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        check_replaceable(target)  # others may have put something there meanwhile
        if target.exists():
            _overwrite(temporary, target)
            return
        temporary.replace(target)


def _overwrite(source: Path, target: Path) -> None:
    """Let an index take the place of another in one change."""
    deadline = time.monotonic() + PATIENCE_S

    def look_at_the_clock(status: int, *_: int) -> None:
        if status == sqlite3.SQLITE_BUSY and time.monotonic() > deadline:
            raise AnchorotError(f"{target.name}: {BUSY}")

    try:
        with closing(IndexFile(source)._connect("ro")) as new, closing(IndexFile(target)._connect("rw")) as old:
            new.backup(old, progress=look_at_the_clock, sleep=PAUSE_S)
    except (sqlite3.DatabaseError, UnicodeDecodeError, InputError) as error:
        if isinstance(error, sqlite3.OperationalError):  # as when the disk is full
            raise
        # Nothing of a damaged index is worth keeping, but its journal would be played back into the new one.
        target.with_name(f"{target.name}-journal").unlink(missing_ok=True)
        source.replace(target)


# -- errors ----------------------------------------------------------------------------------------------------------


def _code(error: Exception) -> int:
    """The primary code of an error, 0 if SQLite has none for it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Say in one line what SQLite objects to."""
    try:
        yield
    except SQLITE_ERRORS as error:
        code = _code(error)
        if code == sqlite3.SQLITE_BUSY:
            raise AnchorotError(f"{path.name}: {BUSY}") from None
        if code == sqlite3.SQLITE_NOMEM:
            raise MemoryError(f"{path.name}: {error}") from None
        if code in OS_ERRORS:
            number = OS_ERRORS[code]
            raise OSError(number, f"{os.strerror(number)} ({error})", str(path)) from None
        refuse(path.name, f"SQLite says: {error}")
