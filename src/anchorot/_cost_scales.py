"""Numbers that all costs of a space have together: their ranks, their scale, their unit and their origin."""

import math
from collections.abc import Sequence

import numpy as np

from anchorot._kernels import kernels
from anchorot._typing import Float64s, Floats
from anchorot.exceptions import InputError


def strict_ranks(cost: Floats) -> Float64s:
    """Share of all entries that are smaller, for every entry."""
    ordered, order = kernels.argsort(cost.ravel().astype(np.float64, copy=False), threads=1)
    first = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)  # of each distinct cost: its strict rank
    ranks = np.empty(ordered.size)
    ranks[order] = np.repeat(first / ordered.size, np.diff(first, append=ordered.size))
    return ranks.reshape(cost.shape)


def cost_scale(cost: Floats, weights: Float64s, by: str) -> float:
    """Return the mean, the median or the maximum ("max") of the costs, pairs counted by the product of weights.

    The median is the smallest cost that half of the mass does not exceed.
    """
    heavy = np.flatnonzero(weights)
    own, mass = cost[np.ix_(heavy, heavy)].astype(np.float64, copy=False), weights[heavy]
    largest = float(own.max())
    if by == "max" or largest <= 0:
        scale = largest
    elif by == "mean":
        scale = largest * float(mass @ (own / largest) @ mass)  # sums of shares: those of the costs may overflow
    else:
        order = np.argsort(own, axis=None, kind="stable")
        reached = np.cumsum(np.outer(mass, mass).ravel()[order])
        scale = float(own.ravel()[order[np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12))]])
    if not scale > 0:
        raise InputError(f"the {by} of the costs is {scale:g}, but a scale to divide by must be positive")
    return scale


def unit_of(largest: float) -> float:
    """Return the power of two that brings `largest` into [1, 2): to divide by it rounds nothing. 1 if that is 0."""
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0


def in_unit_range(arrays: Sequence[Floats], axis: int | None = None) -> tuple[list[Float64s], float]:
    """Return arrays less the least number of them all, in units of a power of two, from 0 to below 4; and that unit.

    For what sees differences alone, and squares them or rounds them to float32: neither their size nor how far they are
    from zero costs a digit. With `axis=0` each column has a least number of its own.
    """
    unit = unit_of(max(float(np.abs(array).max()) for array in arrays))
    small = [np.divide(array, unit, dtype=np.float64) for array in arrays]
    least = np.min([array.min(axis=axis) for array in small], axis=0)
    for array in small:
        array -= least
    closer = min(1.0, unit_of(max(float(array.max()) for array in small)))
    for array in small:
        array /= closer
    return small, unit * closer
