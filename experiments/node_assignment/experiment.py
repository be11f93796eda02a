"""Match the nodes of two graphs grown by one rule, and see whether matched nodes joined at like times."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import in_workers
from experiments.node_assignment.claims import (
    FIXED_RIVAL,
    Figures,
    Table,
    claim_better,
    claim_others_fail,
    difference_rows,
    shown_methods,
)
from experiments.node_assignment.drawing import WAYS, draw_bars, draw_roles
from experiments.node_assignment.matchings import Labelled
from experiments.node_assignment.roles import Role, roles
from experiments.node_assignment.scores import scores

TITLE = "Node assignment (the paper's figure 5)"
QUESTION = (
    "Two graphs are grown by the same rule. Does the Anchor Energy Plan match nodes that joined at like times, "
    "better than other methods do?"
)
DATA: tuple[str, ...] = ()
N_SLOW = 3  # pairs of graphs, the first of those for tuning, that the slow method is given

Pair = tuple[Labelled, Labelled]
Scored = dict[str, dict[str, float | None]]  # by method and kind


def run(study: Study) -> None:
    """Compare all methods on pairs of graphs, numbered and with ties broken in three ways."""
    n, n_tuning = (60, 2) if study.quick else (200, 10)
    n_fresh = study.draws("better", 5)
    pairs = [_grown(study, n, number) for number in range(n_fresh + n_tuning)]
    fresh, tuning = pairs[:n_fresh], pairs[n_fresh:]
    table = _all_scores(study, pairs, n_fresh)
    figures = Figures(_gathered(table[n_fresh:]), _gathered(table[:n_fresh]))
    shown = shown_methods(figures)
    study.figure("correlations", draw_bars({name: figures.columns(name) for name in shown}), _caption(n, fresh, tuning))
    study.table("differences", difference_rows(figures, shown), "AEP less other methods, ties split: mean over pairs")
    study.table("correlations", _rows(figures), "Correlation of latent orders: mean ± standard error over pairs")
    claim_better(study, figures, shown)
    claim_others_fail(study, figures)
    _show_roles(study, fresh)
    _notes(study, len(tuning))
    _values(study, figures)


def _grown(study: Study, n: int, number: int) -> Pair:
    return Labelled.grown(n, study.rng(number, 0)), Labelled.grown(n, study.rng(number, 1))


def _all_scores(study: Study, pairs: Sequence[Pair], n_fresh: int) -> list[Scored]:
    slow = range(n_fresh, n_fresh + N_SLOW)
    work = [(pair, study.rng(number, 2), study.quick, number in slow) for number, pair in enumerate(pairs)]
    return in_workers(study, _scores, work, "matching", "pairs of graphs")


def _scores(work: tuple[Pair, np.random.Generator, bool, bool]) -> Scored:
    pair, rng, quick, slow = work
    return {name: asdict(score) for name, score in scores(*pair, rng, quick=quick, slow=slow).items()}


def _gathered(found: Sequence[Scored]) -> Table:
    """Columns over pairs, with NaN for what a method does not have; a slow method's are of the first pairs."""
    return {
        name: {kind: np.array([one[name][kind] for one in found if name in one], dtype=np.float64) for kind in kinds}
        for name, kinds in found[0].items()
    }


def _rows(figures: Figures) -> list[dict[str, Any]]:
    rows = []
    for name in figures.tuning:
        columns = figures.columns(name)
        row: dict[str, Any] = {"method": name}
        for kind in (*WAYS, "leak", "expected", "coupled"):
            values = columns[kind]
            error = values.std(ddof=1) / np.sqrt(len(values))
            row[kind.replace("_", " ")] = None if np.isnan(values).any() else f"{values.mean():.3f} ± {error:.3f}"
        apart = float(columns["apart"].mean())
        row["from product"] = None if np.isnan(apart) else f"{apart:.2f}"
        rows.append(row | {"pairs": len(columns["split"]), "seconds": float(f"{columns['seconds'].mean():.2g}")})
    return rows


