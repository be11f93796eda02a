"""Which settings are tried on cells, what is shown of them, and what is said."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.beyond.cell_plans import BASELINE, MAX_ITER, METHODS
from experiments.beyond.cells import (
    BATCHES,
    VOTES,
    Alignment,
    Optimum,
    Pair,
    align,
    name_costs,
    scgem,
    snare,
    truth_as_optimum,
)
from experiments.beyond.drawing import Choice, draw_alignments, draw_scores
from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import in_workers

NEIGHBORS = {"scGEM": (20, 35, 50), "SNARE-seq": (110,)}
Setting = tuple[str, int | None, float | None]


def align_cells(study: Study) -> None:
    """Align the cells of all data sets by all methods, and say how well that went."""
    folder = study.data["singlecell"]
    pairs = [scgem(folder / "scGEM")] if study.quick else [scgem(folder / "scGEM"), snare(folder / "SNARE")]
    work = [(pair, setting) for pair in pairs for setting in _settings(study, pair)]
    found = in_workers(study, _align, work, "aligning", "plans")
    asked = [(pair, k) for pair in pairs for k in _costs(study, pair)]
    optima = in_workers(study, _optimum, asked, "descending from the truth", "plans")
    usual = {pair.name: {method: _usual(found, pair, method) for method in METHODS} for pair in pairs}
    _show(study, pairs, usual)
    study.table(
        "optima",
        [_optimum_row(one, found) for one in optima],
        "Is the truth what Gromov-Wasserstein looks for? Losses of the true matches, of where a descent from them ends "
        "(and the share of them that it keeps), and of the results without an epsilon, with their FOSCTTM",
    )
    for pair in pairs:
        own = [one for one in optima if one.data == pair.name]
        _report(study, pair, usual[pair.name], _truth_told(own, found))
        for one in own:
            result = _find(found, one.data, "align", one.n_neighbors, None)
            study.value(f"{one.data} {result.costs}: loss of the truth over align's", one.truth / result.loss, 0.02)
    _explain(study, pairs)


def _align(work: tuple[Pair, Setting]) -> Alignment:
    pair, setting = work
    return align(pair, *setting)


def _optimum(work: tuple[Pair, int | None]) -> Optimum:
    return truth_as_optimum(*work)


def _costs(study: Study, pair: Pair) -> tuple[int | None, ...]:
    return (pair.n_neighbors, None) if study.quick else (*NEIGHBORS[pair.name], None)


def _settings(study: Study, pair: Pair) -> list[Setting]:
    """Return the usual setting of every method, and GW without an epsilon on all costs."""
    own = {BASELINE: pair.epsilon}
    usual: list[Setting] = [(method, pair.n_neighbors, own.get(method)) for method in METHODS]
    free: list[Setting] = [(method, k, None) for method in (BASELINE, "align") for k in _costs(study, pair)]
    return list(dict.fromkeys(usual + free))


def _usual(found: Sequence[Alignment], pair: Pair, method: str) -> Alignment:
    """Return the usual epsilon on SCOT's costs."""
    epsilon = pair.epsilon if method == BASELINE else None
    return _find(found, pair.name, method, pair.n_neighbors, epsilon)


def _find(found: Sequence[Alignment], *wanted: str | float | None) -> Alignment:
    return next(one for one in found if (one.data, one.method, one.n_neighbors, one.epsilon) == wanted)


def _show(study: Study, pairs: list[Pair], usual: Choice) -> None:
    rows = [{"setting": "usual"} | _row(usual[pair.name][method]) for pair in pairs for method in METHODS]
    study.table("cells", rows, "Cells, mean ± standard error over cells; seconds of one core, without making the costs")
    study.figure(
        "cells",
        draw_scores(pairs, usual),
        "How well cells of two assays are aligned, at usual settings. Bars are standard errors over cells.",
    )
    study.figure(
        "aligned",
        draw_alignments(pairs, usual),
        "Left: cells of the second assay by type. Then, in colour, cells of the first assay carried over to it (over "
        "the second in grey), at the usual setting of each method.",
    )


def _row(one: Alignment) -> dict[str, Any]:
    return {
        "data": one.data,
        "method": one.method,
        "costs": one.costs,
        "epsilon": one.epsilon,
        "FOSCTTM": str(one.foscttm),
        "label transfer": str(one.transfer),
        "FOSCTTM, projected": str(one.projected_foscttm),
        "label transfer, projected": str(one.projected_transfer),
        "GW loss": float(f"{one.loss:.4g}"),
        "seconds": float(f"{one.seconds:.2g}"),
        "converged": "yes" if one.converged else "no",
    }


