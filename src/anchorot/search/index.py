"""Nearest spaces by Anchor Energy among very many: vectors in FAISS bound it, features on disk decide."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
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
from anchorot.search.preprocessing import choose_view
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
    reading_difference,
    reading_of,
    remove,
    write_index,
)

if TYPE_CHECKING:
    from distributed import Client

    from anchorot.search.cluster import ClusterReader


class SearchIndex:
    """An index of spaces for nearest neighbours by Anchor Energy (p = 1); make one with `build` or `load`.

    In memory it keeps a vector per space (averages of F(x, t), see :func:`embed`, along the directions in which the
    spaces differ most), in FAISS; on disk, in one SQLite file, the spaces' sorted features. Distances of vectors are
    lower bounds of AE, so a query computes AE only for spaces whose bound allows them among the nearest.

    An index that was built with a `path`, or loaded, *is* that file: `add`, `remove` and `compact` change it at once,
    and whoever else has it open, in this process or another, sees each change whole or not at all. An index that was
    built without a path is in a temporary file until it is saved; so is what a forked process has of it. To send an
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

    def __init__(self, reader: Reader | ClusterReader) -> None:
        self._reader = reader
        self._file = reader.file

    @classmethod
    def build(
        cls,
        spaces: Iterable[Indexable],
        names: Iterable[str] | None = None,
        *,
        grid: tuple[int, int] | Grid = (16, 16),
        robust: bool = False,
        attributes: str | None = None,
        max_cost: float | None = None,
        path: PathLike | None = None,
        n_jobs: int = -1,
        client: Client | None = None,
        **reading: Any,
    ) -> Self:
        """Make an index of spaces.

        Parameters
        ----------
        spaces : iterable of Space, AnchorFeatures, array_like, paths, or functions that return one of these
            Gone through once, one space in memory at a time.
        names : iterable of str, optional
            What queries are to call the spaces. A name that several have is noted: `remove` takes all of that name.
        grid : (int, int) or Grid
            Cells along x and along t, over the range of all costs; or a grid with a range of its own. A vector has two
            numbers per cell: more cells are more memory and fewer exact evaluations.
        robust : bool
            Compare the ranks of the costs (:meth:`Space.ranked`).
        attributes : {"types"}, optional
            Tell points apart by their types too, see :func:`anchor_energy`. Spaces are then gone through several times
            (and kept, if they are no sequence), and a vector has these cells for every pair of types. Types that the
            index lacks are legal in queries, but not in spaces that are added.
        max_cost : float, optional
            Compare costs up to here; with marks by default the largest cost of all spaces.
        path : path, optional
            A file to write the index to, while spaces are read, so that neither spaces nor features have to fit into
            memory. An index that is there already is replaced once the new one is complete; anything else is not.
        n_jobs : int
            How many files of a list of paths to read at a time; -1 for one per core.
        client : dask.distributed.Client, optional
            Let the workers of a cluster read spaces, which must be a sequence, and make their features and vectors, for
            a `path` whose folder all of them see; see `load`. What a lost worker did is done again.
        **reading
            Options of :func:`read`, for paths.

        Returns
        -------
        SearchIndex
            With ids 0, 1, ... in the order of `spaces`.
        """
        import_faiss()  # before any work is done
        check_keywords("SearchIndex.build", reading)
        check_collection(spaces, "spaces", in_any_order=False)
        labels = as_names(names)
        if path is not None:
            replaceable(path)  # else say so before any work
        _note_repeated(labels or ())
        shape = grid.shape if isinstance(grid, Grid) else check_shape(grid)
        if attributes is not None and not isinstance(spaces, Sequence):
            spaces = list(spaces)
        loader = SpaceLoader(spaces, reading, n_jobs=n_jobs)
        view = choose_view(loader, attributes, max_cost, robust=robust)
        if view.has_types:
            if isinstance(grid, Grid):
                raise InputError(
                    "with attributes='types' the grid follows from the costs; give the numbers of cells alone"
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
                write_index(new, loader, labels, view, cells)
            return cls.load(path)
        handle, temporary = tempfile.mkstemp(".index", "anchorot-")
        os.close(handle)
        file = IndexFile(temporary, is_kept=False)
        try:
            write_index(file.path, loader, labels, view, cells)
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
            What was saved, or built there.
        client : dask.distributed.Client, optional
            Leave the vectors to the workers of a cluster, which must all see the file: each keeps those of some spaces,
            and a query asks all. Such an index cannot be changed.

        Raises
        ------
        InputError
            If it is no index, of another version, damaged, cut short, or holds what no index can; features are checked
            when a query first reads them.
        OSError
            If it cannot be read.
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
        """Write a copy, which appears whole or not at all, without room for what was removed.

        An index that is there is replaced; anything else is not. This one stays what it is: changes of it do not reach
        the copy. Saved to its own file it is compacted.
        """
        if os.path.exists(path) and os.path.samefile(path, self._file.path):
            self.compact()
            return
        with new_file(path) as new:
            copy_index(self._file, new)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SearchIndex cannot be pickled or copied; save() it, and load() the file where it is needed")

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
        """Options of :func:`read` that all spaces were read with, from their origins; None if they differ."""
        reading = self._file.header().reading
        return None if reading is None else dict(reading)

    @property
    def has_names(self) -> bool:
        """Whether its spaces have names."""
        return self._file.header().has_names

    @property
    def ids(self) -> Int64s:
        """Ids of the spaces in the index, ascending."""
        return self._reader.ids()

    def __len__(self) -> int:
        return self._file.header().count

    def __repr__(self) -> str:
        return f"SearchIndex({len(self)} spaces, {self.grid}, robust={self.robust})"

    def add(
        self, spaces: Iterable[Indexable], names: Iterable[str] | None = None, *, n_jobs: int = -1, **reading: Any
    ) -> Int64s:
        """Add spaces, all or none of them, and return their ids.

        Ids count from 0 and are never given again. Names must be given if the index has names, and only then. Costs may
        lie outside the range of the grid. Files are read as those of the index were, but for options that are given,
        and `n_jobs` of a list at a time.

        The file of the index is changed when all is read and computed, in one transaction.
        """
        check_keywords("SearchIndex.add", reading)
        check_collection(spaces, "spaces", in_any_order=False)
        labels = as_names(names)
        reader = self._changeable()
        header = reader.file.header()
        loader = SpaceLoader(spaces, reading, header.reading, n_jobs)
        staged = Staged(loader, header.view, self._file.path.parent)
        _note_difference(staged.reading, header.reading)
        check_names(labels, len(staged), header.has_names)
        if labels:
            _note_repeated(labels, reader.snapshot().names)
        return add(self._file, staged, labels)

    def remove(self, which: ArrayLike | Iterable[str]) -> None:
        """Remove spaces, given by their ids or by their names.

        Their room in the file is used for what is added next; `compact` gives it back.
        """
        reader = self._changeable()
        is_listed = not isinstance(which, Iterable) or isinstance(which, str | np.ndarray)
        given = np.unique(np.asarray(which if is_listed else list(cast("Iterable[Any]", which))))
        while True:
            with suppress(StaleError):
                ids = reader.snapshot().find(given)
                if ids:
                    remove(self._file, ids)
                return

    def compact(self) -> None:
        """Make the file smaller by what was removed, a little at a time; queries and changes go on meanwhile.

        If the index was built of fewer than 256 spaces and has more now, its vectors adapt to them.
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
        x : Space, AnchorFeatures, array_like or path
            A file is read as those of the index were (`reading`); of a space that was read otherwise an `InputWarning`
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
            `index` holds ids, `value` Anchor Energies.

        Raises
        ------
        InputError
            If there are fewer than k spaces, or if features in the file that the index was loaded from are damaged.
        """
        k = check_integer(k, "k", 1)
        if exact and candidates is not None:
            raise InputError("candidates is for exact=False; exact=True looks at as many as it needs")
        candidates = check_integer(10 * k if candidates is None else candidates, "candidates", k)
        header = self._file.header()
        if isinstance(x, str | os.PathLike):
            x = read(x, **{"cache": True, **(header.reading or {})})
        _note_difference(reading_of(x), header.reading)
        while True:
            with suppress(StaleError):
                if k > header.count:
                    raise InputError(f"k={k} nearest spaces are asked for, but the index has only {header.count}")
                features, added = header.view.query(x)
                answer = self._reader.answer(header, features, k, None if exact else candidates)
                break
            header = self._file.header()
        energies, ids, all_names = zip(*answer.found, strict=True)
        values = header.view.scale * np.array(energies) + added
        names = None if None in all_names else all_names
        return Neighbors(np.array(ids), values, names, answer.n_exact, exact, n_spaces=header.next_id)


def _note_difference(reading: dict[str, Any] | None, wanted: dict[str, Any] | None) -> None:
    """Note if something was read otherwise than the spaces of the index."""
    if differs := reading_difference(reading, wanted):
        note("this", f"was read otherwise than the index: {differs}")


def _note_repeated(names: Sequence[str], known: Iterable[str] = ()) -> None:
    """Note names that several spaces will have, once `names` are added to those that are known."""
    counts = Counter(names)
    counts.update(name for name in known if name in counts)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        many = f"{len(repeated)} names stand" if len(repeated) > 1 else "a name stands"
        note_input(
            f"{many} for several spaces of the index: {repeated[0]!r} for {counts[repeated[0]]}"
            f"{', ...' if len(repeated) > 1 else ''}; queries do not tell them apart, and remove takes all of them"
        )
