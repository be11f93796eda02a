"""Nearest spaces in large collections: vectors in memory give lower bounds, features on disk exact values."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Int64s
from anchorot._validate import check_integer
from anchorot.anchors.grid import Grid, check_shape
from anchorot.distances.nearest import Neighbors
from anchorot.exceptions import InputError, note_input
from anchorot.io.files import read
from anchorot.io.options import PathLike, check_keywords
from anchorot.io.safe_open import note
from anchorot.many.spaces import Inputs, check_collection
from anchorot.search.file import IndexFile, StaleError, new_file, replaceable
from anchorot.search.preprocessing import check_metric, choose_view
from anchorot.search.query import Reader, import_faiss
from anchorot.search.updates import (
    Indexable,
    SpaceLike,
    SpaceLoader,
    Staged,
    adapt,
    add,
    as_names,
    check_names,
    copy_index,
    delete,
    reading_difference,
    reading_of,
    write_index,
)

if TYPE_CHECKING:
    from distributed import Client

    from anchorot.search.cluster import ClusterReader


class SearchIndex:
    """An index of spaces for nearest neighbours by AE, SAW or AW; make one with `build` or `load`.

    It keeps one vector per space in memory, in FAISS (averages of F(x, t), see :func:`embed`, or of the matrix of
    :func:`signature`, along the directions in which the spaces differ most). The spaces' sorted features stay on disk,
    in one SQLite file. Distances of vectors are lower bounds, so a query compares exactly only with spaces whose bound
    allows them among the nearest. For Anchor Wasserstein a second bound, Sliced Anchor Wasserstein, rules out most of
    these before any transport is solved.

    An index that was built with a `path`, or loaded, *is* that file: `add`, `remove` and `compact` change it at once.
    Changes are atomic for all that have it open, in this process or another. An index that was built without a path
    lives in a temporary file until it is saved; forked processes share that file. To use an index elsewhere, save it
    and load it there; it cannot be pickled or copied.

    Attributes
    ----------
    metric : str
        "ae", "saw" or "aw".
    p : int
        Power of the costs.
    grid : Grid
        The cells of the vectors. Spaces beyond its range are found too, with more work.
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

    def __init__(self, reader: Reader | ClusterReader) -> None:
        self._reader = reader
        self._file = reader.file

    @classmethod
    def build(
        cls,
        spaces: Iterable[Indexable],
        names: Iterable[str] | None = None,
        *,
        metric: str = "ae",
        p: int = 1,
        grid: tuple[int, int] | Grid = (16, 16),
        robust: bool = False,
        attributes: str | None = None,
        max_cost: float | None = None,
        path: PathLike | None = None,
        n_jobs: int = -1,
        client: Client | None = None,
        **reading: Any,
    ) -> Self:
        """Build an index of spaces.

        Parameters
        ----------
        spaces : iterable of Space, AnchorFeatures, array_like, paths, or functions that return one of these
            Read once, with few of them in memory at a time. Small arrays and spaces without weights, and
            :class:`~anchorot.io.PointClouds`, are sorted together on all threads.
        names : iterable of str, optional
            Names of the spaces in query results. Duplicates give an `InputWarning`: `remove` removes all of that name.
        metric : {"ae", "saw", "aw"}
            What spaces are compared by: :func:`anchor_energy`, :func:`sliced_anchor_wasserstein`, or the transport cost
            of :func:`anchor_wasserstein` without regularisation. For "aw" the file holds the costs themselves.
        p : {1, 2}
            Power of the costs; 2 for "saw" and "aw" only.
        grid : (int, int) or Grid
            Cells along x (for "saw" and "aw" along s, see :func:`signature`) and along t, over the range of all costs;
            or a grid with its own range. A vector has two numbers per cell: more cells need more memory and fewer exact
            evaluations.
        robust : bool
            Compare the ranks of the costs (:meth:`Space.ranked`).
        attributes : {"types"}, optional
            Compare points by their types too, see :func:`anchor_energy`; for "ae" and "saw" with p = 1. Spaces are then
            read several times (and kept in memory, unless they are a sequence), and a vector has these cells for every
            pair of types. Queries may have types that the index lacks; added spaces may not.
        max_cost : float, optional
            Compare costs up to this value, by "ae" and "saw"; with attributes the default is the largest cost of all
            spaces.
        path : path, optional
            A file to write the index to while spaces are read, so that neither spaces nor features have to fit into
            memory. An existing index is replaced once the new one is complete; other files are never overwritten.
        n_jobs : int
            Number of files of a list of paths to read at a time, and of threads that sort spaces; -1 for one per core.
        client : dask.distributed.Client, optional
            Let the workers of a cluster read the spaces, which must be a sequence, and compute features and vectors.
            Needs a `path` in a folder that all workers share; see `load`. Work of lost workers is repeated.
        **reading
            Options of :func:`read`, for paths.

        Returns
        -------
        SearchIndex
            With ids 0, 1, ... in the order of `spaces`.
        """
        import_faiss()  # before any work is done
        bounded = check_metric(metric, p)
        check_keywords("SearchIndex.build", reading)
        check_collection(spaces, "spaces", in_any_order=False)
        labels = as_names(names)
        if path is not None:
            replaceable(path)  # fail before any work
        _note_repeated(labels or ())
        shape = grid.shape if isinstance(grid, Grid) else check_shape(grid)
        if attributes is not None and not isinstance(spaces, Sequence):
            spaces = list(spaces)
        loader = SpaceLoader(spaces, reading, n_jobs=n_jobs)
        view = choose_view(loader, attributes, max_cost, robust=robust, bounded=bounded)
        if view.has_types:
            if isinstance(grid, Grid):
                raise InputError(
                    "with attributes='types' the grid follows from the costs; pass only the numbers of cells"
                )
            shape = len(view.alphabet) ** 2 * shape[0], shape[1]
        cells = grid if isinstance(grid, Grid) else shape
        if client is not None:
            from anchorot.search.cluster import build_on_cluster

            inputs = Inputs.of(cast("Sequence[Any]", spaces), None, **reading)
            build_on_cluster(inputs, labels, view, cells, path, client)
            return cls.load(cast("PathLike", path), client=client)
        if path is not None:
            with new_file(path) as new:
                write_index(new, loader, labels, view, cells, threads=loader.n_workers)
            return cls.load(path)
        handle, temporary = tempfile.mkstemp(".index", "anchorot-")
        os.close(handle)
        file = IndexFile(temporary, is_kept=False)
        try:
            write_index(file.path, loader, labels, view, cells, threads=loader.n_workers)
            index = cls(Reader(file))
        except BaseException:
            file.discard()
            raise
        weakref.finalize(index, file.discard)
        return index

    @classmethod
    def load(cls, path: PathLike, *, client: Client | None = None) -> Self:
        """Open an index. Its vectors are read into memory, its features stay on disk.

        Parameters
        ----------
        path : path
            A file written by `save` or `build`.
        client : dask.distributed.Client, optional
            Keep the vectors on the workers of a cluster, all of which must be able to read the file: each keeps those
            of some spaces, and a query goes to all. Such an index is read-only.

        Raises
        ------
        InputError
            If the file is not an index, has another version, is damaged or truncated, or has impossible contents;
            features are checked when a query first reads them.
        OSError
            If the file cannot be read.
        """
        import_faiss()
        file = IndexFile(path)
        if client is not None:
            from anchorot.search.cluster import ClusterReader

            return cls(ClusterReader(file, client))
        reader = Reader(file)
        reader.snapshot()
        return cls(reader)

    def save(self, path: PathLike) -> None:
        """Write a compact copy atomically.

        An existing index is replaced; other files are never overwritten. Later changes to this index do not affect the
        copy. Saving an index to its own file compacts it.
        """
        if os.path.exists(path) and os.path.samefile(path, self._file.path):
            self.compact()
            return
        with new_file(path) as new:
            copy_index(self._file, new)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SearchIndex cannot be pickled or copied; save() it, and load() the file where it is needed")

    @property
    def metric(self) -> str:
        """What spaces are compared by."""
        return self._file.header().view.bounded.metric

    @property
    def p(self) -> int:
        """Power of the costs."""
        return self._file.header().view.bounded.p

    @property
    def grid(self) -> Grid:
        """The cells of the vectors."""
        return self._file.header().encoder.grid

    @property
    def robust(self) -> bool:
        """Whether ranks of costs are compared."""
        return self._file.header().view.robust

    @property
    def reading(self) -> dict[str, Any] | None:
        """Options of :func:`read` that all spaces were read with; None if they differ."""
        reading = self._file.header().reading
        return None if reading is None else dict(reading)

    @property
    def has_names(self) -> bool:
        """Whether its spaces have names."""
        return self._file.header().has_names

    @property
    def ids(self) -> Int64s:
        """Ids of the spaces in the index, ascending."""
        return self._reader.ids

    def __len__(self) -> int:
        return self._file.header().count

    def __repr__(self) -> str:
        how = f"metric={self.metric!r}, p={self.p}, robust={self.robust}"
        return f"SearchIndex({len(self)} spaces, {self.grid}, {how})"

    def add(
        self, spaces: Iterable[Indexable], names: Iterable[str] | None = None, *, n_jobs: int = -1, **reading: Any
    ) -> Int64s:
        """Add spaces, all or none of them, and return their ids.

        Ids count from 0 and are never reused. Names are needed if the index has names, and only then. Costs may lie
        outside the range of the grid. Files are read with the options of the index unless given here, `n_jobs` of a
        list at a time.

        The file changes in one transaction, after everything is read and computed.
        """
        check_keywords("SearchIndex.add", reading)
        check_collection(spaces, "spaces", in_any_order=False)
        labels = as_names(names)
        reader = self._changeable()
        header = reader.file.header()
        loader = SpaceLoader(spaces, reading, header.reading, n_jobs)
        staged = Staged(loader, header.view, self._file.path.parent, threads=loader.n_workers)
        _note_difference(staged.reading, header.reading)
        check_names(labels, len(staged), header.has_names)
        if labels:
            _note_repeated(labels, reader.snapshot().names)
        return add(self._file, staged, labels)

    def remove(self, which: ArrayLike | Iterable[str]) -> None:
        """Remove spaces, given by their ids or by their names.

        The file reuses their disk space for spaces added later; `compact` frees it.
        """
        reader = self._changeable()
        is_listed = not isinstance(which, Iterable) or isinstance(which, str | np.ndarray)
        given = np.unique(np.asarray(which if is_listed else list(cast("Iterable[Any]", which))))
        while True:
            with suppress(StaleError):
                ids = reader.snapshot().find(given)
                if ids:
                    self._file.change(partial(delete, ids=ids, name=self._file.name))
                return

    def compact(self) -> None:
        """Free the disk space of removed spaces, in small steps; queries and changes can run at the same time.

        If the index was built from fewer than 256 spaces and has more now, its vectors adapt to them.
        """
        file = self._changeable().file
        adapt(file)
        file.compact()

    def _changeable(self) -> Reader:
        if not isinstance(self._reader, Reader):
            raise InputError("this index is on a cluster; load it without client to change it")
        return self._reader

    def query(
        self, x: SpaceLike | PathLike, k: int = 10, exact: bool = True, *, candidates: int | None = None
    ) -> Neighbors:
        """Find the k spaces nearest to x.

        Parameters
        ----------
        x : Space, AnchorFeatures (not for "aw"), array_like or path
            A file is read with the options of the index (`reading`); a space read with others gives an `InputWarning`.
        k : int
            Number of neighbours; at most ``len(index)``.
        exact : bool
            True: evaluate spaces by increasing bound until no other can be among the nearest; the result equals that
            of comparing with all. False: the best among the first `candidates` by bound.
        candidates : int, optional
            For ``exact=False``; 10 k by default.

        Returns
        -------
        Neighbors
            `index` holds ids, `value` what `pairwise` with this metric gives, and `n_exact` says how many were compared
            exactly.

        Raises
        ------
        InputError
            If there are fewer than k spaces, or if features in the index file are damaged.
        """
        k = check_integer(k, "k", 1)
        if exact and candidates is not None:
            raise InputError("candidates needs exact=False; exact=True evaluates as many as necessary")
        candidates = check_integer(10 * k if candidates is None else candidates, "candidates", k)
        header = self._file.header()
        if isinstance(x, str | os.PathLike):
            x = read(x, **{"cache": True, **(header.reading or {})})
        _note_difference(reading_of(x), header.reading)
        while True:
            with suppress(StaleError):
                if k > header.count:
                    raise InputError(f"k={k}, but the index has only {header.count} spaces")
                kept, added = header.view.query(x)
                result = self._reader.nearest(header, kept, k, None if exact else candidates)
                break
            header = self._file.header()
        found, ids, all_names = zip(*result.found, strict=True)
        values = header.view.scale * np.array(found) + added
        names = None if None in all_names else all_names
        return Neighbors(np.array(ids), values, names, result.n_exact, exact, n_spaces=header.next_id)


def _note_difference(reading: dict[str, Any] | None, wanted: dict[str, Any] | None) -> None:
    """Warn if something was read with different options from the spaces of the index."""
    if differs := reading_difference(reading, wanted):
        note("this", f"was read with different options from the index: {differs}")


def _note_repeated(names: Sequence[str], known: Iterable[str] = ()) -> None:
    """Warn about names that several spaces will share once `names` are added to the known ones."""
    counts = Counter(names)
    counts.update(name for name in known if name in counts)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        many = f"{len(repeated)} names belong" if len(repeated) > 1 else "a name belongs"
        note_input(
            f"{many} to several spaces of the index: {repeated[0]!r} to {counts[repeated[0]]}"
            f"{', ...' if len(repeated) > 1 else ''}; queries cannot distinguish them, and remove removes all of them"
        )
