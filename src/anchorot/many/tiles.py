"""A matrix of all pairs, cut into tiles: the unit of work, of progress and of a checkpoint.

A checkpoint keeps finished tiles, so that a run that was killed goes on where it was. It is a folder::

    manifest.json             what is compared and how: options, software, digests of all spaces; the tiles' side
    000000-000016.npy         a finished tile, by its first row and column; np.load reads it
    .000016-000016-x7d.npy    a tile that was being written when the run was killed; removed later
    assembled                 a sign that one of several jobs has returned the matrix; `shards` has their other files

Files appear whole, by renaming, and the manifest first, so a run may be killed at any moment. Each tile ends in a seal,
a digest of its values with the manifest as the key: a tile that is damaged, or was made for anything else, is not
taken for finished. Two runs of the same thing may share a folder; they write the same bits. As others may write to the
folder too, no link in it is followed, and only regular files are read or replaced.
"""

import io
import json
import os
import struct
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import InputError, InputWarning
from anchorot.io.atomic import remove_stale, replacing
from anchorot.io.safe_open import opened

MOST_STRIPS = 128  # of tiles, each way: a limit to the number of files of a checkpoint and of tasks of a cluster
QUICK_TILE_BYTES = 1 << 26  # of both spaces of all its pairs: some hundredths of a second
MANY_TILES = 8  # per worker: else some are done long before others
FEW_TILES = 32  # of a checkpoint: enough to resume from, and to share among jobs, where all take a minute
GROWTH_BYTES = 1 << 21  # of a space, times the growth of a tile's area: AE of such a tile takes about a second
LEAST_BYTES = 1 << 15  # that a space counts for: a pair of smaller ones takes as long, 0.03 ms
FORMAT = 2  # of the manifest and of tiles; another one is refused
MANIFEST, ASSEMBLED = "manifest.json", "assembled"
SEAL_BYTES = 32  # a keyed hash of 256 bits
MAX_REST_BYTES = 4096  # bytes that a tile's file may have besides its values
COUNTS = struct.Struct("<qq")  # pairs that did not converge, and that have no value


@dataclass(frozen=True)
class Tile:
    """A block of the matrix.

    Attributes
    ----------
    rows, columns : range
    is_diagonal : bool
        Whether it lies on the diagonal of a symmetric matrix, so that half of its pairs are the other half's mirror.
    """

    rows: range
    columns: range
    is_diagonal: bool = False

    @property
    def n_pairs(self) -> int:
        """Number of pairs of different spaces."""
        n, m = len(self.rows), len(self.columns)
        return n * (n - 1) // 2 if self.is_diagonal else n * m

    @property
    def name(self) -> str:
        """Where the tile begins; unique among the tiles of one side."""
        return f"{self.rows.start:06d}-{self.columns.start:06d}"


class TileValues(NamedTuple):
    """A finished tile."""

    values: Float64s  # NaN for pairs without one: of spaces that cannot be used, and of those that a solver failed on
    n_unconverged: int = 0  # pairs whose value a solver did not finish
    n_failed: int = 0  # pairs of good spaces that have no value


