"""Adding spaces to an index file, and removing them."""

import os
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._parallel import Threads
from anchorot._typing import Int64s
from anchorot.anchors.batches import each_loaded, in_batches, makes_costs
from anchorot.anchors.encoder import Encoder, can_learn, check_cells
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid, span_of, span_of_all
from anchorot.exceptions import InputError
from anchorot.io.atomic import naming
from anchorot.io.files import Readers
from anchorot.io.options import PathLike
from anchorot.many.spaces import Inputs, n_workers
from anchorot.many.tiles import runs
from anchorot.rows import Rows
from anchorot.search.file import BATCH_ROWS, IndexFile, StaleError, keys_of, parts_of
from anchorot.search.file_format import (
    ENTRY,
    Batch,
    Header,
    Row,
    checked_batch,
    make_row,
    pack,
    unpack,
)
from anchorot.search.preprocessing import Kept, View
from anchorot.space import Space

FIRST_SPACES = 1 << 16  # used to learn the range of costs and the directions
NEXT_SPACES = 1 << 10  # written together after these
COPY_BYTES = 1 << 26  # of features, copied together
ENCODED_BYTES = 1 << 24  # of features, whose vectors are computed together
SPOOL_BYTES = 1 << 26  # of features, kept in memory; beyond that in a temporary file

SpaceLike = Space | Rows | AnchorFeatures | ArrayLike
Indexable = SpaceLike | PathLike | Callable[[], SpaceLike | PathLike]


class SpaceLoader:
    """Spaces, features, arrays, paths or functions that return such, loaded on each iteration.

    Parameters
    ----------
    spaces : iterable
        Iterated as often as this is.
    given : dict
        Options of `read`, for paths; an error with anything else.
    otherwise : dict, optional
        Defaults for options that are not in `given`.
    n_jobs : int
        Number of files of a list to read at a time, -1 for one per core; anything else is loaded one by one.
    """

    def __init__(
        self, spaces: Iterable[Any], given: dict[str, Any], otherwise: dict[str, Any] | None = None, n_jobs: int = 1
    ) -> None:
        self._spaces = spaces
        like = Inputs.of([None], None, **{**(otherwise or {}), **given})
        self._like = replace(like, given=tuple(given))
        self._n_workers = n_workers(n_jobs)

    @property
    def n_workers(self) -> int:
        """How many threads there are for what is made of the spaces."""
        return self._n_workers

    def __iter__(self) -> Iterator[Any]:
        spaces = self._spaces
        if makes_costs(spaces) and not self._like.given:
            yield from each_loaded(spaces, self._n_workers)
            return
        if self._n_workers > 1 and isinstance(spaces, list | tuple) and all(map(_is_unread, spaces)):
            inputs = replace(self._like, spaces=spaces, n=len(spaces))
            with Threads(self._n_workers) as threads, Readers(self._n_workers, len(inputs)) as readers:
                load = partial(inputs.load, read=readers.read)
                yield from (space for _, space in threads.map(load, range(len(inputs)), in_order=True))
            return
        for k, x in enumerate(spaces):
            yield replace(self._like, spaces={k: x}, n=k + 1).load(k) if _is_unread(x) or self._like.given else x


def _is_unread(x: Any) -> bool:
    """Whether something has yet to be read or called."""
    return isinstance(x, str | os.PathLike) or callable(x)


# -- spaces that are not in an index yet -----------------------------------------------------------------------------


class Staged:
    """Features of spaces that are not in an index yet; in memory, or in an unnamed file if there are many.

    Attributes
    ----------
    view : View
        How spaces are compared.
    reading : dict or None
        Options that the spaces were read from files with, if all were read with the same.
    spans : list of (float, float)
        The range of each space's costs.
    """

    def __init__(
        self, spaces: Iterable[SpaceLike], view: View, folder: PathLike | None, first: int = 0, threads: int = 1
    ) -> None:
        """Compute features of spaces; errors number spaces from `first`."""
        spool = tempfile.SpooledTemporaryFile(SPOOL_BYTES, dir=None if folder is None else os.fspath(folder))  # noqa: SIM115
        weakref.finalize(self, spool.close)
        self._file = spool
        self.view, self._threads = view, threads
        self.reading: dict[str, Any] | None = None
        self.spans: list[tuple[float, float]] = []
        entries: list[tuple[float, ...]] = []
        for k, (x, ready) in enumerate(self._kept_together(spaces)):
            try:
                kept = view.kept(x) if ready is None else ready
                self.spans.append(span_of(kept))
            except InputError as error:
                raise InputError(f"spaces[{first + k}]: {error}") from None
            data, about = pack(kept)
            with naming(folder or "the folder of temporary files", None):  # the file itself has no name
                spool.write(data)
            self.reading = reading_of(x) if k == 0 or self.reading == reading_of(x) else None
            entries.append((0, *about, 0.0))
        self._entries = np.array(entries, ENTRY)
        self._ends = np.cumsum(self._entries["length"])

    def __len__(self) -> int:
        return len(self._entries)

    def _kept_together(self, spaces: Iterable[SpaceLike]) -> Iterator[tuple[SpaceLike, Kept | None]]:
        """Spaces, with what the index keeps of those that one call could look at."""
        for some in in_batches(spaces):
            yield from zip(some, self.view.kept_together(some, self._threads), strict=True)

    def data(self, place: int) -> bytes:
        """The bytes of the features of a space."""
        length = int(self._entries["length"][place])
        self._file.seek(int(self._ends[place]) - length)
        return self._file.read(length)

    def features(self, place: int) -> AnchorFeatures:
        """The features of a space, or those of its costs."""
        entry = self._entries[place]
        return self.view.features(unpack(self.data(place), int(entry["anchors"]), int(entry["item_bytes"]), self.view))

    def encode(self, encoder: Encoder) -> NDArray[np.float32]:
        """Vectors of all spaces; stores their radii in the entries."""
        vectors = np.empty((len(self), encoder.length), np.float32)
        for part in runs(self._entries["length"].tolist(), ENCODED_BYTES):
            places = range(len(self))[part]
            found = encoder.encode_many([self.features(k) for k in places], self._threads)
            for k, (vector, radius) in zip(places, found, strict=True):
                vectors[k], self._entries["radius"][k] = vector, radius
        return vectors

    def insert(
        self,
        connection: sqlite3.Connection,
        header: Header,
        vectors: NDArray[np.float32],
        names: Sequence[str] | None,
    ) -> Header:
        """Insert all spaces into an index file; return its new header."""
        ids = range(header.next_id, header.next_id + len(self))
        self._entries["id"] = ids
        labels = names or (None,) * len(self)
        rows = (make_row(self._entries[k], labels[k], vectors[k]) for k in range(len(self)))
        return insert(connection, header, ids, rows, map(self.data, range(len(self))))


