"""Which of several maps is the right way round: numbers about each, and a rule.

Distances along a surface cannot tell a body's left from its right, and hardly its front from its back. What can: the
sense of triangles, seen from outside; where the surface bulges; and whether neighbourhoods are turned as a whole by a
rotation that does not mirror. A map that takes a belly for a back has no rotation to explain it, and neither has one
that takes a left hand for a right one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.align.calibration import load, sigmoid, t_log_odds
from anchorot.align.meshes.laplacian import face_normals
from anchorot.align.meshes.shape import Shape
from anchorot.align.spaces.reliability import N_CELLS, covering

REACHES = (0.1, 0.2)  # of neighbourhoods, in roots of the area: of a person, a hand and half an arm
FINEST_CURVATURE, FIRST_TURN = 4, 7  # places in the rows of all signatures
# In a place, where the mean squared difference of turns counts 1; set on the even pairs of remeshed people.
RIGID_WEIGHT, CURVATURE_WEIGHT = 5.0, 2.0
MIN_BALL_SIZE = 1e-6  # in squares of its reach: a smaller neighbourhood has one sampled point only
MIRROR_PENALTY = 3.0  # less log-odds for a map that mirrors: one pair of meshes in twenty, before anything is seen
CELL_FLOOR = 1e-3  # of a cell's misfits, which are compared by their logarithms
LARGEST_LOG_ODDS = 50.0  # either way: their exponentials and sums of these stay finite
MISFIT_FLOOR = 0.01  # squared misfit, relative to a neighbourhood: smaller ones are no surer


class Scores(NamedTuple):
    """What a map looks like, as in `MeshCandidate`."""

    orientation: float | None
    distortion: float
    curvature: float
    turns: float
    rigidity: float
    mirrored_rigidity: float  # the same with reflections in place of rotations

    @property
    def features(self) -> dict[str, float]:
        """Evidence for the map; of one that mirrors, for its mirror image."""
        sign, rigidity = (-1, self.mirrored_rigidity) if self.is_mirrored else (1, self.rigidity)
        return {"turns": sign * self.turns, "curvature": self.curvature, "rigidity": rigidity}

    @property
    def is_mirrored(self) -> bool:
        """Whether most triangles are turned over."""
        return self.orientation is not None and self.orientation < 0

    @property
    def log_odds(self) -> float:
        """How likely the map is right, by a model that was fitted to maps whose truth is known.

        Of a map that mirrors, the same is asked about the mirror image, which must fit far better to be chosen.
        """
        found: float = load("meshes.map").score(self.features)
        return found - MIRROR_PENALTY if self.is_mirrored else found

    @property
    def probability(self) -> float:
        """The chance of these log-odds."""
        return float(sigmoid(self.log_odds))


def scores_of(first: Shape, second: Shape, image: Int64s) -> Scores:
    """Look at a map, given the vertex of the second surface that every sampled point of the first goes to."""
    likeness = correlations(first, second, image)
    bent = np.array([[part.mean() for part in misfits(first, second, image, reach)] for reach in REACHES])
    rotated, mirrored = np.sqrt(np.maximum(0.0, bent.mean(axis=0)))
    return Scores(
        orientation(first, second, image),
        distortion(first, second, image),
        float(likeness[FINEST_CURVATURE]),
        float(likeness[FIRST_TURN:].mean()),
        float(rotated),
        float(mirrored),
    )


def orientation(first: Shape, second: Shape, image: Int64s) -> float | None:
    """Area whose triangles keep their sense on the second surface, less that of those turned over; by the sample."""
    if not (first.is_oriented and second.is_oriented):
        return None
    own = first.sample
    corners = image[own.faces]
    outward = second.normals[corners].sum(axis=1)
    sense = np.sign((face_normals(second.vertices, corners) * outward).sum(axis=1))
    area = np.linalg.norm(face_normals(first.vertices[own.chosen], own.faces), axis=1) * (sense != 0)
    return float((area * sense).sum() / max(float(area.sum()), 1e-300))


def distortion(first: Shape, second: Shape, image: Int64s) -> float:
    """Mean difference between distances from landmarks to sampled points, and between their matches.

    Where a landmark's match is not a landmark of the second surface, distances from the nearest landmark count.
    """
    own = first.sample
    rows = second.rows[:, image]
    nearest = rows[:, : len(first.landmarks)].argmin(axis=0)
    difference = np.abs(first.rows[:, own.chosen] - rows[nearest])
    return float(difference.mean(axis=0) @ own.mass / own.mass.sum())


def correlations(first: Shape, second: Shape, image: Int64s) -> Float64s:
    """Correlation of every signature, even ones and turns, at sampled points and at their matches."""
    x, y = np.hstack(first.signatures.at(first.sample.chosen)), np.hstack(second.signatures.at(image))
    weights = first.sample.mass / first.sample.mass.sum()
    x, y = x - weights @ x, y - weights @ y
    size = np.sqrt((weights @ np.square(x)) * (weights @ np.square(y)))
    return (weights @ (x * y)) / np.where(size > 0, size, 1.0)


def misfits(first: Shape, second: Shape, image: Int64s, reach: float) -> tuple[Float64s, Float64s]:
    """Mean square distance of neighbourhoods to where the best rotation brings them, and the best reflection.

    Relative to the size of a neighbourhood: of balls around all landmarks, by the sample.
    """
    own = first.sample
    points, goal = first.vertices[own.chosen], second.vertices[image]
    balls = (first.rows[:, own.chosen] < reach) * own.mass
    balls /= balls.sum(axis=1, keepdims=True)
    middle, target = balls @ points, balls @ goal
    products = (points[:, :, None] * goal[:, None, :]).reshape(-1, 9)
    scatter = (balls @ products).reshape(-1, 3, 3) - middle[:, :, None] * target[:, None, :]
    size = balls @ (np.square(points) + np.square(goal)).sum(axis=1)
    size -= (np.square(middle) + np.square(target)).sum(axis=1)
    left, values, right = np.linalg.svd(scatter)
    least = values[:, 2] * np.sign(np.linalg.det(left) * np.linalg.det(right))
    sums = values[:, 0] + values[:, 1]
    is_point = size < MIN_BALL_SIZE * reach**2  # which a rotation always explains
    size = np.where(is_point, 1.0, size)
    rotated, mirrored = (np.where(is_point, 0.0, size - 2 * (sums + sign * least)) / size for sign in (1, -1))
    return rotated, mirrored


def local_misfits(first: Shape, second: Shape, image: Int64s, reach: float) -> Float64s:
    """How badly a map fits around every landmark: by signatures, and by neighbourhoods that no rotation explains."""
    chosen = first.sample.chosen
    x, y = np.hstack(first.signatures.at(chosen)), np.hstack(second.signatures.at(image))
    apart = np.square(x - y)
    unlike = apart[:, FIRST_TURN:].mean(axis=1) + CURVATURE_WEIGHT * apart[:, FINEST_CURVATURE]
    balls = (first.rows[:, chosen] < reach) * first.sample.mass
    near = (first.rows[:, first.landmarks] < reach).astype(np.float64)
    bent = np.mean([misfits(first, second, image, own)[0] for own in REACHES], axis=0)
    return balls @ unlike / balls.sum(axis=1) + RIGID_WEIGHT * (near @ bent) / near.sum(axis=1)


def staying(first: Shape, second: Shape, images: list[Int64s], is_mirrored: list[bool], differs: Float64s) -> float:
    """Share of the surface that stays where the first map sends it, in a likely one of the maps.

    A map is the likelier, the fewer parts of the surface it fits worse than the first one: by a t-test over cells of
    how neighbourhoods are bent, of turns and of curvature. `differs` is the share that goes elsewhere than in that.
    """
    landmarks = first.rows[:, first.landmarks]
    cells = landmarks[:, covering(landmarks.astype(np.float64), N_CELLS)].argmin(axis=1)
    misfit = [_log_misfits(first, second, *one, cells) for one in zip(images, is_mirrored, strict=True)]
    log_odds = np.array([0.0, *(t_log_odds(other - misfit[0]) for other in misfit[1:])])
    odds = np.exp(np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))
    return float(odds @ (1 - differs) / odds.sum())


def _log_misfits(first: Shape, second: Shape, image: Int64s, is_mirrored: bool, cells: Int64s) -> Float64s:
    """Of every cell, the sum of the logarithms of its misfits."""
    bent = np.mean([misfits(first, second, image, own)[int(is_mirrored)] for own in REACHES], axis=0)
    chosen = first.sample.chosen
    x, y = np.hstack(first.signatures.at(chosen)), np.hstack(second.signatures.at(image))
    apart = np.square(x - y)
    balls = (first.rows[:, chosen] < REACHES[1]) * first.sample.mass
    balls /= balls.sum(axis=1, keepdims=True)
    found = np.maximum(bent, 0), balls @ apart[:, FIRST_TURN:].mean(axis=1), balls @ apart[:, FINEST_CURVATURE]
    sizes = np.bincount(cells)
    return np.asarray(np.sum([np.log(np.bincount(cells, own) / sizes + CELL_FLOOR) for own in found], axis=0))


def local_confidence(first: Shape, second: Shape, image: Int64s) -> Float64s:
    """Estimate, at every vertex, the chance that its match is near the right one, if the map is the right way round."""
    chance: Float64s = load("meshes.match").probability(match_features(first, second, image))
    return chance[first.rows.argmin(axis=0)]


def match_features(first: Shape, second: Shape, image: Int64s) -> dict[str, Float64s]:
    """Evidence for the matches around every landmark."""
    bent = np.mean([misfits(first, second, image, reach)[0] for reach in REACHES], axis=0)
    return {"log misfit": np.log(np.maximum(bent, 0.0) + MISFIT_FLOOR)}
