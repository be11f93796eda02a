"""Do two collections of measures come from one source? The energy distance between them, and its permutation test.

Both collections are pooled (`PooledMeasures`): made ready once, compared under many labellings. Collections of spaces
are compared by a matrix of distances between spaces, unless their anchors are to be pooled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._kernels import kernels
from anchorot._kernels.records import PlaceMoves, RowItems, StepRows, from_heights, heights_after
from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_choice, check_device, check_memory, check_overflow, check_threads, point_values
from anchorot.anchors.line import RaggedMeasures, level_steps
from anchorot.distances.ground import GROUNDS, ground_distances, ground_energy
from anchorot.exceptions import InputError
from anchorot.many.pairwise import pairwise
from anchorot.space import Space, heavy_part
from anchorot.stats.exchange import Names, exchange_of, subjects_of
from anchorot.stats.permutation import PermutationTest, Statistics, permutation_test

METHODS = ("auto", "sweep", "matrix")
MOST_MATRIX_ROWS = 4096  # a matrix of costs between more measures would be large, 128 MB and more
MOST_PADDED = 1 << 24  # numbers, if one long measure makes all quantile functions as long, another 128 MB
# Measured, in passes of the sweep over one place for one labelling (about 0.15 ns):
PRODUCT_STEP = 0.6  # one entry of the matrix of costs, for one labelling
COST_STEP = 4.0  # one step of a quantile function, for one entry of the matrix
# What rounding leaves of a statistic, in units of the range of values
SQUARES_ROUNDING = 1e-24  # a sum of squares
HEIGHTS_ROUNDING = 1e-15  # the same, over heights that are sums of weights
COSTS_ROUNDING = 1e-14  # a sum of costs that cancel
ROOTS_ROUNDING = 1e-8  # the same of W2, a root, over heights that are sums of weights


def energy_distance(
    rows_x: Sequence[ArrayLike | Space],
    rows_y: Sequence[ArrayLike | Space],
    weights_x: Sequence[ArrayLike] | None = None,
    weights_y: Sequence[ArrayLike] | None = None,
    *,
    ground: str = "w1",
    pooled: bool = False,
    threads: int = 1,
) -> float:
    r"""Energy distance between two collections of measures on the line, or of spaces, exactly.

    The ground distance is the 1-D Wasserstein distance: for items h, h' of rows_x and g, g' of rows_y

    .. math:: 2\,E[W_1(h, g)] - E[W_1(h, h')] - E[W_1(g, g')]

    A graph stands here for the distribution of its nodes' degrees, say, and two collections of graphs are compared
    (the paper's Q5). Items may also be spaces: then :math:`W_1` gives way to the distance between two spaces, the root
    of their Anchor Energy. With ``pooled=True`` a space stands for its anchors, and those of all spaces of a side are
    pooled: the distance between two collections of one space each is then their Anchor Energy.

    The value is that of a *squared* distance, never negative. It can be zero for collections that differ: it sees how
    the quantiles of each level are distributed over the measures, but not which quantiles are of one measure. With
    ``ground="w2"``, the unsquared Wasserstein distance :math:`W_2` in place of :math:`W_1`, it is zero for equal
    collections of measures only. Pooled, neither sees which anchors are of one space.

    Parameters
    ----------
    rows_x, rows_y : sequence of array_like, or of Space
        The values of each measure; of different lengths if need be.
    weights_x, weights_y : sequence of array_like, optional
        The weights of the values of each measure; uniform by default.
    ground : {"w1", "w2"}
        The distance between measures, or between the anchors of spaces.
    pooled : bool
        For spaces: compare all anchors of one side with all of the other.
    threads : int
        The answer does not depend on it.

    Returns
    -------
    float

    Notes
    -----
    For s measures of n values O(s n log(s n)) time and O(s n) memory, instead of the O(s² n) of the formula. Where
    there are few different values, such as degrees, or few different sizes, no tree is needed after the sort. With
    ``ground="w2"`` O(s² n) time and O(s² + s n) memory.

    Examples
    --------
    >>> import anchorot as ao
    >>> paths = [[1, 2, 2, 1], [1, 2, 1]]
    >>> rings = [[2, 2, 2], [2, 2, 2, 2]]
    >>> round(ao.energy_distance(paths, rings), 4)
    1.0833
    >>> alike, crossed = [[0, 10], [1, 11]], [[0, 11], [1, 10]]
    >>> ao.energy_distance(alike, crossed), round(ao.energy_distance(alike, crossed, ground="w2"), 4)
    (0.0, 0.4142)
    """
    check_choice(ground, "ground", GROUNDS)
    threads = check_threads(threads)
    if _has_spaces(rows_x, rows_y, pooled):
        costs, labels = _space_distances(rows_x, rows_y, weights_x, weights_y, ground, threads, None, False)
        return float(matrix_energies(costs, labels[None])[0])
    measures, labels = _pool(rows_x, rows_y, weights_x, weights_y)
    if ground == "w2":
        return _ground_energy(measures, labels, threads)
    return float(sweep_energies(measures, labels[None], threads)[0])


def energy_test(
    rows_x: Sequence[ArrayLike | Space],
    rows_y: Sequence[ArrayLike | Space],
    weights_x: Sequence[ArrayLike] | None = None,
    weights_y: Sequence[ArrayLike] | None = None,
    *,
    subjects: tuple[Names, Names] | None = None,
    strata: tuple[Names, Names] | None = None,
    within: bool = False,
    ground: str = "w1",
    pooled: bool = False,
    n_resamples: int = 999,
    rng: RngLike = None,
    stop_after: int | None = None,
    method: str = "auto",
    threads: int = 1,
    device: str | None = None,
    progress: bool = True,
) -> PermutationTest:
    """Test whether two collections of measures, or of spaces, come from one distribution, by permuting who is in which.

    For spaces it is the energy test of distances between spaces (the roots of their Anchor Energies), DISCO: it sees
    every difference between the distributions of spaces that Anchor Energy sees between spaces. With ``pooled=True`` it
    asks whether the mean measures over anchors agree, which is faster and has no N x N matrix, but is blind to which
    anchors are of one space.

    Parameters
    ----------
    rows_x, rows_y, weights_x, weights_y
        Two collections, as for :func:`energy_distance`. Types and features of spaces are not looked at: for these use
        :func:`group_test` on what :func:`pairwise` returns. Two cohorts bring their subjects.
    subjects, strata : pair of sequences, optional
        Whose each item is, and in which stratum: of those of rows_x, and of those of rows_y. As for :func:`group_test`:
        subjects on one side each are permuted as a whole, inside strata only.
    within : bool
        Every subject has items on both sides, and these are permuted within it.
    ground : {"w1", "w2"}
        The distance between measures, as for :func:`energy_distance`. "w1" has no power against collections whose
        quantiles are distributed alike level by level; "w2" has power against all collections of measures that differ,
        and needs the matrix.
    pooled : bool
        For spaces: pool the anchors of all spaces of a side. Collections whose pooled anchors agree are then alike.
    n_resamples : int
        Permutations to draw. If no more are possible, all are gone through, and the p-value is exact.
    rng : None, int or numpy.random.Generator
        Source of randomness for the permutations; the same seed gives the same answer, whatever the method and threads.
    stop_after : int, optional
        Stop as soon as this many permutations have reached the observed statistic: early, if the collections are alike.
        The p-value is then #{null >= statistic} / #{null} and as valid as the full one (Besag and Clifford, Sequential
        Monte Carlo p-values, Biometrika 1991). 10 to 20 is usual.
    method : {"auto", "sweep", "matrix"}
        - "sweep": sort once, then sweep over many permutations together. Never holds a matrix of costs.
        - "matrix": all costs between measures, O(s² n) time and O(s²) memory; then a product of matrices per
          permutation. Not for the pooled anchors of spaces.
        - "auto": whichever should take less time; the matrix only up to a few thousand measures. With ``ground="w2"``,
          and of spaces that are not pooled, always the matrix.
    threads : int
        The answer does not depend on it.
    device : str, optional
        "cuda" permutes on that device (extra ``torch``): the same permutations and, but for rounding, the same answer.
        Sweeps do so where all measures at all levels that the distribution functions have, at most the different
        values of k / n where nothing has weights, are at most 2²⁹ numbers; others stay on the CPU.
    progress : bool
        Show a bar, on a terminal or in a notebook.

    Returns
    -------
    PermutationTest
        With `.statistic` (the energy distance), `.pvalue`, `.null`, `.unit` (what was permuted), `.n_assignments` and
        `.min_pvalue`.

    Notes
    -----
    Of N spaces the Anchor Energies of all pairs, then O(N²) for each permutation. Of s measures, or pooled anchors,
    O(s n log(s n)) time to sort, then for each permutation O(k h) where the values or the levels have k different
    ones and the other has h, and O(s n log(s n)) at most. On a device O(k s) for k different levels.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> x = [rng.poisson(3, size=20) for _ in range(30)]
    >>> y = [rng.poisson(4, size=25) for _ in range(30)]
    >>> ao.energy_test(x, y, rng=0).pvalue
    0.001
    """
    check_choice(method, "method", METHODS)
    check_choice(ground, "ground", GROUNDS)
    place = check_device(device)
    place = None if place == "cpu" else place  # where the kernels for the CPU are far faster
    threads = check_threads(threads)
    if _has_spaces(rows_x, rows_y, pooled):
        if method == "sweep":
            raise InputError("method='sweep' pools the anchors of spaces; give pooled=True too, or another method")
        costs, labels = _space_distances(rows_x, rows_y, weights_x, weights_y, ground, threads, place, progress)
        statistics = _by_matrix(costs, place)
        rounding = _rounding_of_roots(rows_x, rows_y, ground)
    else:
        measures, labels = _pool(rows_x, rows_y, weights_x, weights_y)
        statistics, share = _statistics(measures, ground, n_resamples, method, threads, place)
        rounding = share * (float(measures.value.max()) - float(measures.value.min()))
    exchange = exchange_of(
        labels,
        subjects=_of_both(_known_subjects(rows_x, rows_y) if subjects is None else subjects, labels, "subjects"),
        strata=_of_both(strata, labels, "strata"),
        within=within,
    )
    return permutation_test(
        exchange,
        lambda drawn: _by_size(statistics, exchange.items(drawn)),
        n_resamples=n_resamples,
        rng=rng,
        stop_after=stop_after,
        rounding=rounding,
        progress=progress,
    )


def _of_both(given: tuple[Names, Names] | None, labels: NDArray[np.uint8], name: str) -> list[Any] | None:
    """Values of all items, from those of either side."""
    if given is None:
        return None
    if len(given) != 2:
        raise InputError(f"{name} must be two sequences, for rows_x and for rows_y, but got {len(given)}")
    sides = [point_values(side, f"{name}[{k}]") for k, side in enumerate(given)]
    for side, count, rows in zip(
        sides, (int(labels.sum()), int((labels == 0).sum())), ("rows_x", "rows_y"), strict=True
    ):
        if len(side) != count:
            raise InputError(f"{name} has {len(side)} values for the {count} items of {rows}")
    return [*sides[0], *sides[1]]


def _known_subjects(x: Any, y: Any) -> tuple[Names, Names] | None:
    """The subjects of two cohorts that have some."""
    found = subjects_of(x, None), subjects_of(y, None)
    return None if found[0] is None or found[1] is None else found


def _by_size(statistics: Statistics, in_x: NDArray[np.uint8]) -> Float64s:
    """Statistics of labellings; kernels take those with as many items of the first collection together."""
    sizes = in_x.sum(axis=1)
    if (sizes == sizes[0]).all():
        return statistics(in_x)
    found = np.empty(len(in_x))
    for size in np.unique(sizes):
        found[sizes == size] = statistics(np.ascontiguousarray(in_x[sizes == size]))
    return found


def _statistics(
    measures: PooledMeasures, ground: str, n_resamples: int, method: str, threads: int, device: str | None
) -> tuple[Statistics, float]:
    """What computes the energy distances of labellings: on a device, from a matrix of costs, or by sweeps.

    Also what rounding leaves of them, in units of the range of values.
    """
    of_squares = HEIGHTS_ROUNDING if measures.has_weights else SQUARES_ROUNDING
    if device is not None and ground == "w1" and method != "matrix":
        by_levels = _level_statistics(measures, device)
        if by_levels is not None:
            return by_levels, of_squares
    costs = _item_costs(measures, ground, n_resamples, method, threads)
    if costs is not None:
        return _by_matrix(costs, device), ROOTS_ROUNDING if ground == "w2" and measures.has_weights else COSTS_ROUNDING
    return partial(sweep_energies, measures, threads=threads), of_squares


def _level_statistics(measures: PooledMeasures, device: str) -> Statistics | None:
    """Sums over levels on a device; None where there are too many."""
    from anchorot.torch._labelled import LabelledLevels

    if not LabelledLevels.serves(measures.height, measures.n_rows):
        return None
    levels = LabelledLevels(measures.row, measures.value, measures.height, measures.items, device)
    return partial(_in_range, levels.energies)


def _by_matrix(costs: Float64s, device: str | None) -> Statistics:
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
    """Energy distance of the two collections that each labelling makes, by one sweep over all measures."""
    with np.errstate(over="ignore", invalid="ignore"):
        energies = kernels.labelled_energies(measures.moves, measures.items, in_x, threads)
    check_overflow(energies, 1)
    return energies


def matrix_energies(costs: Float64s, in_x: NDArray[np.uint8]) -> Float64s:
    """Energy distance of the two collections that each labelling makes, from the costs between all items.

    -sᵀ W s with the signed masses s = 1 / size_x on one side, -1 / size_y on the other; it is no less than 0.
    """
    size_x = int(in_x[0].sum())
    signed = np.where(in_x, 1 / size_x, -1 / (in_x.shape[1] - size_x))
    with np.errstate(over="ignore", invalid="ignore"):
        energies = -np.einsum("bi,bi->b", signed @ costs, signed)
    check_overflow(energies, 1)
    return np.maximum(energies, 0.0)


def _pool(
    rows_x: Sequence[ArrayLike | Space],
    rows_y: Sequence[ArrayLike | Space],
    weights_x: Sequence[ArrayLike] | None,
    weights_y: Sequence[ArrayLike] | None,
) -> tuple[PooledMeasures, NDArray[np.uint8]]:
    """Both collections in one, and for each item 1 if it is of the first."""
    x, y = PooledMeasures.of(rows_x, weights_x, "rows_x"), PooledMeasures.of(rows_y, weights_y, "rows_y")
    return x + y, np.repeat(np.array([1, 0], np.uint8), [x.n_items, y.n_items])


def _has_spaces(rows_x: Sequence[Any], rows_y: Sequence[Any], pooled: bool) -> bool:
    """Whether distances between spaces are asked for."""
    spaces = any(isinstance(item, Space) for rows in (rows_x, rows_y) for item in rows)
    if pooled and not spaces:
        raise InputError("pooled=True is for collections of spaces, but got measures")
    return spaces and not pooled


def _space_distances(
    rows_x: Sequence[Any],
    rows_y: Sequence[Any],
    weights_x: Sequence[ArrayLike] | None,
    weights_y: Sequence[ArrayLike] | None,
    ground: str,
    threads: int,
    device: str | None,
    progress: bool,
) -> tuple[Float64s, NDArray[np.uint8]]:
    """Roots of the Anchor Energies between all spaces, and for each 1 if it is of the first collection."""
    for rows, weights, name in ((rows_x, weights_x, "rows_x"), (rows_y, weights_y, "rows_y")):
        _check_spaces(rows, weights, name)
    energies = pairwise(
        [*rows_x, *rows_y],
        ground=ground,
        n_jobs=threads,
        device=device if ground == "w1" else None,
        progress=progress,
    )
    return np.sqrt(energies), np.repeat(np.array([1, 0], np.uint8), [len(rows_x), len(rows_y)])


def _check_spaces(items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> None:
    if len(items) == 0:
        raise InputError(f"{name} is empty, but at least one space is needed")
    if weights is not None:
        raise InputError(f"spaces bring their own weights, but got weights for {name}")
    other = next((i for i, item in enumerate(items) if not isinstance(item, Space)), None)
    if other is not None:
        raise InputError(f"{name} mixes spaces with others: {name}[{other}] is a {type(items[other]).__name__}")


def _rounding_of_roots(rows_x: Sequence[Any], rows_y: Sequence[Any], ground: str) -> float:
    """The root of what rounding leaves of an energy."""
    spaces = [*rows_x, *rows_y]
    exact = ground == "w1" and all(space.is_uniform for space in spaces)
    span = max(float(space.cost.max()) for space in spaces) - min(float(space.cost.min()) for space in spaces)
    share = SQUARES_ROUNDING if exact else ROOTS_ROUNDING if ground == "w2" else HEIGHTS_ROUNDING
    return math.sqrt(share) * math.sqrt(span)


def _item_costs(measures: PooledMeasures, ground: str, n_resamples: int, method: str, threads: int) -> Float64s | None:
    """Mean ground distances between the measures of all items; None where sweeps do without."""
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
    first = np.searchsorted(measures.items.item, np.arange(measures.n_items))  # the rows of an item stand together
    mass = measures.items.mass
    return np.add.reduceat(np.add.reduceat(mass[:, None] * costs * mass, first, axis=0), first, axis=1)


def _ground_energy(measures: PooledMeasures, labels: NDArray[np.uint8], threads: int) -> float:
    size_x = int(labels.sum())
    signed = np.where(labels, 1 / size_x, -1 / (len(labels) - size_x))
    return ground_energy(_steps(measures), signed[measures.items.item] * measures.items.mass, threads)


def _steps(measures: PooledMeasures) -> StepRows:
    """Quantile functions of all measures, if there is memory for them and for the distances between them."""
    check_memory(measures.n_rows, 48 * max(1.0, measures.longest / measures.n_rows), "W2 distances between")
    return measures.steps()


def _use_matrix(measures: PooledMeasures, n_resamples: int, method: str) -> bool:
    rows = measures.n_rows
    if method == "matrix" and rows != measures.n_items:
        raise InputError("method='matrix' is not for pooled anchors of spaces; these need method='sweep'")
    if method != "auto":
        return method == "matrix"
    if rows != measures.n_items or rows > MOST_MATRIX_ROWS or rows * measures.longest > MOST_PADDED:
        return False
    costs = COST_STEP * rows * 2 * len(measures.value)
    return costs + PRODUCT_STEP * n_resamples * rows**2 < n_resamples * kernels.labelled_steps(measures.moves)


# -- measures, pooled --------------------------------------------------------------------------------------------------


class PooledMeasures:
    """The measures of one collection, or of two, the first collection's items first.

    An item is one measure on the line, or a space, which stands for its anchors: one measure per point. Equal values of
    a measure are one atom; the atoms stand row by row, sorted, with the height of the CDF after each.
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
    def of(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> PooledMeasures:
        """Check and sort the items of one collection; `name` is what messages call it."""
        if any(isinstance(item, Space) for item in items):
            return cls._of_spaces(items, weights, name)
        measures = RaggedMeasures.of(items, weights, name)
        return cls._of_measures(measures, RowItems(np.arange(len(items), dtype=np.uint32), np.ones(len(items))))

    @classmethod
    def _of_spaces(cls, items: Sequence[Any], weights: Sequence[ArrayLike] | None, name: str) -> PooledMeasures:
        _check_spaces(items, weights, name)
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
    def _of_measures(cls, measures: RaggedMeasures, items: RowItems) -> PooledMeasures:
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
        place, target = _number_values(*kernels.argsort(heights, threads=1))
        start = np.zeros(self.n_rows, np.uint32)
        return PlaceMoves(time, self.row[order], target[1:], start, place, float(time[0]), float(time[-1]))

    def _over_levels(self) -> PlaceMoves:
        """Quantiles as the level runs from 0 to 1: each steps on at the heights of its CDF."""
        place, number = _number_values(*self._by_value)
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


def _number_values(ascending: Float64s, order: Int64s) -> tuple[Float64s, NDArray[np.uint32]]:
    """Different values in ascending order, and which of them stands where, from all values sorted."""
    is_new = np.append(True, ascending[1:] != ascending[:-1])
    number = np.empty(len(order), np.uint32)
    number[order] = np.cumsum(is_new) - 1
    return ascending[is_new], number
