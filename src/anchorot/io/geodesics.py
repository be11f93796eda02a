"""Geodesic distances between vertices of a mesh."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Int64s
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.graph_costs import adjacency, shortest_paths

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_ROWS = 64  # rows computed or symmetrised at a time
OUT_OF_RANGE = "distances along the mesh are outside the range of float64; choose another unit"


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


def edge_graph(vertices: Float64s, faces: Int64s) -> "csr_array":
    """Return the graph of a mesh's vertices and edges, with lengths; infinite beyond the range of float64."""
    edges = mesh_edges(faces)
    unit = unit_of(float(np.abs(vertices).max()))
    small = vertices / unit  # so that squares neither overflow nor underflow
    with np.errstate(over="ignore"):
        lengths = unit * np.linalg.norm(small[edges[:, 0]] - small[edges[:, 1]], axis=1)
    return adjacency(len(vertices), edges, lengths, directed=False)


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
    found = np.empty((len(index), len(index)))
    try:
        solver = PyGeodesicAlgorithmExact(vertices, faces)
        for row, source in zip(found, index, strict=True):
            row[:] = solver.geodesicDistances(np.array([source]), index)[0]
    except (RuntimeError, ValueError, OverflowError):  # OverflowError if it reached no source
        found[:] = np.nan
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


METHODS: dict[str, Callable[[Float64s, Int64s, Int64s], Float64s]] = {
    "heat": heat_geodesics,
    "edge": edge_geodesics,
    "exact": exact_geodesics,
}
ROWS = {"heat": heat_rows, "edge": edge_rows}
