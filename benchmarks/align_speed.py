"""The time and the loss of `align` beside POT's, and beside those of another version, by kind and size of spaces.

    python benchmarks/align_speed.py --old FOLDER              also the version whose package `anchorot` is in FOLDER
    python benchmarks/align_speed.py --sizes 400,1000 --pairs 4
    python benchmarks/align_speed.py --tuning                  pairs that changes of `align` were chosen by

Every solver has a process of its own; all solve a pair before the next one is looked at, so that a busy machine slows
all alike. Times are CPU seconds of one thread, medians over pairs; ratios of times are medians of the pairs' ratios,
those of losses have the least and the largest too. POT runs its conditional gradient from the product plan, its
default, and from the exact AW plan, whose time counts. Pairs are drawn by number: 100 and on served to choose changes,
500 and on are reported.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads its BLAS

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

import anchorot as ao
from record import put

HERE = Path(__file__).parent
DATA = Path(os.environ.get("ANCHOROT_DATA", HERE.parents[1] / "shared" / "data"))
TUNING, REPORTED = 100, 500  # the first pair's number
SIZES, PAIRS = (300, 400, 1000), 10
TINY = 1e-12  # added to losses, since those of copies are 0

Costs = tuple[np.ndarray, np.ndarray]
Rng = np.random.Generator


# -- pairs ---------------------------------------------------------------------------------------------------------


def clouds(n: int, seed: int, rng: Rng) -> Costs:
    """Gaussian clouds of 2 to 10 dimensions, and the same with noise."""
    d, noise = int(rng.choice([2, 3, 5, 10])), float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.4]))
    x = rng.normal(size=(n, d))
    y = x + noise * rng.normal(size=(n, d))
    return cdist(x, x), cdist(y, y)


def weighted(n: int, seed: int, rng: Rng) -> Costs:
    """Clouds, and four fifths of their points with noise; weights are drawn below."""
    x, y = clouds(n, seed, rng)
    m = 4 * n // 5
    return x, y[:m, :m]


def paths(n: int, rng: Rng) -> tuple[object, np.ndarray]:
    import networkx as nx

    graph = nx.barabasi_albert_graph(n, 3, seed=int(rng.integers(2**31)))
    return graph, ao.from_graph(graph).cost.astype(float)


def graphs(n: int, seed: int, rng: Rng) -> Costs:
    """Lengths of paths in scale-free graphs, and in the same with 5 % of the edges moved."""
    import networkx as nx

    graph, first = paths(n, rng)
    edges = list(graph.edges)
    for k in rng.choice(len(edges), len(edges) // 20, replace=False):
        graph.remove_edge(*edges[k])
        graph.add_edge(*(int(node) for node in rng.choice(n, 2, replace=False)))
        if not nx.is_connected(graph):
            graph.add_edge(*edges[k])
    return first, ao.from_graph(graph).cost.astype(float)


def strangers(n: int, seed: int, rng: Rng) -> Costs:
    """Clouds of one dimension, or scale-free graphs, that have nothing in common."""
    if seed % 2:
        return paths(n, rng)[1], paths(n, rng)[1]
    shape = n, int(rng.choice([2, 3, 5, 10]))
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    return cdist(x, x), cdist(y, y)


@cache
def bodies() -> list[tuple[np.ndarray, np.ndarray]]:
    held = np.load(DATA / "faust_two_subjects" / "scans.npz")
    return [(vertices.astype(float), held["F"].astype(np.int64)) for vertices in held["V"]]


@cache
def remeshed() -> list[tuple[np.ndarray, np.ndarray]]:
    held = np.load(DATA / "faust_remeshed" / "faust_5k_subjects_0_1.npz")
    names = [key.removesuffix("_V") for key in held.files if key.endswith("_V")]
    return [(held[f"{name}_V"].astype(float), held[f"{name}_F"].astype(np.int64)) for name in names]


def scans(n: int, seed: int, rng: Rng) -> Costs:
    """The same points, far apart, of two scans; of every third pair, meshes and points of either scan by itself."""
    meshes = remeshed() if seed % 3 == 2 else bodies()
    i, j = (int(k) for k in rng.choice(len(meshes), 2, replace=False))
    first = ao.from_mesh(meshes[i], n, rng=seed, sampling="farthest")
    if seed % 3 == 2:
        return first.cost, ao.from_mesh(meshes[j], n, rng=seed + 1, sampling="farthest").cost
    return first.cost, ao.from_mesh(meshes[j], points=np.array(first.labels)).cost


def cells(n: int, seed: int, rng: Rng) -> Costs:
    """Some of the 1 047 cells of SNARE-seq, by paths along a tenth of them as neighbours."""
    sys.path.append(str(HERE.parent))
    from experiments.beyond.cells import snare

    pair = snare(DATA / "singlecell" / "SNARE")
    n = min(n, len(pair.types))
    own = rng.choice(len(pair.types), n, replace=False)
    count = max(5, round(pair.n_neighbors * n / len(pair.types)))
    x, y = (ao.from_neighbors(side[own], count).cost for side in (pair.first, pair.second))
    return x / x.max(), y / y.max()


KINDS: dict[str, Callable[[int, int, Rng], Costs]] = {
    "clouds": clouds,
    "weighted": weighted,
    "graphs": graphs,
    "scans": scans,
    "cells": cells,
    "strangers": strangers,
}


def draw(kind: str, n: int, seed: int, folder: Path) -> Path:
    """Put a pair into a file, the second side's points in another order."""
    rng = np.random.default_rng([n, seed, *kind.encode()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.InputWarning)  # some cells and vertices are left out
        x, y = KINDS[kind](n, seed, rng)
    order = rng.permutation(len(y))
    y = y[np.ix_(order, order)]
    is_weighted = kind == "weighted"
    a, b = (rng.dirichlet(np.full(len(c), 3.0)) if is_weighted else np.full(len(c), 1 / len(c)) for c in (x, y))
    file = folder / f"{kind}-{n}-{seed}.npz"
    np.savez(file, x=x, y=y, a=a, b=b)
    return file


# -- solvers, each in a process of its own -------------------------------------------------------------------------


class Solved(NamedTuple):
    """How one solver did on one pair."""

    seconds: float
    loss: float


def solve(method: str, x: ao.Space, y: ao.Space) -> np.ndarray:
    import ot

    if method == "align":
        return ao.align(x, y, progress=False).plan
    start = None if method == "product" else ao.anchor_wasserstein(x, y, epsilon=0.0).plan
    return ot.gromov.gromov_wasserstein(x.cost, y.cost, x.weights, y.weights, "square_loss", G0=start)


def serve(method: str) -> None:
    """Solve pairs whose files come in, one a line."""
    warnings.simplefilter("ignore")  # what does not converge shows in the loss
    for line in sys.stdin:
        held = np.load(line.strip())
        sides = ((held["x"], held["a"]), (held["y"], held["b"]))
        x, y = (ao.Space(cost, None if np.ptp(weights) == 0 else weights) for cost, weights in sides)
        begin = time.process_time()
        plan = solve(method, x, y)
        seconds = time.process_time() - begin
        a, b = plan.sum(axis=1), plan.sum(axis=0)
        loss = a @ np.square(x.cost) @ a + b @ np.square(y.cost) @ b - 2 * (plan * (x.cost @ plan @ y.cost)).sum()
        print(json.dumps([seconds, max(float(loss), 0.0)]), flush=True)


class Solver:
    """A process that solves pairs, with the version of the package in a folder, or the installed one."""

    def __init__(self, method: str, folder: str | None = None) -> None:
        begin = [f"sys.path[:0] = [{str(HERE)!r}]"]
        if folder is not None:  # before what an editable installation finds
            begin += ["sys.meta_path[:] = [one for one in sys.meta_path if 'ScikitBuild' not in repr(one)]"]
            begin += [f"sys.path[:0] = [{folder!r}]"]
        code = "; ".join(["import sys", *begin, "import align_speed", f"align_speed.serve({method!r})"])
        command = [sys.executable, "-c", code]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, file: Path) -> Solved:
        """Solve a pair."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(file, file=self._process.stdin, flush=True)
        return Solved(*json.loads(self._process.stdout.readline()))


# -- rows ----------------------------------------------------------------------------------------------------------


def row(what: str, found: list[dict[str, Solved]]) -> dict[str, str]:
    """Medians over pairs; of losses the least and the largest ratio too."""
    others = [name for name in found[0] if name != "align"]
    cells = {"pairs of spaces": f"{what}, {len(found)} pairs"}
    cells |= {name: f"{np.median([one[name].seconds for one in found]):.2f} s" for name in found[0]}
    for name in others:
        ratios = [one["align"].seconds / one[name].seconds for one in found]
        cells[f"time over {name}"] = f"{np.median(ratios):.2f}"
    for name in others:
        ratios = [(one["align"].loss + TINY) / (one[name].loss + TINY) for one in found]
        cells[f"loss over {name}"] = f"{np.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})"
    return cells


def page(rows: list[dict[str, str]]) -> str:
    """A table in Markdown."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(cells.values()) for cells in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", metavar="FOLDER", help="folder of another version's package")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--tuning", action="store_true", help="pairs that changes were chosen by")
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    options = parser.parse_args()
    solvers = {"align": Solver("align"), "POT": Solver("product"), "POT from AW": Solver("aw")}
    if options.old is not None:
        solvers["before"] = Solver("align", options.old)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        warm = draw("weighted", 60, 0, Path(name))
        for solver in solvers.values():
            solver(warm)  # imports
        for kind in options.kinds.split(","):
            for n in map(int, options.sizes.split(",")):
                first = TUNING if options.tuning else REPORTED
                files = [draw(kind, n, seed, Path(name)) for seed in range(first, first + options.pairs)]
                found = [{method: solver(file) for method, solver in solvers.items()} for file in files]
                rows.append(row(f"{kind}, n={n}", found))
                print(rows[-1], flush=True)
    print(page(rows))
    if options.write:
        put("python benchmarks/align_speed.py", page(rows))


if __name__ == "__main__":
    main()
