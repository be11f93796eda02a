"""Levels, intervals and power of tests in the designs of published studies: `group_test` on simulated images.

    python benchmarks/designs.py levels [--repeats 1000]      how often nothing is rejected that should not be
    python benchmarks/designs.py intervals [--repeats 1000]   how often the interval of an effect contains the truth
    python benchmarks/designs.py power [--repeats 1000]       beside tests of subject means

An image is a point in three dimensions, the sum of its subject, its visit, its slide and itself, all normal; distances
between images are squared, as Anchor Energies are. Images of one subject have the intraclass correlation CORRELATION.
One core. `--only NAME` runs the designs whose names contain NAME; `--write` records the table.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import anchorot as ao
from measure import write_results

LEVEL = 0.05
DIM = 3
CORRELATION = 0.3  # of images of one subject
RESAMPLES = 199  # (199 + 1) * 0.05 is a whole number, so that the level is attained
SIZES = (4, 8, 16)  # subjects per side; in all, if each is on both sides
ENERGIES_OF_SHIFT = 2.0  # 2 |delta|² is the energy between groups whose centres differ by delta


class Cohort(NamedTuple):
    """Images with what is known of each."""

    points: np.ndarray
    label: np.ndarray
    options: dict[str, Any]  # of `group_test`


class Design(NamedTuple):
    """A kind of study: the images of `size` subjects per side, whose groups are `shift` apart."""

    name: str
    make: Callable[[np.random.Generator, int, float], Cohort]
    note: str = ""  # "approximate": numbers of images go with groups, so that subjects are not exchangeable


def nested(rng: np.random.Generator, subject: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Images of subjects; the spread of an image around its group is 1 in each direction."""
    own = math.sqrt(CORRELATION) * rng.normal(size=(int(subject.max()) + 1, DIM))
    points = own[subject] + math.sqrt(1 - CORRELATION) * rng.normal(size=(len(subject), DIM))
    points[:, 0] += shift
    return points


def by_subject(counts: Callable[[np.random.Generator, int, int], list[int]], sides: tuple[int, int] = (1, 1)) -> Any:
    """Subjects in one group each, with counts(rng, group, n) images; `sides` times as many subjects in each."""

    def make(rng: np.random.Generator, size: int, shift: float) -> Cohort:
        images = [count for group, times in enumerate(sides) for count in counts(rng, group, times * size)]
        subject = np.repeat(np.arange(len(images)), images)
        label = (subject >= sides[0] * size).astype(int)
        return Cohort(nested(rng, subject, shift * label), label, {"subjects": subject})

    return make


def one_big(rng: np.random.Generator, group: int, n: int) -> list[int]:
    return [30, *[1] * (n - 1)] if group == 0 else [6] * n


def independent(sides: tuple[int, int]) -> Any:
    def make(rng: np.random.Generator, size: int, shift: float) -> Cohort:
        label = np.repeat([0, 1], [size * own for own in sides])
        return Cohort(nested(rng, np.arange(len(label)), shift * label), label, {})

    return make


def three_groups(rng: np.random.Generator, size: int, shift: float) -> Cohort:
    subject = np.repeat(np.arange(3 * size), 5)
    label = subject // size
    return Cohort(nested(rng, subject, shift * label), label, {"subjects": subject})


