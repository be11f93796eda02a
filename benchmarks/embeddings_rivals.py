"""Rivals of align_embeddings at their best: real and simulated pairs, five draws, every value kept.

    python benchmarks/embeddings_rivals.py --programs FOLDER --log values.jsonl           all of them
    python benchmarks/embeddings_rivals.py --log values.jsonl --methods align_embeddings  some of them
    python benchmarks/embeddings_rivals.py --log values.jsonl --write                     the tables, into the record

Each run appends to the log what it does not have. FOLDER holds public programs, which run as they are:
`linear_vec2vec.ipynb` (github.com/guy-dar/mini-vec2vec), `fasttext/` (facebookresearch/fastText, its folder alignment)
and `vecmap/` (artetxem/vecmap). All methods get the same rows: 600 points of a side, 800 of 384 dimensions, 500 of
digits, nine tenths of the cells of small assays (at most 800). Sides of fewer dimensions get columns of zeros where a
program needs as many; vecmap gets the main directions of the other side.

- mini-vec2vec: all cells of its notebook, with its numbers (30 x 30 matchings of 20 centres, 50 neighbours, 100 rounds,
  500 clusters, which need as many points). Matches are an assignment of its cosines, better than their row maxima.
- Entropic GW: POT's solver; costs (cosine, or steps in the graph of 30 neighbours, as SCOT has them) and epsilon are
  those that are best *by the truth* on draw 1000, which is not reported.
- GW from sorted rows, Procrustes: POT's conditional gradient from a plan of the sorted rows of costs; rounds of
  rotation and assignment after it.
- Wasserstein-Procrustes: its authors' convex relaxation; then rounds of rotation and assignment, which solve exactly
  what their stochastic steps approximate.
- MUSE: rounds of mutual nearest points by CSLS and Procrustes, from vecmap's published start without pairs (sorted rows
  of the root of the similarities) in place of adversarial training, which takes hours on a CPU.
- vecmap: its program, unsupervised.

With known pairs, MUSE and Wasserstein-Procrustes begin with their rotation, and vecmap is semi-supervised; the others
cannot use them. Labels are carried by plans, or by votes of the five nearest points by CSLS after a map. AUC is that of
what each method has: confidence, the share of a plan's row, the score of the match, or the share of votes; calibration
error only of what claims to be a probability.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads its BLAS
os.environ["TQDM_DISABLE"] = "1"

import argparse
import ast
import contextlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ot
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

import anchorot as ao
from embeddings import DATA, _csls, _procrustes, area_and_error, clouds, digits, lengths, objects, unit
from measure import write_results

DRAWS, TUNING_DRAW = 5, 1000
POINTS, WIDE_POINTS = 600, 800
CELLS = 0.9  # share of the cells of small assays in a draw
EPSILONS = (3e-4, 1e-3, 3e-3, 1e-2)  # of the mean cost
NEIGHBOURS = 30  # of graphs
VOTES = 5  # nearest points that decide a label
ROUNDS = 30
SHORT = {  # names of methods in the small table
    "align_embeddings": "align_embeddings",
    "entropic GW, tuned": "entropic GW",
    "GW from sorted rows, Procrustes": "GW, Procrustes",
    "MUSE, vecmap's start": "MUSE",
    "Wasserstein-Procrustes, convex start": "Wasserstein-Procrustes",
    "mini-vec2vec": "mini-vec2vec",
    "vecmap": "vecmap",
}


class Task(NamedTuple):
    """Two sides, and what is known of them: partners (-1: none), or labels."""

    x: np.ndarray
    y: np.ndarray
    truth: np.ndarray | None = None
    labels: tuple[np.ndarray, np.ndarray] | None = None
    pairs: list[tuple[int, int]] | None = None

    @property
    def centred(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows at length 1 as seen from the mean, in as many columns."""
        width = max(self.x.shape[1], self.y.shape[1])
        x, y = (
            np.pad(unit(side - side.mean(axis=0)), ((0, 0), (0, width - side.shape[1]))) for side in (self.x, self.y)
        )
        return x, y


