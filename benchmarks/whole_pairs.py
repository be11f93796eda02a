"""More pairs of spaces, for `reliable`: real ones, symmetric ones, and many that have nothing in common."""

import csv
import gzip
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from scipy.sparse.csgraph import breadth_first_order
from scipy.spatial.distance import cdist

import anchorot as ao
from drawn_pairs import Floats, Pair, Rng, distances, level, neighbour_paths, path_costs, shuffled

ANIMALS = ("cat", "dog", "horse")
ANIMAL_POINTS = 200
NEURON_POINTS = 50


def unrelated(first: Floats, second: Floats) -> Pair:
    """Two spaces of one size without a true correspondence."""
    return Pair(first, second * first.std() / second.std(), np.zeros((len(first), len(second)), bool))


# -- drawn at will ---------------------------------------------------------------------------------------------------


def stick_figures(rng: Rng) -> Pair:
    """Paths along a flat body with two arms and two legs of one length, in two poses."""
    k = int(rng.integers(10, 30))
    along, across = rng.uniform(size=(5, k)), rng.uniform(-0.5, 0.5, size=(5, k))
    lengths = np.array([0.9, 0.9, 0.7, 0.7, 0.5])
    directions = np.pi * np.array([1.4, 1.6, 1.1, -0.1, 0.5])
    origins = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [0, 1]])

    def pose(bend: float) -> Floats:
        turned = directions + 0.3 * bend * rng.normal(size=5)
        upper, lower = (np.stack([np.cos(angle), np.sin(angle)], axis=1) for angle in (turned, turned + bend_of(bend)))
        places, joints = along * lengths[:, None], lengths[:, None] / 2
        sideways = np.stack([-upper[:, 1], upper[:, 0]], axis=1)
        points = origins[:, None] + np.minimum(places, joints)[..., None] * upper[:, None]
        points = points + np.maximum(places - joints, 0)[..., None] * lower[:, None]
        return neighbour_paths((points + 0.15 * across[..., None] * sideways[:, None]).reshape(-1, 2), 7)

    def bend_of(bend: float) -> Floats:
        return bend * rng.normal(size=5)

    return shuffled(pose(0.0), pose(level(rng, 0.02, 0.6)), rng)


def of_other_kinds(rng: Rng) -> Pair:
    """Two spaces of different kinds."""
    n = int(rng.integers(50, 220))

    def bend() -> Floats:
        angles = rng.uniform(0, 2 * np.pi, n)[:, None, None]
        return np.sin(angles * rng.integers(1, 5, (3, 3)) + rng.uniform(0, 2 * np.pi, (3, 3))).sum(axis=2)

    def egg() -> Floats:
        points = rng.normal(size=(n, 3))
        return points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.4, 1, 3)

    makers: list[Callable[[], Floats]] = [
        lambda: rng.normal(size=(n, rng.integers(2, 15))),
        lambda: 2 * rng.normal(size=(3, 5))[rng.integers(0, 3, n)] + 0.5 * rng.normal(size=(n, 5)),
        lambda: rng.uniform(size=(n, 3)),
        bend,
        egg,
        lambda: rng.standard_t(3, size=(n, 6)),
    ]
    chosen = rng.choice(len(makers), 2, replace=False)
    clouds = [makers[k]() for k in chosen]
    return unrelated(*(neighbour_paths(x, 8) if rng.random() < 0.3 else cdist(x, x) for x in clouds))


def of_one_shape(rng: Rng) -> Pair:
    """Two samples of one line, rectangle or box: no point is the other's."""
    n, sides = int(rng.integers(60, 220)), rng.uniform(0.3, 1, rng.integers(1, 4))
    x, y = (rng.uniform(size=(n, len(sides))) * sides for _ in range(2))
    return unrelated(cdist(x, x), cdist(y, y))


def symmetric(rng: Rng) -> Pair:
    """Ellipses, grids and combs, which have exact symmetries, and the same with noise, or copies."""
    kind = rng.integers(3)
    if kind == 0:
        n = int(rng.integers(20, 120))
        angles = 2 * np.pi * np.arange(n) / n
        x = np.stack([np.cos(angles), np.sin(angles)], axis=1) * [1, 1 if rng.random() < 0.5 else 0.6]
    elif kind == 1:
        x = np.argwhere(np.ones(rng.integers(4, 11, 2))).astype(float)
    else:
        steps = np.arange(1, rng.integers(8, 30))[:, None]
        x = np.concatenate([steps * arm for arm in ([1, 0], [-1, 0], [0, 1])]).astype(float)
    noise = 0 if rng.random() < 0.5 else level(rng, 0.001, 0.2)
    return distances(x, x + noise * rng.normal(size=x.shape), rng)


# -- real data -------------------------------------------------------------------------------------------------------


