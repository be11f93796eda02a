"""Collections of graphs with classes, and types and features of their nodes; the folders of the TU collection."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_finite
from anchorot.exceptions import InputError
from anchorot.io.gate import MAX_BYTES, about
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.graphs import n_kept, node_marks, note_collection, single, table_space
from anchorot.io.marks import Columns
from anchorot.io.options import Disconnected
from anchorot.io.shortest_paths import adjacency
from anchorot.io.text import lines_of, numbers
from anchorot.space import Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class GraphSet(Sequence["csr_array"]):
    """A collection of graphs with their classes, and types and features of their nodes.

    A sequence: ``graphs[0]`` is the first of `graphs`, and ``graphs[:10]`` the collection of the first ten.

    Attributes
    ----------
    name : str
    graphs : tuple of scipy.sparse.csr_array
        Adjacency matrices; :func:`from_graph` takes them.
    labels : ndarray of shape (len(graphs),) or None
        Class of each graph, if the collection has classes.
    types : tuple of tuples, or None
        Of each graph the labels of its nodes, if nodes have labels: integers, or tuples of them.
    features : tuple of ndarray of shape (n, d), or None
        Of each graph the attributes of its nodes, if nodes have attributes.
    """

    name: str
    graphs: tuple[csr_array, ...]
    labels: Int64s | None
    types: tuple[tuple[Hashable, ...], ...] | None = None
    features: tuple[Float64s, ...] | None = None

    not_a_space: ClassVar[str] = "make spaces of its graphs: .spaces()"

    def __len__(self) -> int:
        return len(self.graphs)

    @overload
    def __getitem__(self, place: int) -> csr_array: ...
    @overload
    def __getitem__(self, place: slice) -> GraphSet: ...
    def __getitem__(self, place: int | slice) -> csr_array | GraphSet:
        if not isinstance(place, slice):
            return self.graphs[place]
        parts = {"labels": self.labels, "types": self.types, "features": self.features}
        kept: dict[str, Any] = {name: None if part is None else part[place] for name, part in parts.items()}
        return replace(self, graphs=self.graphs[place], **kept)

    def __repr__(self) -> str:
        classes = "" if self.labels is None else f", {len(np.unique(self.labels))} classes"
        types = "" if self.types is None else f", {len({kind for own in self.types for kind in own})} types"
        features = f", features of length {self.features[0].shape[1]}" if self.features else ""
        return f"GraphSet({self.name}, {len(self.graphs)} graphs{classes}{types}{features})"

    def table(self, place: int) -> EdgeTable:
        """Return a graph with its node attributes ``label`` (types) and ``attributes`` (features), if it has them."""
        own = {
            name: marks[place]
            for name, marks in (("label", self.types), ("attributes", self.features))
            if marks is not None
        }
        return replace(edge_table(self.graphs[place], None, None), columns=Columns("node attribute", own))

    def spaces(
        self, disconnected: Disconnected = "error", *, n_points: int | None = None, rng: RngLike = None
    ) -> list[Space]:
        """Make a space of every graph, with the types and features of its nodes.

        Parameters
        ----------
        disconnected : {"error", "largest"} or float
            What to do with graphs in several parts, see :func:`from_graph`.
        n_points : int, optional
            Keep at most this many nodes of each graph, drawn uniformly.
        rng : None, int or numpy.random.Generator
            Source of randomness for the draws.

        Returns
        -------
        list of Space
        """
        generator = np.random.default_rng(rng)
        tables = [self.table(place) for place in range(len(self.graphs))]
        made = []
        for number, table in enumerate(tables, start=1):
            try:
                marks = node_marks(table, **marks_in(table))
                made.append(single(table_space(table, disconnected, marks=marks, n_points=n_points, rng=generator)))
            except InputError as error:
                raise InputError(f"{self.name}/{number}: {error}") from None
        note_collection(self.name, tables, [n_kept(space) for space in made])
        return made


def marks_in(table: EdgeTable) -> dict[str, Any]:
    """Return which node attributes of a collection's graph are its types and features."""
    names = (("types", "label"), ("features", "attributes"))
    return {mark: name for mark, name in names if name in table.columns}


def is_tu_folder(folder: Path) -> bool:
    """Whether a folder holds a TU collection of its own name."""
    return (folder / f"{folder.resolve().name}_graph_indicator.txt").is_file()


