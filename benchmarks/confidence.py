"""Is `confidence` the share of right matches? Spaces with a known correspondence, of kinds that were held out.

    python benchmarks/confidence.py               kinds held out: AUC and calibration error, a few minutes on two cores
    python benchmarks/confidence.py --picture     also draw the reliability curves of docs/images/confidence.png
    python benchmarks/confidence.py --only networks   only kinds whose names begin so; nothing is written
    python benchmarks/confidence.py --data FOLDER data sets elsewhere than in ../shared/data or ANCHOROT_DATA

A match is right if it is the true point. Of scans sampled apart, where the true point need not be in the sample, it is
right within the sampling radius of that: the largest distance of a vertex to the nearest sampled one. Of maps by
landmarks it is right within twice the landmarks' spacing, the largest distance of a point to one. The calibration error
is the mean difference between confidence and the share of right matches over ten bins of confidence, weighted by the
matches in them; points without a match are left out. Every kind has its own pairs, drawn by number, and counts alike.
`benchmarks/calibrate.py` fits the coefficients.
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
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

import anchorot as ao
from anchorot.align.spaces.score import chances
from drawn_pairs import DRAWN, Floats, Pair, distances, level, shuffled
from measure import Row, table, write_results
from networks import adjacency
from problems import cell_problems, isometry_problems, scans, surface_costs

DATA = Path(os.environ.get("ANCHOROT_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAIRS = 30  # of each kind that can be drawn at will,
FIT_PAIRS = 60  # and of those that calibrate.py fits to
NETWORKS = {"real": 5, "regular": 8, "caves": 8, "duplication": 8, "trees": 8, "unrelated": 8}  # pairs of each kind
SCAN_POINTS = 300
BINS = 10
LARGEST_ERROR = 0.1
MIN_SHOWN = 0.05  # of the matches are right in kinds that have a curve
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "confidence.png"

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
        measure = ao.distances.MeshDistances(meshes[j])
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
    found = ao.align(ao.distances.PointDistances(x), ao.distances.PointDistances(y), n_landmarks=150)
    spacing = cdist(y, y[found.landmarks[1]]).min(axis=1).max()
    error = np.linalg.norm(y[found.matches] - y[np.argsort(order)], axis=1)
    return Judged(found.confidence, error <= 2 * spacing)


def drawn_network(kind: str, n: int, half: int, number: int) -> Floats:
    """Edges of a network of a kind held out from the fit."""
    import networkx as nx

    graph = {
        "regular": lambda: nx.random_regular_graph(2 * half, n, seed=number),
        "caves": lambda: nx.relaxed_caveman_graph(n // 8, 8, 0.2, seed=number),
        "duplication": lambda: nx.duplication_divergence_graph(n, 0.5, seed=number),
        "trees": lambda: nx.random_labeled_tree(n, seed=number),
    }[kind]()
    return np.array(graph.edges())


def network_pair(folder: Path, kind: str, seed: int) -> tuple[Floats, Floats, Floats]:
    """Edges of networks of a kind held out from the fit, with edges moved, or of real ones; and the truth.

    Unrelated ones are two of one of these kinds; their truth is -1.
    """
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
    elif kind == "unrelated":
        own = ("regular", "caves", "duplication", "trees")[seed % 4]
        first, second = (drawn_network(own, n, half, number + turn) for turn in (0, 1))
    else:
        first = drawn_network(kind, n, half, number)
        is_lost = rng.random(len(first)) < level(rng, 0.01, 0.25)
        drawn = rng.integers(0, int(first.max()) + 1, (int(is_lost.sum()), 2))
        second = np.concatenate([first[~is_lost], drawn[drawn[:, 0] != drawn[:, 1]]])
    total = int(max(first.max(), second.max())) + 1
    order = rng.permutation(total)
    return first, order[second], np.full(total, -1) if kind == "unrelated" else order


def judged_networks(folder: Path, kind: str, seed: int) -> "Judged":
    """Both networks of a pair, aligned."""
    first, second, truth = network_pair(folder, kind, seed)
    found = ao.align_graphs(*(adjacency(edges, len(truth)) for edges in (first, second)), rng=0)
    kept = found.matches >= 0
    return Judged(found.confidence[kept], (found.matches == truth)[kept])


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
    "networks: proteins, e-mails, school": (jobs(judged_networks, "real", NETWORKS["real"]), "graph_alignment", False),
    "networks: random regular": (jobs(judged_networks, "regular", NETWORKS["regular"]), "", False),
    "networks: caves": (jobs(judged_networks, "caves", NETWORKS["caves"]), "", False),
    "networks: duplication and divergence": (jobs(judged_networks, "duplication", NETWORKS["duplication"]), "", False),
    "networks: trees": (jobs(judged_networks, "trees", NETWORKS["trees"]), "", False),
    "networks: two of one of these kinds, unrelated": (
        jobs(judged_networks, "unrelated", NETWORKS["unrelated"]),
        "",
        False,
    ),
    "by landmarks: clouds": (jobs(clouds_by_landmarks, "", 20), "", False),
}
BARS = {"scans": 0.8, "clouds": 0.9, "digits": 0.9, "networks": 0.9}  # least AUC of kinds whose names begin so


# -- figures ---------------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """Matched points of one pair: their confidence, and whether they are right."""

    chance: Floats
    is_right: Floats


def aligned(pair: Pair) -> tuple[dict[str, Floats], Floats]:
    """What the chances of all matches are computed from, and whether they are right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of neighbours' graphs in several parts, say
        found = ao.align(pair.first, pair.second, rng=0, mass=pair.mass)
    rows = np.flatnonzero(found.matches >= 0)
    return found._evidence.factors(rows), pair.is_right[rows, found.matches[rows]]


