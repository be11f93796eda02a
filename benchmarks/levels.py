"""How often tests reject where data come in clusters: levels, and power beside a mixed model of L functions.

    python benchmarks/levels.py levels [--repeats 1000]    how often nothing is rejected that should not be
    python benchmarks/levels.py power [--repeats 300]      differences between nested tissues, found by whom
    python benchmarks/levels.py reaches [--repeats 150]    AE with attributes, up to REACH and to any distance
    python benchmarks/levels.py effects [--repeats 500]    how often the interval of an effect holds the true one
    python benchmarks/levels.py tissue FOLDER              the patients of pancreas_imc.npz in FOLDER, honestly

A simulated image is a cloud of 24 points, whose size varies between patients and between the images of a patient; the
intra-class correlation is that of the logarithm of the size. "AE with attributes by patients" looks at distances up to
REACH, which was chosen for these tissues. All cores are used; `--quick` is a smoke test.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterable
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from scipy import stats

import anchorot as ao

LEVEL = 0.05
N_POINTS = 24
SPREAD = 0.3  # of logarithms of sizes
QUIET = {"progress": False}
CORRELATIONS, IMAGES, PATIENTS = (0.0, 0.3, 0.6, 0.9), (2, 5, 20), (3, 6, 12)


def share(rejected: int, of: int) -> str:
    """A share with its 95 % interval (Clopper and Pearson)."""
    found = stats.binomtest(rejected, of).proportion_ci(method="exact")
    return f"{rejected / of:.3f} ({found.low:.3f} to {found.high:.3f})"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)])


def in_workers(work: Callable, jobs: list) -> list:
    """All results, in order, with a line every now and then."""
    found, start, said = [], time.perf_counter(), 0.0
    with Pool() as pool:
        for result in pool.imap(work, jobs, chunksize=max(1, len(jobs) // 2000)):
            found.append(result)
            if time.perf_counter() - said > 20:
                said = time.perf_counter()
                print(f"  {len(found)} of {len(jobs)}, {said - start:.0f} s", flush=True)
    return found


# -- levels ----------------------------------------------------------------------------------------------------------


def energies(sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Anchor Energies between clouds of these sizes, by vectors of 16 x 16 cells, which are as good for a level."""
    clouds = [size * rng.random((N_POINTS, 2)) for size in sizes]
    spaces = [ao.Space(np.sqrt(((own[:, None] - own) ** 2).sum(axis=2)), copy=False) for own in clouds]
    vectors = ao.embed(spaces, grid=(16, 16), n_jobs=1, **QUIET).astype(np.float64)
    squares = (vectors**2).sum(axis=1)
    return np.maximum(2 * (squares[:, None] + squares - 2 * vectors @ vectors.T), 0.0)


def rejects(d: np.ndarray, label: np.ndarray, seed: int, **options: object) -> bool:
    d = (d + d.T) / 2
    return ao.group_test(d, label, n_resamples=199, rng=seed, post_hoc=False, **QUIET, **options).pvalue <= LEVEL


def nested(job: tuple) -> tuple[bool, bool]:
    """Rejected by subjects, and by images as if each were a patient: groups do not differ."""
    correlation, images, patients, seed = job
    rng = np.random.default_rng([seed, images, patients, int(100 * correlation)])
    subject = np.repeat(np.arange(2 * patients), images)
    own = np.sqrt(correlation) * rng.normal(size=2 * patients)[subject]
    d = energies(np.exp(SPREAD * (own + np.sqrt(1 - correlation) * rng.normal(size=len(subject)))), rng)
    label = (subject >= patients).astype(int)
    return rejects(d, label, seed, subjects=subject), rejects(d, label, seed)