def tile_side(n: int, m: int, least: int) -> int:
    """Side of the tiles of an n x m matrix: `least`, or more where that would make too many tiles."""
    return max(least, -(-max(n, m) // MOST_STRIPS))


def larger_side(side: int, n_bytes: int, n: int, m: int, workers: int) -> int:
    """Side of the tiles of spaces of `n_bytes` each: doubled while tiles stay quick, and enough for all workers."""
    while 2 * (2 * side) ** 2 * n_bytes <= QUICK_TILE_BYTES and n * m >= MANY_TILES * workers * 2 * (2 * side) ** 2:
        side *= 2
    return side


def checkpoint_side(side: int, least: int, n_bytes: int, n: int, m: int) -> int:
    """Side of the tiles of a new checkpoint: doubled while tiles stay quick, so that small work makes few files.

    It depends on the spaces alone: jobs that begin together, on whatever machines, must agree.
    """
    growth = GROWTH_BYTES / max(n_bytes, LEAST_BYTES)
    while (2 * side / least) ** 2 <= growth and n * m >= FEW_TILES * 2 * (2 * side) ** 2:
        side *= 2
    return side


def pieces(part: range, size: int) -> list[range]:
    """Cut a range into ranges of length `size`, the last of which may be shorter."""
    return [part[start : start + size] for start in range(0, len(part), size)]


def runs(sizes: Iterable[int], limit: int, most: int | None = None) -> Iterator[slice]:
    """Cut things of these sizes into runs that fit into `limit`, of at most `most`; each has at least one of them."""
    start, total, end = 0, 0, 0
    for k, size in enumerate(sizes):
        if k > start and (total + size > limit or k - start == most):
            yield slice(start, k)
            start, total = k, 0
        total, end = total + size, k + 1
    if end > start:
        yield slice(start, end)


def walk_tiles(n: int, m: int | None, side: int, sizes: Sequence[int], limit: int) -> Iterator[Tile]:
    """Yield the tiles of an n x m matrix, or of the upper triangle of an n x n one if m is None.

    They come in an order that needs few spaces at a time: a band of rows, as high as fits into `limit` where row i
    takes `sizes[i]`, stays while all columns pass by. So spaces that do not fit are loaded once per band, not per tile.
    """
    rows, columns = pieces(range(n), side), pieces(range(n if m is None else m), side)
    for band in runs((sum(sizes[row.start : row.stop]) for row in rows), limit):
        for column in columns:
            for row in rows[band]:
                if m is not None or row.start <= column.start:
                    yield Tile(row, column, is_diagonal=m is None and row == column)


# -- finished tiles on disk --------------------------------------------------------------------------------------------


class Checkpoint:
    """An open checkpoint of one run; see the module for what is on disk."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder, self.assembled = folder, folder / ASSEMBLED
        self._key = blake2b(_text(manifest).encode(), digest_size=SEAL_BYTES).digest()

    @classmethod
    def open(cls, folder: Path, run: dict[str, Any], side: int) -> "Checkpoint":
        """Begin a checkpoint, or go on with one if it is of the same run; an `InputError` says what differs."""
        wanted = {"format": FORMAT, "side": side, **run}
        found = read_manifest(folder)
        if found is None:
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(folder / MANIFEST, follows_links=False, unless_there=True) as temporary:
                temporary.write_text(_text(wanted))
            found = read_manifest(folder)  # another run may have been quicker
        if difference := _difference(found or {}, wanted):
            raise InputError(f"checkpoint {folder} is of another run: {difference}; take another folder, or delete it")
        remove_stale([*folder.glob(".*-*.npy"), *folder.glob(".manifest-*.json")])
        return cls(folder, wanted)

    def missing(self, tiles: Iterable[Tile]) -> list[Tile]:
        """Tiles that have no file, without a look into those of others."""
        names = set(os.listdir(self.folder))
        return [tile for tile in tiles if self.path(tile).name not in names]

    def path(self, tile: Tile) -> Path:
        """Where a tile is when it is finished."""
        return self.folder / f"{tile.name}.npy"

    def read(self, tile: Tile) -> TileValues | None:
        """Return a tile that was finished before; None if it was not, or if its file is damaged, with a warning."""
        path = self.path(tile)
        try:
            found = self._opened(tile, _content(path, 8 * len(tile.rows) * len(tile.columns) + MAX_REST_BYTES))
        except FileNotFoundError:
            return None
        if found is None:
            warnings.warn(f"{path}: the file is damaged; the tile is computed again", InputWarning, stacklevel=4)
        return found

    def write(self, tile: Tile, found: TileValues) -> None:
        """Put a finished tile on disk, whole or not at all."""
        buffer = io.BytesIO()
        np.save(buffer, found.values)
        buffer.write(COUNTS.pack(found.n_unconverged, found.n_failed))
        body = buffer.getvalue()
        with replacing(self.path(tile), follows_links=False) as temporary:
            temporary.write_bytes(body + self._seal(tile, body))

    def _opened(self, tile: Tile, content: bytes) -> TileValues | None:
        """The values in a tile's file, if it has a seal that fits and values that a tile can have."""
        body = content[:-SEAL_BYTES]
        if len(body) < COUNTS.size or content[-SEAL_BYTES:] != self._seal(tile, body):
            return None
        values = _values(body[: -COUNTS.size], (len(tile.rows), len(tile.columns)))
        counts = COUNTS.unpack(body[-COUNTS.size :])
        if values is None or np.isinf(values).any() or not all(0 <= count <= values.size for count in counts):
            return None
        return TileValues(values, *counts)

    def _seal(self, tile: Tile, body: bytes) -> bytes:
        place = f"{tile.name} {len(tile.rows)} x {len(tile.columns)} "
        return blake2b(place.encode() + body, key=self._key, digest_size=SEAL_BYTES).digest()


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a checkpoint, or None if the folder is empty or not there."""
    try:
        with opened(folder / MANIFEST, follows_links=False) as handle:
            found = json.loads(handle.read())
    except FileNotFoundError:
        names = sorted(path.name for path in folder.glob("[!.]*"))
        if MANIFEST in names:
            return read_manifest(folder)  # it appeared just now
        if names:
            raise InputError(
                f"checkpoint {folder}: the folder holds {names[0]} but no {MANIFEST}; take a new or empty one"
            ) from None
        return None
    except NotADirectoryError:
        raise InputError(f"checkpoint {folder} is a file, but a folder is needed") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"checkpoint {folder}: {MANIFEST} is damaged ({error}); delete the folder") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"checkpoint {folder}: {MANIFEST} is not of this version of anchorot; take another folder")
    return found


def _content(path: Path, most: int) -> bytes:
    """What is in a tile's file; nothing if that cannot be a tile."""
    with opened(path, follows_links=False) as file:
        content = file.read(most + 1)
    return content if len(content) <= most else b""


def _values(data: bytes, shape: tuple[int, int]) -> Float64s | None:
    """The array of an .npy file if that is of float64 and of this shape; other headers are not so much as parsed."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    start, n_bytes = header.tell(), 8 * shape[0] * shape[1]
    if len(data) != start + n_bytes or not data.startswith(header.getvalue()):
        return None
    return np.frombuffer(data, "<f8", offset=start).reshape(shape)


def _text(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=0, sort_keys=True)


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Say what is not the same, or nothing; all values come from JSON or could."""
    for name in sorted(found.keys() | wanted.keys()):
        there, here = found.get(name), wanted.get(name)
        if there == here:
            continue
        if isinstance(there, dict) and isinstance(here, dict):
            return _difference(there, here)
        if not (isinstance(there, list) and isinstance(here, list)):
            return f"{name} is {there!r} there and {here!r} here"
        if len(there) != len(here):
            return f"it has {len(there)} {name}, and here are {len(here)}"
        changed = [i for i, (a, b) in enumerate(zip(there, here, strict=True)) if a != b]
        return f"{len(changed)} of the {name} have changed, the first {name}[{changed[0]}]"
    return ""
