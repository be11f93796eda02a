"""Find the barycenters, and see to which digit each of them is nearest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import anchorot as ao
from experiments.barycenters.alignment import aligned_distance
from experiments.barycenters.digits import Digit

GEOMETRIES = {"ae": "AE", "aw": "AW"}


@dataclass(frozen=True)
class Task:
    """One barycenter to be found."""

    label: int
    geometry: str
    repetition: int
    digits: tuple[Digit, ...]
    restarts: int
    max_iter: int
    unseen: tuple[Digit, ...]


@dataclass(frozen=True)
class Found:
    """A barycenter, and its mean distance to the unseen digits of every label."""

    label: int
    geometry: str
    repetition: int
    points: np.ndarray
    loss: float
    energy: float  # mean AE to its shapes, whatever its own geometry
    look: dict[int, float]  # in the plane, by eye: aligned Chamfer distance to clean digits
    measure: dict[int, float]  # by its own geometry, to clouds in space

    @property
    def looks_like(self) -> int:
        """Label whose clean digits it is nearest to."""
        return nearest(self.look)

    @property
    def measures_like(self) -> int:
        """Label whose clouds it is nearest to in its own geometry."""
        return nearest(self.measure)


def nearest(means: dict[int, float]) -> int:
    """Return the label of the least distance."""
    return min(means, key=lambda label: means[label])


def find(task: Task) -> Found:
    """Find one barycenter from random starts, and compare it with unseen digits."""
    spaces = [ao.from_points(digit.cloud) for digit in task.digits]
    best = ao.barycenter(
        spaces,
        len(task.digits[0].flat),
        2,
        task.geometry,
        restarts=task.restarts,
        max_iter=task.max_iter,
        rng=np.random.default_rng([task.label, task.repetition, list(GEOMETRIES).index(task.geometry)]),
    )
    look = mean_distances(task.unseen, partial(_look_distance, best.points))
    energy = float(np.mean([ao.anchor_energy(best.space, space) for space in spaces]))
    measure = mean_distances(task.unseen, lambda digit: _distance(task.geometry, best.space, digit))
    return Found(task.label, task.geometry, task.repetition, best.points, best.loss, energy, look, measure)


def mean_distances(unseen: Sequence[Digit], distance: Callable[[Digit], float]) -> dict[int, float]:
    """Mean distance to the digits of every label."""
    labels = sorted({digit.label for digit in unseen})
    return {label: float(np.mean([distance(digit) for digit in unseen if digit.label == label])) for label in labels}


def single_digits_read(unseen: Sequence[Digit]) -> float:
    """Share of single clean digits that look like their own label, each left out in turn: what to hope for."""
    right = 0
    for i, one in enumerate(unseen):
        others = [*unseen[:i], *unseen[i + 1 :]]
        right += nearest(mean_distances(others, partial(_look_distance, one.flat))) == one.label
    return right / len(unseen)


def _look_distance(points: np.ndarray, digit: Digit) -> float:
    return aligned_distance(points, digit.flat)


def _distance(geometry: str, space: ao.Space, digit: Digit) -> float:
    other = ao.from_points(digit.cloud)
    if geometry == "ae":
        return ao.anchor_energy(space, other)
    return ao.anchor_wasserstein(space, other, epsilon=0).value