def stratified(job: tuple) -> tuple[bool, bool]:
    """Two batches that differ, one with most of the first group: by strata, and without."""
    patients, images, seed = job
    rng = np.random.default_rng([seed, patients, images, 1])
    batch = np.repeat([0, 1], patients)
    label = np.concatenate([np.arange(patients) < 2 * patients // 3, np.arange(patients) >= 2 * patients // 3]).astype(
        int
    )
    subject = np.repeat(np.arange(2 * patients), images)
    own = (0.7 * rng.normal(size=2 * patients) + 1.5 * batch)[subject]
    d = energies(np.exp(SPREAD * (own + 0.7 * rng.normal(size=len(subject)))), rng)
    named = {"subjects": subject}
    return (
        rejects(d, label[subject], seed, strata=batch[subject], **named),
        rejects(d, label[subject], seed, **named),
    )


def paired(job: tuple) -> tuple[bool, bool]:
    """Every patient has images of both kinds, which do not differ: within patients, and as if all were independent."""
    patients, images, seed = job
    rng = np.random.default_rng([seed, patients, images, 2])
    subject = np.repeat(np.arange(patients), 2 * images)
    label = np.tile(np.repeat([0, 1], images), patients)
    own = 0.9 * rng.normal(size=patients)[subject]
    d = energies(np.exp(SPREAD * (own + 0.45 * rng.normal(size=len(subject)))), rng)
    return rejects(d, label, seed, subjects=subject, within=True), rejects(d, label, seed)


def scaled(job: tuple) -> tuple[bool, bool]:
    """`scale_test` with pairs of types, of typed clouds of patients that do not differ: any distance, any type."""
    patients, images, seed = job
    rng = np.random.default_rng([seed, patients, images, 3])
    spaces, subject = tissues(rng, patients, images, "none")
    label = (subject >= patients).astype(int)
    found = ao.scale_test(
        spaces,
        label,
        REACHES,
        subjects=subject,
        attributes="types",
        type_pairs=True,
        n_resamples=199,
        rng=seed,
        **QUIET,
    )
    return found.pvalue <= LEVEL, bool((found.pair_adjusted_pvalues <= LEVEL).any())


def levels(repeats: int) -> None:
    jobs = [(*cell, seed) for cell in itertools.product(CORRELATIONS, IMAGES, PATIENTS) for seed in range(repeats)]
    found = np.array(in_workers(nested, jobs)).reshape(-1, repeats, 2).sum(axis=1)
    cells = list(itertools.product(CORRELATIONS, IMAGES, PATIENTS))
    rows = [
        [f"{c:g}", str(i), str(p), share(int(by), repeats), share(int(without), repeats)]
        for (c, i, p), (by, without) in zip(cells, found, strict=True)
    ]
    print(
        table(["correlation", "images", "patients per side", "subjects permuted", "images permuted"], rows), flush=True
    )
    rows = []
    kinds = ((stratified, "batches", "strata", "no strata"), (paired, "pairs", "within", "all images permuted"))
    for work, name, one, other in (*kinds, (scaled, "scale_test", "any distance", "any types and distance")):
        for patients, images in ((6, 3), (12, 5)) if work is not scaled else ((4, 3), (6, 3)):
            done = np.array(in_workers(work, [(patients, images, seed) for seed in range(repeats)])).sum(axis=0)
            shown = [f"{label}: {share(int(k), repeats)}" for label, k in zip((one, other), done, strict=True)]
            rows.append([name, str(patients), str(images), *shown])
    print(table(["design", "patients", "images", "rejected", "beside"], rows), flush=True)


# -- effects ---------------------------------------------------------------------------------------------------------

SHIFTS, EFFECT_IMAGES, SUBJECTS = (0.0, 1.0, 2.0, 4.0), (1, 4), (3, 4, 6, 8, 12, 20)


def effect(job: tuple) -> tuple[float, float]:
    """The interval of the energy between two groups of points in the plane; subjects vary as much as images do."""
    shift, images, subjects, seed = job
    rng = np.random.default_rng([seed, images, subjects, int(10 * shift), 6])
    subject = np.repeat(np.arange(2 * subjects), images)
    points = rng.normal(size=(2 * subjects, 2))[subject] + rng.normal(size=(len(subject), 2))
    label = (subject >= subjects).astype(int)
    points[:, 0] += shift * label
    d = np.linalg.norm(points[:, None] - points, axis=2)
    [pair] = ao.group_test(d, label, subjects=subject, n_resamples=1, rng=seed, **QUIET).pairs
    return pair.interval()


def true_energy(shift: float, draws: int = 4_000_000) -> float:
    """2 E|x - y| - E|x - x'| - E|y - y'| of points of different subjects."""
    apart = 2 * np.random.default_rng(0).normal(size=(draws, 2))  # both coordinates have a variance of 2 on either side
    moved = np.hypot(apart[:, 0] + shift, apart[:, 1])
    return float(2 * (moved - np.hypot(*apart.T)).mean())


def effects(repeats: int) -> None:
    true = {shift: true_energy(shift) for shift in SHIFTS}
    rows = []
    for shift, images in itertools.product(SHIFTS, EFFECT_IMAGES):
        cells = []
        for subjects in SUBJECTS:
            ends = np.array(in_workers(effect, [(shift, images, subjects, seed) for seed in range(repeats)]))
            cells.append(f"{np.mean((ends[:, 0] <= true[shift]) & (true[shift] <= ends[:, 1])):.3f}")
        rows.append([f"{shift:g}", str(images), *cells])
    print(table(["shift", "images", *(f"{subjects} subjects" for subjects in SUBJECTS)], rows), flush=True)


# -- power -----------------------------------------------------------------------------------------------------------

REACHES = np.linspace(0.02, 0.4, 20)
REACH = 0.2  # of AE with attributes: about the distances at which these tissues differ, known to whoever made them
N_CELLS = 20  # of each type
TYPES = np.repeat(list("ABC"), N_CELLS)
PAIRS = list(itertools.combinations_with_replacement("ABC", 2))
DIFFERENCES = ("none", "attraction", "clumps", "ring")


def tissue(rng: np.random.Generator, difference: str, strength: float) -> ao.Space:
    """Cells of three types in a square: B drawn to A, C in clumps, or B around A at a distance, none of them close."""
    a, b, c = rng.random((3, N_CELLS, 2))
    chosen = rng.random(N_CELLS) < strength
    angle = rng.uniform(0, 2 * np.pi, N_CELLS)
    if difference == "attraction":
        b[chosen] = (a + 0.06 * rng.normal(size=a.shape))[chosen]
    elif difference == "clumps":
        c[chosen] = (rng.random((3, 2))[rng.integers(3, size=N_CELLS)] + 0.05 * rng.normal(size=c.shape))[chosen]
    elif difference == "ring":
        b[chosen] = (a + 0.15 * np.c_[np.cos(angle), np.sin(angle)])[chosen]
        near = np.linalg.norm(b[:, None] - a, axis=2).min(axis=1) < 0.08
        b[near & chosen] += 0.1 * np.sign(b - 0.5)[near & chosen]
    points = np.clip(np.concatenate([a, b, c]), 0, 1)
    return ao.Space(np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)), types=TYPES, copy=False)


