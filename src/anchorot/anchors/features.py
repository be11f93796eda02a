"""Anchor features: what of a space the Anchor Energy needs, computed once and compared many times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels import kernels, powers
from anchorot._kernels.records import (
    Events,
    LevelMoves,
    WeightedLevels,
    from_heights,
    heights_along,
    level_heights,
    row_order,
    to_heights,
    whole_heights,
)
from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import (
    check_free_memory,
    check_list,
    check_memory,
    check_overflow,
    check_power,
    check_threads,
    check_weights,
    uniform_weights,
)
from anchorot.anchors.line import RaggedMeasures, StepFunction, level_steps, step_distance
from anchorot.exceptions import InputError
from anchorot.rows import Rows
from anchorot.space import Space, as_space

if TYPE_CHECKING:
    from anchorot.anchors.attributes import AttributeRule, AttributesLike  # which subclasses look at

BLOCK_NUMBERS = 1 << 18  # averaged at a time: 2 MB of temporary numbers


class AnchorFeatures:
    """The anchors of a space (its rows, as measures on the line), sorted and ready to be compared.

    Make one with :meth:`of` or :meth:`of_rows` and give it to :func:`~anchorot.anchor_energy` in place of the space:
    the sorts, which are most of the work, are then done once per space instead of once per pair.

    A space of n equally weighted points is kept as its *levels*: row k holds, sorted, the k-th smallest cost of
    every anchor. Its rows stay sorted when its columns are, and that matrix is all AE needs. If only the anchors weigh
    unequally, each number of a level has its anchor's weight. Any other collection is kept as *events*: every jump of
    every anchor's CDF, by position. Events can be computed from levels.

    Attributes
    ----------
    levels : ndarray of shape (levels, anchors) or None
        None unless all anchors and all their points weigh the same.
    weighted_levels : WeightedLevels or None
        The same with weights of anchors; None unless all anchors see as many points, which weigh the same.
    robust : bool
        Whether the costs were replaced by their ranks.
    attribute_rule : AttributeRule or None
        Up to which cost they see, and what distinguishes points besides; None if costs are all, without a limit.
    is_mean_only : bool
        Whether the mean quantile function is all that was kept, which serves p = 2 only.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> f, g = ao.AnchorFeatures.of(line), ao.AnchorFeatures.of(triangle)
    >>> ao.anchor_energy(f, g) == ao.anchor_energy(line, triangle)
    True
    """

    not_a_space: ClassVar[str] = "features are enough for Anchor Energies only: give the Space that they were made of"

    def __init__(
        self,
        *,
        levels: Floats | None = None,
        weighted_levels: WeightedLevels | None = None,
        events: Events | None = None,
        mean_quantile: StepFunction | None = None,
        robust: bool = False,
        attribute_rule: AttributeRule | None = None,
    ) -> None:
        self.levels = levels
        self.robust = robust
        self.attribute_rule = attribute_rule
        self.has_levels = levels is not None or weighted_levels is not None
        self.is_mean_only = not self.has_levels and events is None
        if weighted_levels is not None:
            self.weighted_levels = weighted_levels  # fills the cached property of this name
        if events is not None:
            self.events = events  # fills the cached properties of these names
        if mean_quantile is not None:
            self.mean_quantile = mean_quantile

    @classmethod
    def of(
        cls,
        x: Space | Rows | ArrayLike,
        *,
        robust: bool = False,
        mean_only: bool = False,
        attributes: AttributesLike = None,
        max_cost: float | None = None,
        threads: int = 1,
    ) -> AnchorFeatures:
        """Features of a space, or of the uniform space of a cost matrix. O(n² log n) time, O(n²) memory.

        Parameters
        ----------
        x : Space, Rows or array_like of shape (n, n)
        robust : bool
            Use ranks instead of costs, see :meth:`Space.ranked`.
        mean_only : bool
            Keep the mean quantile function only, n numbers instead of n² for a uniform space: all that p = 2 needs.
        attributes : {"types"} or FeatureMap, optional
            What distinguishes points besides costs, see :func:`~anchorot.anchor_energy`. Features that are compared
            must have one `max_cost` and, for features of points, one :func:`~anchorot.anchors.feature_map`.
        max_cost : float, optional
            Costs above it count as it does. Needed with `attributes`.
        threads : int
            Threads to sort with; the result does not depend on it.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.AnchorFeatures.of([[0, 3], [1, 0]]).levels.tolist()
        [[0.0, 0.0], [1.0, 3.0]]
        """
        threads = check_threads(threads)
        if attributes is not None or max_cost is not None:
            from anchorot.anchors.attribute_features import features_by  # which builds on this module

            return features_by(x, attributes, max_cost, robust=robust, mean_only=mean_only, threads=threads)
        if isinstance(x, Rows):
            return cls._of_rows((x.ranked() if robust else x).support(), robust, mean_only, threads)
        space = as_space(x, robust=robust).support()
        check_memory(space.n, 8 if space.is_uniform else 24, "features of")
        if space.is_uniform:
            levels = kernels.quantiles(space.cost, threads)
            if mean_only:
                return cls(mean_quantile=mean_of_levels(levels), robust=robust)
            kernels.sort_rows(levels, threads)
            return cls(levels=levels, robust=robust)
        cost = np.ascontiguousarray(space.cost, dtype=np.float64)
        events = kernels.cost_events(cost, space.weights, whole_heights(space.weights), threads)
        full = cls(events=events, robust=robust)
        return cls(mean_quantile=full.mean_quantile, robust=robust) if mean_only else full

    @classmethod
    def of_many(
        cls, spaces: Sequence[Space | Rows | ArrayLike], *, robust: bool = False, threads: int = 1
    ) -> list[AnchorFeatures]:
        """Features of many spaces, to the bits of :meth:`of`; small uniform ones are sorted in one call.

        Parameters
        ----------
        spaces : sequence of Space, Rows or array_like of shape (n, n)
            Such as a stack of shape (N, n, n), or :class:`~anchorot.io.PointClouds`.
        robust : bool
            Use ranks instead of costs.
        threads : int
            Threads to sort with; the result does not depend on it.

        Examples
        --------
        >>> import anchorot as ao
        >>> [features.span for features in ao.AnchorFeatures.of_many([[[0, 3], [1, 0]], [[0, 2], [2, 0]]])]
        [(0.0, 3.0), (0.0, 2.0)]
        """
        from anchorot.anchors.batches import features_of_each  # which builds on this module

        threads = check_threads(threads)
        return list(features_of_each(spaces, robust=robust, threads=threads))

    @classmethod
    def _of_rows(cls, rows: Rows, robust: bool, mean_only: bool, threads: int) -> Self:
        """Features of rows of positive weights."""
        check_free_memory(rows.values.nbytes, f"features of {rows.n} rows", "keep fewer rows, or a smaller k")
        quantiles = kernels.quantiles(rows.values, threads)
        if rows.is_uniform and mean_only:
            return cls(mean_quantile=mean_of_levels(quantiles), robust=robust)
        if rows.is_uniform:
            kernels.sort_rows(quantiles, threads)
            return cls(levels=quantiles, robust=robust)
        levels = weighted_levels_of(quantiles, rows.weights)
        if mean_only:
            return cls(mean_quantile=mean_of_weighted_levels(levels), robust=robust)
        return cls(weighted_levels=levels, robust=robust)

    @classmethod
    def of_rows(
        cls,
        rows: Sequence[ArrayLike],
        row_weights: Sequence[ArrayLike] | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Features of any collection of measures on the line, of different lengths if need be.

        Parameters
        ----------
        rows : sequence of array_like
            The values of each measure.
        row_weights : sequence of array_like, optional
            The weights of the values of each measure; uniform by default.
        weights : array_like, optional
            The weights of the measures; uniform by default.

        Examples
        --------
        >>> import anchorot as ao
        >>> two_graphs = ao.AnchorFeatures.of_rows([[1, 2, 2, 3], [2, 2, 2]])
        """
        rows = check_list(rows, "rows", "measure")
        if row_weights is not None:
            row_weights = check_list(row_weights, "row_weights", "array of weights", "arrays of weights")
        measures = RaggedMeasures.of(rows, row_weights, "rows")
        mass = uniform_weights(len(rows)) if weights is None else check_weights(weights, len(rows), "rows")
        lengths = measures.lengths
        if measures.weight is None and (lengths == lengths[0]).all():
            found = Rows(measures.value.reshape(len(rows), -1), mass, copy=False)
            return cls._of_rows(found.support(), robust=False, mean_only=False, threads=1)
        if not mass.all():
            measures, mass = measures.only(mass > 0), mass[mass > 0]
        position, order = kernels.argsort(measures.value, threads=1)
        return cls(events=Events(position, measures.row[order], measures.jumps()[order], mass))

    @cached_property
    def events(self) -> Events:
        """Every jump of every anchor's CDF, by position (of a level matrix: column i is as good an anchor as any)."""
        if self.levels is None:
            if self.has_levels and self.weighted_levels is not None:
                return events_of_levels(self.weighted_levels)
            raise InputError(
                "these features were made with mean_only=True, which is enough for Anchor Energy with p=2 only"
            )
        count, anchors = self.levels.shape
        position, order = kernels.argsort(self.levels.ravel().astype(np.float64, copy=False), threads=1)
        row = (order % anchors).astype(np.uint32)
        jump = np.broadcast_to(to_heights(np.array(1 / count)), row.shape).copy()
        return Events(position, row, jump, uniform_weights(anchors))

    @cached_property
    def weighted_levels(self) -> WeightedLevels | None:
        """Levels whose numbers have the weights of their anchors, if all anchors jump at the same shares."""
        if self.levels is None:
            return None
        heights = level_heights(self.levels.shape[1])
        return same_anchors(np.ascontiguousarray(self.levels, dtype=np.float64), heights)

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest cost."""
        if self.has_levels:
            levels = self.levels
            if levels is None:
                assert self.weighted_levels is not None
                levels = self.weighted_levels.levels
            return float(levels[0, 0]), float(levels[-1, -1])
        return float(self.events.position[0]), float(self.events.position[-1])

    @cached_property
    def mean_quantile(self) -> StepFunction:
        """Mean over the anchors of their quantile functions."""
        if self.levels is not None:
            return mean_of_levels(self.levels)
        if self.has_levels and self.weighted_levels is not None:
            return mean_of_weighted_levels(self.weighted_levels)
        moves, mass = self.level_moves, self.events.mass
        origin = float(self.events.position[len(self.events.position) // 2])
        with np.errstate(over="ignore", invalid="ignore"):
            first = mass @ (moves.start - origin)
            rises = np.cumsum(mass[moves.row] * (moves.after - moves.before))
        return StepFunction(np.append(first, first + rises), np.append(moves.level, 1.0), origin)

    @cached_property
    def level_moves(self) -> LevelMoves:
        """The anchors' quantiles as the level t rises from 0 to 1: each steps on at its cumulated weights."""
        by_row = row_order(self.events.row)  # within a row still by position
        position, row = self.events.position[by_row], self.events.row[by_row]
        height = heights_along(row, self.events.jump[by_row])
        heights = np.minimum(from_heights(height), 1.0)  # rounded weights may sum to more
        steps = level_steps(row, kernels.argsort(heights, threads=1))
        start = np.zeros(len(self.events.mass))
        start[row[steps.first]] = position[steps.first]
        return LevelMoves(steps.level, row[steps.before], position[steps.before], position[steps.after], start)

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Anchor Energy between two features, by levels if both have them, else by a sweep; see `anchor_energy`.

        Parameters
        ----------
        other : AnchorFeatures
            Made with the same `robust`, which is not looked at here.
        p : int from 1 to 64
            Power of the cost.
        threads : int
            The result does not depend on it.

        Returns
        -------
        float
        """
        if p == 2:
            return 2 * step_distance(self.mean_quantile, other.mean_quantile, p=2)
        if p != 1:  # a pair takes microseconds, and so would looking at p
            p = check_power(p)
        if self.levels is None or other.levels is None:
            if p == 1 and self.has_levels and other.has_levels:
                return 2 * self._gaps_to(other, 2, threads)
            return self.sweep_energy_to(other, p, threads=threads)
        levels = same_dtype(self.levels, other.levels)
        energy = kernels.level_energy(*levels, threads) if p == 1 else powers.level_energy(*levels, p)
        check_overflow(energy, p)
        return energy

    def sweep_energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Anchor Energy between two features by a sweep over their events (p = 1) or over the levels."""
        if p not in (1, 2):
            p = check_power(p)
        if p == 1:
            energy = kernels.sweep_energy(self.events, other.events, threads)
        else:
            signed_mass = np.concatenate([self.events.mass, -other.events.mass])
            moves = merged_moves(self.level_moves, other.level_moves)
            energy = powers.level_sweep_energy(moves, signed_mass, p)
        check_overflow(energy, p)
        return energy

    def sliced_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Sliced Anchor Wasserstein distance between two features, see `sliced_anchor_wasserstein`.

        Parameters
        ----------
        other : AnchorFeatures
            Made with the same `robust`, which is not looked at here.
        p : {1, 2}
        threads : int
            The result does not depend on it.

        Returns
        -------
        float
        """
        if self.levels is not None and other.levels is not None:
            distance = kernels.level_transport(*same_dtype(self.levels, other.levels), p, threads)
        elif self.has_levels and other.has_levels:
            if p == 1:
                return self._gaps_to(other, 1, threads)
            assert self.weighted_levels is not None
            assert other.weighted_levels is not None
            distance = kernels.weighted_transport(self.weighted_levels, other.weighted_levels, threads)
        elif p == 1:
            distance = kernels.sweep_transport(self.events, other.events, threads)
        else:
            moves = self.level_moves, self.events.mass, other.level_moves, other.events.mass
            distance = kernels.level_sweep_transport(*moves)
        check_overflow(distance, 1)
        return distance

    def _gaps_to(self, other: AnchorFeatures, power: int, threads: int) -> float:
        """∬ |F - G|^power dx dt by levels."""
        assert self.weighted_levels is not None
        assert other.weighted_levels is not None
        found = kernels.weighted_gaps(self.weighted_levels, other.weighted_levels, power, 0.0, threads)
        check_overflow(found, 1)
        return found

    def self_cost(self, p: int = 1) -> float:
        """Mean transport cost E[OT_p] between two independent anchors.

        By the Anchor Energy to a space of one point at any cost c: AE_p(x, c) = 2 E|cost - c|^p - E[OT_p(x, x)].
        """
        if self.levels is None:
            share = self.events.mass[self.events.row] * from_heights(self.events.jump)
        costs = self.events.position if self.levels is None else self.levels.ravel()
        c = float(costs[len(costs) // 2])
        with np.errstate(over="ignore", invalid="ignore"):
            powers = np.abs(np.subtract(costs, c, dtype=np.float64)) ** p
            to_point = float(share @ powers if self.levels is None else powers.mean())
        check_overflow(2 * to_point, p)
        return 2 * to_point - self.energy_to(AnchorFeatures(levels=np.full((1, 1), c)), p)

    def arrays(self) -> list[np.ndarray]:
        """All that is kept of the space."""
        if self.is_mean_only:
            return [np.asarray(part) for part in self.mean_quantile]
        if self.levels is not None:
            return [self.levels]
        return list(self.weighted_levels if self.has_levels and self.weighted_levels else self.events)

    def __repr__(self) -> str:
        if self.is_mean_only:
            kept = "mean only"
        elif self.levels is not None:
            kept = f"levels of {self.levels.shape[1]} anchors"
        elif self.has_levels and self.weighted_levels is not None:
            kept = f"levels of {len(self.weighted_levels.height)} weighted anchors"
        else:
            kept = f"events of {len(self.events.mass)} anchors"
        return f"AnchorFeatures({kept}, robust={self.robust})"


def same_dtype(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return two arrays as they are, or in float64 if one of them is."""
    return (x, y) if x.dtype == y.dtype else (x.astype(np.float64, copy=False), y.astype(np.float64, copy=False))


