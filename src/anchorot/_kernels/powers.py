"""The energy of a signed measure on the line, and its integral over time while points move, for any power of costs.

The NumPy kernels use it for p = 1. p >= 3 has no C++ kernels: such energies are no distances, and few ask for them.
With 512 points and weights a pair takes a second, about a hundred times as long as p = 1.
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.records import LevelMoves, common_segments
from anchorot._typing import Float64s, Floats

SMALLEST_SCALE = -1000  # power of two whose reciprocal is still a normal number
BLOCK_NUMBERS = 1 << 18  # handled at a time: a few MB of temporary arrays
BLOCK_EVENTS = 128  # handled at once; their mutual terms cost the square of it each block


def blocks_of(count: int, size: int) -> Iterator[slice]:
    """Slices of `count` things of `size` numbers each, as many at a time as temporary arrays should hold."""
    step = max(1, BLOCK_NUMBERS // max(1, size))
    return (slice(start, start + step) for start in range(0, count, step))


def span_of(*values: Floats) -> float:
    """Range of all numbers in arrays, some of which may be empty; infinite if it is beyond the range of floats."""
    ends = [(float(v.min()), float(v.max())) for v in values if v.size]
    return max(high for _, high in ends) - min(low for low, _ in ends)


def scale_of(span: float) -> int:
    """Return k such that gaps times 2**-k are at most 1: their powers stay in the range of floats."""
    return max(math.frexp(span)[1], SMALLEST_SCALE)


def scale_back(energy: float, scale: int, p: int) -> float:
    """Return the energy of gaps that were multiplied with 2**-scale; infinite if it is beyond the range of floats."""
    try:
        return math.ldexp(energy, scale * p)
    except OverflowError:
        return math.copysign(math.inf, energy)


def gap_energy(gaps: Any, d: Any, p: int, below: list[Any] | None = None) -> Any:
    r"""Energy :math:`-\iint |x - y|^p d\mu(x) d\mu(y)` of a signed measure of total mass zero, along the last axis.

    With D the measure's CDF, which has the value ``d[i]`` on a gap of length ``gaps[i]``, it is

    - p = 1:  2 ∫ D(x)² dx
    - p = 2:  2 (∫ D(x) dx)²
    - p >= 2:  p (p - 1) ∬ |x - y|^(p-2) D(x) D(y) dx dy

    which needs no coordinates, only gaps: nothing cancels far from zero, and p = 1, 2 are squares. For p >= 3 it needs
    the `moments` up to p - 2, which are given for tensors.
    """
    if p == 1:
        return 2 * (gaps * d * d).sum(-1)
    if p == 2:
        return 2 * (gaps * d).sum(-1) ** 2
    q = p - 2
    below = moments(np, gaps, d, q) if below is None else below
    inner = d * gaps ** (q + 2) / ((q + 1) * (q + 2))
    for j in range(q + 1):
        inner += math.comb(q, j) * gaps ** (q - j + 1) / (q - j + 1) * below[j][..., :-1]
    return 2 * p * (p - 1) * (d * inner).sum(-1)


def moments(xp: Any, gaps: Any, d: Any, q: int) -> list[Any]:
    """A_k(z) = ∫_{y < z} (z - y)^k D(y) dy at all ends z of gaps, for k = 0, ..., q; of arrays or of tensors.

    One gap g takes A_k to Σ_j C(k, j) g^(k-j) A_j + d g^(k+1) / (k + 1), so each is a cumulative sum of terms of the
    lower ones.
    """
    found: list[Any] = []
    nothing = 0 * d.sum(-1)[..., None]
    for k in range(q + 1):
        growth = d * gaps ** (k + 1) / (k + 1)
        for j in range(k):
            growth += math.comb(k, j) * gaps ** (k - j) * found[j][..., :-1]
        found.append(xp.concatenate([nothing, growth.cumsum(-1)], -1))
    return found


@np.errstate(over="ignore", invalid="ignore")  # what overflows is infinite or NaN; callers refuse it
def level_energy(x: Floats, y: Floats, p: int) -> float:
    """AE_p: the energy distance of the samples x[k] and y[l], integrated over the common refinement of the levels."""
    span = span_of(x[[0, -1]], y[[0, -1]])
    if span == np.inf:
        return np.inf
    scale = scale_of(span) if p >= 3 else 0
    (levels_x, n), (levels_y, m) = x.shape, y.shape
    at_x, at_y, width = common_segments(levels_x, levels_y)
    energy = np.empty(len(width))
    for block in blocks_of(len(width), n + m):
        merged = np.concatenate([x[at_x[block]], y[at_y[block]]], axis=1).astype(np.float64, copy=False)
        order = np.argsort(merged, axis=1, kind="stable")
        # D after each number, in units of 1 / (n m): exact
        d = np.cumsum(np.where(order < n, m, -n), axis=1)[:, :-1] / (n * m)
        gaps = np.ldexp(np.diff(np.take_along_axis(merged, order, axis=1), axis=1), -scale)
        energy[block] = gap_energy(gaps, d, p)
    return scale_back(float(width @ energy), scale, p)


@np.errstate(over="ignore", invalid="ignore")
def level_sweep_energy(moves: LevelMoves, signed_mass: Float64s, p: int) -> float:
    """AE_p of two collections of weighted measures, with masses of either sign: a sweep over the levels.

    What moves are the quantiles.
    """
    time, row, before, after, start = moves
    return block_sweep(time, row, before, after, start, signed_mass, p, span=(0.0, 1.0))


def block_sweep(
    time: Float64s,
    row: NDArray[np.uint32],
    before: Float64s,
    after: Float64s,
    start: Float64s,
    signed_mass: Float64s,
    p: int,
    span: tuple[float, float],
) -> float:
    """Integrate f over the time `span`, f = -Σ s_r s_q |z_r - z_q|^p, where event e moves z[row[e]].

    Serves both sweeps: over positions, where CDF heights move (p = 1), and over levels, where quantiles move.

    Inside a block the effect of each event is that against the state at the block's start, by prefix sums of
    powers, corrected for the events before it in the block, as a dense matrix. f starts afresh at each block, and
    a new block begins wherever a gap is long compared with the whole way so far, so that what rounding leaves of f
    is never multiplied by a large gap. Values are scaled by a power of two to their range, so that their powers stay in
    the range of floats. O(L (B + N p / B)) for L events of N rows in blocks of B.

    Parameters
    ----------
    time : (L,) ascending
    row : (L,) the row that moves
    before, after : (L,) its value before and after
    start : (N,) values before the first event
    signed_mass : (N,) of sum 0
    p : int
    span : from when to when to integrate; all events lie between

    Returns
    -------
    float
        Infinite if it, the span or the range of the values is beyond the range of floats.
    """
    max_cost = span_of(start, after)
    if np.inf in (max_cost, span_of(np.array(span))):
        return np.inf
    scale = scale_of(max_cost)
    z, before, after = (np.ldexp(values, -scale) for values in (start, before, after))
    total = 0.0
    here = span[0]
    for e0, e1 in pairwise(np.append(_block_starts(time, len(start)), len(time))):
        block = slice(e0, e1)
        order = np.argsort(z)
        f = _energy(z[order], signed_mass[order], p)
        total += (time[e0] - here) * f
        s, v, w = signed_mass[row[block]], before[block], after[block]
        potential = _Potential(z[order], signed_mass[order], p)
        # f' - f = -2 s (Φ(w) - Φ(v)) + 2 s² |w - v|^p, with the potential Φ(v) = Σ s_q |z_q - v|^p of the moment
        rise = potential(w) - potential(v) + np.tril(_mutual(v, w, p) * s, -1).sum(axis=1)
        f_after = f + np.cumsum(2 * s * (s * _power(w - v, p) - rise))
        total += float(np.diff(time[block]) @ (np.maximum(f_after, 0) if p <= 2 else f_after)[:-1])
        z[row[block]] = w  # of several moves of one row the last one stands
        here = time[e1 - 1]
    order = np.argsort(z)
    total += (span[1] - here) * _energy(z[order], signed_mass[order], p)
    return scale_back(total, scale, p)


def _block_starts(time: Float64s, rows: int) -> NDArray[np.intp]:
    regular = np.arange(0, len(time), BLOCK_EVENTS)
    long_gaps = np.flatnonzero(np.diff(time) * rows > time[1:] - time[:1]) + 1
    return np.union1d(regular, long_gaps)


def _energy(z: Float64s, signed_mass: Float64s, p: int) -> float:
    """Energy of sorted values."""
    return float(gap_energy(np.diff(z), np.cumsum(signed_mass)[:-1], p))


def _power(x: Float64s, p: int) -> Float64s:
    """|x|^p by squaring: NumPy's own power of an array takes tens of times as long."""
    square, power = np.abs(x), np.ones(())
    while p > 1:
        if p % 2:
            power = power * square
        square = square * square
        p //= 2
    return square * power


