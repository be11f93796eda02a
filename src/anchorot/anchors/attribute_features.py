r"""Features of spaces whose points differ in more than their costs: in types, in vectors, or up to a max_cost alone.

**Types.** Anchors of type c see points of type b. With s_b the mass of type b and Q_i^b the quantile function of anchor
i's costs to the points of type b, let F_cb(x, t) = s_b Σ_{i of type c} a_i [Q_i^b(t) <= x]. Anchor Energy with types is

    Σ_cb 2 ∬_{x <= max_cost} (F_cb - G_cb)² dx dt ,

a squared L2 distance, with F_cb = 0 where a space lacks a type. The pieces have different masses, which is why
max_cost must be the same for all: it is where what is missing would be.

**Vectors.** With phi(i) the vector of point i (a feature map), F(x, t) = Σ_i a_i phi(i) [Q_i(t) <= x] is vector-valued,
and Anchor Energy with features is 2 ∬_{x <= max_cost} |F - G|² dx dt: the squared distance of the kernel
<phi, phi'> ∫ (max_cost - max(Q(t), Q'(t))) dt, which couples what a point is with what it sees.
"""

import math
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import (
    Events,
    LevelBlocks,
    VectorLevels,
    WeightedLevels,
    level_heights,
    to_heights,
)
from anchorot._typing import Float64s, Floats, RngLike
from anchorot._validate import check_memory, check_overflow, uniform_weights
from anchorot.anchors.attributes import AttributeRule, AttributesLike, attribute_rule_of, rows_types
from anchorot.anchors.features import AnchorFeatures, as_features, events_of_levels, same_anchors
from anchorot.anchors.type_blocks import (
    NO_LEVELS,
    Alphabet,
    block_pairs,
    complete_masses,
    empty_events,
    events_of_block,
    level_blocks,
    members_of,
    pair_events,
    shared_pairs,
    sorted_types,
    weighted_levels,
)
from anchorot.exceptions import InputError
from anchorot.rows import Rows
from anchorot.space import Space

ENERGY_POWER, SLICED_POWER = 2, 1  # of |F - G|: Anchor Energy is 2 ∬ |F - G|² dx dt, SAW_1 is ∬ |F - G| dx dt


class AttributeFeatures(AnchorFeatures):
    """Features of anchors that differ in more than their costs."""

    def __init__(self, attribute_rule: AttributeRule, *, events: Events | None = None, robust: bool = False) -> None:
        super().__init__(events=events, robust=robust, attribute_rule=attribute_rule)
        self.is_mean_only = False

    @property
    def max_cost(self) -> float:
        """Up to which cost they see."""
        assert self.attribute_rule is not None
        return self.attribute_rule.max_cost

    def _checked(self, other: AnchorFeatures, p: int) -> Self:
        check_alike(self, other, p)
        assert isinstance(other, type(self))
        return other

    def _paired_events(self, other: Self) -> Iterable[tuple[Events, Events]]:
        """Events of either side that are compared with each other, part by part."""
        raise NotImplementedError

    def sweep_energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Anchor Energy with attributes, by a sweep over the events of every part: a pair of types, or a coordinate."""
        pairs = self._paired_events(self._checked(other, p))
        return sum_energies(kernels.sweep_energy(*events, threads) for events in pairs)

    def _sweep_profile_to(self, other: Self, max_costs: Float64s, power: int, threads: int) -> Float64s:
        pairs = self._paired_events(other)
        return np.sum([kernels.sweep_profile(*events, max_costs, power, threads) for events in pairs], axis=0)

    def sliced_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Sliced Anchor Wasserstein distance by types: the sum over all pairs of types; refused for vectors."""
        pairs = self._paired_events(self._checked(other, p))
        return sum_energies(kernels.sweep_transport(*events, threads) for events in pairs)

    def profile_to(
        self, other: AnchorFeatures, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
    ) -> Float64s:
        """Anchor Energy up to each of the ascending `max_costs`, none above that of the features; or SAW_1 (power 1).

        SAW_1 is refused without types.
        """
        raise NotImplementedError

    def pair_curves(
        self, other: Self, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
    ) -> "PairCurves":
        """The same of every pair of types; refused without types."""
        raise NotImplementedError

    def self_cost(self, p: int = 1) -> NoReturn:
        """Refused: Anchor Energy with attributes is not made of transport costs."""
        raise InputError("attributes have no transport costs; use anchor_energy")


