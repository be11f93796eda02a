"""How well `anchor_energy_estimate` finds the Anchor Energy between populations, on spaces that are known.

    python benchmarks/estimates.py                     print the table, in about ten minutes
    python benchmarks/estimates.py --repeats 50        a rougher one
    python benchmarks/estimates.py --coverage          how often intervals hold the truth, for clouds of all kinds; on
                                                       all cores, an hour and a half of one

The true AE is 0 for two draws of one space; of a circle and a sphere, whose points all see the same distribution, it
is 2 ∫ |q - r| dt; of the others it is that of regular grids of 4096 points, which have no noise.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import math
from collections.abc import Callable
from itertools import product
from multiprocessing import Pool

import numpy as np
from scipy.stats import beta, expon, lognorm, norm, qmc
from scipy.stats import t as student

import anchorot as ao

Draw = Callable[[np.random.Generator, int], ao.Space]
LARGE = 4096
MIDDLES = (np.arange(LARGE) + 0.5) / LARGE


def line(places: np.ndarray) -> ao.Space:
    return ao.Space(abs(places[:, None] - places), copy=False)


def ring(places: np.ndarray) -> ao.Space:
    apart = abs(places[:, None] - places)
    return ao.Space(np.minimum(apart, 1 - apart), copy=False)


def sphere(rng: np.random.Generator, n: int) -> ao.Space:
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return ao.Space(np.arccos(np.clip(points @ points.T, -1, 1)) / (2 * math.pi), copy=False)


SPACES: dict[str, Draw] = {
    "circle": lambda rng, n: ring(rng.random(n)),
    "circle, uneven": lambda rng, n: ring(rng.beta(2, 3, n)),
    "sphere": sphere,
    "interval": lambda rng, n: line(rng.random(n)),
    "interval, uneven": lambda rng, n: line(rng.beta(2, 2, n)),
    "square": lambda rng, n: ao.from_points(rng.random((n, 2))),
}
GRIDS: dict[str, Callable[[], ao.Space]] = {
    "circle": lambda: ring(MIDDLES),
    "circle, uneven": lambda: ring(beta(2, 3).ppf(MIDDLES)),
    "interval": lambda: line(MIDDLES),
    "interval, uneven": lambda: line(beta(2, 2).ppf(MIDDLES)),
    "square": lambda: ao.from_points(list(product(MIDDLES.reshape(64, -1).mean(axis=1), repeat=2))),
}
PAIRS = [
    ("interval", "interval"),
    ("square", "square"),
    ("sphere", "sphere"),
    ("circle", "circle"),
    ("interval", "square"),
    ("interval", "interval, uneven"),
    ("circle", "circle, uneven"),
    ("circle", "sphere"),
]
SIZES = [(30, 30), (100, 100), (40, 120)]


# -- how often intervals hold the truth --------------------------------------------------------------------------------


def clusters(u: np.ndarray) -> np.ndarray:
    """Three normal clusters."""
    return np.array([[0, 0], [4, 0], [0, 6]])[(3 * u[:, 0]).astype(int)] + 0.5 * norm.ppf(u[:, 1:])


def swiss_roll(u: np.ndarray) -> np.ndarray:
    turn = 1.5 * math.pi * (1 + 2 * u[:, 0])
    return np.column_stack([turn * np.cos(turn), turn * np.sin(turn), 20 * u[:, 1]]) / 10


def with_outliers(u: np.ndarray) -> np.ndarray:
    """Normal points, each one ten times as far away with a probability of 4 %."""
    return norm.ppf(u[:, 1:]) * np.where(u[:, :1] < 0.04, 10, 1)


CLOUDS: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {  # how many uniform numbers make a point
    "normal, R^2": (2, norm.ppf),
    "normal, R^8": (8, norm.ppf),
    "three clusters, R^2": (3, clusters),
    "Swiss roll, R^3": (2, swiss_roll),
    "exponential, R^2": (2, expon.ppf),
    "lognormal, R^2": (2, lognorm(1).ppf),
    "Student's t, 3 degrees, R^2": (2, student(3).ppf),
    "normal, 4 % outliers ten times as far, R^2": (3, with_outliers),
}
CLOUD_SIZES = (40, 100, 300)
LARGER = 1.4  # by how much the second of two spaces is


def cloud(name: str, uniform: np.ndarray, size: float = 1.0) -> ao.Space:
    points = size * CLOUDS[name][1](uniform)
    return ao.Space(np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)), copy=False)


def cloud_energy(name: str) -> float:
    """AE of a cloud and a larger one, of 4096 points each that fill the space evenly."""
    even = [np.clip(qmc.Sobol(CLOUDS[name][0], seed=seed).random(LARGE), 1e-9, 1 - 1e-9) for seed in range(2)]
    return ao.anchor_energy(cloud(name, even[0]), cloud(name, even[1], LARGER))


def held(job: tuple[str, int, int, int]) -> list[tuple[float, float, bool]]:
    """Intervals, and whether they are reliable: of two draws, of a draw and one of the larger cloud, of ranks."""
    name, n, seed, n_draws = job
    rng = np.random.default_rng([seed, n, list(CLOUDS).index(name)])
    first, second = (rng.random((n, CLOUDS[name][0])) for _ in range(2))
    found = [
        ao.anchor_energy_estimate(
            cloud(name, first), cloud(name, second, size), robust=robust, n_draws=n_draws, rng=rng
        )
        for size, robust in ((1.0, False), (LARGER, False), (1.0, True))
    ]
    return [(*one.interval(), one.is_reliable) for one in found]


def counted(intervals: np.ndarray, truth: float) -> str:
    """How many of them hold the truth, how many say that they are reliable, and how many of these hold it."""
    low, high, reliable = intervals.T
    holds, says = (low <= truth) & (truth <= high), reliable.astype(bool)
    among = f"{holds[says].mean():.3f}" if says.sum() >= 20 else "few"
    return f"{holds.mean():.3f} | {says.mean():.2f} | {among}"


def print_coverage(repeats: int, n_draws: int) -> None:
    with Pool() as pool:
        truths = dict(zip(CLOUDS, pool.map(cloud_energy, CLOUDS, chunksize=1), strict=True))
        heads = " | ".join(
            f"{of}: holds | reliable | of these" for of in ("one space", "two spaces", "ranks, one space")
        )
        print(f"| drawn from | points | {heads} |\n{11 * '|---'}|", flush=True)
        for n, name in product(CLOUD_SIZES, CLOUDS):
            count = repeats if n < CLOUD_SIZES[-1] else repeats // 2
            found = np.array(pool.map(held, [(name, n, seed, n_draws) for seed in range(count)], chunksize=1))
            shown = " | ".join(counted(found[:, k], truth) for k, truth in enumerate((0.0, truths[name], 0.0)))
            print(f"| {name} | {n} | {shown} |", flush=True)


def true_energy(first: str, second: str) -> float:
    if first == second:
        return 0.0
    if (first, second) == ("circle", "sphere"):
        t = (np.arange(10**6) + 0.5) / 10**6
        return 2 * float(np.abs(t / 2 - np.arccos(1 - 2 * t) / (2 * math.pi)).mean())
    return ao.anchor_energy(GRIDS[first](), GRIDS[second]())


def row(first: str, second: str, n: int, m: int, truth: float, repeats: int, n_draws: int) -> str:
    streams = np.random.default_rng([n, m]).spawn(repeats)
    found = [
        ao.anchor_energy_estimate(SPACES[first](rng, n), SPACES[second](rng, m), n_draws=n_draws, rng=rng)
        for rng in streams
    ]
    values = np.array([one.value for one in found])
    low, high = np.array([one.interval() for one in found]).T
    numbers = [
        truth,
        np.mean([one.plain for one in found]) - truth,
        values.mean() - truth,
        values.std() / math.sqrt(repeats),
        values.std(),
        math.sqrt(np.mean([one.standard_error**2 for one in found])),
    ]
    shown = " | ".join(f"{number:+.4f}" if k in (1, 2) else f"{number:.4f}" for k, number in enumerate(numbers))
    return f"| {first} | {second} | {n}, {m} | {shown} | {np.mean((low <= truth) & (truth <= high)):.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200, help="pairs of samples for each row")
    parser.add_argument("--draws", type=int, default=50, help="random halves for each estimate")
    parser.add_argument("--coverage", action="store_true", help="clouds with and without heavy tails instead")
    options = parser.parse_args()
    if options.coverage:
        print_coverage(options.repeats, options.draws)
        return
    print("| x | y | points | true AE | plain: bias | value: bias | ± | deviation | standard error | 95 % interval |")
    print(10 * "|---" + "|")
    for first, second in PAIRS:
        truth = true_energy(first, second)
        for n, m in SIZES:
            print(row(first, second, n, m, truth, options.repeats, options.draws), flush=True)


if __name__ == "__main__":
    main()
