"""Pairs of spaces with a known correspondence, of thirteen kinds, drawn at will: what `confidence` is judged by."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

Floats = np.ndarray
Rng = np.random.Generator


class Pair(NamedTuple):
    """Two matrices of costs, and which results are right: (n, m)."""

    first: Floats
    second: Floats
    is_right: Floats
    mass: float | str | None = None


def level(rng: Rng, low: float, high: float) -> float:
    """How much noise: as often in each decade."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def shuffled(first: Floats, second: Floats, rng: Rng) -> Pair:
    """Costs between the same points, the second side's in another order."""
    order = rng.permutation(len(second))
    return Pair(first, second[np.ix_(order, order)], np.arange(len(first))[:, None] == order)


def distances(x: Floats, y: Floats, rng: Rng, metric: str = "euclidean") -> Pair:
    return shuffled(cdist(x, x, metric), cdist(y, y, metric), rng)


def with_noise(x: Floats, share: float, rng: Rng) -> Floats:
    return x + share * x.std() * rng.normal(size=x.shape)


def path_costs(graph: Floats) -> Floats:
    costs = shortest_path(graph, directed=False)
    is_apart = ~np.isfinite(costs)
    costs[is_apart] = 2 * costs[~is_apart].max()
    return costs


def neighbour_paths(points: Floats, k: int) -> Floats:
    costs = cdist(points, points)
    return path_costs(np.where(costs <= np.partition(costs, k, axis=1)[:, k, None], costs, 0))


def gaussian(rng: Rng) -> Pair:
    n, d = rng.integers(40, 300), rng.integers(2, 25)
    x = rng.normal(size=(n, d)) * rng.uniform(0.3, 1, d)
    return distances(x, with_noise(x, level(rng, 0.01, 0.7), rng), rng)


def clusters(rng: Rng) -> Pair:
    """Two projections of clusters, of different dimensions and not orthogonal, with noise."""
    n, d, k, noise = rng.integers(60, 300), rng.integers(4, 20), rng.integers(3, 20), level(rng, 0.02, 0.5)
    hidden = 2 * rng.normal(size=(k, d))[rng.integers(0, k, n)] + rng.uniform(0.2, 1) * rng.normal(size=(n, d))
    x, y = (with_noise(hidden @ rng.normal(size=(d, rng.integers(d, 3 * d))), noise, rng) for _ in range(2))
    return distances(x, y, rng)


def bent_surfaces(rng: Rng) -> Pair:
    """Points of a bumpy ball, then bent smoothly and moved a little each."""
    points = rng.normal(size=(rng.integers(60, 320), 3))
    points /= np.linalg.norm(points, axis=1)[:, None]

    def bend(x: Floats, size: float) -> Floats:
        waves, phases, sizes = 2 * rng.normal(size=(12, 3)), rng.uniform(0, 2 * np.pi, 12), rng.normal(size=(12, 3))
        return size * np.sin(x @ waves.T + phases) @ sizes / np.sqrt(12)

    x = points * (1 + bend(points, 0.5)[:, :1]) * rng.uniform(0.4, 1, 3)
    y = x + bend(x, level(rng, 0.02, 0.4)) + level(rng, 0.003, 0.1) * rng.normal(size=x.shape)
    return distances(x, y, rng)


def neighbours(rng: Rng) -> Pair:
    """Paths along nearest neighbours in a cube."""
    x, k = rng.uniform(size=(rng.integers(60, 300), rng.integers(2, 6))), int(rng.integers(5, 14))
    y = with_noise(x, level(rng, 0.005, 0.3), rng)
    return shuffled(neighbour_paths(x, k), neighbour_paths(y, k), rng)


def nearly_symmetric(rng: Rng) -> Pair:
    """A cloud and its mirror image, more or less, seen twice with noise."""
    half = rng.normal(size=(rng.integers(25, 130), rng.integers(2, 6)))
    half[:, 0] = np.abs(half[:, 0]) + 0.1
    whole = np.concatenate([half, half * np.where(np.arange(half.shape[1]) == 0, -1, 1)])
    whole += level(rng, 0.001, 0.5) * rng.normal(size=whole.shape)
    noise = level(rng, 0.005, 0.4)
    return distances(*(whole + noise * rng.normal(size=whole.shape) for _ in range(2)), rng)


def nothing_in_common(rng: Rng) -> Pair:
    shape = rng.integers(40, 250), rng.integers(2, 12)
    return distances(rng.normal(size=shape), rng.normal(size=shape), rng)


def heavy_tails(rng: Rng) -> Pair:
    """Clouds and noise of heavy tails, by cosine or city-block distances."""
    n, d = rng.integers(60, 300), rng.integers(3, 40)
    x = rng.standard_t(4, size=(n, d)) @ rng.normal(size=(d, d))
    y = x + level(rng, 0.02, 0.6) * x.std() * rng.standard_t(3, size=x.shape)
    return distances(x, y, rng, "cosine" if rng.random() < 0.5 else "cityblock")


