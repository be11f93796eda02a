"""Barycenters in the plane of digits in space, by AE and by AW (the paper's appendix)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from experiments.barycenters.digits import Digit, draw_digit
from experiments.barycenters.drawing import draw_barycenters
from experiments.barycenters.search import GEOMETRIES, Found, Task, find, single_digits_read
from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import in_workers

TITLE = "Barycenters"
QUESTION = (
    "Do AE and AW barycenters in the plane summarise handwritten digits that live in space, each turned its own way?"
)
DATA = ("mnist_100_per_class.npz",)

DIGITS = (0, 1, 2, 3, 4)
HARD = (2, 3)  # those the paper says AE fails on
SHAPES, POINTS, RESTARTS, MAX_ITER = 6, 100, 4, 150
UNSEEN = 10  # of each digit, to compare barycenters with
SHOWN = 3  # sets in the picture
QUICK_DIGITS, QUICK_SHAPES, QUICK_POINTS, QUICK_RESTARTS, QUICK_MAX_ITER, QUICK_UNSEEN = (1, 2), 4, 40, 2, 50, 3
CAPTION = (
    f"Digits in the plane and in space, and their barycenters in the plane, of the first {SHOWN} sets of shapes; "
    "below, to which digit's unseen images a barycenter is nearest (bold red: not to its own)"
)


def run(study: Study) -> None:
    """Find the barycenters, read them, judge."""
    images = _read(study)
    shapes, unseen = _draw_all(study, images)
    found = in_workers(study, find, _tasks(study, shapes, unseen), "barycenters", "barycenters")
    hoped = single_digits_read(unseen)
    _report_values(study, found, hoped)
    _judge(study, found, hoped)
    examples = {label: shapes[label, 0] for label in images}
    study.figure("barycenters", draw_barycenters(examples, [one for one in found if one.repetition < SHOWN]), CAPTION)
    caption = "Mean ± standard deviation over sets of shapes; distances in pixels of the images"
    study.table("distances", _rows(found), caption)
    _say_how(study)


def _read(study: Study) -> dict[int, np.ndarray]:
    with np.load(study.data["mnist_100_per_class.npz"]) as file:
        images, labels = file["x"], file["y"]
    return {label: images[labels == label] for label in (QUICK_DIGITS if study.quick else DIGITS)}


def _draw_all(study: Study, images: dict[int, np.ndarray]) -> tuple[dict[tuple[int, int], list[Digit]], list[Digit]]:
    """Make digits of the first images, in disjoint sets, and unseen ones of the last images."""
    n_points, n_shapes = (QUICK_POINTS, QUICK_SHAPES) if study.quick else (POINTS, SHAPES)
    n_unseen = QUICK_UNSEEN if study.quick else UNSEEN

    def digit(label: int, number: int) -> Digit:
        return draw_digit(label, images[label][number], n_points, study.rng(label, number))

    shapes = {
        (label, repetition): [digit(label, repetition * n_shapes + i) for i in range(n_shapes)]
        for label in images
        for repetition in range(study.draws("ae_fails", 1))
    }
    return shapes, [digit(label, len(images[label]) - 1 - i) for label in images for i in range(n_unseen)]


def _tasks(study: Study, shapes: dict[tuple[int, int], list[Digit]], unseen: list[Digit]) -> list[Task]:
    """AW is judged on all digits, AE on those it is said to fail on; of the others it is only shown."""
    effort = (QUICK_RESTARTS, QUICK_MAX_ITER) if study.quick else (RESTARTS, MAX_ITER)
    return [
        Task(label, geometry, repetition, tuple(digits), *effort, tuple(unseen))
        for (label, repetition), digits in shapes.items()
        for geometry in GEOMETRIES
        if geometry == "aw" or label in HARD or repetition < SHOWN
    ]


def _report_values(study: Study, found: Sequence[Found], hoped: float) -> None:
    """Report losses and looks; a descent along kinks of absolute values leaves them some room on other machines."""
    study.value("single digits read", hoped, 0.01)
    for one in found:
        name = f"{one.geometry} barycenter {one.repetition} of {one.label}s"
        study.value(f"loss of {name}", one.loss, 0.01 * one.loss)
        study.value(f"look of {name}", one.look[one.label], 0.02 * one.look[one.label])


def _judge(study: Study, found: Sequence[Found], hoped: float) -> None:
    energy, transport = ([one for one in found if one.geometry == geometry] for geometry in GEOMETRIES)
    hard = [one for one in energy if one.label in HARD]
    study.claim(
        "AE barycenters fail to provide good summaries of digits 2 and 3, whereas AW barycenters preserve the "
        "characteristics of all digits.",
        f"Nearest by look to unseen images of their own digit are {_count(hard)} AE barycenters of 2s and 3s, and "
        f"{_count(transport)} AW barycenters of all digits. Single digits are read rightly {hoped:.0%} of the time. "
        f"Mean distance to the own digit: AE of 2s and 3s {_look(hard)}, AW {_look(transport)} pixels.",
        [
            Part("share of AE's 2s and 3s read rightly", "barycenters.ae_fails", _share(hard)),
            Part("share of AW's digits read rightly", "barycenters.aw_preserves", _share(transport)),
        ],
        f"In their own geometry {_share(hard, by_look=False).value:.0%} of AE's 2s and 3s and "
        f"{_share(transport, by_look=False).value:.0%} of AW barycenters are nearest to clouds of their own digit. "
        f"{_why_so(hard, transport)}",
    )


def _share(found: Sequence[Found], *, by_look: bool = True) -> Interval:
    right = sum((one.looks_like if by_look else one.measures_like) == one.label for one in found)
    return Interval.share(right, len(found))


def _why_so(energy: Sequence[Found], transport: Sequence[Found]) -> str:
    """Say whether AE likes its own barycenters better than those of AW: if not, its descents ended badly."""
    others = {(one.label, one.repetition): one.energy for one in transport}
    preferred = sum(one.energy < others[one.label, one.repetition] for one in energy)
    text = f"In {preferred} of {len(energy)} of these the AE barycenter has a smaller AE than the AW barycenter: "
    if preferred > 0.5 * len(energy):
        return text + "its shape is AE's own choice, which sees how anchors are distributed and not which lies where."
    return text + "descents by AE end in poor local minima."


def _count(found: Sequence[Found]) -> str:
    return f"{sum(one.looks_like == one.label for one in found)} of {len(found)}"


def _look(found: Sequence[Found]) -> str:
    return _with_deviation([one.look[one.label] for one in found])


def _with_deviation(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else f"{values[0]:.2f}"


def _rows(found: Sequence[Found]) -> Iterable[dict[str, Any]]:
    for label in sorted({one.label for one in found}):
        for geometry, name in GEOMETRIES.items():
            some = [one for one in found if (one.label, one.geometry) == (label, geometry)]
            others = [min(d for other, d in one.look.items() if other != label) for one in some]
            yield {
                "digit": label,
                "geometry": name,
                "loss": _with_deviation([one.loss for one in some]),
                "AE to its shapes": _with_deviation([one.energy for one in some]),
                "look: to its own digit": _look(some),
                "look: to the nearest other": _with_deviation(others),
                "read as": ", ".join(str(one.looks_like) for one in some),
                "nearest by its own geometry": ", ".join(str(one.measures_like) for one in some),
            }


def _say_how(study: Study) -> None:
    study.note(
        f"MNIST; digits in space by the paper's steps (1) to (4), {POINTS} points each. Every barycenter is of "
        f"{SHAPES} shapes, the best of {RESTARTS} random starts, {MAX_ITER} iterations of Adam each; AW without "
        "regularisation, as the spaces are uniform and of one size. Sets are disjoint."
    )
    study.note(
        "The look is the Chamfer distance (the mean distance of a point to the nearest of the other cloud, both ways) "
        "after the best turn in steps of five degrees and, as distances cannot tell a shape from its mirror image, the "
        f"best reflection; a barycenter is read as the digit whose {UNSEEN} unseen clean images are nearest on "
        "average, among the digits shown. 5 and 2 are mirror images, 6 and 9 turns of each other: so only 0 to 4."
    )
