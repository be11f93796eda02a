"""Sliced Anchor Wasserstein: how fast it is, how close to Anchor Wasserstein, and how few comparisons a search takes.

    python benchmarks/sliced.py speed               ratios, in half a minute
    python benchmarks/sliced.py quality FOLDER      tightness, 1-NN and MAP on real collections, in some minutes
    python benchmarks/sliced.py search FOLDER       exact comparisons per query on the same collections
    python benchmarks/sliced.py floor FOLDER        the same on larger collections, beyond those that nothing can save
    python benchmarks/sliced.py barycenter FOLDER   the loss of barycenters from a typical start and from random ones
    python benchmarks/sliced.py ... --write         also write it to benchmarks/record.toml

FOLDER holds the data sets of the experiments. All times are processor times of one thread, and ratios are medians of
alternating measurements.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import anchorot as ao
from measure import Row, cloud, table, write_results
from real_spaces import COLLECTIONS, LARGE_COLLECTIONS, Spaces, collection, digits

Action = Callable[[], object]
NEAREST = 10
BLOCKS = (1 << 12, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 30)  # numbers that NumPy works on at a time
METRICS: tuple[tuple[str, str, int, dict[str, float]], ...] = (
    ("AE", "ae", 1, {}),
    ("SAW_1", "saw", 1, {}),
    ("SAW_2", "saw", 2, {}),
    ("AW", "aw", 1, {"epsilon": 0}),
)


# -- speed ---------------------------------------------------------------------------------------------------------


def alternating(one: Action, two: Action, repeat: int = 15, times: int = 1) -> tuple[float, float, float]:
    """Median processor times of a call of each, and the median of their ratios."""
    one()
    two()
    pairs = [tuple(_taken(action, times) for action in (one, two)) for _ in range(repeat)]
    ratio = statistics.median(a / b for a, b in pairs)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio


def _taken(action: Action, times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        action()
    return (time.process_time() - start) / times


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


def row_of(what: str, one: Action, two: Action, limit: float | None, times: int) -> Row:
    a, b, ratio = alternating(one, two, times=times)
    bar = "" if limit is None else f"at most {limit:g}"
    return Row(what, f"{ratio:.2f} ({micro(a)} / {micro(b)})", bar, None if limit is None else ratio <= limit)


def blocked(x: np.ndarray, y: np.ndarray, size: int) -> Action:
    """NumPy's mean absolute difference, so many numbers at a time."""
    flat_x, flat_y = x.ravel(), y.ravel()
    space = np.empty(min(size, x.size))

    def act() -> float:
        total = 0.0
        for start in range(0, flat_x.size, size):
            part = flat_x[start : start + size]
            gap = space[: part.size]
            np.subtract(part, flat_y[start : start + size], out=gap)
            np.abs(gap, out=gap)
            total += gap.sum()
        return total / flat_x.size

    return act


def speed_rows() -> Iterator[Row]:
    for n, times in ((100, 200), (300, 30), (1000, 3), (3000, 1)):
        x, y = (ao.AnchorFeatures.of(cloud(n, seed)) for seed in (0, 1))
        ways = [blocked(x.levels, y.levels, size) for size in BLOCKS if size < 2 * n * n or size == BLOCKS[-1]]
        best = min(ways, key=lambda way: min(_taken(way, times) for _ in range(5)))
        what = f"SAW_1, n = {n}, features ready, over NumPy's mean absolute difference at its best blocking"
        yield row_of(what, lambda x=x, y=y: ao.sliced_anchor_wasserstein(x, y), best, 1.5, times)
    for n, m, times in ((100, 100, 5), (300, 250, 1), (1000, 1000, 1)):
        x, y = (ao.AnchorFeatures.of(cloud(k, seed, weighted=True)) for k, seed in ((n, 0), (m, 1)))
        for f in (x, y):
            _ = f.level_moves  # part of the features, which p = 1 does not need
        energy = lambda x=x, y=y: ao.anchor_energy(x, y)  # noqa: E731
        for p, limit in ((1, 1.2), (2, None)):
            saw = lambda x=x, y=y, p=p: ao.sliced_anchor_wasserstein(x, y, p)  # noqa: E731
            yield row_of(f"SAW_{p}, weights, n = {n}, m = {m}, features ready, over AE", saw, energy, limit, times)
    for n, m, times in ((100, 80, 20), (1000, 700, 1)):
        x, y = (ao.AnchorFeatures.of(cloud(k, seed)) for k, seed in ((n, 0), (m, 1)))
        energy = lambda x=x, y=y: ao.anchor_energy(x, y)  # noqa: E731
        saw = lambda x=x, y=y: ao.sliced_anchor_wasserstein(x, y)  # noqa: E731
        yield row_of(f"SAW_1, uniform, n = {n}, m = {m}, features ready, over AE", saw, energy, None, times)
    features = [ao.AnchorFeatures.of(cloud(100, seed)) for seed in range(150)]
    for p in (1, 2):
        saw = lambda p=p: ao.pairwise(features, metric="saw", p=p, n_jobs=1, progress=False)  # noqa: E731
        energy = lambda: ao.pairwise(features, n_jobs=1, progress=False)  # noqa: E731
        yield row_of(f"SAW_{p}, all pairs of 150 spaces of 100 points, features ready, over AE", saw, energy, None, 1)


