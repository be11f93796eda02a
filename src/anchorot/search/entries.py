"""What an index knows about each of its spaces: an id, where its features lie, and how sure its vector is."""

import struct

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.search.checks import refuse
from anchorot.search.signatures import LEAST_RADIUS, MOST_RADIUS
from anchorot.search.store import ALIGNMENT, Record

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
RECORD, RECORD_AT = struct.Struct("<qqIII"), 8  # several times faster than by the names of the fields


def new_entries(records: list[Record], radii: Float64s, first_id: int) -> np.ndarray:
    """Entries of spaces whose ids count from `first_id`."""
    entries = np.empty(len(records), ENTRY)
    entries["id"] = first_id + np.arange(len(records))
    for field, column in zip(Record._fields, zip(*records, strict=True), strict=False):
        entries[field] = column
    entries["radius"] = radii
    return entries


def record_of(entries: np.ndarray, place: int) -> Record:
    """Where the features of an entry lie."""
    return Record._make(RECORD.unpack_from(entries.data, place * ENTRY.itemsize + RECORD_AT))


def laid_out(entries: np.ndarray) -> tuple[np.ndarray, int]:
    """Entries as they are in a file, their features one behind the other; and how many bytes these take."""
    moved, ends = entries.copy(), np.cumsum(_sizes(entries))
    moved["offset"] = np.append(0, ends)[: len(entries)]
    return moved, int(ends[-1]) if len(entries) else 0


def _sizes(entries: np.ndarray) -> Int64s:
    """Bytes that the features of each entry take up."""
    return entries["length"] + -entries["length"] % ALIGNMENT


def checked_entries(data: bytearray, n_bytes: int, next_id: int, name: str) -> np.ndarray:
    """Return the entries of a file: ids ascend, and features of possible lengths fill `n_bytes`."""
    if len(data) % ENTRY.itemsize:
        refuse(name, f"its entries have {len(data)} bytes, but each has {ENTRY.itemsize}")
    entries = np.frombuffer(data, ENTRY)
    for what, holds in _laws(entries, n_bytes, next_id).items():
        if not holds.all():
            refuse(name, f"its entries have impossible {what}, the first of them entry {np.argmin(holds)}")
    _, end = laid_out(entries)
    if end != n_bytes:
        refuse(name, f"its entries speak of {end} bytes of features, but there are {n_bytes}")
    return entries


def _laws(entries: np.ndarray, n_bytes: int, next_id: int) -> dict[str, np.ndarray]:
    """What must hold for each entry. None of it can overflow where the laws before it hold."""
    ids, offset, length, radius = (entries[field] for field in ("id", "offset", "length", "radius"))
    anchors, item_bytes = (entries[field].astype(np.int64) for field in ("anchors", "item_bytes"))
    is_levels = item_bytes > 0
    numbers = np.where(is_levels, length, length - 8 * anchors)  # bytes of levels, or of events
    unit = np.where(is_levels, anchors * item_bytes, 20)  # bytes of one of them
    inside = (length > 0) & (length <= n_bytes) & (offset >= 0) & (offset <= n_bytes)
    return {
        "ids": (ids >= 0) & (ids < next_id) & np.append(True, ids[1:] > ids[:-1])[: len(ids)],
        "lengths": inside,
        "offsets": offset == np.append(0, offset + _sizes(entries))[: len(offset)],
        "kinds of numbers": np.isin(item_bytes, (0, 4, 8)),
        "numbers of anchors": (anchors > 0) & (numbers > 0) & (numbers % np.maximum(unit, 1) == 0),
        "radii": (radius >= LEAST_RADIUS) & (radius <= MOST_RADIUS),
    }
