r"""Features of spaces whose points have types: every pair of types is a collection of anchors by itself.

Anchors of type c see points of type b. With s_b the mass of type b and Q_i^b the quantile function of anchor i's costs
to the points of type b, let F_cb(x, t) = s_b Σ_{i of type c} a_i [Q_i^b(t) <= x]. Marked Anchor Energy is

    Σ_cb 2 ∬_{x <= reach} (F_cb - G_cb)² dx dt ,

a squared L2 distance, with F_cb = 0 where a space lacks a type. The pieces have different masses, which is why the
reach must be the same for all: it is where what is missing would be.
"""

from collections.abc import Hashable, Iterable
from functools import cached_property, lru_cache
from typing import Self

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import Events, LevelBlocks, to_heights
from anchorot._typing import Float64s, Floats, Int64s
from anchorot._validate import check_memory
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.marked_base import MarkedFeatures, check_alike, completed, nothing, summed
from anchorot.anchors.marking import Marking
from anchorot.space import Space

Alphabet = tuple[Hashable, ...]


class TypedFeatures(MarkedFeatures):
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
        marking: Marking,
        *,
        blocks: LevelBlocks | None = None,
        events: tuple[Events, ...] | None = None,
        robust: bool = False,
    ) -> None:
        super().__init__(marking, robust=robust)
        self.alphabet = alphabet
        self.blocks = blocks
        if events is not None:
            self.block_events = events  # fills the cached property of that name

    @classmethod
    def of_space(cls, space: Space, marking: Marking, *, robust: bool, threads: int) -> Self:
        """Features of a space that `marking` has looked at."""
        check_memory(space.n, 24 if space.is_uniform else 56, "features of")
        assert space.types is not None
        alphabet = sorted_types(space.types)
        number = {kind: code for code, kind in enumerate(alphabet)}
        codes = np.array([number[kind] for kind in space.types])
        members = [np.flatnonzero(codes == code) for code in range(len(alphabet))]
        if space.is_uniform:
            return cls(alphabet, marking, blocks=_level_blocks(space, members, threads), robust=robust)
        made = tuple(_pair_events(space, c, b, marking.reach, threads) for c in members for b in members)
        return cls(alphabet, marking, events=made, robust=robust)

    @cached_property
    def block_events(self) -> tuple[Events, ...]:
        """Events of every pair of types; what a pair lacks of all mass stands at the reach, where it does no harm."""
        assert self.blocks is not None
        return tuple(_events_of_levels(self.blocks, k, self.reach) for k in range(len(self.blocks.mass)))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest cost, and the reach."""
        if self.blocks is not None:
            low = float(self.blocks.numbers.min())
        else:
            low = min(float(events.position[0]) for events in self.block_events)
        return low, self.reach

    def energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """Marked Anchor Energy between two features of the same marking."""
        y = self._checked(other, p)
        if self.blocks is None or y.blocks is None:
            return self.sweep_energy_to(other, p, threads=threads)
        pairs = block_pairs(self.alphabet, y.alphabet)
        return summed(kernels.block_energies(self.blocks, y.blocks, pairs, self.reach, threads).tolist())

    def sweep_energy_to(self, other: AnchorFeatures, p: int = 1, *, threads: int = 1) -> float:
        """The same by a sweep over the events of every pair of types."""
        y = self._checked(other, p)
        return summed(kernels.sweep_energy(*events, threads) for events in self._paired_events(y))

    def profile_to(self, other: AnchorFeatures, reaches: Float64s, *, threads: int = 1) -> Float64s:
        """Marked Anchor Energy up to each of the ascending reaches, none above that of the features."""
        y = self._checked(other, 1)
        if self.blocks is not None and y.blocks is not None:
            return kernels.block_profile(
                self.blocks, y.blocks, block_pairs(self.alphabet, y.alphabet), reaches, threads
            )
        return np.sum([kernels.sweep_profile(*events, reaches, threads) for events in self._paired_events(y)], axis=0)

    def _paired_events(self, other: "TypedFeatures") -> list[tuple[Events, Events]]:
        none = nothing(self.reach)
        sides = (self.block_events, other.block_events)
        pairs = block_pairs(self.alphabet, other.alphabet).tolist()
        return [(sides[0][i] if i >= 0 else none, sides[1][j] if j >= 0 else none) for i, j in pairs]

    def _checked(self, other: AnchorFeatures, p: int) -> "TypedFeatures":
        check_alike(self, other, p)
        assert isinstance(other, TypedFeatures)
        return other

    def arrays(self) -> list[np.ndarray]:
        """All numbers that are kept of the space."""
        if self.blocks is not None:
            return list(self.blocks)
        return [array for events in self.block_events for array in events]

    def __repr__(self) -> str:
        return f"TypedFeatures({len(self.alphabet)} types, {self.marking}, robust={self.robust})"


@lru_cache(maxsize=4096)
def block_pairs(x: Alphabet, y: Alphabet) -> Int64s:
    """Blocks of two alphabets that are of the same pair of types; -1 where one of them has no such block."""
    if x == y:
        return np.repeat(np.arange(len(x) ** 2)[:, None], 2, axis=1)
    place_x, place_y = ({kind: k for k, kind in enumerate(side)} for side in (x, y))
    both = sorted_types((*x, *y))

    def block(place: dict[Hashable, int], size: int, c: Hashable, b: Hashable) -> int:
        return place[c] * size + place[b] if c in place and b in place else -1

    found = [(block(place_x, len(x), c, b), block(place_y, len(y), c, b)) for c in both for b in both]
    return np.array([pair for pair in found if pair != (-1, -1)], dtype=np.int64).reshape(-1, 2)


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
        rows = _chosen(space.cost, anchors, 0)
        for targets in members:
            part = _chosen(rows, targets, 1).astype(np.float64, copy=False)
            levels = numbers[start : start + part.size].reshape(part.shape[::-1])
            kernels.sort_rows(kernels.quantiles(part, threads, levels), threads)
            shape.append((start, *levels.shape))
            start += part.size
    shapes = np.array(shape, np.int64)
    return LevelBlocks(numbers, shapes, shapes[:, 1] / space.n / space.n)


def _chosen(costs: Floats, places: Int64s, axis: int) -> Floats:
    """Rows or columns of costs; `take` needs a third of the time of an index, and all of them need no copy."""
    return costs if len(places) == costs.shape[axis] else costs.take(places, axis=axis)


def _pair_events(space: Space, anchors: Int64s, targets: Int64s, reach: float, threads: int) -> Events:
    seen = space.weights[targets]
    values = space.cost[np.ix_(anchors, targets)].astype(np.float64, copy=False).ravel()
    position, order = kernels.argsort(values, threads)
    row = order // len(targets)
    jump = to_heights(seen / seen.sum())[order - row * len(targets)]
    return completed(Events(position, row.astype(np.uint32), jump, space.weights[anchors] * seen.sum()), reach)


def _events_of_levels(blocks: LevelBlocks, block: int, reach: float) -> Events:
    start, levels, count = blocks.shape[block]
    position, order = kernels.argsort(blocks.numbers[start : start + levels * count], threads=1)
    jump = np.broadcast_to(to_heights(np.array(1 / levels)), order.shape).copy()
    mass = np.full(count, blocks.mass[block])
    return completed(Events(position, (order % count).astype(np.uint32), jump, mass), reach)