def check_alike(x: AnchorFeatures, y: AnchorFeatures, p: int) -> None:
    """Refuse features that were not made to be compared with each other."""
    if p != 1:
        raise InputError(f"attributes and max_cost need p=1, but got p={p}")
    if x.attribute_rule != y.attribute_rule:
        raise InputError(
            f"features of {x.attribute_rule} cannot be compared with features of {y.attribute_rule}; make them alike"
        )


def sum_energies(energies: Iterable[float]) -> float:
    """Return the sum of energies, the same in whatever order; refuse what is beyond the range of floats."""
    try:
        total = math.fsum(energies)
    except OverflowError:  # of numbers that are all finite
        total = math.inf
    check_overflow(total, 1)
    return total


PairCurves = Iterable[tuple[tuple[Hashable, Hashable], Float64s]]  # of pairs of types: energies up to some max_costs


class TypedFeatures(AttributeFeatures):
    """The anchors of a space by their types and by the types of what they see; see the module.

    Attributes
    ----------
    alphabet : tuple
        The K types that occur, in a fixed order. Pair c, b of them is block c K + b.
    blocks : LevelBlocks or None
        Levels of every pair, if all points weigh the same.
    weighted_blocks : tuple of WeightedLevels or None
        The same with weights of anchors; None unless all anchors see as many points of a type, which weigh the same.
    """

    def __init__(
        self,
        alphabet: Alphabet,
        attribute_rule: AttributeRule,
        *,
        blocks: LevelBlocks | None = None,
        weighted_blocks: tuple[WeightedLevels, ...] | None = None,
        events: tuple[Events, ...] | None = None,
        robust: bool = False,
    ) -> None:
        super().__init__(attribute_rule, robust=robust)
        self.alphabet = alphabet
        self.blocks = blocks
        if weighted_blocks is not None or events is not None:
            self.weighted_blocks = weighted_blocks  # fills the cached property of that name
        if events is not None:
            self.block_events = events  # fills the cached property of that name

    @classmethod
    def of_space(cls, space: Space, attribute_rule: AttributeRule, *, robust: bool, threads: int) -> Self:
        """Features of a space that `attribute_rule` has looked at."""
        check_memory(space.n, 24 if space.is_uniform else 56, "features of")
        assert space.types is not None
        alphabet = sorted_types(space.types)
        members = members_of(space.types, alphabet)
        if space.is_uniform:
            shares = [len(targets) / space.n / space.n for targets in members]
            blocks = level_blocks(space.cost, members, members, shares, threads)
            return cls(alphabet, attribute_rule, blocks=blocks, robust=robust)
        made = tuple(pair_events(space, c, b, attribute_rule.max_cost, threads) for c in members for b in members)
        return cls(alphabet, attribute_rule, events=made, robust=robust)

    @classmethod
    def of_typed_rows(cls, rows: Rows, attribute_rule: AttributeRule, *, robust: bool, threads: int) -> Self:
        """Features of rows that `attribute_rule` has looked at: anchors by their types, columns by theirs."""
        alphabet = sorted_types(rows_types(rows, "rows"))
        points, columns = (members_of(kinds or (), alphabet) for kinds in (rows.types, rows.column_types))
        if rows.is_uniform:
            shares = [len(targets) / rows.k / rows.n for targets in columns]
            blocks = level_blocks(rows.values, points, columns, shares, threads)
            return cls(alphabet, attribute_rule, blocks=blocks, robust=robust)
        made = tuple(weighted_levels(rows, c, b, threads) for c in points for b in columns)
        return cls(alphabet, attribute_rule, weighted_blocks=made, robust=robust)

    @cached_property
    def weighted_blocks(self) -> tuple[WeightedLevels, ...] | None:
        """Levels of every pair, with weights of anchors."""
        assert self.blocks is not None
        return tuple(_with_weights(self.blocks, k) for k in range(len(self.blocks.mass)))

    @cached_property
    def block_events(self) -> tuple[Events, ...]:
        """Events of every pair of types; what a pair lacks of all mass stands at max_cost, where it does no harm."""
        if self.blocks is None and self.weighted_blocks is not None:
            return tuple(complete_masses(events_of_levels(part), self.max_cost) for part in self.weighted_blocks)
        assert self.blocks is not None
        return tuple(events_of_block(self.blocks, k, self.max_cost) for k in range(len(self.blocks.mass)))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest cost, and max_cost."""
        if self.blocks is not None:
            low = float(self.blocks.numbers.min())
        elif self.weighted_blocks is not None:
            low = min(float(part.levels[0, 0]) for part in self.weighted_blocks if part.levels.size)
        else:
            low = min(float(events.position[0]) for events in self.block_events)
        return low, self.max_cost

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Anchor Energy with attributes between two features of the same attribute_rule."""
        y = self._checked(other, p)
        if self.blocks is None or y.blocks is None:
            if self.weighted_blocks is not None and y.weighted_blocks is not None:
                return 2 * self._typed_gaps_to(y, 2, threads)
            return self.sweep_energy_to(other, p, threads=threads)
        pairs = block_pairs(self.alphabet, y.alphabet)
        return sum_energies(kernels.block_energies(self.blocks, y.blocks, pairs, self.max_cost, threads).tolist())

    def profile_to(
        self, other: AnchorFeatures, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
    ) -> Float64s:
        """Anchor Energy or SAW_1 up to each of the ascending `max_costs`, none above that of the features."""
        y = self._checked(other, 1)
        if self.blocks is None or y.blocks is None:
            return self._sweep_profile_to(y, max_costs, power, threads)
        pairs = block_pairs(self.alphabet, y.alphabet)
        return kernels.block_profile(self.blocks, y.blocks, pairs, max_costs, power, threads)

    def pair_curves(
        self, other: Self, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
    ) -> PairCurves:
        """The same of every pair of types."""
        pairs = shared_pairs(self.alphabet, other.alphabet)
        if self.blocks is None or other.blocks is None:
            events = self._paired_events(other)
            return zip(pairs, (kernels.sweep_profile(*both, max_costs, power, threads) for both in events), strict=True)
        places, both = block_pairs(self.alphabet, other.alphabet), (self.blocks, other.blocks)
        curves = (kernels.block_profile(*both, place[None], max_costs, power, threads) for place in places)
        return zip(pairs, curves, strict=True)

    def sliced_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Sliced Anchor Wasserstein distance by types: the sum over all pairs of types."""
        y = self._checked(other, p)
        if self.weighted_blocks is None or y.weighted_blocks is None:
            return super().sliced_to(other, p, threads=threads)
        return self._typed_gaps_to(y, 1, threads)

    def _typed_gaps_to(self, other: Self, power: int, threads: int) -> float:
        """Σ_cb ∬ |F_cb - G_cb|^power dx dt by levels."""
        assert self.weighted_blocks is not None
        assert other.weighted_blocks is not None
        sides = self.weighted_blocks, other.weighted_blocks
        pairs = block_pairs(self.alphabet, other.alphabet).tolist()
        parts = [(sides[0][i] if i >= 0 else NO_LEVELS, sides[1][j] if j >= 0 else NO_LEVELS) for i, j in pairs]
        return sum_energies(kernels.weighted_gaps(*part, power, self.max_cost, threads) for part in parts)

    def _paired_events(self, other: Self) -> list[tuple[Events, Events]]:
        none = empty_events(self.max_cost)
        sides = (self.block_events, other.block_events)
        pairs = block_pairs(self.alphabet, other.alphabet).tolist()
        return [(sides[0][i] if i >= 0 else none, sides[1][j] if j >= 0 else none) for i, j in pairs]

    def arrays(self) -> list[np.ndarray]:
        """All numbers that are kept of the space."""
        if self.blocks is not None:
            return list(self.blocks)
        if self.weighted_blocks is not None:
            return [array for part in self.weighted_blocks for array in part]
        return [array for events in self.block_events for array in events]

    def __repr__(self) -> str:
        return f"TypedFeatures({len(self.alphabet)} types, {self.attribute_rule}, robust={self.robust})"


def _with_weights(blocks: LevelBlocks, block: int) -> WeightedLevels:
    """One block of uniform levels, with the masses of its anchors."""
    start, levels, count = blocks.shape[block].tolist()
    numbers = blocks.numbers[start : start + levels * count].reshape(levels, count)
    return same_anchors(numbers, np.full(count, to_heights(blocks.mass[block])))


class VectorFeatures(AttributeFeatures):
    """The anchors of a space, each with a vector; see the module.

    Attributes
    ----------
    vector_levels : VectorLevels or None
        Levels with the anchor of every number, if all points weigh the same.
    vectors : ndarray of shape (anchors, size)
        Of every anchor, times its weight.
    """

    def __init__(
        self,
        vectors: Float64s,
        attribute_rule: AttributeRule,
        *,
        vector_levels: VectorLevels | None = None,
        events: Events | None = None,
        robust: bool = False,
    ) -> None:
        super().__init__(attribute_rule, events=events, robust=robust)
        self.vectors = vectors
        self.vector_levels = vector_levels

    @classmethod
    def of_space(cls, space: Space, attribute_rule: AttributeRule, *, robust: bool, threads: int) -> Self:
        """Features of a space that `attribute_rule` has looked at."""
        check_memory(space.n, 40, "features of")
        vectors = np.ascontiguousarray(space.weights[:, None] * attribute_rule.vectors(space))
        if not space.is_uniform:
            plain = AnchorFeatures.of(space, threads=threads)
            return cls(vectors, attribute_rule, events=plain.events, robust=robust)
        quantiles = kernels.quantiles(space.cost, threads).astype(np.float64, copy=False)
        order = np.argsort(quantiles, axis=1, kind="stable")
        levels = np.take_along_axis(quantiles, order, axis=1)
        found = VectorLevels(levels, order.astype(np.uint32), vectors)
        return cls(vectors, attribute_rule, vector_levels=found, robust=robust)

    @cached_property
    def events(self) -> Events:
        """Every jump of every anchor's CDF, by position; masses are those without vectors."""
        assert self.vector_levels is not None
        levels, anchor, _ = self.vector_levels
        position, order = kernels.argsort(levels.ravel(), threads=1)
        jump = level_heights(len(levels))[order // levels.shape[1]]
        return Events(position, anchor.ravel()[order], jump, uniform_weights(levels.shape[1]))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest cost, and max_cost."""
        first = self.events.position if self.vector_levels is None else self.vector_levels.levels[0]
        return float(first[0]), self.max_cost

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Anchor Energy with attributes between two features of the same attribute_rule."""
        y = self._checked(other, p)
        if self.vector_levels is None or y.vector_levels is None:
            return self.sweep_energy_to(other, p, threads=threads)
        return sum_energies(self.profile_to(other, np.array([self.max_cost]), threads=threads).tolist())

    def profile_to(
        self, other: AnchorFeatures, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
    ) -> Float64s:
        """Anchor Energy up to each of the ascending `max_costs`, none above that of the features."""
        assert power == ENERGY_POWER
        y = self._checked(other, 1)
        if self.vector_levels is not None and y.vector_levels is not None:
            return kernels.vector_profile(self.vector_levels, y.vector_levels, max_costs, threads)
        return self._sweep_profile_to(y, max_costs, power, threads)

    def _paired_events(self, other: Self) -> Iterable[tuple[Events, Events]]:
        return zip(self.coordinates(), other.coordinates(), strict=True)

    def coordinates(self) -> list[Events]:
        """Events with the masses of each coordinate, which sum to 0: what they lack stands at max_cost."""
        max_cost = self.max_cost
        return [
            complete_masses(self.events._replace(mass=np.ascontiguousarray(mass)), max_cost, 0.0)
            for mass in self.vectors.T
        ]

    def arrays(self) -> list[np.ndarray]:
        """All that is kept of the space."""
        return list(self.vector_levels) if self.vector_levels is not None else [*self.events, self.vectors]

    def __repr__(self) -> str:
        return f"VectorFeatures({len(self.vectors)} anchors, {self.attribute_rule}, robust={self.robust})"


def attribute_features(
    x: Any,
    attribute_rule: AttributeRule | None,
    *,
    robust: bool,
    threads: int = 1,
    name: str = "the space",
) -> AnchorFeatures:
    """Return x if it is features made so, else the features of the space or cost matrix x."""
    if isinstance(x, AnchorFeatures):
        if x.attribute_rule != attribute_rule:
            raise InputError(
                f"{name}: the features were made for {x.attribute_rule}, but {attribute_rule} is asked for"
            )
        return as_features(x, robust=robust)
    if attribute_rule is None:
        return as_features(x, robust=robust, threads=threads)
    space = attribute_rule.seen(x, robust=robust, name=name)
    if isinstance(space, Rows):
        if attribute_rule.attributes == "types":
            return TypedFeatures.of_typed_rows(space, attribute_rule, robust=robust, threads=threads)
        found = AnchorFeatures.of(space, threads=threads)
        found.robust, found.attribute_rule = robust, attribute_rule
        return found
    if attribute_rule.attributes == "types":
        return TypedFeatures.of_space(space, attribute_rule, robust=robust, threads=threads)
    if attribute_rule.attributes == "features":
        return VectorFeatures.of_space(space, attribute_rule, robust=robust, threads=threads)
    found = AnchorFeatures.of(space, threads=threads)
    found.robust, found.attribute_rule = robust, attribute_rule
    return found


def features_by(
    x: Any, attributes: AttributesLike, max_cost: float | None, *, robust: bool, mean_only: bool, threads: int
) -> AnchorFeatures:
    """Features of one space by its own attribute_rule, which those of others can be compared with."""
    if mean_only or max_cost is None or attributes == "features":
        raise InputError(
            "features with attributes or a max_cost need a max_cost, whole anchors (mean_only=False) and, of features, "
            f"a feature_map(...); but got attributes={attributes!r}, max_cost={max_cost!r}, mean_only={mean_only}"
        )
    return attribute_features(x, attribute_rule_of((x,), attributes, max_cost), robust=robust, threads=threads)


def settle_attributes(
    spaces: Iterable[Any], attributes: AttributesLike, max_cost: float | None, *, robust: bool = False, rng: RngLike = 0
) -> AttributeRule | None:
    """Return how to look at all of these spaces, some of which may be features already, which then decide."""
    at_hand = spaces if isinstance(spaces, list | tuple) else ()  # others may load each when it is asked for
    prepared = [x for x in at_hand if isinstance(x, AnchorFeatures)]
    if not prepared:
        return attribute_rule_of(spaces, attributes, max_cost, robust=robust, rng=rng)
    found = prepared[0].attribute_rule
    if attributes is None and max_cost is None:
        return found
    if (
        found is None
        or max_cost not in (None, found.max_cost)
        or attributes not in (None, found, found.attributes, found.phi)
    ):
        raise InputError(
            f"the features were made for {found}, but attributes={attributes!r}, max_cost={max_cost!r} is asked for"
        )
    return found


def cost_profile(
    x: AnchorFeatures, y: AnchorFeatures, max_costs: Float64s, power: int = ENERGY_POWER, *, threads: int = 1
) -> Float64s:
    """Anchor Energy (p = 1), or SAW_1, of costs up to each of the ascending `max_costs`, in one pass."""
    if isinstance(x, AttributeFeatures):
        return x.profile_to(y, max_costs, power, threads=threads)
    check_alike(x, y, 1)
    max_costs = np.minimum(max_costs, max(x.span[1], y.span[1]))  # beyond, F = G = 1 but for rounding
    if x.levels is None or y.levels is None:
        return kernels.sweep_profile(x.events, y.events, max_costs, power, threads)
    whole = np.zeros((1, 2), np.int64)
    return kernels.block_profile(_one_block(x.levels), _one_block(y.levels), whole, max_costs, power, threads)


def pair_profiles(
    x: AnchorFeatures, y: AnchorFeatures, max_costs: Float64s, alphabet: Alphabet, power: int = ENERGY_POWER
) -> Float64s:
    """The same of every two types of an alphabet, both ways round, (pairs, K)."""
    assert isinstance(x, AttributeFeatures)
    assert isinstance(y, type(x))
    check_alike(x, y, 1)
    found = np.zeros((len(alphabet), len(alphabet), len(max_costs)))
    place = {kind: k for k, kind in enumerate(alphabet)}
    for (c, b), curve in x.pair_curves(y, max_costs, power):
        found[place[c], place[b]] += curve
    upper = np.triu_indices(len(alphabet))
    return (found + found.transpose(1, 0, 2))[upper] / np.where(upper[0] == upper[1], 2, 1)[:, None]


def _one_block(levels: Floats) -> LevelBlocks:
    count, anchors = levels.shape
    numbers = np.ascontiguousarray(levels, dtype=np.float64).ravel()
    return LevelBlocks(numbers, np.array([[0, count, anchors]]), np.array([1 / anchors]))
