"""Levels and power of tests of tissues: Anchor Energy with types, arrangement alone, composition, and L functions.

    python benchmarks/tissues.py [--repeats 100]

A simulated image has cells of types A, B and C in a square. Subjects vary in density, in composition and in how far B
is drawn to A; each has IMAGES images. All methods look up to one distance, found by one rule from all images without
their labels: the median over images of the median distance to the 10th neighbour ("whole field" looks at all
distances). L functions are those of spicyR: the integral of L(r) - r up to that distance for every pair of types, a
t-test of subject means, and Holm's method over the six pairs. `--only NAME` runs the designs whose names contain NAME,
`--write` records the table. One core.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import itertools
import math
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

import anchorot as ao
from measure import write_results

LEVEL = 0.05
RESAMPLES = 199
SUBJECTS, IMAGES = 8, 2  # per side, and of each
KINDS = "ABC"
DENSITY = np.array([40.0, 40.0, 20.0])  # cells of each type per unit of area
PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
N_DISTANCES = 20
METHODS = ("AE with types", "AE with types, whole field", "arrangement", "composition", "L functions")
OPTIONS = {"n_resamples": RESAMPLES, "progress": False, "post_hoc": False}


class Design(NamedTuple):
    """How the second group differs from the first, and how much subjects vary."""

    name: str
    side: float = 1.0
    density: float = 1.0
    share: float = 1.0  # of A
    attraction: float = 0.0  # more of B that are drawn to A
    clumps: float = 0.0  # more of C that are in clumps
    varying: float = 0.05  # deviation of logarithms of densities of each type between subjects


DESIGNS = (
    Design("nothing differs"),
    Design("nothing differs, composition varies", varying=0.3),
    Design("sides, 1.2 times", side=1.2),
    Design("densities, 1.5 times", density=1.5),
    Design("composition, 1.35 times A", share=1.35),
    Design("attraction", attraction=0.35),
    Design("attraction, composition varies", attraction=0.35, varying=0.3),
    Design("clumps", clumps=0.25),
    Design("clumps, composition varies", clumps=0.25, varying=0.3),
)


def image(rng: np.random.Generator, side: float, means: np.ndarray, drawn: float, clumped: float) -> ao.Space:
    """Cells in a square, some of B beside a cell of A, some of C in one of three clumps."""
    counts = np.maximum(rng.poisson(means * side**2), 2)
    a, b, c = (side * rng.random((count, 2)) for count in counts)
    near = rng.random(len(b)) < drawn
    b[near] = (a[rng.integers(len(a), size=len(b))] + 0.06 * rng.normal(size=b.shape))[near]
    inside = rng.random(len(c)) < clumped
    centres = side * rng.random((3, 2))
    c[inside] = (centres[rng.integers(3, size=len(c))] + 0.06 * rng.normal(size=c.shape))[inside]
    points = np.clip(np.concatenate([a, b, c]), 0, side)
    return ao.from_points(points, types=np.repeat(list(KINDS), counts).tolist(), area="extent")


def cohort(rng: np.random.Generator, design: Design) -> tuple[list[ao.Space], np.ndarray, np.ndarray]:
    """Images, with the subject and the group of each."""
    spaces = []
    for subject in range(2 * SUBJECTS):
        second = subject >= SUBJECTS
        means = DENSITY * np.exp(design.varying * rng.normal(size=3))
        means *= design.density**second * np.array([design.share**second, 1, 1])
        drawn, clumped = np.clip(
            0.2 + 0.1 * rng.normal(size=2) + second * np.array([design.attraction, design.clumps]), 0, 1
        )
        spaces += [image(rng, design.side**second, means, drawn, clumped) for _ in range(IMAGES)]
    subject = np.repeat(np.arange(2 * SUBJECTS), IMAGES)
    return spaces, subject, (subject >= SUBJECTS).astype(int)


def l_statistics(space: ao.Space, limit: float) -> np.ndarray:
    """For every pair of types the integral of L(r) - r up to the limit."""
    kinds, r = np.array(space.types), np.linspace(0, limit, N_DISTANCES + 1)[1:]
    found = []
    for first, second in PAIRS:
        d = space.cost[np.ix_(kinds == first, kinds == second)]
        d = d[~np.eye(len(d), dtype=bool)] if first == second else d.ravel()
        found.append(np.trapezoid(np.sqrt(space.area * (d[:, None] <= r).mean(axis=0) / math.pi) - r, r))
    return np.array(found)


def l_functions(spaces: list[ao.Space], limit: float, subject: np.ndarray) -> float:
    """The least p-value of all pairs of types, by Holm's method."""
    values = np.array([l_statistics(space, limit) for space in spaces])
    means = np.array([values[subject == own].mean(axis=0) for own in range(2 * SUBJECTS)])
    return len(PAIRS) * float(stats.ttest_ind(means[:SUBJECTS], means[SUBJECTS:]).pvalue.min())


def pvalues(seed: int, design: Design) -> list[float]:
    """P-values of all methods on one cohort."""
    rng = np.random.default_rng([seed, DESIGNS.index(design)])
    spaces, subject, label = cohort(rng, design)
    near = [np.median(np.partition(space.cost, 10, axis=1)[:, 10]) for space in spaces]  # its own distance is 0
    limit = float(np.median(near))
    options = {**OPTIONS, "subjects": subject, "rng": seed}
    whole = max(float(space.cost.max()) for space in spaces)
    ways = ({"attributes": "types"}, {"attributes": "types", "max_cost": whole}, {"metric": "arrangement"})
    found = [
        ao.group_test(ao.pairwise(spaces, n_jobs=1, progress=False, **way), label, **options).pvalue for way in ways
    ]
    found.append(ao.composition_test(spaces, label, **options).pvalue)
    return [*found, l_functions(spaces, limit, subject)]


def rows(designs: list[Design], repeats: int) -> Iterator[list[str]]:
    yield ["what differs", *METHODS]
    for design in designs:
        rejected = np.mean([np.array(pvalues(seed, design)) <= LEVEL for seed in range(repeats)], axis=0)
        yield [design.name, *(f"{share:.3f}" for share in rejected)]


TEXT = (
    "Tests of simulated tissues at 5 %: {} cohorts of 8 against 8 subjects with 2 images each, by what differs. The "
    "first five rows are what a test of arrangement should not see. All but *whole field* look up to the median "
    "distance to the 10th neighbour."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="of the designs")
    parser.add_argument("--repeats", type=int, default=100, help="of every design")
    parser.add_argument("--write", action="store_true", help="record the table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    lines = [TEXT.format(options.repeats), ""]
    designs = [design for design in DESIGNS if options.only in design.name]
    for k, row in enumerate(rows(designs, options.repeats)):
        lines += ["| " + " | ".join(row) + " |", *(["|" + "---|" * len(row)] if k == 0 else [])]
        print(lines[-1], flush=True)
    print(f"{time.perf_counter() - start:.0f} s")
    if options.write:
        write_results("tissues.py", f"--repeats {options.repeats}", "\n".join(lines))


if __name__ == "__main__":
    main()