def as_features(
    x: Space | Rows | AnchorFeatures | ArrayLike, *, robust: bool, threads: int = 1, mean_only: bool = False
) -> AnchorFeatures:
    """Return x if it is features (made with the same `robust`), else the features of the space or cost matrix x."""
    if not isinstance(x, AnchorFeatures):
        return AnchorFeatures.of(x, robust=robust, mean_only=mean_only, threads=threads)
    if x.robust != robust:
        raise InputError(f"the features were made with robust={x.robust}, but robust={robust} is asked for")
    return x


def weighted_levels_of(quantiles: Floats, weights: Float64s) -> WeightedLevels:
    """Sort every level of the quantiles [k, i] of anchors, each number with its anchor's weight; weights sum to 1."""
    order = np.argsort(quantiles, axis=1, kind="stable")
    levels = np.take_along_axis(quantiles, order, axis=1).astype(np.float64, copy=False)
    return WeightedLevels(levels, order.astype(np.uint32), whole_heights(weights))


def same_anchors(levels: Float64s, heights: Int64s) -> WeightedLevels:
    """Levels of anchors that weigh the same: any number may be any anchor's."""
    anchor = np.broadcast_to(np.arange(levels.shape[1], dtype=np.uint32), levels.shape).copy()
    return WeightedLevels(levels, anchor, heights)


