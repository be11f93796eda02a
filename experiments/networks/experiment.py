"""Match the nodes of noisy copies of random networks, by align_graphs and by its rivals."""

import warnings
from itertools import product
from typing import NamedTuple

import numpy as np

from experiments.common.benches import benchmark
from experiments.common.clock import processor_time
from experiments.common.forest import draw_parts
from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import in_workers

TITLE = "Networks: which node is which"
QUESTION = "How many of the common edges of two noisy copies of a network are found again, and by which method?"
DATA = ()
BENCHMARKS = ("networks",)

OURS = "align_graphs"
METHODS = {OURS: "ours", "FAQ": "faq", "FAQ from convex": "faq_from_convex", "BAPG (POT)": "bapg"}
CELLS = (("sparse", 0.25), ("dense", 0.25), ("regular", 0.1))  # kind and noise, as in arXiv 2510.03086
FIRST_SEED = 200
SIZE, QUICK_SIZE = 500, 100


class Work(NamedTuple):
    """A method, and the pair of networks that it is given."""

    method: str
    kind: str
    noise: float
    seed: int
    n: int


class Found(NamedTuple):
    """Shares of the planted common edges, and of the nodes that are matched rightly; seconds of one core."""

    common: float
    right: float
    seconds: float


def run(study: Study) -> None:
    """Match all pairs by all methods."""
    cells = (CELLS[0], CELLS[2]) if study.quick else CELLS  # dense graphs have too many edges for a quick run's nodes
    methods = [OURS, "FAQ"] if study.quick else list(METHODS)
    seeds = range(FIRST_SEED, FIRST_SEED + study.draws("rivals", 2))
    n = QUICK_SIZE if study.quick else SIZE
    work = [Work(method, *cell, seed, n) for cell, method, seed in product(cells, methods, seeds)]
    found = in_workers(study, _match, work, "matching", "networks")
    scores = np.array(found).reshape(len(cells), len(methods), len(seeds), 3)
    parts = [
        Part(f"{kind}, noise {noise:g}: {OURS} less {name}", "networks.rivals", Interval.mean(own[0, :, 0] - row[:, 0]))
        for (kind, noise), own in zip(cells, scores, strict=True)
        for name, row in zip(methods[1:], own[1:], strict=True)
    ]
    rows = [
        {"networks": f"{kind}, noise {noise:g}", "method": name}
        | dict(zip(("common edges", "right nodes", "seconds"), row.mean(axis=0).round(3).tolist(), strict=True))
        for (kind, noise), own in zip(cells, scores, strict=True)
        for name, row in zip(methods, own, strict=True)
    ]
    for row in rows:
        study.value(f"{row['networks']}, {row['method']}: common edges", row["common edges"], 0.02)
    study.table("networks", rows, f"Means over {len(seeds)} pairs of {n} nodes; shares of the planted, CPU seconds")
    study.figure("networks", draw_parts(parts), "Share of the planted common edges that is found, less that of rivals.")
    study.claim(
        f"Ours: {OURS} finds more of the common edges of noisy networks than FAQ and BAPG do.",
        "; ".join(f"{row['networks']}: {row['method']} {row['common edges']:.3f}" for row in rows) + ".",
        parts,
        "A share above 1 is a better matching than the planted one. FUGAL and the trained network of arXiv 2510.03086 "
        "are in `benchmarks/RESULTS.md`; they need programs of their own.",
    )
    study.note(
        "Sparse graphs have degree 4, dense ones 80, regular ones 10. Edges of Erdős-Rényi graphs are lost with the "
        "chance that is the noise, and as many others appear; in regular ones pairs of edges exchange ends. FAQ is "
        "SciPy's, from the barycenter and from 200 steps towards the convex optimum; on regular graphs the two agree."
    )


def _match(work: Work) -> Found:
    networks = benchmark("networks")
    pair = networks.random_pair(work.kind, work.noise, work.seed, work.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matches, seconds = processor_time(lambda: getattr(networks, METHODS[work.method])(pair))
    common = pair.common(matches) / pair.common(pair.truth)
    return Found(common, float(np.mean(matches == pair.truth)), seconds)
