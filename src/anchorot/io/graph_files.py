"""Graphs from files: edge lists, GraphML, and the folders of the TU collection."""

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anchorot._typing import Int64s
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.foreign import reading
from anchorot.io.gate import MAX_BYTES, about, content_of
from anchorot.io.graph_inputs import EdgeTable, edge_table, numbered
from anchorot.io.shortest_paths import adjacency
from anchorot.io.text import lines_of, numbers, whole_number

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def read_edge_list(file: Path, weight: str | bool | None, directed: bool | None, limit: int) -> EdgeTable:
    """Read lines of two node names, and a length if `weight`; separated by blanks or commas, # and % begin comments.

    A first line ``n m`` before exactly m edges between nodes 0 to n - 1 (or 1 to n) gives the sizes.
    """
    rows = [line.replace(",", " ").split() for line in lines_of(file, limit, comment="#%")]
    short = next((i for i, row in enumerate(rows) if len(row) < 2), None)
    if short is not None:
        raise InputError(f"line {short + 1} of edges is {' '.join(rows[short])!r}, but two nodes are needed")
    n = _promised_nodes(rows)
    if n is not None:
        rows = rows[1:]
    pairs = [(_name(row[0]), _name(row[1])) for row in rows]
    lengths = None
    if weight:
        lengths = numbers([row[2] if len(row) > 2 else "(no length)" for row in rows], None)[:, 0]
    if n is None:
        return edge_table(numbered(pairs, lengths, bool(directed)), weight, directed)
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    first = int(edges.max(initial=0) == n)  # do numbers begin at 1?
    table = EdgeTable(n, edges - first, lengths, bool(directed), tuple(range(first, first + n)))
    return edge_table(table, weight, directed)


def _promised_nodes(rows: list[list[str]]) -> int | None:
    """Return the n of a first line ``n m`` that tells the truth about the rest."""
    head, rest = rows[0], [[whole_number(word) for word in row[:2]] for row in rows[1:]]
    n, m = (whole_number(word) for word in head[:2])
    nodes = [node for pair in rest for node in pair if node is not None]
    if len(head) != 2 or n is None or m != len(rest) or len(nodes) != 2 * len(rest):
        return None
    most_nodes = 2 * len(rest) + 1000  # a few may have no edge; a billion would only be a wrong number
    fits = not nodes or max(nodes) < n or (max(nodes) == n and min(nodes) >= 1)
    return n if 1 <= n <= most_nodes and fits else None


def _name(word: str) -> int | str:
    number = whole_number(word)
    return word if number is None else number


def read_graphml(file: Path, weight: str | bool | None, directed: bool | None, limit: int) -> EdgeTable:
    """Read a GraphML file by networkx."""
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("networkx", "graph") from None
    content = content_of(file, limit)
    with reading("a GraphML file"):
        graph = networkx.read_graphml(io.BytesIO(content))
    return edge_table(graph, weight, directed)


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Graphs of a TU collection with their classes.

    Attributes
    ----------
    name : str
    graphs : tuple of scipy.sparse.csr_array
        Adjacency matrices; :func:`from_graph` takes them.
    labels : ndarray of shape (len(graphs),) or None
        Class of each graph, if the collection has classes.
    """

    name: str
    graphs: "tuple[csr_array, ...]"
    labels: Int64s | None

    def __repr__(self) -> str:
        classes = "" if self.labels is None else f", {len(np.unique(self.labels))} classes"
        return f"GraphSet({self.name}, {len(self.graphs)} graphs{classes})"


def is_tu_folder(folder: Path) -> bool:
    """Whether a folder holds a TU collection of its own name."""
    return (folder / f"{folder.resolve().name}_graph_indicator.txt").is_file()


def read_tu(folder: str | os.PathLike[str]) -> GraphSet:
    """Read a folder of the TU collection (ENZYMES, MUTAG, ...): edges, which graph each node is in, and classes.

    Parameters
    ----------
    folder : path
        A folder NAME with the files NAME_A.txt, NAME_graph_indicator.txt and, if there are classes,
        NAME_graph_labels.txt.

    Returns
    -------
    GraphSet
        With ``.graphs``, sparse matrices for :func:`from_graph`, and ``.labels``.
    """
    place = Path(folder)
    name = place.resolve().name
    if not place.is_dir():
        raise InputError(f"{place}: not a folder")
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
    return GraphSet(name, tuple(graphs), labels)


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
