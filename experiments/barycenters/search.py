"""Find the barycenters, and see to which digit each of them is nearest."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np

import anchorot as ao
from experiments.barycenters.alignment import aligned_distance
from experiments.barycenters.digits import Digit
from experiments.common.clock import one_core
from experiments.common.progress import progress_bar

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


def find_all(tasks: Sequence[Task], unseen: Sequence[Digit], n_jobs: int) -> list[Found]:
    """Find all barycenters, in one process a core, or in this one."""
    workers = min(len(tasks), (os.cpu_count() or 1) if n_jobs == -1 else n_jobs)
    arguments = tasks, [tuple(unseen)] * len(tasks)
    found = []
    with progress_bar(len(tasks), "barycenters", "barycenters") as advance, ExitStack() as stack:
        if workers > 1:
            context = multiprocessing.get_context("spawn")  # PyTorch's threads do not survive a fork
            results = stack.enter_context(ProcessPoolExecutor(workers, mp_context=context)).map(find, *arguments)
        else:
            results = map(find, *arguments)
        for one in results:
            found.append(one)
            advance(1)
    return found


def find(task: Task, unseen: Sequence[Digit]) -> Found:
    """Find one barycenter from random starts, and compare it with unseen digits."""
    spaces = [ao.from_points(digit.cloud) for digit in task.digits]
    seed = [task.label, task.repetition, list(GEOMETRIES).index(task.geometry)]
    with one_core():
        best = ao.barycenter(
            spaces,
            len(task.digits[0].flat),
            2,
            task.geometry,
            restarts=task.restarts,
            max_iter=task.max_iter,
            rng=np.random.default_rng(seed),
        )
        look = mean_distances(unseen, partial(_look_distance, best.points))
        energy = float(np.mean([ao.anchor_energy(best.space, space) for space in spaces]))
        measure = mean_distances(unseen, lambda digit: _distance(task.geometry, best.space, digit))
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
