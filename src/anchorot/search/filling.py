"""What is done to spaces on their way into an index."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Float64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid, common_span
from anchorot.exceptions import InputError
from anchorot.io.options import PathLike
from anchorot.search.entries import new_entries
from anchorot.search.shard import Shard
from anchorot.search.signatures import check_cells
from anchorot.search.sketch import Sketch
from anchorot.search.store import FeatureStore, Record
from anchorot.search.vectors import VectorIndex
from anchorot.search.view import View
from anchorot.space import Space

SpaceLike = Space | AnchorFeatures | ArrayLike
Entry = SpaceLike | PathLike | Callable[[], SpaceLike | PathLike]


class Stored(NamedTuple):
    """Spaces whose features are in the store."""

    records: list[Record]
    spans: list[tuple[float, float]]  # the range of each one's costs
    reading: dict[str, Any] | None  # how they were read from files, if all were read in one way


@dataclass(frozen=True)
class Recipe:
    """How spaces become a shard.

    Attributes
    ----------
    view : View
        How spaces are looked at.
    grid : (int, int), Grid or Sketch
        The cells of the vectors, over the range of all costs; or with a range; or how other shards make vectors.
    folder : path, optional
        Where features lie as long as they are in no saved file.
    """

    view: View
    grid: tuple[int, int] | Grid | Sketch
    folder: str | os.PathLike[str] | None = None

    def shard(self, spaces: Iterable[SpaceLike], first: int = 0) -> tuple[Shard, dict[str, Any] | None]:
        """A shard of all spaces, with ids from `first` on and no names yet; and how they were read."""
        store = FeatureStore(self.view.robust, folder=self.folder)
        records, spans, reading = store_all(store, spaces, self.view, first)
        sketch = self._sketch(store, records, spans)
        vectors = VectorIndex(len(records), sketch.length)
        radii = fill(vectors.array, store, records, sketch)
        return Shard(sketch, store, vectors, new_entries(records, radii, first), None), reading

    def _sketch(self, store: FeatureStore, records: list[Record], spans: list[tuple[float, float]]) -> Sketch:
        if isinstance(self.grid, Sketch):
            return self.grid
        grid, has_types = self.grid, self.view.has_types
        if not isinstance(grid, Grid):
            grid = Grid.over((0.0, 1.0) if self.view.robust and not has_types else common_span(spans), grid)
        check_cells(grid)
        return Sketch(grid) if has_types else Sketch.learned(grid, lambda k: store.read(records[k]), len(records))


def store_all(store: FeatureStore, spaces: Iterable[SpaceLike], view: View, first: int = 0) -> Stored:
    """Write the features of all spaces to the store; errors count them from `first`."""
    records, spans = [], []
    readings: list[dict[str, Any] | None] = []
    for k, x in enumerate(spaces):
        try:
            features = view.features(x)
            spans.append(features.span)
        except InputError as error:
            raise InputError(f"spaces[{first + k}]: {error}") from None
        records.append(store.append(features))
        readings = all_of(readings, reading_of(x))
    return Stored(records, spans, common_reading(readings))


def all_of(readings: list[dict[str, Any] | None], another: dict[str, Any] | None) -> list[dict[str, Any] | None]:
    """Ways of reading, each once; more than two are as good as two."""
    return readings if len(readings) == 2 or another in readings else [*readings, another]


def common_reading(readings: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The way in which all were read, if there is one."""
    return readings[0] if len(readings) == 1 else None


def reading_of(x: SpaceLike) -> dict[str, Any] | None:
    """How a space was read from a file, if it was."""
    return x.origin.reading if isinstance(x, Space) and x.origin is not None else None


def difference(reading: dict[str, Any] | None, wanted: dict[str, Any] | None) -> str:
    """Say how a space was read otherwise than those of an index; nothing if it was not, or if that is unknown."""
    if reading is None or wanted is None:
        return ""
    names = [name for name in {**wanted, **reading} if reading.get(name) != wanted.get(name)]
    return ", ".join(f"{name}={reading.get(name)!r} where the index has {wanted.get(name)!r}" for name in names)


def fill(out: NDArray[np.float32], store: FeatureStore, records: list[Record], sketch: Sketch) -> Float64s:
    """Put the vectors of all records into the rows of `out`; return their radii."""
    radii = np.empty(len(records))
    for k, record in enumerate(records):
        out[k], radii[k] = sketch.of(store.read(record))
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