# -- new files -------------------------------------------------------------------------------------------------------


def write_index(
    path: Path,
    spaces: Iterable[Any],
    names: Sequence[str] | None,
    view: View,
    grid: tuple[int, int] | Grid | Encoder,
    first: int = 0,
    threads: int = 1,
) -> None:
    """Write an index of spaces, whose ids count from `first`, to an empty file.

    `grid` are the cells of the vectors, over the range of all costs; or a grid with a range; or an encoder.
    """
    waiting, done = iter(spaces), 0
    staged = Staged(islice(waiting, FIRST_SPACES), view, path.parent, first, threads)
    encoder = grid if isinstance(grid, Encoder) else choose_encoder(staged, view, grid)
    file = IndexFile.create(path, Header(view, encoder, staged.reading, names is not None, first))

    def insert_next(connection: sqlite3.Connection, header: Header) -> Header:
        some = None if names is None else names[done : done + len(staged)]
        reading = header.reading if header.reading == staged.reading else None
        return replace(staged.insert(connection, header, vectors, some), reading=reading)

    while len(staged) and (names is None or len(names) >= done + len(staged)):
        vectors = staged.encode(encoder)
        file.change(insert_next)
        done += len(staged)
        staged = Staged(islice(waiting, NEXT_SPACES), view, path.parent, first + done, threads)
    check_names(names, done + len(staged) + sum(1 for _ in waiting), names is not None)
    file.change(lambda _, header: header.with_key())


def choose_encoder(staged: Staged, view: View, grid: tuple[int, int] | Grid) -> Encoder:
    """Choose the encoder of an index from its first spaces."""
    if not isinstance(grid, Grid):
        grid = Grid.over((0.0, 1.0) if view.robust and not view.has_types else span_of_all(staged.spans), grid)
    check_cells(grid)
    if view.has_types:
        return Encoder(grid, bounded=view.bounded)
    return Encoder.learn(grid, staged.features, len(staged), view.bounded)


def copy_index(source: IndexFile, path: Path) -> None:
    """Copy one state of an index to an empty file, without the space of removed spaces."""
    while True:
        path.write_bytes(b"")
        with suppress(StaleError):
            header = source.header()
            empty = replace(header, next_id=0, count=0, total=0, n_removed=0, key="")
            source.check_sums(header, *copy_spaces(source, header, IndexFile.create(path, empty)))
            return


def copy_spaces(source: IndexFile, header: Header, target: IndexFile) -> tuple[int, int]:
    """Copy a state of an index to one with smaller ids; return the number of spaces and their sum of checksums."""
    count, total = 0, 0
    for batch in source.batches(header):
        count, total = count + len(batch.rows), total + batch.total
        for part in runs(batch.entries["length"].tolist(), COPY_BYTES):
            rows, data = batch.rows[part], source.data(header, batch.entries[part])
            target.change(partial(insert, ids=[row[0] for row in rows], rows=rows, data=data))
    target.change(lambda _, now: replace(now, next_id=header.next_id).with_key())
    return count, total


def insert(
    connection: sqlite3.Connection, header: Header, ids: Sequence[int], rows: Iterable[Row], data: Iterable[bytes]
) -> Header:
    """Insert spaces, by ascending ids larger than all others; return the new header."""
    total = 0

    def add_up() -> Iterator[Row]:
        nonlocal total
        for row in rows:
            total += row[-1]
            yield row

    connection.executemany("INSERT INTO spaces VALUES (?, ?, ?, ?, ?)", add_up())
    parts = chain.from_iterable(map(parts_of, ids, data))
    connection.executemany("INSERT INTO features VALUES (?, ?)", parts)
    next_id = ids[-1] + 1 if len(ids) else header.next_id
    return replace(header, next_id=next_id, count=header.count + len(ids), total=header.total + total)


