"""Sweep over events in vectorised blocks: the time integral of the energy of points that move one at a time."""

from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.numpy.energy import gap_energy, scale_of, scaled_back, span_of
from anchorot._typing import Float64s

BLOCK = 128  # events handled at once; their mutual terms cost BLOCK² each block


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
    the range of floats. O(L (BLOCK + N p / BLOCK)) for L events of N rows.

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
    reach = span_of(start, after)
    if np.inf in (reach, span_of(np.array(span))):
        return np.inf
    scale = scale_of(reach)
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
    return scaled_back(total, scale, p)


def _block_starts(time: Float64s, rows: int) -> NDArray[np.intp]:
    regular = np.arange(0, len(time), BLOCK)
    long_gaps = np.flatnonzero(np.diff(time) * rows > time[1:] - time[:1]) + 1
    return np.union1d(regular, long_gaps)


def _energy(z: Float64s, signed_mass: Float64s, p: int) -> float:
    """Energy of sorted values."""
    return float(gap_energy(np.diff(z), np.cumsum(signed_mass)[:-1], p))


def _power(x: Float64s, p: int) -> Float64s:
    return np.abs(x) ** p


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
        powers = (z - self.centre) ** np.arange(p + 1)[:, None] * mass
        self.prefix = np.concatenate([np.zeros((p + 1, 1)), np.cumsum(powers, axis=1)], axis=1)

    def __call__(self, v: Float64s) -> Float64s:
        below = self.prefix[:, np.searchsorted(self.z, v)]
        above = self.prefix[:, -1:] - below
        # |z - v|^p = (v - z)^p below v, and (-1)^p times that above
        moments = below + (-1) ** self.p * above
        x = v - self.centre
        return sum(
            (comb(self.p, k) * (-1) ** k * x ** (self.p - k) * moments[k] for k in range(self.p + 1)),
            start=np.zeros_like(x),
        )
