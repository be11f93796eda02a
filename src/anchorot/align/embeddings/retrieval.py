"""Which points of one side lie near those of the other, corrected for hubs; and a map that grows from known pairs.

In many dimensions some points, the hubs, are near to nearly everything. Cross-domain similarity local scaling (CSLS;
Lample et al. 2018) takes from each point what it has in common with its nearest points of the other side: with points
at length 1, cosine(x, y) - r(y) / 2, r(y) the mean cosine of y to its 10 nearest. In squared distances that is
distance² - r(y) / 2, where r(y) is the mean of them.
"""

from __future__ import annotations

import numpy as np

from anchorot._progress import Advance
from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.embeddings.candidates import Map
from anchorot.align.embeddings.pairs import BLOCK_NUMBERS, DENSE_POINTS, nearest
from anchorot.align.embeddings.refine import MAX_CHANGE
from anchorot.align.embeddings.sides import Sides, at_length_one

NEIGHBOURS = 10  # as in CSLS
ROUNDS, LAST_ROUNDS = 20, 8  # of dictionary and rotation; and with all directions alike
MIN_MOMENT = 1e-6  # of the largest: below, pairs say nothing


def crowding(points: Floats, among: Floats, device: str | None) -> Float64s:
    """Mean squared distance of every point to its nearest of the other side."""
    found: Float64s = nearest(points, among, NEIGHBOURS, device)[1].mean(axis=1)
    return found


def ranked(points: Floats, others: Floats, around: Float64s, k: int) -> Int64s:
    """(n, k): the others to which every point is nearest by CSLS, the nearest first; `around` is their crowding."""
    k = min(k, len(others))
    found = np.empty((len(points), k), np.int64)
    size = np.square(others).sum(axis=1) - around / 2
    step = max(1, BLOCK_NUMBERS // len(others))
    for start in range(0, len(points), step):
        costs = points[start : start + step] @ others.T
        costs *= -2
        costs += size
        near = np.argpartition(costs, k - 1, axis=1)[:, :k] if k < len(others) else np.argsort(costs, axis=1)
        order = np.argsort(np.take_along_axis(costs, near, axis=1), axis=1, kind="stable")
        found[start : start + step] = np.take_along_axis(near, order, axis=1)
    return found


def map_of_pairs(sides: Sides, known: Int64s, rng: np.random.Generator, device: str | None, advance: Advance) -> Map:
    """A rotation of known pairs, refined by what is near after it, both ways, in turns.

    Few pairs say much about a few directions and nothing about the others. So directions first count as much as the
    pairs agree in them, which is a growing share of them, and alike only at the end.
    """
    part, pairs = _part_with(sides, known, rng)
    x, y = (at_length_one(side.points) for side in (part.x, part.y))
    own = np.flatnonzero(pairs >= 0)
    first, second, before = own, pairs[own], np.full(len(x), -1)
    for power, rounds in ((1.0, ROUNDS), (0.0, LAST_ROUNDS)):
        for _ in range(rounds):
            moved, others = _directions_of_pairs(x, y, first, second, power)
            ahead = ranked(moved, others, crowding(others, moved, device), 1)[:, 0]
            back = ranked(others, moved, crowding(moved, others, device), 1)[:, 0]
            first = np.concatenate([np.arange(len(x)), back, own])
            second = np.concatenate([ahead, np.arange(len(y)), pairs[own]])
            has_settled = np.mean(ahead != before) <= MAX_CHANGE
            before = ahead
            advance(1)
            if has_settled:
                break
    return Map.of_matches(part.x.points[first], part.y.points, second)


def _directions_of_pairs(x: Floats, y: Floats, first: Int64s, second: Int64s, power: float) -> tuple[Floats, Floats]:
    """Points in the common directions of pairs, weighed by a power of the pairs' moments there; at length 1."""
    left, moments, right = np.linalg.svd(x[first].T @ y[second], full_matrices=False)
    known = moments > MIN_MOMENT * moments[0]
    weights = (moments[known] / moments[0]) ** (power / 2)
    return at_length_one(x @ (left[:, known] * weights)), at_length_one(y @ (right[known].T * weights))


def _part_with(sides: Sides, known: Int64s, rng: np.random.Generator) -> tuple[Sides, Int64s]:
    """At most `DENSE_POINTS` points of each side, those that are known among them, and the known matches there."""
    if sides.n_points <= DENSE_POINTS:
        return sides, known
    own = np.flatnonzero(known >= 0)
    first, second = (
        np.unique(np.concatenate([pinned, side.draw(DENSE_POINTS, rng)]))
        for pinned, side in ((own, sides.x), (known[own], sides.y))
    )
    pairs = np.full(len(first), -1)
    pairs[np.searchsorted(first, own)] = np.searchsorted(second, known[own])
    return Sides(sides.rows, sides.x.at(first), sides.y.at(second)), pairs
