"""How many points each solver matches correctly: spaces with a known correspondence, one run, one thread.

    python benchmarks/align.py --quick            six pairs of scans, two of each other set
    python benchmarks/align.py                    all pairs of scans within a subject, some across, and the other sets
    python benchmarks/align.py --large            with pairs of 2000 points
    python benchmarks/align.py --data FOLDER      data sets elsewhere than in ../shared/data or ANCHOROT_DATA

The second space of every pair is shuffled. "good" is the share of pairs whose objective is at most that of the true
correspondence, "hits" the share of points with their true match, "error" the mean cost between match and true match in
shares of the largest, "loss" that of the plan in times that of the true correspondence (median), "over POT" the time in
times that of POT started from the product plan, on the same pairs. Times are CPU seconds, which a busy machine changes
less.
Costs along surfaces are kept in the temporary folder. One thread, unless OMP_NUM_THREADS and the like say otherwise.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads its BLAS

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import ot

import anchorot as ao
from measure import Row, table, write_results
from problems import Problem, cell_problems, isometry_problems, large_problems, scan_problems

DATA = Path(os.environ.get("ANCHOROT_DATA", Path(__file__).parents[2] / "shared" / "data"))
OURS, PRODUCT = "align", "POT, product start"
OTT_EPSILON = 5e-3  # of the largest cost; smaller ones take minutes. Its compilation falls on the first pair


class Outcome(NamedTuple):
    """How one solver did on one problem."""

    is_good: bool
    loss: float  # in times that of the true correspondence
    hits: float
    error: float
    label_transfer: float
    seconds: float


# -- solvers -------------------------------------------------------------------------------------------------------


Solver = Callable[[Problem], np.ndarray]


def pot(problem: Problem, start: np.ndarray | None = None) -> np.ndarray:
    x, y = problem.x, problem.y
    return ot.gromov.gromov_wasserstein(x.cost, y.cost, x.weights, y.weights, "square_loss", G0=start)


def pot_from_anchors(problem: Problem) -> np.ndarray:
    return pot(problem, ao.anchor_wasserstein(problem.x, problem.y, epsilon=0.0).plan)


def ott_entropic(problem: Problem) -> np.ndarray:
    from ott.geometry.geometry import Geometry
    from ott.problems.quadratic.quadratic_problem import QuadraticProblem
    from ott.solvers.linear.sinkhorn import Sinkhorn
    from ott.solvers.quadratic.gromov_wasserstein import GromovWasserstein

    spaces = [Geometry(cost_matrix=np.asarray(space.cost / space.cost.max(), np.float32)) for space in problem[:2]]
    solver = GromovWasserstein(linear_solver=Sinkhorn(), epsilon=OTT_EPSILON, max_iterations=100)
    return np.asarray(solver(QuadraticProblem(*spaces)).matrix, np.float64)


def cajal_gw(problem: Problem) -> np.ndarray:
    from cajal.run_gw import gw_pairwise_parallel

    cells = [(space.cost, space.weights) for space in problem[:2]]
    return np.asarray(gw_pairwise_parallel(cells, 1, return_coupling_mats=True)[1][0][2])


def solvers() -> dict[str, Solver]:
    found: dict[str, Solver] = {
        PRODUCT: pot,
        "POT, started from AW": pot_from_anchors,
        OURS: lambda problem: ao.align(problem.x, problem.y).plan,
    }
    for package, name, solver in (("ott", "ott, entropic", ott_entropic), ("cajal", "CAJAL", cajal_gw)):
        if find_spec(package) is None:
            print(f"{name}: {package} is not installed, left out")
        else:
            found[name] = solver
    return found


# -- rows ----------------------------------------------------------------------------------------------------------


def outcome(problem: Problem, solve: Solver) -> Outcome:
    begin = time.process_time()
    plan = solve(problem)
    seconds = time.process_time() - begin
    scores = ao.alignment_scores(plan, problem.truth, problem.y.cost, problem.labels)
    loss = plan_loss(problem, plan)
    transfer = np.nan if scores.label_transfer is None else scores.label_transfer
    is_good = loss <= problem.true_loss * (1 + 1e-9)
    share = loss / problem.true_loss if problem.true_loss > 0 else np.nan
    return Outcome(is_good, share, scores.hits, scores.error / problem.y.cost.max(), transfer, seconds)


def plan_loss(problem: Problem, plan: np.ndarray) -> float:
    """Σ (C_ij - D_kl)² P_ik P_jl for symmetric costs."""
    x, y = problem.x.cost, problem.y.cost
    a, b = plan.sum(axis=1), plan.sum(axis=0)
    return float(a @ np.square(x) @ a + b @ np.square(y) @ b - 2 * (plan * (x @ plan @ y)).sum())


def rows_of(
    methods: dict[str, Solver], name: str, problems: list[Problem], bars: dict[str, float], time_bar: float | None
) -> list[Row]:
    """One row a solver; every solver sees a pair before the next pair is looked at, so that all share its weather."""
    found: dict[str, list[Outcome]] = {method: [] for method in methods}
    for problem in problems:
        for method, solve in methods.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what does not converge shows in the figures
                found[method].append(outcome(problem, solve))
    base = [one.seconds for one in found[PRODUCT]]
    what = f"{name}, {len(problems)} pair{'s'[: len(problems) > 1]}, n={problems[0].x.n}"
    return [
        row(f"{what}: {m}", o, base, bars if m == OURS else {}, time_bar if m == OURS else None)
        for m, o in found.items()
    ]


def row(what: str, found: list[Outcome], base: list[float], bars: dict[str, float], time_bar: float | None) -> Row:
    figures = {
        "good": float(np.mean([one.is_good for one in found])),
        "loss": float(np.median([one.loss for one in found])),
        "hits": float(np.mean([one.hits for one in found])),
        "error": float(np.mean([one.error for one in found])),
        "label transfer": float(np.mean([one.label_transfer for one in found])),
    }
    shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items() if not np.isnan(value))
    ratio = float(np.median([one.seconds / other for one, other in zip(found, base, strict=True)]))
    seconds = float(np.median([one.seconds for one in found]))
    limits = [f"{key} at least {least:g}" for key, least in bars.items()]
    limits += [] if time_bar is None else [f"time at most {time_bar:g} times POT's"]
    holds = all(figures[key] >= least for key, least in bars.items()) and (time_bar is None or ratio <= time_bar)
    return Row(what, f"{shown}; {seconds:.2f} s, {ratio:.2f} over POT", ", ".join(limits), holds if limits else None)


SETS: dict[str, tuple[str, Callable[[Path, bool], Iterator[Problem]], dict[str, float], float | None]] = {
    "scans": ("faust_two_subjects", scan_problems, {"good": 0.9, "hits": 0.85}, 3.0),
    "isometries of SHREC'10": ("shrec10_subset", isometry_problems, {}, 3.0),
    "large scans": ("faust_two_subjects", large_problems, {}, 1.0),
    "cells": ("singlecell", cell_problems, {}, None),
}


def quality_rows(folder: Path = DATA, *, is_quick: bool = False, is_large: bool = True) -> list[Row]:
    rows: list[Row] = []
    methods = solvers()
    for name, (needed, problems, bars, time_bar) in SETS.items():
        if not (folder / needed).is_dir():
            print(f"{name}: there is no {needed} in {folder}, left out")
        elif name != "large scans" or is_large:
            of_one_size: dict[int, list[Problem]] = {}
            for problem in problems(folder, is_quick):
                of_one_size.setdefault(problem.x.n, []).append(problem)
            for group in of_one_size.values():
                rows += rows_of(methods, name, group, bars, time_bar)
    return rows


SLOW = (quality_rows,)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few pairs of each set")
    parser.add_argument("--large", action="store_true", help="pairs of 2000 points too")
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    options = parser.parse_args()
    rows = quality_rows(options.data, is_quick=options.quick, is_large=options.large)
    print(table(rows))
    if options.write:
        write_results("align.py", " ".join(sys.argv[1:]), table(rows))


if __name__ == "__main__":
    main()