def _mutual(v: Float64s, w: Float64s, p: int) -> Float64s:
    """[e, e']: by how much a unit mass's move v[e'] -> w[e'] changes Φ(w[e]) - Φ(v[e])."""
    from_w = _power(w[:, None] - w, p) - _power(w[:, None] - v, p)
    from_v = _power(v[:, None] - w, p) - _power(v[:, None] - v, p)
    return from_w - from_v


class _Potential:
    """Φ(v) = Σ s_q |z_q - v|^p at any v, from prefix sums of powers about the middle of the sorted z."""

    def __init__(self, z: Float64s, mass: Float64s, p: int) -> None:
        self.z, self.p = z, p
        self.centre = 0.5 * z[0] + 0.5 * z[-1]
        moments = np.empty((p + 1, len(z)))
        moments[0] = mass
        np.multiply.accumulate(np.broadcast_to(z - self.centre, (p, len(z))), axis=0, out=moments[1:])
        moments[1:] *= mass
        self.prefix = np.zeros((p + 1, len(z) + 1))
        np.cumsum(moments, axis=1, out=self.prefix[:, 1:])

    def __call__(self, v: Float64s) -> Float64s:
        below = self.prefix[:, np.searchsorted(self.z, v)]
        above = self.prefix[:, -1:] - below
        # |z - v|^p = (v - z)^p below v, and (-1)^p times that above
        moments = below + (-1) ** self.p * above
        x = v - self.centre
        total = np.zeros_like(x)
        for k in range(self.p + 1):  # Σ C(p, k) (-1)^k x^(p-k) moment_k, by Horner's rule
            total = total * x + math.comb(self.p, k) * (-1) ** k * moments[k]
        return total
