"""The contents of an index file, and the checks before they are used.

Checksums detect damage, but not malice: the kernels use rows as indices and add up jumps; searches rely on order and on
the norms of vectors. So everything from a file is checked here before use. One attack remains: vectors that do not
belong to the features. Queries then return spaces of the index, but not always the nearest.
"""

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.records import Events, from_heights
from anchorot._typing import Int64s
from anchorot.anchors.bounded import MAX_RADIUS, MIN_RADIUS
from anchorot.anchors.encoder import Directions, Encoder, check_cells
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.exceptions import InputError
from anchorot.io.options import ReadOptions
from anchorot.search.preprocessing import Kept, View, check_metric, view_from_header
from anchorot.search.sqlite_files import refuse
from anchorot.space import Space

MAX_ID = 1 << 48  # ids are below; higher bits number the parts of long features
MAX_LENGTH = 1 << 40  # of the features of a space, in bytes: those of some 300 000 points
SUM_TOLERANCE = 1e-9  # of masses and heights, which were divided by their sums
NORM_TOLERANCE = 1e-2  # of squares that are added up in float32
MOST_POINTS = 1 << 24  # of a space; more would not fit into MAX_LENGTH
COST_TYPES: dict[int, np.dtype[np.floating[Any]]] = {4: np.dtype("<f4"), 8: np.dtype("<f8")}  # by item_bytes
PLAIN_FIELDS = ("reading", "has_names", "next_id", "count", "total", "n_removed", "key")  # of a header
ENTRY = np.dtype(
    [
        ("id", "<i8"),
        ("length", "<i8"),  # of the features, or of the weights (unless uniform) and costs of a space, in bytes
        ("anchors", "<u4"),
        ("item_bytes", "<u4"),  # of a level or a cost: 4 or 8; 0 for events
        ("checksum", "<u4"),  # of the features
        ("radius", "<f8"),  # of the vector
    ]
)


def checksum(data: bytes) -> bytes:
    """A checksum of 128 bits."""
    return blake2b(data, digest_size=16).digest()


# -- the header ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Header:
    """Settings and state of an index.

    Attributes
    ----------
    view : View
        How spaces are compared.
    encoder : Encoder
        Computes the vectors.
    reading : dict or None
        Options that all spaces were read with.
    has_names : bool
        Whether spaces have names.
    next_id : int
        The id of the next space; all ids are below.
    count, total : int
        Number of spaces, and the sum of the checksums of their rows.
    n_removed : int
        Number of spaces removed so far.
    key : str
        Differs between indexes in which one id may have different spaces or vectors.
    """

    view: View
    encoder: Encoder
    reading: dict[str, Any] | None = None
    has_names: bool = False
    next_id: int = 0
    count: int = 0
    total: int = 0
    n_removed: int = 0
    key: str = ""

    @property
    def state(self) -> tuple[str, int, int, int]:
        """Identifies this state among all states of all indexes."""
        return self.key, self.next_id, self.n_removed, self.total

    def with_key(self) -> "Header":
        """The same with a key computed from all other fields."""
        return replace(self, key=checksum(replace(self, key="").to_bytes()).hex())

    def to_bytes(self) -> bytes:
        """The header as stored in a file, without directions."""
        grid, directions = self.encoder.grid, self.encoder.directions
        about = {"shape": grid.shape, "low": grid.low, "high": grid.high, "robust": self.view.robust}
        about |= {"attribute_rule": self.view.to_header(), "widths": None if directions is None else directions.widths}
        about |= {"metric": self.view.bounded.metric, "p": self.view.bounded.p}
        return json.dumps(about | {field: getattr(self, field) for field in PLAIN_FIELDS}).encode()

    @classmethod
    def from_bytes(cls, data: bytes, directions: bytes, name: str) -> "Header":
        """The header of a file; an `InputError` if a value is impossible."""
        try:
            found = json.loads(data)
            if not isinstance(found, dict):
                raise ValueError("not a JSON object")
        except (ValueError, RecursionError) as error:
            refuse(name, f"its header cannot be read ({error})")
        plain: dict[str, Any] = {field: found.get(field) for field in PLAIN_FIELDS}
        for field, value in plain.items():
            kind = type(getattr(cls, field))  # the type of the default
            if field != "reading" and (type(value) is not kind or (kind is int and not 0 <= value < 1 << 62)):
                refuse(name, f"its header says {field}={value!r}")
        if plain["next_id"] > MAX_ID or type(found.get("robust")) is not bool:
            refuse(name, f"its header says next_id={plain['next_id']} and robust={found.get('robust')!r}")
        metric, p = found.get("metric", "ae"), found.get("p", 1)  # files of Anchor Energies used to have neither
        try:
            bounded = check_metric(metric, p)
        except InputError as error:
            refuse(name, f"its header says metric={metric!r} and p={p!r} ({error})")
        try:
            view = view_from_header(found.get("attribute_rule"), found["robust"], bounded)
        except (ValueError, AttributeError) as error:
            refuse(name, f"its header says that points are distinguished by {error}")
        encoder = _checked_encoder(found, directions, view, name)
        return cls(view, encoder, **plain | {"reading": checked_reading(plain["reading"], name)})