def judged(pair: Pair | Job) -> Judged:
    if isinstance(pair, Job):
        return pair.judged()
    seen, is_right = aligned(pair)
    return Judged(chances(seen), is_right)


def drawn(name: str, seed: int) -> Judged:
    return judged(DRAWN[name][0](np.random.default_rng([seed, *name.encode()])))


def all_judged(folder: Path, start: str, workers: int | None) -> dict[str, list[Judged]]:
    """All pairs of the kinds that are held out and whose names begin so."""
    found: dict[str, list[Judged]] = {}
    with ProcessPoolExecutor(workers) as pool:
        for name, (_, serves_fit) in DRAWN.items():
            if not serves_fit and name.startswith(start):
                found[name] = list(pool.map(drawn, [name] * PAIRS, range(PAIRS)))
                print(f"{name}: {len(found[name])} pairs", flush=True)
        for name, (pairs, needed, serves_fit) in HELD.items():
            if serves_fit or not name.startswith(start):
                continue
            if not (folder / needed).exists():
                print(f"{name}: there is no {needed} in {folder}, left out")
            else:
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


FAMILIES = {  # panels of the picture, by how the names of their kinds begin
    "Scans and other surfaces": ("scans", "isometries"),
    "Clouds and curves": ("clouds", "bent", "rolled", "part of", "by landmarks"),
    "Networks": ("networks", "paths"),
    "Embeddings": ("digits", "cells"),
}


def draw(found: dict[str, list[Judged]]) -> None:
    """Reliability curves: the share of right matches by confidence, a panel for each family, one line for each kind."""
    from anchorot import plot

    figure = plot.new_figure(13.6, 8.4)
    shown = {name: pairs for name, pairs in found.items() if MIN_SHOWN < joined(pairs)[1].mean() < 1}
    for ax, (family, starts) in zip(figure.subplots(2, 2).flat, FAMILIES.items(), strict=True):
        ax.plot([0, 1], [0, 1], color="#9ca3af", linewidth=1, linestyle="--")
        own = [name for name in shown if name.startswith(starts)]
        for name, colour in zip(own, plot.PALETTE, strict=False):
            _draw_curve(ax, *joined(shown[name]), label=name.removeprefix("networks: "), color=colour)
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share of right matches")
        ax.set_title(family, loc="left", fontsize=12, weight="bold")
        ax.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(1.02, 1))  # beside the curves
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


def _draw_curve(ax: Any, chance: Floats, is_right: Floats, **style: Any) -> None:
    place = bins_of(chance)
    count = np.bincount(place, minlength=BINS)
    kept = count >= max(20, 0.005 * len(place))
    mean, share = (np.bincount(place, value, BINS)[kept] / count[kept] for value in (chance, is_right))
    ax.plot(mean, share, marker="o", markersize=5, linewidth=1.8, **style)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", action="store_true", help="also draw the reliability curves")
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    parser.add_argument("--only", default="", metavar="NAME", help="only kinds whose names begin so; never written")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    options = parser.parse_args()
    found = all_judged(options.data, options.only, options.jobs)
    print(table(rows_of(found)))
    if options.picture:
        draw(found)
    if options.write and not options.only:
        write_results("confidence.py", " ".join(sys.argv[1:]), table(rows_of(found)))


if __name__ == "__main__":
    main()
