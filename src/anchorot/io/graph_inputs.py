"""Convert graphs of all supported libraries to one table of edges."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot._validate import (
    as_array,
    check_finite,
    check_integer,
    check_numbers,
    equals_itself,
    plain_item,
    shown,
)
from anchorot.exceptions import InputError, first_line, type_of
from anchorot.io.columns import Columns

NO_COLUMNS = Columns("node attribute")
DENSE_ADVICE = "got a square array, but edges are needed; for a dense matrix pass scipy.sparse.csr_array(matrix)"


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """A graph of n nodes: edges, optional lengths, names and attributes of the nodes."""

    n: int
    edges: Int64s  # (E, 2)
    lengths: Float64s | None  # (E,)
    directed: bool
    names: tuple[object, ...]
    columns: Columns = NO_COLUMNS  # for types and features
    has_unused_lengths: bool = False  # lengths that the caller neither requested nor declined


def edge_table(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    """Turn a networkx or igraph graph, an edge_index, a sparse matrix or an edge list into an edge table."""
    table = graph if isinstance(graph, EdgeTable) else _reader_of(graph)(graph, weight, directed)
    if table.n == 0:
        raise InputError("the graph has no nodes, but a space needs at least one point")
    outside = (table.edges < 0) | (table.edges >= table.n)
    if outside.any():  # a hand-made sparse matrix; graph algorithms would crash on it
        first = table.edges[outside][0]
        raise InputError(f"an edge names the node {first}, but nodes go from 0 to {table.n - 1}")
    if table.lengths is not None:
        if table.lengths.shape != (len(table.edges),):
            shape = table.lengths.shape
            raise InputError(
                f"edge lengths have shape {shape}, but a number for each of {len(table.edges)} edges is needed"
            )
        check_finite(table.lengths, "edge lengths")
        if (table.lengths < 0).any():
            first = int(np.argmax(table.lengths < 0))
            ends = " to ".join(str(table.names[node]) for node in table.edges[first])
            raise InputError(f"edge lengths must not be negative, but that from {ends} is {table.lengths[first]:g}")
    return table


def _reader_of(graph: Any) -> Any:
    package = type(graph).__module__.partition(".")[0]
    if package == "networkx":
        return _from_networkx
    if package == "igraph":
        return _from_igraph
    if package == "rustworkx":
        raise InputError("rustworkx graphs are not supported; pass their weighted_edge_list() instead")
    if hasattr(graph, "not_a_space"):
        raise InputError(f"got {type_of(graph)}, but one graph is needed; {graph.not_a_space}")
    if hasattr(graph, "tocoo"):
        return _from_sparse
    if hasattr(graph, "edge_index"):
        return _from_edge_index
    if any(hasattr(graph, name) for name in ("__array__", "__dlpack__", "detach")):
        return _from_array
    if isinstance(graph, Iterable) and not isinstance(graph, str | bytes):
        return _from_edges
    raise InputError(
        f"got {type_of(graph)}, but a networkx, igraph or PyTorch Geometric graph, a SciPy sparse matrix or a "
        "list of edges is needed"
    )


def _from_networkx(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(number[head], number[tail]) for head, tail in graph.edges()]
    lengths, unused = None, weight is None and _differ(length for _, _, length in graph.edges(data="weight", default=1))
    if weight:
        name = "weight" if weight is True else weight
        values = [data for _, _, data in graph.edges(data=name)]
        if any(value is None for value in values):
            head, tail = list(graph.edges())[values.index(None)]
            raise InputError(f"the edge from {head} to {tail} has no attribute {name!r}")
        lengths = _lengths(values)
    is_directed = graph.is_directed() if directed is None else directed
    columns = Columns("node attribute", _NodeAttributes(graph))
    return EdgeTable(len(number), _pairs(edges), lengths, is_directed, tuple(number), columns, unused)


class _NodeAttributes(Mapping[str, list[Any]]):
    """Attributes of a networkx graph's nodes, looked up on demand; None where a node has none."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __getitem__(self, name: str) -> list[Any]:
        defaults = self._graph.graph.get("node_default")  # defaults declared in a file
        default = defaults.get(name) if isinstance(defaults, dict) else None
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
    unused = weight is None and "weight" in graph.es.attributes() and _differ(graph.es["weight"])
    if weight:
        name = "weight" if weight is True else weight
        if name not in graph.es.attributes():
            known = ", ".join(graph.es.attributes()) or "none"
            raise InputError(f"the edges have no attribute {name!r}; they have: {known}")
        lengths = _lengths(graph.es[name])
    attributes = {name: graph.vs[name] for name in graph.vs.attributes()}
    names, columns = attributes.get("name", range(n)), Columns("node attribute", attributes)
    is_directed = graph.is_directed() if directed is None else directed
    return EdgeTable(n, _pairs(graph.get_edgelist()), lengths, is_directed, tuple(names), columns, unused)


