"""Graphs of every library, turned into one table of edges."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_finite, check_numbers
from anchorot.exceptions import InputError, first_line
from anchorot.io.marks import Columns

NO_ATTRIBUTES = Columns("node attribute")


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """A graph of n nodes: its edges, their lengths if they have any, the nodes' names and attributes."""

    n: int
    edges: Int64s  # (E, 2)
    lengths: Float64s | None  # (E,)
    directed: bool
    names: tuple[object, ...]
    columns: Columns = NO_ATTRIBUTES  # that types and features can be made of


def edge_table(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    """Turn a networkx or igraph graph, a sparse matrix or an edge list into an edge table."""
    make = graph if isinstance(graph, EdgeTable) else _reader_of(graph)(graph, weight, directed)
    if make.n == 0:
        raise InputError("the graph has no nodes, but a space needs at least one point")
    outside = (make.edges < 0) | (make.edges >= make.n)
    if outside.any():  # of a sparse matrix made by hand; whoever follows the edges would crash
        first = make.edges[outside][0]
        raise InputError(f"an edge names the node {first}, but nodes go from 0 to {make.n - 1}")
    if make.lengths is not None:
        check_finite(make.lengths, "edge lengths")
        if (make.lengths < 0).any():
            first = int(np.argmax(make.lengths < 0))
            ends = " to ".join(str(make.names[node]) for node in make.edges[first])
            raise InputError(f"edge lengths must not be negative, but that from {ends} is {make.lengths[first]:g}")
    return make


def _reader_of(graph: Any) -> Any:
    package = type(graph).__module__.partition(".")[0]
    if package == "networkx":
        return _from_networkx
    if package == "igraph":
        return _from_igraph
    if package == "rustworkx":
        raise InputError("rustworkx graphs are not read; pass their weighted_edge_list() instead")
    if hasattr(graph, "tocoo"):
        return _from_sparse
    if isinstance(graph, Iterable) and not isinstance(graph, str | bytes):
        return _from_edges
    raise InputError(
        f"got a {type(graph).__name__}, but a networkx or igraph graph, a SciPy sparse matrix or a list of edges is "
        f"needed"
    )


def _from_networkx(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(number[head], number[tail]) for head, tail in graph.edges()]
    lengths = None
    if weight:
        name = "weight" if weight is True else weight
        values = [data for _, _, data in graph.edges(data=name)]
        if any(value is None for value in values):
            head, tail = list(graph.edges())[values.index(None)]
            raise InputError(f"the edge from {head} to {tail} has no attribute {name!r}")
        lengths = _lengths(values)
    is_directed, columns = _choose(directed, graph.is_directed()), Columns("node attribute", _NodeAttributes(graph))
    return EdgeTable(len(number), _pairs(edges), lengths, is_directed, tuple(number), columns)


class _NodeAttributes(Mapping[str, list[Any]]):
    """Attributes of a networkx graph's nodes, each looked up when it is asked for; None where a node has none."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __getitem__(self, name: str) -> list[Any]:
        usual = self._graph.graph.get("node_default")  # what files say of nodes that say nothing
        default = usual.get(name) if isinstance(usual, dict) else None
        values = [value for _, value in self._graph.nodes(data=name, default=default)]
        if all(value is None for value in values):
            raise KeyError(name)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for _, own in self._graph.nodes(data=True) for name in own))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _from_igraph(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    n = graph.vcount()
    lengths = None
    if weight:
        name = "weight" if weight is True else weight
        if name not in graph.es.attributes():
            known = ", ".join(graph.es.attributes()) or "none"
            raise InputError(f"the edges have no attribute {name!r}; they have: {known}")
        lengths = _lengths(graph.es[name])
    attributes = {name: graph.vs[name] for name in graph.vs.attributes()}
    names, columns = attributes.get("name", range(n)), Columns("node attribute", attributes)
    is_directed = _choose(directed, graph.is_directed())
    return EdgeTable(n, _pairs(graph.get_edgelist()), lengths, is_directed, tuple(names), columns)


def _from_sparse(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise InputError(f"the adjacency matrix has shape {graph.shape}, but a square one is needed")
    if hasattr(graph, "indptr"):
        _check_compressed(graph)
    table = graph.tocoo()
    edges = np.stack(table.coords, axis=1).astype(np.int64)
    lengths = _lengths(table.data) if weight else None
    return EdgeTable(graph.shape[0], edges, lengths, _choose(directed, False), tuple(range(graph.shape[0])))


def _check_compressed(graph: Any) -> None:
    """Refuse a matrix whose indices lead out of it: SciPy does not look before it follows them."""
    try:
        graph.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"the adjacency matrix is damaged: {first_line(error)}") from None


def _from_edges(graph: Iterable[Any], weight: str | bool | None, directed: bool | None) -> EdgeTable:
    rows = [tuple(row) if isinstance(row, Iterable) and not isinstance(row, str) else row for row in graph]
    widths = {len(row) if isinstance(row, tuple) else 0 for row in rows}
    if not widths <= {2} and not widths <= {3}:
        if widths == {len(rows)}:
            raise InputError("got a square array, but edges are needed; of a dense matrix: scipy.sparse.csr_array(it)")
        wrong = next(row for row in rows if not isinstance(row, tuple) or len(row) not in (2, 3) or len(widths) > 1)
        raise InputError(f"edges must all be pairs, or all triples with a length, but got {_short(wrong)}")
    if weight and widths == {2}:
        raise InputError("lengths of edges are asked for, but the edges are pairs of nodes without one")
    lengths = _lengths([row[2] for row in rows]) if weight and rows else None
    return numbered([(row[0], row[1]) for row in rows], lengths, bool(directed))


def numbered(pairs: list[tuple[Any, Any]], lengths: Float64s | None, directed: bool) -> EdgeTable:
    """Number the nodes that the edges mention: in order if all of them are integers, else as they come."""
    names: list[Any] = list(dict.fromkeys(_plain(node) for pair in pairs for node in pair))
    if all(isinstance(name, int) for name in names):
        names.sort()
    number = {name: i for i, name in enumerate(names)}
    edges = [(number[_plain(head)], number[_plain(tail)]) for head, tail in pairs]
    return EdgeTable(len(names), _pairs(edges), lengths, directed, tuple(names))


def _plain(node: Any) -> Hashable:
    plain = node.item() if isinstance(node, np.generic) else node
    if not isinstance(plain, Hashable):
        raise InputError(f"nodes need names that can be looked up, such as numbers or text, but got {_short(plain)}")
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def _pairs(edges: list[tuple[int, int]]) -> Int64s:
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _lengths(values: Any) -> Float64s:
    return check_numbers(values, "edge lengths").astype(np.float64)


def _choose(wanted: bool | None, own: bool) -> bool:
    return own if wanted is None else wanted


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
