"""Optimal transport on the line: the piece that everything else is an average of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Floats
from anchorot._validate import (
    check_finite,
    check_numbers,
    check_overflow,
    check_power,
    check_weights,
)
from anchorot.exceptions import InputError


def ot_1d(
    x: ArrayLike,
    y: ArrayLike,
    wx: ArrayLike | None = None,
    wy: ArrayLike | None = None,
    p: int = 1,
) -> float:
    r"""Optimal transport cost :math:`OT_p = \int_0^1 |Q_x(t) - Q_y(t)|^p dt` between two samples on the line.

    This is the p-th power of the p-Wasserstein distance, as in the paper; for p = 1 it is the distance itself
    (:func:`scipy.stats.wasserstein_distance`).

    Parameters
    ----------
    x, y : array_like of shape (n,) and (m,)
        Values.
    wx, wy : array_like, optional
        Their weights, non-negative, of sum 1; uniform by default.
    p : int from 1 to 64

    Returns
    -------
    float
        O(n log n + m log m) time.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.ot_1d([0, 1], [3, 4]), ao.ot_1d([0, 1], [3, 4], p=2)
    (3.0, 9.0)
    """
    p = check_power(p)
    return step_distance(_checked_quantile_function(x, wx, "x"), _checked_quantile_function(y, wy, "y"), p)


class StepFunction(NamedTuple):
    """An increasing step function on [0, 1]: ``origin + value[i]`` up to the level ``end[i]``, the last of which is 1.

    Values that are averages are counted from an origin among the numbers averaged, so that they keep their digits
    however far from zero those lie.
    """

    value: Float64s
    end: Float64s
    origin: float = 0.0


def quantile_function(values: Floats, weights: Float64s) -> StepFunction:
    """Quantile function of weighted values, the weights being of sum 1; those of weight zero are left out."""
    if not weights.all():
        values, weights = values[weights > 0], weights[weights > 0]
    order = np.argsort(values, kind="stable")
    end = np.minimum(np.cumsum(weights[order]), 1.0)
    end[-1] = 1.0
    return StepFunction(values[order].astype(np.float64, copy=False), end)


def _checked_quantile_function(values: ArrayLike, weights: ArrayLike | None, name: str) -> StepFunction:
    array = check_numbers(values, name).astype(np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"{name} has shape {array.shape}, but a sample (n,) with n >= 1 is needed")
    check_finite(array, name)
    n = len(array)
    if weights is None:
        return StepFunction(np.sort(array), np.arange(1, n + 1) / n)
    return quantile_function(array, check_weights(weights, n, name))


def step_distance(x: StepFunction, y: StepFunction, p: int) -> float:
    """Integral over [0, 1] of |x - y|^p; an `InputError` if that is beyond the range of floats."""
    cuts = np.union1d(x.end, y.end)
    width = np.diff(cuts, prepend=0.0)
    value_x, value_y = (steps.value[np.searchsorted(steps.end, cuts)] for steps in (x, y))
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(width @ np.abs((value_x - value_y) + (x.origin - y.origin)) ** p)
    check_overflow(total, p)
    return total
