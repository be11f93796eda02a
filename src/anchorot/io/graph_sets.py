"""Collections of graphs with classes, node types and node features: TU folders and GIN text files."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np

from anchorot._typing import Disconnected, Float64s, Int64s, RngLike
from anchorot._validate import check_bytes, check_finite, check_rng
from anchorot.exceptions import InputError
from anchorot.io.columns import Columns
from anchorot.io.graph_costs import GraphCost, adjacency
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.graphs import n_kept, node_attributes, note_collection, single, table_space
from anchorot.io.names import GZIP, stem_of
from anchorot.io.safe_open import MAX_BYTES, about, check_no_underscore, head_of, lines_of, numbers, whole_number
from anchorot.space import Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array

HEAD_BYTES = 1 << 16  # read to detect the format


@dataclass(frozen=True, eq=False)
class GraphSet(Sequence["csr_array"]):
    """A collection of graphs with classes, node types and node features.

    A sequence: ``graphs[0]`` is the first of `graphs`, and ``graphs[:10]`` the collection of the first ten.

    Attributes
    ----------
    name : str
    graphs : tuple of scipy.sparse.csr_array
        Adjacency matrices; :func:`anchorot.from_graph` takes them.
    labels : ndarray of shape (len(graphs),) or None
        Class of each graph, if known.
    types : tuple of tuples, or None
        Node labels of each graph, if known: integers, or tuples of integers.
    features : tuple of ndarray of shape (n, d), or None
        Node attributes of each graph, if known.
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
        """Return a graph with its node attributes ``label`` (types) and ``attributes`` (features), if known."""
        own = {
            name: attributes[place]
            for name, attributes in (("label", self.types), ("attributes", self.features))
            if attributes is not None
        }
        return replace(edge_table(self.graphs[place], None, None), columns=Columns("node attribute", own))

    def spaces(
        self,
        disconnected: Disconnected = "error",
        *,
        cost: str = "paths",
        time: float | None = None,
        n_points: int | None = None,
        rng: RngLike = None,
    ) -> list[Space]:
        """Make a space of every graph, with the types and features of its nodes.

        Parameters
        ----------
        disconnected : {"error", "largest"} or float
            What to do with graphs that are not connected, see :func:`anchorot.from_graph`.
        cost, time
            What costs are, see :func:`anchorot.from_graph`; heat distances at several times may be added.
        n_points, rng
            Sample at most this many nodes of each graph, see :func:`anchorot.from_graph`.

        Returns
        -------
        list of Space
        """
        generator = check_rng(rng)
        how = GraphCost.of(cost, time)
        tables = [self.table(place) for place in range(len(self.graphs))]
        made = []
        for number, table in enumerate(tables, start=1):
            try:
                attributes = node_attributes(table, **attributes_in(table))
                found = table_space(
                    table, disconnected, cost=how, attributes=attributes, n_points=n_points, rng=generator
                )
                made.append(single(found))
            except InputError as error:
                raise InputError(f"{self.name}/{number}: {error}") from None
        note_collection(self.name, tables, [n_kept(space) for space in made])
        return made


def attributes_in(table: EdgeTable) -> dict[str, Any]:
    """Return the names of the node attributes that are the types and features of a collection's graph."""
    names = (("types", "label"), ("features", "attributes"))
    return {option: name for option, name in names if name in table.columns}


def is_tu_folder(folder: Path) -> bool:
    """Whether a folder holds a TU collection with the folder's name."""
    return _part(folder, "graph_indicator").is_file()


def _part(folder: Path, part: str) -> Path:
    """Return the file with a part of a TU collection; the compressed one if only that exists."""
    file = folder / f"{folder.resolve().name}_{part}.txt"
    compressed = file.with_name(file.name + GZIP)
    return compressed if compressed.is_file() and not file.is_file() else file


