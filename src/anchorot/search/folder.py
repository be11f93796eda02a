"""An index in a folder: shards, each a file that is never written to again, and a list of those that count.

    shapes.index/
      shards.json         the list, with a checksum: files, which of their spaces are gone, the next id
      000000-3f9a2c.part  a shard, itself an index file; its first id, and letters that make its name new
      lock                held while the list is replaced

Every change writes new shards, if any, under new names, then replaces the list by a rename. A process that is killed
leaves the old list or the new one; shards that no list names are removed an hour later by who changes the index next.
"""

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from anchorot.exceptions import InputError
from anchorot.io.atomic import remove_stale, replacing
from anchorot.search.checks import LARGEST_ID, checked_reading, refuse
from anchorot.search.file import IndexFile, checksum
from anchorot.search.shard import Common, Shard

LIST, LOCK, ENDING = "shards.json", "lock", ".part"
VERSION = 1


class Part(NamedTuple):
    """A shard in a folder."""

    file: str
    seal: str  # a checksum of its header
    spaces: int  # in the file
    removed: tuple[int, ...] = ()  # ids of those that are gone


@dataclass(frozen=True)
class Listing:
    """What a folder's list says."""

    parts: tuple[Part, ...] = ()
    next_id: int = 0
    reading: dict[str, Any] | None = field(default=None)

    def packed(self) -> bytes:
        """As a file: JSON with a checksum of itself."""
        content = {
            "version": VERSION,
            "next_id": self.next_id,
            "reading": self.reading,
            "parts": [part._asdict() for part in self.parts],
        }
        return json.dumps({"content": content, "seal": _seal(content)}).encode()

    @classmethod
    def unpacked(cls, data: bytes, name: str) -> Self:
        """What a file holds, or an `InputError`."""
        try:
            whole = json.loads(data)
            content, seal = whole["content"], whole["seal"]
            version = content["version"]
        except (ValueError, RecursionError, TypeError, KeyError):
            refuse(name, f"its {LIST} cannot be read")
        if version != VERSION:
            raise InputError(f"{name}: version {version!r} of the format, but this anchorot reads version {VERSION}")
        if seal != _seal(content):
            refuse(name, f"its {LIST} is not the one that was saved")
        return cls._checked(content, name)

    @classmethod
    def _checked(cls, content: dict[str, Any], name: str) -> Self:
        """What a list says if it says what lists can say: checksums tell damage, but no bad intent."""
        try:
            parts = tuple(Part(**part | {"removed": tuple(part["removed"])}) for part in content["parts"])
            numbers = [content["next_id"], *(i for part in parts for i in (part.spaces, *part.removed))]
            sound = all(type(number) is int and 0 <= number <= LARGEST_ID for number in numbers)
            sound = sound and len(parts) > 0 and all(Path(part.file).name == part.file for part in parts)
        except (TypeError, KeyError, ValueError, AttributeError):
            sound = False
        if not sound:
            refuse(name, f"its {LIST} says what no index can")
        return cls(parts, content["next_id"], checked_reading(content.get("reading"), name))


class Folder:
    """The files of an index.

    Attributes
    ----------
    path : Path
        Where they are.
    listing : Listing
        What was last read or written.
    """

    def __init__(self, path: Path, listing: Listing) -> None:
        self.path = path
        self.listing = listing

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open an index that is there."""
        folder = Path(path).absolute()
        return cls(folder, _current(folder))

    @classmethod
    def new(cls, path: str | os.PathLike[str]) -> Self:
        """Make a folder for an index, or take the folder of one that is to be replaced; nothing else is overwritten."""
        folder = Path(path).absolute()
        folder.mkdir(exist_ok=True)
        if (folder / LIST).exists():
            return cls(folder, _current(folder))
        if any(file.suffix != ENDING and file.name[0] != "." and file.name != LOCK for file in folder.iterdir()):
            raise InputError(f"{folder.name}: holds other files; an index takes a folder of its own")
        return cls(folder, Listing())

    def write(self, shard: Shard, common: Common) -> Part:
        """Write a shard that no list names yet."""
        first = int(shard.ids[0]) if len(shard) else common.next_id
        file = f"{first:06d}-{secrets.token_hex(3)}{ENDING}"
        shard.write(self.path / file, common)
        return Part(file, IndexFile(self.path / file).seal, len(shard))

    def discard(self, parts: Iterable[Part]) -> None:
        """Remove shards that no list names, and a folder that holds nothing else."""
        for part in parts:
            (self.path / part.file).unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()

    def read(self, part: Part) -> tuple[Shard, Common]:
        """Open a shard, without the spaces that are gone."""
        try:
            file = IndexFile(self.path / part.file)
        except FileNotFoundError:
            refuse(self.path.name, f"{part.file} is missing")
        if file.seal != part.seal:
            refuse(self.path.name, f"{part.file} is not the file that was saved")
        shard, common = Shard.load(file)
        if len(shard) != part.spaces:
            refuse(self.path.name, f"{part.file} has {len(shard)} spaces, but {LIST} says {part.spaces}")
        shard.remove(shard.places(np.array(part.removed, dtype=np.int64)))
        return shard, common

    def is_changed(self) -> bool:
        """Whether another process has written another list."""
        return (_current(self.path) if (self.path / LIST).exists() else Listing()) != self.listing

    def replace(self, listing: Listing) -> None:
        """Let another list count from now on, unless another process has changed it meanwhile."""
        with self._locked():
            if self.is_changed():
                raise InputError(f"{self.path.name}: another process has changed the index; load it again")
            with replacing(self.path / LIST) as temporary:
                temporary.write_bytes(listing.packed())
            gone = {part.file for part in self.listing.parts} - {part.file for part in listing.parts}
            self.listing = listing
            self._sweep(gone)

    def _sweep(self, gone: set[str]) -> None:
        """Remove shards that were replaced, and those that a killed process left."""
        named = {part.file for part in self.listing.parts}
        remove_stale(file for file in self.path.iterdir() if file.name not in {LIST, LOCK, *named})
        for name in gone:
            (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import fcntl  # not everywhere

        with (self.path / LOCK).open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _current(folder: Path) -> Listing:
    try:
        data = (folder / LIST).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{folder.name}: a folder without {LIST}, but an index in a folder has one") from None
    return Listing.unpacked(data, folder.name)


def _seal(content: dict[str, Any]) -> str:
    return checksum(json.dumps(content).encode()).hex()
