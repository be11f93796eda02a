"""Find the nearest shapes by every distance, see how often they are of the right class, and how long a pair takes."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

from experiments.common.clock import one_core, seconds
from experiments.common.study import Study, Verdict
from experiments.trade_off.drawing import draw_trade_off, pareto
from experiments.trade_off.methods import Method, methods
from experiments.trade_off.shapes import RANKS, Shapes, hits, read_shapes

TITLE = "Speed against accuracy on 3-D shapes (the paper's figures 3, 6 and 7)"
QUESTION = "How often is a shape's nearest neighbour of its class, and what does one comparison cost?"
DATA = ("tosca_nonrigid3d",)
COMPARABLE = 0.05  # accuracies that differ by no more, or within twice the error, are called comparable


@dataclass(frozen=True, eq=False)
class Finding:
    """How a method fares.

    Attributes
    ----------
    method : Method
    queries : ndarray of int, shape (q,)
        Shapes that look for their neighbours.
    right : ndarray of bool, shape (draws, q, 3)
        Whether the right class is among the nearest 1, 3 and 5.
    seconds : float
        Of one comparison.
    """

    method: Method
    queries: NDArray[np.int64]
    right: NDArray[np.bool_]
    seconds: float

    def row(self) -> dict[str, Any]:
        """Return means and errors: standard deviations over draws or, of one draw, the standard error of a share."""
        accuracies = self.right.mean(axis=1)
        means = accuracies.mean(axis=0)
        if len(accuracies) > 1:
            errors = accuracies.std(axis=0, ddof=1)
        else:
            errors = np.sqrt(means * (1 - means) / len(self.queries))
        row: dict[str, Any] = {"method": self.method.name}
        for rank, mean, error in zip(RANKS, means, errors, strict=True):
            row |= {f"top-{rank}": float(mean), f"top-{rank} error": float(error)}
        return row | {"draws": len(accuracies), "queries": len(self.queries), "seconds": self.seconds}

    def lead_over(self, other: "Finding") -> tuple[float, float]:
        """Return by how much more often it is right than one that all shapes asked, and the standard error of that."""
        common = min(len(self.right), len(other.right))
        gains = self.right[:common, :, 0].astype(float) - other.right[:common, self.queries, 0]
        by_query = gains.mean(axis=0)
        return float(by_query.mean()), float(by_query.std(ddof=1) / np.sqrt(len(by_query)))


def run(study: Study) -> None:
    """Compare all shapes by all methods, in several draws of points."""
    n_small, n_large, n_reads = (60, 120, 1) if study.quick else (100, 500, 2)
    kept = (5, 3) if study.quick else (None, None)  # classes, and shapes of each
    folder = study.data["tosca_nonrigid3d"]
    reads = [read_shapes(folder, n_large, study.rng(k), *kept) for k in range(n_reads)]
    unit = float(np.median([np.median(space.cost**2) for space in reads[0].spaces]))
    findings = []
    for method in methods(unit, n_small, n_large, study.quick):
        if method.n_points == n_large:
            draws = reads[: method.draws]
        else:
            draws = [reads[0].part(k, n_small) for k in range(method.draws)]
        findings.append(_find(study, method, draws))
    rows = [finding.row() for finding in findings]
    families = [finding.method.family for finding in findings]
    study.figure("trade_off", draw_trade_off(rows, families), _caption(reads[0], n_small))
    study.table(
        "trade_off", rows, "Share of shapes whose class is among the nearest 1, 3 and 5, and the time of a pair"
    )
    _claim(study, findings)
    _notes(study, unit, n_small)
    for finding, row in zip(findings, rows, strict=True):
        turned = 2.1 if finding.method.family == "GOT" else 1.1  # queries that rounding may turn on another machine
        study.value(f"{row['method']}, top-1", row["top-1"], turned / len(finding.queries))


def _find(study: Study, method: Method, draws: list[Shapes]) -> Finding:
    n = len(draws[0].spaces)
    queries = np.arange(n) if method.queries is None else draws[0].queries(method.queries, study.rng(10))
    n_jobs = 1 if study.quick else study.n_jobs  # to start workers takes longer than a quick run's pairs
    right = []
    for k, shapes in enumerate(draws):
        checkpoint = None if study.quick else study.scratch / f"{method.name} {k}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ao.ConvergenceWarning)  # of GW at small epsilons
            distances = method.all_pairs(shapes.spaces, queries, n_jobs, checkpoint)
        right.append(hits(distances, queries, shapes.classes))
    return Finding(method, queries, np.array(right), _seconds(study, method, draws[0].spaces))


def _seconds(study: Study, method: Method, spaces: list[ao.Space]) -> float:
    """Mean time of one comparison of two shapes, on one core."""
    rng = study.rng(20)
    pairs = [rng.choice(len(spaces), 2, replace=False) for _ in range(3 if study.quick else 100)]
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)
        method.compare(spaces[0], spaces[1])  # imports what it needs
        return float(np.mean([seconds(partial(method.compare, spaces[i], spaces[j])) for i, j in pairs]))


def _claim(study: Study, findings: list[Finding]) -> None:
    energy, *others = findings
    front = ", ".join(row["method"] for row in pareto([finding.row() for finding in findings], 1))
    found, gaps, n_level = [], [], 0
    rivals = [finding for finding in others if finding.method.family in ("AW", "GW")]
    for family in ("AW", "GW"):
        best = max((f for f in rivals if f.method.family == family), key=lambda f: f.lead_over(energy)[0])
        row, (lead, error) = best.row(), best.lead_over(energy)
        n_level += lead <= max(COMPARABLE, 2 * error)
        found.append(f"{row['method']} {row['top-1']:.3f}, {row['top-5']:.3f} and {1e3 * best.seconds:.2g} ms")
        gaps.append(f"{row['method']} {lead:+.3f} ± {error:.3f}")
    faster = min(finding.seconds for finding in rivals) / energy.seconds
    verdict = Verdict.FAILS if n_level == 0 else Verdict.HOLDS if n_level == 2 and faster > 1 else Verdict.IN_PART
    row, more = energy.row(), others[1].row()
    study.claim(
        "AE performs comparably to AW and GW, although it is fast and has no hyperparameters.",
        f"Top-1 and top-5 accuracy and time of a pair: AE {row['top-1']:.3f}, {row['top-5']:.3f} and "
        f"{1e3 * energy.seconds:.2g} ms; the best settings of the others, {'; '.join(found)}.",
        verdict,
        f"On the same queries and draws the others are better than AE by: {', '.join(gaps)} (standard error over "
        f"shapes; up to {COMPARABLE:g} or two errors is comparable). Their fastest setting takes {faster:.1f} times "
        f"as long as AE. On the Pareto front of top-1 are: {front}. {more['method']} has {more['top-1']:.3f}.",
        timed=True,
    )


def _caption(shapes: Shapes, n_small: int) -> str:
    return (
        f"Accuracy of the nearest, the 3 and the 5 nearest of {len(shapes.spaces)} TOSCA shapes against the time of "
        f"one comparison; n = {n_small} points but where said. One line a method, over its parameters; diamonds are "
        "without regularisation. Whiskers: standard deviation over draws of points or, of one draw, standard error."
    )


def _notes(study: Study, unit: float, n_small: int) -> None:
    study.note(
        "Points are drawn uniformly among the vertices, distances along the surface are by the heat method, weights "
        "are uniform, and the shark is left out, as it is alone in its class. Small draws are disjoint parts of one "
        "large one. Where *queries* is less than the number of shapes, only so many of them, evenly from all classes, "
        "look for their neighbours among all others: the accuracy is an estimate, and classes count alike in it."
    )
    study.note(
        f"AW's epsilons are in the paper's definition; those of its figures are {n_small**2} times smaller. GW's are "
        f"shares of the median squared cost, {unit:.4g}, in POT's convention. GW is that of `pairwise`: the better "
        "of two starts, the Anchor Energy Plan and the product of the weights. GOT has weights exp(-cost/10), is "
        "written anew from its definition, and has few steps for want of time. Times are from costs to distance, "
        "without the measuring of the shapes."
    )