@cache
def digit_images(folder: Path) -> Floats:
    images = np.load(folder / "mnist_100_per_class.npz")["x"].reshape(-1, 28, 28).astype(float)
    return images / images.max()


def digit(folder: Path, rng: Rng) -> Floats:
    images = digit_images(folder)
    return np.argwhere(images[rng.integers(len(images))] > 0.5).astype(float)


def digits_with_noise(folder: Path, rng: Rng) -> Pair:
    """The dark pixels of a digit, and the same stretched and moved."""
    x = digit(folder, rng)
    y = x * np.exp(0.1 * rng.normal(size=2)) + level(rng, 0.02, 1.5) * rng.normal(size=x.shape)
    return distances(x + 0.02 * rng.normal(size=x.shape), y, rng)


def different_digits(folder: Path, rng: Rng) -> Pair:
    x, y = digit(folder, rng), digit(folder, rng)
    return unrelated(cdist(x, x), cdist(y, y))


@cache
def neuron_costs(folder: Path) -> Floats:
    """Paths between points of neurons, (neurons, 50, 50)."""
    with gzip.open(folder / "neurons" / "icdm_geodesic.csv.gz", "rt") as file:
        rows = np.array([[float(value) for value in row[1:]] for row in list(csv.reader(file))[1:]])
    costs = np.zeros((len(rows), NEURON_POINTS, NEURON_POINTS))
    costs[:, *np.triu_indices(NEURON_POINTS, 1)] = rows
    return costs + costs.transpose(0, 2, 1)


def neurons_with_noise(folder: Path, rng: Rng) -> Pair:
    """Paths in a neuron, and the same stretched point by point, with errors."""
    costs, noise = neuron_costs(folder), level(rng, 0.003, 0.3)
    own = costs[rng.integers(len(costs))]
    stretch, errors = np.exp(noise / 2 * rng.normal(size=len(own))), rng.normal(size=own.shape)
    off = noise * own.std() / 4 * (errors + errors.T) * (1 - np.eye(len(own)))
    return shuffled(own, np.maximum(own * np.outer(stretch, stretch) + off, 0), rng)


def different_neurons(folder: Path, rng: Rng) -> Pair:
    costs = neuron_costs(folder)
    i, j = rng.choice(len(costs), 2, replace=False)
    return unrelated(costs[i], costs[j])


def protein_paths(folder: Path, rng: Rng) -> Pair:
    """Paths between proteins near one, in a network and in that with false edges."""
    held = np.load(folder / "graph_alignment" / "graphs.npz")
    ends = [held["yeast0"], held[str(rng.choice(["yeast5", "yeast15", "yeast25"]))]]
    joined = np.zeros((2, *2 * [1 + max(int(side.max()) for side in ends)]))
    for matrix, (i, j) in zip(joined, (side.T for side in ends), strict=True):
        matrix[i, j] = matrix[j, i] = 1
    begin = rng.choice(np.flatnonzero(joined[0].sum(axis=0) > 1))
    near = breadth_first_order(joined[0], begin, directed=False, return_predecessors=False)[: rng.integers(60, 220)]
    return shuffled(*(path_costs(matrix[np.ix_(near, near)]) for matrix in joined), rng)


@cache
def animal(folder: Path, name: str, number: int) -> Floats:
    file = sorted((folder / "tosca_nonrigid3d").glob(f"{name}[0-9]*.mat"))[number]
    surface = loadmat(file, squeeze_me=True, struct_as_record=False)["surface"]
    vertices = np.stack([surface.X, surface.Y, surface.Z], axis=1).astype(float)
    mesh = vertices, np.asarray(surface.TRIV, np.int64) - 1
    return ao.from_mesh(mesh, ANIMAL_POINTS, "edge", rng=0, sampling="farthest").cost


def different_animals(folder: Path, rng: Rng) -> Pair:
    first, second = list(combinations(ANIMALS, 2))[rng.integers(3)]
    return unrelated(animal(folder, first, int(rng.integers(4))), animal(folder, second, int(rng.integers(4))))


WHOLE: dict[str, tuple[Callable[[Rng], Pair], bool]] = {  # drawn at will; and whether they serve the fit
    "stick figures": (stick_figures, True),
    "different kinds": (of_other_kinds, True),
    "samples of one shape": (of_one_shape, True),
    "exact symmetries": (symmetric, False),
}
REAL: dict[str, tuple[Callable[[Path, Rng], Pair], str]] = {  # and the folder or file that they need
    "digits with noise": (digits_with_noise, "mnist_100_per_class.npz"),
    "different digits": (different_digits, "mnist_100_per_class.npz"),
    "neurons with noise": (neurons_with_noise, "neurons"),
    "different neurons": (different_neurons, "neurons"),
    "paths between proteins": (protein_paths, "graph_alignment"),
    "different animals": (different_animals, "tosca_nonrigid3d"),
}