class Found(NamedTuple):
    """Scores of all pairs, larger for likelier ones, and whether they are masses of a plan."""

    scores: np.ndarray
    is_plan: bool = False


# -- data ----------------------------------------------------------------------------------------------------------


def tasks(draw: int) -> Iterator[tuple[str, Callable[[], Task]]]:
    """All pairs of one draw, made when they are needed."""
    yield "objects", lambda: _simulated(objects(1, draw, POINTS))
    yield "objects distinguished by length", lambda: _simulated(lengths(1, draw, POINTS))
    yield "clouds, overlap 0.66", lambda: _simulated(clouds(POINTS, 0.66, 0.2, draw))
    yield "glosses, layers 6 and 3", lambda: _rows("glosses", ("sentence_layer6", "sentence_layer3"), WIDE_POINTS, draw)
    yield "words, 10 known pairs", lambda: _rows("words", ("token_table", "sentence_model"), POINTS, draw, 10)
    yield "digits, halves in two networks", lambda: _halves(draw)
    yield "SNARE-seq", lambda: _cells("SNARE/SNAREseq_{}_feat.npy", "SNARE/SNAREseq_{}_types.txt", "rna atac", draw)
    yield "scGEM", lambda: _cells("scGEM/scGEM_{}.csv", "scGEM/scGEM_type{}.txt", "expression methylation", draw)
    for assays in ("rna acc", "rna met", "acc met"):
        name = f"scNMT-seq, {assays.replace(' ', ' and ')}"
        yield name, lambda assays=assays: _cells("scNMT/{}_30.txt", "scNMT/{}_stage.txt", assays, draw)


def _simulated(pair: Any) -> Task:
    return Task(pair.first_all[pair.first], pair.second_all[pair.second], pair.truth)


def _rows(file: str, names: tuple[str, str], count: int, draw: int, known: int = 0) -> Task:
    rng = np.random.default_rng(draw)
    stored = np.load(DATA / "embeddings" / f"{file}.npz")
    some, order = rng.choice(2000, count, replace=False), rng.permutation(count)
    x, y = (stored[name][some].astype(np.float64) for name in names)
    truth = np.argsort(order)
    pairs = [(int(i), int(truth[i])) for i in rng.choice(count, known, replace=False)]
    return Task(x, y[order], truth, pairs=pairs or None)


def _halves(draw: int) -> Task:
    pair = digits(draw)
    labels = np.load(DATA / "mnist_100_per_class.npz")["y"]
    order = np.random.default_rng(draw).permutation(len(labels))
    first, second = order[:500], order[500:]
    return Task(pair.first_all[first], pair.second_all[second], labels=(labels[first], labels[second]))


def _cells(places: str, types_of: str, assays: str, draw: int) -> Task:
    sides, labels = [], []
    for assay in assays.split():
        file = DATA / "singlecell" / places.format(assay)
        delimiter = "," if file.suffix == ".csv" else None
        sides.append(np.load(file) if file.suffix == ".npy" else np.loadtxt(file, delimiter=delimiter))
        named = types_of.format(assay.capitalize() if "scGEM" in types_of else assay)
        labels.append(np.array((DATA / "singlecell" / named).read_text().split()))
    rng = np.random.default_rng(draw)
    chosen = [rng.choice(len(side), min(WIDE_POINTS, round(CELLS * len(side))), replace=False) for side in sides]
    x, y = (side[own] for side, own in zip(sides, chosen, strict=True))
    return Task(x, y, labels=(labels[0][chosen[0]], labels[1][chosen[1]]))


# -- rivals: scores of all pairs -----------------------------------------------------------------------------------