# -- quality -------------------------------------------------------------------------------------------------------


def all_pairs(spaces: Spaces) -> dict[str, tuple[np.ndarray, float]]:
    """Matrices of all distances, and processor times with all preparation."""
    found = {}
    for name, metric, p, options in METRICS:
        start = time.process_time()
        matrix = ao.pairwise(spaces, metric=metric, p=p, n_jobs=1, progress=False, **options)
        found[name] = matrix, time.process_time() - start
    return found


def nearest_right(matrix: np.ndarray, labels: np.ndarray) -> float:
    """Share of spaces whose nearest other is of their class."""
    others = matrix + np.diag(np.full(len(matrix), np.inf))
    return float((labels[others.argmin(axis=1)] == labels).mean())


def mean_average_precision(matrix: np.ndarray, labels: np.ndarray) -> float:
    """Over all spaces, of ranking the others, of those with another of their class."""
    scores = []
    for k, row in enumerate(matrix):
        order = np.argsort(row, kind="stable")
        right = labels[order[order != k]] == labels[k]
        if right.any():
            places = np.flatnonzero(right)
            scores.append((np.arange(1, len(places) + 1) / (places + 1)).mean())
    return float(np.mean(scores))


def spread(ratios: np.ndarray) -> str:
    low, fifth, middle = ratios.min(), np.quantile(ratios, 0.05), np.median(ratios)
    return f"least {low:.2f}, fifth percentile {fifth:.2f}, median {middle:.3f}"


def quality(folder: Path) -> str:
    tight = ["| spaces | SAW_1 / AW | (AE / 2) / AW |", "|---|---|---|"]
    right = ["| collection | distance | 1-NN | MAP | all pairs |", "|---|---|---|---|---|"]
    for name in COLLECTIONS:
        spaces, labels = collection(name, folder)
        found = all_pairs(spaces)
        above = np.triu_indices(len(spaces), 1)
        transport = found["AW"][0][above]
        apart = transport > 0
        ratios = [found[metric][0][above][apart] / transport[apart] for metric in ("SAW_1", "AE")]
        tight.append(f"| {name} | {spread(ratios[0])} | {spread(ratios[1] / 2)} |")
        for metric, (matrix, taken) in found.items():
            scores = f"{nearest_right(matrix, labels):.3f} | {mean_average_precision(matrix, labels):.3f}"
            right.append(f"| {name} | {metric} | {scores} | {taken:.2f} s |")
        print(f"{name}: {len(spaces)} spaces done", file=sys.stderr, flush=True)
    return "\n".join(tight) + "\n\n" + "\n".join(right)


# -- search --------------------------------------------------------------------------------------------------------