def read_tu(folder: str | os.PathLike[str]) -> GraphSet:
    r"""Read a folder of the TU collection (ENZYMES, MUTAG, ...): graphs, their classes, labels and attributes of nodes.

    Parameters
    ----------
    folder : path
        A folder NAME with the files NAME_A.txt, NAME_graph_indicator.txt and, where there are classes, types or
        features, NAME_graph_labels.txt, NAME_node_labels.txt and NAME_node_attributes.txt.

    Returns
    -------
    GraphSet
        With ``.spaces()``, or ``.graphs``, sparse matrices for :func:`from_graph`; ``.labels``, ``.types`` and
        ``.features``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part, text in (("A", "1, 2\n2, 3"), ("graph_indicator", "1\n1\n1"), ("graph_labels", "7")):
    ...         _ = Path(folder, f"{Path(folder).name}_{part}.txt").write_text(text)
    ...     graphs = ao.read_tu(folder)
    >>> graphs.labels.tolist(), graphs.spaces()[0].cost[0].tolist()
    ([7], [0.0, 1.0, 2.0])
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place}: not a folder")
    name = place.resolve().name
    if not is_tu_folder(place):
        raise InputError(f"{place}: no TU collection, there is no file {name}_graph_indicator.txt in it")
    graph_of = _integers(place / f"{name}_graph_indicator.txt")[:, 0] - 1
    edges = _integers(place / f"{name}_A.txt") - 1
    _check_tu(edges, graph_of, name)
    sizes = np.bincount(graph_of)
    first_node = np.cumsum(sizes) - sizes
    order = np.argsort(graph_of[edges[:, 0]], kind="stable")
    cuts = np.searchsorted(graph_of[edges[order, 0]], np.arange(1, len(sizes)))
    parts = np.split(edges[order], cuts)
    graphs = [
        adjacency(int(n), part - start, None, directed=False)
        for n, part, start in zip(sizes, parts, first_node, strict=True)
    ]
    label_file = place / f"{name}_graph_labels.txt"
    labels = _integers(label_file)[:, 0] if label_file.is_file() else None
    if labels is not None and len(labels) != len(graphs):
        raise InputError(f"{label_file.name}: {len(labels)} classes, but there are {len(graphs)} graphs")
    cuts = first_node[1:]
    return GraphSet(name, tuple(graphs), labels, *_node_marks(place, name, len(graph_of), cuts))


def _node_marks(
    place: Path, name: str, n: int, cuts: Int64s
) -> tuple[tuple[tuple[Hashable, ...], ...] | None, tuple[Float64s, ...] | None]:
    """Read what a TU collection has of its nodes: labels and attributes, by graph."""
    types = features = None
    file = place / f"{name}_node_labels.txt"
    if file.is_file():
        codes = _a_line_each(_integers(file), n, file)
        types = tuple(_kinds(part) for part in np.split(codes, cuts))
    file = place / f"{name}_node_attributes.txt"
    if file.is_file():
        with about(file):
            values = numbers(lines_of(file, MAX_BYTES), ",")
            check_finite(values, "attributes of nodes")
        features = tuple(np.split(_a_line_each(values, n, file), cuts))
    return types, features


def _a_line_each(values: np.ndarray, n: int, file: Path) -> np.ndarray:
    if len(values) != n:
        raise InputError(f"{file.name}: {len(values)} lines, but there are {n} nodes")
    return values


def _kinds(codes: Int64s) -> tuple[Hashable, ...]:
    """Return codes as integers, or tuples of several."""
    return tuple(codes[:, 0].tolist() if codes.shape[1] == 1 else map(tuple, codes.tolist()))


def _integers(file: Path) -> Int64s:
    with about(file):
        found = numbers(lines_of(file, MAX_BYTES), ",")
        if not (np.abs(found) < 2**53).all() or (found != np.floor(found)).any():
            raise InputError("integers are needed")
    return found.astype(np.int64)


def _check_tu(edges: Int64s, graph_of: Int64s, name: str) -> None:
    if (np.diff(graph_of) < 0).any() or graph_of[0] != 0 or (np.diff(graph_of) > 1).any():
        raise InputError(
            f"{name}_graph_indicator.txt: graphs must be numbered 1, 2, 3, ... in the order of their nodes"
        )
    if edges.shape[1] != 2 or edges.min() < 0 or edges.max() >= len(graph_of):
        raise InputError(f"{name}_A.txt: edges must be pairs of nodes from 1 to {len(graph_of)}")
    if (graph_of[edges[:, 0]] != graph_of[edges[:, 1]]).any():
        raise InputError(f"{name}_A.txt: an edge joins nodes of different graphs")
