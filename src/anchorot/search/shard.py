"""Spaces of an index that lie together: in memory, or in one file."""

import json
import math
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Int64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.search.checks import check_vectors, checked_header, checked_names, refuse
from anchorot.search.entries import checked_entries, laid_out, record_of
from anchorot.search.file import Bytes, IndexFile, write_file
from anchorot.search.signatures import signature_length
from anchorot.search.sketch import Directions, Sketch, details
from anchorot.search.store import FeatureStore
from anchorot.search.vectors import VectorIndex
from anchorot.search.view import View


class Common(NamedTuple):
    """What holds for all shards of an index."""

    view: View
    next_id: int
    reading: dict[str, Any] | None  # options that all spaces were read with


class Shard:
    """Vector k and name k belong to entry k, whose id is larger than that of entry k - 1.

    Attributes
    ----------
    sketch : Sketch
        How spaces become vectors.
    store : FeatureStore
        Where the features lie.
    vectors : VectorIndex
    entries : ndarray of ENTRY
    names : tuple of str, or None
    """

    def __init__(
        self,
        sketch: Sketch,
        store: FeatureStore,
        vectors: VectorIndex,
        entries: np.ndarray,
        names: tuple[str, ...] | None,
    ) -> None:
        self.sketch = sketch
        self.store = store
        self.vectors = vectors
        self.entries = entries
        self.names = names

    @classmethod
    def load(cls, file: IndexFile) -> tuple[Self, Common]:
        """Open a file. Its vectors are read into memory, its features stay on disk."""
        grid, view, next_id, reading = checked_header(file.about, file.name)
        entries = checked_entries(file.read("entries"), file.features.length, next_id, file.name)
        names = checked_names(file.json("names"), len(entries), file.name)
        sketch = Sketch(grid, _checked_directions(file, grid) if file.has("directions") else None)
        if file.length("vectors") != 4 * sketch.length * len(entries):
            refuse(file.name, f"its vectors are not {len(entries)} of {sketch.length} numbers")
        vectors = VectorIndex(len(entries), sketch.length)
        file.read_into("vectors", _bytes(vectors.array))
        check_vectors(vectors.array, file.name)
        return cls(sketch, FeatureStore(view.robust, file.features), vectors, entries, names), Common(
            view, next_id, reading
        )

    def write(self, path: str | os.PathLike[str], common: Common) -> None:
        """Write a file, which appears whole or not at all."""
        self.store.notice_changes()
        entries, n_bytes = laid_out(self.entries)
        grid, directions = self.sketch.grid, self.sketch.directions
        about: dict[str, Any] = {
            "shape": grid.shape,
            "low": grid.low,
            "high": grid.high,
            "robust": common.view.robust,
            "next_id": common.next_id,
            "reading": common.reading,
            "marking": common.view.packed(),
        }
        parts: dict[str, Bytes] = {
            "entries": entries.tobytes(),
            "vectors": _bytes(self.vectors.array),
            "names": json.dumps(self.names).encode(),
        }
        if directions is not None:
            about["directions"] = directions.along_x.shape[1], directions.along_t.shape[1]
            parts["directions"] = directions.packed()
        features = (self.store.bytes_of(record_of(self.entries, place)) for place in range(len(self)))
        write_file(path, about, parts, features, n_bytes)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def ids(self) -> Int64s:
        """Ids of its spaces, ascending."""
        return self.entries["id"]

    def places(self, ids: Int64s) -> Int64s:
        """Places of the spaces of these ids, as far as they are here."""
        return np.flatnonzero(np.isin(self.ids, ids))

    def name(self, place: int) -> str | None:
        """What the space at this place is called."""
        return None if self.names is None else self.names[place]

    def features(self, place: int) -> AnchorFeatures:
        """The features of the space at this place."""
        return self.store.read(record_of(self.entries, place))

    def all_features(self) -> Iterator[AnchorFeatures]:
        """The features of all its spaces."""
        return map(self.features, range(len(self)))

    def extend(self, vectors: NDArray[np.float32], entries: np.ndarray, names: tuple[str, ...] | None) -> None:
        """Add spaces whose features are in the store."""
        grown = None if self.names is None or names is None else self.names + names
        self._change(lambda: self.vectors.add(vectors), np.concatenate([self.entries, entries]), grown)

    def remove(self, places: Int64s) -> None:
        """Remove the spaces at these places; their features stay in the store."""
        gone = set(places.tolist())
        kept = None if self.names is None else tuple(n for k, n in enumerate(self.names) if k not in gone)
        self._change(lambda: self.vectors.remove(places), np.delete(self.entries, places), kept)

    def _change(self, vectors_change: Callable[[], None], entries: np.ndarray, names: tuple[str, ...] | None) -> None:
        """Change vectors, entries and names together, even if an interrupt arrives between."""
        try:
            vectors_change()
        finally:
            if len(self.vectors) == len(entries):
                self.entries, self.names = entries, names


def _checked_directions(file: IndexFile, grid: Grid) -> Directions:
    """Return the directions that the vectors of a file are coordinates along."""
    widths, shape, count = file.about.get("directions"), details(grid), signature_length(grid) - 1
    if not isinstance(widths, list) or len(widths) != 2 or not all(type(width) is int for width in widths):
        refuse(file.name, "its header does not say how many directions go along x and t")
    if not all(0 < width <= side for width, side in zip(widths, shape, strict=True)):
        refuse(file.name, f"its header says that {widths} directions go along x and t")
    if file.length("directions") != 8 * (math.prod(shape) + widths[0] * shape[0] + widths[1] * shape[1] + count):
        refuse(file.name, f"its directions are not {count} on a grid of shape {shape}")
    directions = Directions.unpacked(file.read("directions"), shape, (widths[0], widths[1]), count)
    if not directions.are_sound():
        refuse(file.name, "its directions are not orthonormal")
    return directions


def _bytes(array: NDArray[np.float32]) -> memoryview:
    return array.view(np.uint8).reshape(-1).data
