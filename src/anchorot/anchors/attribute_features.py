r"""Features of spaces whose points are told apart by more than their costs: by types, by vectors, or by a reach alone.

**Types.** Anchors of type c see points of type b. With s_b the mass of type b and Q_i^b the quantile function of anchor
i's costs to the points of type b, let F_cb(x, t) = s_b Σ_{i of type c} a_i [Q_i^b(t) <= x]. Marked Anchor Energy is

    Σ_cb 2 ∬_{x <= reach} (F_cb - G_cb)² dx dt ,

a squared L2 distance, with F_cb = 0 where a space lacks a type. The pieces have different masses, which is why the
reach must be the same for all: it is where what is missing would be.

**Vectors.** With phi(i) the vector of point i (a feature map), F(x, t) = Σ_i a_i phi(i) [Q_i(t) <= x] is vector-valued,
and marked Anchor Energy is 2 ∬_{x <= reach} |F - G|² dx dt: the squared distance of the kernel
<phi, phi'> ∫ (reach - max(Q(t), Q'(t))) dt, which couples what a point is with what it sees.
"""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NoReturn, Self

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import (
    Events,
    GridSpec,
    LevelBlocks,
    VectorLevels,
    level_heights,
    to_heights,
    whole_heights,
)
from anchorot._typing import Float64s, Floats, Int64s, RngLike
from anchorot._validate import check_memory, check_overflow, uniform_weights
from anchorot.anchors.attributes import AttributeRule, AttributesLike, Outline, attribute_rule_of, types_of
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.exceptions import InputError
from anchorot.space import Space, as_space, heavy_part


class AttributeFeatures(AnchorFeatures):
    """Features of anchors that are told apart by more than their costs."""

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
        """Marked Anchor Energy by a sweep over the events of every part: a pair of types, or a coordinate."""
        pairs = self._paired_events(self._checked(other, p))
        return sum_energies(kernels.sweep_energy(*events, threads) for events in pairs)

    def _sweep_profile_to(self, other: Self, max_costs: Float64s, threads: int) -> Float64s:
        pairs = self._paired_events(other)
        return np.sum([kernels.sweep_profile(*events, max_costs, threads) for events in pairs], axis=0)

    def self_cost(self, p: int = 1) -> NoReturn:
        """Refused: marked Anchor Energy is not made of transport costs."""
        raise InputError("attributes have no transport costs of their own; anchor_energy takes them")


def check_alike(x: AnchorFeatures, y: AnchorFeatures, p: int) -> None:
    """Refuse features that were not made to be compared with each other."""
    if p != 1:
        raise InputError(f"attributes and max_cost go with p=1, but got p={p}")
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


def complete_masses(events: Events, max_cost: float, total: float = 1.0) -> Events:
    """Add a row at the reach with what the masses lack of a total, so that those of any two collections agree."""
    rest = total - math.fsum(events.mass)
    return Events(
        np.append(events.position, max_cost),
        np.append(events.row, np.uint32(len(events.mass))),
        np.append(events.jump, to_heights(np.array(1.0))),
        np.append(events.mass, rest),
    )


def empty_events(max_cost: float) -> Events:
    """Events of a collection without anchors."""
    empty: Any = np.empty(0)
    return complete_masses(Events(empty, empty.astype(np.uint32), empty.astype(np.int64), empty), max_cost)


Alphabet = tuple[Hashable, ...]


