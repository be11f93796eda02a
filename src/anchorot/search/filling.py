"""What is done to spaces on their way into an index."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Float64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.search.embedding import Grid, rounded_signature
from anchorot.search.store import FeatureStore, Record
from anchorot.search.view import View
from anchorot.space import Space

SpaceLike = Space | AnchorFeatures | ArrayLike


class Stored(NamedTuple):
    """Spaces whose features are in the store."""

    records: list[Record]
    spans: list[tuple[float, float]]  # the range of each one's costs
    reading: dict[str, Any] | None  # how they were read from files, if all were read in one way


def store_all(store: FeatureStore, spaces: Iterable[SpaceLike], view: View) -> Stored:
    """Write the features of all spaces to the store."""
    records, spans = [], []
    readings: list[dict[str, Any] | None] = []
    for k, x in enumerate(spaces):
        try:
            features = view.features(x)
            spans.append(features.span)
        except InputError as error:
            raise InputError(f"spaces[{k}]: {error}") from None
        records.append(store.append(features))
        reading = reading_of(x)
        if len(readings) < 2 and reading not in readings:
            readings.append(reading)
    return Stored(records, spans, readings[0] if len(readings) == 1 else None)


def reading_of(x: SpaceLike) -> dict[str, Any] | None:
    """How a space was read from a file, if it was."""
    return x.origin.reading if isinstance(x, Space) and x.origin is not None else None


def difference(reading: dict[str, Any] | None, wanted: dict[str, Any] | None) -> str:
    """Say how a space was read otherwise than those of an index; nothing if it was not, or if that is unknown."""
    if reading is None or wanted is None:
        return ""
    names = [name for name in {**wanted, **reading} if reading.get(name) != wanted.get(name)]
    return ", ".join(f"{name}={reading.get(name)!r} where the index has {wanted.get(name)!r}" for name in names)


def fill(out: NDArray[np.float32], store: FeatureStore, records: list[Record], grid: Grid) -> Float64s:
    """Put the vectors of all records into the rows of `out`; return their radii."""
    radii = np.empty(len(records))
    for k, record in enumerate(records):
        out[k], radii[k] = rounded_signature(store.read(record), grid)
    return radii


def check_names(names: Sequence[str] | None, count: int, has_names: bool) -> tuple[str, ...] | None:
    """Return as many names as there are spaces, or None if the index has none."""
    if (names is not None) != has_names:
        raise InputError("the index has names, but got none" if has_names else "got names, but the index has none")
    if names is None:
        return None
    if len(names) != count:
        raise InputError(f"names has {len(names)} entries, but got {count} spaces")
    if not all(isinstance(name, str) for name in names):
        raise InputError("names must be text")
    return tuple(names)
