"""The energy of a signed measure on the line, from the gaps between its points."""

import math

import numpy as np

from anchorot._typing import Float64s, Floats

SMALLEST_SCALE = -1000  # power of two whose reciprocal is still a normal number


def span_of(*values: Floats) -> float:
    """Range of all numbers in arrays, some of which may be empty; infinite if it is beyond the range of floats."""
    ends = [(float(v.min()), float(v.max())) for v in values if v.size]
    return max(high for _, high in ends) - min(low for low, _ in ends)


def scale_of(span: float) -> int:
    """Return k such that gaps times 2**-k are at most 1: their powers stay in the range of floats."""
    return max(math.frexp(span)[1], SMALLEST_SCALE)


def scaled_back(energy: float, scale: int, p: int) -> float:
    """Return the energy of gaps that were multiplied with 2**-scale; infinite if it is beyond the range of floats."""
    try:
        return math.ldexp(energy, scale * p)
    except OverflowError:
        return math.copysign(math.inf, energy)


def gap_energy(gaps: Float64s, d: Float64s, p: int) -> Float64s:
    r"""Energy :math:`-\iint |x - y|^p d\mu(x) d\mu(y)` of a signed measure of total mass zero, along the last axis.

    With D the measure's CDF, which has the value ``d[i]`` on a gap of length ``gaps[i]``, it is

    - p = 1:  2 ∫ D(x)² dx
    - p = 2:  2 (∫ D(x) dx)²
    - p >= 2:  p (p - 1) ∬ |x - y|^(p-2) D(x) D(y) dx dy

    which needs no coordinates, only gaps: nothing cancels far from zero, and p = 1, 2 are squares. For p >= 3, with
    q = p - 2 and A_k(x) = ∫_{y < x} (x - y)^k D(y) dy, one gap g takes A_k to
    Σ_j C(k, j) g^(k-j) A_j + d g^(k+1) / (k + 1), so each A_k is a cumulative sum of terms of the lower ones.
    """
    if p == 1:
        return 2 * np.sum(gaps * d * d, axis=-1)
    if p == 2:
        return 2 * np.sum(gaps * d, axis=-1) ** 2
    q = p - 2
    below: list[Float64s] = []  # A_0, ..., A_q at the start of each gap
    for k in range(q + 1):
        growth = d * gaps ** (k + 1) / (k + 1)
        for j in range(k):
            growth += math.comb(k, j) * gaps ** (k - j) * below[j]
        at_end = np.cumsum(growth, axis=-1)
        below.append(np.concatenate([np.zeros_like(at_end[..., :1]), at_end[..., :-1]], axis=-1))
    inner = d * gaps ** (q + 2) / ((q + 1) * (q + 2))
    for j in range(q + 1):
        inner += math.comb(q, j) * gaps ** (q - j + 1) / (q - j + 1) * below[j]
    return 2 * p * (p - 1) * np.sum(d * inner, axis=-1)