def tissues(rng: np.random.Generator, patients: int, images: int, difference: str) -> tuple[list[ao.Space], np.ndarray]:
    """Images of patients, whose own strength varies; those of the second half have more of it."""
    subject = np.repeat(np.arange(2 * patients), images)
    kind = "attraction" if difference == "none" else difference
    base = {"attraction": 0.15, "clumps": 0.15, "ring": 0.2}[kind]
    more = 0.0 if difference == "none" else {"attraction": 0.15, "clumps": 0.2, "ring": 0.4}[kind]
    own = np.clip(base + 0.12 * rng.normal(size=2 * patients) + more * (np.arange(2 * patients) >= patients), 0, 1)
    return [tissue(rng, kind, own[s]) for s in subject], subject


def l_statistics(space: ao.Space) -> np.ndarray:
    """Of every pair of types the integral of L(r) - r up to the largest reach, as spicyR has it."""
    kinds = np.array(space.types)
    found = []
    for first, second in PAIRS:
        d = space.cost[np.ix_(kinds == first, kinds == second)]
        d = d[~np.eye(len(d), dtype=bool)] if first == second else d.ravel()
        k = (d[:, None] <= REACHES).mean(axis=0)
        found.append(np.trapezoid(np.sqrt(k / np.pi) - REACHES, REACHES))
    return np.array(found)


def mixed_model(values: np.ndarray, subject: np.ndarray, patients: int) -> float:
    """P-value of a difference between groups with a random effect for patients, of designs that are balanced.

    Restricted maximum likelihood and Satterthwaite's degrees of freedom: a t-test of the patients' means, or of all
    images where these vary no more than images of one patient do.
    """
    means = np.array([values[subject == s].mean() for s in range(2 * patients)])
    images = len(values) // len(means)
    sides = means[:patients], means[patients:]
    between = images * sum(((side - side.mean()) ** 2).sum() for side in sides)
    within = ((values - means[subject]) ** 2).sum()
    df_between, df_within = 2 * patients - 2, len(values) - 2 * patients
    variance, df = between / df_between, df_between
    if variance < within / df_within:
        variance, df = (between + within) / (df_between + df_within), df_between + df_within
    t = (sides[1].mean() - sides[0].mean()) / np.sqrt(2 * variance / (patients * images))
    return float(2 * stats.t.sf(abs(t), df))


