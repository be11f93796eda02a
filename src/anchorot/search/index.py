"""Nearest spaces by Anchor Energy among very many: vectors in FAISS bound it, features on disk decide."""

import os
from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_integer
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.distances.neighbors import Neighbors
from anchorot.exceptions import InputError
from anchorot.search.embedding import Grid, check_shape, common_span, rounded_signature, signature_length
from anchorot.search.file import ENTRY, IndexContents, load_index, save_index
from anchorot.search.store import FeatureStore, Record
from anchorot.search.vectors import VectorIndex, import_faiss
from anchorot.space import Space

SpaceLike = Space | AnchorFeatures | ArrayLike

FIRST_CANDIDATES = 256  # looked at before the whole index is asked for more
BLOCK = 1024  # vectors computed before they go to FAISS


class SearchIndex:
    """An index of spaces for nearest neighbours by Anchor Energy (p = 1); make one with `build` or `load`.

    In memory it keeps a vector a space (cell averages and spreads of F(x, t), see :func:`embed`), in FAISS; on disk,
    the space's sorted features. Distances of vectors are lower bounds of AE, so a query computes AE only for spaces
    whose bound allows them among the nearest.

    Attributes
    ----------
    grid : Grid
        The cells of the vectors. Spaces beyond its range are found all the same, with more work.
    robust : bool
        Whether ranks of costs are compared.

    Examples
    --------
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> index = SearchIndex.build([line, triangle], names=["line", "triangle"])
    >>> index.query([[0, 1, 2], [1, 0, 2], [2, 2, 0]], k=1).names
    ('line',)
    """

    def __init__(self, contents: IndexContents, vectors: VectorIndex) -> None:
        self._contents = contents
        self._vectors = vectors

    @classmethod
    def build(
        cls,
        spaces: Iterable[SpaceLike],
        names: Sequence[str] | None = None,
        *,
        grid: tuple[int, int] | Grid = (16, 16),
        robust: bool = False,
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
        folder : path, optional
            Where features lie as long as they are in no saved file; the system's temporary folder by default.
        """
        import_faiss()  # before any work is done
        shape = grid.shape if isinstance(grid, Grid) else check_shape(grid)
        store = FeatureStore(robust, folder=folder)
        records, spans = _store(store, spaces)
        if not isinstance(grid, Grid):
            grid = Grid.over((0.0, 1.0) if robust else common_span(spans), shape)
        nothing = IndexContents(grid, robust, 0, np.empty(0, ENTRY), None if names is None else [], store)
        index = cls(nothing, VectorIndex(np.empty((0, signature_length(grid)), np.float32)))
        index._add_records(records, names)
        return index

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Open a saved index. Its vectors are read into memory, its features stay on disk.

        Raises
        ------
        InputError
            If the file is no index, of another version, damaged or cut short; features are checked when a query first
            reads them.
        OSError
            If it cannot be read.
        """
        import_faiss()
        contents, vectors = load_index(path)
        return cls(contents, VectorIndex(vectors))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file, which appears whole or not at all; removed spaces are left out."""
        save_index(self._contents, self._vectors.array, path)

    @property
    def grid(self) -> Grid:
        """The cells of the vectors."""
        return self._contents.grid

    @property
    def robust(self) -> bool:
        """Whether ranks of costs are compared."""
        return self._contents.robust

    @property
    def ids(self) -> Int64s:
        """Ids of the spaces in the index, ascending."""
        return self._contents.entries["id"].copy()

    def __len__(self) -> int:
        return len(self._contents.entries)

    def __repr__(self) -> str:
        return f"SearchIndex({len(self)} spaces, {self.grid}, robust={self.robust})"

    def add(self, spaces: Iterable[SpaceLike], names: Sequence[str] | None = None) -> Int64s:
        """Add spaces, all or none of them, and return their ids.

        Ids count from 0 and are never given again. Names must come if the index has names, and only then. Costs may
        lie outside the range of the grid.
        """
        records, _ = _store(self._contents.store, spaces)
        return self._add_records(records, names)

    def remove(self, ids: ArrayLike) -> None:
        """Remove the spaces of the given ids. Their features stay on disk until the index is saved and loaded."""
        wanted = np.unique(np.asarray(ids))
        if wanted.size and wanted.dtype.kind not in "iu":
            raise InputError(f"ids must be integers, but {wanted.dtype} came")
        present = np.isin(wanted, self._contents.entries["id"])
        if not present.all():
            raise InputError(f"there is no space of id {wanted[~present][0]} in the index")
        places = np.searchsorted(self._contents.entries["id"], wanted)
        self._vectors.remove(places)
        self._contents.entries = np.delete(self._contents.entries, places)
        if self._contents.names is not None:
            gone = set(places.tolist())
            self._contents.names = [name for k, name in enumerate(self._contents.names) if k not in gone]

    def query(self, x: SpaceLike, k: int = 10, exact: bool = True, *, candidates: int | None = None) -> Neighbors:
        """Find the k spaces nearest to x.

        Parameters
        ----------
        x : Space, AnchorFeatures or array_like
        k : int
            How many; at most ``len(index)``.
        exact : bool
            True: go through the spaces by increasing bound until it proves that no other can be among the nearest; the
            answer is that of computing all Anchor Energies. False: the best among the first `candidates` by bound.
        candidates : int, optional
            For ``exact=False``; 10 k by default.
        """
        k = check_integer(k, "k", 1)
        if k > len(self):
            raise InputError(f"k={k} nearest spaces are asked for, but the index has only {len(self)}")
        if exact and candidates is not None:
            raise InputError("candidates is for exact=False; exact=True looks at as many as it needs")
        count = check_integer(10 * k if candidates is None else candidates, "candidates", k)
        query = _Query(as_features(x, robust=self.robust), self.grid, k)
        count = min(len(self), max(FIRST_CANDIDATES, 4 * k) if exact else count)
        first, others = self._vectors.nearest(query.vector, count)
        self._refine(query, first)
        reach = np.sqrt(query.limit / query.scale) + query.radius + self._contents.entries["radius"].max()
        if exact and others <= reach:
            rest = np.setdiff1d(self._vectors.within(query.vector, reach), first, assume_unique=True)
            self._refine(query, rest)
        return self._result(query, exact)

    def _refine(self, query: "_Query", places: Int64s) -> None:
        """Compute AE to the spaces at these places by increasing bound, as long as the bounds allow."""
        bounds = self._bounds(query, places)
        for order in np.argsort(bounds, kind="stable"):
            if bounds[order] > query.limit:
                break
            place = int(places[order])
            query.meet(place, self._contents.store.read(self._contents.record(place)))

    def _bounds(self, query: "_Query", places: Int64s) -> Float64s:
        """Lower bounds of the computed AE: `scale` times the square of the vectors' distance, less the two radii."""
        radius = self._contents.entries["radius"][places] + query.radius
        certain = self._vectors.distances(query.vector, places) - radius
        return query.scale * np.maximum(certain, 0) ** 2

    def _result(self, query: "_Query", exact: bool) -> Neighbors:
        values, places = zip(*query.found, strict=True)
        names = None if self._contents.names is None else tuple(self._contents.names[place] for place in places)
        ids = self._contents.entries["id"][list(places)]
        return Neighbors(ids, np.array(values), names, query.n_exact, exact)

    def _add_records(self, records: list[Record], names: Sequence[str] | None) -> Int64s:
        contents = self._contents
        added = _check_names(names, len(records), contents.names is not None)
        entries = np.empty(len(records), ENTRY)
        entries["id"] = contents.next_id + np.arange(len(records))
        for field, column in zip(Record._fields, zip(*records, strict=True), strict=False):
            entries[field] = column
        try:
            for start in range(0, len(records), BLOCK):
                block = records[start : start + BLOCK]
                pairs = [rounded_signature(contents.store.read(record), contents.grid) for record in block]
                self._vectors.add(np.stack([vector for vector, _ in pairs]))
                entries["radius"][start : start + BLOCK] = [radius for _, radius in pairs]
        except BaseException:  # interrupted, say: the index stays as it was
            self._vectors.truncate(len(self))
            raise
        contents.entries = np.concatenate([contents.entries, entries])
        contents.next_id += len(records)
        if contents.names is not None:
            contents.names = [*contents.names, *added]
        return entries["id"].copy()


class _Query:
    """A query on its way through an index: the best k so far, and how many energies that took."""

    def __init__(self, features: AnchorFeatures, grid: Grid, k: int) -> None:
        self.features, self.k = features, k
        self.vector, self.radius = rounded_signature(features, grid)
        self.scale = 2 * (grid.high - grid.low)
        self.found: list[tuple[float, int]] = []  # energy and place, ascending; places ascend with ids
        self.n_exact = 0

    @property
    def limit(self) -> float:
        """What a space must not exceed to be among the nearest."""
        return self.found[-1][0] if len(self.found) == self.k else np.inf

    def meet(self, place: int, features: AnchorFeatures) -> None:
        """Compute the energy to a space, and keep it if it is among the nearest."""
        self.n_exact += 1
        insort(self.found, (self.features.energy_to(features), place))
        del self.found[self.k :]


def _store(store: FeatureStore, spaces: Iterable[SpaceLike]) -> tuple[list[Record], list[tuple[float, float]]]:
    """Write the features of all spaces to the store; return where they are, and the range of each one's costs."""
    records, spans = [], []
    for k, x in enumerate(spaces):
        try:
            features = as_features(x, robust=store.robust)
            spans.append(features.span)
        except InputError as error:
            raise InputError(f"spaces[{k}]: {error}") from None
        records.append(store.append(features))
    return records, spans


def _check_names(names: Sequence[str] | None, count: int, has_names: bool) -> list[str]:
    if (names is not None) != has_names:
        raise InputError("the index has names, but none came" if has_names else "names came, but the index has none")
    if names is None:
        return []
    if len(names) != count:
        raise InputError(f"names has {len(names)} entries, but {count} spaces came")
    if not all(isinstance(name, str) for name in names):
        raise InputError("names must be text")
    return list(names)
