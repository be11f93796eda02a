"""Search indexes as files: one file each, which appears whole or not at all. Nothing here ever unpickles.

A file is, in this order: a prefix (what it is, the version of its format, the length and the checksum of the header),
the header in JSON (the grid, and how long each of the following is, with its checksum), the entries, the vectors, the
names, the directions that vectors are coordinates along, and the features. Without directions it is of version 1. The
checksums of the features stand in the entries, one a space, and are looked at when the space is first read: opening an
index reads everything but the features.
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
VERSIONS = 1, 2  # without and with directions
PREFIX = struct.Struct("<8sII16s")  # magic, version, length and checksum of the header
PAGE = 4096  # parts begin at multiples of it
PARTS = ("entries", "vectors", "names")  # then directions, if there are, and features

Bytes = bytes | bytearray | memoryview


def write_file(
    path: str | os.PathLike[str],
    about: Mapping[str, Any],
    parts: Mapping[str, Bytes],
    features: Iterable[bytes],
    n_bytes: int,
) -> None:
    """Write an index: what its header says about it, its parts, and its features, which take `n_bytes` when padded."""
    lengths = {name: len(part) for name, part in parts.items()} | {"features": n_bytes}
    checksums = {name: checksum(part).hex() for name, part in parts.items()}
    text = json.dumps({**about, "lengths": lengths, "checksums": checksums}).encode()
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(PREFIX.pack(MAGIC, VERSIONS["directions" in parts], len(text), checksum(text)) + text)
        for part in parts.values():
            file.write(bytes(-file.tell() % PAGE))
            file.write(part)
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
    seal : str
        A checksum of the header, which has those of all parts but the features.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = Path(path).name
        self._handle = Handle.of(path)
        self.about, end, self.seal = self._header()
        lengths, checksums = self.about.get("lengths"), self.about.get("checksums")
        if not isinstance(lengths, dict) or not _are_lengths(lengths) or not isinstance(checksums, dict):
            refuse(self.name, "its header does not say what follows")
        self._checksums = checksums
        self._places: dict[str, tuple[int, int]] = {}
        for part in lengths:
            start = end + -end % PAGE
            end = start + lengths[part]
            self._places[part] = start, lengths[part]
        if self._handle.stamp[0] != end:
            refuse(self.name, f"it has {self._handle.stamp[0]} bytes, but its header promises {end}")
        self.features = Saved(self._handle, *self._places["features"], self.name)

    def has(self, part: str) -> bool:
        """Whether there is such a part."""
        return part in self._places

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
        if n_bytes != len(out) or checksum(out).hex() != self._checksums.get(part):
            refuse(self.name, f"its {part} are not those that were saved")

    def json(self, part: str) -> Any:
        """Return what a part says that is written in JSON."""
        return self._parse(self.read(part), part)

    def _header(self) -> tuple[dict[str, Any], int, str]:
        """The header, where it ends, and its checksum."""
        prefix = self._handle.read(0, PREFIX.size)
        if len(prefix) < PREFIX.size:
            refuse(self.name, "it is too short to be a search index")
        magic, version, length, seal = PREFIX.unpack(prefix)
        if magic != MAGIC:
            raise InputError(f"{self.name}: not a search index of anchorot")
        if version not in VERSIONS:
            raise InputError(
                f"{self.name}: version {version} of the format, but this anchorot reads up to {VERSIONS[-1]}; "
                "build the index again, or take the anchorot that wrote it"
            )
        text = self._handle.read(PREFIX.size, min(length, self._handle.stamp[0]))
        if checksum(text) != seal:
            refuse(self.name, "its header is not the one that was saved")
        header = self._parse(text, "header")
        if not isinstance(header, dict):
            refuse(self.name, "its header is no JSON object")
        return header, PREFIX.size + length, seal.hex()

    def _parse(self, text: Bytes, what: str) -> Any:
        try:
            return json.loads(bytes(text))
        except (ValueError, RecursionError) as error:
            refuse(self.name, f"its {what} cannot be read ({error})")


def _are_lengths(lengths: dict[str, Any]) -> bool:
    known = (*PARTS, "features"), (*PARTS, "directions", "features")
    return tuple(lengths) in known and all(type(length) is int and 0 <= length < 1 << 62 for length in lengths.values())


def checksum(data: Bytes) -> bytes:
    """128 bits that tell damage."""
    return blake2b(data, digest_size=16).digest()