def events_of_levels(x: WeightedLevels) -> Events:
    """Every jump of every anchor's CDF, by position."""
    count, anchors = x.levels.shape
    position, order = kernels.argsort(x.levels.ravel(), threads=1)
    return Events(position, x.anchor.ravel()[order], level_heights(count)[order // anchors], from_heights(x.height))


def mean_of_weighted_levels(x: WeightedLevels) -> StepFunction:
    """Mean quantile function: of every level the mean by weight."""
    count = len(x.levels)
    origin, mass = float(x.levels[count // 2, 0]), from_heights(x.height)
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.array([mass[anchor] @ (level - origin) for level, anchor in zip(x.levels, x.anchor, strict=True)])
    return StepFunction(value, np.arange(1, count + 1) / count, origin)


def mean_of_levels(levels: Floats) -> StepFunction:
    """Mean quantile function from a matrix whose row k holds the anchors' quantiles at level k, in any order."""
    count, anchors = levels.shape
    origin = float(levels[count // 2, 0])
    value = np.empty(count)
    step = max(1, BLOCK_NUMBERS // anchors)
    for start in range(0, count, step):
        block = slice(start, start + step)
        with np.errstate(over="ignore", invalid="ignore"):
            value[block] = np.subtract(levels[block], origin, dtype=np.float64).mean(axis=1)
    return StepFunction(value, np.arange(1, count + 1) / count, origin)


def merged_moves(x: LevelMoves, y: LevelMoves) -> LevelMoves:
    """Moves of the rows of two collections, those of y numbered after those of x."""
    order = np.argsort(np.concatenate([x.level, y.level]), kind="stable")  # which sees that both are sorted
    row = np.concatenate([x.row, y.row + np.uint32(len(x.start))])[order]
    sides = (x.level, y.level), (x.before, y.before), (x.after, y.after)
    level, before, after = (np.concatenate(side)[order] for side in sides)
    return LevelMoves(level, row, before, after, np.concatenate([x.start, y.start]))
