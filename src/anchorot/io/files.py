"""Read and write spaces in all formats; read many files in worker processes where that is faster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from anchorot._parallel import CannotStartError, LostProcessError, Processes
from anchorot._typing import Float64s
from anchorot._validate import suspicious_cost
from anchorot.exceptions import InputError
from anchorot.io.atomic import replacing
from anchorot.io.attributes import Features, Types, attributes_of, draw_points
from anchorot.io.cache import cached_space, is_costly, through_cache
from anchorot.io.cells import Cells, cell_space, read_h5ad
from anchorot.io.crystal_files import CRYSTAL_ENDINGS, is_crystal, read_crystal
from anchorot.io.graph_costs import GraphCost
from anchorot.io.graph_files import NETWORKX_READERS, read_edge_list, read_networkx, read_swc
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.graph_sets import is_gin_file, is_tu_folder
from anchorot.io.graphs import node_attributes, note_ignored, single, table_space
from anchorot.io.matrices import MATRIX_READERS
from anchorot.io.mesh_files import MESH_READERS, Mesh, read_mesh
from anchorot.io.meshes import mesh_space
from anchorot.io.names import READ_IN_PLACE, ending_of, full_ending, name_of
from anchorot.io.options import ReadOptions, by_keywords
from anchorot.io.points import cloud_space
from anchorot.io.safe_open import about, collecting_notes, note
from anchorot.io.stored import STORED, arrays_of, space_of
from anchorot.provenance import Origin
from anchorot.rows import Rows
from anchorot.space import Space, as_space

EDGE_LIST_ENDINGS = (".edgelist", ".edges")
GRAPH_ENDINGS = (*EDGE_LIST_ENDINGS, *sorted(NETWORKX_READERS), ".swc")
ENDINGS = tuple(sorted([*MATRIX_READERS, *MESH_READERS, *GRAPH_ENDINGS, *CRYSTAL_ENDINGS, ".h5ad"]))
SECONDS_PER_BYTE = 3e-6  # approximate time to read a mesh
SpaceOrRows = TypeVar("SpaceOrRows", Space, Rows)
MIN_SECONDS = 4.0  # of reading that justify starting processes


@by_keywords
def read(path: Path, options: ReadOptions) -> Any:
    r"""Read a space from a file, by its ending.

    =============================  ====================================================================
    .npz                           an array ``cost``, or ``points``, or a mesh ``V`` and ``F``; optionally
                                   ``weights``, ``types``, ``features`` and ``labels``; any file from `write`
    .npy                           a cost matrix
    .csv, .tsv                     a cost matrix, numbers separated by commas or tabs; a header and a first
                                   column of names are allowed
    .txt                           a cost matrix, numbers separated by blanks; or the format of the paper's
                                   authors' program: n, then n lines of n costs, then optionally n weights
    .off, .ply, .obj, .stl, .mat   a mesh, see :func:`from_mesh`
    .graphml, .gexf, .gml          a graph, see :func:`from_graph`
    .edgelist, .edges              the same
    .swc                           a neuron: paths along its tree
    .h5ad                          cells, see :func:`from_cells`
    .cif, .vasp, .poscar, POSCAR   a crystal, see :func:`from_crystal`; `Rows`, not a space
    =============================  ====================================================================

    All but .npz, .npy, .mat and .h5ad may be compressed with gzip, as in ``graph.edgelist.gz``.

    Parameters
    ----------
    path : path
    OPTIONS

    Returns
    -------
    Space, or Rows of a crystal
        With the file's names of points as labels, positions (if the file has them) in `Space.geometry`, the file and
        these options in `Space.origin`. ``disconnected="split"`` is not possible here; see :func:`from_graph`.

    Raises
    ------
    InputError
        If the file does not hold a space; the message starts with its name.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "path.edgelist")
    ...     _ = path.write_text("a b\nb c\n")
    ...     space = ao.read(path)
    >>> space.labels, space.cost.tolist()
    (('a', 'b', 'c'), [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    """
    return Unread(path, options)()


@dataclass(frozen=True)
class Unread:
    """A file and the options to read it with: a picklable function without arguments."""

    path: Path
    options: ReadOptions

    def __call__(self) -> Any:
        """Read the file."""
        with about(self.path):
            file, options = self.path, self.options
            if is_crystal(file):
                _check_is_file(file)
                return self._with_origin(read_crystal(file, options))
            return self._with_origin(through_cache(file, options, _one) if options.cache else _one(file, options))

    def cached(self) -> Space | None:
        """Return the space from the cache, if the cache is used and has it."""
        found = cached_space(self.path, self.options) if self.options.cache else None
        return None if found is None else self._with_origin(found)

    def _with_origin(self, space: SpaceOrRows) -> SpaceOrRows:
        return space.coming_from(Origin(os.fspath(self.path), self.options.record, source=space.origin))


def _one(file: Path, options: ReadOptions) -> Space:
    _check_is_file(file)
    found = _read(file, options)
    return single(found) if isinstance(found, list) else found


def _read(file: Path, options: ReadOptions) -> Space | list[Space]:
    ending = ending_of(file)
    if ending == ".txt" and is_gin_file(file):
        raise InputError("this is a collection of graphs (read_gin reads it), but a single space is needed")
    graph = _edges_of(file, options)
    if graph is not None:
        return note_ignored(file.name, graph[0], _graph(*graph, options))
    if ending in MESH_READERS:
        return _mesh(read_mesh(file, options.limit), options, options.types, options.features)
    if ending == ".h5ad":
        return _cells(read_h5ad(file, options.obsm, options.wanted, options.limit), options)
    if ending in MATRIX_READERS:
        return _matrix(MATRIX_READERS[ending](file, options), file, options)
    raise InputError(
        f"unknown ending '{full_ending(file)}'; known endings: {', '.join(ENDINGS)}; "
        f".gz may follow all but {', '.join(READ_IN_PLACE)}"
    )


def is_readable(file: Path) -> bool:
    """Whether a file's name is that of a known format."""
    return ending_of(file) in ENDINGS or is_crystal(file)


def _check_is_file(file: Path) -> None:
    """Raise if a file does not exist or is a folder."""
    file.stat()
    if file.is_dir():
        hint = " (of a TU collection: read_tu reads it)" if is_tu_folder(file) else ""
        raise InputError(
            f"this is a folder{hint}, but a file is needed; to compare all files in it: anchorot pairwise {file}"
        )


@dataclass(frozen=True)
class UnreadGraph:
    """A file with a graph, and the options to read its edges with."""

    path: Path
    options: ReadOptions

    def __call__(self) -> EdgeTable:
        """Read the edges."""
        with about(self.path):
            return read_edges(self.path, replace(self.options, weight=False, directed=False))

    def cached(self) -> None:
        """Return None: graphs are not cached."""


def read_edges(file: Path, options: ReadOptions) -> EdgeTable:
    """Read the edges of a file that holds a graph."""
    _check_is_file(file)
    found = _edges_of(file, options)
    if found is None:
        graphs = ", ".join(GRAPH_ENDINGS)
        raise InputError(
            f"a graph is needed: {graphs}, or with kind='graph' (--kind graph) a .csv, .tsv or .txt of edges"
        )
    return found[0]


def read_vectors(file: Path, options: ReadOptions) -> tuple[Any, Sequence[Any] | None]:
    """Read rows of numbers, not yet validated, and their names, if any: a table, an array, or cells."""
    _check_is_file(file)
    ending = ending_of(file)
    if ending == ".h5ad":
        cells = read_h5ad(file, options.obsm, options.wanted, options.limit)
        return cells.values, cells.names
    if ending not in MATRIX_READERS:
        raise InputError(
            f"rows of numbers are needed: .h5ad, {', '.join(MATRIX_READERS)}, but this ends in '{full_ending(file)}'"
        )
    found = MATRIX_READERS[ending](file, replace(options, kind="points"))
    if "V" in found:
        raise InputError("this is a mesh, but rows of numbers are needed")
    rows = found["points"] if "points" in found else found["cost"]
    return rows, found.get("labels")


class Readers(Processes):
    """Reads files for several threads, in worker processes where that is faster: readers rarely release Python's lock.

    Where no process can be started, such as in an embedded interpreter, the threads read the files themselves.

    Parameters
    ----------
    n_jobs : int
        Number of calling threads. With one, no process is started.
    n_files : int
        Approximate number of files: few small ones do not justify a process.
    """

    def __init__(self, n_jobs: int, n_files: int) -> None:
        super().__init__()
        self._has_processes = n_jobs > 1
        self._n_left = n_files

    def read(self, entry: Callable[[], Any]) -> Any:
        """Read a file where that is fastest: here if it is cached or small. Other functions are called directly."""
        self._n_left -= 1
        if not isinstance(entry, Unread | UnreadGraph) or not self._has_processes:
            return entry()
        if not is_costly(entry.path, entry.options):
            return entry()
        cached = entry.cached()
        if cached is not None:
            return cached
        seconds = entry.path.stat().st_size * SECONDS_PER_BYTE * max(1, self._n_left + 1)
        if not self._all and seconds < MIN_SECONDS:
            return entry()
        try:
            found, notes = self.call(read_with_notes, entry)
        except CannotStartError:
            self._has_processes = False
            return entry()
        except LostProcessError:
            name = entry.path.name
            raise InputError(f"{name}: the process that read it was killed, crashed or ran out of memory") from None
        for text in notes:
            note(entry.path.name, text)
        return found


def read_with_notes(entry: Unread | UnreadGraph) -> tuple[Any, list[str]]:
    """Read an entry; return it with the notes about the file."""
    with collecting_notes() as notes:
        return entry(), notes


def _edges_of(file: Path, options: ReadOptions) -> tuple[EdgeTable, Float64s | None] | None:
    """Return the edges and positions of a file that holds a graph, or None."""
    ending = ending_of(file)
    if ending in EDGE_LIST_ENDINGS or (options.kind == "graph" and ending in (".csv", ".tsv", ".txt")):
        return read_edge_list(file, options.weight, options.directed, options.limit), None
    if ending in NETWORKX_READERS:
        return read_networkx(file, options.weight, options.directed, options.limit), None
    return read_swc(file, options.limit) if ending == ".swc" else None


def _graph(table: EdgeTable, positions: Float64s | None, options: ReadOptions) -> Space | list[Space]:
    attributes = node_attributes(table, options.types, options.features)
    cost, sample = GraphCost.of(options.costs, options.time), {"n_points": options.n_points, "rng": options.rng}
    return table_space(
        table,
        options.disconnected,
        cost=cost,
        attributes=attributes,
        positions=positions,
        **sample,  # type: ignore[arg-type]
    )


def _cells(cells: Cells, options: ReadOptions) -> Space | list[Space]:
    attributes = attributes_of(options.types, options.features, cells.names, cells.columns, "the file")
    how = options.point_metric, options.n_neighbors, options.disconnected
    sample = options.n_points, options.rng
    return cell_space(cells.values, cells.names, attributes, *how, *sample, limit=options.limit)


def _mesh(mesh: Mesh, options: ReadOptions, types: Types | None, features: Features | None) -> Space:
    return mesh_space(
        mesh, options.n_points, options.geodesic, options.rng, options.sampling, types=types, features=features
    )


def _matrix(found: dict[str, Any], file: Path, options: ReadOptions) -> Space | list[Space]:
    if "V" in found:
        mesh = Mesh(found["V"], found["F"], name=file.name)
        return _mesh(mesh, options, found.get("types"), found.get("features"))
    if options.kind == "points" and "cost" in found:  # stored parts of a space belong to its costs
        found = {"points" if name == "cost" else name: part for name, part in found.items() if name not in STORED}
    if "points" in found:
        how = options.point_metric, options.n_neighbors, options.disconnected
        return cloud_space(found.pop("points"), *how, **found, n_points=options.n_points, rng=options.rng)
    cost = found.pop("cost")
    if options.kind == "graph":
        table = edge_table(cost.tolist(), options.weight, options.directed)
        return note_ignored(file.name, table, _graph(table, None, options))
    if cost.ndim == 2 and cost.shape[0] != cost.shape[1]:
        raise InputError(
            f"a cost matrix is square, but this one is {cost.shape[0]} x {cost.shape[1]}; "
            "if its rows are points, use kind='points' (--kind points)"
        )
    space = space_of({"cost": cost, **found})
    problem = None if space.origin else suspicious_cost(space.cost)  # files from `write` were checked before
    if problem is not None:
        note(file.name, "holds " + problem)
    kept = draw_points(np.arange(space.n), options.n_points, options.rng, space.weights)
    return space if len(kept) == space.n else space.take(kept)


def write(space: Space | ArrayLike, path: str | os.PathLike[str]) -> None:
    """Write a space as a compressed ``.npz`` file that `read` reads back; the write is atomic.

    Parameters
    ----------
    space : Space, or array_like of shape (n, n)
        All its data are written and read back exactly, except that labels that are neither all integers nor all texts
        become texts. Types must be texts, integers, booleans or floats, all of one kind.
    path : path
        Must end in .npz. An existing file is replaced.

    Raises
    ------
    InputError
        If the path has another ending.
    OSError
        If it cannot be written; an existing file is then unchanged.

    Examples
    --------
    >>> import tempfile
    >>> import anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ao.write(ao.from_points([[0, 0], [3, 4]], types=["C", "O"]), f"{folder}/pair.npz")
    ...     ao.read(f"{folder}/pair.npz").types
    ('C', 'O')
    """
    arrays = arrays_of(as_space(space))
    file = Path(path)
    if file.suffix.lower() != ".npz":
        raise InputError(f"{name_of(file)}: spaces are written as .npz files only")
    with replacing(file) as temporary:
        np.savez_compressed(temporary, **arrays)
