"""Anchor features on disk, memory-mapped: a pair of spaces reads the bytes of those two and no others."""

import mmap
import os
import tempfile
import weakref
import zlib
from typing import NamedTuple

import numpy as np

from anchorot._kernels.records import Events
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError

ALIGNMENT = 8  # of every record, so that arrays can be used where they lie


class Record(NamedTuple):
    """Where a space's features lie in a store, and what they are."""

    offset: int
    length: int  # in bytes
    anchors: int
    item_bytes: int  # of a level: 4 or 8; 0 for events
    crc: int


class FeatureStore:
    """Records of features: those of a saved index, never written to, and after them new ones in a file of no name.

    Parameters
    ----------
    robust : bool
        Whether the features are of ranks.
    saved : memoryview, optional
        The mapped bytes of saved records. They are checked when they are first read.
    name : str
        What errors call the file that those bytes are from.
    folder : path, optional
        Where new records go; the system's temporary folder by default. The space is given back when the store, or the
        process, is gone.
    """

    def __init__(
        self,
        robust: bool,
        saved: memoryview | None = None,
        name: str = "",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.robust = robust
        self._saved = memoryview(b"") if saved is None else saved
        self._name = name
        self._checked: set[int] = set()  # offsets of saved records
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as the store is
        weakref.finalize(self, self._file.close)
        self._size = 0
        self._mapped = memoryview(b"")

    def append(self, features: AnchorFeatures) -> Record:
        """Write features to the end of the store."""
        parts = _arrays(features)
        data = b"".join(part.tobytes() for part in parts)
        item_bytes = 0 if features.levels is None else features.levels.itemsize
        anchors = len(features.events.mass) if features.levels is None else features.levels.shape[1]
        record = Record(len(self._saved) + self._size, len(data), anchors, item_bytes, zlib.crc32(data))
        self._file.seek(self._size)  # a write that failed may have left the file longer
        self._file.write(data.ljust(padded(len(data)), b"\0"))
        self._size += padded(len(data))
        return record

    def bytes_of(self, record: Record) -> memoryview:
        """The bytes of a record, where they lie."""
        start = record.offset - len(self._saved)
        if start >= 0:
            return self._new(start + record.length)[start : start + record.length]
        data = self._saved[record.offset : record.offset + record.length]
        if record.offset not in self._checked:
            if zlib.crc32(data) != record.crc:
                raise InputError(
                    f"{self._name}: the features at byte {record.offset} are not those that were saved; "
                    "the file is damaged: build the index again"
                )
            self._checked.add(record.offset)
        return data

    def read(self, record: Record) -> AnchorFeatures:
        """The features of a record; their arrays are views of the mapped file."""
        data = self.bytes_of(record)
        if record.item_bytes:
            levels = np.frombuffer(data, f"<f{record.item_bytes}").reshape(-1, record.anchors)
            return AnchorFeatures(levels=levels, robust=self.robust)
        count = (record.length - 8 * record.anchors) // 20
        position, jump = (np.frombuffer(data, t, count, at) for t, at in (("<f8", 0), ("<i8", 8 * count)))
        mass = np.frombuffer(data, "<f8", record.anchors, 16 * count)
        row = np.frombuffer(data, "<u4", count, 16 * count + 8 * record.anchors)
        return AnchorFeatures(events=Events(position, row, jump, mass), robust=self.robust)

    def _new(self, end: int) -> memoryview:
        """The new records, mapped at least up to `end`."""
        if len(self._mapped) < end:
            self._file.flush()
            self._mapped = memoryview(mmap.mmap(self._file.fileno(), self._size, access=mmap.ACCESS_READ))
        return self._mapped


def padded(length: int) -> int:
    """Bytes that a record of this length takes up."""
    return -(-length // ALIGNMENT) * ALIGNMENT


def _arrays(features: AnchorFeatures) -> tuple[np.ndarray, ...]:
    """What is written of features, 8-byte numbers first."""
    if features.levels is not None:
        return (features.levels,)
    position, row, jump, mass = features.events
    return position, jump, mass, row
