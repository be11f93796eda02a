"""Spaces from triangle meshes, with distances along the surface as costs."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import (
    check_choice,
    check_finite,
    check_indices,
    check_integer,
    check_memory,
    check_numbers,
    check_rng,
)
from anchorot.exceptions import InputError
from anchorot.geometry import Geometry, renumber
from anchorot.io.attributes import NO_POINT_ATTRIBUTES, Features, PointAttributes, Types, attributes_of, draw_points
from anchorot.io.geodesics import METHODS, OUT_OF_RANGE, edge_graph, mesh_edges
from anchorot.io.graph_costs import adjacency, components
from anchorot.io.mesh_files import MESH_READERS, Mesh, as_indices, read_mesh, vertex_columns
from anchorot.io.names import ending_of, name_of
from anchorot.io.options import GEODESICS, SAMPLINGS
from anchorot.io.safe_open import MAX_BYTES, about, note
from anchorot.space import Space


def from_mesh(
    mesh: Any,
    n_points: int | None = None,
    geodesic: str = "heat",
    rng: RngLike = None,
    *,
    sampling: str = "farthest",
    points: ArrayLike | None = None,
    types: str | Iterable[Hashable] | None = None,
    features: str | Sequence[str] | ArrayLike | None = None,
) -> Space:
    """Make the space of a mesh's vertices, with distances along the surface as costs.

    Parameters
    ----------
    mesh : path, trimesh.Trimesh, or pair of arrays
        A file (OFF, PLY, OBJ, STL, or .mat in the format of TOSCA), an object with ``vertices`` and ``faces``, or these
        two arrays, (N, 3) and (F, 3), with faces counted from 0.
    n_points : int, optional
        Keep at most this many vertices. Paths still use the whole mesh.
    geodesic : {"heat", "edge", "exact"}
        How distances are measured. On a sphere of 2562 vertices the mean error is 1 % by "heat", 6.7 % by "edge"
        (shortest paths along edges; works on any mesh) and 0.06 % by "exact" (pygeodesic; 100 times slower, and only
        for meshes without edges shared by three faces).
    rng : None, int or numpy.random.Generator
        Source of randomness for the sample.
    sampling : {"farthest", "uniform"}
        "farthest" starts with a random vertex and always adds the one farthest (along edges) from those chosen, which
        covers the surface evenly. "uniform" draws vertices independently, as `anchor_energy_estimate` and other sample
        statistics require. With two samples of 100 points of each of TOSCA's 148 shapes, 47 % are nearest to
        themselves by "farthest", 12 % by "uniform" (``docs/formats.md``).
    points : array_like of int, shape (k,), optional
        Keep these vertices, in this order, instead of sampling. All must be in the largest component.
    types : str or iterable of N hashable objects, optional
        The type of each of the mesh's vertices: the name of a per-vertex value of the file or the trimesh (a PLY
        property, a vertex attribute, ``"color"``), or the types themselves.
    features : str, list of str, or array_like of shape (N, k) or (N,), optional
        Features of the vertices: names of such values, or a row for each vertex.

    Returns
    -------
    Space
        The labels are the numbers of the vertices. If a mesh has several components, only the largest is kept, with an
        `InputWarning`.

    Examples
    --------
    >>> import anchorot as ao
    >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]
    >>> ao.from_mesh(square, geodesic="edge").cost[1].round(3).tolist()
    [1.0, 0.0, 1.0, 2.0]
    >>> ao.from_mesh(square, geodesic="edge", points=[3, 1]).cost.tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    found = open_mesh(mesh)
    with about_file(mesh):
        return mesh_space(found, n_points, geodesic, rng, sampling, points=points, types=types, features=features)


def about_file(mesh: Any) -> AbstractContextManager[None]:
    """Start the message of every `InputError` with the file's name, if the mesh is a file."""
    return about(Path(mesh)) if isinstance(mesh, str | os.PathLike) else nullcontext()


def open_mesh(mesh: Any) -> Mesh:
    """Turn any input into a mesh, not yet validated."""
    if isinstance(mesh, str | os.PathLike):
        file = Path(mesh)
        if ending_of(file) not in MESH_READERS:
            raise InputError(f"{name_of(file)}: unknown mesh format; known endings: {', '.join(sorted(MESH_READERS))}")
        with about(file):
            return read_mesh(file, MAX_BYTES)
    if hasattr(mesh, "vertices") and hasattr(mesh, "faces"):
        return Mesh(mesh.vertices, mesh.faces, vertex_columns(mesh))
    if not isinstance(mesh, tuple) or len(mesh) != 2:
        raise InputError(f"got a {type(mesh).__name__}, but a file, a trimesh or a pair (vertices, faces) is needed")
    return Mesh(*mesh)


class Surface(NamedTuple):
    """The largest component of a mesh."""

    sites: Float64s  # (N, 3): all vertices of the mesh
    corners: Int64s  # (F, 3): all its faces
    kept: Int64s  # the component's vertices
    faces: Int64s  # the component's faces, as indices into `kept`
    attributes: PointAttributes = NO_POINT_ATTRIBUTES  # of all vertices of the mesh

    @property
    def vertices(self) -> Float64s:
        """Positions of the component's vertices."""
        return self.sites[self.kept]

    def space(self, cost: Float64s, index: Int64s) -> Space:
        """Make the space of some of the component's vertices, given their costs."""
        chosen = self.kept[index]
        geometry = Geometry(chosen, len(self.sites), self.sites, faces=self.corners)
        return Space(cost, **self.attributes.of(chosen), labels=chosen.tolist(), geometry=geometry, copy=False)