class Rivals:
    """The methods, some of which are public programs."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs

    def mini_vec2vec(self, task: Task, draw: int) -> Found:
        """Every cell of the notebook up to its evaluation."""
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(draw)
        np.random.seed(draw)  # noqa: NPY002  their program draws from it
        book = json.loads((self._programs / "linear_vec2vec.ipynb").read_text())
        cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
        start = next(k for k, cell in enumerate(cells) if cell.startswith("def aligned_centroids"))
        end = next(k for k, cell in enumerate(cells) if cell.startswith("device ="))
        x, y = (torch.tensor(side).float() for side in task.centred)
        names: dict[str, Any] = {"X_train": x, "Y_train": y, "X_eval": x[:500], "Y_eval": y[:500]}
        with contextlib.redirect_stdout(io.StringIO()), _stand_ins():
            for cell in (cells[0], *cells[start:end]):
                exec(cell, names)
        return Found(names["cos_sim_matrix"](x @ names["W"], y).numpy())

    def convex_start(self, task: Task) -> np.ndarray:
        """The convex relaxation of Wasserstein-Procrustes, by its authors' functions."""
        names: dict[str, Any] = {"np": np, "ot": ot, "print": lambda *_: None}
        for file, wanted in (("utils.py", {"procrustes"}), ("unsup_align.py", {"sqrt_eig", "convex_init"})):
            module = ast.parse((self._programs / "fasttext" / file).read_text())
            module.body = [part for part in module.body if isinstance(part, ast.FunctionDef) and part.name in wanted]
            exec(compile(module, file, "exec"), names)
        x, y = task.centred
        size = min(len(x), len(y))
        rotation: np.ndarray = names["convex_init"](x[:size], y[:size], reg=0.05, apply_sqrt=True)
        return rotation

    def wasserstein_procrustes(self, task: Task, draw: int) -> Found:
        """Rounds of assignment and rotation from the relaxation, or from known pairs."""
        x, y = task.centred
        return _rotated(x, y, _of_pairs(task) if task.pairs else self.convex_start(task))

    def vecmap(self, task: Task, draw: int) -> Found:
        """Its program, on as many main directions as both sides have: columns of zeros have no whitening."""
        x, y = (_main(side, min(task.x.shape[1], task.y.shape[1])) for side in task.centred)
        with tempfile.TemporaryDirectory() as folder:
            for name, side in (("x", x), ("y", y)):
                lines = [f"{name}{k} " + " ".join(f"{value:.7g}" for value in row) for k, row in enumerate(side)]
                Path(folder, name).write_text("\n".join([f"{len(side)} {side.shape[1]}", *lines]) + "\n")
            how = ["--unsupervised"]
            if task.pairs:
                Path(folder, "pairs").write_text("".join(f"x{i} y{j}\n" for i, j in task.pairs))
                how = ["--semi_supervised", f"{folder}/pairs"]
            files = [f"{folder}/{name}" for name in ("x", "y", "mapped_x", "mapped_y")]
            command = [sys.executable, "map_embeddings.py", "--seed", str(draw), *how, *files]
            subprocess.run(command, cwd=self._programs / "vecmap", check=True, capture_output=True)
            mapped = [np.loadtxt(file, skiprows=1, usecols=range(1, x.shape[1] + 1)) for file in files[2:]]
        return Found(_csls(*mapped, 10))


@contextlib.contextmanager
def _stand_ins() -> Iterator[None]:
    """Modules that the notebook imports for its data and for progress bars, where they are not installed."""
    parts: dict[str, dict[str, Any]] = {
        "datasets": {"load_dataset": None},
        "tqdm": {},
        "tqdm.auto": {"trange": range, "tqdm": iter},
    }
    missing = [name for name in parts if name not in sys.modules]
    for name in missing:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(parts[name])
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def muse(task: Task, draw: int, k: int = 10) -> Found:
    """Mutual nearest points by CSLS, then Procrustes, until they stay."""
    x, y = task.centred
    rotation, before = _of_pairs(task) if task.pairs else _similarity_start(x, y), None
    for _ in range(ROUNDS):
        scores = _csls(x @ rotation, y, k)
        best, back = scores.argmax(axis=1), scores.argmax(axis=0)
        mutual = np.flatnonzero(back[best] == np.arange(len(x)))
        if before is not None and np.array_equal(before, best):
            break
        before = best
        rotation = _procrustes(x[mutual], y[best[mutual]])
    return Found(_csls(x @ rotation, y, k))