def strata(share: tuple[int, int]) -> Any:
    """Two batches that differ; of four subjects, share[0] of the first and share[1] of the second are in group 0."""

    def make(rng: np.random.Generator, size: int, shift: float) -> Cohort:
        subject = np.repeat(np.arange(2 * size), 3)
        batch = subject // size
        label = (subject % size >= size * np.array(share)[batch] // 4).astype(int)
        points = nested(rng, subject, shift * label)
        points[:, 1] += 1.5 * batch
        return Cohort(points, label, {"subjects": subject, "strata": batch})

    return make


def visits(deviation: float, images: Callable[[np.random.Generator], int], conditions: int = 2) -> Any:
    """Every subject at a visit in each condition, with some images of each visit; visits vary by themselves."""

    def make(rng: np.random.Generator, size: int, shift: float) -> Cohort:
        counts = [images(rng) for _ in range(size * conditions)]
        visit = np.repeat(np.arange(size * conditions), counts)
        subject, label = visit // conditions, visit % conditions
        points = nested(rng, subject, shift * label) + deviation * rng.normal(size=(len(counts), DIM))[visit]
        return Cohort(points, label, {"subjects": subject, "within": True})

    return make


def slides(counts: tuple[int, int]) -> Any:
    """Every patient has that many slides in each condition, with 4 images each; slides vary by themselves."""

    def make(rng: np.random.Generator, size: int, shift: float) -> Cohort:
        slide = np.repeat(np.arange(size * sum(counts)), 4)
        subject = slide // sum(counts)
        label = (slide % sum(counts) >= counts[0]).astype(int)
        points = nested(rng, subject, shift * label) + 0.5 * rng.normal(size=(size * sum(counts), DIM))[slide]
        return Cohort(points, label, {"subjects": subject, "within": True, "blocks": slide})

    return make


DESIGNS = (
    Design("independent", independent((1, 1))),
    Design("independent, 1 : 3", independent((1, 3))),
    Design("subjects, 5 images each", by_subject(lambda rng, group, n: [5] * n)),
    Design("subjects, 1 to 20 images, any group", by_subject(lambda rng, group, n: rng.integers(1, 21, n).tolist())),
    Design("subjects, 2 against 20 images", by_subject(lambda rng, group, n: [(2, 20)[group]] * n)),
    Design("subjects, 30, 1, 1, … against 6 images", by_subject(one_big)),
    Design("subjects 1 : 3, 1 to 20 images", by_subject(lambda rng, group, n: rng.integers(1, 21, n).tolist(), (1, 3))),
    Design(
        "subjects 1 : 3, 2 against 20 images",
        by_subject(lambda rng, group, n: [(2, 20)[group]] * n, (1, 3)),
        "approximate",
    ),
    Design("subjects 1 : 3, 30, 1, 1, … against 6 images", by_subject(one_big, (1, 3)), "approximate"),
    Design("three groups of subjects", three_groups),
    Design("strata, balanced", strata((2, 2))),
    Design("strata, 3 : 1 and 1 : 3", strata((3, 1))),
    Design("before and after", visits(0.0, lambda rng: 1)),
    Design("visits that vary by 0, 5 images", visits(0.0, lambda rng: 5)),
    Design("visits that vary by 0.3, 5 images", visits(0.3, lambda rng: 5)),
    Design("visits that vary by 0.5, 5 images", visits(0.5, lambda rng: 5)),
    Design("visits that vary by 1, 5 images", visits(1.0, lambda rng: 5)),
    Design("visits that vary by 0.5, 1 to 10 images", visits(0.5, lambda rng: int(rng.integers(1, 11)))),
    Design("three visits that vary by 0.5, 5 images", visits(0.5, lambda rng: 5, 3)),
    Design("slides in patients, 2 and 2", slides((2, 2))),
    Design("slides in patients, 1 and 3", slides((1, 3))),
)


def squared(points: np.ndarray) -> np.ndarray:
    """Squared distances, symmetric to the bit."""
    squares = (points**2).sum(axis=1)
    found = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0)
    return (found + found.T) / 2


def test(cohort: Cohort, seed: int, **options: Any) -> ao.GroupTest:
    own = {"n_resamples": RESAMPLES, "rng": seed, "progress": False, "post_hoc": False, **cohort.options, **options}
    return ao.group_test(squared(cohort.points), cohort.label, **own)


def cohorts(design: Design, size: int, shift: float, repeats: int) -> Iterator[tuple[int, Cohort]]:
    place = [known.name for known in DESIGNS].index(design.name)
    for seed in range(repeats):
        yield seed, design.make(np.random.default_rng([seed, size, place, int(10 * shift)]), size, shift)


def attainable(found: ao.GroupTest) -> float:
    """The largest level up to LEVEL that a test can have: p-values are multiples of 1 / the number of labellings."""
    count = min(found.n_assignments, RESAMPLES + 1)
    return math.floor(LEVEL * count + 1e-9) / count


def level(design: Design, size: int, repeats: int) -> list[str]:
    rejected = 0
    for seed, cohort in cohorts(design, size, 0.0, repeats):
        found = test(cohort, seed)
        rejected += found.pvalue <= LEVEL
    share, aim = rejected / repeats, attainable(found)
    error = math.sqrt(aim * (1 - aim) / repeats)
    off = "0" if share == aim else f"{(share - aim) / error:+.1f}" if error else "inf"
    return [design.name, str(size), f"{aim:.4f}", f"{share:.3f}", off, design.note]