METHODS = (
    "AE with attributes by patients",
    "scale_test, any",
    "types and distance",
    "L, mixed model, Holm",
    "L, patients ignored",
)


def compared(job: tuple) -> list[bool]:
    difference, patients, images, seed = job
    rng = np.random.default_rng([seed, patients, images, DIFFERENCES.index(difference), 5])
    spaces, subject = tissues(rng, patients, images, difference)
    label = (subject >= patients).astype(int)
    options = {"subjects": subject, "n_resamples": 199, "rng": seed, **QUIET}
    local = pvalue_with_types(spaces, label, REACH, options)
    scale = ao.scale_test(spaces, label, REACHES, attributes="types", type_pairs=True, **options)
    u = np.array([l_statistics(space) for space in spaces])
    mixed = len(PAIRS) * min(mixed_model(column, subject, patients) for column in u.T)
    plain = len(PAIRS) * min(stats.ttest_ind(column[label == 0], column[label == 1]).pvalue for column in u.T)
    return [p <= LEVEL for p in (local, scale.pvalue, float(scale.pair_adjusted_pvalues.min()), mixed, plain)]


def pvalue_with_types(spaces: list[ao.Space], label: np.ndarray, max_cost: float | None, options: dict) -> float:
    d = ao.pairwise(spaces, attributes="types", max_cost=max_cost, n_jobs=1, **QUIET)
    return ao.group_test(d, label, post_hoc=False, **options).pvalue


def compared_reaches(job: tuple) -> list[bool]:
    """Rejected by AE with attributes up to REACH, by AE with attributes without a reach, and by the mixed model."""
    difference, patients, images, seed = job
    rng = np.random.default_rng([seed, patients, images, DIFFERENCES.index(difference), 5])
    spaces, subject = tissues(rng, patients, images, difference)
    label = (subject >= patients).astype(int)
    options = {"subjects": subject, "n_resamples": 199, "rng": seed, **QUIET}
    u = np.array([l_statistics(space) for space in spaces])
    mixed = len(PAIRS) * min(mixed_model(column, subject, patients) for column in u.T)
    return [
        p <= LEVEL
        for p in (*(pvalue_with_types(spaces, label, max_cost, options) for max_cost in (REACH, None)), mixed)
    ]


def max_costs(repeats: int, first_seed: int = 10_000) -> None:
    """On the cohorts of the experiment on patients, with its interval: Student's t of paired differences."""
    rows = []
    for difference in DIFFERENCES[1:]:
        jobs = [(difference, 8, 4, seed) for seed in range(first_seed, first_seed + repeats)]
        found = np.array(in_workers(compared_reaches, jobs))
        gain = found[:, 1].astype(float) - found[:, 2]
        low, high = stats.t.interval(0.95, repeats - 1, gain.mean(), stats.sem(gain))
        shares = [share(int(column.sum()), repeats) for column in found.T]
        rows.append([difference, *shares, f"{gain.mean():+.3f} ({low:+.3f} to {high:+.3f})"])
    head = [
        "tissues",
        f"AE with attributes up to {REACH:g}",
        "AE with attributes, no max_cost",
        "mixed model",
        "no max_cost less mixed model",
    ]
    print(table(head, rows), flush=True)


def power(repeats: int) -> None:
    cells = list(itertools.product(DIFFERENCES, (4, 8), (4,)))
    jobs = [(*cell, seed) for cell in cells for seed in range(repeats)]
    found = np.array(in_workers(compared, jobs)).reshape(len(cells), repeats, -1).sum(axis=1)
    rows = [
        [d, str(p), str(i), *(share(int(k), repeats) for k in own)] for (d, p, i), own in zip(cells, found, strict=True)
    ]
    print(table(["difference", "patients per side", "images", *METHODS], rows), flush=True)


# -- a real cohort ---------------------------------------------------------------------------------------------------


def pancreas(folder: Path) -> ao.Cohort:
    """The images of 12 patients with 200 cells each."""
    found = np.load(folder / "pancreas_imc.npz")
    named = {name: found[f"{name}_names"][found[name]] for name in ("imageID", "cellType", "stage")}
    rows = {**named, "case": found["case"].astype(int), "x": found["x"], "y": found["y"]}
    return ao.from_cohort(
        rows, sample="imageID", points=["x", "y"], types="cellType", subject="case", n_points=200, rng=0
    )


