"""Two collections of measures, pooled: made ready once, compared under many labellings."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels import kernels
from anchorot._kernels.heights import from_heights, to_heights
from anchorot._kernels.records import PlaceMoves, RowItems, StepRows
from anchorot._typing import Float64s
from anchorot._validate import check_values, check_weights
from anchorot.exceptions import InputError
from anchorot.space import Space


class Pool:
    """Measures of two collections, the first collection's items first.

    An item is one measure on the line, or a space, whose anchors are so many measures. Equal values of a measure are
    one atom; the atoms stand row by row, sorted, with the height of the CDF after each.
    """

    def __init__(self, row: NDArray[np.uint32], value: Float64s, height: Float64s, items: RowItems) -> None:
        self.row = row
        self.value = value
        self.height = height
        self.items = items

    @classmethod
    def of(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> "Pool":
        """Check and sort the items of one collection; `name` is what messages call it."""
        if len(items) == 0:
            raise InputError(f"{name} is empty, but at least one item is needed")
        if weights is not None and len(weights) != len(items):
            raise InputError(f"there are {len(weights)} weights for {name}, but {len(items)} items in it")
        if any(isinstance(item, Space) for item in items):
            return cls._of_spaces(items, weights, name)
        values = [check_values(item, f"{name}[{i}]") for i, item in enumerate(items)]
        lengths = np.array([len(v) for v in values])
        row = np.repeat(np.arange(len(values), dtype=np.uint32), lengths)
        atom_weights = None
        if weights is not None:
            checked = [
                check_weights(w, len(v), f"{name}[{i}]") for i, (w, v) in enumerate(zip(weights, values, strict=True))
            ]
            atom_weights = np.concatenate(checked)
        own = RowItems(np.arange(len(values), dtype=np.uint32), np.ones(len(values)))
        return _sorted_pool(row, np.concatenate(values), atom_weights, own)

    @classmethod
    def _of_spaces(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> "Pool":
        if weights is not None:
            raise InputError(f"spaces bring their own weights, but weights for {name} came")
        other = next((i for i, item in enumerate(items) if not isinstance(item, Space)), None)
        if other is not None:
            raise InputError(f"{name} mixes spaces with others: {name}[{other}] is a {type(items[other]).__name__}")
        spaces: Sequence[Space] = items
        sizes = np.array([space.n for space in spaces])
        rows = np.arange(sizes.sum(), dtype=np.uint32)
        values = np.concatenate([space.cost.ravel() for space in spaces]).astype(np.float64, copy=False)
        uniform = all(space.is_uniform for space in spaces)
        atom_weights = None if uniform else np.concatenate([np.tile(space.weights, space.n) for space in spaces])
        own = RowItems(
            np.repeat(np.arange(len(spaces), dtype=np.uint32), sizes),
            np.concatenate([space.weights for space in spaces]),
        )
        return _sorted_pool(np.repeat(rows, np.repeat(sizes, sizes)), values, atom_weights, own)

    def __add__(self, other: "Pool") -> "Pool":
        return Pool(
            np.concatenate([self.row, other.row + np.uint32(self.n_rows)]),
            np.concatenate([self.value, other.value]),
            np.concatenate([self.height, other.height]),
            RowItems(
                np.concatenate([self.items.item, other.items.item + np.uint32(self.n_items)]),
                np.concatenate([self.items.mass, other.items.mass]),
            ),
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.items.item[-1]) + 1

    @property
    def n_rows(self) -> int:
        """Number of measures."""
        return len(self.items.mass)

    @cached_property
    def _is_last(self) -> NDArray[np.bool_]:
        """Whether an atom is the last of its measure."""
        return np.append(self.row[1:] != self.row[:-1], True)

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
        time, order = kernels.argsort(self.value, threads=1)
        place, target = np.unique(np.append(0.0, self.height[order]), return_inverse=True)
        start = np.zeros(self.n_rows, np.uint32)
        return PlaceMoves(
            time, self.row[order], target[1:].astype(np.uint32), start, place, float(time[0]), float(time[-1])
        )

    def _over_levels(self) -> PlaceMoves:
        """Quantiles as the level runs from 0 to 1: each steps on at the heights of its CDF."""
        place, inverse = np.unique(self.value, return_inverse=True)
        number = inverse.astype(np.uint32)
        goes_on, is_first = ~self._is_last, np.roll(self._is_last, 1)
        time, order = kernels.argsort(self.height[goes_on], threads=1)
        return PlaceMoves(time, self.row[goes_on][order], number[~is_first][order], number[is_first], place, 0.0, 1.0)

    def steps(self) -> StepRows:
        """Quantile functions of all measures, padded to one length."""
        ends = np.flatnonzero(self._is_last)
        lengths = np.diff(ends, prepend=-1)
        # beyond its last atom a measure stays there, over no level at all
        at = np.minimum(ends[:, None] - lengths[:, None] + 1 + np.arange(lengths.max()), ends[:, None])
        return StepRows(self.value[at], self.height[at])


def _sorted_pool(row: NDArray[np.uint32], values: Float64s, weights: Float64s | None, items: RowItems) -> Pool:
    """Sort the atoms within rows, join equal ones, and add up heights."""
    if weights is not None:
        positive = weights > 0
        row, values, weights = row[positive], values[positive], weights[positive]
    _, by_value = kernels.argsort(values, threads=1)
    order = by_value[np.argsort(row[by_value], kind="stable")]
    row, values = row[order], values[order]
    first = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    lengths = np.diff(first, append=len(row))
    if weights is None:
        # a quotient of whole numbers: equal heights of measures of different sizes are equal floats
        height = (np.arange(1, len(row) + 1) - np.repeat(first, lengths)) / np.repeat(lengths, lengths)
    else:
        total = np.cumsum(to_heights(weights[order]).view(np.uint64))  # may wrap around; differences stay right
        before = np.repeat(np.append(np.uint64(0), total)[first], lengths)
        height = from_heights((total - before).view(np.int64))
        height[first + lengths - 1] = 1.0
    kept = np.append((row[1:] != row[:-1]) | (values[1:] != values[:-1]), True)
    return Pool(row[kept], values[kept], height[kept], items)