def _checked_encoder(found: dict[str, Any], data: bytes, view: View, name: str) -> Encoder:
    shape, low, high, widths = (found.get(field) for field in ("shape", "low", "high", "widths"))
    if not (isinstance(shape, list) and isinstance(low, float) and isinstance(high, float)):
        refuse(name, "its header has no grid")
    try:
        grid = Grid((*shape,), low, high)
        check_cells(grid)
    except InputError as error:
        refuse(name, str(error))
    if widths is None:
        return Encoder(grid, bounded=view.bounded)
    if not isinstance(widths, list) or len(widths) != 2 or not all(type(width) is int for width in widths):
        refuse(name, f"its header says that its directions have {widths} columns")
    try:
        return Encoder(grid, Directions.from_bytes(data, grid, (widths[0], widths[1])), view.bounded)
    except ValueError as error:
        refuse(name, f"its directions cannot be {error}")


def checked_reading(reading: Any, name: str) -> dict[str, Any] | None:
    """Return options of `read`, checked to exist and to have valid values."""
    if reading is None:
        return None
    try:
        options: Any = ReadOptions(**reading)
    except (TypeError, InputError) as error:
        refuse(name, f"its header says that spaces were read with options that do not exist ({error})")
    single = {option: value for option, value in reading.items() if option not in ("features", "columns")}
    plain = all(type(value) in (str, int, float, bool, type(None)) for value in single.values())
    seed = 0 if options.rng is None else options.rng
    if not plain or not isinstance(options.point_metric, str) or type(seed) is not int or seed < 0:
        refuse(name, f"its header says that spaces were read with {reading}")
    return dict(reading)


# -- spaces ----------------------------------------------------------------------------------------------------------


Row = tuple[int, bytes, bytes | None, bytes, int]  # id, one ENTRY, name, vector, and a checksum of these three


class Batch(NamedTuple):
    """Checked spaces from a file: item k of each field belongs to space k, by ascending id."""

    entries: np.ndarray  # of ENTRY
    names: tuple[str, ...] | None
    vectors: NDArray[np.float32]
    total: int  # the sum of the checksums of the rows
    rows: Sequence[Row]  # as stored in the file


def make_row(entry: np.ndarray, name: str | None, vector: NDArray[np.float32]) -> Row:
    """The row of a space. File names may contain bytes that are not text."""
    label = None if name is None else name.encode("utf-8", "surrogatepass")
    parts = entry.tobytes(), label, vector.tobytes()
    return int(entry["id"]), *parts, _row_checksums(*([part] for part in parts))[0]


def _row_checksums(entries: Sequence[Any], names: Sequence[Any], vectors: Sequence[Any]) -> list[int]:
    sums = map(zlib.crc32, vectors, map(zlib.crc32, entries))
    return list(sums if names[0] is None else map(zlib.crc32, names, sums))


def checked_batch(rows: Sequence[Any], header: Header, first: int, name: str) -> Batch:
    """The contents of rows with ids from `first` on, fully checked."""
    columns: tuple[Any, ...] = tuple(zip(*rows, strict=True))
    if not _are_as_saved(columns, header):
        bad = next(row[0] for row in rows if not _are_as_saved([[value] for value in row], header))
        refuse(name, f"the space of id {bad} is not the one that was saved")
    ids, entries = np.array(columns[0], np.int64), np.frombuffer(b"".join(columns[1]), ENTRY)
    vectors = np.frombuffer(b"".join(columns[3]), np.float32).reshape(-1, header.encoder.length)
    checks = _space_checks(entries, vectors, ids, first, header.next_id) | _size_checks(entries, header.view)
    for what, holds in checks.items():
        if not holds.all():
            refuse(name, f"it has spaces with impossible {what}, the first with id {ids[np.argmin(holds)]}")
    try:
        names = tuple(label.decode("utf-8", "surrogatepass") for label in columns[2]) if header.has_names else None
    except UnicodeDecodeError as error:
        refuse(name, f"it has a name that is not text ({error.reason})")
    return Batch(entries, names, vectors, sum(columns[4]), rows)


def _are_as_saved(columns: Sequence[Sequence[Any]], header: Header) -> bool:
    """Whether columns of rows have the right types and lengths, and their checksums."""
    _, entries, names, vectors, stored = columns
    kinds = [{bytes}, {bytes if header.has_names else type(None)}, {bytes}]
    if [set(map(type, column)) for column in (entries, names, vectors)] != kinds:
        return False
    if (set(map(len, entries)), set(map(len, vectors))) != ({ENTRY.itemsize}, {4 * header.encoder.length}):
        return False
    return _row_checksums(entries, names, vectors) == list(stored)


