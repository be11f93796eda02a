"""Anchor features on disk: comparing two spaces reads the bytes of those two and no others."""

import os
import zlib
from typing import Any, NamedTuple

import numpy as np

from anchorot._kernels.records import Events
from anchorot.anchors.features import AnchorFeatures
from anchorot.search.checks import are_sound, refuse
from anchorot.search.handle import Handle
from anchorot.search.sharing import SharedLock

ALIGNMENT = 8  # of every record
LEVEL: dict[int, np.dtype[np.floating[Any]]] = {4: np.dtype("<f4"), 8: np.dtype("<f8")}  # by item_bytes
POSITION, JUMP, ROW = np.dtype("<f8"), np.dtype("<i8"), np.dtype("<u4")


class Record(NamedTuple):
    """Where a space's features lie in a store, and what they are."""

    offset: int
    length: int  # in bytes
    anchors: int
    item_bytes: int  # of a level: 4 or 8; 0 for events
    crc: int


class Saved(NamedTuple):
    """The records of a saved index: a part of its file."""

    handle: Handle
    start: int
    length: int
    name: str  # what errors call the file


class _File(NamedTuple):
    """A file with the records from one offset of the store on, up to those of the next file."""

    offset: int
    handle: Handle
    start: int  # where in the file that offset is


class FeatureStore:
    """Records of features: those of a saved index, never written to, and after them new ones in a file of no name.

    Threads may read and append at the same time. After a fork both processes still read what was there before, and what
    the child appends goes to a file of its own.

    Parameters
    ----------
    robust : bool
        Whether the features are of ranks.
    saved : Saved, optional
        Saved records. They are checked when they are first read, and again once their file has changed.
    folder : path, optional
        Where new records go; the system's temporary folder by default. The space is given back when the store, or the
        process, is gone.
    """

    def __init__(self, robust: bool, saved: Saved | None = None, folder: str | os.PathLike[str] | None = None) -> None:
        self.robust = robust
        self._saved = saved
        self._name = "" if saved is None else saved.name
        self._folder = folder
        self._checked: set[int] = set()  # offsets of saved records
        self._stamp = None if saved is None else saved.handle.stamp
        self._files: tuple[_File, ...] = () if saved is None else (_File(0, saved.handle, saved.start),)
        self._size = 0 if saved is None else saved.length
        self._appending = SharedLock()
        self._writer: int | None = None  # the process that the last file belongs to

    def append(self, features: AnchorFeatures) -> Record:
        """Write features to the end of the store."""
        data = b"".join(part.tobytes() for part in _arrays(features))
        item_bytes = 0 if features.levels is None else features.levels.itemsize
        anchors = len(features.events.mass) if features.levels is None else features.levels.shape[1]
        with self._appending.exclusive():
            if self._writer != os.getpid():
                self._files = (*self._files, _File(self._size, Handle.temporary(self._folder), 0))
                self._writer = os.getpid()
            file = self._files[-1]
            file.handle.write(self._size - file.offset, data.ljust(padded(len(data)), b"\0"))
            record = Record(self._size, len(data), anchors, item_bytes, zlib.crc32(data))
            self._size += padded(len(data))
        return record

    def bytes_of(self, record: Record) -> bytes:
        """The bytes of a record."""
        file = self._files[-1]
        if file.offset > record.offset:
            file = next(file for file in reversed(self._files) if file.offset <= record.offset)
        data = file.handle.read(file.start + record.offset - file.offset, record.length)
        is_saved = self._saved is not None and file.handle is self._saved.handle
        if is_saved and (record.offset not in self._checked or len(data) != record.length):
            self._check(record, data)
        return data

    def read(self, record: Record) -> AnchorFeatures:
        """The features of a record."""
        return self._parse(record, self.bytes_of(record))

    def notice_changes(self) -> None:
        """Check saved records again if their file has changed. For once a query: it takes as long as reading one."""
        if self._saved is not None and (stamp := self._saved.handle.stamp) != self._stamp:
            self._checked.clear()
            self._stamp = stamp

    def _check(self, record: Record, data: bytes) -> None:
        what = f"the features at byte {record.offset} are not"
        if len(data) != record.length or zlib.crc32(data) != record.crc:
            refuse(self._name, f"{what} those that were saved")
        if not are_sound(self._parse(record, data)):
            refuse(self._name, f"{what} sorted costs of points whose weights have the sum 1")
        self._checked.add(record.offset)

    def _parse(self, record: Record, data: bytes) -> AnchorFeatures:
        if record.item_bytes:
            levels = np.frombuffer(data, LEVEL[record.item_bytes]).reshape(-1, record.anchors)
            return AnchorFeatures(levels=levels, robust=self.robust)
        count = (record.length - 8 * record.anchors) // 20
        position = np.frombuffer(data, POSITION, count)
        jump = np.frombuffer(data, JUMP, count, 8 * count)
        mass = np.frombuffer(data, POSITION, record.anchors, 16 * count)
        row = np.frombuffer(data, ROW, count, 16 * count + 8 * record.anchors)
        return AnchorFeatures(events=Events(position, row, jump, mass), robust=self.robust)


def padded(length: int) -> int:
    """Bytes that a record of this length takes up."""
    return -(-length // ALIGNMENT) * ALIGNMENT


def _arrays(features: AnchorFeatures) -> tuple[np.ndarray, ...]:
    """What is written of features, 8-byte numbers first."""
    if features.levels is not None:
        return (features.levels,)
    position, row, jump, mass = features.events
    return position, jump, mass, row
