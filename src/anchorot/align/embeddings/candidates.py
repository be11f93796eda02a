"""Rotations between two sets of points, found from their shapes alone.

A few hundred points of each side, drawn independently, are aligned by their distances (annealed Gromov-Wasserstein, as
in `align`). That soft plan knows the main directions of both sides, and little of the minor ones. So the map *grows*:
the singular value decomposition of Xᵀ P Y is cut off at rank k, the points are compared in those k directions, a new
soft plan P is made from near points, and k goes up by a factor until all directions take part. Other draws begin
elsewhere. The search ends when two of them agree on a map that no other one beats.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Self

import numpy as np

from anchorot._progress import Advance
from anchorot._typing import Float32s, Float64s, Floats, Int64s
from anchorot.align.embeddings.pairs import scalings, squared_distances
from anchorot.align.embeddings.sides import Sides
from anchorot.distances.descent import anneal
from anchorot.distances.quadratic import Quadratic
from anchorot.distances.starts import starting_plans
from anchorot.space import Space

LANDMARKS = 400  # points of a side that are aligned by their distances
FEW = 100  # points of the larger side
SAMPLE, LARGE_SAMPLE = 1000, 2000  # points of a side that a map grows on
DIRECTIONS = 100  # of each side that the search looks at: decompositions of more take most of its time
FIRST_RANK, RANK_FACTOR, SLOW_RANK_FACTOR = 5, 1.4, 1.2  # directions a map begins with; how they grow; by hand
MAX_GROWTHS = 4  # slow ones, of the best map; by hand
MIN_GAIN = 0.005  # of the objective, by growing again
N_MIRRORS = 8  # main directions that data may be symmetric in
MAX_EXCESS = 0.02  # of the best objective on the sample: a map that is worse by more is not fitted to all points
STEPS_PER_RANK = 2  # plans and rotations in turn, before more directions are trusted; by hand
BLUR = 3.0  # temperature of soft plans, in units of what is left in each direction at the nearest point
SCALINGS = 15  # of a soft plan, of which only moments are used: sums need not be exact
STARTS = ("near_annealed", "middle", "near_annealed", "product", "near_annealed", "middle", "aw", "near_annealed")
MAX_COPY_DIFFERENCE = 0.1  # of the variance: how far two maps may differ that are the same,
MAX_MAP_DIFFERENCE = 0.5  # or the same but for minor directions
MAX_OBJECTIVE_DIFFERENCE = 0.03  # relative difference
ROUNDING = 1e-5  # of the variance: distances in float32 are not known better
MIN_VARIANCE = 1e-12  # of the variance: distances below are rounding


class Map(NamedTuple):
    """Brings both sides into k common directions; in units of the sides."""

    left: Floats  # (d, k), columns orthonormal
    right: Floats  # (e, k)
    origin: Floats  # (d,)
    target: Floats  # (e,)
    stretch: float  # of the first side

    @classmethod
    def of_moments(cls, cross: Floats, origin: Floats, target: Floats, rank: int | None = None) -> Self:
        """The rotation of the largest <X R, Y>, cut off at a rank (orthogonal Procrustes)."""
        left, _, right = np.linalg.svd(cross, full_matrices=False)
        return cls(left[:, :rank], right[:rank].T, origin, target, 1.0)

    @classmethod
    def of_matches(cls, x: Floats, y: Floats, matches: Int64s, rank: int | None = None) -> Self:
        """The rotation, with offset and scale, that suits matched points best; cut off at a rank."""
        own = np.flatnonzero(matches >= 0)
        first, second = x[own], y[matches[own]]
        origin, target = first.mean(axis=0), second.mean(axis=0)
        found = cls.of_moments((first - origin).T @ (second - target), origin, target, rank)
        return found.with_stretch(first, second)

    def with_stretch(self, x: Floats, y: Floats) -> Self:
        """The same map, scaled so that both sides vary alike in the common directions."""
        one, two = (
            float(np.square(side).sum()) for side in (self._replace(stretch=1.0).map_first(x), self.map_second(y))
        )
        return self._replace(stretch=float(np.sqrt(two / one)) if one > 0 and two > 0 else 1.0)

    def widened(self, sides: Sides) -> Self:
        """The same map for points with all their directions, of which the further ones have no part in it."""
        d, e = (side.points.shape[1] for side in (sides.x, sides.y))
        left, right, origin, target = (
            np.concatenate([part, np.zeros((size - len(part), *part.shape[1:]), part.dtype)])
            for part, size in ((self.left, d), (self.right, e), (self.origin, d), (self.target, e))
        )
        return self._replace(left=left, right=right, origin=origin, target=target)

    def map_first(self, x: Floats) -> Floats:
        """Points of the first side in the common directions."""
        return self.stretch * ((x - self.origin) @ self.left)

    def map_second(self, y: Floats) -> Floats:
        """Points of the second side there."""
        return (y - self.target) @ self.right


class MapCandidate(NamedTuple):
    """A map and where it is from."""

    map: Map
    objective: float
    name: str
    seconds: float


class Search:
    """Looks for maps between two sides."""

    def __init__(self, sides: Sides, n_landmarks: int | None, rng: np.random.Generator, advance: Advance) -> None:
        self._sides, self._rng, self._advance = sides, rng, advance
        self._n_landmarks = n_landmarks or LANDMARKS
        self._sample = self._draw(SAMPLE)

    def candidates(self) -> list[MapCandidate]:
        """Maps from several draws, best first, until two that are as good as any agree.

        Of few points, which are all drawn each time, all starts are tried: it takes no time.
        """
        found: list[MapCandidate] = []
        nearest = np.inf
        for draw, name in enumerate(STARTS):
            found = sorted([*found, self._candidate(draw, name)], key=lambda one: one.objective)
            self._advance(1)
            others = [one for one in found[1:] if one.objective <= (1 + MAX_OBJECTIVE_DIFFERENCE) * found[0].objective]
            nearest = min((self.difference(found[0].map, one.map) for one in others), default=np.inf)
            if nearest < MAX_MAP_DIFFERENCE and self._sides.n_points > FEW:
                break
        if nearest >= MAX_COPY_DIFFERENCE:
            found = self._grow_again(found)
        mirrored = self._mirror_images(found[0])
        found = sorted([*found, *mirrored], key=lambda one: one.objective)
        return [one._replace(map=one.map.widened(self._sides)) for one in found]

    def difference(self, one: Map, two: Map) -> float:
        """How far apart two maps put the same points, as a share of the variance."""
        return map_difference(self._sample[0], one, two)

    def objective(self, one: Map) -> float:
        """Mean squared distance to the nearest point of the other side, both ways."""
        costs = squared_distances(one.map_first(self._sample[0]), one.map_second(self._sample[1]))
        return float(costs.min(axis=1).mean() + costs.min(axis=0).mean()) / 2

    def _draw(self, count: int) -> tuple[Float32s, Float32s]:
        x, y = (
            side.points[side.draw(count, self._rng), :DIRECTIONS].astype(np.float32)
            for side in (self._sides.x, self._sides.y)
        )
        return x, y

    def _candidate(self, draw: int, name: str) -> MapCandidate:
        begin = time.perf_counter()
        x, y = self._draw(self._n_landmarks)
        grown = grow(*self._sample, x.T @ _align_landmarks(x, y, name, self._rng) @ y)
        return MapCandidate(grown, self.objective(grown), f"draw {draw + 1}, {name}", time.perf_counter() - begin)

    def _grow_again(self, found: list[MapCandidate]) -> list[MapCandidate]:
        """What is partly right becomes better if it grows again, more slowly and on more points."""
        x, y = self._draw(LARGE_SAMPLE)
        for _ in range(MAX_GROWTHS):
            begin, best = time.perf_counter(), found[0]
            plan = soft_plan(squared_distances(best.map.map_first(x), best.map.map_second(y)), min(best.map.left.shape))
            grown = grow(x, y, x.T @ (plan @ y), SLOW_RANK_FACTOR)
            objective = self.objective(grown)
            if objective > (1 - MIN_GAIN) * best.objective:
                break
            seconds = best.seconds + time.perf_counter() - begin
            found = [MapCandidate(grown, objective, best.name, seconds), *found[1:]]
        return found

    def _mirror_images(self, best: MapCandidate) -> list[MapCandidate]:
        """Mirror images along one of the main directions, where they are about as good: data may be symmetric."""
        found = []
        for axis in range(min(N_MIRRORS, best.map.left.shape[1])):
            begin, left = time.perf_counter(), best.map.left.copy()
            left[:, axis] *= -1
            mirrored = best.map._replace(left=left)
            objective = self.objective(mirrored)
            if objective <= (1 + MAX_EXCESS) * best.objective + ROUNDING:
                name = f"{best.name}, mirrored in direction {axis + 1}"
                found.append(MapCandidate(mirrored, objective, name, time.perf_counter() - begin))
        return found


def map_difference(x: Floats, one: Map, two: Map) -> float:
    """How far apart two maps put the same points, as a share of the variance."""
    first, second = (part.map_first(x) @ part.right.T for part in (one, two))
    return float(np.square(first - second).sum() / max(float(np.square(first).sum()), MIN_VARIANCE))


def _align_landmarks(x: Floats, y: Floats, name: str, rng: np.random.Generator) -> Float64s:
    """A soft plan between two sets of points, by the distances within each."""
    spaces = []
    for points in (x, y):
        cost = squared_distances(points, points)
        np.fill_diagonal(cost, 0)
        spaces.append(Space(np.sqrt(cost), copy=False))
    start = starting_plans((name,), spaces[0], spaces[1], rng, 1)[0]
    single = [array.astype(np.float32) for space in spaces for array in (space.cost, space.weights)]
    problem = Quadratic(single[0], single[2])
    return anneal(problem, start.plan.astype(np.float32), single[1], single[3], start.temperatures).plan


def grow(x: Floats, y: Floats, cross: Floats, factor: float = RANK_FACTOR) -> Map:
    """Refine a map, by its cross moments, from its first directions to all."""
    rank, most = float(FIRST_RANK), min(cross.shape)
    nowhere = np.zeros(x.shape[1]), np.zeros(y.shape[1])
    while True:
        for _ in range(STEPS_PER_RANK):
            found = Map.of_moments(cross, *nowhere, rank=min(int(rank), most)).with_stretch(x, y)
            costs = squared_distances(found.map_first(x), found.map_second(y))
            plan = soft_plan(costs, found.left.shape[1])
            cross = x.T @ (plan @ y)
        if rank >= most:
            return Map.of_moments(cross, *nowhere).with_stretch(x, y)
        rank *= factor


def soft_plan(costs: Floats, n_directions: int) -> Floats:
    """Where points might belong by their squared distances, as sharp as what is left at the nearest suggests."""
    least = costs.min(axis=1, keepdims=True)
    temperature = max(BLUR * float(least.mean()) / n_directions, MIN_VARIANCE)
    kernel = np.exp((least - costs) / temperature)
    rows, columns = scalings(kernel, SCALINGS)
    return rows[:, None] * kernel * columns
