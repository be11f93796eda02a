"""Anchor features: what of a space the Anchor Energy needs, computed once and compared many times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels import kernels
from anchorot._kernels.records import (
    Events,
    LevelMoves,
    from_heights,
    heights_along,
    row_order,
    to_heights,
    whole_heights,
)
from anchorot._typing import Floats
from anchorot._validate import (
    check_list,
    check_memory,
    check_overflow,
    check_power,
    check_threads,
    check_weights,
    uniform_weights,
)
from anchorot.anchors.attributes import AttributeRule, AttributesLike, attribute_rule_of
from anchorot.anchors.line import RaggedMeasures, StepFunction, level_steps, step_distance
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space, heavy_part

BLOCK_NUMBERS = 1 << 18  # averaged at a time: 2 MB of temporary numbers


class AnchorFeatures:
    """The anchors of a space (its rows, as measures on the line), sorted and ready to be compared.

    Make one with :meth:`of` or :meth:`of_rows` and give it to :func:`~anchorot.anchor_energy` in place of the space:
    the sorts, which are most of the work, are then done once per space instead of once per pair.

    A space of n equally weighted points is kept as its *levels*: row k holds, sorted, the k-th smallest cost of
    every anchor. Its rows stay sorted when its columns are, and that matrix is all AE needs. Any other collection is
    kept as *events*: every jump of every anchor's CDF, by position. Either can be had from the other.

    Attributes
    ----------
    levels : ndarray of shape (levels, anchors) or None
        None unless all anchors and all their points weigh the same.
    robust : bool
        Whether the costs were replaced by their ranks.
    attribute_rule : AttributeRule or None
        Up to which cost they see, and what tells points apart besides; None if costs are all, without a limit.
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

    not_a_space: ClassVar[str] = "features serve Anchor Energies alone: give the Space that they were made of"

    def __init__(
        self,
        *,
        levels: Floats | None = None,
        events: Events | None = None,
        mean_quantile: StepFunction | None = None,
        robust: bool = False,
        attribute_rule: AttributeRule | None = None,
    ) -> None:
        self.levels = levels
        self.robust = robust
        self.attribute_rule = attribute_rule
        self.is_mean_only = levels is None and events is None
        if events is not None:
            self.events = events  # fills the cached properties of these names
        if mean_quantile is not None:
            self.mean_quantile = mean_quantile

    @classmethod
    def of(
        cls,
        x: Space | ArrayLike,
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
        x : Space or array_like of shape (n, n)
        robust : bool
            Use ranks instead of costs, see :meth:`Space.ranked`.
        mean_only : bool
            Keep the mean quantile function only, n numbers instead of n² for a uniform space: all that p = 2 needs.
        attributes : {"types"} or FeatureMap, optional
            What tells points apart besides their costs, see :func:`~anchorot.anchor_energy`. Features that are compared
            must have one `max_cost` and, for features of points, one :func:`~anchorot.anchors.feature_map`.
        max_cost : float, optional
            Costs above it count as it does. Needed with `attributes`.
        threads : int
            Threads to sort with; the answer does not depend on it.

        Examples
        --------
        >>> import anchorot as ao
        >>> ao.AnchorFeatures.of([[0, 3], [1, 0]]).levels.tolist()
        [[0.0, 0.0], [1.0, 3.0]]
        """
        threads = check_threads(threads)
        if attributes is not None or max_cost is not None:
            return _with_attributes(x, attributes, max_cost, robust, mean_only, threads)
        space = heavy_part(as_space(x, robust=robust))
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
        if measures.weight is None and (lengths == lengths[0]).all() and (mass == mass[0]).all():
            levels = kernels.quantiles(measures.value.reshape(len(rows), -1), threads=1)
            kernels.sort_rows(levels, threads=1)
            return cls(levels=levels)
        if not mass.all():
            measures, mass = measures.only(mass > 0), mass[mass > 0]
        position, order = kernels.argsort(measures.value, threads=1)
        return cls(events=Events(position, measures.row[order], measures.jumps()[order], mass))

    @cached_property
    def events(self) -> Events:
        """Every jump of every anchor's CDF, by position (of a level matrix: column i is as good an anchor as any)."""
        if self.levels is None:
            raise InputError("these features were made with mean_only=True, which serves p=2 only")
        count, anchors = self.levels.shape
        position, order = kernels.argsort(self.levels.ravel().astype(np.float64, copy=False), threads=1)
        row = (order % anchors).astype(np.uint32)
        jump = np.broadcast_to(to_heights(np.array(1 / count)), row.shape).copy()
        return Events(position, row, jump, uniform_weights(anchors))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest cost."""
        if self.levels is not None:
            return float(self.levels[0, 0]), float(self.levels[-1, -1])
        return float(self.events.position[0]), float(self.events.position[-1])

    @cached_property
    def mean_quantile(self) -> StepFunction:
        """Mean over the anchors of their quantile functions."""
        if self.levels is not None:
            return mean_of_levels(self.levels)
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
            The answer does not depend on it.

        Returns
        -------
        float
        """
        if p == 2:
            return 2 * step_distance(self.mean_quantile, other.mean_quantile, p=2)
        if p != 1:  # a pair takes microseconds, and so would looking at p
            p = check_power(p)
        if self.levels is None or other.levels is None:
            return self.sweep_energy_to(other, p, threads=threads)
        x, y = self.levels, other.levels
        if x.dtype != y.dtype:  # float32 and float64
            x, y = x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)
        energy = kernels.level_energy(x, y, p, threads)
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
            energy = kernels.level_sweep_energy(moves, signed_mass, p, threads)
        check_overflow(energy, p)
        return energy

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
        return list(self.events) if self.levels is None else [self.levels]

    def __repr__(self) -> str:
        if self.is_mean_only:
            kept = "mean only"
        elif self.levels is not None:
            kept = f"levels of {self.levels.shape[1]} anchors"
        else:
            kept = f"events of {len(self.events.mass)} anchors"
        return f"AnchorFeatures({kept}, robust={self.robust})"


def _with_attributes(
    x: Space | ArrayLike,
    attributes: AttributesLike,
    max_cost: float | None,
    robust: bool,
    mean_only: bool,
    threads: int,
) -> AnchorFeatures:
    from anchorot.anchors.attribute_features import attribute_features  # which builds on this module

    if mean_only or max_cost is None or attributes == "features":
        raise InputError(
            "features with attributes or a max_cost need a max_cost, whole anchors (mean_only=False) and, of features, "
            f"a feature_map(...); but got attributes={attributes!r}, max_cost={max_cost!r}, mean_only={mean_only}"
        )
    return attribute_features(x, attribute_rule_of((x,), attributes, max_cost), robust=robust, threads=threads)


def as_features(
    x: Space | AnchorFeatures | ArrayLike, *, robust: bool, threads: int = 1, mean_only: bool = False
) -> AnchorFeatures:
    """Return x if it is features (made with the same `robust`), else the features of the space or cost matrix x."""
    if not isinstance(x, AnchorFeatures):
        return AnchorFeatures.of(x, robust=robust, mean_only=mean_only, threads=threads)
    if x.robust != robust:
        raise InputError(f"the features were made with robust={x.robust}, but robust={robust} is asked for")
    return x


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