class TypedFeatures(AttributeFeatures):
    """The anchors of a space by their types and by the types of what they see; see the module.

    Attributes
    ----------
    alphabet : tuple
        The K types that occur, in a fixed order. Pair c, b of them is block c K + b.
    blocks : LevelBlocks or None
        Levels of every pair, if all points weigh the same.
    """

    def __init__(
        self,
        alphabet: Alphabet,
        attribute_rule: AttributeRule,
        *,
        blocks: LevelBlocks | None = None,
        events: tuple[Events, ...] | None = None,
        robust: bool = False,
    ) -> None:
        super().__init__(attribute_rule, robust=robust)
        self.alphabet = alphabet
        self.blocks = blocks
        if events is not None:
            self.block_events = events  # fills the cached property of that name

    @classmethod
    def of_space(cls, space: Space, attribute_rule: AttributeRule, *, robust: bool, threads: int) -> Self:
        """Features of a space that `attribute_rule` has looked at."""
        check_memory(space.n, 24 if space.is_uniform else 56, "features of")
        assert space.types is not None
        alphabet = sorted_types(space.types)
        number = {kind: code for code, kind in enumerate(alphabet)}
        codes = np.array([number[kind] for kind in space.types])
        members = [np.flatnonzero(codes == code) for code in range(len(alphabet))]
        if space.is_uniform:
            return cls(alphabet, attribute_rule, blocks=_level_blocks(space, members, threads), robust=robust)
        made = tuple(_pair_events(space, c, b, attribute_rule.max_cost, threads) for c in members for b in members)
        return cls(alphabet, attribute_rule, events=made, robust=robust)

    @cached_property
    def block_events(self) -> tuple[Events, ...]:
        """Events of every pair of types; what a pair lacks of all mass stands at the reach, where it does no harm."""
        assert self.blocks is not None
        return tuple(_events_of_levels(self.blocks, k, self.max_cost) for k in range(len(self.blocks.mass)))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest cost, and the reach."""
        if self.blocks is not None:
            low = float(self.blocks.numbers.min())
        else:
            low = min(float(events.position[0]) for events in self.block_events)
        return low, self.max_cost

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Marked Anchor Energy between two features of the same attribute_rule."""
        y = self._checked(other, p)
        if self.blocks is None or y.blocks is None:
            return self.sweep_energy_to(other, p, threads=threads)
        pairs = block_pairs(self.alphabet, y.alphabet)
        return sum_energies(kernels.block_energies(self.blocks, y.blocks, pairs, self.max_cost, threads).tolist())

    def profile_to(self, other: AnchorFeatures, max_costs: Float64s, *, threads: int = 1) -> Float64s:
        """Marked Anchor Energy up to each of the ascending reaches, none above that of the features."""
        y = self._checked(other, 1)
        if self.blocks is None or y.blocks is None:
            return self._sweep_profile_to(y, max_costs, threads)
        return kernels.block_profile(self.blocks, y.blocks, block_pairs(self.alphabet, y.alphabet), max_costs, threads)

    def _paired_events(self, other: Self) -> list[tuple[Events, Events]]:
        none = empty_events(self.max_cost)
        sides = (self.block_events, other.block_events)
        pairs = block_pairs(self.alphabet, other.alphabet).tolist()
        return [(sides[0][i] if i >= 0 else none, sides[1][j] if j >= 0 else none) for i, j in pairs]

    def arrays(self) -> list[np.ndarray]:
        """All numbers that are kept of the space."""
        if self.blocks is not None:
            return list(self.blocks)
        return [array for events in self.block_events for array in events]

    def __repr__(self) -> str:
        return f"TypedFeatures({len(self.alphabet)} types, {self.attribute_rule}, robust={self.robust})"


@lru_cache(maxsize=4096)
def block_pairs(x: Alphabet, y: Alphabet) -> Int64s:
    """Blocks of two alphabets that are of the same pair of types; -1 where one of them has no such block.

    Pairs stand in the order of `shared_pairs`.
    """
    if x == y:
        return np.repeat(np.arange(len(x) ** 2)[:, None], 2, axis=1)
    place_x, place_y = ({kind: k for k, kind in enumerate(side)} for side in (x, y))

    def block(place: dict[Hashable, int], size: int, c: Hashable, b: Hashable) -> int:
        return place[c] * size + place[b] if c in place and b in place else -1

    found = [(block(place_x, len(x), c, b), block(place_y, len(y), c, b)) for c, b in shared_pairs(x, y)]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=4096)
def shared_pairs(x: Alphabet, y: Alphabet) -> list[tuple[Hashable, Hashable]]:
    """Pairs of types, both of which one of two alphabets has."""
    both = sorted_types((*x, *y))
    return [(c, b) for c in both for b in both if {c, b} <= set(x) or {c, b} <= set(y)]


def sorted_types(types: Iterable[Hashable]) -> Alphabet:
    """Return the types that occur, in an order that is the same everywhere."""
    return tuple(sorted(set(types), key=_place))


