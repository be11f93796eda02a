r"""Estimate the Anchor Energy between the populations behind two samples, with its standard error.

Let the points of two spaces be independent draws from two populations, and let F be the population's distribution of
quantile functions, so that AE = 2 |F - G|² (:func:`~anchorot.anchor_energy`). Of samples of s points each the plain AE
is AE_s = 2 |F_s - G_s|², and it errs in two ways.

- Noise: F_s scatters around its mean, so AE_s is too large, by c / s: a V-statistic counts pairs i = i', whose cost
  is 0, among the pairs within a space, and every row holds its point's own cost, 0, with weight 1 / s.
- Blur: rows are samples themselves. With D the difference of two anchors' CDFs at a position and v / s the variance of
  its sample, E|D + noise| = |D| where D is large, but more around 0: f(0) v / s in all where D has a density f, and of
  order s^-1/2 where D has an atom at 0, which is where many anchors agree (all points of a circle; points inside an
  interval, about small distances). Between the spaces and within them it enters with opposite signs. It makes spaces
  that differ seem nearer; for two draws of one space it cancels but for this: two anchors of one sample see the same
  points and differ by less than two of different samples, which leaves order s^-1/2 where all anchors agree.

Leaving out the pairs i = i' and the own costs (the U-statistic) takes away the noise, but blur cannot be seen in one
sample. Halves of both samples, for which c / s is twice as large, tell both:

    value = 2 AE_s - mean of AE_{s/2} over random halves

is free of everything of order 1 / s. Of a blur of order s^-1/2 it leaves 2 - sqrt(2), a little more than half. s is the
same on both sides (the size of the smaller sample; from the larger one s points are drawn anew for every draw), so that
of the blur of two draws of one space no more is left than that.

The error. To first order F_s - F is a mean of independent parts, with covariance operator S / s, and (first half -
second half) / 2 has the same covariance. With d = F - G, value - AE is about 4 <d, e> + 2 (|e|² - E|e|²), e ~ N(0, T)
and T = S_x / n + S_y / m, so its variance is 16 <d, T d> + 8 tr T²; all of which are sums of squares of AEs between
halves (see `_moments`). tr S² is the mean square of <D, D'>, the differences of halves of two independent splits: it is
Σ_ij <ψ_i, ψ_j>² / n⁴ over the influences ψ of points, with i = j, which the variance of |D|² over splits lacks. A
single point far out is i = j alone: all splits have it on one side, and their |D|² does not vary. The second part is
multiplied by what the extrapolation itself does to it, measured between halves and their quarters, which are two draws
of one space each.

The first part is proportional to AE, so intervals are those of AEs that the value would not reject (as Wilson's for
shares): value ± z standard errors would miss large AEs. And the value is skewed to the right, as 2 |d + e|² is: for
the lower end it is taken for a (χ² - k), with k degrees of freedom and noncentrality AE / a, whose variance
2 a² k + 4 a AE is that above.

Outliers. Where a sample has a few points very far out, AE is about how many of them there are, |k_x - k_y| / n, and
no half knows how many there might have been. And where all anchors agree, as on a circle, what they differ by is blur
alone, which shrinks as s^-1/2 from halves to wholes. So does the noise of ranks of equal costs: all that are tied get
one rank, which is a share of a sample and errs by s^-1/2, and steps of F move sideways together. The estimate says all
three: `tail`, `blur`, `ties`, `is_reliable`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels import kernels
from anchorot._typing import Float64s, Floats, RngLike
from anchorot._validate import check_integer, check_level, check_memory, check_overflow, check_rng, check_threads
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space, with_unit_costs

LEAST_POINTS = 8  # quarters of them still have pairs
LONGEST_TAIL = 5.0  # of exponential clouds of 100 points one in ten has a longer one, of normal ones none
MOST_TIES = 0.25  # of normal clouds with rounded distances: coverage 0.97 to 0.99 below, 0.88 at 0.4 and 0.61 at 0.8
LARGEST_BLUR = 0.5  # of circles and spheres it is about 1, of other clouds of 100 points at most 0.25
N_BLURRED = 10  # draws whose halves tell it
LEAST_SKEW = 1e-4  # of the value, in standard errors at AE = 0, from which on it matters
MOST_SKEW = 0.5**0.5  # that of one degree of freedom
N_HALVINGS = 100  # to find an end of an interval


@dataclass(frozen=True, repr=False)
class EnergyEstimate:
    """An estimate of the Anchor Energy between the populations behind two samples.

    Attributes
    ----------
    value : float
        Estimate of the populations' AE. It may be negative: between two draws of one space it is as often below 0 as
        the noise makes it.
    plain : float
        The samples' own AE, as :func:`~anchorot.anchor_energy` gives it.
    null_error : float
        What the standard error would be if the populations' AE were 0.
    growth : float
        By how much the variance grows for every unit of the populations' AE.
    n_points : int
        Points of either side that a draw compares.
    n_draws : int
        Random halves that were compared.
    tail : float
        How far out the farthest point lies: its mean cost, of the median of all points' mean costs; the larger of both
        samples. About 2 for normal clouds, 4 for exponential ones.
    blur : float
        Of what the anchors of a sample differ by, how much comes from seeing a sample only: about 1 on a circle or a
        sphere, where all anchors agree, and near 0 elsewhere; the larger of both samples.
    ties : float
        With ``robust=True``, the probability that two costs are equal, times the root of the number of points; the
        larger of both samples. 0 without ties, and for costs that are not ranked.
    """

    value: float
    plain: float
    null_error: float
    growth: float
    n_points: int
    n_draws: int
    tail: float = 1.0
    blur: float = 0.0
    ties: float = 0.0

    def __repr__(self) -> str:
        low, high = self.interval()
        verdict = "the samples may be of one space" if low <= 0 <= high else "the spaces differ"
        lines = [
            f"EnergyEstimate: {self.value:.4g}, 95 % interval {low:.4g} to {high:.4g}: {verdict}",
            f"energy of the samples themselves: {self.plain:.4g}, of which sampling noise {self.noise:.4g}",
            f"from {self.n_draws} random splits of {self.n_points} points",
        ]
        if self.doubt:
            lines.append(f"not reliable: {self.doubt}")
        return "\n  ".join(lines)

    @property
    def is_reliable(self) -> bool:
        """Whether the interval is what it says.

        False where a few points lie so far out that they decide (`tail`), where anchors differ by little but what a
        sample makes of them (`blur`), as the value is then far too small for spaces that differ, and where many ranks
        are of equal costs (`ties`): the value is then too large.
        """
        return not self.doubt

    @property
    def doubt(self) -> str:
        """Why the result is not reliable; empty if it is."""
        if self.tail > LONGEST_TAIL:
            return "a few points are outliers"
        if self.ties > MOST_TIES:
            return "many costs are equal, which ranks do not take; use robust=False"
        return "all anchors are nearly equal" if self.blur > LARGEST_BLUR else ""

    @property
    def noise(self) -> float:
        """How much of the plain AE is due to the draw; negative where samples look more alike than populations."""
        return self.plain - self.value

    @property
    def standard_error(self) -> float:
        """Standard deviation of the value over other draws of both samples, estimated."""
        return _root(self.null_error, self.growth, max(self.value, 0.0))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the AEs of the populations that agree with the samples: low and high.

        Parameters
        ----------
        level : float in (0, 1)
            How often, over pairs of samples, the interval is meant to hold the populations' AE. At 0.95 it did so for
            92 to 99 % of the pairs of clouds of eight kinds (``docs/two_samples.md``); where `is_reliable` is False it
            hangs on a handful of points.

        Returns
        -------
        tuple of float
            If 0 lies between them, the samples may well be draws of one space. If not, they differ.
        """
        share = check_level(level)
        z = NormalDist().inv_cdf((1 + share) / 2)
        return self._low(z, (1 + share) / 2), self._end(z)

    def _low(self, z: float, p: float) -> float:
        """The AE of which the value is the quantile p, if it is as skewed as the squared length of a normal vector."""
        skew = min(self.growth / 4 / self.null_error, MOST_SKEW) if self.null_error > 0 else 0.0
        if skew < LEAST_SKEW:
            return self._end(-z)
        value, low, high = self.value / self.null_error, 0.0, max(self.value / self.null_error, 0.0)
        if value <= (most := _quantile(0.0, skew, p)):
            return (value - most) * self.null_error  # below 0 it is as it is at 0
        for _ in range(N_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if middle + _quantile(middle, skew, p) < value else (low, middle)
        return min(low * self.null_error, self._end(-z))

    def _end(self, z: float) -> float:
        """The AE that differs from the value by |z| times the standard error at that AE."""
        flat = self.value + z * self.null_error  # below 0 the error is that at 0
        if flat <= 0:
            return flat
        half = z * self.growth / 2  # of (AE - value)² = z² (null_error² + growth AE), a quadratic equation
        return self.value + z * (half + _root(self.null_error, self.growth, self.value, half))


def _quantile(energy: float, skew: float, p: float) -> float:
    """By how much the value exceeds an energy with the probability 1 - p, all in standard errors at 0.

    Of skew (χ² - k), where χ² has 1 / (2 skew²) degrees of freedom and the noncentrality energy / skew: by a central χ²
    of the same mean and variance (Patnaik, Biometrika 1949).
    """
    from scipy.special import gammaincinv

    degrees, off = 1 / (2 * skew**2), energy / skew
    unit = (degrees + 2 * off) / (degrees + off)
    own = (degrees + off) / unit
    return float(skew * (unit * 2 * gammaincinv(own / 2, p) - degrees - off))


def _root(error: float, growth: float, energy: float, more: float = 0.0) -> float:
    """sqrt(error² + growth energy + more²), in units in which nothing overflows."""
    unit = max(error, growth, abs(energy), abs(more)) or 1.0
    return unit * math.sqrt((error / unit) ** 2 + (growth / unit) * (energy / unit) + (more / unit) ** 2)


def anchor_energy_estimate(
    x: Space | ArrayLike,
    y: Space | ArrayLike,
    *,
    robust: bool = False,
    n_draws: int = 100,
    rng: RngLike = None,
    threads: int = 1,
) -> EnergyEstimate:
    """Estimate the Anchor Energy between the populations that two spaces are samples of, with its error.

    Two samples of one shape have an AE above 0, and the fewer their points, the larger it is. On average the estimate
    is free of this noise. Its interval shows whether the rest is more than chance; `is_reliable` is False where a few
    points lie too far out to tell. It extrapolates from random halves of both samples; the mathematics is at the top of
    this module, and ``docs/two_samples.md`` shows how well it works.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
        Samples of at least 8 points, of equal weights: every point one draw, independent of all others (of a mesh:
        ``sampling="uniform"``, and another `rng` for either side). One space given twice is no pair of samples.
    robust : bool
        Compare ranks; every half is ranked by itself.
    n_draws : int
        How many random halves to compare. With 100 they move the standard error by about a tenth.
    rng : None, int or numpy.random.Generator
        Source of randomness for the halves.
    threads : int
        Threads for the kernels; the result is the same to the last bit.

    Returns
    -------
    EnergyEstimate
        With `value`, `standard_error`, `interval()`, `is_reliable`, `plain` and `noise`.

    Notes
    -----
    O(n_draws n² log n) time, as long as two or three plain AEs per draw. The same `rng` gives the same result however
    the points are numbered, but for points that see the same costs: among these, numbers decide who is in which half.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> places = np.random.default_rng(0).random((2, 60, 2))
    >>> x, y = (np.linalg.norm(own[:, None] - own, axis=2) for own in places)
    >>> found = ao.anchor_energy_estimate(x, y, rng=0)
    >>> low, high = found.interval()
    >>> found.plain > 0.005, low < 0 < high
    (True, True)
    """
    n_draws = check_integer(n_draws, "n_draws", 2)
    threads = check_threads(threads)
    scaled, unit = with_unit_costs(_sample(x, "x"), _sample(y, "y"))
    unit = 1.0 if robust else unit  # ranks have none
    first, second = (_Sample(_in_own_order(space.cost), robust, threads) for space in scaled)
    size = min(first.n, second.n) // 2 * 2
    generator = check_rng(rng)
    draws, products = [], []
    before: list[_Parts] = []
    halves: list[list[float]] = []
    for _ in range(n_draws):
        parts = [sample.parts(generator, size) for sample in (first, second)]
        draws.append(_compare_parts(*parts))
        products += [[_product(one, other) for one, other in zip(before, parts, strict=True)]] if before else []
        before = parts
        halves += [[_spread(part.halves) for part in parts]] if len(halves) < N_BLURRED else []
    value, null, growth = _moments(np.array(draws), np.array(products), size / first.n, size / second.n)
    plain = first.whole.energy_to(second.whole, threads=threads)
    tail = max(first.tail, second.tail)
    wholes = [_spread([part.whole]) for part in before]
    blur = max(_blur(half, whole) for half, whole in zip(np.mean(halves, axis=0).tolist(), wholes, strict=True))
    ties = max(_ties(space.cost) for space in scaled) if robust else 0.0
    errors = math.sqrt(null) * unit, growth * unit
    found = EnergyEstimate(value * unit, plain * unit, *errors, size, n_draws, tail, blur, ties)
    check_overflow(found.plain, 1)
    check_overflow(found.value, 1)
    return found


def _sample(x: Space | ArrayLike, name: str) -> Space:
    space = as_space(x).support()
    if not space.is_uniform:
        raise InputError(
            f"{name} has points of different weights, but an estimate takes each for one draw: give equal weights"
        )
    if space.n < LEAST_POINTS:
        raise InputError(f"{name} has {space.n} points, but an estimate needs at least {LEAST_POINTS}")
    check_memory(space.n, 40, "an estimate from")
    return space


def _in_own_order(cost: Floats) -> Floats:
    """The costs with points in the order of their sorted rows, which does not depend on how they were numbered."""
    rows = np.sort(cost, axis=1) + 0.0  # -0 is 0
    order = rows.view(np.dtype((np.void, rows.strides[0]))).ravel().argsort(kind="stable")
    return cost[np.ix_(order, order)]


def _ties(cost: Floats) -> float:
    """How likely two costs between different points are equal, without those of i to j and j to i; times sqrt(n)."""
    n = len(cost)
    others = cost[~np.eye(n, dtype=bool)]
    shares = np.unique(others, return_counts=True)[1] / len(others)
    alone = 2 / len(others) if np.array_equal(cost, cost.T) else 1 / len(others)
    return math.sqrt(n) * max(0.0, float(shares @ shares) - alone)


class _Parts(NamedTuple):
    """Features of points drawn from a sample, of their halves and of each half's halves."""

    whole: AnchorFeatures
    halves: list[AnchorFeatures]
    quarters: list[list[AnchorFeatures]]


class _Sample:
    """The costs of a sample, from which parts are drawn."""

    def __init__(self, cost: Floats, robust: bool, threads: int) -> None:
        self.n, self.threads = len(cost), threads
        self._cost, self._robust = cost, robust
        self.whole = self._features(np.arange(self.n))

    @property
    def tail(self) -> float:
        """The largest mean cost of a point, of the median of all."""
        seen = Space(self._cost, copy=False).ranked().cost if self._robust else self._cost
        means = np.abs(seen).mean(axis=1)
        middle = float(np.median(means))
        return float(means.max()) / middle if middle > 0 else math.inf if means.any() else 1.0

    def _features(self, index: NDArray[np.int64]) -> AnchorFeatures:
        part = self._cost[np.ix_(index, index)]  # checked already, so of parts nothing is
        levels = kernels.quantiles(Space(part, copy=False).ranked().cost if self._robust else part, self.threads)
        kernels.sort_rows(levels, self.threads)
        return AnchorFeatures(levels=levels, robust=self._robust)

    def parts(self, generator: np.random.Generator, size: int) -> _Parts:
        """Draw an even number of points, and split them at random."""
        index = generator.permutation(self.n)[:size]
        halves = index.reshape(2, -1)
        quarters = halves[:, : size // 4 * 2].reshape(2, 2, -1)
        return _Parts(
            self.whole if size == self.n else self._features(index),
            [self._features(half) for half in halves],
            [[self._features(quarter) for quarter in pair] for pair in quarters],
        )


def _compare_parts(x: _Parts, y: _Parts) -> list[float]:
    """AEs of the wholes, of halves across, of the halves within, and mean AEs of quarters within, across halves."""

    def across(first: list[AnchorFeatures], second: list[AnchorFeatures]) -> list[float]:
        return [f.energy_to(g) for f in first for g in second]

    within = [part.halves[0].energy_to(part.halves[1]) for part in (x, y)]
    finer = [float(np.mean(across(*part.quarters))) for part in (x, y)]
    return [x.whole.energy_to(y.whole), *across(x.halves, y.halves), *within, *finer]


def _product(one: _Parts, other: _Parts) -> float:
    """<D, D'> of the differences between the halves of two draws of one sample."""
    (f1, f2), (g1, g2) = one.halves, other.halves
    return (f1.energy_to(g2) + f2.energy_to(g1) - f1.energy_to(g1) - f2.energy_to(g2)) / 4


def _spread(features: list[AnchorFeatures]) -> float:
    """Mean distance W1 between two different anchors of one sample; the mean over samples."""
    sizes = [own.levels.shape[1] for own in features if own.levels is not None]
    return float(np.mean([own.self_cost() / (1 - 1 / n) for own, n in zip(features, sizes, strict=True)]))


def _blur(half: float, whole: float) -> float:
    """The part of a spread that grows by sqrt(2) from wholes to halves."""
    return (half / whole - 1) / (math.sqrt(2) - 1) if whole > 0 else 0.0


def _moments(draws: Float64s, products: Float64s, share_x: float, share_y: float) -> tuple[float, float, float]:
    """Value, variance if AE were 0, and growth of the variance with AE, from the columns that `_compare_parts` gives.

    With F₁, F₂ and G₁, G₂ the halves and S, R the covariances of (F₁ - F₂) / 2 and (G₁ - G₂) / 2:
    a₁₁ + a₁₂ - a₂₁ - a₂₂ = 8 <d, F₁ - F₂>,  a₁₂ + a₂₁ - a₁₁ - a₂₂ = 4 <F₁ - F₂, G₁ - G₂>,  w = 2 |F₁ - F₂|². The
    products <F₁ - F₂, F₁' - F₂'> of two splits of one sample have the mean square 16 tr S².
    """
    whole, a11, a12, a21, a22, w_x, w_y, finer_x, finer_y = draws.T
    values = 2 * whole - (a11 + a12 + a21 + a22) / 4
    split_ss, split_rr = np.var(w_x, ddof=1) / 128, np.var(w_y, ddof=1) / 128  # without what single points add
    tr_ss, tr_rr = np.maximum(np.mean(np.square(products), axis=0) / 16, [split_ss, split_rr])
    tr_sr = np.mean(np.square(a12 + a21 - a11 - a22)) / 256
    squares = share_x**2 * tr_ss + share_y**2 * tr_rr + 2 * share_x * share_y * tr_sr  # of S_x / n + S_y / m
    extrapolated = np.var(2 * w_x - finer_x, ddof=1) + np.var(2 * w_y - finer_y, ddof=1)
    inflation = extrapolated / (128 * (split_ss + split_rr)) if split_ss + split_rr > 0 else 1.0
    null = 8 * inflation * squares + np.var(values, ddof=1) / len(values)  # the latter: because draws are few
    along = share_x * np.square(a11 + a12 - a21 - a22) + share_y * np.square(a11 + a21 - a12 - a22)  # 16² <d, T d>
    growth = np.mean(along) / 16 / np.mean(whole) if whole.any() else 0.0
    return float(np.mean(values)), float(null), float(growth)
