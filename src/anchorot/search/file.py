"""An index is one SQLite file; changes are atomic, even with concurrent readers and writers or killed processes.

    about       part 0: the header in JSON; part 1: the directions that vectors are coordinates along; with checksums
    spaces      a row per space: an entry that describes its features, its name, its vector, and a checksum
    features    the bytes of a space's features, or of its costs, in several rows if they are long
    removed     ids of removed spaces, in order of removal, so that readers can follow

While the header keeps its key, rows of spaces and features never change, and ids are never reused. So a reader needs
no lock between reading vectors and reading features: either a row is as expected, or it is missing.

The journal is SQLite's rollback journal. The write-ahead log needs memory shared by all readers, which a cluster's file
system and a read-only folder do not provide. Nothing is memory-mapped: truncating a mapped file would kill the process.
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

from anchorot.exceptions import AnchorotError, InputError
from anchorot.io.atomic import long_file_beside, remove_leftovers
from anchorot.search.file_format import (
    MAX_ID,
    Batch,
    Header,
    are_sound,
    checked_batch,
    checksum,
    unpack,
)
from anchorot.search.preprocessing import Kept
from anchorot.search.sqlite_files import (
    APPLICATION,
    PAGE_BYTES,
    VERSION,
    VERSION_OF_ENERGIES,
    check_companions,
    check_is_index,
    check_replaceable,
    naming,
    refuse,
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
TIMEOUT_S = 60  # to wait for another process that writes
PAUSE_S = 0.01  # between two tries

BUSY = "another process is changing the index, or still reading it; try again"
OS_ERRORS = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
}
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # the latter if its message quotes damaged bytes
DEFENSIVE = 1010  # SQLITE_DBCONFIG_DEFENSIVE; Python >= 3.12 can set it
SETTINGS = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "secure_delete = OFF")
CACHE_KB = 1 << 16  # memory of a change: pages that are written before its end are synchronised one by one

Result = TypeVar("Result")

# One thread at a time uses SQLite, and forks wait for it: a child would inherit held locks or a half-made change. Only
# a small part of a query holds the lock. Opening the file in any other way needs the lock too, since closing a file
# releases all locks that the process has on it.
_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class StaleError(Exception):
    """The index has changed since its header was read: read the header again."""


class IndexFile:
    """The file of an index, open in this process.

    Parameters
    ----------
    path : path
        Location of the file.
    is_kept : bool
        Whether it must survive a system failure; False for files that are temporary or still being written.
    """

    def __init__(self, path: str | os.PathLike[str], is_kept: bool = True) -> None:
        self.path = Path(path).absolute()
        self.name = self.path.name
        self._is_kept = is_kept
        self._process = os.getpid()
        self._readers: list[sqlite3.Connection] = []  # empty, or the one connection for reading
        weakref.finalize(self, _close, self._readers)
        self._real = self.path  # with links resolved
        self._opened: tuple[int, ...] = ()  # process and file state when the reader was opened
        self._sound: set[int] = set()  # ids of features that were checked since then
        self._header: tuple[Any, Header] | None = None  # the last one that was read

    @classmethod
    def create(cls, path: Path, header: Header) -> "IndexFile":
        """Turn an empty file into an index."""
        file = cls(path, is_kept=False)
        with _LOCK, _one_line_errors(path), closing(file._connect("rw", is_new=True)) as connection:
            for setting in (f"page_size = {PAGE_BYTES}", "auto_vacuum = INCREMENTAL"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {int.from_bytes(APPLICATION)}")
            version = VERSION_OF_ENERGIES if header.view.bounded.is_energy else VERSION
            connection.execute(f"PRAGMA user_version = {version}")
            _put(connection, 0, header.to_bytes())
            _put(connection, 1, header.encoder.to_bytes())
            connection.execute("COMMIT")
        return file

    # -- reading -----------------------------------------------------------------------------------------------------

    def header(self) -> Header:
        """The current header."""
        return self._read(lambda _, now: now)

    def batches(self, header: Header, first: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Spaces of a state of the index with ids from `first` on and below `stop`, in batches."""
        end = header.next_id if stop is None else min(stop, header.next_id)
        query = f"SELECT * FROM spaces WHERE id >= ? AND id < ? ORDER BY id LIMIT {BATCH_ROWS}"
        while rows := self._select(header, query, first, end):
            batch = checked_batch(rows, header, first, self.name)
            first = rows[-1][0] + 1
            yield batch

    def removed(self, header: Header, since: int) -> list[tuple[int, int]]:
        """Ids of the spaces removed after the first `since` removals, and the checksums of their rows."""
        query = "SELECT id, checksum FROM removed WHERE place >= ? AND place < ?"
        found = self._select(header, query, since, header.n_removed)
        if not all(isinstance(number, int) for row in found for number in row):
            refuse(self.name, "its list of removed spaces is damaged")
        return found

    def _select(self, header: Header, query: str, *arguments: int) -> list[Any]:
        return self._read(lambda connection, _: connection.execute(query, arguments).fetchall(), header)

    def kept(self, header: Header, entries: np.ndarray) -> list[Kept]:
        """What is kept of some spaces of a state of the index."""
        kinds = zip(
            self.data(header, entries), entries["anchors"].tolist(), entries["item_bytes"].tolist(), strict=True
        )
        return [unpack(*kind, header.view) for kind in kinds]

    def data(self, header: Header, entries: np.ndarray) -> list[bytes]:
        """The bytes of the features of some spaces; on the first read they are checked to be safe for the kernels."""
        wanted = entries.tolist()
        keys = [key for i, length, *_ in wanted for key in keys_of(i, length)]
        query = f"SELECT id, data FROM features WHERE id IN ({','.join('?' * len(keys))})"  # cached per length

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
        try:
            sound = are_sound(unpack(data, anchors, item_bytes, now.view))
        except InputError:
            sound = False
        if not sound:
            needed = "costs" if now.view.keeps_spaces else "sorted costs"
            refuse(self.name, f"the features of id {i} are not {needed} of points whose weights have the sum 1")
        self._sound.add(i)
        return data

    def refuse_or_retry(self, header: Header, now: Header, what: str) -> NoReturn:
        """Refuse a damaged file; `StaleError` if it has changed since the header was read."""
        if now.state != header.state:
            raise StaleError
        refuse(self.name, what)

    def check_sums(self, header: Header, count: int, total: int) -> None:
        """Check the number of spaces that were read, and the sum of their checksums."""
        if (count, total) != (header.count, header.total):
            what = f"its {count} spaces do not match its header, which lists {header.count}"
            self.refuse_or_retry(header, self.header(), what)

    def _read(self, action: Callable[[sqlite3.Connection, Header], Result], header: Header | None = None) -> Result:
        """Run an action on one state of the file; `StaleError` if the file's key is not the header's."""

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

        return self._retry(attempt)

    def _current_reader(self) -> sqlite3.Connection:
        """A connection of this process to the current file; if the file has changed, features are checked again."""
        opened = self._opened
        try:
            found = os.stat(self.path)
            opened = os.getpid(), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
        except FileNotFoundError:
            if not self._readers:  # else the open connection still reads the deleted file
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
        """Let an action change the file and its header atomically; return the header from before.

        The action may run more than once.
        """

        def attempt() -> Header:
            with closing(self._connect("rw")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA busy_timeout = {1000 * TIMEOUT_S}")  # at the end, for other readers
                before = self._current_header(connection)
                after = action(connection, before)
                _put(connection, 0, after.to_bytes())
                if after.encoder is not before.encoder:
                    _put(connection, 1, after.encoder.to_bytes())
                connection.execute("COMMIT")
            return before

        return self._retry(attempt)

    def compact(self) -> None:
        """Free the disk space of removed spaces, some pages at a time."""

        def attempt() -> int:
            with closing(self._connect("rw")) as connection:
                connection.execute("PRAGMA busy_timeout = 1000")
                # `execute` would run only the first of these statements
                connection.executescript(f"BEGIN IMMEDIATE; PRAGMA incremental_vacuum({VACUUM_PAGES}); COMMIT")
                return int(connection.execute("PRAGMA freelist_count").fetchone()[0])

        while self._retry(attempt):
            pass

    def discard(self) -> None:
        """Remove the file, if this process created it."""
        if os.getpid() == self._process:
            _close(self._readers)
            self.path.unlink(missing_ok=True)

    # -- connections -------------------------------------------------------------------------------------------------

    def _connect(self, mode: str, *, is_new: bool = False) -> sqlite3.Connection:
        """A connection that trusts nothing in the file and does not wait for locks."""
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

    def _retry(self, action: Callable[[], Result]) -> Result:
        """Run an action under the lock; retry while another process blocks it; raise errors in one line."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            with _LOCK, _one_line_errors(self.path):
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
        """Undo the unfinished change of a killed process; a read-only connection cannot."""
        try:
            self._connect("rw").close()
        except sqlite3.OperationalError as error:
            if _code(error) == sqlite3.SQLITE_BUSY:
                return
            what = "an interrupted change must be undone; open the index once with write access"
            raise PermissionError(errno.EACCES, what, str(self.path)) from None


def _close(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


def keys_of(i: int, length: int) -> Sequence[int]:
    """Ids of the rows that hold the features of a space."""
    return (i,) if length <= PART_BYTES else range(i, i + MAX_ID * -(-length // PART_BYTES), MAX_ID)


def parts_of(i: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Ids and contents of these rows."""
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
    """Yield an empty file beside `path` to write an index to; if the block succeeds, it replaces `path`.

    An existing index is overwritten in one change, like any other change to its readers and writers. Other files are
    never overwritten.
    """
    target = replaceable(path)
    remove_leftovers(target)
    temporary = long_file_beside(target)
    try:
        with naming(target, temporary):
            yield temporary
            _publish(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def replaceable(path: str | os.PathLike[str]) -> Path:
    """The path with links resolved; an `InputError` unless it is an index or does not exist yet."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # a loop
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    with _LOCK:
        check_replaceable(target)
    return target


def _publish(temporary: Path, target: Path) -> None:
    with _LOCK, _one_line_errors(target):
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        check_replaceable(target)  # another process may have created it meanwhile
        if target.exists():
            _overwrite(temporary, target)
            return
        temporary.replace(target)


def _overwrite(source: Path, target: Path) -> None:
    """Replace the contents of an index by those of another in one change."""
    deadline = time.monotonic() + TIMEOUT_S

    def check_deadline(status: int, *_: int) -> None:
        if status == sqlite3.SQLITE_BUSY and time.monotonic() > deadline:
            raise AnchorotError(f"{target.name}: {BUSY}")

    try:
        with closing(IndexFile(source)._connect("ro")) as new, closing(IndexFile(target)._connect("rw")) as old:
            new.backup(old, progress=check_deadline, sleep=PAUSE_S)
    except (sqlite3.DatabaseError, UnicodeDecodeError, InputError) as error:
        if isinstance(error, sqlite3.OperationalError):  # as when the disk is full
            raise
        # A damaged index is not worth keeping. Without this its journal would be played back into the new one.
        target.with_name(f"{target.name}-journal").unlink(missing_ok=True)
        source.replace(target)


# -- errors ----------------------------------------------------------------------------------------------------------


def _code(error: Exception) -> int:
    """The primary code of an error, 0 if SQLite has none for it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into errors of one line."""
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