def read_tu(folder: str | os.PathLike[str]) -> GraphSet:
    r"""Read a folder of the TU collection (ENZYMES, MUTAG, ...): graphs, classes, node labels and node attributes.

    Parameters
    ----------
    folder : path
        A folder NAME with the files NAME_A.txt, NAME_graph_indicator.txt and, where there are classes, types or
        features, NAME_graph_labels.txt, NAME_node_labels.txt and NAME_node_attributes.txt.

    Returns
    -------
    GraphSet
        With ``.spaces()``, or ``.graphs``, sparse matrices for :func:`anchorot.from_graph`; ``.labels``, ``.types`` and
        ``.features``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part, text in (("A", "1, 2\n2, 3"), ("graph_indicator", "1\n1\n1"), ("graph_labels", "7")):
    ...         _ = Path(folder, f"{Path(folder).name}_{part}.txt").write_text(text)
    ...     graphs = ao.io.read_tu(folder)
    >>> graphs.labels.tolist(), graphs.spaces()[0].cost[0].tolist()
    ([7], [0.0, 1.0, 2.0])
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place}: not a folder")
    name = place.resolve().name
    if not is_tu_folder(place):
        raise InputError(f"{place}: not a TU collection: there is no file {name}_graph_indicator.txt")
    graph_of = _integers(_part(place, "graph_indicator"))[:, 0] - 1
    edges = _integers(_part(place, "A")) - 1
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
    label_file = _part(place, "graph_labels")
    labels = _integers(label_file)[:, 0] if label_file.is_file() else None
    if labels is not None and len(labels) != len(graphs):
        raise InputError(f"{label_file.name}: {len(labels)} classes, but there are {len(graphs)} graphs")
    cuts = first_node[1:]
    return GraphSet(name, tuple(graphs), labels, *_node_attributes(place, len(graph_of), cuts))


def _node_attributes(
    place: Path, n: int, cuts: Int64s
) -> tuple[tuple[tuple[Hashable, ...], ...] | None, tuple[Float64s, ...] | None]:
    """Read node labels and attributes of a TU collection, split by graph."""
    types = features = None
    file = _part(place, "node_labels")
    if file.is_file():
        codes = _check_line_count(_integers(file), n, file)
        types = tuple(_kinds(part) for part in np.split(codes, cuts))
    file = _part(place, "node_attributes")
    if file.is_file():
        with about(file):
            values = numbers(lines_of(file, MAX_BYTES), ",")
            check_finite(values, "attributes of nodes")
        features = tuple(np.split(_check_line_count(values, n, file), cuts))
    return types, features


def _check_line_count(values: np.ndarray, n: int, file: Path) -> np.ndarray:
    if len(values) != n:
        raise InputError(f"{file.name}: {len(values)} lines, but there are {n} nodes")
    return values


def _kinds(codes: Int64s) -> tuple[Hashable, ...]:
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


class Node(NamedTuple):
    """A node of a GIN file."""

    tag: int
    neighbours: list[int]
    attributes: list[float]


class Graph(NamedTuple):
    """A graph of a GIN file."""

    label: int
    nodes: list[Node]


def is_gin_file(file: Path) -> bool:
    """Whether a file starts like a collection: a count, ``n class``, and a node.

    In the format of the paper's authors only a matrix of two points can start like that, and it has four lines.
    """
    try:
        text = head_of(file, HEAD_BYTES).decode("utf-8-sig", "replace")
    except (OSError, InputError):
        return False
    rows = [line.split() for line in text.splitlines() if line.strip()][:5]
    if len(rows) < 3 or [len(row) for row in rows[:2]] != [1, 2] or len(rows[2]) < 2:
        return False
    count, n, degree = (whole_number(word) for word in (rows[0][0], rows[1][0], rows[2][1]))
    is_node = degree is not None and len(rows[2]) >= 2 + degree
    return bool(count and n and is_node and (count != 2 or len(rows) == 5))


def read_gin(path: str | os.PathLike[str], *, max_bytes: int | str = MAX_BYTES) -> GraphSet:
    r"""Read a collection of graphs in the text format of GIN ("powerful-gnns").

    The first line is the number of graphs. Each graph starts with a line ``n class``, followed by a line for each of
    its n nodes: a tag, the number of neighbours, the neighbours (counted from 0), and any number of attributes.

    Parameters
    ----------
    path : path
    max_bytes : int or str
        Reject larger files; a number or a text such as ``"8GB"``.

    Returns
    -------
    GraphSet
        With ``.spaces()``; ``.types`` are the tags of the nodes, ``.features`` their attributes, if any.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "graphs.txt")
    ...     _ = path.write_text("1\n3 7\n0 1 1\n5 2 0 2\n0 1 1\n")  # one graph of class 7: a path of 3 nodes
    ...     graphs = ao.io.read_gin(path)
    >>> graphs.labels.tolist(), graphs.spaces()[0].types
    ([7], (0, 5, 0))
    """
    file = Path(path)
    with about(file):
        graphs = _graphs(lines_of(file, check_bytes(max_bytes, "max_bytes")))
        widths = {len(node.attributes) for graph in graphs for node in graph.nodes}
        if len(widths) > 1:
            raise InputError(f"some nodes have {min(widths)} attributes and others {max(widths)}")
    features = tuple(np.array([node.attributes for node in graph.nodes]) for graph in graphs)
    edges = ([(i, other) for i, node in enumerate(graph.nodes) for other in node.neighbours] for graph in graphs)
    pairs = (np.array(own, np.int64).reshape(-1, 2) for own in edges)
    return GraphSet(
        stem_of(file),
        tuple(adjacency(len(graph.nodes), own, None, directed=False) for graph, own in zip(graphs, pairs, strict=True)),
        np.array([graph.label for graph in graphs]),
        tuple(tuple(node.tag for node in graph.nodes) for graph in graphs),
        features if widths != {0} else None,
    )


def _graphs(lines: list[str]) -> list[Graph]:
    count = whole_number(lines[0].strip())
    if not count:
        raise InputError(f"the first line is {lines[0][:40]!r}, but the number of graphs is needed")
    found: list[Graph] = []
    place = 1
    while place < len(lines):
        head = lines[place].split()
        n, label = (whole_number(head[0]), _integer(head[1])) if len(head) == 2 else (None, None)
        if not n or label is None:
            raise InputError(f"line {place + 1} is {lines[place][:40]!r}, but a graph starts with 'n class'")
        if place + n >= len(lines):
            raise InputError(f"line {place + 1} promises {n} nodes, but {len(lines) - place - 1} lines follow")
        nodes = [_node(lines[at], at, n) for at in range(place + 1, place + 1 + n)]
        found.append(Graph(label, nodes))
        place += 1 + n
    if len(found) != count:
        raise InputError(f"the first line promises {count} graphs, but there are {len(found)}")
    return found


def _node(line: str, place: int, n: int) -> Node:
    words = line.split()
    tag, degree = (_integer(words[0]), whole_number(words[1])) if len(words) > 1 else (None, None)
    if tag is None or degree is None or len(words) < 2 + degree:
        raise InputError(f"line {place + 1} is {line[:40]!r}, but a tag, a number of neighbours and these are needed")
    neighbours = [whole_number(word) for word in words[2 : 2 + degree]]
    if any(other is None or other >= n for other in neighbours):
        raise InputError(f"line {place + 1} names a neighbour that is not from 0 to {n - 1}")
    return Node(tag, [other for other in neighbours if other is not None], _floats(words[2 + degree :], place))


def _floats(words: list[str], place: int) -> list[float]:
    try:
        check_no_underscore(" ".join(words))
        found = [float(word) for word in words]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise InputError(f"line {place + 1} has attributes that are not finite numbers")
    return found


def _integer(word: str) -> int | None:
    number = whole_number(word.removeprefix("-"))
    return number if number is None or not word.startswith("-") else -number
