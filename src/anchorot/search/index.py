"""Nearest spaces by Anchor Energy among very many: vectors in FAISS bound it, features on disk decide."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Int64s
from anchorot._validate import check_integer
from anchorot.distances.neighbors import Neighbors
from anchorot.exceptions import InputError, InputNote
from anchorot.io.files import read
from anchorot.io.options import PathLike
from anchorot.search.checks import check_vectors, checked_header, checked_names, refuse
from anchorot.search.embedding import Grid, check_cells, check_shape, common_span, signature_length
from anchorot.search.entries import checked_entries, laid_out, new_entries, record_of
from anchorot.search.file import Bytes, IndexFile, write_file
from anchorot.search.filling import SpaceLike, check_names, difference, fill, reading_of, store_all
from anchorot.search.query import Query
from anchorot.search.sharing import SharedLock
from anchorot.search.store import FeatureStore
from anchorot.search.vectors import VectorIndex, import_faiss
from anchorot.search.view import View, view_of


class SearchIndex:
    """An index of spaces for nearest neighbours by Anchor Energy (p = 1); make one with `build` or `load`.

    In memory it keeps a vector a space (cell averages and spreads of F(x, t), see :func:`embed`), in FAISS; on disk,
    the space's sorted features. Distances of vectors are lower bounds of AE, so a query computes AE only for spaces
    whose bound allows them among the nearest.

    Threads may use one index at the same time: queries run side by side, and each sees an addition or a removal whole
    or not at all. A forked process has the index as it was at the fork; from then on each changes its own. To send an
    index elsewhere, save it and load it there; it cannot be pickled or copied.

    Attributes
    ----------
    grid : Grid
        The cells of the vectors. Spaces beyond its range are found all the same, with more work.
    robust : bool
        Whether ranks of costs are compared.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> index = ao.SearchIndex.build([line, triangle], names=["line", "triangle"])
    >>> index.query([[0, 1, 2], [1, 0, 2], [2, 2, 0]], k=1).names
    ('line',)
    """

    def __init__(
        self,
        grid: Grid,
        store: FeatureStore,
        vectors: VectorIndex,
        entries: np.ndarray,
        names: tuple[str, ...] | None,
        next_id: int,
        view: View,
        reading: dict[str, Any] | None = None,
    ) -> None:
        self._grid = grid
        self._view = view
        self._store = store
        self._lock = SharedLock()  # of the following: vector k and name k belong to entry k
        self._vectors = vectors
        self._entries = entries  # ids ascend
        self._names = names
        self._next_id = next_id
        self._reading = reading

    @classmethod
    def build(
        cls,
        spaces: Iterable[SpaceLike],
        names: Sequence[str] | None = None,
        *,
        grid: tuple[int, int] | Grid = (16, 16),
        robust: bool = False,
        marks: str | None = None,
        reach: float | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Make an index of spaces.

        Parameters
        ----------
        spaces : iterable of Space, AnchorFeatures or array_like
            Gone through once, one space in memory at a time, so it may read them from files as they are asked for.
        names : sequence of str, optional
            What queries are to call the spaces.
        grid : (int, int) or Grid
            Cells along x and along t, over the range of all costs; or a grid with a range of its own. A vector has two
            numbers a cell: more cells are more memory and fewer exact evaluations.
        robust : bool
            Compare the ranks of the costs (:meth:`Space.ranked`).
        marks : {"types"}, optional
            Tell points apart by their types too, see :func:`anchor_energy`. Spaces are then gone through several times
            (and kept, if they are no sequence), and a vector has these cells for every pair of types. Types that the
            index lacks are legal in queries, but not in spaces that are added.
        reach : float, optional
            Compare costs up to here; with marks by default the largest cost of all spaces.
        folder : path, optional
            Where features lie as long as they are in no saved file; the system's temporary folder by default.

        Returns
        -------
        SearchIndex
            With ids 0, 1, ... in the order of `spaces`.
        """
        import_faiss()  # before any work is done
        shape = grid.shape if isinstance(grid, Grid) else check_shape(grid)
        if marks is not None and not isinstance(spaces, Sequence):
            spaces = list(spaces)
        view = view_of(spaces, marks, reach, robust=robust)
        if view.has_types:
            if isinstance(grid, Grid):
                raise InputError("with marks='types' the grid follows from the costs; give the numbers of cells alone")
            shape = len(view.alphabet) ** 2 * shape[0], shape[1]
        store = FeatureStore(robust, folder=folder)
        records, spans, reading = store_all(store, spaces, view)
        if not isinstance(grid, Grid):
            grid = Grid.over((0.0, 1.0) if robust and not view.has_types else common_span(spans), shape)
        check_cells(grid)
        checked = check_names(names, len(records), names is not None)
        vectors = VectorIndex(len(records), signature_length(grid))
        radii = fill(vectors.array, store, records, grid)
        return cls(grid, store, vectors, new_entries(records, radii, 0), checked, len(records), view, reading)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Open a saved index. Its vectors are read into memory, its features stay on disk.

        Raises
        ------
        InputError
            If the file is no index, of another version, damaged, cut short, or holds what no index can; features are
            checked when a query first reads them.
        OSError
            If it cannot be read.
        """
        import_faiss()
        file = IndexFile(path)
        grid, view, next_id, reading = checked_header(file.about, file.name)
        entries = checked_entries(file.read("entries"), file.features.length, next_id, file.name)
        names = checked_names(file.json("names"), len(entries), file.name)
        length = signature_length(grid)
        if file.length("vectors") != 4 * length * len(entries):
            refuse(file.name, f"its vectors are not {len(entries)} of {length} numbers")
        vectors = VectorIndex(len(entries), length)
        file.read_into("vectors", _bytes(vectors.array))
        check_vectors(vectors.array, file.name)
        return cls(grid, FeatureStore(view.robust, file.features), vectors, entries, names, next_id, view, reading)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file, which appears whole or not at all; removed spaces are left out."""
        with self._lock.shared():
            self._store.notice_changes()
            entries, n_bytes = laid_out(self._entries)
            about = {
                "shape": self.grid.shape,
                "low": self.grid.low,
                "high": self.grid.high,
                "robust": self.robust,
                "next_id": self._next_id,
                "reading": self._reading,
                "marking": self._view.packed(),
            }
            names = json.dumps(self._names).encode()
            parts: dict[str, Bytes] = {
                "entries": entries.tobytes(),
                "vectors": _bytes(self._vectors.array),
                "names": names,
            }
            features = (self._store.bytes_of(record_of(self._entries, place)) for place in range(len(self)))
            write_file(path, about, parts, features, n_bytes)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SearchIndex cannot be pickled or copied; save() it, and load() the file where it is needed")

    @property
    def grid(self) -> Grid:
        """The cells of the vectors."""
        return self._grid

    @property
    def robust(self) -> bool:
        """Whether ranks of costs are compared."""
        return self._store.robust

    @property
    def reading(self) -> dict[str, Any] | None:
        """Options of :func:`read` that all spaces were read with, from their origins; None if there is no such."""
        return None if self._reading is None else dict(self._reading)

    @property
    def ids(self) -> Int64s:
        """Ids of the spaces in the index, ascending."""
        return self._entries["id"].copy()

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"SearchIndex({len(self)} spaces, {self.grid}, robust={self.robust})"

    def add(self, spaces: Iterable[SpaceLike], names: Sequence[str] | None = None) -> Int64s:
        """Add spaces, all or none of them, and return their ids.

        Ids count from 0 and are never given again. Names must be given if the index has names, and only then. Costs may
        lie outside the range of the grid.
        """
        records, _, reading = store_all(self._store, spaces, self._view)
        self._compare_reading(reading)
        added = check_names(names, len(records), self._names is not None)
        vectors = np.empty((len(records), signature_length(self.grid)), np.float32)
        radii = fill(vectors, self._store, records, self.grid)
        with self._lock.exclusive():
            entries = new_entries(records, radii, self._next_id)
            self._next_id += len(records)
            grown = None if self._names is None or added is None else self._names + added
            self._change(lambda: self._vectors.add(vectors), np.concatenate([self._entries, entries]), grown)
        return entries["id"].copy()

    def remove(self, ids: ArrayLike) -> None:
        """Remove the spaces of the given ids. Their features stay on disk until the index is saved and loaded."""
        wanted = np.unique(np.asarray(ids))
        if wanted.size and wanted.dtype.kind not in "iu":
            raise InputError(f"ids must be integers, but got {wanted.dtype}")
        with self._lock.exclusive():
            present = np.isin(wanted, self._entries["id"])
            if not present.all():
                raise InputError(f"there is no space of id {wanted[~present][0]} in the index")
            places = np.searchsorted(self._entries["id"], wanted)
            gone = set(places.tolist())
            kept = None if self._names is None else tuple(n for k, n in enumerate(self._names) if k not in gone)
            self._change(lambda: self._vectors.remove(places), np.delete(self._entries, places), kept)

    def _change(self, vectors_change: Callable[[], None], entries: np.ndarray, names: tuple[str, ...] | None) -> None:
        """Change vectors, entries and names together, even if an interrupt arrives between."""
        try:
            vectors_change()
        finally:
            if len(self._vectors) == len(entries):
                self._entries, self._names = entries, names

    def _compare_reading(self, reading: dict[str, Any] | None) -> None:
        """Note if something was read otherwise than the spaces of the index."""
        if differs := difference(reading, self._reading):
            warnings.warn(f"this was read otherwise than the index: {differs}", InputNote, stacklevel=3)

    def query(
        self, x: SpaceLike | PathLike, k: int = 10, exact: bool = True, *, candidates: int | None = None
    ) -> Neighbors:
        """Find the k spaces nearest to x.

        Parameters
        ----------
        x : Space, AnchorFeatures, array_like or path
            A file is read as those of the index were (`reading`); of a space that was read otherwise an `InputNote`
            says so.
        k : int
            How many; at most ``len(index)``.
        exact : bool
            True: go through the spaces by increasing bound until it proves that no other can be among the nearest; the
            answer is that of computing all Anchor Energies. False: the best among the first `candidates` by bound.
        candidates : int, optional
            For ``exact=False``; 10 k by default.

        Returns
        -------
        Neighbors
            `index` holds ids, `distance` Anchor Energies.

        Raises
        ------
        InputError
            If there are fewer than k spaces, or if features in the file that the index was loaded from are damaged.
        """
        k = check_integer(k, "k", 1)
        if exact and candidates is not None:
            raise InputError("candidates is for exact=False; exact=True looks at as many as it needs")
        candidates = check_integer(10 * k if candidates is None else candidates, "candidates", k)
        if isinstance(x, str | os.PathLike):
            x = read(x, **{"cache": True, **(self._reading or {})})
        self._compare_reading(reading_of(x))
        features, added = self._view.query(x)
        query = Query(features, self.grid, k)
        with self._lock.shared():
            if k > len(self):
                raise InputError(f"k={k} nearest spaces are asked for, but the index has only {len(self)}")
            self._store.notice_changes()
            query.search(self._vectors, self._entries, self._store, exact, candidates)
            values, places = zip(*query.found, strict=True)
            names = None if self._names is None else tuple(self._names[place] for place in places)
            energies = self._view.scale * np.array(values) + added
            return Neighbors(self._entries["id"][list(places)], energies, names, query.n_exact, exact)


def _bytes(array: NDArray[np.float32]) -> memoryview:
    return array.view(np.uint8).reshape(-1).data
