"""From a map to one of all points: rounds of assignment and rotation, without points that have no partner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anchorot._progress import Advance, no_progress
from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.embeddings.candidates import LARGE_SAMPLE, MIN_VARIANCE, ROUNDING, Map, Side
from anchorot.align.embeddings.pairs import DENSE_POINTS, DensePairs, SparsePairs, nearest, pairs_of

ROUNDS, LARGE_ROUNDS = 8, 2  # of rotation and assignment on all points; where they are many
WEIGHED_ROUNDS = 4  # with directions weighed, after those
MAX_CHANGE = 1e-3  # share of the points with another match than before: rounds end
TRIMS, LARGE_TRIMS = 10, 3  # rounds of mutually nearest points
NOISE_FLOOR = 0.05  # of the mean noise of a direction, added to each
MIN_GROUPED = 8  # residuals, to look for two groups of them
MIN_LOG_RATIO = np.log(16)  # between the two groups
MIN_GAP = 5.0  # deviations within groups, between the means of two groups of log residuals


class Finished(NamedTuple):
    """A map fitted to all points, and their matches."""

    map: Map
    pairs: DensePairs | SparsePairs  # with directions weighed
    matches: Int64s
    residuals: Float64s  # (n,): what `pairs` has at the match, infinite without one
    objective: float  # mean squared distance of matched points, directions not weighed
    converged: bool


def finish(
    x: Side, y: Side, found: Map, device: str | None, rng: np.random.Generator, advance: Advance = no_progress
) -> Finished:
    """Rounds of assignment and rotation on all points, until matches stay; then what does not fit is left out.

    The last rounds weigh the common directions by how little is left in each: what the two sides agree on counts most.
    """
    rounds = ROUNDS
    if max(len(x.points), len(y.points)) > DENSE_POINTS:
        some = [side.points[side.draw(LARGE_SAMPLE, rng)] for side in (x, y)]
        found, rounds = _fit_and_assign(some[0], some[1], found, ROUNDS, device, advance).map, LARGE_ROUNDS
    whole = _fit_and_assign(x.points, y.points, found, rounds, device, advance)
    trimmed, cut = _trim(x.points, y.points, whole.map, device)
    if cut < np.inf:
        return _fit_and_assign(x.points, y.points, trimmed, rounds, device, advance, cut)
    return _fit_and_assign(
        x.points, y.points, whole.map, min(rounds, WEIGHED_ROUNDS), device, advance, weigh=whole.matches
    )


def _trim(x: Floats, y: Floats, found: Map, device: str | None) -> tuple[Map, float]:
    """A map fitted to the nearer half of the points that are each other's nearest; and where residuals fall apart.

    An assignment gives every point a match, and pulls the map towards those that have no partner.
    """
    size: Float64s = np.empty(0)
    for _ in range(TRIMS if max(len(x), len(y)) <= DENSE_POINTS else LARGE_TRIMS):
        moved, others = found.map_first(x), found.map_second(y)
        near, distances = nearest(moved, others, 1, device)
        ahead, size = near[:, 0], distances[:, 0]
        back = nearest(others, moved, 1, device)[0][:, 0]
        mutual = np.flatnonzero(back[ahead] == np.arange(len(x)))
        if len(mutual) < MIN_GROUPED:
            break
        kept = mutual[size[mutual] <= np.median(size[mutual])]
        matches = np.full(len(x), -1)
        matches[kept] = ahead[kept]
        found = Map.of_matches(x, y, matches)
    return found, cut_between(size)


def _fit_and_assign(
    x: Floats,
    y: Floats,
    found: Map,
    most: int,
    device: str | None,
    advance: Advance,
    cut: float = np.inf,
    weigh: Int64s | None = None,
) -> Finished:
    """Assign points and fit the map to matches, in turns, until matches stay; with `weigh` also weigh directions."""
    matches = np.full(len(x), -1) if weigh is None else weigh
    for _ in range(most):
        moved, others = found.map_first(x), found.map_second(y)
        if weigh is not None:
            weights = direction_weights(moved, others, matches)
            moved, others = moved @ weights, others @ weights
        pairs = pairs_of(moved, others, device)
        before, matches = matches, pairs.assign(cut)
        advance(1)
        has_settled = bool(np.mean(before != matches) <= MAX_CHANGE)
        if has_settled or not (matches >= 0).any():
            break
        found = Map.of_matches(x, y, matches)
    own = matches >= 0
    left = np.square(found.map_first(x[own]) - found.map_second(y[matches[own]])).sum(axis=1)
    return Finished(found, pairs, matches, pairs.at(matches), float(left.mean()) if own.any() else 0.0, has_settled)


def direction_weights(moved: Floats, others: Floats, matches: Int64s) -> Floats:
    """(k, k): makes what is left at matches equal in all directions, on the whole as large as before."""
    own = matches >= 0
    left = moved[own] - others[matches[own]]
    values, vectors = np.linalg.eigh(left.T @ left / len(left))
    values = np.maximum(values, 0) + NOISE_FLOOR * max(float(values.mean()), MIN_VARIANCE)
    weights = 1 / np.sqrt(values)
    return (vectors * weights) / np.sqrt(np.square(weights).mean())


def cut_between(residuals: Float64s) -> float:
    """Where residuals fall into two groups that lie far apart, a number between them; else infinity.

    Partners lie near each other, and other points as far as chance puts them. Only where the first is much nearer than
    the second can points without a partner be distinguished.
    """
    size = np.log(np.sort(residuals) + ROUNDING)
    count = np.arange(1, len(size))
    if len(size) < MIN_GROUPED or np.ptp(size) == 0:
        return np.inf
    sums, squares = np.cumsum(size)[:-1], np.cumsum(np.square(size))[:-1]
    low, high = sums / count, (size.sum() - sums) / (len(size) - count)
    within = squares - count * low**2 + (np.square(size).sum() - squares) - (len(size) - count) * high**2
    best = int(np.argmin(within))
    deviation = float(np.sqrt(max(within[best], 0.0) / len(size)))
    gap = float(high[best] - low[best])
    return float(np.exp((size[best] + size[best + 1]) / 2)) if gap > max(MIN_GAP * deviation, MIN_LOG_RATIO) else np.inf
