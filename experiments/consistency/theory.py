r"""What the Anchor Energy of two samples is on average, from the populations alone.

At a cost x let H_i be the share of a sample within x of its point i. Between anchors i and k of two such samples

    H_i - G_k = Z / n,   Z a sum of n - 1 steps: +1 if a point is within x of i alone, -1 if one is within x of k alone

(every point sees itself, on both sides, which cancels), and within a sample the same with n - 2 steps. So with
e(p, q, m) = E|Z| of m steps that are +1 with probability p and -1 with probability q,

    E AE_n = 2 ∫ e(H (1 - G), G (1 - H), n - 1) dx / n - (1 - 1/n) ∫ (e_x + e_y) dx / n,

with e_x = e(P(within x of i alone), P(within x of j alone), n - 2), all averaged over anchors. That is exact. Where all
anchors agree Z is pure noise, e ~ sqrt(2 m (p + q) / π), and the energy falls as n^-1/2 only; where they differ Z is
the difference and noise adds 1 / n.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from experiments.consistency.populations import HOMOGENEOUS, INTERVALS, REACH, X_CELLS, midpoints

Floats = NDArray[np.float64]
TABLE = 1000  # entries of e for p = q, by their root
ANCHORS = 150  # of an interval, for averages


@cache
def expected_energy(first: str, second: str, n: int) -> float:
    """E AE of samples of n points each, of two spaces of one kind."""
    if first in HOMOGENEOUS:
        cross, own = _homogeneous_cost(first, second, n), [_within_cost(name, n) for name in (first, second)]
    else:
        cross, own = _interval_cost(first, second, n), [_interval_cost(name, None, n) for name in (first, second)]
    return 2 * cross - (1 - 1 / n) * sum(own)


@cache
def true_energy(first: str, second: str) -> float:
    """AE of the populations."""
    if first in HOMOGENEOUS:
        x = REACH * midpoints(20 * X_CELLS)
        return 2 * REACH * float(np.abs(HOMOGENEOUS[first].cdf(x) - HOMOGENEOUS[second].cdf(x)).mean())
    cross, own_x, own_y = (_population_cost(*names) for names in ((first, second), (first, first), (second, second)))
    return 2 * cross - own_x - own_y


def leading_constant(first: str, second: str) -> float:
    """Lim sqrt(n) (E AE_n - AE) for homogeneous spaces: the noise that all anchors share."""
    x = REACH * midpoints(X_CELLS)
    own = [2 * np.sqrt(_apart(name)).mean(axis=0) for name in (first, second)]
    cdf = HOMOGENEOUS[first].cdf(x)
    cross = 2 * np.sqrt(2 * cdf * (1 - cdf)) if first == second else 0  # where CDFs differ noise cancels
    return float(REACH * np.mean(2 * cross - own[0] - own[1]) / np.sqrt(2 * np.pi))


def mean_size(up: Floats, down: Floats, steps: int) -> Floats:
    """E|Z| of a sum of steps of +1 and -1 with these probabilities, exactly.

    |Z| = mean over the circle of (1 - cos Zθ) / (1 - cos θ), a polynomial in cos θ of a degree below the number of
    steps, which a sum over more equal angles integrates exactly.
    """
    angles = np.pi * midpoints(steps // 2 + 1)
    total = np.zeros(np.broadcast(up, down).shape)
    for angle in angles:
        turned = 1 - (up + down) * (1 - np.cos(angle)) + 1j * (up - down) * np.sin(angle)
        total += (1 - (turned**steps).real) / (1 - np.cos(angle))
    return total / len(angles)


def folded(mean: Floats, variance: Floats) -> Floats:
    """E|N(mean, variance)|; the variance may be 0."""
    deviation = np.sqrt(np.maximum(variance, 1e-300))
    ratio = mean / deviation
    return deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + mean * erf(ratio / np.sqrt(2))


@cache
def _apart(name: str) -> Floats:
    return HOMOGENEOUS[name].apart(REACH * midpoints(X_CELLS))


def _homogeneous_cost(first: str, second: str, n: int) -> float:
    x = REACH * midpoints(X_CELLS)
    h, g = HOMOGENEOUS[first].cdf(x), HOMOGENEOUS[second].cdf(x)
    return REACH * float(mean_size(h * (1 - g), g * (1 - h), n - 1).mean()) / n


@cache
def _within_cost(name: str, n: int) -> float:
    roots = np.linspace(0, 1, TABLE)
    half = roots**2 / 2
    found = np.interp(np.sqrt(_apart(name)), roots, mean_size(half, half, n - 2))
    return REACH * float(found.mean()) / n


@cache
def _interval_cost(first: str, second: str | None, n: int) -> float:
    """Mean cost between anchors of two samples or, without a second, of one, by the normal distribution of Z."""
    one, two = INTERVALS[first], INTERVALS[second or first]
    u, v = one.quantile(midpoints(ANCHORS))[:, None], two.quantile(midpoints(ANCHORS))
    steps = n - 2 if second is None else n - 1
    costs = []
    for x in midpoints(X_CELLS):
        h, g = one.mass(u - x, u + x), two.mass(v - x, v + x)
        both = h * g if second is not None else one.mass(np.maximum(u, v) - x, np.minimum(u, v) + x)
        up, down = h - both, g - both
        costs.append(folded(steps * (up - down), steps * (up + down - (up - down) ** 2)).mean())
    return float(np.mean(costs)) / n


def _population_cost(first: str, second: str) -> float:
    one, two = INTERVALS[first], INTERVALS[second]
    u, v = one.quantile(midpoints(2 * ANCHORS))[:, None], two.quantile(midpoints(2 * ANCHORS))
    return float(np.mean([np.abs(one.mass(u - x, u + x) - two.mass(v - x, v + x)).mean() for x in midpoints(X_CELLS)]))
