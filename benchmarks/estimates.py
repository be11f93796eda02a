"""How well `anchor_energy_estimate` finds the Anchor Energy between populations, on spaces that are known.

    python benchmarks/estimates.py                     print the table, in about ten minutes
    python benchmarks/estimates.py --repeats 50        a rougher one
    python benchmarks/estimates.py --tails             how often the interval holds 0 for heavy-tailed clouds

The true AE is 0 for two draws of one space; of a circle and a sphere, whose points all see the same distribution, it
is 2 ∫ |q - r| dt; of the others it is that of regular grids of 4096 points, which have no noise.
"""

import argparse
import math
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.stats import beta

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


def with_outliers(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Normal points, each one ten times as far away with a probability of 4 %."""
    return rng.normal(size=shape) * np.where(rng.random((shape[0], 1)) < 0.04, 10, 1)


TAILS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "Laplace": lambda rng, shape: rng.laplace(size=shape),
    "Student's t, 5 degrees": lambda rng, shape: rng.standard_t(5, size=shape),
    "Student's t, 3 degrees": lambda rng, shape: rng.standard_t(3, size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "4 % outliers, ten times as far": with_outliers,
}
TAIL_SIZES = (40, 100)
DIMENSIONS = (1, 2)


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


def held_zero(name: str, n: int, dimension: int, robust: bool, repeats: int, n_draws: int) -> float:
    """How often the interval of two draws of one cloud holds 0."""
    held = 0
    for rng in np.random.default_rng([n, dimension]).spawn(repeats):
        x, y = (ao.from_points(TAILS[name](rng, (n, dimension))) for _ in range(2))
        low, high = ao.anchor_energy_estimate(x, y, robust=robust, n_draws=n_draws, rng=rng).interval()
        held += low <= 0 <= high
    return held / repeats


def print_tails(repeats: int, n_draws: int) -> None:
    columns = [(robust, n, d) for robust in (False, True) for n in TAIL_SIZES for d in DIMENSIONS]
    heads = [f"{'ranks' if robust else 'AE'}, {n} points, R^{d}" for robust, n, d in columns]
    print(f"| both drawn from | {' | '.join(heads)} |")
    print((1 + len(heads)) * "|---" + "|")
    for name in TAILS:
        shares = [held_zero(name, n, d, robust, repeats, n_draws) for robust, n, d in columns]
        print(f"| {name} | {' | '.join(f'{share:.2f}' for share in shares)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200, help="pairs of samples for each row")
    parser.add_argument("--draws", type=int, default=50, help="random halves for each estimate")
    parser.add_argument("--tails", action="store_true", help="heavy-tailed clouds instead")
    options = parser.parse_args()
    if options.tails:
        print_tails(options.repeats, options.draws)
        return
    print("| x | y | points | true AE | plain: bias | value: bias | ± | deviation | standard error | 95 % interval |")
    print(10 * "|---" + "|")
    for first, second in PAIRS:
        truth = true_energy(first, second)
        for n, m in SIZES:
            print(row(first, second, n, m, truth, options.repeats, options.draws), flush=True)


if __name__ == "__main__":
    main()