def _optimum_row(one: Optimum, found: Sequence[Alignment]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "data": one.data,
        "costs": name_costs(one.n_neighbors),
        "truth": float(f"{one.truth:.4g}"),
        "from truth": float(f"{one.from_truth:.4g}"),
        "kept": f"{one.kept:.0%}",
    }
    for method in (BASELINE, "align"):
        result = _find(found, one.data, method, one.n_neighbors, None)
        row[method] = float(f"{result.loss:.4g}")
        row[f"FOSCTTM, {method}"] = f"{result.foscttm.mean:.2f}"
    return row


def _report(study: Study, pair: Pair, usual: dict[str, Alignment], truth_told: str) -> None:
    """State both scores of all methods, and judge align beside what is in use."""
    texts = []
    for method, one in usual.items():
        texts.append(f"{method} {one.foscttm} and {one.transfer} in {one.seconds:.2g} s ({one.setting})")
        study.value(f"{pair.name} {method} FOSCTTM", one.foscttm.mean, 0.01)
        study.value(f"{pair.name} {method} label transfer", one.transfer.mean, 3.5 / len(pair.types))
    spread = float(np.sqrt(pair.second.var(axis=0).sum()))
    kept = {method: f"{usual[method].spread / spread:.0%}" for method in METHODS}
    gain = Interval.mean(usual[BASELINE].batches - usual["align"].batches)
    study.claim(
        f"Not in the paper: align, with nothing to choose, matches the cells of {pair.name} better than SCOT's GW.",
        f"FOSCTTM and label transfer of {len(pair.types)} cells: {'; '.join(texts)}.",
        [Part(f"FOSCTTM, {pair.name}: SCOT's GW less align", "beyond.align_scot", gain)],
        "AEP and AW compare how far away all others are, cell by cell, but not whether two cells that are near stay "
        "near, which GW does: cells of different types with like surroundings cannot be told apart. AEP and AW keep "
        f"{kept['AEP']} and {kept['AW']} of the spread of the cells (SCOT's GW {kept[BASELINE]}, align "
        f"{kept['align']}): mass that goes to many cells lands in the middle. {truth_told}",
    )


def _truth_told(optima: Sequence[Optimum], found: Sequence[Alignment]) -> str:
    """Say whether the truth is what Gromov-Wasserstein looks for."""
    results = [_find(found, one.data, "align", one.n_neighbors, None) for one in optima]
    losses = "; ".join(
        f"{result.costs} {one.truth:.4f}, align's {result.loss:.4f}"
        for one, result in zip(optima, results, strict=True)
    )
    worse = all(one.truth > result.loss for one, result in zip(optima, results, strict=True))
    kept = max(one.kept for one in optima)
    verdict = (
        "The truth is not what GW looks for, so that no solver can find it by lowering the loss:"
        if worse
        else "On some costs the truth has a loss below all results, which a better solver could find:"
    )
    text = f"{verdict} loss of the true matches, {losses}; a descent from them keeps at most {kept:.0%} of them."
    wrong = [one for one in found if one.data == optima[0].data and one.foscttm.mean > 0.5 and "GW" in one.method]
    if wrong:
        text += " Worse than chance are " + "; ".join(
            f"{one.method} ({one.setting}), FOSCTTM {one.foscttm.mean:.2f}, loss {one.loss:.4f}" for one in wrong
        )
        text += "."
    return text


def _explain(study: Study, pairs: list[Pair]) -> None:
    study.note(
        "Cells: profiles of length 1; costs are shortest paths on the graph of nearest neighbours by correlation, as "
        "in SCOT, or Euclidean distances, divided by the largest. Scores are of the plan, by `alignment_scores`: "
        "FOSCTTM, the fraction of cells closer than the true match to where a cell's mass goes (distances of profiles "
        "of the second assay), and label transfer, the type that most of a cell's mass goes to. *Projected* are SCOT's "
        "own: the first assay (expression of scGEM, accessibility of SNARE-seq) is carried over to the second by the "
        f"plan, FOSCTTM is over both directions, types are by {VOTES} nearest neighbours. Of align the soft plan is "
        f"scored, and the loss is of the sharp one. Standard errors of FOSCTTM are from {BATCHES} batches of cells."
    )
    study.note(
        "Usual settings: SCOT's neighbours (35, 110) for all; its epsilon (5e-3, 1e-3) for its own GW, which is POT's "
        f"from the product of the weights, stopped after {MAX_ITER} iterations; for the others what the library does "
        "by itself. GW from anchors and align are anchorot's, several starts each. All is deterministic: errors are "
        "over cells. Seconds are those a processor worked, not those on the clock."
    )
    for pair in pairs:
        if pair.left_out:
            study.note(f"{pair.name}: one cell is left out of both assays, as the library says: {pair.left_out}.")