def _place(kind: Hashable) -> tuple[str, str]:
    """What types are sorted by: any two of them, of any kind, in the same order everywhere."""
    return type(kind).__name__, repr(kind)


def _level_blocks(space: Space, members: list[Int64s], threads: int) -> LevelBlocks:
    numbers = np.empty(space.n**2)
    shape = []
    start = 0
    for anchors in members:
        rows = _take(space.cost, anchors, 0)
        for targets in members:
            part = _take(rows, targets, 1).astype(np.float64, copy=False)
            levels = numbers[start : start + part.size].reshape(part.shape[::-1])
            kernels.sort_rows(kernels.quantiles(part, threads, levels), threads)
            shape.append((start, *levels.shape))
            start += part.size
    shapes = np.array(shape, np.int64)
    return LevelBlocks(numbers, shapes, shapes[:, 1] / space.n / space.n)


def _take(costs: Floats, places: Int64s, axis: int) -> Floats:
    """Rows or columns of costs; `take` needs a third of the time of an index, and all of them need no copy."""
    return costs if len(places) == costs.shape[axis] else costs.take(places, axis=axis)


def _pair_events(space: Space, anchors: Int64s, targets: Int64s, max_cost: float, threads: int) -> Events:
    seen = space.weights[targets]
    values = space.cost[np.ix_(anchors, targets)].astype(np.float64, copy=False).ravel()
    position, order = kernels.argsort(values, threads)
    row = order // len(targets)
    jump = whole_heights(seen / seen.sum())[order - row * len(targets)]
    return complete_masses(Events(position, row.astype(np.uint32), jump, space.weights[anchors] * seen.sum()), max_cost)


