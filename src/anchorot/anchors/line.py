"""Measures on the line: one sample and the transport between two, and collections of any lengths laid out once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels import kernels
from anchorot._kernels.records import row_order, to_heights
from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import (
    check_finite,
    check_overflow,
    check_power,
    check_values,
    check_vector,
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
    >>> ao.anchors.ot_1d([0, 1], [3, 4]), ao.anchors.ot_1d([0, 1], [3, 4], p=2)
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
    array = check_values(values, name)
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


class RaggedMeasures(NamedTuple):
    """The atoms of several measures (the rows), one measure after the other, none of weight zero."""

    row: NDArray[np.uint32]  # (L,) ascending: whose atom
    value: Float64s  # (L,) where it lies; in any order within a row
    weight: Float64s | None  # (L,) of sum 1 over a row; None if all atoms of a row weigh the same
    lengths: Int64s  # (rows,) atoms of each row

    @classmethod
    def of(cls, rows: Sequence[ArrayLike], weights: Sequence[ArrayLike] | None, name: str) -> Self:
        """Check the values of each measure and their weights, if any; `name` is what messages call the rows."""
        if weights is not None and len(weights) != len(rows):
            raise InputError(f"got {len(weights)} arrays of weights for the {len(rows)} measures of {name}")
        vectors = [check_vector(row, f"{name}[{i}]") for i, row in enumerate(rows)]
        values = np.concatenate(vectors).astype(np.float64, copy=False)
        if not np.isfinite(values).all():  # asked of all at once: of a row it takes longer than to lay it out
            for i, vector in enumerate(vectors):
                check_finite(vector, f"{name}[{i}]")
        lengths = np.array([len(vector) for vector in vectors])
        if weights is None:
            return cls.laid_out(lengths, values)
        checked = [check_weights(w, n, f"{name}[{i}]") for i, (w, n) in enumerate(zip(weights, lengths, strict=True))]
        return cls.laid_out(lengths, values, np.concatenate(checked))

    @classmethod
    def laid_out(cls, lengths: Int64s, values: Float64s, weights: Float64s | None = None) -> Self:
        """Number the rows of checked values, and leave out those of weight zero."""
        row = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
        if weights is None or weights.all():
            return cls(row, values, weights, lengths)
        kept = weights > 0
        return cls(row[kept], values[kept], weights[kept], np.bincount(row[kept], minlength=len(lengths)))

    def only(self, wanted: NDArray[np.bool_]) -> RaggedMeasures:
        """Return the measures of the wanted rows, numbered anew."""
        kept = wanted[self.row]
        weight = None if self.weight is None else self.weight[kept]
        return RaggedMeasures.laid_out(self.lengths[wanted], self.value[kept], weight)

    def sorted(self) -> RaggedMeasures:
        """Return the same measures, each with its atoms in the order of their values."""
        _, by_value = kernels.argsort(self.value, threads=1)
        order = by_value[row_order(self.row[by_value])]
        weight = None if self.weight is None else self.weight[order]
        return RaggedMeasures(self.row, self.value[order], weight, self.lengths)

    def jumps(self) -> Int64s:
        """By how much a CDF jumps at each atom, in units of 2**-62."""
        return to_heights(1 / self.lengths)[self.row] if self.weight is None else to_heights(self.weight)


class LevelSteps(NamedTuple):
    """How the quantiles of measures step from atom to atom as the level t rises from 0 to 1; atoms by number."""

    level: Float64s  # (steps,) ascending
    before: Int64s  # (steps,) the atom at which a quantile lies below that level
    after: Int64s  # (steps,) and above: the next atom of the same row
    first: Int64s  # (rows,) where each row's quantile starts


def level_steps(row: NDArray[np.uint32], by_height: tuple[Float64s, Int64s]) -> LevelSteps:
    """Steps of the quantiles of measures whose atoms stand row by row, sorted.

    The CDF's heights after all atoms are given in ascending order, with the atoms that they are of.
    """
    height, order = by_height
    is_last = np.append(row[1:] != row[:-1], True)
    is_step = ~is_last[order]
    before = order[is_step]
    return LevelSteps(height[is_step], before, before + 1, np.flatnonzero(np.roll(is_last, 1)))
