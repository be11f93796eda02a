"""Which of several maps is the right way round: four numbers about each, and a rule.

Distances along a surface cannot tell a body's left from its right, and hardly its front from its back. What can: the
sense of triangles, seen from outside; where the surface bulges; and whether neighbourhoods are turned as a whole by a
rotation that does not mirror.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.surfaces.laplacian import face_normals
from anchorot.surfaces.shape import Shape

REACH = 0.1  # of a neighbourhood, where the area is 1


class Scores(NamedTuple):
    """What a map looks like, as in `MeshCandidate`."""

    orientation: float | None
    distortion: float
    curvature: float
    rigidity: float


def scores_of(first: Shape, second: Shape, matches: Int64s) -> Scores:
    """Look at a map from all vertices of one shape to those of another."""
    return Scores(
        orientation(first, second, matches),
        distortion(first, second, matches),
        curvature_correlation(first, second, matches),
        rigidity(first, second, matches),
    )


def orientation(first: Shape, second: Shape, matches: Int64s) -> float | None:
    """Area whose triangles keep their sense on the second surface, less that of those turned over."""
    if first.outside is None or second.outside is None:
        return None
    faces = first.faces
    normals = face_normals(first.vertices, faces)
    image = matches[faces]
    moved = face_normals(second.vertices, image)
    there = second.normals[image].sum(axis=1)
    sense = np.sign((moved * there).sum(axis=1)) * first.outside
    area = np.linalg.norm(normals, axis=1) * (sense != 0)
    return float((area * sense).sum() / max(area.sum(), 1e-300))


def distortion(first: Shape, second: Shape, matches: Int64s) -> float:
    """Mean difference of distances between landmarks of the first surface, and between the nearest to their matches."""
    goal = matches[first.landmarks]
    at = second.rows[:, goal].argmin(axis=0)  # the nearest landmark of the second surface
    there = second.rows[at]
    own = first.rows
    return float(
        np.mean([np.average(np.abs(a - b[matches]), weights=first.mass) for a, b in zip(own, there, strict=True)])
    )


def curvature_correlation(first: Shape, second: Shape, matches: Int64s) -> float:
    """Mean correlation of curvatures over the scales."""
    found = []
    for x, y in zip(first.curvature.T, second.curvature[matches].T, strict=True):
        weights = first.mass / first.mass.sum()
        x, y = x - weights @ x, y - weights @ y
        found.append(float((weights * x) @ y / max(np.sqrt((weights @ x**2) * (weights @ y**2)), 1e-300)))
    return float(np.mean(found))


def rigidity(first: Shape, second: Shape, matches: Int64s, reach: float = REACH, n_balls: int = 200) -> float:
    """Root mean square residual of the best rotation of every neighbourhood, by the size of the neighbourhood."""
    samples = first.samples
    points, goal, mass = first.vertices[samples], second.vertices[matches[samples]], first.sample_mass
    balls = first.rows[:n_balls, samples] < reach
    return float(
        np.sqrt(max(0.0, np.mean([_misfit(points[ball], goal[ball], mass[ball]) for ball in balls if ball.sum() > 4])))
    )


def _misfit(points: Float64s, goal: Float64s, mass: Float64s) -> float:
    weights = mass / mass.sum()
    points, goal = points - weights @ points, goal - weights @ goal
    size = float(weights @ np.square(points).sum(axis=1)), float(weights @ np.square(goal).sum(axis=1))
    scatter = (points * weights[:, None]).T @ goal
    left, values, right = np.linalg.svd(scatter)
    values[-1] *= np.sign(np.linalg.det(left) * np.linalg.det(right))
    return (size[0] + size[1] - 2 * float(values.sum())) / max(sum(size), 1e-300)
