"""Two collections of measures, pooled: made ready once, compared under many labellings."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels import kernels
from anchorot._kernels.records import PlaceMoves, RowItems, StepRows, from_heights, heights_after
from anchorot._typing import Float64s, Int64s
from anchorot.anchors.line import RaggedMeasures, level_steps
from anchorot.exceptions import InputError
from anchorot.space import Space, heavy_part


class PooledMeasures:
    """The measures of one collection, or of two, the first collection's items first.

    An item is one measure on the line, or a space, which stands for its anchors: one measure a point. Equal values of a
    measure are one atom; the atoms stand row by row, sorted, with the height of the CDF after each.
    """

    def __init__(
        self, row: NDArray[np.uint32], value: Float64s, height: Float64s, items: RowItems, *, has_weights: bool
    ) -> None:
        self.row = row
        self.value = value
        self.height = height
        self.items = items
        self.has_weights = has_weights  # whose sums, the heights, are rounded

    @classmethod
    def of(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> "PooledMeasures":
        """Check and sort the items of one collection; `name` is what messages call it."""
        if any(isinstance(item, Space) for item in items):
            return cls._of_spaces(items, weights, name)
        measures = RaggedMeasures.of(items, weights, name)
        return cls._of_measures(measures, RowItems(np.arange(len(items), dtype=np.uint32), np.ones(len(items))))

    @classmethod
    def _of_spaces(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> "PooledMeasures":
        if weights is not None:
            raise InputError(f"spaces bring their own weights, but got weights for {name}")
        other = next((i for i, item in enumerate(items) if not isinstance(item, Space)), None)
        if other is not None:
            raise InputError(f"{name} mixes spaces with others: {name}[{other}] is a {type(items[other]).__name__}")
        spaces = [heavy_part(space) for space in items]
        sizes = np.array([space.n for space in spaces])
        values = np.concatenate([space.cost.ravel() for space in spaces]).astype(np.float64, copy=False)
        uniform = all(space.is_uniform for space in spaces)
        atom_weights = None if uniform else np.concatenate([np.tile(space.weights, space.n) for space in spaces])
        own = RowItems(
            np.repeat(np.arange(len(spaces), dtype=np.uint32), sizes),
            np.concatenate([space.weights for space in spaces]),
        )
        return cls._of_measures(RaggedMeasures.laid_out(np.repeat(sizes, sizes), values, atom_weights), own)

    @classmethod
    def _of_measures(cls, measures: RaggedMeasures, items: RowItems) -> "PooledMeasures":
        """Sort the atoms within rows, add up heights, and join equal atoms."""
        ordered = measures.sorted()
        row, value, lengths = ordered.row, ordered.value, ordered.lengths
        ends = np.cumsum(lengths)
        if ordered.weight is None:
            # a quotient of whole numbers: equal heights of measures of different sizes are equal floats
            height = (np.arange(1, len(row) + 1) - np.repeat(ends - lengths, lengths)) / np.repeat(lengths, lengths)
        else:
            height = np.minimum(from_heights(heights_after(row, ordered.jumps())), 1.0)
            height[ends - 1] = 1.0  # rounded weights may sum to less, or to more
        is_last = np.append((row[1:] != row[:-1]) | (value[1:] != value[:-1]), True)
        return cls(row[is_last], value[is_last], height[is_last], items, has_weights=ordered.weight is not None)

    def __add__(self, other: "PooledMeasures") -> "PooledMeasures":
        return PooledMeasures(
            np.concatenate([self.row, other.row + np.uint32(self.n_rows)]),
            np.concatenate([self.value, other.value]),
            np.concatenate([self.height, other.height]),
            RowItems(
                np.concatenate([self.items.item, other.items.item + np.uint32(self.n_items)]),
                np.concatenate([self.items.mass, other.items.mass]),
            ),
            has_weights=self.has_weights or other.has_weights,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.items.item[-1]) + 1

    @property
    def n_rows(self) -> int:
        """Number of measures."""
        return len(self.items.mass)

    @property
    def longest(self) -> int:
        """Largest number of atoms of a measure."""
        return int(np.bincount(self.row).max())

    @cached_property
    def moves(self) -> PlaceMoves:
        """How the measures move: over positions or over levels, whichever takes less time to sweep."""
        over_positions, over_levels = self._over_positions(), self._over_levels()
        return min(over_positions, over_levels, key=kernels.labelled_steps)

    def _over_positions(self) -> PlaceMoves:
        """CDF heights, from 0 to 1, as the position runs over the line."""
        time, order = self._by_value
        heights = np.append(0.0, self.height[order])
        place, target = _numbered(*kernels.argsort(heights, threads=1))
        start = np.zeros(self.n_rows, np.uint32)
        return PlaceMoves(time, self.row[order], target[1:], start, place, float(time[0]), float(time[-1]))

    def _over_levels(self) -> PlaceMoves:
        """Quantiles as the level runs from 0 to 1: each steps on at the heights of its CDF."""
        place, number = _numbered(*self._by_value)
        steps = level_steps(self.row, self.height)
        return PlaceMoves(
            steps.level, self.row[steps.before], number[steps.after], number[steps.first], place, 0.0, 1.0
        )

    @cached_property
    def _by_value(self) -> tuple[Float64s, Int64s]:
        """All values in ascending order, and where they stand."""
        return kernels.argsort(self.value, threads=1)

    def steps(self) -> StepRows:
        """Quantile functions of all measures, padded to one length."""
        lengths = np.bincount(self.row)
        last = np.cumsum(lengths) - 1
        # beyond its last atom a measure stays there, over no level at all
        at = np.minimum((last - lengths + 1)[:, None] + np.arange(lengths.max()), last[:, None])
        return StepRows(self.value[at], self.height[at])


def _numbered(ascending: Float64s, order: Int64s) -> tuple[Float64s, NDArray[np.uint32]]:
    """Different values in ascending order, and which of them stands where, from all values sorted."""
    is_new = np.append(True, ascending[1:] != ascending[:-1])
    number = np.empty(len(order), np.uint32)
    number[order] = np.cumsum(is_new) - 1
    return ascending[is_new], number
