"""Marked Anchor Energy from sorted levels, in NumPy: numbers with masses, or with vectors, merged level by level."""

from collections.abc import Iterator

import numpy as np

from anchorot._kernels.levels import common_segments
from anchorot._kernels.records import LevelBlocks, VectorLevels
from anchorot._typing import Float64s, Int64s

BLOCK_NUMBERS = 1 << 18  # merged at a time: a few MB of temporary arrays


def block_energies(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, reach: float, threads: int) -> Float64s:
    """Energy of every pair of blocks up to the reach."""
    return np.array([_pair_profile(x, y, pair, np.array([reach]))[0] for pair in pairs])


def block_profile(x: LevelBlocks, y: LevelBlocks, pairs: Int64s, reaches: Float64s, threads: int) -> Float64s:
    """Energy of all pairs of blocks together up to each reach."""
    return np.sum([_pair_profile(x, y, pair, reaches) for pair in pairs], axis=0)


def vector_profile(x: VectorLevels, y: VectorLevels, reaches: Float64s, threads: int) -> Float64s:
    """Energy of two collections of vectors up to each reach."""
    vectors = np.concatenate([x.vectors, -y.vectors])
    total = np.zeros(len(reaches))
    at_x, at_y, width = common_segments(len(x.levels), len(y.levels))
    for block in _blocks(len(width), x.levels.shape[1] + y.levels.shape[1], x.vectors.shape[1]):
        merged = np.concatenate([x.levels[at_x[block]], y.levels[at_y[block]]], axis=1)
        anchor = np.concatenate([x.anchor[at_x[block]], y.anchor[at_y[block]] + np.uint32(len(x.vectors))], axis=1)
        order = np.argsort(merged, axis=1, kind="stable")
        d = np.cumsum(vectors[np.take_along_axis(anchor, order, axis=1)], axis=1)
        places = np.take_along_axis(merged, order, axis=1)
        total += _up_to(reaches, places, np.einsum("ijk,ijk->ij", d, d), width[block])
    return total


def _pair_profile(x: LevelBlocks, y: LevelBlocks, pair: Int64s, reaches: Float64s) -> Float64s:
    (levels_x, mass_x), (levels_y, mass_y) = _block(x, pair[0]), _block(y, pair[1])
    n, m = levels_x.shape[1], levels_y.shape[1]
    total = np.zeros(len(reaches))
    at_x, at_y, width = common_segments(len(levels_x), len(levels_y))
    for block in _blocks(len(width), n + m, 1):
        merged = np.concatenate([levels_x[at_x[block]], levels_y[at_y[block]]], axis=1)
        order = np.argsort(merged, axis=1, kind="stable")
        taken_x = np.cumsum(order < n, axis=1)
        d = taken_x * mass_x - (np.arange(1, n + m + 1) - taken_x) * mass_y
        total += _up_to(reaches, np.take_along_axis(merged, order, axis=1), d * d, width[block])
    return total


def _block(blocks: LevelBlocks, index: int) -> tuple[Float64s, float]:
    """Levels of a block, and the mass of each of its numbers; -1 is one level without numbers."""
    if index < 0:
        return np.empty((1, 0)), 0.0
    start, levels, count = blocks.shape[index]
    return blocks.numbers[start : start + levels * count].reshape(levels, count), float(blocks.mass[index])


@np.errstate(over="ignore", invalid="ignore")  # as in C++, what overflows is infinite or NaN; callers refuse it
def _up_to(reaches: Float64s, places: Float64s, squares: Float64s, width: Float64s) -> Float64s:
    """Twice the integrals up to each reach: after places[s, k] the integrand is squares[s, k], up to the next place."""
    if places.shape[1] == 0:
        return np.zeros(len(reaches))
    found = []
    for reach in reaches:
        ends = np.minimum(np.append(places[:, 1:], np.full((len(places), 1), reach), axis=1), reach)
        found.append(2 * float(width @ np.sum(np.maximum(ends - places, 0) * squares, axis=1)))
    return np.array(found)


def _blocks(count: int, length: int, size: int) -> Iterator[slice]:
    step = max(1, BLOCK_NUMBERS // max(1, length * size))
    return (slice(start, start + step) for start in range(0, count, step))
