"""Rows about permutation tests of two collections of graphs."""

from importlib.util import find_spec

import numpy as np

import anchorot as ao
from anchorot.stats.graphs import clustering, degrees, tables_of
from measure import Row, seconds

SIZES = (200, 2000, 20_000)  # graphs per side
PERMUTATIONS = 999
THREADS = 2
SLOW_PERMUTATIONS = 19  # of peers; each permutation costs as much as any other, so their time is scaled up
MOST_FOR_MATRIX = 2000

Rows = list[np.ndarray]


def random_graphs(count: int, seed: int) -> list[np.ndarray]:
    """Edges of random graphs of 20 to 60 nodes, with about six neighbours a node."""
    rng = np.random.default_rng(seed)
    graphs = []
    for n in rng.integers(20, 61, size=count):
        upper = np.triu(rng.random((n, n)) < 4 / (n - 1), 1)
        path = np.column_stack([np.arange(n - 1), np.arange(1, n)])  # every node is in it
        graphs.append(np.concatenate([path, np.argwhere(upper)]))
    return graphs


def collections(count: int) -> dict[str, tuple[Rows, Rows]]:
    """Two collections of what stands for a graph, for each statistic; and of any numbers."""
    sides = [tables_of(random_graphs(count, seed), "graphs") for seed in (0, 1)]
    rng = np.random.default_rng(2)
    any_numbers = [[rng.normal(size=table.n) for table in side] for side in sides]
    return {
        "degrees": tuple(degrees(side) for side in sides),
        "clustering coefficients": tuple(clustering(side) for side in sides),
        "any numbers": tuple(any_numbers),
    }


def rows() -> list[Row]:
    found = []
    times: dict[tuple[str, int], float] = {}
    for size in SIZES:
        for name, (x, y) in collections(size).items():
            times[name, size] = seconds(lambda x=x, y=y: run_test(x, y))
            what = (
                f"energy test of {size} against {size} graphs' {name}, {PERMUTATIONS} permutations, {THREADS} threads"
            )
            found.append(timed(what, name, size, times[name, size]))
            if size <= MOST_FOR_MATRIX:
                matrix = seconds(lambda x=x, y=y: run_test(x, y, method="matrix"))
                bar = 10 if (name, size) == ("degrees", MOST_FOR_MATRIX) else None
                found.append(compared(f"{what}: by a matrix of all costs", matrix, times[name, size], bar))
            if size <= MOST_FOR_MATRIX and name == "degrees":
                found += peers(what, x, y, times[name, size])
    for name in ("degrees", "clustering coefficients", "any numbers"):
        growth = times[name, SIZES[2]] / times[name, SIZES[1]]
        what = f"energy test, time of {SIZES[2]} over that of {SIZES[1]} graphs per side, {name}"
        most = 12 if name == "any numbers" else 15
        found.append(Row(what, f"{growth:.1f}", f"at most {most}", growth <= most))
    return found


def timed(what: str, name: str, size: int, time: float) -> Row:
    """A row that holds, for any numbers of the largest collections, if two threads take at most 8 s."""
    if (name, size) != ("any numbers", SIZES[-1]):
        return Row(what, f"{time:.2f} s")
    return Row(what, f"{time:.2f} s", "at most 8 s", time <= 8)


def run_test(x: Rows, y: Rows, method: str = "auto") -> ao.PermutationTest:
    return ao.energy_test(x, y, n_resamples=PERMUTATIONS, rng=0, method=method, threads=THREADS)


def compared(what: str, theirs: float, ours: float, bar: float | None = None) -> Row:
    ratio = theirs / ours
    measured = f"{ratio:.1f} ({theirs:.2f} s / {ours:.2f} s)"
    return Row(what, measured) if bar is None else Row(what, measured, f"at least {bar:g}", ratio >= bar)


def peers(what: str, x: Rows, y: Rows, ours: float) -> list[Row]:
    """The permutation tests of dcor and hyppo, given the same distances ready-made; if they are installed."""
    distances = all_distances(x, y)
    scale = PERMUTATIONS / SLOW_PERMUTATIONS
    found = []
    for name, their_test in (("dcor", dcor_test), ("hyppo", hyppo_test)):
        if find_spec(name) is not None:
            their_test(distances[:8, :8], 4)  # compiles
            time = scale * seconds(lambda their_test=their_test: their_test(distances, len(x)))
            said = f"{what}: {name}'s on ready-made distances (scaled from {SLOW_PERMUTATIONS})"
            found.append(compared(said, time, ours))
    return found


def all_distances(x: Rows, y: Rows) -> np.ndarray:
    from anchorot._kernels import kernels
    from anchorot.stats.pooled import PooledMeasures

    steps = (PooledMeasures.of(x, None, "x") + PooledMeasures.of(y, None, "y")).steps()
    return kernels.step_costs(steps, steps, 1, 1)


def dcor_test(distances: np.ndarray, n: int) -> object:
    from dcor._hypothesis import _permutation_test_with_sym_matrix
    from dcor.homogeneity import _energy_test_statistic_from_distance_matrices

    def statistic(matrix: np.ndarray) -> object:
        return _energy_test_statistic_from_distance_matrices(
            distance_xx=matrix[:n, :n],
            distance_yy=matrix[n:, n:],
            distance_xy=matrix[:n, n:],
            n=n,
            m=len(matrix) - n,
        )

    return _permutation_test_with_sym_matrix(
        distances, statistic_function=statistic, num_resamples=SLOW_PERMUTATIONS, random_state=0, n_jobs=1
    )


def hyppo_test(distances: np.ndarray, n: int) -> object:
    """Its energy test is distance correlation with the labels, permuted."""
    from hyppo.independence import Dcorr

    labels = np.repeat([0.0, 1.0], [n, len(distances) - n])
    between = np.abs(labels[:, None] - labels)
    return Dcorr(compute_distance=None).test(distances, between, reps=SLOW_PERMUTATIONS, workers=1, auto=False)


SLOW = (rows,)