def _main(side: np.ndarray, count: int) -> np.ndarray:
    """The rows in their main directions."""
    return side @ np.linalg.svd(side, full_matrices=False)[2][:count].T if count < side.shape[1] else side


def _similarity_start(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The start of vecmap: sorted rows of the root of x xᵀ, at length 1, compared by CSLS; Procrustes."""
    size = min(len(x), len(y))
    rows = []
    for side in (x[:size], y[:size]):
        left, values, _ = np.linalg.svd(side, full_matrices=False)
        own = unit(np.sort((left * values) @ left.T, axis=1))
        rows.append(unit(own - own.mean(axis=0)))
    scores = _csls(*rows, 10)
    first = np.concatenate([np.arange(size), scores.argmax(axis=0)])
    second = np.concatenate([scores.argmax(axis=1), np.arange(size)])
    return _procrustes(x[first], y[second])


def _of_pairs(task: Task) -> np.ndarray:
    x, y = task.centred
    first, second = np.array(task.pairs).T
    return _procrustes(x[first], y[second])


def _rotated(x: np.ndarray, y: np.ndarray, rotation: np.ndarray) -> Found:
    """Rounds of assignment and rotation."""
    before = None
    for _ in range(ROUNDS):
        scores = (x @ rotation) @ y.T
        matches = linear_sum_assignment(-scores)
        if before is not None and np.array_equal(before, matches[1]):
            break
        before = matches[1]
        rotation = _procrustes(x[matches[0]], y[matches[1]])
    return Found((x @ rotation) @ y.T)


def gw_and_procrustes(task: Task, draw: int) -> Found:
    """POT's conditional gradient from a plan of sorted rows, then rounds of rotation and assignment."""
    x, y = task.centred
    costs = [_costs(side, "cosine") for side in (x, y)]
    levels = (np.arange(200) + 0.5) / 200
    rows = [np.quantile(cost, levels, axis=1).T for cost in costs]
    p, q = (np.full(len(side), 1 / len(side)) for side in (x, y))
    start = ot.emd(p, q, cdist(*rows, "cityblock"))
    plan = ot.gromov.gromov_wasserstein(*costs, p, q, G0=start, max_iter=300)
    return _rotated(x, y, _procrustes(x, len(x) * plan @ y))


def entropic_gw(task: Task, costs: str, epsilon: float) -> Found:
    """POT's entropic solver."""
    first, second = (_costs(side, costs) for side in task.centred)
    plan = ot.gromov.entropic_gromov_wasserstein(
        first, second, epsilon=epsilon * float(first.mean()), max_iter=100, tol=1e-6, numItermax=200
    )
    return Found(plan, is_plan=True)


def _costs(side: np.ndarray, kind: str) -> np.ndarray:
    if kind == "cosine":
        return cdist(side, side, "cosine")
    graph = kneighbors_graph(side, NEIGHBOURS, metric="cosine")
    steps = shortest_path(graph, directed=False, unweighted=True)
    steps[np.isinf(steps)] = steps[np.isfinite(steps)].max()
    return steps / steps.max()


# -- what is measured ----------------------------------------------------------------------------------------------


def judged(task: Task, found: Found) -> dict[str, float]:
    """Share right, AUC and calibration error of what a rival has."""
    scores = found.scores
    shares = scores / np.maximum(scores.sum(axis=1, keepdims=True), 1e-300) if found.is_plan else scores
    if task.truth is not None:
        rows, columns = linear_sum_assignment(-scores)
        matches = np.full(len(task.x), -1)
        matches[rows] = columns
        return _of_matches(task, matches, shares[np.arange(len(matches)), matches], found.is_plan)
    own = []
    for votes, source, goal in ((scores, *task.labels[::-1]), (scores.T, *task.labels)):
        if not found.is_plan:
            top = np.argsort(-votes, axis=1)[:, :VOTES]
            votes = np.zeros(votes.shape)
            np.put_along_axis(votes, top, 1.0, axis=1)
        kinds, codes = np.unique(source, return_inverse=True)
        sums = votes @ np.eye(len(kinds))[codes]
        share = sums.max(axis=1) / np.maximum(sums.sum(axis=1), 1e-300)
        own.append((kinds[sums.argmax(axis=1)] == goal, share))
    return _of_labels(own)


def _of_matches(task: Task, matches: np.ndarray, confidence: np.ndarray, is_chance: bool) -> dict[str, float]:
    counted = task.truth >= 0
    counted[[i for i, _ in task.pairs or ()]] = False
    right = (matches == task.truth) & (task.truth >= 0)
    area, error = area_and_error(confidence if is_chance else np.zeros(len(right)), right)
    if not is_chance:
        area, error = area_and_error(_ranked(confidence), right)[0], np.nan
    return {"right": float(right[counted].mean()), "AUC": area, "error": error}


def _ranked(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values)) / len(values)


