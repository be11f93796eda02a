"""Draw samples of known spaces, and see whether their Anchor Energy goes where theory says, and how fast."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import in_workers
from experiments.consistency.drawing import draw_floor, draw_means, draw_scatter
from experiments.consistency.floor import floor_rows, read
from experiments.consistency.populations import HOMOGENEOUS, POPULATIONS
from experiments.consistency.theory import expected_energy, leading_constant, true_energy

TITLE = "Consistency: Anchor Energy against the number of points"
QUESTION = "How far is the Anchor Energy of samples from that of what they were drawn from, and how does that fall?"
DATA = ("tosca_nonrigid3d",)
PAIRS = (
    ("circle", "circle"),
    ("sphere", "sphere"),
    ("torus", "torus"),
    ("ramp", "ramp"),
    ("circle", "sphere"),
    ("sphere", "torus"),
    ("interval", "ramp"),
)
SIZES, QUICK_SIZES = (32, 64, 128, 256, 512, 1024), (16, 32, 64)
LARGEST_ESTIMATED = 512
N_DRAWS = 2  # random halves an estimate: its mean over samples does not depend on them
RESAMPLES = 500
CONFIDENCE = (2.5, 97.5)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Found:
    """Energies of many pairs of samples of n points each, `[repeat]`, and what theory says of their means."""

    first: str
    second: str
    n: int
    plain: Floats
    value: Floats | None

    @property
    def name(self) -> str:
        """What the two spaces are called."""
        return self.first if self.first == self.second else f"{self.first} and {self.second}"

    @property
    def expected(self) -> float:
        """Mean of the plain AE, by theory."""
        return expected_energy(self.first, self.second, self.n)

    @property
    def expected_value(self) -> float:
        """Mean of the estimate, 2 AE_n - AE_{n/2}, by theory."""
        return 2 * self.expected - expected_energy(self.first, self.second, self.n // 2)

    def row(self) -> dict[str, Any]:
        """Means with their errors beside theory."""
        row: dict[str, Any] = {"spaces": self.name, "n": self.n, "AE of the populations": true_energy(*self.names)}
        row |= {"plain": self.plain.mean(), "error": _error(self.plain), "theory": self.expected}
        row |= {"off by errors": (self.plain.mean() - self.expected) / _error(self.plain)}
        row |= {"deviation": self.plain.std(ddof=1)}
        if self.value is None:
            return row | {"estimate": None, "estimate's error": None, "estimate's theory": None}
        shown = {"estimate": self.value.mean(), "estimate's error": _error(self.value)}
        return row | shown | {"estimate's theory": self.expected_value}

    @property
    def names(self) -> tuple[str, str]:
        """Both spaces."""
        return self.first, self.second


def run(study: Study) -> None:
    """Sample all pairs at all sizes, fit how fast things fall, and look at the noise floor of real shapes."""
    sizes = QUICK_SIZES if study.quick else SIZES
    repeats = study.draws("theory", 40)
    work = [(*pair, n) for pair in PAIRS for n in sizes]
    found = in_workers(study, partial(_sampled, repeats=repeats), work, "sampling", "sizes")
    study.figure("means", draw_means(found), MEANS)
    study.figure("deviations", draw_scatter(found), DEVIATIONS)
    slopes = [_slopes([one for one in found if one.names == pair], study.rng(3)) for pair in PAIRS]
    study.table("slopes", slopes, "How bias and deviation fall: powers of n, fitted, with 95 % intervals (bootstrap)")
    study.table("means", [one.row() for one in found], "Means over pairs of samples, and theory")
    _claim(study, found, slopes, repeats)
    _floor(study)
    for one in found:
        study.value(f"{one.name}, n = {one.n}: theory", one.expected, 1e-6)
        study.value(f"{one.name}, n = {one.n}: mean", one.plain.mean(), 1e-6)


def _sampled(work: tuple[str, str, int], repeats: int) -> Found:
    first, second, n = work
    key = [PAIRS.index((first, second)), n]
    plain, value = [], []
    for k in range(repeats):
        rng = np.random.default_rng([*key, k])
        x, y = POPULATIONS[first].sample(rng, n), POPULATIONS[second].sample(rng, n)
        if n <= LARGEST_ESTIMATED:
            estimate = ao.anchor_energy_estimate(x, y, n_draws=N_DRAWS, rng=rng)
            plain.append(estimate.plain)
            value.append(estimate.value)
        else:
            plain.append(ao.anchor_energy(x, y))
    return Found(first, second, n, np.array(plain), np.array(value) if value else None)


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _slopes(found: list[Found], rng: np.random.Generator) -> dict[str, Any]:
    """Powers of n of the bias and of the deviation, by least squares on logarithms; no power of what changes sign."""
    names, sizes = found[0].names, np.log([one.n for one in found])
    truth = true_energy(*names)
    expected = np.array([one.expected - truth for one in found])
    one_sign = abs(np.sign(expected).sum()) == len(expected)

    def fitted(draws: list[Floats]) -> tuple[float, float]:
        bias = [abs(values.mean() - truth) for values in draws]
        spread = [values.std(ddof=1) for values in draws]
        return float(np.polyfit(sizes, np.log(bias), 1)[0]), float(np.polyfit(sizes, np.log(spread), 1)[0])

    plain = [one.plain for one in found]
    again = np.array([fitted([rng.choice(values, len(values)) for values in plain]) for _ in range(RESAMPLES)])
    (bias, spread), (low, high) = fitted(plain), np.percentile(again, CONFIDENCE, axis=0)
    theory = float(np.polyfit(sizes, np.log(np.abs(expected)), 1)[0])
    return {
        "spaces": found[0].name,
        "bias": f"{bias:.2f} ({low[0]:.2f} to {high[0]:.2f})" if one_sign else "changes sign",
        "bias, by theory": theory if one_sign else None,
        "in the limit": -1.0 if names == ("ramp", "ramp") else -0.5,  # on a ramp alone no two anchors agree
        "limit of √n bias": leading_constant(*names) if names[0] in HOMOGENEOUS else None,
        "deviation": f"{spread:.2f} ({low[1]:.2f} to {high[1]:.2f})",
        "theory within": bool(low[0] <= theory <= high[0]) if one_sign else None,
    }


def _claim(study: Study, found: list[Found], slopes: list[dict[str, Any]], repeats: int) -> None:
    off = np.array([(one.plain.mean() - one.expected) / _error(one.plain) for one in found])
    ratios = Interval.mean([one.plain.mean() / one.expected - 1 for one in found])
    largest = found[int(np.argmax(np.abs(off)))]
    judged = [slope["theory within"] for slope in slopes if slope["theory within"] is not None]
    study.claim(
        "Not in the paper: of two samples of n points AE is on average what theory says.",
        f"{len(found)} means over {repeats} pairs of samples each: over theory less 1 {ratios}; off by "
        f"{np.sqrt(np.mean(off**2)):.2f} standard errors in quadratic mean, at most {np.abs(off).max():.1f} "
        f"({largest.name}, n = {largest.n}). The fitted power of the bias is that of theory within its 95 % interval "
        f"for {sum(judged)} of {len(judged)} pairs.",
        [Part("mean AE over theory, less 1", "consistency.theory", ratios)],
        "The mean is an integral of E|Z| over costs, Z a sum of steps of +1 and -1; for spaces whose points all see "
        "the same it is computed exactly, for points on an interval by the normal distribution.",
    )
    alike = next(slope for slope in slopes if slope["spaces"] == "circle")
    ramp = next(slope for slope in slopes if slope["spaces"] == "ramp")
    study.note(
        "Two samples of one space have an AE above 0. It falls, where all points see the same, as the root of n in the "
        f"end: circle, fitted n^{alike['bias']}, by theory n^{alike['bias, by theory']:.2f} on these sizes and "
        f"{alike['limit of √n bias']:.4f} / √n in the limit; where no two points see the same, nearly as 1 / n: points "
        f"on an interval with density 2u, n^{ramp['bias']}. Rows of a sample are samples themselves: between anchors "
        "that agree W1 is nothing but their noise, of order n^-1/2."
    )
    differing = [one for one in found if one.first != one.second and one.value is not None]
    last = [max((one for one in differing if one.names == pair), key=lambda one: one.n) for pair in PAIRS[4:]]
    told = "; ".join(
        f"{one.name} at n = {one.n} plain {one.plain.mean() / true_energy(*one.names) - 1:+.0%}, "
        f"estimate {np.mean(one.value) / true_energy(*one.names) - 1:+.0%}"
        for one in last
        if one.value is not None
    )
    study.note(
        f"How far samples of two spaces are from the AE of the spaces, relatively: {told}. Samples of spaces whose "
        "points all see the same look too much alike by a term of order n^-1/2, of which `anchor_energy_estimate` "
        "removes a little less than half (2 - √2 of it stays)."
    )


def _floor(study: Study) -> None:
    shapes = read(study.data["tosca_nonrigid3d"], study.rng(1), quick=study.quick)
    rows = floor_rows(shapes, study.rng(2), quick=study.quick)
    study.figure("floor", draw_floor(rows), FLOOR)
    study.table("floor", rows, "Two disjoint draws of one TOSCA shape, uniform among its vertices")
    shown = ", ".join(f"{row['n AE']:.0f} ± {row['error of n AE']:.0f} at n = {row['n']}" for row in rows)
    level = np.mean([row["n AE"] for row in rows])
    held = np.mean([row["95 % intervals that hold 0"] for row in rows])
    last = rows[-1]
    share = last["AE, two draws of one shape"] / last["median AE, two classes"]
    study.note(
        f"The noise floor on TOSCA: two draws of one shape have an AE of about {level:.0f} / n (n AE is {shown}). At n "
        f"= {last['n']} that is {share:.1%} of the median AE between shapes of different classes. {held:.0%} of the 95 "
        f"% intervals of the estimate hold 0. {len(shapes.spaces)} shapes, two of every class, distances along the "
        "surface in TOSCA's units."
    )
    for row in rows:
        study.value(f"noise floor, n = {row['n']}", row["n AE"], 0.02 * row["n AE"])


MEANS = (
    "Mean AE of samples against n, with two standard errors; lines are theory. Left: two samples of one space, whose "
    "true AE is 0. Right: relative bias of samples of two spaces, plain (filled) and estimated (hollow, dashed theory)."
)
DEVIATIONS = "Standard deviation of AE over pairs of samples; dotted the slopes of n^-1/2 and n^-1."
FLOOR = (
    "Two draws of one TOSCA shape: mean AE with two standard errors, the estimate of it (which should be 0), and the "
    "median AE between shapes of different classes."
)