def curves(rng: Rng) -> Pair:
    """Points along a curve, which is bent."""
    t = rng.uniform(size=rng.integers(60, 300))
    rates, phases, bend, noise = (
        rng.uniform(1, 15, (3, 3)),
        rng.uniform(0, 6.3, (3, 3)),
        level(rng, 0.01, 0.5),
        level(rng, 0.003, 0.1),
    )
    x, y = (
        np.sin(t[:, None, None] * (rates + by * rng.normal(size=(3, 3))) + phases + by * rng.normal(size=(3, 3))).sum(
            axis=2
        )
        for by in (0, bend)
    )
    return distances(*(side + noise * rng.normal(size=side.shape) for side in (x, y)), rng)


def rolls(rng: Rng) -> Pair:
    """Paths along neighbours in a rolled sheet."""
    n, noise = rng.integers(80, 320), level(rng, 0.02, 0.8)
    t = rng.uniform(3, 12, n)
    x = np.stack([t * np.cos(t), t * np.sin(t), rng.uniform(0, 12, n)], axis=1)
    return shuffled(*(neighbour_paths(x + noise * rng.normal(size=x.shape), 8) for _ in range(2)), rng)


def small_worlds(rng: Rng) -> Pair:
    """Paths in networks, some edges of which have moved."""
    n, k, rewired = int(rng.integers(50, 200)), int(rng.integers(1, 4)), rng.uniform(0.05, 0.4)
    heads = np.concatenate([(np.arange(n) + step) % n for step in range(1, k + 1)])
    tails = np.tile(np.arange(n), k)
    heads = np.where(rng.random(n * k) < rewired, rng.integers(0, n, n * k), heads)
    moved = np.where(rng.random(n * k) < level(rng, 0.003, 0.1), rng.integers(0, n, n * k), heads)
    costs = []
    for ends in (heads, moved):
        graph = np.zeros((n, n))
        graph[tails, ends] = graph[ends, tails] = 1
        np.fill_diagonal(graph, 0)
        costs.append(path_costs(graph))
    return shuffled(*costs, rng)


def strangers(rng: Rng) -> Pair:
    """Points of a cube, by straight lines or neighbours, and points of a disc."""
    n = rng.integers(60, 250)
    x, y = rng.uniform(size=(n, 3)), rng.normal(size=(n, 2))
    y *= rng.uniform(0.2, 1, (n, 1)) / np.linalg.norm(y, axis=1)[:, None]
    return shuffled(cdist(x, x) if rng.random() < 0.5 else neighbour_paths(x, 8), cdist(y, y), rng)


def partly_shared(rng: Rng) -> Pair:
    """Clouds that have a part in common, and some points that the other lacks; `mass="free"`."""
    d, shared, noise = rng.integers(2, 8), rng.integers(60, 200), level(rng, 0.01, 0.3)
    common = rng.laplace(size=(shared, d))
    own = [rng.laplace(size=(rng.integers(1, shared // 4), d)) + 4 * rng.normal(size=d) for _ in range(2)]
    x, y = (np.concatenate([with_noise(common, noise, rng), part]) for part in own)
    orders = [rng.permutation(len(side)) for side in (x, y)]
    is_right = (orders[0][:, None] == orders[1]) & (orders[0] < shared)[:, None]
    return Pair(*(cdist(side[o], side[o]) for side, o in zip((x, y), orders, strict=True)), is_right, "free")


def into_a_whole(rng: Rng) -> Pair:
    """A part of a cloud in the whole; `mass=1.0`."""
    whole = rng.uniform(size=(rng.integers(60, 250), rng.integers(2, 8))) ** 2
    part = rng.permutation(len(whole))[: int(rng.uniform(0.5, 0.95) * len(whole))]
    seen = with_noise(whole, level(rng, 0.01, 0.3), rng)[part]
    return Pair(cdist(seen, seen), cdist(whole, whole), part[:, None] == np.arange(len(whole)), 1.0)


DRAWN: dict[str, tuple[Callable[[Rng], Pair], bool]] = {  # and whether it serves the fit
    "Gaussian clouds": (gaussian, True),
    "two views of clusters": (clusters, True),
    "bent surfaces": (bent_surfaces, True),
    "neighbours' graphs": (neighbours, True),
    "nearly symmetric clouds": (nearly_symmetric, True),
    "nothing in common": (nothing_in_common, True),
    "clouds of heavy tails": (heavy_tails, False),
    "bent curves": (curves, False),
    "rolled sheets": (rolls, False),
    "paths in small worlds": (small_worlds, False),
    "clouds that share a part": (partly_shared, False),
    "part of a cloud in the whole": (into_a_whole, False),
    "cube and disc": (strangers, False),
}
