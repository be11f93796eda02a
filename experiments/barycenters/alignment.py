"""How alike two clouds of points in the plane look, however they are turned or mirrored."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

ANGLES = 72  # five degrees apart


def turned(points: np.ndarray) -> np.ndarray:
    """Return the points, centred, at all angles and mirrored at all angles; shape (2 ANGLES, n, 2)."""
    angles = np.linspace(0, 2 * np.pi, ANGLES, endpoint=False)
    cos, sin = np.cos(angles), np.sin(angles)
    rotations = np.stack([np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)], axis=-2)
    centred = points - points.mean(axis=0)
    return np.concatenate([centred @ rotations, centred * (1, -1) @ rotations])


def distances(points: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Chamfer distance of every turned form of points to a centred goal.

    The mean distance of a point to the nearest point of the other cloud, both ways.
    """
    forms = turned(points)
    between = cdist(forms.reshape(-1, 2), goal - goal.mean(axis=0)).reshape(len(forms), len(points), len(goal))
    return between.min(axis=1).mean(axis=1) + between.min(axis=2).mean(axis=1)


def aligned_distance(points: np.ndarray, goal: np.ndarray) -> float:
    """Return the Chamfer distance of points to a goal, turned and mirrored as suits best."""
    return float(distances(points, goal).min())


def upright(points: np.ndarray, goals: Sequence[np.ndarray]) -> np.ndarray:
    """Turn and mirror points so that they lie on the goals: distances fix a shape up to that only."""
    best = np.sum([distances(points, goal) for goal in goals], axis=0).argmin()
    return turned(points)[best]
