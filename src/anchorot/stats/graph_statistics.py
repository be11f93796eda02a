"""What a graph looks like, as a distribution over its nodes: degrees, clustering coefficients."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import InputError
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.shortest_paths import adjacency

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def tables_of(graphs: Sequence[Any], name: str) -> list[EdgeTable]:
    """Read graphs of any library, or lists of edges; `name` is what messages call the collection."""
    if len(graphs) == 0:
        raise InputError(f"{name} is empty, but at least one graph is needed")
    tables = []
    for i, graph in enumerate(graphs):
        try:
            tables.append(edge_table(graph, None, False))
        except InputError as error:
            raise InputError(f"{name}[{i}]: {error}") from None
    return tables


def degrees(tables: Sequence[EdgeTable]) -> list[Float64s]:
    """Degrees of the nodes of every graph."""
    links = _all_links(tables)
    return _by_graph(np.diff(links.indptr).astype(np.float64), tables)


def clustering(tables: Sequence[EdgeTable]) -> list[Float64s]:
    """Clustering coefficients of the nodes of every graph: links between neighbours, of those there could be."""
    links = _all_links(tables)
    degree = np.diff(links.indptr)
    closed = (links @ links).multiply(links).sum(axis=1)  # each triangle at a node, both ways round
    possible = degree * (degree - 1)
    return _by_graph(np.divide(closed, possible, out=np.zeros(len(degree)), where=possible > 0), tables)


def _all_links(tables: Sequence[EdgeTable]) -> "csr_array":
    """One sparse matrix of all graphs side by side, without directions, loops and parallel edges."""
    sizes = np.array([table.n for table in tables])
    first = np.cumsum(sizes) - sizes
    edges = np.concatenate([table.edges + start for table, start in zip(tables, first, strict=True)])
    edges = edges[edges[:, 0] != edges[:, 1]]
    return adjacency(int(sizes.sum()), edges, None, directed=False)


def _by_graph(values: Float64s, tables: Sequence[EdgeTable]) -> list[Float64s]:
    return np.split(values, np.cumsum([table.n for table in tables])[:-1])
