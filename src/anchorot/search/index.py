"""Nearest spaces by Anchor Energy among very many: vectors in FAISS bound it, features on disk decide."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Int64s
from anchorot._validate import check_integer
from anchorot.anchors.grid import Grid, check_shape
from anchorot.distances.neighbors import Neighbors
from anchorot.exceptions import InputError
from anchorot.io.files import read
from anchorot.io.notes import note
from anchorot.io.options import PathLike
from anchorot.many.inputs import Inputs
from anchorot.search.distant import DistantShards, build_there
from anchorot.search.file import IndexFile
from anchorot.search.filling import Entry, Recipe, SpaceLike, check_names, difference, reading_of
from anchorot.search.folder import Folder
from anchorot.search.held import HeldShards
from anchorot.search.loading import Loading
from anchorot.search.shard import Common, Shard
from anchorot.search.vectors import import_faiss
from anchorot.search.view import view_of
from anchorot.search.writing import opened, written

if TYPE_CHECKING:
    from distributed import Client

NONE = np.empty(0, np.int64)


class SearchIndex:
    """An index of spaces for nearest neighbours by Anchor Energy (p = 1); make one with `build` or `load`.

    In memory it keeps a vector a space (averages of F(x, t), see :func:`embed`, along the directions in which the
    spaces differ most), in FAISS; on disk, the space's sorted features. Distances of vectors are lower bounds of AE,
    so a query computes AE only for spaces whose bound allows them among the nearest.

    Threads may use one index at the same time: queries run side by side, and each sees an addition or a removal whole
    or not at all. A forked process has the index as it was at the fork; from then on each changes its own. To send an
    index elsewhere, save it and load it there; it cannot be pickled or copied.

    An index that was built or loaded in memory is changed there, and saved as one file. One that was built in a folder
    (`path`) is changed there at once.

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

    def __init__(self, contents: HeldShards | DistantShards) -> None:
        self._contents = contents

    @classmethod
    def build(
        cls,
        spaces: Iterable[Entry],
        names: Sequence[str] | None = None,
        *,
        grid: tuple[int, int] | Grid = (16, 16),
        robust: bool = False,
        marks: str | None = None,
        reach: float | None = None,
        folder: PathLike | None = None,
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
            Where features lie as long as they are in no saved file: by default `path`, or the temporary folder.
        path : path, optional
            A folder to write the index to, some ten thousand spaces at a time, so that neither spaces nor features have
            to fit into memory; `add` and `remove` then change what is there. An index that is there already is replaced
            once the new one is complete.
        n_jobs : int
            How many files of a list of paths to read at a time; -1 for one per core.
        client : dask.distributed.Client, optional
            Let the workers of a cluster read spaces, which must be a sequence, and make the index, some shards each, in
            a folder `path` that all of them see; see `load`. What a lost worker did is done again.
        **reading
            Options of :func:`read`, for paths.

        Returns
        -------
        SearchIndex
            With ids 0, 1, ... in the order of `spaces`.
        """
        import_faiss()  # before any work is done
        shape = grid.shape if isinstance(grid, Grid) else check_shape(grid)
        if marks is not None and not isinstance(spaces, Sequence):
            spaces = list(spaces)
        loading = Loading(spaces, reading, n_jobs=n_jobs)
        view = view_of(loading, marks, reach, robust=robust)
        if view.has_types:
            if isinstance(grid, Grid):
                raise InputError("with marks='types' the grid follows from the costs; give the numbers of cells alone")
            shape = len(view.alphabet) ** 2 * shape[0], shape[1]
        meanwhile = path if folder is None and client is None else folder
        recipe = Recipe(view, grid if isinstance(grid, Grid) else shape, meanwhile)
        if client is not None:
            inputs = Inputs.of(cast("Sequence[Any]", spaces), None, **reading)
            return cls(DistantShards(build_there(recipe, inputs, names, path, client), client))
        if path is None:
            shard, how = recipe.shard(loading)
            shard.names = check_names(names, len(shard), names is not None)
            return cls(HeldShards((shard,), Common(view, len(shard), how)))
        home = Folder.new(path)
        home.replace(written(home, recipe, loading, names))
        return cls.load(path)

    @classmethod
    def load(cls, path: PathLike, *, client: Client | None = None, one_by_one: bool = False) -> Self:
        """Open a saved index, a file or a folder. Its vectors are read into memory, its features stay on disk.

        Parameters
        ----------
        path : path
            What was saved, or built there.
        client : dask.distributed.Client, optional
            Leave the shards of a folder, which all workers must see, to the workers of a cluster: each keeps some, and
            a query asks all. Such an index cannot be changed.
        one_by_one : bool
            Open the shards of a folder one after another, for every query anew: for vectors that do not fit into
            memory together. Such an index cannot be changed.

        Raises
        ------
        InputError
            If it is no index, of another version, damaged, cut short, or holds what no index can; features are checked
            when a query first reads them.
        OSError
            If it cannot be read.
        """
        import_faiss()
        if client is not None or one_by_one:
            return cls(DistantShards(path, client))
        if os.path.isdir(path):
            home, shards, common = opened(path)
            return cls(HeldShards(shards, common, home))
        shard, common = Shard.load(IndexFile(path))
        return cls(HeldShards((shard,), common))

    def save(self, path: PathLike) -> None:
        """Write the index to one file, which appears whole or not at all; removed spaces are left out."""
        self._contents.save(path)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SearchIndex cannot be pickled or copied; save() it, and load() the file where it is needed")

    @property
    def grid(self) -> Grid:
        """The cells of the vectors."""
        return self._contents.grid

    @property
    def robust(self) -> bool:
        """Whether ranks of costs are compared."""
        return self._contents.common.view.robust

    @property
    def reading(self) -> dict[str, Any] | None:
        """Options of :func:`read` that all spaces were read with, from their origins; None if there is no such."""
        return None if self._contents.common.reading is None else dict(self._contents.common.reading)

    @property
    def has_names(self) -> bool:
        """Whether its spaces have names."""
        return self._contents.has_names

    @property
    def ids(self) -> Int64s:
        """Ids of the spaces in the index, ascending."""
        return self._contents.ids

    def __len__(self) -> int:
        return len(self._contents)

    def __repr__(self) -> str:
        return f"SearchIndex({len(self)} spaces, {self.grid}, robust={self.robust})"

    def add(
        self, spaces: Iterable[Entry], names: Sequence[str] | None = None, *, n_jobs: int = -1, **reading: Any
    ) -> Int64s:
        """Add spaces, all or none of them, and return their ids.

        Ids count from 0 and are never given again. Names must be given if the index has names, and only then. Costs may
        lie outside the range of the grid. Files are read as those of the index were, but for options that are given,
        and `n_jobs` of a list at a time.

        An index in a folder gets one more file, and whoever loads it from then on has the new spaces; many small
        additions make many files, which `compact` joins. Any other index is changed in memory until it is saved.
        """
        loading = Loading(spaces, reading, self._contents.common.reading, n_jobs)
        return self._contents.add(loading, names, self._compare_reading)

    def remove(self, which: ArrayLike | Iterable[str]) -> None:
        """Remove spaces, given by their ids or by their names.

        Their features stay on disk until the index is saved, or compacted if it is in a folder.
        """
        self._contents.remove(which)

    def compact(self) -> None:
        """Join small files of an index in a folder, and give back the space of what was removed."""
        self._contents.compact()

    def _compare_reading(self, reading: dict[str, Any] | None) -> None:
        """Note if something was read otherwise than the spaces of the index."""
        if differs := difference(reading, self._contents.common.reading):
            note("this", f"was read otherwise than the index: {differs}")

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
        view, _, reading = self._contents.common
        if isinstance(x, str | os.PathLike):
            x = read(x, **{"cache": True, **(reading or {})})
        self._compare_reading(reading_of(x))
        features, added = view.query(x)
        answer = self._contents.answer(features, k, None if exact else candidates) if k <= len(self) else None
        if answer is None or len(answer.found) < k:  # some may be gone since just now
            raise InputError(f"k={k} nearest spaces are asked for, but the index has only {len(self)}")
        energies, ids, names = zip(*answer.found, strict=True)
        values = view.scale * np.array(energies) + added
        return Neighbors(np.array(ids), values, None if None in names else names, answer.n_exact, exact)
