"""A surface and all that is asked of it: scaled to area 1, with eigenfunctions, curvature, landmarks and geodesics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.distances.landmarks import MeshDistances, farthest
from anchorot.exceptions import InputError
from anchorot.io.geodesics import mesh_edges
from anchorot.io.meshes import open_mesh, surface_of
from anchorot.space import Space
from anchorot.surfaces.laplacian import areas, eigenfunctions, face_normals, stiffness, vertex_sums

N_FUNCTIONS = 150
N_LANDMARKS = 300
N_SAMPLES = 1000
SMOOTHING = (0.0005, 0.002, 0.008)  # times of heat flow, where the area is 1, that curvature is smoothed by
MIN_FUNCTIONS = 6


@dataclass(frozen=True, eq=False)
class Shape:
    """The largest component of a mesh, scaled to area 1 around its centre; vertices are counted by places in `kept`."""

    total: int
    kept: Int64s
    vertices: Float64s
    faces: Int64s
    outside: int | None  # 1 where faces run anticlockwise seen from outside, -1 clockwise, None where they disagree
    mass: Float64s
    eigenvalues: Float64s
    functions: Float64s
    curvature: Float64s  # (n, scales): mean curvature, positive where the surface bulges
    landmarks: Int64s  # vertices that cover the surface, each the farthest along it from those before
    rows: NDArray[np.float32]  # (l, n): geodesic distances from the landmarks
    samples: Int64s  # landmarks first, then more that cover the surface
    sample_mass: Float64s  # area nearest to each of them

    @cached_property
    def normals(self) -> Float64s:
        """Unit normals at the vertices, outward as far as that is known."""
        sums = vertex_sums(face_normals(self.vertices, self.faces), self.faces, len(self.vertices))
        return (self.outside or 1) * sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)

    @property
    def space(self) -> Space:
        """The space of the landmarks."""
        cost = self.rows[:, self.landmarks].astype(np.float64)
        return Space((cost + cost.T) / 2)

    @classmethod
    def of(cls, mesh: Any) -> Shape:
        """Prepare a mesh."""
        surface = surface_of(open_mesh(mesh))
        vertices, faces = surface.vertices, surface.faces
        size = float(np.ptp(vertices, axis=0).max())
        vertices = (vertices - vertices.mean(axis=0)) / (size or 1.0)
        total = float(np.linalg.norm(face_normals(vertices, faces), axis=1).sum() / 2)
        if not total > 0 or len(vertices) < MIN_FUNCTIONS:
            raise InputError(
                f"a mesh of {len(vertices)} vertices and area {total * size**2:.3g} is too little to align"
            )
        vertices = vertices / np.sqrt(total)
        mass = areas(vertices, faces)
        laplacian = stiffness(vertices, faces)
        outside = outside_of(vertices, faces)
        values, functions = eigenfunctions(laplacian, mass, N_FUNCTIONS)
        curvature = _curvature(vertices, faces, laplacian, mass, outside)
        distances = _distances(vertices, faces)
        landmarks = farthest(distances, N_LANDMARKS, 1.0)
        samples, sample_mass = _samples(vertices, mass, landmarks.chosen)
        return cls(
            len(surface.sites),
            surface.kept,
            vertices,
            faces,
            outside,
            mass,
            values,
            functions,
            curvature,
            landmarks.chosen,
            landmarks.rows,
            samples,
            sample_mass,
        )


def _distances(vertices: Float64s, faces: Int64s) -> MeshDistances:
    """Distances by the heat method, or along edges where that fails."""
    try:
        found = MeshDistances((vertices, faces))
        found.row(found.begin)
    except InputError:
        return MeshDistances((vertices, faces), "edge")
    return found


def outside_of(vertices: Float64s, faces: Int64s) -> int | None:
    """1 if faces run anticlockwise seen from outside (a surface with a rim: taken for granted), -1 if not; or None."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    if len(np.unique(sides[:, 0] * len(vertices) + sides[:, 1])) < len(sides):
        return None
    a, b, c = (vertices[corner] - vertices.mean(axis=0) for corner in faces.T)
    is_closed = 2 * len(mesh_edges(faces)) == len(sides)
    return -1 if is_closed and float((a * np.cross(b, c)).sum()) < 0 else 1


def _curvature(vertices: Float64s, faces: Int64s, laplacian: Any, mass: Float64s, outside: int | None) -> Float64s:
    """Mean curvature with its sign, averaged over neighbourhoods of several sizes by heat flow; standardised."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    normals = vertex_sums(face_normals(vertices, faces), faces, len(vertices)) * (outside or 1)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    bend = ((laplacian @ vertices) * normals).sum(axis=1)  # times the mass
    found = []
    for time in SMOOTHING:
        solver = splu((diags_array(mass) + time * laplacian).tocsc(), permc_spec="MMD_AT_PLUS_A")
        found.append(solver.solve(bend))
    return np.stack(found, axis=1)


def _samples(vertices: Float64s, mass: Float64s, chosen: Int64s) -> tuple[Int64s, Float64s]:
    """Landmarks and more vertices, each the farthest in space from those before; and the area around each."""
    count = min(N_SAMPLES, len(vertices))
    found = np.concatenate([chosen, np.empty(max(0, count - len(chosen)), np.int64)])[: max(count, len(chosen))]
    reach, owner = np.full(len(vertices), np.inf), np.zeros(len(vertices), np.int64)
    for place in range(len(found)):
        point = found[place] = found[place] if place < len(chosen) else int(reach.argmax())
        away = np.square(vertices - vertices[point]).sum(axis=1)
        is_nearer = away < reach
        reach[is_nearer], owner[is_nearer] = away[is_nearer], place
        reach[point] = -1.0
    return found, np.bincount(owner, mass, len(found)).astype(np.float64)
