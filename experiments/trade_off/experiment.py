"""Find the nearest shapes by every distance, see how often they are of the right class, and how long a pair takes."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.clock import one_core, seconds
from experiments.common.differences import Difference
from experiments.common.got import got
from experiments.common.noise import noise_floor
from experiments.common.study import Study, Verdict
from experiments.trade_off.drawing import draw_shapes, draw_trade_off, pareto
from experiments.trade_off.methods import Method, methods
from experiments.trade_off.shapes import RANKS, Shapes, hits, read_shapes

TITLE = "Speed against accuracy on 3-D shapes (the paper's figures 3, 6 and 7)"
QUESTION = "How often is a shape's nearest neighbour of its class, and what does one comparison cost?"
DATA = ("tosca_nonrigid3d",)
SIGMA = 10.0  # of GOT's weights exp(-cost / sigma), as in the paper
MARGIN = 0.05  # accuracies that differ by less are called comparable; fixed before the run
CONFIDENCE = 0.9  # of the interval that must lie within the margin: two one-sided tests at 5 %
JUDGED = ("AW (exact)", "GW (from anchors)")  # what AE is compared with, fixed before the run
TIMED_PAIRS, TIMED_SECONDS = 100, 10.0  # at most
GOT_STEPS, GOT_SAMPLES = 300, 20  # of its authors


@dataclass(frozen=True, eq=False)
class Finding:
    """How a method fares.

    Attributes
    ----------
    method : Method
    right : ndarray of bool, shape (draws, shapes, 3)
        Whether the right class is among the nearest 1, 3 and 5.
    seconds : float
        Of one comparison.
    """

    method: Method
    right: NDArray[np.bool_]
    seconds: float

    def row(self) -> dict[str, Any]:
        """Return means and errors: standard deviations over draws or, of one draw, the standard error of a share."""
        accuracies = self.right.mean(axis=1)
        means = accuracies.mean(axis=0)
        if len(accuracies) > 1:
            errors = accuracies.std(axis=0, ddof=1)
        else:
            errors = np.sqrt(means * (1 - means) / self.right.shape[1])
        row: dict[str, Any] = {"method": self.method.name}
        for rank, mean, error in zip(RANKS, means, errors, strict=True):
            row |= {f"top-{rank}": float(mean), f"top-{rank} error": float(error)}
        return row | {"draws": len(accuracies), "queries": self.right.shape[1], "seconds": self.seconds}

    def less(self, other: "Finding") -> Difference:
        """Return by how much more often it is right than another, shape by shape over the draws that both had."""
        common = min(len(self.right), len(other.right))
        gains = self.right[:common, :, 0].astype(float) - other.right[:common, :, 0]
        return Difference.of(gains.mean(axis=0), CONFIDENCE)


def run(study: Study) -> None:
    """Compare all shapes by all methods, in several draws of points."""
    n_small, n_large, n_reads = (60, 120, 1) if study.quick else (100, 500, 2)
    kept = (5, 3) if study.quick else (None, None)  # classes, and shapes of each
    folder = study.data["tosca_nonrigid3d"]
    reads = [read_shapes(folder, n_large, study.rng(k), *kept) for k in range(n_reads)]
    findings = []
    for method in methods(n_small, n_large, study.quick):
        if method.n_points == n_large:
            draws = reads[: method.draws]
        else:
            draws = [reads[0].part(k, n_small) for k in range(method.draws)]
        findings.append(_find(study, method, draws))
    rows = [finding.row() for finding in findings]
    families = [finding.method.family for finding in findings]
    study.figure("trade_off", draw_trade_off(rows, families), _caption(reads[0], n_small))
    study.figure("shapes", draw_shapes(reads[0]), "A shape of each class, turned to be seen well.")
    study.table(
        "trade_off", rows, "Share of shapes whose class is among the nearest 1, 3 and 5, and the time of a pair"
    )
    _claim(study, {finding.method.name: finding for finding in findings})
    _notes(study, n_small)
    _note_on_noise(study, *(reads[0].part(k, n_small) for k in range(2)))
    _note_on_got(study, reads[0].part(0, n_small))
    for finding, row in zip(findings, rows, strict=True):
        study.value(f"{row['method']}, top-1", row["top-1"], 1.1 / finding.right.shape[1])


def _find(study: Study, method: Method, draws: list[Shapes]) -> Finding:
    n_jobs = 1 if study.quick else study.n_jobs  # to start workers takes longer than a quick run's pairs
    right = []
    for shapes in draws:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ao.ConvergenceWarning)  # of GW at small epsilons
            distances = method.all_pairs(shapes.spaces, n_jobs, None if study.quick else study.scratch)
        right.append(hits(distances, shapes.classes))
    return Finding(method, np.array(right), _seconds(study, method, draws[0].spaces))


def _seconds(study: Study, method: Method, spaces: list[ao.Space]) -> float:
    """Mean time of one comparison of two shapes, on one core."""
    rng, times = study.rng(20), []
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)
        method.compare(spaces[0], spaces[1])  # imports what it needs
        for _ in range(3 if study.quick else TIMED_PAIRS):
            i, j = rng.choice(len(spaces), 2, replace=False)
            times.append(seconds(partial(method.compare, spaces[i], spaces[j])))
            if sum(times) > TIMED_SECONDS:
                break
    return float(np.mean(times))


def verdict_of(words: Iterable[str]) -> Verdict:
    """Judge "comparable" by what the tests say of each rival: refuted by one, shown for all, for some, or for none."""
    words = list(words)
    if "not comparable" in words:
        return Verdict.FAILS
    if "comparable" not in words:
        return Verdict.OPEN
    return Verdict.IN_PART if "undecided" in words else Verdict.HOLDS


def _claim(study: Study, findings: dict[str, Finding]) -> None:
    energy = findings["AE"]
    gaps = {name: energy.less(findings[name]) for name in JUDGED}
    words = {name: gap.comparable(MARGIN) for name, gap in gaps.items()}
    verdict = verdict_of(words.values())
    row, others = energy.row(), [findings[name].row() for name in JUDGED]
    found = "; ".join(
        f"{o['method']} {o['top-1']:.3f}, {o['top-5']:.3f} and {1e3 * o['seconds']:.2g} ms" for o in others
    )
    said = "; ".join(
        f"{name} {gap} (90 % interval {gap.low:+.3f} to {gap.high:+.3f}: {words[name]})" for name, gap in gaps.items()
    )
    front = ", ".join(row["method"] for row in pareto([finding.row() for finding in findings.values()], 1))
    study.claim(
        "AE performs comparably to AW and GW, although it is fast and has no hyperparameters.",
        f"Top-1 and top-5 accuracy and time of a pair: AE {row['top-1']:.3f}, {row['top-5']:.3f} and "
        f"{1e3 * energy.seconds:.2g} ms; {found}.",
        verdict,
        f"By two one-sided tests at 5 % with a margin of {MARGIN:g}, fixed beforehand, over the same shapes and draws, "
        f"AE less: {said}. Where an interval crosses the margin nothing is shown, and that is not called comparable. "
        f"On the Pareto front of top-1 are: {front}.",
    )


def _caption(shapes: Shapes, n_small: int) -> str:
    return (
        f"Accuracy of the nearest, the 3 and the 5 nearest of {len(shapes.spaces)} TOSCA shapes against the time of "
        f"one comparison; n = {n_small} points but where said. One line a method, over its parameters; diamonds are "
        "without regularisation. Whiskers: standard deviation over draws of points or, of one draw, standard error."
    )


def _notes(study: Study, n_small: int) -> None:
    study.note(
        "Points are drawn uniformly among the vertices, distances along the surface are by the heat method, weights "
        "are uniform, and the shark is left out, as it is alone in its class. Small draws are disjoint parts of one "
        "large one. All shapes look for their neighbours among all others, by every method."
    )
    study.note(
        f"AW's epsilons are in the paper's definition; those of its figures are {n_small**2} times smaller. GW from "
        "anchors is that of `pairwise`: the better of two starts, the Anchor Energy Plan and the product of the "
        "weights. Entropic GW starts from the product, as in the paper; epsilons are in POT's convention, four times "
        "the paper's. Sampled GW takes 0.4 s a pair with 10 samples a step, more than an hour for all pairs, and is "
        "left out, as no method is shown with fewer queries. Quantized and low-rank GW are POT's, judged by the loss "
        "of their plans; low-rank GW stays at the loss of the product plan on these costs, whatever its rank. Sliced "
        "TLB is that of arXiv 2508.02364, in a few lines on POT. Times are from costs to distance, without the "
        "measuring of the shapes."
    )


def _note_on_noise(study: Study, first: Shapes, second: Shapes) -> None:
    """Say how much of the energies is the draw of points: of two draws of every shape."""
    floor = noise_floor(zip(first.spaces, second.spaces, strict=True), study.rng(40))
    energies = ao.pairwise(first.spaces, n_jobs=1, progress=False)
    alike = np.equal.outer(first.classes, first.classes) & ~np.eye(len(energies), dtype=bool)
    same, other = energies[alike].mean(), energies[np.not_equal.outer(first.classes, first.classes)].mean()
    study.note(
        f"How much of it is the draw: two disjoint draws of one shape have an AE of {floor.plain:.2g} on average, two "
        f"shapes of one class {same:.2g} and of two classes {other:.2g}. `anchor_energy_estimate`, which is free of "
        f"that noise, finds {floor.value:+.2g} ± {floor.value_error:.1g} between draws of one shape, and its 95 % "
        f"interval holds 0 for {floor.covered:.0%} of the {floor.pairs} shapes."
    )


def _note_on_got(study: Study, shapes: Shapes) -> None:
    """Say why GOT is not in the picture, by what a pair takes."""
    n_steps = 2 if study.quick else 10
    x, y = (np.exp(-space.cost / SIGMA) for space in shapes.spaces[:2])
    with one_core():
        taken = seconds(partial(got, x, y, n_steps, study.rng(30), n_samples=GOT_SAMPLES)) / n_steps * GOT_STEPS
    n = len(shapes.spaces)
    study.note(
        f"GOT is not in the picture. With the steps and samples that its authors take ({GOT_STEPS}, {GOT_SAMPLES}) a "
        f"pair takes {taken:.0f} s here (by {n_steps} steps), all {n * (n - 1) // 2} pairs "
        f"{n * (n - 1) / 2 * taken / 3600:.0f} hours; an hour is enough for {3600 / taken / n:.1f} queries. With the 5 "
        "and 20 steps of an earlier figure its plan has hardly left its start, and what it was shown with is not GOT's "
        "accuracy."
    )