def _from_sparse(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise InputError(f"the adjacency matrix has shape {graph.shape}, but a square one is needed")
    if hasattr(graph, "indptr"):
        try:
            graph.check_format(full_check=True)  # SciPy does not check indices before
        except ValueError as error:
            raise InputError(f"the adjacency matrix is damaged: {first_line(error)}") from None
    table = graph.tocoo()
    edges = np.stack(table.coords, axis=1).astype(np.int64)
    lengths = _lengths(table.data) if weight else None
    unused = weight is None and bool((table.data != 1).any())
    names = tuple(range(graph.shape[0]))
    return EdgeTable(graph.shape[0], edges, lengths, bool(directed), names, has_unused_lengths=unused)


def _from_edge_index(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    """Read a PyTorch Geometric `Data`, or any object with an `edge_index` of shape (2, E)."""
    index = as_array(graph.edge_index, "edge_index")
    if index.ndim != 2 or len(index) != 2 or index.dtype.kind not in "iu":
        raise InputError(f"edge_index has shape {index.shape} and dtype {index.dtype}, but integers (2, E) are needed")
    n = getattr(graph, "num_nodes", None)
    n = int(index.max(initial=-1)) + 1 if n is None else check_integer(n, "num_nodes", 0)
    own, lengths = getattr(graph, "edge_weight", None), None
    if weight:
        name = weight if isinstance(weight, str) else "edge_attr" if own is None else "edge_weight"
        if getattr(graph, name, None) is None:
            raise InputError(f"lengths of edges are requested, but the graph has no {name}")
        lengths = _lengths(getattr(graph, name))
        lengths = lengths[:, 0] if lengths.shape[1:] == (1,) else lengths
        if lengths.shape != index.shape[1:]:
            raise InputError(
                f"{name} has shape {lengths.shape}, but a length for each of {index.shape[1]} edges is needed"
            )
    unused = weight is None and own is not None and bool((_lengths(own) != 1).any())
    edges = np.ascontiguousarray(index.T, np.int64)
    return EdgeTable(n, edges, lengths, bool(directed), tuple(range(n)), has_unused_lengths=unused)


def _from_array(graph: Any, weight: str | bool | None, directed: bool | None) -> EdgeTable:
    array = as_array(graph, "edges")
    if array.shape == (3, 3) and (array == array.T).all() and not array.diagonal().any():
        raise InputError(DENSE_ADVICE)
    return _from_edges(array.tolist() if array.ndim else [], weight, directed)


def _from_edges(graph: Iterable[Any], weight: str | bool | None, directed: bool | None) -> EdgeTable:
    rows = [tuple(row) if isinstance(row, Iterable) and not isinstance(row, str) else row for row in graph]
    widths = {len(row) if isinstance(row, tuple) else 0 for row in rows}
    if not widths <= {2} and not widths <= {3}:
        if widths == {len(rows)}:
            raise InputError(DENSE_ADVICE)
        wrong = next(row for row in rows if not isinstance(row, tuple) or len(row) not in (2, 3) or len(widths) > 1)
        hint = "; for an edge_index pass its transpose: edge_index.T" if len(rows) == 2 and len(widths) == 1 else ""
        raise InputError(f"edges must all be pairs, or all triples with a length, but got {shown(wrong)}{hint}")
    if weight and widths == {2}:
        raise InputError("lengths of edges are requested, but the edges are pairs of nodes without one")
    lengths = _lengths([row[2] for row in rows]) if weight and rows else None
    unused = weight is None and widths == {3} and _differ(row[2] for row in rows)
    return number_nodes([(row[0], row[1]) for row in rows], lengths, bool(directed), unused)


def number_nodes(
    pairs: list[tuple[Any, Any]], lengths: Float64s | None, directed: bool, has_unused_lengths: bool = False
) -> EdgeTable:
    """Number the nodes of the edges: in increasing order if all are integers, else in order of appearance."""
    names: list[Any] = list(dict.fromkeys(_plain(node) for pair in pairs for node in pair))
    if all(isinstance(name, int) for name in names):
        names.sort()
    number = {name: i for i, name in enumerate(names)}
    edges = [(number[_plain(head)], number[_plain(tail)]) for head, tail in pairs]
    return EdgeTable(len(names), _pairs(edges), lengths, directed, tuple(names), has_unused_lengths=has_unused_lengths)


def _differ(lengths: Iterable[Any]) -> bool:
    """Whether some length differs from 1."""
    return any(isinstance(length, Real) and length != 1 for length in map(plain_item, lengths))


def _plain(node: Any) -> Hashable:
    plain = plain_item(node)
    if plain is None or not isinstance(plain, Hashable) or hasattr(plain, "ndim") or not equals_itself(plain):
        raise InputError(f"nodes need hashable names, such as numbers or texts, but got {shown(plain)}")
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def _pairs(edges: list[tuple[int, int]]) -> Int64s:
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _lengths(values: Any) -> Float64s:
    return check_numbers(values, "edge lengths").astype(np.float64)
