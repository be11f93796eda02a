"""Search indexes as files: one file each, which appears whole or not at all. Nothing here ever unpickles.

A file is, in this order: a prefix (what it is, the version of its format, the length and the checksum of the header),
the header in JSON (the grid, and where each of the following lies, with its checksum), the entries, the vectors, the
names and the features. The checksums of the features stand in the entries, one a space, and are looked at when the
space is first read: opening an index reads everything but the features.
"""

import json
import mmap
import os
import struct
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from anchorot.exceptions import InputError
from anchorot.io.atomic import replacing
from anchorot.search.embedding import Grid, signature_length
from anchorot.search.store import FeatureStore, Record, padded

MAGIC = b"anchorot"
VERSION = 1
PREFIX = struct.Struct("<8sII16s")  # magic, version, length and checksum of the header
PAGE = 4096  # parts begin at multiples of it

ENTRY = np.dtype(
    [
        ("id", "<i8"),
        ("offset", "<i8"),  # these five are a Record
        ("length", "<i8"),
        ("anchors", "<u4"),
        ("item_bytes", "<u4"),
        ("crc", "<u4"),
        ("radius", "<f8"),
    ]
)


@dataclass
class IndexContents:
    """All that a search index consists of but its vectors; name k, like vector k, belongs to entry k."""

    grid: Grid
    robust: bool
    next_id: int
    entries: np.ndarray  # of dtype ENTRY, ids ascending
    names: list[str] | None
    store: FeatureStore

    def record(self, place: int) -> Record:
        """Where the features of entry `place` lie."""
        return Record(*self.entries[place].item()[1:6])


def save_index(contents: IndexContents, vectors: NDArray[np.float32], path: str | os.PathLike[str]) -> None:
    """Write an index to a file."""
    entries = contents.entries.copy()
    sizes = [padded(int(length)) for length in entries["length"]]
    entries["offset"] = np.cumsum([0, *sizes])[: len(entries)]
    names = json.dumps(contents.names).encode()
    parts: dict[str, bytes | memoryview] = {
        "entries": entries.tobytes(),
        "vectors": vectors.data.cast("B") if len(vectors) else b"",
        "names": names,
    }
    lengths = {name: len(part) for name, part in parts.items()} | {"features": sum(sizes)}
    header = {
        "shape": contents.grid.shape,
        "low": contents.grid.low,
        "high": contents.grid.high,
        "robust": contents.robust,
        "next_id": contents.next_id,
        "lengths": lengths,
        "checksums": {name: _checksum(part).hex() for name, part in parts.items()},
    }
    text = json.dumps(header).encode()
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(PREFIX.pack(MAGIC, VERSION, len(text), _checksum(text)) + text)
        for part in parts.values():
            file.write(bytes(-file.tell() % PAGE))
            file.write(part)
        file.write(bytes(-file.tell() % PAGE))
        for place, size in enumerate(sizes):
            data = contents.store.bytes_of(contents.record(place))
            file.write(data)
            file.write(bytes(size - len(data)))


def load_index(path: str | os.PathLike[str]) -> tuple[IndexContents, NDArray[np.float32]]:
    """Map the contents and the vectors of a file; all is checked but the features, which are when they are read."""
    file = Path(path)
    data = _mapped(file)
    header, end = _header(file, data)
    parts: dict[str, memoryview] = {}
    for name, length in header["lengths"].items():
        start = end + -end % PAGE
        end = start + length
        parts[name] = data[start:end]
    if len(data) != end:
        _refuse(file, f"it has {len(data)} bytes, but its header promises {end}")
    for name, checksum in header["checksums"].items():
        if _checksum(parts[name]).hex() != checksum:
            _refuse(file, f"its {name} are not those that were saved")
    grid = Grid(tuple(header["shape"]), header["low"], header["high"])
    contents = IndexContents(
        grid=grid,
        robust=header["robust"],
        next_id=header["next_id"],
        entries=np.frombuffer(parts["entries"], ENTRY),
        names=json.loads(bytes(parts["names"])),
        store=FeatureStore(header["robust"], parts["features"], file.name),
    )
    return contents, np.frombuffer(parts["vectors"], np.float32).reshape(-1, signature_length(grid))


def _mapped(file: Path) -> memoryview:
    with file.open("rb") as handle:
        if os.fstat(handle.fileno()).st_size < PREFIX.size:
            _refuse(file, "it is too short to be a search index")
        return memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))


def _header(file: Path, data: memoryview) -> tuple[dict[str, Any], int]:
    """The header, and where it ends."""
    magic, version, length, checksum = PREFIX.unpack(data[: PREFIX.size])
    if magic != MAGIC:
        raise InputError(f"{file.name}: not a search index of anchorot")
    if version != VERSION:
        raise InputError(
            f"{file.name}: version {version} of the format, but this anchorot reads version {VERSION}; "
            "build the index again, or take the anchorot that wrote it"
        )
    end = PREFIX.size + length
    text = bytes(data[PREFIX.size : end])
    if _checksum(text) != checksum:
        _refuse(file, "its header is not the one that was saved")
    return json.loads(text), end


def _checksum(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _refuse(file: Path, what: str) -> NoReturn:
    raise InputError(f"{file.name}: {what}; the file is damaged: build the index again")
