"""Lengths of shortest paths between chosen nodes of a sparse graph."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_NUMBERS = 1 << 21  # lengths computed at a time, 16 MB


def adjacency(n: int, edges: Int64s, lengths: Float64s | None, *, directed: bool) -> "csr_array":
    """Sparse matrix of edge lengths (1 if none are given); the shortest of parallel edges counts.

    Undirected edges stand in both directions. Lengths of zero are kept as edges.
    """
    from scipy.sparse import csr_array

    heads, tails = edges.reshape(-1, 2).T
    data = np.ones(len(heads)) if lengths is None else lengths
    if not directed:
        heads, tails, data = np.concatenate([heads, tails]), np.concatenate([tails, heads]), np.tile(data, 2)
    order = np.lexsort((data, tails, heads))
    heads, tails, data = heads[order], tails[order], data[order]
    first = np.append(True, (heads[1:] != heads[:-1]) | (tails[1:] != tails[:-1]))[: len(heads)]
    starts = np.searchsorted(heads[first], np.arange(n + 1))
    return csr_array((data[first], tails[first], starts), shape=(n, n))


def components(graph: "csr_array", *, directed: bool) -> list[Int64s]:
    """Nodes of every connected (if directed: strongly connected) component, the largest component first."""
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(graph, directed=directed, connection="strong")
    order = np.argsort(component, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return sorted(parts, key=len, reverse=True)


def shortest_paths(graph: "csr_array", nodes: Int64s, *, unweighted: bool) -> Float64s:
    """Lengths (k, k) of the shortest paths between k nodes; infinite where there is none.

    Dijkstra's algorithm (or breadth-first search) from each of them. All pairs of an unweighted graph are left to
    rustworkx where it is installed.
    """
    from scipy.sparse.csgraph import dijkstra

    check_memory(len(nodes), 9)
    n = graph.shape[0]
    if unweighted and np.array_equal(nodes, np.arange(n)) and find_spec("rustworkx") is not None:
        return _all_hops(graph)
    found = np.empty((len(nodes), len(nodes)))
    step = max(1, BLOCK_NUMBERS // n)
    for start in range(0, len(nodes), step):
        sources = nodes[start : start + step]
        found[start : start + step] = dijkstra(graph, indices=sources, unweighted=unweighted)[:, nodes]
    return found


def _all_hops(graph: "csr_array") -> Float64s:
    import rustworkx

    n = graph.shape[0]
    heads = np.repeat(np.arange(n), np.diff(graph.indptr))
    built = rustworkx.PyDiGraph(multigraph=False)
    built.add_nodes_from(range(n))
    built.extend_from_edge_list(list(zip(heads.tolist(), graph.indices.tolist(), strict=True)))
    # One thread: parallelism belongs to whoever compares many spaces.
    return rustworkx.distance_matrix(built, parallel_threshold=n + 1, null_value=np.inf)