def search(folder: Path) -> str:
    lines = ["| collection | AE | SAW_1 | SAW_2 | AW | AW by pairwise |", "|---|---|---|---|---|---|"]
    for name in COLLECTIONS:
        spaces = collection(name, folder).spaces
        cells = [compared(spaces, spaces, metric, p) for _, metric, p, _ in METRICS]
        found = ao.pairwise(spaces, metric="aw", epsilon=0, k=NEAREST, n_jobs=1, progress=False)
        cells.append(f"{found.n_exact / len(spaces):.1f}")
        lines.append(f"| {name}, {len(spaces)} spaces | {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    many = digits(folder, per_class=100).spaces
    cells = [compared(many, many[::8], metric, p) for _, metric, p, _ in METRICS if metric != "aw"]
    return "\n".join([*lines, f"| MNIST, {len(many)} spaces | {' | '.join(cells)} |  |  |"])


def compared(spaces: Spaces, queries: Spaces, metric: str, p: int) -> str:
    """How many spaces queries from an index are compared with exactly; each is in the index itself."""
    counts = compared_by_index(spaces, queries, metric, p, (NEAREST,))[0]
    return f"mean {np.mean(counts):.1f}, most {max(counts)}"


def compared_by_index(
    spaces: Spaces, queries: Spaces, metric: str, p: int, nearest: tuple[int, ...]
) -> list[list[int]]:
    """The same of every query, for each number of neighbours besides the query itself."""
    index = ao.SearchIndex.build(spaces, metric=metric, p=p, n_jobs=1)
    return [[index.query(x, k + 1).n_exact for x in queries] for k in nearest]


FLOOR_NEAREST, FLOOR_QUERIES = (1, 5, 10, 50), 200


def floor(folder: Path) -> str:
    """Means over some 200 queries, and SAW's comparisons beyond k + 1 over those of AE."""
    lines = [
        "| collection | k | at least | AE | SAW_1 | SAW_2 | beyond, SAW_1 over AE |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in LARGE_COLLECTIONS:
        spaces = collection(name, folder).spaces
        queries = spaces[:: max(1, len(spaces) // FLOOR_QUERIES)]
        found = [compared_by_index(spaces, queries, metric, p, FLOOR_NEAREST) for _, metric, p, _ in METRICS[:3]]
        for k, *counts in zip(FLOOR_NEAREST, *found, strict=True):
            means = [float(np.mean(each)) for each in counts]
            cells = " | ".join(f"{mean:.1f}" for mean in means)
            ratio = (means[1] - k - 1) / (means[0] - k - 1)
            lines.append(f"| {name}, {len(spaces)} spaces | {k} | {k + 1} | {cells} | {ratio:.2f} |")
        print("\n".join(lines[-len(FLOOR_NEAREST) :]), file=sys.stderr, flush=True)
    return "\n".join(lines)


# -- barycenters ---------------------------------------------------------------------------------------------------


def barycenter(folder: Path) -> str:
    """Ten images of each digit from 5 to 9; 0, 2 and 4 were looked at before."""
    spaces, labels = collection("MNIST", folder)
    lines = ["| digit | random, mean of 3 | random, best of 3 | typical | time of one |", "|---|---|---|---|---|"]
    for digit in range(5, 10):
        chosen = [space for space, label in zip(spaces, labels, strict=True) if label == digit][:10]
        common = {"n_points": 60, "max_iter": 200, "rng": 0, "progress": False}
        random = ao.barycenter(chosen, restarts=3, **common)
        start = time.process_time()
        typical = ao.barycenter(chosen, start="typical", **common)
        taken = time.process_time() - start
        losses = f"{random.restarts.mean():.4f} | {random.loss:.4f} | {typical.loss:.4f}"
        lines.append(f"| {digit} | {losses} | {taken:.1f} s |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "quality", "search", "floor", "barycenter"))
    parser.add_argument("folder", type=Path, nargs="?", help="where the data are")
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    options = parser.parse_args()
    if options.what == "speed":
        text = table(list(speed_rows()))
    elif options.folder is None:
        parser.error(f"{options.what} needs the folder of the data")
    else:
        works = {"quality": quality, "search": search, "floor": floor, "barycenter": barycenter}
        text = works[options.what](options.folder)
    print(text)
    if options.write:
        write_results("sliced.py", options.what, text)


if __name__ == "__main__":
    main()
