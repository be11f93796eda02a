"""A surface scaled to area 1, and the data computed from it: eigenfunctions, signatures, landmarks and geodesics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anchorot._rescale import in_unit_range
from anchorot._typing import Float64s, Int64s
from anchorot.align.meshes.laplacian import areas, eigenfunctions, face_normals, stiffness, vertex_normals
from anchorot.align.meshes.orienting import oriented
from anchorot.align.meshes.signatures import Signatures, signatures_of
from anchorot.distances.landmarks import farthest
from anchorot.distances.lazy_distances import MeshDistances
from anchorot.exceptions import InputError
from anchorot.io.geodesics import mesh_edges
from anchorot.io.graph_costs import adjacency
from anchorot.io.meshes import Surface
from anchorot.space import Space

N_FUNCTIONS = 150  # eigenfunctions: as many as the last sizes of `refined` use
N_LANDMARKS = 300  # which `align` matches in a fraction of a second; not tuned
N_SAMPLES = 1000  # vertices that candidates are compared at; not tuned
MIN_VERTICES = 10  # below, a surface is too coarse for eigenfunctions
VERTICES_PER_ROUND = 5000  # of a large mesh: how many vertices make it a round of averages smoother
MIN_LARGE = 10_000  # vertices
MIN_AREA = 1e-12  # of a surface, in squares of its extent: less is lost in the rounding of the coordinates


@dataclass(frozen=True, eq=False)
class Sample:
    """Vertices that cover a surface, landmarks first, and the surface they make."""

    chosen: Int64s  # (s,)
    owner: Int64s  # (n,): the place in `chosen` of what is nearest to every vertex, in space
    faces: Int64s  # by places in `chosen`: where three of the regions that they own meet
    mass: Float64s  # (s,): area of these regions


@dataclass(frozen=True, eq=False)
class Shape:
    """The largest component of a mesh, scaled to area 1 around its centre; vertices are counted by places in `kept`."""

    total: int
    kept: Int64s
    vertices: Float64s
    faces: Int64s
    is_oriented: bool  # whether faces run anticlockwise seen from outside, as far as can be known
    mass: Float64s
    functions: Float64s  # (n, k): eigenfunctions of the Laplacian
    landmarks: Int64s  # vertices that cover the surface, each the farthest along it from those before
    rows: NDArray[np.float32]  # (l, n): geodesic distances from the landmarks
    signatures: Signatures
    sample: Sample

    @classmethod
    def of(cls, surface: Surface, unit: float | None = None) -> Shape:
        """Prepare a surface; `unit` is the length that becomes 1, if it is not the root of the area."""
        vertices, faces = _scaled(surface, unit), surface.faces
        faces, is_oriented = oriented(vertices, faces)
        mass, laplacian = areas(vertices, faces), stiffness(vertices, faces)
        spectrum = eigenfunctions(laplacian, mass, N_FUNCTIONS)
        landmarks = farthest(_distances(vertices, faces), N_LANDMARKS, 1.0)
        return cls(
            total=len(surface.sites),
            kept=surface.kept,
            vertices=vertices,
            faces=faces,
            is_oriented=is_oriented,
            mass=mass,
            functions=spectrum[1],
            landmarks=landmarks.chosen,
            rows=landmarks.rows,
            signatures=signatures_of(vertices, faces, is_oriented, laplacian, mass, spectrum, landmarks.rows),
            sample=_sample(vertices, faces, mass, landmarks.chosen),
        )

    def space(self, count: int) -> Space:
        """The space of the first landmarks."""
        cost = self.rows[:count, self.landmarks[:count]].astype(np.float64)
        return Space((cost + cost.T) / 2)

    @cached_property
    def normals(self) -> Float64s:
        """Unit normals at the vertices, outward if `is_oriented`."""
        return vertex_normals(self.vertices, self.faces)


def in_own_unit(surface: Surface) -> tuple[Surface, float]:
    """A surface whose coordinates go from 0 to below 4, and the unit of length, a power of two, in which they do."""
    (vertices,), unit = in_unit_range([surface.vertices], axis=0)
    return _moved(surface, vertices), unit


def _moved(surface: Surface, vertices: Float64s) -> Surface:
    """The same surface with its vertices elsewhere."""
    sites = np.zeros_like(surface.sites)
    sites[surface.kept] = vertices
    return surface._replace(sites=sites)


def smoothed(surface: Surface) -> Surface:
    """A surface without what only a large mesh can show: every vertex goes to the middle of itself and its neighbours.

    The finer a mesh, the more noise of a given size crumples it: its area, the unit of all lengths, may be three
    times too large. Eigenfunctions and landmarks see nothing as fine as what is lost. Smaller meshes stay as they are.
    """
    vertices, faces = surface.vertices, surface.faces
    n = len(vertices)
    if n < MIN_LARGE:
        return surface
    graph = adjacency(n, mesh_edges(faces), None, directed=False)
    counts = graph.sum(axis=1)[:, None]
    for _ in range(n // VERTICES_PER_ROUND):
        vertices = (vertices + (graph @ vertices) / counts) / 2
    return _moved(surface, vertices)


def root_of_area(surface: Surface) -> float:
    """The root of the area of a surface, which has some; in its own unit, see `in_own_unit`."""
    if len(surface.kept) < MIN_VERTICES:
        raise InputError(f"a mesh of {len(surface.kept)} vertices, but at least {MIN_VERTICES} are needed to align it")
    area = float(np.linalg.norm(face_normals(surface.vertices, surface.faces), axis=1).sum()) / 2
    if not area > MIN_AREA * float(np.ptp(surface.vertices, axis=0).max()) ** 2:
        raise InputError(
            f"the faces of the mesh have no area, or less than {MIN_AREA:g} of the square of its extent; a surface is "
            "needed to align it"
        )
    return float(np.sqrt(area))


def _scaled(surface: Surface, unit: float | None) -> Float64s:
    """Move the vertices to their centre, and make the unit 1."""
    vertices = surface.vertices
    return (vertices - vertices.mean(axis=0)) / (root_of_area(surface) if unit is None else unit)


def _distances(vertices: Float64s, faces: Int64s) -> MeshDistances:
    """Distances by the heat method, or along edges where that fails."""
    try:
        found = MeshDistances((vertices, faces))
        found.row(found.begin)
    except InputError:
        return MeshDistances((vertices, faces), "edge")
    return found


def _sample(vertices: Float64s, faces: Int64s, mass: Float64s, landmarks: Int64s) -> Sample:
    """Landmarks and more vertices, each the farthest in space from those before."""
    count = max(len(landmarks), min(N_SAMPLES, len(vertices)))
    chosen = np.empty(count, np.int64)
    reach, owner = np.full(len(vertices), np.inf), np.zeros(len(vertices), np.int64)
    for place in range(count):
        point = landmarks[place] if place < len(landmarks) else int(reach.argmax())
        chosen[place] = point
        away = np.square(vertices - vertices[point]).sum(axis=1)
        is_nearer = away < reach
        reach[is_nearer], owner[is_nearer] = away[is_nearer], place
        reach[point], owner[point] = -1.0, place
    corners = owner[faces]
    is_triangle = (corners != np.roll(corners, 1, axis=1)).all(axis=1)
    return Sample(chosen, owner, corners[is_triangle], np.bincount(owner, mass, count).astype(np.float64))