def levels(designs: list[Design], repeats: int) -> Iterator[list[str]]:
    yield ["design", "subjects per side", "attainable level", "rejected", "standard errors off", "remark"]
    for design in designs:
        for size in SIZES:
            yield level(design, size, repeats)


SHIFTS = (0.0, 0.5, 1.0, 2.0)


def intervals(designs: list[Design], repeats: int) -> Iterator[list[str]]:
    yield ["design", "subjects per side", *(f"shift {shift:g}" for shift in SHIFTS)]
    for design in designs:
        for size in SIZES:
            row = []
            for shift in SHIFTS:
                true = ENERGIES_OF_SHIFT * shift**2
                held = known = 0
                for seed, cohort in cohorts(design, size, shift, repeats):
                    low, high = test(cohort, seed, n_resamples=1, post_hoc=True).pairs[0].interval()
                    held += low <= true <= high
                    known += not math.isnan(low)
                row.append(f"{held / known:.3f}" if known else "no interval")
            yield [design.name, str(size), *row]


POWER_SHIFT = 3.0  # divided by the root of the number of subjects per side


def hotelling(cohort: Cohort) -> float:
    """P-value of Hotelling's test of subject means, or of their differences if subjects are in both groups."""
    subject = cohort.options.get("subjects", np.arange(len(cohort.label)))
    means = [
        np.array([cohort.points[both].mean(axis=0) for s in np.unique(subject) if (both := (subject == s) & own).any()])
        for own in (cohort.label == 0, cohort.label == 1)
    ]
    if cohort.options.get("within"):
        differences = means[0] - means[1]
        n = len(differences)
        delta, variance, freedom = differences.mean(axis=0), np.cov(differences.T) / n, n - 1
    else:
        n, m = map(len, means)
        delta, freedom = means[0].mean(axis=0) - means[1].mean(axis=0), n + m - 2
        variance = ((n - 1) * np.cov(means[0].T) + (m - 1) * np.cov(means[1].T)) / freedom * (1 / n + 1 / m)
    t = delta @ np.linalg.solve(variance, delta)
    left = freedom - DIM + 1
    return float(stats.f.sf(t * left / (DIM * freedom), DIM, left))


def power(designs: list[Design], repeats: int) -> Iterator[list[str]]:
    yield ["design", "subjects per side", "shift", "group_test", "group_test, Welch", "Hotelling on subject means"]
    for design in designs:
        for size in SIZES:
            shift = POWER_SHIFT / math.sqrt(size)
            rejected = []
            for seed, cohort in cohorts(design, size, shift, repeats):
                of_two = int(cohort.label.max()) == 1
                within = "within" in cohort.options
                plain = of_two and "strata" not in cohort.options
                rejected.append(
                    [
                        test(cohort, seed).pvalue <= LEVEL,
                        test(cohort, seed, welch=True).pvalue <= LEVEL if not within else math.nan,
                        hotelling(cohort) <= LEVEL if plain else math.nan,
                    ]
                )
            shares = ["" if math.isnan(share) else f"{share:.3f}" for share in np.mean(rejected, axis=0)]
            yield [design.name, str(size), f"{shift:.2f}", *shares]


TEXTS = {
    "levels": "How often `group_test` rejects at 5 % where groups do not differ, by design: {} cohorts in each cell. "
    "The attainable level is the largest below 5 % that the number of assignments allows.",
    "intervals": "How often the 95 % interval of the energy between two groups contains the true one: {} cohorts in "
    "each cell, groups *shift* standard deviations of an image apart.",
    "power": "Power at 5 % of `group_test` and of Hotelling's test of subject means, which are normal here: {} cohorts "
    "in each cell.",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("levels", "intervals", "power"))
    parser.add_argument("--only", default="", help="of the designs")
    parser.add_argument("--repeats", type=int, default=1000, help="of every cell")
    parser.add_argument("--write", action="store_true", help="record the table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # a BLAS warns about lanes that it does not use
    start = time.perf_counter()
    designs = [design for design in DESIGNS if options.only in design.name]
    lines = [TEXTS[options.what].format(options.repeats), ""]
    for k, row in enumerate(globals()[options.what](designs, options.repeats)):
        lines += ["| " + " | ".join(row) + " |", *(["|" + "---|" * len(row)] if k == 0 else [])]
        print(lines[-1], flush=True)
    print(f"{time.perf_counter() - start:.0f} s")
    if options.write:
        write_results("designs.py", options.what, "\n".join(lines))


if __name__ == "__main__":
    main()
