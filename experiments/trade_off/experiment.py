"""Find the nearest shapes by every distance, see how often they are of the right class, and how long a pair takes."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.clock import one_core, seconds
from experiments.common.noise import noise_floor
from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.trade_off.drawing import draw_shapes, draw_trade_off, pareto
from experiments.trade_off.methods import Method, methods
from experiments.trade_off.shapes import RANKS, Shapes, hits, read_shapes

TITLE = "Speed against accuracy on 3-D shapes (the paper's figures 3, 6 and 7)"
QUESTION = "How often is a shape's nearest neighbour of its class, and what does one comparison cost?"
DATA = ("tosca_nonrigid3d",)
JUDGED = {"aw": "AW (exact)", "gw": "GW (from anchors)"}  # what AE is compared with, by rule
TIMED_PAIRS, TIMED_SECONDS = 100, 10.0  # at most


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

    def less(self, other: "Finding") -> Interval:
        """Return by how much more often it is right than another, shape by shape, mean over the same draws."""
        gains = self.right[:, :, 0].astype(float) - other.right[:, :, 0]
        return Interval.mean(gains.mean(axis=0))


def run(study: Study) -> None:
    """Compare all shapes by all methods, in several draws of points."""
    draws = study.draws("aw", 1)
    n_small, n_large = (60, 60) if study.quick else (100, 500)
    kept = (5, 3) if study.quick else (None, None)  # classes, and shapes of each
    shapes = read_shapes(study.data["tosca_nonrigid3d"], draws * n_small, study.rng(0), *kept)
    findings = [
        _find(study, method, [shapes.part(k, method.n_points) for k in range(method.draws)])
        for method in methods(n_small, n_large, draws)
    ]
    rows = [finding.row() for finding in findings]
    families = [finding.method.family for finding in findings]
    study.figure("trade_off", draw_trade_off(rows, families), _caption(shapes, n_small))
    study.figure("shapes", draw_shapes(shapes), "A shape of each class, turned to be seen well.")
    study.table(
        "trade_off", rows, "Share of shapes whose class is among the nearest 1, 3 and 5, and the time of a pair"
    )
    _claim(study, {finding.method.name: finding for finding in findings})
    _notes(study)
    _note_on_noise(study, *(shapes.part(k, n_small // 2 if study.quick else n_small) for k in range(2)))
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


def _claim(study: Study, findings: dict[str, Finding]) -> None:
    energy = findings["AE"]
    shown = [finding.row() for finding in (energy, *(findings[name] for name in JUDGED.values()))]
    parts = [Part(f"AE less {name}", f"trade_off.{key}", energy.less(findings[name])) for key, name in JUDGED.items()]
    front = ", ".join(row["method"] for row in pareto([finding.row() for finding in findings.values()], 1))
    study.claim(
        "AE performs comparably to AW and GW, although it is fast and has no hyperparameters.",
        f"Top-1 and top-5 accuracy and time of a pair, {shown[0]['draws']} draws: "
        + "; ".join(f"{o['method']} {o['top-1']:.3f}, {o['top-5']:.3f} and {1e3 * o['seconds']:.2g} ms" for o in shown)
        + ".",
        parts,
        f"Top-1, {'; '.join(map(str, parts))}. On the Pareto front of top-1 are: {front}.",
    )


def _caption(shapes: Shapes, n_small: int) -> str:
    return (
        f"Accuracy of the nearest, the 3 and the 5 nearest of {len(shapes.spaces)} TOSCA shapes against the time of "
        f"one comparison; n = {n_small} points but where said. Whiskers: standard deviation over draws of points or, "
        "of one draw, standard error."
    )


def _notes(study: Study) -> None:
    study.note(
        "Points are drawn uniformly among the vertices, distances along the surface are by the heat method, weights "
        "are uniform, and the shark is left out, as it is alone in its class. Draws are disjoint parts of one large "
        "one. All shapes look for their neighbours among all others, by every method; AE, AW and GW in the same draws."
    )
    study.note(
        "GW from anchors is that of `pairwise`: the better of two starts, the Anchor Energy Plan and the product of "
        "the weights. GW by POT starts from the product. Quantized GW is POT's, judged by the loss of its plans. "
        "Sliced TLB is that of arXiv 2508.02364, in a few lines on POT. Times are from costs to distance, without the "
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
