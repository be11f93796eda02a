"""Is `confidence` the share of right matches? Spaces with a known correspondence, of kinds that served no fit.

    python benchmarks/confidence.py               kinds held out: AUC and calibration error, a few minutes on two cores
    python benchmarks/confidence.py --fit         fit the constants of distances/confidence.py anew, and print them
    python benchmarks/confidence.py --picture     also draw the reliability curves of docs/images/confidence.png
    python benchmarks/confidence.py --data FOLDER data sets elsewhere than in ../shared/data or ANCHOROT_DATA

A match is right if it is the true point. Of scans sampled apart, where the true point need not be in the sample, it is
right within the sampling radius of that: the largest distance of a vertex to the nearest sampled one. Of maps by
landmarks it is right within twice the landmarks' spacing, the largest distance of a point to one. The calibration error
is the mean difference between confidence and the share of right matches over ten bins of confidence, weighted by the
matches in them; points without a match are left out. Every kind has its own pairs, drawn by number, and counts alike.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads its BLAS

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

import anchorot as ao
from anchorot.distances import confidence
from anchorot.distances.confidence import FACTORS, chances
from measure import Row, table, write_results
from problems import cell_problems, isometry_problems, scans, surface_costs

DATA = Path(os.environ.get("ANCHOROT_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAIRS = 30  # of each kind that can be drawn at will,
FIT_PAIRS = 60  # and of those that serve the fit
SCAN_POINTS = 300
RIDGE = 1e-5
BINS = 10
LARGEST_ERROR = 0.1
MIN_SHOWN = 0.05  # of the matches are right in kinds that have a curve
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "confidence.png"

Floats = np.ndarray
Rng = np.random.Generator


class Pair(NamedTuple):
    """Two matrices of costs, and which answers are right: (n, m)."""

    first: Floats
    second: Floats
    is_right: Floats
    mass: float | str | None = None


# -- pairs drawn at will ---------------------------------------------------------------------------------------------


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
    """Clouds that have a part in common, and some points of their own; `mass="free"`."""
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


# -- pairs of data ---------------------------------------------------------------------------------------------------


def scan_pairs(folder: Path, kind: str) -> Iterator[Pair]:
    """Of one person, of the other, or across; the same vertices of both."""
    meshes, subject = scans(folder)
    costs = surface_costs("scans", lambda: meshes, SCAN_POINTS)
    pairs = {
        "first": [pair for pair in combinations(range(20), 2) if not subject[list(pair)].any()],
        "second": [pair for pair in combinations(range(20), 2) if subject[list(pair)].all()],
        "across": [pair for pair in combinations(range(20), 2) if len(set(subject[list(pair)])) == 2][::3],
    }
    for seed, (i, j) in enumerate(pairs[kind]):
        yield shuffled(costs[i], costs[j], np.random.default_rng(seed))


def scans_apart(folder: Path) -> Iterator[Pair]:
    """Farthest points of every scan by itself; right within the sampling radius."""
    meshes, subject = scans(folder)
    second = np.flatnonzero(subject)[:7]
    spaces = {i: ao.from_mesh(meshes[i], SCAN_POINTS, rng=int(i), sampling="farthest") for i in second}
    for i, j in pairwise(second):
        measure = ao.MeshDistances(meshes[j])
        sample = np.array(spaces[j].labels)
        rows = np.stack([measure.row(vertex) for vertex in sample.tolist()])
        radius = rows.min(axis=0).max()
        yield Pair(spaces[i].cost, spaces[j].cost, radius >= rows[:, np.array(spaces[i].labels)].T)


@cache
def digit_views(folder: Path) -> Floats:
    """Hidden layers of four small networks, each trained on 400 digits, of 400 others."""
    from sklearn.neural_network import MLPClassifier

    held = np.load(folder / "mnist_100_per_class.npz")
    x, y, rng = held["x"].reshape(len(held["y"]), -1) / 255, held["y"], np.random.default_rng(0)
    order = rng.permutation(len(y))
    views = []
    warnings.simplefilter("ignore")  # they need not converge
    for seed in range(4):
        seen = rng.choice(order[400:], 400, replace=False)
        found = MLPClassifier((64,), max_iter=80, random_state=seed).fit(x[seen], y[seen])
        views.append(np.maximum(x[order[:400]] @ found.coefs_[0] + found.intercepts_[0], 0))
    return np.stack(views)


def digits(folder: Path, metric: str) -> Iterator[Pair]:
    """Digits seen by two networks."""
    views = digit_views(folder)
    for seed in range(metric == "cosine", PAIRS, 2):
        rng = np.random.default_rng(seed)
        own = rng.choice(views.shape[1], rng.integers(150, 350), replace=False)
        first, second = rng.choice(len(views), 2, replace=False)
        yield distances(views[first][own], views[second][own], rng, metric)


def from_problems(problems: Callable[[Path, bool], Iterator[Any]]) -> Callable[[Path], Iterator[Pair]]:
    def found(folder: Path) -> Iterator[Pair]:
        for problem in problems(folder, False):
            yield Pair(problem.x.cost, problem.y.cost, problem.truth[:, None] == np.arange(problem.y.n))

    return found


# -- maps by landmarks, and networks -------------------------------------------------------------------------------


class Job(NamedTuple):
    """A pair that is judged by its own rule."""

    judge: Callable[[Path, str, int], "Judged"]
    folder: Path
    kind: str
    seed: int

    def judged(self) -> "Judged":
        """Align, and compare with the truth."""
        return self.judge(self.folder, self.kind, self.seed)


def clouds_by_landmarks(folder: Path, kind: str, seed: int) -> "Judged":
    """1200 points, 150 landmarks; right within twice the spacing of landmarks."""
    rng = np.random.default_rng(seed)
    x = rng.laplace(size=(1200, rng.integers(2, 8)))
    order = rng.permutation(len(x))
    y = (x + level(rng, 0.02, 1.0) * rng.normal(size=x.shape))[order]
    found = ao.align(ao.PointDistances(x), ao.PointDistances(y), n_landmarks=150)
    spacing = cdist(y, y[found.landmarks[1]]).min(axis=1).max()
    error = np.linalg.norm(y[found.matches] - y[np.argsort(order)], axis=1)
    return Judged(found.confidence, error <= 2 * spacing, {})


def networks(folder: Path, kind: str, seed: int) -> "Judged":
    """Networks of a kind that served no fit of theirs, with edges moved; or the real ones."""
    import networkx as nx

    rng = np.random.default_rng(seed)
    n, half, number = int(rng.integers(80, 250)), int(rng.integers(2, 8)), int(rng.integers(10**9))
    if kind == "real":
        held = np.load(folder / "graph_alignment" / "graphs.npz")
        names = [
            ("yeast0", "yeast5"),
            ("yeast0", "yeast15"),
            ("yeast0", "yeast25"),
            ("hs100", "hs80"),
            ("arenas", "arenas"),
        ]
        first, second = (held[name] for name in names[seed])
        second = second[rng.random(len(second)) < (0.8 if first is second or names[seed][0] == "arenas" else 1.0)]
    else:
        graph = {
            "regular": lambda: nx.random_regular_graph(2 * half, n, seed=number),
            "caves": lambda: nx.relaxed_caveman_graph(n // 8, 8, 0.2, seed=number),
            "duplication": lambda: nx.duplication_divergence_graph(n, 0.5, seed=number),
            "trees": lambda: nx.random_labeled_tree(n, seed=number),
        }[kind]()
        first = np.array(graph.edges())
        is_lost = rng.random(len(first)) < level(rng, 0.01, 0.25)
        drawn = rng.integers(0, graph.number_of_nodes(), (int(is_lost.sum()), 2))
        second = np.concatenate([first[~is_lost], drawn[drawn[:, 0] != drawn[:, 1]]])
    total = int(max(first.max(), second.max())) + 1
    order = rng.permutation(total)
    sides = [nx.empty_graph(total) for _ in range(2)]
    for side, edges in zip(sides, (first, order[second]), strict=True):
        side.add_edges_from(edges.tolist())
    found = ao.align_graphs(*sides, rng=0)
    kept = found.matches >= 0
    return Judged(found.confidence[kept], (found.matches == order)[kept], {})


def jobs(judge: Callable[[Path, str, int], "Judged"], kind: str, count: int) -> Callable[[Path], Iterator[Job]]:
    return lambda folder: (Job(judge, folder, kind, seed) for seed in range(count))


HELD: dict[
    str, tuple[Callable[[Path], Iterator[Pair | Job]], str, bool]
] = {  # pairs, folder or file, whether for the fit
    "scans of one person": (lambda folder: scan_pairs(folder, "first"), "faust_two_subjects", True),
    "scans of another person": (lambda folder: scan_pairs(folder, "second"), "faust_two_subjects", False),
    "scans across persons": (lambda folder: scan_pairs(folder, "across"), "faust_two_subjects", False),
    "scans sampled apart": (scans_apart, "faust_two_subjects", False),
    "isometries of SHREC'10": (from_problems(isometry_problems), "shrec10_subset", False),
    "digits by two networks": (lambda folder: digits(folder, "euclidean"), "mnist_100_per_class.npz", False),
    "digits by two networks, cosine": (lambda folder: digits(folder, "cosine"), "mnist_100_per_class.npz", False),
    "cells by two assays": (from_problems(cell_problems), "singlecell", False),
    "networks: proteins, e-mails, school": (jobs(networks, "real", 5), "graph_alignment", False),
    "networks: random regular": (jobs(networks, "regular", 8), "", False),
    "networks: caves": (jobs(networks, "caves", 8), "", False),
    "networks: duplication and divergence": (jobs(networks, "duplication", 8), "", False),
    "networks: trees": (jobs(networks, "trees", 8), "", False),
    "by landmarks: clouds": (jobs(clouds_by_landmarks, "", 20), "", False),
}
BARS = {"scans": 0.8, "clouds": 0.9, "digits": 0.9, "networks": 0.9}  # least AUC of kinds whose names begin so


# -- figures ---------------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """Matched points of one pair: their confidence, whether they are right, and what alignments of spaces show."""

    chance: Floats
    is_right: Floats
    seen: dict[str, Floats]


def judged(pair: Pair | Job) -> Judged:
    if isinstance(pair, Job):
        return pair.judged()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of neighbours' graphs in several parts, say
        found = ao.align(pair.first, pair.second, rng=0, mass=pair.mass)
    rows = np.flatnonzero(found.matches >= 0)
    seen = found.evidence.factors(rows)
    return Judged(chances(seen), pair.is_right[rows, found.matches[rows]], seen)


def drawn(name: str, seed: int) -> Judged:
    return judged(DRAWN[name][0](np.random.default_rng([seed, *name.encode()])))


def all_judged(folder: Path, is_fit: bool) -> dict[str, list[Judged]]:
    """All pairs of the kinds that serve the fit, or of the others."""
    found: dict[str, list[Judged]] = {}
    with ProcessPoolExecutor() as pool:
        for name, (_, serves) in DRAWN.items():
            if serves == is_fit:
                count = FIT_PAIRS if is_fit else PAIRS
                found[name] = list(pool.map(drawn, [name] * count, range(count)))
                print(f"{name}: {len(found[name])} pairs", flush=True)
        for name, (pairs, needed, serves) in HELD.items():
            if serves == is_fit and not (folder / needed).exists():
                print(f"{name}: there is no {needed} in {folder}, left out")
            elif serves == is_fit:
                found[name] = list(pool.map(judged, pairs(folder)))
                print(f"{name}: {len(found[name])} pairs", flush=True)
    return found


def joined(pairs: list[Judged]) -> tuple[Floats, Floats]:
    return np.concatenate([one.chance for one in pairs]), np.concatenate([one.is_right for one in pairs])


def auc(score: Floats, is_right: Floats) -> float:
    """How often a right match has the larger score than a wrong one."""
    n_right = int(is_right.sum())
    if n_right in (0, len(is_right)):
        return float("nan")
    return float((rankdata(score)[is_right].sum() - n_right * (n_right + 1) / 2) / n_right / (len(score) - n_right))


def bins_of(chance: Floats) -> Floats:
    return np.minimum((chance * BINS).astype(int), BINS - 1)


def calibration_error(chance: Floats, is_right: Floats) -> float:
    place = bins_of(chance)
    off = np.bincount(place, chance - is_right, BINS)
    return float(np.abs(off).sum() / len(place))


def rows_of(found: dict[str, list[Judged]]) -> list[Row]:
    rows = []
    for name, pairs in found.items():
        chance, is_right = joined(pairs)
        area, error = auc(chance, is_right), calibration_error(chance, is_right)
        least = next((bar for start, bar in BARS.items() if name.startswith(start)), None)
        holds = error <= LARGEST_ERROR and (least is None or not area < least)  # no area where all are right
        bar = f"error at most {LARGEST_ERROR:g}" + ("" if least is None else f", AUC at least {least:g}")
        told = f"AUC {area:.2f}, error {error:.3f}; {is_right.mean():.2f} right, {chance.mean():.2f} expected"
        rows.append(Row(f"{name}, {len(pairs)} pairs, {len(is_right)} matches", told, bar, holds))
    return rows


def draw(found: dict[str, list[Judged]]) -> None:
    """Reliability curves: the share of right matches by confidence, one line for each kind."""
    from anchorot import plot

    figure = plot.new_figure(8.4, 5.6)
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="#9ca3af", linewidth=1, linestyle="--")
    shown = {name: pairs for name, pairs in found.items() if MIN_SHOWN < joined(pairs)[1].mean() < 1}
    for number, (name, pairs) in enumerate(shown.items()):
        chance, is_right = joined(pairs)
        place = bins_of(chance)
        count = np.bincount(place, minlength=BINS)
        kept = count >= max(20, 0.005 * len(place))
        mean, share = (np.bincount(place, value, BINS)[kept] / count[kept] for value in (chance, is_right))
        colour = plot.PALETTE[number % len(plot.PALETTE)]
        line = "-" if number < len(plot.PALETTE) else ":"
        ax.plot(mean, share, line, color=colour, marker="o", markersize=4, linewidth=1.4, label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share of right matches")
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


# -- the fit ---------------------------------------------------------------------------------------------------------


def fit(found: dict[str, list[Judged]]) -> None:
    """Print what alignments of spaces with nothing in common keep, and the factors of largest likelihood."""
    alone = [one.seen for one in found["nothing in common"]]
    ends = np.array([(1, np.log(seen["dimension"][0]), np.log(seen["points"][0])) for seen in alone])
    by_chance = np.linalg.lstsq(ends, np.array([seen["kept neighbours"][0] for seen in alone]), rcond=None)[0]
    confidence.BY_CHANCE = tuple(np.round(by_chance, 3).tolist())
    seen = {name: np.concatenate([one.seen[name] for pairs in found.values() for one in pairs]) for name in alone[0]}
    is_right = np.concatenate([joined(pairs)[1] for pairs in found.values()])
    counts = [len(joined(pairs)[1]) for pairs in found.values()]
    weights = np.repeat([1 / count / len(counts) for count in counts], counts)

    def loss(factors: Floats) -> float:
        FACTORS.update(zip(FACTORS, factors.tolist(), strict=True))
        chance = chances(seen)
        likely = np.log(np.clip(np.where(is_right, chance, 1 - chance), 1e-6, None))
        return float(-(weights * likely).sum() + RIDGE * np.square(factors).sum())

    best = np.round(minimize(loss, list(FACTORS.values()), method="L-BFGS-B").x, 2)
    print(f"loss {loss(best):.4f}: {confidence.BY_CHANCE = }, {FACTORS = }")
    print(table(rows_of({k: [one._replace(chance=chances(one.seen)) for one in v] for k, v in found.items()})))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="fit the factors, to the kinds that are for that")
    parser.add_argument("--picture", action="store_true", help="also draw the reliability curves")
    parser.add_argument("--write", action="store_true", help="also write RESULTS.md")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    options = parser.parse_args()
    found = all_judged(options.data, options.fit)
    if options.fit:
        fit(found)
        return
    print(table(rows_of(found)))
    if options.picture:
        draw(found)
    if options.write:
        write_results("confidence.py", " ".join(sys.argv[1:]), table(rows_of(found)))


if __name__ == "__main__":
    main()
