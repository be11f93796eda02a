"""Pooled measures of two collections: prepared once, with energy distances under many labellings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels import kernels
from anchorot._kernels.records import PlaceMoves, RowItems, StepRows, from_heights, heights_after
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_memory, check_overflow
from anchorot.anchors.line import RaggedMeasures, level_steps
from anchorot.distances.w2_energy import ground_distances, ground_energy
from anchorot.exceptions import InputError
from anchorot.rows import Rows
from anchorot.space import Space
from anchorot.stats.dispersion import Units
from anchorot.stats.permutation import Statistics

MAX_MATRIX_ROWS = 4096  # a matrix of costs between that many measures takes 128 MB
MAX_PADDED_NUMBERS = 1 << 24  # another 128 MB, for quantile functions padded to the longest measure
# Measured, in units of the sweep's time per place and labelling (about 0.15 ns):
PRODUCT_STEP = 0.6  # one entry of the matrix of costs, for one labelling
COST_STEP = 4.0  # one step of a quantile function, for one entry of the matrix
# Rounding errors of a statistic, in units of the range of values:
SQUARES_ROUNDING = 1e-24  # a sum of squares
HEIGHTS_ROUNDING = 1e-15  # a sum of squares, if heights are sums of weights
COSTS_ROUNDING = 1e-14  # a sum of costs that cancel
ROOTS_ROUNDING = 1e-8  # a sum of W2, which is a root, if heights are sums of weights


class PooledMeasures:
    """The measures of one collection, or of two, the first collection's items first.

    An item is one measure on the line, or a space, represented by its anchors: one measure per point. Equal values of a
    measure form one atom. The atoms are stored measure by measure, sorted, with the height of the CDF after each.
    """

    def __init__(
        self, row: NDArray[np.uint32], value: Float64s, height: Float64s, items: RowItems, *, has_weights: bool
    ) -> None:
        self.row = row
        self.value = value
        self.height = height
        self.items = items
        self.has_weights = has_weights  # then heights are rounded sums

    @classmethod
    def of(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> PooledMeasures:
        """Check and sort the items of one collection; messages call it `name`."""
        if any(isinstance(item, Rows) for item in items):
            raise InputError(f"{name} has Rows, which are compared as they are; leave pooled=True out")
        if any(isinstance(item, Space) for item in items):
            return cls._of_spaces(items, weights, name)
        measures = RaggedMeasures.of(items, weights, name)
        return cls._of_measures(measures, RowItems(np.arange(len(items), dtype=np.uint32), np.ones(len(items))))

    @classmethod
    def _of_spaces(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> PooledMeasures:
        check_spaces(items, weights, name)
        spaces = [space.support() for space in items]
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
    def _of_measures(cls, measures: RaggedMeasures, items: RowItems) -> PooledMeasures:
        """Sort the atoms within rows, accumulate heights, and merge equal atoms."""
        ordered = measures.sorted()
        row, value, lengths = ordered.row, ordered.value, ordered.lengths
        ends = np.cumsum(lengths)
        if ordered.weight is None:
            # a quotient of integers: equal heights of measures of different sizes are equal floats
            height = (np.arange(1, len(row) + 1) - np.repeat(ends - lengths, lengths)) / np.repeat(lengths, lengths)
        else:
            height = np.minimum(from_heights(heights_after(row, ordered.jumps())), 1.0)
            height[ends - 1] = 1.0  # rounded weights may sum to less or more
        is_last = np.append((row[1:] != row[:-1]) | (value[1:] != value[:-1]), True)
        return cls(row[is_last], value[is_last], height[is_last], items, has_weights=ordered.weight is not None)

    def __add__(self, other: PooledMeasures) -> PooledMeasures:
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

    def merged(self, unit: Int64s) -> PooledMeasures:
        """Units as items: a unit is the mixture of its items, each with the same mass."""
        share = 1.0 / np.bincount(unit)[unit]
        items = RowItems(unit[self.items.item].astype(np.uint32), share[self.items.item] * self.items.mass)
        return PooledMeasures(self.row, self.value, self.height, items, has_weights=self.has_weights)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.items.item.max()) + 1

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
        """How the measures change along the sweep: over positions or over levels, whichever is faster."""
        over_positions, over_levels = self._over_positions(), self._over_levels()
        return min(over_positions, over_levels, key=kernels.labelled_steps)

    def _over_positions(self) -> PlaceMoves:
        """CDF heights, from 0 to 1, as the position moves along the line."""
        time, order = self._by_value
        height, number = _number_values(*self._by_height)
        place, target = np.append(0.0, height), number[order] + np.uint32(1)  # all start at height 0
        start = np.zeros(self.n_rows, np.uint32)
        return PlaceMoves(time, self.row[order], target, start, place, float(time[0]), float(time[-1]))

    def _over_levels(self) -> PlaceMoves:
        """Quantiles as the level moves from 0 to 1: each jumps at the heights of its CDF."""
        place, number = _number_values(*self._by_value)
        steps = level_steps(self.row, self._by_height)
        return PlaceMoves(
            steps.level, self.row[steps.before], number[steps.after], number[steps.first], place, 0.0, 1.0
        )

    @cached_property
    def _by_value(self) -> tuple[Float64s, Int64s]:
        """All values in ascending order, and the permutation that sorts them."""
        return kernels.argsort(self.value, threads=1)

    @cached_property
    def _by_height(self) -> tuple[Float64s, Int64s]:
        """All heights in ascending order, and the permutation that sorts them."""
        return kernels.argsort(self.height, threads=1)

    def steps(self) -> StepRows:
        """Quantile functions of all measures, padded to one length."""
        lengths = np.bincount(self.row)
        last = np.cumsum(lengths) - 1
        # after its last atom a row repeats it, over an interval of length 0
        at = np.minimum((last - lengths + 1)[:, None] + np.arange(lengths.max()), last[:, None])
        return StepRows(self.value[at], self.height[at])


def _number_values(ascending: Float64s, order: Int64s) -> tuple[Float64s, NDArray[np.uint32]]:
    """Distinct values in ascending order, and the number of each value, from all values sorted."""
    is_new = np.append(True, ascending[1:] != ascending[:-1])
    number = np.empty(len(order), np.uint32)
    number[order] = np.cumsum(is_new) - 1
    return ascending[is_new], number


def check_spaces(items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> None:
    """Refuse collections of spaces with extra weights, or with items that are not spaces."""
    if weights is not None:
        raise InputError(f"spaces have their own weights, but got weights for {name}")
    other = next((i for i, item in enumerate(items) if not isinstance(item, Space | Rows)), None)
    if other is not None:
        raise InputError(f"{name} must be all spaces or none: {name}[{other}] is a {type(items[other]).__name__}")


# -- energy distances of labellings -----------------------------------------------------------------------------------


def energy_statistics(
    measures: PooledMeasures,
    unit: Int64s,
    ground: str,
    n_resamples: int,
    method: str,
    threads: int,
    device: str | None,
) -> tuple[Statistics, float]:
    """The function for energy distances of labellings of units: on a device, from a matrix of costs, or by sweeps.

    `unit` is that of each item; items of a unit are averaged. Also the rounding error, in units of the range of values.
    """
    of_squares = HEIGHTS_ROUNDING if measures.has_weights else SQUARES_ROUNDING
    if device is not None and ground == "w1" and method != "matrix":
        by_levels = _level_statistics(measures.merged(unit), device)
        if by_levels is not None:
            return by_levels, of_squares
    costs = _item_costs(measures, ground, n_resamples, method, threads)
    if costs is not None:
        of_costs = ROOTS_ROUNDING if ground == "w2" and measures.has_weights else COSTS_ROUNDING
        return matrix_statistics(Units.of(costs, unit).distances, device), of_costs
    return partial(sweep_energies, measures.merged(unit), threads=threads), of_squares


def _level_statistics(measures: PooledMeasures, device: str) -> Statistics | None:
    """Sums over levels on a device; None if there are too many."""
    from anchorot.torch._labelled import LabelledLevels

    if not LabelledLevels.serves(measures.height, measures.n_rows):
        return None
    levels = LabelledLevels(measures.row, measures.value, measures.height, measures.items, device)
    return partial(_in_range, levels.energies)


def matrix_statistics(costs: Float64s, device: str | None) -> Statistics:
    """The function for energy distances of labellings from the costs between all items, optionally on a device."""
    if device is None:
        return partial(matrix_energies, costs)
    import torch

    from anchorot.torch._labelled import matrix_energies as energies

    return partial(_in_range, partial(energies, torch.from_numpy(costs).to(device)))


def _in_range(energies: Statistics, in_x: NDArray[np.uint8]) -> Float64s:
    found = energies(in_x)
    check_overflow(found, 1)
    return np.maximum(found, 0.0)


def sweep_energies(measures: PooledMeasures, in_x: NDArray[np.uint8], threads: int) -> Float64s:
    """Energy distance between the two collections of each labelling, by one sweep over all measures."""
    with np.errstate(over="ignore", invalid="ignore"):
        energies = kernels.labelled_energies(measures.moves, measures.items, in_x, threads)
    check_overflow(energies, 1)
    return energies


def matrix_energies(costs: Float64s, in_x: NDArray[np.uint8]) -> Float64s:
    """Energy distance between the two collections of each labelling, from the costs between all items.

    -sᵀ W s with the signed masses s = 1 / size_x on one side, -1 / size_y on the other; never negative.
    """
    size_x = int(in_x[0].sum())
    signed = np.where(in_x, 1 / size_x, -1 / (in_x.shape[1] - size_x))
    with np.errstate(over="ignore", invalid="ignore"):
        energies = -np.einsum("bi,bi->b", signed @ costs, signed)
    check_overflow(energies, 1)
    return np.maximum(energies, 0.0)


def _item_costs(measures: PooledMeasures, ground: str, n_resamples: int, method: str, threads: int) -> Float64s | None:
    """Mean ground distances between the measures of all items; None for sweeps, which do not need them."""
    if ground == "w2":
        if method == "sweep":
            raise InputError("ground='w2' needs method='matrix' or 'auto', but got method='sweep'")
        return _ground_costs(measures, threads)
    if not _use_matrix(measures, n_resamples, method):
        return None
    steps = measures.steps()
    with np.errstate(over="ignore"):
        return kernels.step_costs(steps, steps, 1, threads)


def _ground_costs(measures: PooledMeasures, threads: int) -> Float64s:
    costs = ground_distances(_steps(measures), threads)
    if measures.n_rows == measures.n_items:
        return costs
    first = np.searchsorted(measures.items.item, np.arange(measures.n_items))  # rows of an item are adjacent
    mass = measures.items.mass
    return np.add.reduceat(np.add.reduceat(mass[:, None] * costs * mass, first, axis=0), first, axis=1)


def pooled_ground_energy(measures: PooledMeasures, labels: NDArray[np.uint8], threads: int) -> float:
    """Energy distance of one labelling with ground distance W2."""
    size_x = int(labels.sum())
    signed = np.where(labels, 1 / size_x, -1 / (len(labels) - size_x))
    return ground_energy(_steps(measures), signed[measures.items.item] * measures.items.mass, threads)


def _steps(measures: PooledMeasures) -> StepRows:
    """Quantile functions of all measures; an error if they and their distances do not fit into memory."""
    check_memory(measures.n_rows, 48 * max(1.0, measures.longest / measures.n_rows), "W2 distances between")
    return measures.steps()


def _use_matrix(measures: PooledMeasures, n_resamples: int, method: str) -> bool:
    rows = measures.n_rows
    if method == "matrix" and rows != measures.n_items:
        raise InputError("method='matrix' does not support pooled anchors of spaces; use method='sweep'")
    if method != "auto":
        return method == "matrix"
    if rows != measures.n_items or rows > MAX_MATRIX_ROWS or rows * measures.longest > MAX_PADDED_NUMBERS:
        return False
    costs = COST_STEP * rows * 2 * len(measures.value)
    return costs + PRODUCT_STEP * n_resamples * rows**2 < n_resamples * kernels.labelled_steps(measures.moves)