def _of_labels(own: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    parts = [area_and_error(share, right) for right, share in own]
    return {
        "right": float(np.mean([right.mean() for right, _ in own])),
        "AUC": float(np.mean([area for area, _ in parts])),
        "error": float(np.mean([error for _, error in parts])),
    }


def ours(task: Task, draw: int) -> dict[str, float]:
    """What align_embeddings has, with its own confidence and labels."""
    found = ao.align_embeddings(task.x, task.y, seeds=task.pairs, rng=draw, progress=False)
    said = {"reliable": found.reliable}
    if task.truth is not None:
        return _of_matches(task, found.matches, found.confidence, True) | said
    own = []
    for onto, source, goal in (("first", *task.labels[::-1]), ("second", *task.labels)):
        given, share = found.transfer(source, onto=onto)
        own.append((given == goal, share))
    sure = [(int((share >= 0.9).sum()), int(right[share >= 0.9].sum())) for right, share in own]
    return _of_labels(own) | said | {"sure": sum(n for n, _ in sure), "sure and right": sum(r for _, r in sure)}


def tuned(name: str, log: Path) -> tuple[str, float]:
    """Costs and epsilon of entropic GW that are best on a draw that is not reported."""
    for line in _lines(log):
        if line["data"] == name and line["method"] == "tuning":
            return line["costs"], line["epsilon"]
    task = dict(tasks(TUNING_DRAW))[name]()
    kinds = ("cosine",) if task.truth is not None else ("cosine", "graph")
    grid = [(kind, epsilon) for kind in kinds for epsilon in EPSILONS]
    right = [judged(task, entropic_gw(task, *one))["right"] for one in grid]
    best = grid[int(np.argmax(right))]
    _append(log, {"data": name, "method": "tuning", "draw": TUNING_DRAW, "costs": best[0], "epsilon": best[1]})
    return best


def measure(programs: Path, log: Path, methods: list[str] | None, draws: list[int]) -> None:
    """Append to the log what it does not have."""
    rivals = Rivals(programs)
    known: dict[str, Callable[[Task, int], Found]] = {
        "GW from sorted rows, Procrustes": gw_and_procrustes,
        "MUSE, vecmap's start": muse,
        "Wasserstein-Procrustes, convex start": rivals.wasserstein_procrustes,
        "mini-vec2vec": rivals.mini_vec2vec,
        "vecmap": rivals.vecmap,
    }
    names = methods or list(SHORT)
    done = {(line["data"], line["method"], line["draw"]) for line in _lines(log)}
    for draw in draws:
        for name, make in tasks(draw):
            missing = [method for method in names if (name, method, draw) not in done]
            task = make() if missing else None
            for method in missing:
                choice = tuned(name, log) if method == "entropic GW, tuned" else None
                begin = _spent()
                try:
                    if method == "align_embeddings":
                        values = ours(task, draw)
                    else:
                        found = entropic_gw(task, *choice) if choice else known[method](task, draw)
                        values = judged(task, found)
                except (ValueError, subprocess.CalledProcessError) as error:  # fewer points than its clusters
                    values = {"failed": str(error)[:100]}
                _append(log, {"data": name, "method": method, "draw": draw, **values, "seconds": _spent() - begin})


def _spent() -> float:
    """CPU seconds of this process and of those that it started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _append(log: Path, line: dict[str, Any]) -> None:
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


def tables(log: Path) -> str:
    """All values of all draws, their means, and the shares of right matches side by side."""
    columns = {"right": 3, "AUC": 2, "error": 2, "reliable": 2, "seconds": 1}
    head = "| {} | method | right | AUC | calibration error | reliable | CPU seconds |\n|---|---|---|---|---|---|---|"
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name, _ in tasks(0)}
    for line in sorted(_lines(log), key=lambda line: line["draw"]):
        if line["method"] != "tuning":
            rows[line["data"]].setdefault(line["method"], []).append(line)
    every, means = [head.format("every draw")], [head.format("means of draws")]
    short = ["| share right | " + " | ".join(SHORT.values()) + " | reliable |\n|" + "---|" * (len(SHORT) + 2)]
    for name, by_method in rows.items():
        for method in SHORT:
            own = by_method.get(method, [])
            values = {column: [line.get(column, np.nan) for line in own] for column in columns}
            lists = [_listed(values[column], digits_of) for column, digits_of in columns.items()]
            averages = [_mean(values[column], digits_of) for column, digits_of in columns.items()]
            every.append(f"| {name} | {method} | {' | '.join(lists)} |")
            means.append(f"| {name} | {method} | {' | '.join(averages)} |")
        right = [_mean([line.get("right", np.nan) for line in by_method.get(method, [])], 2) for method in SHORT]
        reliable = _mean([line["reliable"] for line in by_method.get("align_embeddings", [])], 2)
        short.append(f"| {name} | {' | '.join(right)} | {reliable} |")
    chosen = [
        f"{line['data']}: {line['costs']}, {line['epsilon']:g} of the mean"
        for line in _lines(log)
        if line["method"] == "tuning"
    ]
    return "\n\n".join(["Entropic GW, as tuned: " + "; ".join(chosen), *map("\n".join, (every, means, short))])


def _mean(values: list[float], digits_of: int) -> str:
    return f"{np.mean(values):.{digits_of}f}" if len(values) and np.isfinite(values).all() else ""


def _listed(values: list[float], digits_of: int) -> str:
    finite = [f"{value:.{digits_of}f}" for value in values if np.isfinite(value)]
    return ", ".join(finite[:-1]) + " and " + finite[-1] if len(finite) > 1 else "".join(finite)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=Path("programs"), help="folder of public programs")
    parser.add_argument("--log", type=Path, required=True, help="values, one JSON object to a line")
    parser.add_argument("--methods", nargs="*", help="some of the methods alone")
    parser.add_argument("--draws", nargs="*", type=int, default=list(range(DRAWS)), help="some of the draws alone")
    parser.add_argument("--write", action="store_true", help="write the tables into record.toml, and measure nothing")
    options = parser.parse_args()
    if options.write:
        write_results("embeddings_rivals.py", "", tables(options.log))
        return
    warnings.simplefilter("ignore")
    measure(options.programs, options.log, options.methods, options.draws)
    print(tables(options.log))


if __name__ == "__main__":
    main()