def delete(connection: sqlite3.Connection, header: Header, ids: Sequence[int], name: str) -> Header:
    """Remove spaces, given by ascending ids; return the new header. `StaleError` if one is missing."""
    for start in range(0, len(ids), BATCH_ROWS):
        named = ",".join(map(str, ids[start : start + BATCH_ROWS]))
        rows = connection.execute(f"SELECT * FROM spaces WHERE id IN ({named}) ORDER BY id").fetchall()
        if len(rows) < len(ids[start : start + BATCH_ROWS]):
            raise StaleError
        batch = checked_batch(rows, header, 0, name)
        keys = (str(key) for entry in batch.entries.tolist() for key in keys_of(entry[0], entry[1]))
        connection.execute(f"DELETE FROM spaces WHERE id IN ({named})")
        connection.execute(f"DELETE FROM features WHERE id IN ({','.join(keys)})")
        gone = [(header.n_removed + k, row[0], row[-1]) for k, row in enumerate(rows)]
        connection.executemany("INSERT INTO removed VALUES (?, ?, ?)", gone)
        count, total = header.count - len(rows), header.total - batch.total
        header = replace(header, count=count, total=total, n_removed=header.n_removed + len(rows))
    return header


# -- changes of a file -----------------------------------------------------------------------------------------------


def add(file: IndexFile, staged: Staged, names: Sequence[str] | None) -> Int64s:
    """Add spaces, all or none of them; return their ids."""

    def insert_all(connection: sqlite3.Connection, now: Header) -> Header:
        if now.key != header.key:
            raise StaleError
        return staged.insert(connection, now, vectors, names)

    while len(staged):
        header = file.header()
        if header.view != staged.view or header.has_names != (names is not None):
            raise InputError(f"{file.name}: another index has replaced this one; load it again")
        vectors = staged.encode(header.encoder)
        with suppress(StaleError):
            before = file.change(insert_all)
            return before.next_id + np.arange(len(staged))
    return np.empty(0, np.int64)


def adapt(file: IndexFile) -> None:
    """Learn directions, if the index has none yet and enough spaces, and recompute all vectors along them."""

    def features_at(entries: np.ndarray, place: int) -> AnchorFeatures:
        return header.view.features(file.kept(header, entries[place : place + 1])[0])

    def encoded(batch: Batch) -> Iterator[Row]:
        for k, name in enumerate(batch.names or (None,) * len(batch.rows)):
            entry = batch.entries[k].copy()
            vector, entry["radius"] = encoder.encode(features_at(batch.entries, k))
            yield make_row(entry, name, vector)

    def replace_vectors(connection: sqlite3.Connection, now: Header) -> Header:
        if now.state != header.state:
            raise StaleError
        connection.executemany("REPLACE INTO spaces VALUES (?, ?, ?, ?, ?)", rows)
        return replace(header, encoder=encoder, total=sum(row[-1] for row in rows)).with_key()

    while True:
        header = file.header()
        grid, is_learned = header.encoder.grid, header.encoder.directions is not None
        bounded = header.view.bounded
        if is_learned or header.view.has_types or not can_learn(grid, header.count, bounded):
            return
        with suppress(StaleError):
            entries = np.concatenate([batch.entries for batch in file.batches(header)])
            encoder = Encoder.learn(grid, partial(features_at, entries), len(entries), bounded)
            rows = list(chain.from_iterable(map(encoded, file.batches(header))))
            file.change(replace_vectors)


def as_names(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Names of spaces as a tuple, or None."""
    if names is None:
        return None
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise InputError(f"names must be a sequence of strings, but got {names!r}")
    found = tuple(names)
    if not all(isinstance(name, str) for name in found):
        raise InputError("names must be strings")
    return found


def check_names(names: Sequence[str] | None, count: int, has_names: bool) -> None:
    """Check that there is one name per space, if the index has names, and else none."""
    if (names is not None) != has_names:
        raise InputError("the index has names, but got none" if has_names else "got names, but the index has none")
    if names is not None and len(names) != count:
        raise InputError(f"names has {len(names)} entries, but got {count} spaces")


# -- how spaces were read --------------------------------------------------------------------------------------------


def reading_of(x: Any) -> dict[str, Any] | None:
    """Options that a space was read from a file with; None for other spaces."""
    return x.origin.reading if isinstance(x, Space) and x.origin is not None else None


def reading_difference(reading: dict[str, Any] | None, wanted: dict[str, Any] | None) -> str:
    """Describe the options that a space was read with and the index was not; empty if none or unknown."""
    if reading is None or wanted is None:
        return ""
    names = [name for name in {**wanted, **reading} if reading.get(name) != wanted.get(name)]
    return ", ".join(f"{name}={reading.get(name)!r} where the index has {wanted.get(name)!r}" for name in names)