def _events_of_levels(blocks: LevelBlocks, block: int, max_cost: float) -> Events:
    start, levels, count = blocks.shape[block]
    position, order = kernels.argsort(blocks.numbers[start : start + levels * count], threads=1)
    jump = level_heights(levels)[order // count]
    mass = np.full(count, blocks.mass[block])
    return complete_masses(Events(position, (order % count).astype(np.uint32), jump, mass), max_cost)


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
        """The smallest cost, and the reach."""
        first = self.events.position if self.vector_levels is None else self.vector_levels.levels[0]
        return float(first[0]), self.max_cost

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Marked Anchor Energy between two features of the same attribute_rule."""
        y = self._checked(other, p)
        if self.vector_levels is None or y.vector_levels is None:
            return self.sweep_energy_to(other, p, threads=threads)
        return sum_energies(self.profile_to(other, np.array([self.max_cost]), threads=threads).tolist())

    def profile_to(self, other: AnchorFeatures, max_costs: Float64s, *, threads: int = 1) -> Float64s:
        """Marked Anchor Energy up to each of the ascending reaches, none above that of the features."""
        y = self._checked(other, 1)
        if self.vector_levels is not None and y.vector_levels is not None:
            return kernels.vector_profile(self.vector_levels, y.vector_levels, max_costs, threads)
        return self._sweep_profile_to(y, max_costs, threads)

    def _paired_events(self, other: Self) -> Iterable[tuple[Events, Events]]:
        return zip(self.coordinates(), other.coordinates(), strict=True)

    def coordinates(self) -> list[Events]:
        """Events with the masses of each coordinate, which sum to 0: what they lack stands at the reach."""
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
    if attribute_rule.attributes == "types":
        return TypedFeatures.of_space(space, attribute_rule, robust=robust, threads=threads)
    if attribute_rule.attributes == "features":
        return VectorFeatures.of_space(space, attribute_rule, robust=robust, threads=threads)
    found = AnchorFeatures.of(space, threads=threads)
    found.robust, found.attribute_rule = robust, attribute_rule
    return found


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


def energy_profile(x: AnchorFeatures, y: AnchorFeatures, max_costs: Float64s, *, threads: int = 1) -> Float64s:
    """Anchor Energy (p = 1) of costs up to each of the ascending reaches, in one pass."""
    if isinstance(x, TypedFeatures | VectorFeatures):
        return x.profile_to(y, max_costs, threads=threads)
    check_alike(x, y, 1)
    if x.levels is None or y.levels is None:
        return kernels.sweep_profile(x.events, y.events, max_costs, threads)
    whole = np.zeros((1, 2), np.int64)
    return kernels.block_profile(_one_block(x.levels), _one_block(y.levels), whole, max_costs, threads)


def pair_profiles(x: AnchorFeatures, y: AnchorFeatures, max_costs: Float64s, alphabet: Alphabet) -> Float64s:
    """Marked Anchor Energy up to each reach of every two types of an alphabet, both ways round, (pairs, K)."""
    assert isinstance(x, TypedFeatures)
    assert isinstance(y, TypedFeatures)
    check_alike(x, y, 1)
    found = np.zeros((len(alphabet), len(alphabet), len(max_costs)))
    place = {kind: k for k, kind in enumerate(alphabet)}
    if x.blocks is None or y.blocks is None:
        curves = [kernels.sweep_profile(*events, max_costs, 1) for events in x._paired_events(y)]
    else:
        curves = [
            kernels.block_profile(x.blocks, y.blocks, pair[None], max_costs, 1)
            for pair in block_pairs(x.alphabet, y.alphabet)
        ]
    for (c, b), curve in zip(shared_pairs(x.alphabet, y.alphabet), curves, strict=True):
        found[place[c], place[b]] += curve
    upper = np.triu_indices(len(alphabet))
    return (found + found.transpose(1, 0, 2))[upper] / np.where(upper[0] == upper[1], 2, 1)[:, None]


def _one_block(levels: Floats) -> LevelBlocks:
    count, anchors = levels.shape
    numbers = np.ascontiguousarray(levels, dtype=np.float64).ravel()
    return LevelBlocks(numbers, np.array([[0, count, anchors]]), np.array([1 / anchors]))


@dataclass(frozen=True)
class Parts:
    """Which parts of F there are: one, one for every pair of types, or one for every coordinate of a map."""

    count: int
    alphabet: Alphabet = ()


def parts_of(spaces: Iterable[Any], attribute_rule: AttributeRule | None) -> Parts:
    """Return the parts that all these spaces have together; going through them if they have types."""
    if attribute_rule is None or attribute_rule.attributes is None:
        return Parts(1)
    if attribute_rule.phi is not None:
        return Parts(attribute_rule.phi.size)
    alphabet = sorted_types(kind for k, x in enumerate(spaces) for kind in _types(x, f"spaces[{k}]"))
    return Parts(len(alphabet) ** 2, alphabet)


def _types(x: Any, name: str) -> Alphabet:
    if isinstance(x, TypedFeatures):
        return x.alphabet
    return types_of(x if isinstance(x, Outline) else heavy_part(as_space(x)), name)


def part_averages(features: AnchorFeatures, grid: GridSpec, parts: Parts) -> Float64s:
    """Averages of all parts over the cells, one after the other. Types that are no part are left out."""
    if isinstance(features, TypedFeatures):
        return _typed_averages(features, grid, parts)
    if isinstance(features, VectorFeatures):
        return np.concatenate([kernels.event_averages(part, grid).ravel() for part in features.coordinates()])
    return plain_averages(features, grid).ravel()


def plain_averages(features: AnchorFeatures, grid: GridSpec) -> Float64s:
    """Averages over the cells of the F of all anchors alike, (cells_x, cells_t)."""
    if features.levels is not None:
        return kernels.level_averages(features.levels, grid)
    return kernels.event_averages(features.events, grid)


def _typed_averages(features: TypedFeatures, grid: GridSpec, parts: Parts) -> Float64s:
    out = np.zeros((parts.count, grid.cells_x * grid.cells_t))
    for own, part in block_pairs(features.alphabet, parts.alphabet).tolist():
        if own < 0 or part < 0:
            continue
        if features.blocks is None:
            out[part] = kernels.event_averages(features.block_events[own], grid).ravel()
        else:
            start, levels, count = features.blocks.shape[own].tolist()
            numbers = features.blocks.numbers[start : start + levels * count].reshape(levels, count)
            out[part] = features.blocks.mass[own] * count * kernels.level_averages(numbers, grid).ravel()
    return out.ravel()