def surface_of(mesh: Mesh, types: Types | None = None, features: Features | None = None) -> Surface:
    """Validate a mesh and keep its largest component."""
    sites, corners = check_mesh(mesh.vertices, mesh.faces)
    attributes = attributes_of(types, features, range(len(sites)), mesh.columns, "the mesh")
    kept = _largest_component(sites, corners, mesh.name)
    inner = _distinct(renumber(corners, kept, len(sites)))
    if len(inner) == 0:
        raise InputError("no face of the mesh joins different vertices, so there is no surface to measure along")
    return Surface(sites, corners, kept, inner, attributes)


def mesh_space(
    mesh: Mesh,
    n_points: int | None,
    geodesic: str,
    rng: RngLike,
    sampling: str,
    *,
    points: ArrayLike | None = None,
    types: Types | None = None,
    features: Features | None = None,
) -> Space:
    """Make the space of a mesh that is not yet validated."""
    check_choice(geodesic, "geodesic", GEODESICS)
    check_choice(sampling, "sampling", SAMPLINGS)
    surface = surface_of(mesh, types, features)
    index = _sampled(surface, n_points, sampling, rng) if points is None else _chosen(points, n_points, surface)
    check_memory(len(index), 8)
    cost = METHODS[geodesic](surface.vertices, surface.faces, index)
    if np.isinf(cost).any():
        raise InputError(OUT_OF_RANGE)
    return surface.space(cost, index)


def check_mesh(vertices: ArrayLike, faces: ArrayLike) -> tuple[Float64s, Int64s]:
    """Validate a mesh: finite vertices (N, 3) and faces (F, 3) that refer to them."""
    points = check_numbers(vertices, "vertices").astype(np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise InputError(f"vertices has shape {points.shape}, but (N, 3) with N >= 1 is needed")
    check_finite(points, "vertices")
    corners = as_indices(faces)
    if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) == 0:
        raise InputError(f"faces has shape {corners.shape}, but (F, 3) with F >= 1 is needed")
    wrong = (corners < 0) | (corners >= len(points))
    if wrong.any():
        face, corner = np.argwhere(wrong)[0]
        raise InputError(
            f"face {face} names the vertex {corners[face, corner]}, but vertices go from 0 to {len(points) - 1}"
        )
    return points, corners


def _largest_component(vertices: Float64s, faces: Int64s, name: str) -> Int64s:
    graph = adjacency(len(vertices), mesh_edges(faces), None, directed=False)
    parts = components(graph, directed=False)
    if len(parts) > 1:
        kept = f"the largest is kept, {len(parts[0])} of {len(vertices)} vertices"
        note(name, f"has {len(parts)} components; {kept}")
    return np.sort(parts[0])


def _distinct(faces: Int64s) -> Int64s:
    """Remove repeated faces, in any order of their corners: they add nothing to a surface."""
    corners = np.sort(faces, axis=1)
    order = np.lexsort(corners.T)
    is_new = np.append(True, (np.diff(corners[order], axis=0) != 0).any(axis=1))[: len(faces)]
    return faces if is_new.all() else faces[np.sort(order[is_new])]


def _chosen(points: ArrayLike, n_points: int | None, surface: Surface) -> Int64s:
    """Return the indices, in the largest component, of the vertices that the caller chose."""
    if n_points is not None:
        raise InputError("got both points and n_points, but points says which vertices to keep: leave n_points out")
    wanted = check_indices(points, "points", len(surface.sites))
    if len(wanted) == 0:
        raise InputError("points is empty, but a space needs at least one point")
    numbers, counts = np.unique(wanted, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"points has the vertex {numbers[counts > 1][0]} {counts.max()} times, but once is needed")
    outside = ~np.isin(wanted, surface.kept)
    if outside.any():
        raise InputError(
            f"points has the vertex {wanted[outside][0]}, which is not in the largest component of the mesh; "
            "leave it out, or make a mesh of its component"
        )
    return np.searchsorted(surface.kept, wanted)


def _sampled(surface: Surface, n_points: int | None, sampling: str, rng: RngLike) -> Int64s:
    """Sample at most `n_points` of the component's vertices; all, in order, if there are no more."""
    everything = np.arange(len(surface.kept))
    if sampling == "uniform" or n_points is None or check_integer(n_points, "n_points", 1) >= len(everything):
        return draw_points(everything, n_points, rng)
    return _farthest(surface, n_points, check_rng(rng))


def _farthest(surface: Surface, count: int, rng: np.random.Generator) -> Int64s:
    """Farthest-point sampling: each vertex is the farthest, along edges, from all before it."""
    from scipy.sparse.csgraph import dijkstra

    n = len(surface.kept)
    graph = edge_graph(surface.vertices, surface.faces)
    chosen = np.empty(count, np.int64)
    chosen[0] = rng.integers(n)
    distance = np.full(n, np.inf)
    for k in range(1, count):
        distance = np.minimum(distance, dijkstra(graph, indices=chosen[k - 1], limit=distance.max()))
        distance[chosen[k - 1]] = -1.0  # never twice, even where vertices coincide
        chosen[k] = np.argmax(distance)
    return chosen
