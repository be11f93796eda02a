"""Measures on the line, of any lengths: checked and laid out once, for anchor features and for tests of collections."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels import kernels
from anchorot._kernels.records import to_heights
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_finite, check_vector, check_weights
from anchorot.exceptions import InputError


class RaggedMeasures(NamedTuple):
    """The atoms of several measures (the rows), one measure after the other, none of weight zero."""

    row: NDArray[np.uint32]  # (L,) ascending: whose atom
    value: Float64s  # (L,) where it lies; in any order within a row
    weight: Float64s | None  # (L,) of sum 1 over a row; None if all atoms of a row weigh the same
    lengths: Int64s  # (rows,) atoms of each row

    @classmethod
    def of(cls, rows: Sequence[ArrayLike], weights: Sequence[ArrayLike] | None, name: str) -> Self:
        """Check the values of each measure and their weights, if any; `name` is what messages call the rows."""
        if len(rows) == 0:
            raise InputError(f"{name} is empty, but at least one measure is needed")
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

    def only(self, wanted: NDArray[np.bool_]) -> "RaggedMeasures":
        """Return the measures of the wanted rows, numbered anew."""
        kept = wanted[self.row]
        weight = None if self.weight is None else self.weight[kept]
        return RaggedMeasures.laid_out(self.lengths[wanted], self.value[kept], weight)

    def sorted(self) -> "RaggedMeasures":
        """Return the same measures, each with its atoms in the order of their values."""
        _, by_value = kernels.argsort(self.value, threads=1)
        order = by_value[np.argsort(self.row[by_value], kind="stable")]
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


def level_steps(row: NDArray[np.uint32], height: Float64s) -> LevelSteps:
    """Steps of the quantiles of measures whose atoms stand row by row, sorted, with the CDF's height after each."""
    is_last = np.append(row[1:] != row[:-1], True)
    before = np.flatnonzero(~is_last)
    level, order = kernels.argsort(height[before], threads=1)
    return LevelSteps(level, before[order], before[order] + 1, np.flatnonzero(np.roll(is_last, 1)))
