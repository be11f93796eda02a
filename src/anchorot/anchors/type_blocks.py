"""Blocks of the costs of a space by types: the anchors of one type, and the points of another that they see."""

import math
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.records import Events, LevelBlocks, WeightedLevels, level_heights, to_heights, whole_heights
from anchorot._typing import Floats, Int64s
from anchorot.rows import Rows
from anchorot.space import Space

Alphabet = tuple[Hashable, ...]
NO_LEVELS = WeightedLevels(np.empty((1, 0)), np.empty((1, 0), np.uint32), np.empty(0, np.int64))


def complete_masses(events: Events, max_cost: float, total: float = 1.0) -> Events:
    """Add a row at max_cost with what the masses lack of a total, so that those of any two collections agree."""
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


def members_of(kinds: Iterable[Hashable], alphabet: Alphabet) -> list[Int64s]:
    """Where each type of the alphabet occurs."""
    number = {kind: code for code, kind in enumerate(alphabet)}
    codes = np.array([number[kind] for kind in kinds])
    return [np.flatnonzero(codes == code) for code in range(len(alphabet))]


def level_blocks(
    costs: Floats, points: list[Int64s], columns: list[Int64s], shares: list[float], threads: int
) -> LevelBlocks:
    """Levels of the anchors of each type to the columns of each; `shares` are the masses of a number of those."""
    numbers = np.empty(costs.size)
    shape: list[tuple[int, ...]] = []
    start = 0
    for anchors in points:
        rows = _take(costs, anchors, 0)
        for targets in columns:
            part = _take(rows, targets, 1).astype(np.float64, copy=False)
            if not part.size:  # one level without numbers
                shape.append((start, 1, 0))
                continue
            levels = numbers[start : start + part.size].reshape(part.shape[::-1])
            kernels.sort_rows(kernels.quantiles(part, threads, levels), threads)
            shape.append((start, *levels.shape))
            start += part.size
    return LevelBlocks(numbers, np.array(shape, np.int64), np.array(shares * len(points)))


def weighted_levels(rows: Rows, anchors: Int64s, targets: Int64s, threads: int) -> WeightedLevels:
    """Levels of the anchors of one type to the columns of another, masses in proportion to the number of columns."""
    part = np.ascontiguousarray(rows.values[np.ix_(anchors, targets)], dtype=np.float64)
    if not part.size:
        return NO_LEVELS
    quantiles = kernels.quantiles(part, threads).astype(np.float64, copy=False)
    order = np.argsort(quantiles, axis=1, kind="stable")
    heights = to_heights(rows.weights[anchors] * (len(targets) / rows.k))
    return WeightedLevels(np.take_along_axis(quantiles, order, axis=1), order.astype(np.uint32), heights)


def _take(costs: Floats, places: Int64s, axis: int) -> Floats:
    """Rows or columns of costs; `take` needs a third of the time of an index, and all of them need no copy."""
    return costs if len(places) == costs.shape[axis] else costs.take(places, axis=axis)


def pair_events(space: Space, anchors: Int64s, targets: Int64s, max_cost: float, threads: int) -> Events:
    """Events of the anchors of one type, as they see points of another."""
    seen = space.weights[targets]
    values = space.cost[np.ix_(anchors, targets)].astype(np.float64, copy=False).ravel()
    position, order = kernels.argsort(values, threads)
    row = order // len(targets)
    jump = whole_heights(seen / seen.sum())[order - row * len(targets)]
    return complete_masses(Events(position, row.astype(np.uint32), jump, space.weights[anchors] * seen.sum()), max_cost)


def events_of_block(blocks: LevelBlocks, block: int, max_cost: float) -> Events:
    """Events of one block of levels."""
    start, levels, count = blocks.shape[block]
    position, order = kernels.argsort(blocks.numbers[start : start + levels * count], threads=1)
    jump = level_heights(levels)[order // count]
    mass = np.full(count, blocks.mass[block])
    return complete_masses(Events(position, (order % count).astype(np.uint32), jump, mass), max_cost)
