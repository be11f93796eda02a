"""Test groups of patients with several images each, permuting patients, and see level and power."""

import warnings
from collections.abc import Callable

import numpy as np

from experiments.common.benches import benchmark
from experiments.common.forest import draw_parts
from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import in_workers

TITLE = "Patients: images that come in clusters"
QUESTION = "Do tests keep their level where every patient has several images, and what do they see?"
DATA = ()
BENCHMARKS = ("levels",)

CORRELATION, IMAGES, PATIENTS = 0.6, 5, 12  # within a patient; images of each; patients a side
TISSUE_IMAGES, TISSUE_PATIENTS = 4, 8
FIRST_SEED = 10_000
BATCH = 25  # cohorts that are one piece of work

Cohort = tuple[float | str, int, int, int]


def run(study: Study) -> None:
    """Test cohorts in which nothing differs, then some in which something does."""
    images, patients = (3, 6) if study.quick else (IMAGES, PATIENTS)
    seeds = range(FIRST_SEED, FIRST_SEED + study.draws("level", 40))
    null = _in_batches(study, _nested, [(CORRELATION, images, patients, seed) for seed in seeds], "level")
    level = {name: Interval.share(int(null[:, k].sum()), len(null)) for k, name in enumerate(("subjects", "images"))}
    levels, kinds = benchmark("levels"), ("clumps",) if study.quick else ("attraction", "clumps", "ring")
    images, patients = (3, 4) if study.quick else (TISSUE_IMAGES, TISSUE_PATIENTS)
    seeds = range(FIRST_SEED, FIRST_SEED + study.draws("power", 4))
    rows, parts = [], []
    ours, rival = levels.METHODS.index("AE with attributes by patients"), levels.METHODS.index("L, mixed model, Holm")
    for kind in kinds:
        found = _in_batches(study, _compared, [(kind, patients, images, seed) for seed in seeds], f"power, {kind}")
        shares = [Interval.share(int(column.sum()), len(column)) for column in found.T]
        rows.append({"difference": kind} | {name: str(s) for name, s in zip(levels.METHODS, shares, strict=True)})
        gain = Interval.mean(found[:, ours].astype(float) - found[:, rival])
        parts.append(Part(f"{kind}: marked AE less mixed model", "patients.power", gain))
        study.value(f"{kind}, marked AE by patients", shares[ours].value, 1.1 / len(seeds))
    by_level = [
        Part("rejected, subjects permuted", "patients.level", level["subjects"]),
        Part("rejected, images permuted", "patients.images", level["images"]),
    ]
    for name, share in level.items():
        study.value(f"level, {name} permuted", share.value, 1.1 / len(null))
    design = f"{patients} patients a side with {images} images each, {len(seeds)} cohorts"
    study.table("power", rows, f"Rejected at 5 %, {design}")
    study.figure("level", draw_parts(by_level), "Share of cohorts rejected although nothing differs.")
    study.figure("power", draw_parts(parts), "Power of marked AE with subjects, less that of a mixed model of L.")
    study.claim(
        "Ours: a test that permutes patients keeps its level where images of a patient are alike; one that permutes "
        "images does not.",
        f"Of {len(null)} cohorts without a difference (correlation {CORRELATION:g} within a patient) are rejected at "
        f"5 %: subjects permuted {level['subjects']}, images permuted {level['images']}.",
        by_level,
        "Images of one patient are no independent samples; `subjects` says whose they are.",
    )
    study.claim(
        "Ours: marked AE up to a chosen reach, with subjects, sees differences of tissue more often than a mixed model "
        "of L functions.",
        "; ".join(str(part) for part in parts) + ".",
        parts,
        "The mixed model is of spicyR's kind: L functions of all pairs of types, patients as random effects, Holm.",
    )
    study.note(
        "Simulated images: clouds whose size varies between and within patients (level), and cells of three types of "
        "which one is drawn to another, in clumps, or around another at a distance (power); patients vary themselves. "
        f"Marked AE has a reach of {levels.REACH:g}, chosen for these tissues; without one it is behind on clumps. "
        "A real cohort and more designs are in `benchmarks/RESULTS.md`."
    )


def _in_batches(
    study: Study, function: Callable[[list[Cohort]], np.ndarray], jobs: list[Cohort], name: str
) -> np.ndarray:
    batches = [jobs[k : k + BATCH] for k in range(0, len(jobs), BATCH)]
    return np.concatenate(in_workers(study, function, batches, name, "batches"))


def _nested(jobs: list[Cohort]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([benchmark("levels").nested(job) for job in jobs])


def _compared(jobs: list[Cohort]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([benchmark("levels").compared(job) for job in jobs])
