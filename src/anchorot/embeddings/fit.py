"""A rotation between two sets of points, from nothing but their shapes.

A few hundred points of each side, drawn independently, are aligned by their distances (annealed Gromov-Wasserstein, as
in `align`). That soft plan knows the main directions of both sides, and little of the minor ones. So the map *grows*:
the singular value decomposition of Xᵀ P Y is cut off at rank k, the points are compared in those k directions, a new
soft plan P is made of what they are near to, and k goes up by a factor until all directions take part. Other draws
begin elsewhere; what two of them agree on, and no other answer fits better, is the map.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Self

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.distances.alignment import Start
from anchorot.distances.descent import anneal
from anchorot.distances.quadratic import Quadratic
from anchorot.distances.starts import starting_plans
from anchorot.embeddings.pairs import DensePairs, pairs_of, scalings, squared_distances
from anchorot.space import Space

LANDMARKS = 300  # points of a side that are aligned by their distances
SAMPLE = 1000  # points of a side that a map grows on
FIRST_RANK, RANK_FACTOR = 5, 1.4
STEPS_PER_RANK = 2
BLUR = 3.0  # temperature of soft plans, in units of what is left in each direction at the nearest point
SCALINGS = 15
DRAWS = ("near, annealed", "middle", "near, annealed", "product", "near, annealed", "middle", "aw", "near, annealed")
MAX_MAP_DIFFERENCE = 0.1  # of the variance, between two maps that are the same
ROUNDS = 8  # of rotation and assignment on all points
SMALLEST = 1e-12  # of the variance: distances below are rounding


class Side(NamedTuple):
    """Points of one side with mean 0, in units of their root mean square distance from it; in an order of their own."""

    points: Float64s  # (n, d)
    mean: Float64s
    unit: float
    order: Int64s  # by distance from the mean, so that neither numbers nor rotations decide which points are drawn

    @classmethod
    def of(cls, rows: Float64s) -> Self:
        """Centre rows, and scale them."""
        mean = rows.mean(axis=0)
        centred = rows - mean
        largest = float(np.abs(centred).max()) or 1.0
        unit = largest * float(np.sqrt(np.square(centred / largest).sum(axis=1).mean())) or 1.0
        points = centred / unit
        return cls(points, mean, unit, np.argsort(np.square(points).sum(axis=1).round(9), kind="stable"))

    def draw(self, count: int, rng: np.random.Generator) -> Int64s:
        """Some of the points, all in their order if there are few."""
        n = len(self.points)
        return self.order if count >= n else self.order[np.sort(rng.choice(n, count, replace=False))]


class Map(NamedTuple):
    """Brings both sides into k common directions; in units of the sides."""

    left: Float64s  # (d, k), columns orthonormal
    right: Float64s  # (e, k)
    origin: Float64s  # (d,)
    target: Float64s  # (e,)
    stretch: float  # of the first side

    @classmethod
    def of_moments(cls, cross: Float64s, origin: Float64s, target: Float64s, rank: int | None = None) -> Self:
        """The rotation of the largest <X R, Y>, cut off at a rank (orthogonal Procrustes)."""
        left, _, right = np.linalg.svd(cross, full_matrices=False)
        return cls(left[:, :rank], right[:rank].T, origin, target, 1.0)

    @classmethod
    def of_matches(cls, x: Floats, y: Floats, matches: Int64s) -> Self:
        """The rotation, with offset and scale, that suits matched points best."""
        own = np.flatnonzero(matches >= 0)
        first, second = x[own], y[matches[own]]
        origin, target = first.mean(axis=0), second.mean(axis=0)
        found = cls.of_moments((first - origin).T @ (second - target), origin, target)
        return found.stretched(first, second)

    def stretched(self, x: Floats, y: Floats) -> Self:
        """Scaled so that both sides vary alike in the common directions."""
        one, two = (float(np.square(side).sum()) for side in (self._replace(stretch=1.0).moved(x), self.others(y)))
        return self._replace(stretch=float(np.sqrt(two / one)) if one > 0 and two > 0 else 1.0)

    def moved(self, x: Floats) -> Floats:
        """Points of the first side in the common directions."""
        return self.stretch * ((x - self.origin) @ self.left)

    def others(self, y: Floats) -> Floats:
        """Points of the second side there."""
        return (y - self.target) @ self.right


class Candidate(NamedTuple):
    """A map and where it is from."""

    map: Map
    objective: float
    name: str
    draw: int
    seconds: float


class Search:
    """Looks for maps between two sides."""

    def __init__(self, x: Side, y: Side, n_landmarks: int | None, rng: np.random.Generator) -> None:
        self._x, self._y, self._rng = x, y, rng
        self._n_landmarks = n_landmarks or LANDMARKS
        self.sample = (x.points[x.draw(SAMPLE, rng)], y.points[y.draw(SAMPLE, rng)])

    def candidates(self) -> tuple[list[Candidate], bool]:
        """Maps from several draws, best first, until two that are as good as any agree; and whether they did."""
        found: list[Candidate] = []
        for draw, name in enumerate(DRAWS):
            found = sorted([*found, self._candidate(draw, name)], key=lambda one: one.objective)
            if any(self.difference(found[0].map, one.map) < MAX_MAP_DIFFERENCE for one in found[1:]):
                return found, True
        return found, False

    def difference(self, one: Map, two: Map) -> float:
        """How far apart two maps put the same points, as a share of the variance."""
        x, _ = self.sample
        first, second = ((part.moved(x) @ part.right.T) for part in (one, two))
        return float(np.square(first - second).sum() / max(float(np.square(first).sum()), SMALLEST))

    def _candidate(self, draw: int, name: str) -> Candidate:
        begin = time.perf_counter()
        chosen = [side.points[side.draw(self._n_landmarks, self._rng)] for side in (self._x, self._y)]
        plan = _aligned(chosen[0], chosen[1], name, self._rng)
        grown = grow(*self.sample, chosen[0].T @ plan @ chosen[1])
        return Candidate(grown, self.objective(grown), name, draw, time.perf_counter() - begin)

    def objective(self, one: Map) -> float:
        """Mean squared distance to the nearest point of the other side, both ways."""
        costs = squared_distances(one.moved(self.sample[0]), one.others(self.sample[1]))
        return float(costs.min(axis=1).mean() + costs.min(axis=0).mean()) / 2


def _aligned(x: Floats, y: Floats, name: str, rng: np.random.Generator) -> Float64s:
    """A soft plan between two sets of points, by the distances within each."""
    spaces = []
    for points in (x, y):
        cost = squared_distances(points, points)
        np.fill_diagonal(cost, 0)
        spaces.append(Space(np.sqrt(cost), copy=False))
    start = starting_plans((name,), *spaces, rng, 1)[0]
    single = [array.astype(np.float32) for space in spaces for array in (space.cost, space.weights)]
    problem = Quadratic(single[0], single[2])
    return anneal(problem, start.plan.astype(np.float32), single[1], single[3], start.temperatures).plan


def grow(x: Floats, y: Floats, cross: Float64s) -> Map:
    """Refine a map, by its cross moments, from its first directions to all."""
    rank, most = float(FIRST_RANK), min(cross.shape)
    nowhere = np.zeros(x.shape[1]), np.zeros(y.shape[1])
    while True:
        for _ in range(STEPS_PER_RANK):
            found = Map.of_moments(cross, *nowhere, rank=min(int(rank), most)).stretched(x, y)
            costs = squared_distances(found.moved(x), found.others(y))
            plan = soft_plan(costs, found.left.shape[1])
            cross = x.T @ (plan @ y)
        if rank >= most:
            return Map.of_moments(cross, *nowhere).stretched(x, y)
        rank *= RANK_FACTOR


def soft_plan(costs: Floats, n_directions: int) -> Floats:
    """Where points might belong by their squared distances, as sharp as what is left at the nearest suggests."""
    least = costs.min(axis=1, keepdims=True)
    temperature = max(BLUR * float(least.mean()) / n_directions, SMALLEST)
    kernel = np.exp((least - costs) / temperature)
    rows, columns = scalings(kernel, SCALINGS)
    return rows[:, None] * kernel * columns


class Finished(NamedTuple):
    """A map fitted to all points."""

    map: Map
    matches: Int64s
    residuals: Float64s
    objective: float
    n_rounds: int
    converged: bool


def finish(x: Floats, y: Floats, found: Map, device: str | None) -> Finished:
    """Rounds of assignment and rotation on all points, until matches stay."""
    matches = np.full(len(x), -1)
    for n_rounds in range(1, ROUNDS + 1):
        pairs = pairs_of(found.moved(x), found.others(y), device)
        before, matches = matches, pairs.assign()
        if (before == matches).all():
            break
        found = Map.of_matches(x, y, matches)
    residuals = pairs.at(matches)
    own = residuals[matches >= 0]
    return Finished(found, matches, residuals, float(own.mean()), n_rounds, bool((before == matches).all()))


def start_of(one: Candidate) -> Start:
    """What a candidate has to say of itself."""
    return Start(f"draw {one.draw + 1}, {one.name}", one.objective, one.seconds, 1, converged=True)