GUIDE = """\
print(ao.scale_test(cohort, "stage", attributes="types", n_resamples=5774, rng=0))
print(ao.group_test(cohort, "stage", attributes="types", n_resamples=5774, rng=0))
print(ao.group_test(cohort, "stage", metric="arrangement", n_resamples=5774, rng=0))
print(ao.composition_test(cohort, "stage", n_resamples=5774, rng=0))
"""  # as in docs/guides/cells.md


def real(folder: Path) -> None:
    cohort = pancreas(folder)
    case, stage = (np.array(cohort.metadata[name]) for name in ("case", "stage"))
    print(cohort)
    print(GUIDE)
    exec(GUIDE, {"ao": ao, "cohort": cohort})
    owner = np.unique(case, return_inverse=True)[1]
    for attributes, max_cost in (("types", 100.0), (None, 100.0)):
        d = np.asarray(ao.pairwise(cohort, attributes=attributes, max_cost=max_cost, **QUIET))
        for power_ in (1.0, 0.5):
            options = {"power": power_, "n_resamples": 9999, "rng": 0, **QUIET}
            found, naive = (ao.group_test(d, stage, subjects=own, **options) for own in (case, None))
            print(f"attributes={attributes}, power={power_}: {found.unit} p = {found.pvalue:.4f} of "
                  f"{found.n_assignments}, "
                  f"share {found.share:.3f}; images permuted p = {naive.pvalue:.4f}")  # fmt: skip
            for pair in found.pairs:
                low, high = pair.interval()
                print(f"  {pair.first} and {pair.second}: p = {pair.pvalue:.3f}, Holm {pair.adjusted_pvalue:.3f}, "
                      f"energy {pair.energy:.4f} ({low:.4f} to {high:.4f})")  # fmt: skip
        halves = [own for own in itertools.combinations(range(12), 6) if 0 in own]
        labels = [np.isin(owner, own) for own in halves]
        rejected = np.array(
            [
                [
                    ao.group_test(d, label, subjects=own, n_resamples=499, rng=0, post_hoc=False, **QUIET).pvalue
                    <= LEVEL
                    for own in (case, None)
                ]
                for label in labels
            ]
        )
        # By patients it is 5 % by construction: every split is compared with the same 462.
        stage_of = np.array([stage[owner == patient][0] for patient in range(12)])
        is_balanced = [all((stage_of[list(own)] == one).sum() == 2 for one in set(stage)) for own in halves]
        for which, kept in (("all", np.ones(len(halves), bool)), ("with two of every stage", np.array(is_balanced))):
            by_patients, by_images = rejected[kept].sum(axis=0).tolist()
            n = int(kept.sum())
            print(f"six patients against six, {which}, {n} ways: by patients {share(by_patients, n)}, "
                  f"by images {share(by_images, n)}")  # fmt: skip
    start = time.perf_counter()
    found = ao.scale_test(
        cohort,
        stage,
        np.arange(10.0, 151.0, 10.0),
        attributes="types",
        type_pairs=True,
        n_resamples=5774,
        rng=0,
        threads=2,
        **QUIET,
    )
    print(f"scale_test {found!r}, {time.perf_counter() - start:.0f} s; at 5 %: {found.which()[:10]}")
    for row in sorted(found.table(), key=lambda row: row.adjusted_pvalue)[:5]:
        print(f"  {row.first} and {row.second}, {row.low:.0f} to {row.high:.0f}: effect {row.effect:.2f}, "
              f"adjusted p = {row.adjusted_pvalue:.3f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("levels", "effects", "power", "max_costs", "tissue"))
    parser.add_argument("folder", type=Path, nargs="?", help="where pancreas_imc.npz is")
    parser.add_argument("--repeats", type=int, help="of every cell")
    parser.add_argument("--quick", action="store_true", help="a few repeats of everything")
    options = parser.parse_args()
    repeats = 4 if options.quick else options.repeats
    warnings.simplefilter("ignore")  # a BLAS warns about lanes that it does not use
    start = time.perf_counter()
    if options.what == "tissue":
        real(options.folder)
    elif options.what == "levels":
        levels(repeats or 1000)
    elif options.what == "effects":
        effects(repeats or 500)
    elif options.what == "max_costs":
        max_costs(repeats or 150)
    else:
        power(repeats or 300)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