def _values(study: Study, figures: Figures) -> None:
    """Report what tests compare: exact but for the choices among ties; what solvers find, up to a few nodes."""
    for name in ("AEP", "degree", "Katz (share 0.5)"):
        for way in WAYS:
            study.value(f"{name}, {way}", figures.mean(name, way), 0.005)
    for name in ("AW (exact)", FIXED_RIVAL, "align"):
        for kind in ("split", "expected"):
            study.value(f"{name}, {kind}", figures.mean(name, kind), 0.02)
    study.value("AEP, leak", figures.mean("AEP", "leak"), 0.005)
    study.value("AEP, from product", figures.mean("AEP", "apart"), 0.002)


def _show_roles(study: Study, pairs: list[Pair]) -> None:
    found: list[tuple[Role, Role]] = [roles(*pair) for pair in pairs]
    central, peripheral = ([pair[side] for pair in found] for side in (0, 1))
    right = [bool(a.best <= 0.1 and b.best >= 0.5) for a, b in found]
    spread = np.mean([a.row.max() * len(a.row) for a in central])
    study.claim(
        "The central node matches with central nodes, the peripheral one with peripheral nodes.",
        f"In {sum(right)} of {len(found)} pairs the heaviest match of the most central node is among the most central "
        "tenth, and that of the most peripheral node in the peripheral half.",
        [Part("share of pairs", "node_assignment.roles", Interval.share(sum(right), len(found)))],
        "On a scale from 0, most central, to 1, most peripheral, the mass of the central node lies at "
        f"{np.mean([role.mean for role in central]):.2f} and that of the peripheral one at "
        f"{np.mean([role.mean for role in peripheral]):.2f}; it is spread widely: the largest entry of a central "
        f"node's row is {spread:.1f} times the mean.",
    )
    study.figure(
        "roles",
        draw_roles(*pairs[0], *found[0]),
        "The most central node of one graph and its most "
        "peripheral one, and their rows of the Anchor Energy Plan (ties split) on another graph.",
    )
    study.value("role of the central node", np.mean([role.mean for role in central]), 0.01)
    study.value("role of the peripheral node", np.mean([role.mean for role in peripheral]), 0.01)


def _caption(n: int, fresh: list[Pair], tuning: list[Pair]) -> str:
    return (
        f"Correlation of latent orders of matched nodes, {len(fresh)} pairs of Barabasi-Albert graphs (n = {n}, m = 2; "
        f"{N_SLOW} other pairs for GOT): bars are means, whiskers standard errors. Of methods with a parameter "
        f"the form is shown that is best on {len(tuning)} other pairs."
    )


def _notes(study: Study, n_tuning: int) -> None:
    study.note(
        "A plan is read by the largest entry of each row, as in the authors' program; where several are equal, by the "
        "first or, with ties split, by one at random (mean of 20 draws). Centralities match nodes in their order, "
        "equal ones by number or at random. In the table, *leak* is the correlation of random numbers under ties "
        "by number, *expected* that of a node's order and its row's mean order, *coupled* that of two nodes drawn by "
        "the plan, *from product* the plan's total variation from the product coupling; *seconds* are of one core."
    )
    study.note(
        f"Methods with a parameter, centralities as well, are tuned on {n_tuning} pairs that take no part in the "
        "results; AEP, align and the other centralities have none. GW from product is the usual baseline: POT's "
        "solvers from the product of the weights, at most 100 steps where there is an epsilon; at 0.1 its inner "
        "Sinkhorn no longer converges. GW from anchors is anchorot's, the best of several starts. Nodes are matched by "
        "align's sharp plan; its row means and couplings are those of its soft one. Katz's alpha is a share of the "
        "largest possible. HITS on an undirected graph is eigenvector centrality. GOT is written anew from its "
        "definition; 200 steps take so long that it was given few pairs, of those for tuning."
    )
    study.note(
        "GWL matches nodes by Gromov-Wasserstein in proximal-point steps and, in turn, learns embeddings of the nodes "
        "whose distances join the costs. Here are its steps alone (POT's), on shortest paths; the learning is not, so "
        "that these rows say nothing of GWL as a whole. Inner problems are solved to convergence. At epsilon 1, "
        "entries of its plans underflow to zero, of which the next step takes the logarithm: that form is left out."
    )
