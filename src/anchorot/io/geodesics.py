"""Shortest paths between nodes of a graph, and geodesic distances between vertices of a mesh."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_memory
from anchorot.exceptions import InputError, MissingExtraError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_NUMBERS = 1 << 21  # distances computed at a time, 16 MB
BLOCK_ROWS = 64  # rows computed or symmetrised at a time
OUT_OF_RANGE = "distances along the mesh are outside the range of float64; choose another unit"


def adjacency(n: int, edges: Int64s, lengths: Float64s | None, *, directed: bool) -> "csr_array":
    """Return the sparse matrix of edge lengths (1 if none are given); of parallel edges the shortest counts.

    Undirected edges are stored in both directions. Lengths of zero are kept as edges.
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
    """Return the nodes of every (if directed: strongly) connected component, the largest first."""
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(graph, directed=directed, connection="strong")
    order = np.argsort(component, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return sorted(parts, key=len, reverse=True)


def shortest_paths(graph: "csr_array", nodes: Int64s, *, unweighted: bool) -> Float64s:
    """Return the lengths (k, k) of the shortest paths between k nodes; infinite if there is no path.

    Dijkstra's algorithm (or breadth-first search) from each node. rustworkx, if installed, computes all pairs of an
    unweighted graph.
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
    # One thread: functions that compare many spaces run in parallel themselves.
    return rustworkx.distance_matrix(built, parallel_threshold=n + 1, null_value=np.inf)


def mesh_edges(faces: Int64s) -> Int64s:
    """Return the distinct edges (E, 2) of the faces, the smaller index first."""
    return _counted_edges(faces)[0]


def _counted_edges(faces: Int64s) -> tuple[Int64s, Int64s]:
    """Return the distinct edges of the faces, sorted, and the number of faces of each."""
    starts, ends = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    n = int(faces.max(initial=0)) + 1
    # an edge is encoded as one integer
    keys, counts = np.unique(np.minimum(starts, ends) * n + np.maximum(starts, ends), return_counts=True)
    return np.stack(np.divmod(keys, n), axis=1), counts


def edge_lengths(vertices: Float64s, edges: Int64s) -> Float64s:
    """Return the Euclidean lengths of edges; infinite beyond the range of float64."""
    unit = unit_of(float(np.abs(vertices).max()))
    small = vertices / unit  # so that squares neither overflow nor underflow
    with np.errstate(over="ignore"):
        return unit * np.linalg.norm(small[edges[:, 0]] - small[edges[:, 1]], axis=1)


def edge_graph(vertices: Float64s, faces: Int64s) -> "csr_array":
    """Return the graph of a mesh's vertices and edges, with lengths."""
    edges = mesh_edges(faces)
    return adjacency(len(vertices), edges, edge_lengths(vertices, edges), directed=False)


def edge_geodesics(vertices: Float64s, faces: Int64s, index: Int64s) -> Float64s:
    """Return shortest paths along edges: about 6 % too long on a sphere."""
    return _symmetrised(shortest_paths(edge_graph(vertices, faces), index, unweighted=False))


def edge_rows(vertices: Float64s, faces: Int64s) -> Callable[[int], Float64s]:
    """Return a function from a vertex to its shortest paths along edges to all vertices."""
    from scipy.sparse.csgraph import dijkstra

    graph = edge_graph(vertices, faces)
    return lambda source: np.asarray(dijkstra(graph, indices=source))


def heat_geodesics(vertices: Float64s, faces: Int64s, index: Int64s) -> Float64s:
    """Return distances by the heat method: two factorisations, then solves for blocks of vertices."""
    found, distances = np.empty((len(index), len(index))), _heat_distances(vertices, faces)
    for start in range(0, len(index), BLOCK_ROWS):
        found[start : start + BLOCK_ROWS] = distances(index[start : start + BLOCK_ROWS])[:, index]
    return _symmetrised(found)


def heat_rows(vertices: Float64s, faces: Int64s) -> Callable[[int], Float64s]:
    """Return a function from a vertex to its distances by the heat method; the factorisation is done once, here."""
    distances = _heat_distances(vertices, faces)
    return lambda source: distances(np.array([source]))[0]


def _heat_distances(vertices: Float64s, faces: Int64s) -> Callable[[Int64s], Float64s]:
    """Return a function from vertices (k,) to their checked distances (k, n), in the unit of the mesh."""
    from anchorot.io.heat_method import heat_solver

    unit = _unit(vertices)
    if not np.ptp(vertices, axis=0).any():
        raise InputError("the heat method needs a surface, but all vertices coincide; try geodesic='edge'")
    distances = heat_solver(vertices / unit, faces)

    def checked(sources: Int64s) -> Float64s:
        found = distances(sources)
        if not np.isfinite(found).all():
            raise InputError("the heat method fails on this mesh (too fine for its size?); try geodesic='edge'")
        with np.errstate(over="ignore"):
            return found * unit

    return checked


def exact_geodesics(vertices: Float64s, faces: Int64s, index: Int64s) -> Float64s:
    """Return exact distances on the polyhedron (Mitchell, Mount and Papadimitriou, 1987); slow."""
    try:
        from pygeodesic.geodesic import PyGeodesicAlgorithmExact
    except ImportError:
        raise MissingExtraError("pygeodesic", "exact") from None
    unit = _unit(vertices)
    vertices = vertices / unit
    _check_manifold(vertices, faces)
    try:
        solver = PyGeodesicAlgorithmExact(vertices, faces)
        found = _rows((solver.geodesicDistances(np.array([source]), index)[0] for source in index), len(index))
    except (RuntimeError, ValueError, OverflowError):  # OverflowError if it reached no source
        raise InputError("the exact method fails on this mesh; try geodesic='heat'") from None
    if not np.isfinite(found).all():
        raise InputError("the exact method fails on this mesh; try geodesic='heat'")
    with np.errstate(over="ignore"):
        found *= unit
    return _symmetrised(found)


def _unit(vertices: Float64s) -> float:
    """Return the power of two next to the size of a mesh; in that unit nothing overflows and tolerances apply."""
    with np.errstate(over="ignore"):
        size = float(np.ptp(vertices, axis=0).max())
    if not np.isfinite(size):
        raise InputError(OUT_OF_RANGE)
    return unit_of(size)


def _rows(rows: Iterable[Float64s], n: int) -> Float64s:
    """Stack n rows of n numbers without a second copy."""
    out = np.empty((n, n))
    for i, row in enumerate(rows):
        out[i] = row
    return out


def _symmetrised(cost: Float64s) -> Float64s:
    """Symmetrise costs in place: replace opposite costs by their mean, in blocks of rows."""
    for start in range(0, len(cost), BLOCK_ROWS):
        rows, columns = slice(start, start + BLOCK_ROWS), slice(0, start + BLOCK_ROWS)
        means = cost[rows, columns] / 2 + cost[columns, rows].T / 2  # a sum might overflow
        cost[rows, columns] = means
        cost[columns, rows] = means.T
    return cost


def _check_manifold(vertices: Float64s, faces: Int64s) -> None:
    """Raise on input that crashes pygeodesic: edges of three or more faces, and faces without area."""
    _, count = _counted_edges(faces)
    if (count > 2).any():
        raise InputError(
            f"exact geodesics need a surface, but {int((count > 2).sum())} edges have more than two faces; "
            "try geodesic='heat' or 'edge'"
        )
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    longest = np.maximum(np.linalg.norm(b - a, axis=1), np.linalg.norm(c - a, axis=1))
    flat = np.linalg.norm(np.cross(b - a, c - a), axis=1) <= 1e-12 * longest**2
    if flat.any():
        raise InputError(
            f"exact geodesics need faces with an area, but {int(flat.sum())} of this mesh have none; "
            "try geodesic='edge'"
        )


GEODESICS = {"heat": heat_geodesics, "edge": edge_geodesics, "exact": exact_geodesics}
COSTS = ("paths", "heat", "resistance")  # between the nodes of a graph
ROWS = {"heat": heat_rows, "edge": edge_rows}
