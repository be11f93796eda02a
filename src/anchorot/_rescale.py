"""Rescaling by powers of two: nothing overflows, no digit is lost and tolerances keep their meaning."""

import math
from collections.abc import Sequence

import numpy as np

from anchorot._typing import Float64s, Floats


def unit_of(largest: float) -> float:
    """Return the power of two that divides `largest` into [1, 2), without rounding; 1 if `largest` is 0."""
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0


def in_unit_range(arrays: Sequence[Floats], axis: int | None = None) -> tuple[list[Float64s], float]:
    """Shift arrays by their common minimum and divide by a power of two, into [0, 4); return them and that unit.

    For code that uses differences only, and squares them or rounds them to float32: neither a large scale nor a large
    offset costs a digit. With `axis=0` each column has its own minimum.
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
