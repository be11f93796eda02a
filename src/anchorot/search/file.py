"""Search indexes as files: one file each, which appears whole or not at all. Nothing here ever unpickles.

A file is, in this order: a prefix (what it is, the version of its format, the length and the checksum of the header),
the header in JSON (the grid, and how long each of the following is, with its checksum), the entries, the vectors, the
names and the features. The checksums of the features stand in the entries, one a space, and are looked at when the
space is first read: opening an index reads everything but the features.
"""

import json
import os
import struct
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from anchorot.exceptions import InputError
from anchorot.io.atomic import replacing
from anchorot.search.checks import refuse
from anchorot.search.handle import Handle
from anchorot.search.store import Saved, padded

MAGIC = b"anchorot"
VERSION = 1
PREFIX = struct.Struct("<8sII16s")  # magic, version, length and checksum of the header
PAGE = 4096  # parts begin at multiples of it
PARTS = ("entries", "vectors", "names")  # and features

Bytes = bytes | bytearray | memoryview


def write_file(
    path: str | os.PathLike[str],
    about: Mapping[str, Any],
    parts: Mapping[str, Bytes],
    features: Iterable[bytes],
    n_bytes: int,
) -> None:
    """Write an index: what its header says about it, its parts, and its features, which take `n_bytes` when padded."""
    lengths = {name: len(parts[name]) for name in PARTS} | {"features": n_bytes}
    checksums = {name: _checksum(parts[name]).hex() for name in PARTS}
    text = json.dumps({**about, "lengths": lengths, "checksums": checksums}).encode()
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(PREFIX.pack(MAGIC, VERSION, len(text), _checksum(text)) + text)
        for name in PARTS:
            file.write(bytes(-file.tell() % PAGE))
            file.write(parts[name])
        file.write(bytes(-file.tell() % PAGE))
        for data in features:
            file.write(data)
            file.write(bytes(padded(len(data)) - len(data)))


class IndexFile:
    """An open index file: its header and its length have been checked, a part is when it is read.

    Attributes
    ----------
    name : str
        What errors call it.
    about : dict
        What its header says.
    features : Saved
        Where its features are.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = Path(path).name
        self._handle = Handle.of(path)
        self.about, end = self._header()
        lengths, checksums = self.about.get("lengths"), self.about.get("checksums")
        if not isinstance(lengths, dict) or not _are_lengths(lengths) or not isinstance(checksums, dict):
            refuse(self.name, "its header does not say what follows")
        self._checksums = checksums
        self._places: dict[str, tuple[int, int]] = {}
        for part in (*PARTS, "features"):
            start = end + -end % PAGE
            end = start + lengths[part]
            self._places[part] = start, lengths[part]
        if self._handle.stamp[0] != end:
            refuse(self.name, f"it has {self._handle.stamp[0]} bytes, but its header promises {end}")
        self.features = Saved(self._handle, *self._places["features"], self.name)

    def length(self, part: str) -> int:
        """How many bytes a part has."""
        return self._places[part][1]

    def read(self, part: str) -> bytearray:
        """Return a part."""
        out = bytearray(self.length(part))
        self.read_into(part, memoryview(out))
        return out

    def read_into(self, part: str, out: memoryview) -> None:
        """Read a part to where there is room for it."""
        n_bytes = self._handle.read_into(self._places[part][0], out)
        if n_bytes != len(out) or _checksum(out).hex() != self._checksums.get(part):
            refuse(self.name, f"its {part} are not those that were saved")

    def json(self, part: str) -> Any:
        """Return what a part says that is written in JSON."""
        return self._parse(self.read(part), part)

    def _header(self) -> tuple[dict[str, Any], int]:
        """The header, and where it ends."""
        prefix = self._handle.read(0, PREFIX.size)
        if len(prefix) < PREFIX.size:
            refuse(self.name, "it is too short to be a search index")
        magic, version, length, checksum = PREFIX.unpack(prefix)
        if magic != MAGIC:
            raise InputError(f"{self.name}: not a search index of anchorot")
        if version != VERSION:
            raise InputError(
                f"{self.name}: version {version} of the format, but this anchorot reads version {VERSION}; "
                "build the index again, or take the anchorot that wrote it"
            )
        text = self._handle.read(PREFIX.size, min(length, self._handle.stamp[0]))
        if _checksum(text) != checksum:
            refuse(self.name, "its header is not the one that was saved")
        header = self._parse(text, "header")
        if not isinstance(header, dict):
            refuse(self.name, "its header is no JSON object")
        return header, PREFIX.size + length

    def _parse(self, text: Bytes, what: str) -> Any:
        try:
            return json.loads(bytes(text))
        except (ValueError, RecursionError) as error:
            refuse(self.name, f"its {what} cannot be read ({error})")


def _are_lengths(lengths: dict[str, Any]) -> bool:
    return set(lengths) == {*PARTS, "features"} and all(
        type(length) is int and 0 <= length < 1 << 62 for length in lengths.values()
    )


def _checksum(data: Bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
