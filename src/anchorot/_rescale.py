"""Numbers in units of a power of two, in which nothing overflows, no digit is lost and tolerances hold."""

import math
from collections.abc import Sequence

import numpy as np

from anchorot._typing import Float64s, Floats


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