def _space_checks(
    entries: np.ndarray, vectors: NDArray[np.float32], ids: Int64s, first: int, next_id: int
) -> dict[str, NDArray[np.bool_]]:
    """Whether each space passes each check. No check can overflow if those before it pass."""
    length, radius = entries["length"], entries["radius"]
    ascending = np.append(ids[:1] >= first, ids[1:] > ids[:-1])
    return {
        "ids": (entries["id"] == ids) & ascending & (ids < next_id),
        "lengths": (length > 0) & (length <= MAX_LENGTH),
        "radii": (radius >= MIN_RADIUS) & (radius <= MAX_RADIUS),
        "vectors": np.einsum("ij,ij->i", vectors, vectors) <= 1 + NORM_TOLERANCE,
    }


def _size_checks(entries: np.ndarray, view: View) -> dict[str, NDArray[np.bool_]]:
    """Whether the numbers of each space fit its number of anchors."""
    length = entries["length"]
    anchors, item_bytes = (entries[field].astype(np.int64) for field in ("anchors", "item_bytes"))
    is_levels = item_bytes > 0
    if view.keeps_spaces:
        costs = np.minimum(anchors, MOST_POINTS) ** 2 * item_bytes
        fits = (length == costs) | (length == costs + 8 * anchors)
    else:
        numbers = np.where(is_levels, length, length - 8 * anchors)  # bytes of levels, or of events
        unit = np.where(is_levels, anchors * item_bytes, 20)  # bytes of one of them
        fits = (numbers > 0) & (numbers % np.maximum(unit, 1) == 0)
    return {
        "kinds of numbers": (item_bytes == 4) | (item_bytes == 8) | (not view.keeps_spaces and item_bytes == 0),
        "numbers of anchors": (anchors > 0) & fits,
    }


# -- features, and spaces --------------------------------------------------------------------------------------------


def pack(kept: Kept) -> tuple[bytes, tuple[int, int, int, int]]:
    """The bytes of what is kept, 8-byte numbers first, and their fields of an entry from `length` to `checksum`."""
    if isinstance(kept, Space):
        weights = b"" if kept.is_uniform else kept.weights.tobytes()
        data, anchors, item_bytes = weights + kept.cost.tobytes(), kept.n, kept.cost.itemsize
    elif kept.levels is not None:
        data, anchors, item_bytes = kept.levels.tobytes(), kept.levels.shape[1], kept.levels.itemsize
    else:
        position, row, jump, mass = kept.events
        data, anchors, item_bytes = b"".join(part.tobytes() for part in (position, jump, mass, row)), len(mass), 0
    return data, (len(data), anchors, item_bytes, zlib.crc32(data))


def unpack(data: bytes, anchors: int, item_bytes: int, view: View) -> Kept:
    """What is kept of a space, from its bytes; an `InputError` if they are none of a space."""
    if view.keeps_spaces:
        return _unpack_space(data, anchors, item_bytes)
    return _unpack_features(data, anchors, item_bytes, view.robust)


def _unpack_space(data: bytes, n: int, item_bytes: int) -> Space:
    costs = len(data) - n * n * item_bytes  # where they begin
    weights = np.frombuffer(data, "<f8", n) if costs else None
    return Space(np.frombuffer(data, COST_TYPES[item_bytes], offset=costs).reshape(n, n), weights, copy=False)


def _unpack_features(data: bytes, anchors: int, item_bytes: int, robust: bool) -> AnchorFeatures:
    if item_bytes:
        levels = np.frombuffer(data, COST_TYPES[item_bytes]).reshape(-1, anchors)
        return AnchorFeatures(levels=levels, robust=robust)
    count = (len(data) - 8 * anchors) // 20
    position = np.frombuffer(data, "<f8", count)
    jump = np.frombuffer(data, "<i8", count, 8 * count)
    mass = np.frombuffer(data, "<f8", anchors, 16 * count)
    row = np.frombuffer(data, "<u4", count, 16 * count + 8 * anchors)
    return AnchorFeatures(events=Events(position, row, jump, mass), robust=robust)


def are_sound(kept: Kept) -> bool:
    """Whether what is kept of a space is safe for the kernels."""
    if isinstance(kept, Space):  # which has been checked when it was made
        return bool(kept.weights.all())
    return _are_sound_features(kept)


def _are_sound_features(features: AnchorFeatures) -> bool:
    if (levels := features.levels) is not None:
        finite = math.isfinite(levels.item(0)) and math.isfinite(levels.item(-1))
        return finite and _all(levels[:, 1:] >= levels[:, :-1]) and _all(levels[1:] >= levels[:-1])
    position, row, jump, mass = features.events
    if not (math.isfinite(position.item(0)) and math.isfinite(position.item(-1))):
        return False
    if not (_all(position[1:] >= position[:-1]) and _all(row < len(mass)) and _all(jump >= 0)):
        return False
    if not (_all(mass >= 0) and abs(mass.sum() - 1) <= SUM_TOLERANCE):
        return False
    heights = np.bincount(row, from_heights(jump), len(mass))
    # A row without mass may have lost its events.
    return _all(heights <= 1 + SUM_TOLERANCE) and _all((heights >= 1 - SUM_TOLERANCE) | (mass == 0))


def _all(holds: NDArray[np.bool_]) -> bool:
    """``holds.all()``, in half the time for small arrays."""
    return np.count_nonzero(holds) == holds.size
