"""From a map to results on all points: rounds of assignment and rotation, in several kinds of rows, one of which wins.

Unit rows compare directions alone; raw rows also lengths, which may or may not say who is who. Weights compare
directions by how little is left in each: that pays where noise differs between directions, and costs where it does
not. Which is better is seen afterwards: the result in whose own costs most points are mutually nearest is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anchorot._progress import Advance, no_progress
from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.embeddings.candidates import LARGE_SAMPLE, MIN_VARIANCE, ROUNDING, Map
from anchorot.align.embeddings.pairs import DENSE_POINTS, DensePairs, SparsePairs, nearest, pairs_of
from anchorot.align.embeddings.sides import Sides

ROUNDS, LARGE_ROUNDS = 8, 2  # of rotation and assignment on all points; where they are many
WEIGHED_ROUNDS = 4  # with directions weighed, after those
FLOORS = (0.05, 0.5)  # of the mean noise of a direction, added to each before directions are weighed
MAX_CHANGE = 1e-3  # share of the points with another match than before: rounds end
MIN_POINTS = 2  # for each direction: a rotation fitted to fewer is worse than the search's
MIN_KEPT_PAIRS = 3  # for each direction, to fit a map to a part of the points
TRIMS, LARGE_TRIMS = 10, 3  # rounds of mutually nearest points
QUERIES = 2000  # points whose nearest ones say how many are mutually nearest, where there are many
MIN_GROUPED = 8  # residuals, to look for two groups of them
MIN_LOG_RATIO = np.log(16)  # between the two groups
MIN_GAP = 5.0  # deviations within groups, between the means of two groups of log residuals


class Finished(NamedTuple):
    """A map fitted to all points, and their matches."""

    sides: Sides
    map: Map
    floor: float | None  # of the weights of directions; None if all count alike
    weights: Floats | None
    pairs: DensePairs | SparsePairs  # with directions weighed
    matches: Int64s
    objective: float  # mean squared distance of matched points, directions not weighed
    converged: bool

    def places(self) -> tuple[Floats, Floats]:
        """Points of both sides as they were compared."""
        return compared(self.sides, self.map, self.weights)


def compared(sides: Sides, found: Map, weights: Floats | None) -> tuple[Floats, Floats]:
    """Points of both sides in the common directions, weighed if there are weights."""
    moved, others = found.map_first(sides.x.points), found.map_second(sides.y.points)
    return (moved, others) if weights is None else (moved @ weights, others @ weights)


def finish(
    views: tuple[Sides, ...],
    found: Map,
    device: str | None,
    rng: np.random.Generator,
    advance: Advance = no_progress,
    known: Int64s | None = None,
) -> Finished:
    """Finish a map of the first view in all views, weighed and not, and keep the best; leave out what has no partner.

    `known` has the matches of points that are known, -1 elsewhere.
    """
    best = _finish_many if views[0].n_points > DENSE_POINTS else _finish_few
    result = best(views, found, device, rng, advance, known)
    if known is not None:
        return result
    trimmed, cut = _trim(result.sides, result.map, device)
    if cut == np.inf:
        return result
    rounds = LARGE_ROUNDS if result.sides.n_points > DENSE_POINTS else ROUNDS
    return fit_and_assign(result.sides, trimmed, rounds, device, advance, cut=cut)


def _finish_few(
    views: tuple[Sides, ...],
    found: Map,
    device: str | None,
    rng: np.random.Generator,
    advance: Advance,
    known: Int64s | None,
) -> Finished:
    """All results on all points."""
    results: list[Finished] = []
    for sides in views:
        few = are_few(sides)
        begin = fitted(sides, results[0].matches) if results and not few else carried(found, views[0], sides)
        plain = fit_and_assign(sides, begin, 0 if few else ROUNDS, device, advance, known=known)
        results.append(plain)
        if not few:
            results += [
                fit_and_assign(sides, plain.map, WEIGHED_ROUNDS, device, advance, plain.matches, floor, known=known)
                for floor in FLOORS
            ]
    return max(results, key=mutual_share)


def _finish_many(
    views: tuple[Sides, ...],
    found: Map,
    device: str | None,
    rng: np.random.Generator,
    advance: Advance,
    known: Int64s | None,
) -> Finished:
    """One result on all points, in the rows and with the weights that a part of them prefers."""
    sides = views[0]
    if known is None:
        x, y = (side.at(side.draw(LARGE_SAMPLE, rng)) for side in (sides.x, sides.y))
        found = fit_and_assign(sides._replace(x=x, y=y), found, ROUNDS, device, advance).map
    first = fit_and_assign(sides, found, LARGE_ROUNDS, device, advance, known=known)
    queries = sides.x.draw(QUERIES, rng)
    trials = []
    for view in views:
        own = first.map if view is sides else fitted(view, first.matches)
        for floor in (None, *FLOORS):
            weights = None if floor is None else direction_weights(*compared(view, own, None), first.matches, floor)
            trials.append((mutual_share_of(*compared(view, own, weights), queries, device), view, own, floor))
            advance(1)
    best = int(np.argmax([trial[0] for trial in trials]))
    if best == 0:
        return first
    _, view, own, floor = trials[best]
    return fit_and_assign(view, own, 1, device, advance, first.matches if floor else None, floor, known=known)


def are_few(sides: Sides) -> bool:
    """Whether points are too few to fit a rotation to their matches: that of the search is then better."""
    return min(len(sides.x.points), len(sides.y.points)) <= MIN_POINTS * sides.n_directions


def carried(found: Map, before: Sides, after: Sides) -> Map:
    """A map between one kind of rows as one between another, whose directions are others: the same rotation."""
    if before is after:
        return found
    left, right = (
        new.basis.T @ (old.basis @ part)
        for new, old, part in ((after.x, before.x, found.left), (after.y, before.y, found.right))
    )
    origin, target = np.zeros(len(left)), np.zeros(len(right))
    return Map(left, right, origin, target, 1.0).with_stretch(after.x.points, after.y.points)


def fitted(sides: Sides, matches: Int64s) -> Map:
    """The map that suits matches best."""
    return Map.of_matches(sides.x.points, sides.y.points, matches)


def mutual_share(found: Finished) -> float:
    """Share of the smaller side's points that are mutually nearest, in the costs of a result."""
    moved, others = found.places()
    return mutual_share_of(moved, others, np.arange(len(moved)), None)


def mutual_share_of(moved: Floats, others: Floats, queries: Int64s, device: str | None) -> float:
    """Share of some points that are the nearest of their nearest, of those that could be."""
    ahead = nearest(moved[queries], others, 1, device)[0][:, 0]
    back = nearest(others[ahead], moved, 1, device)[0][:, 0]
    return float(np.mean(back == queries)) * max(1.0, len(moved) / len(others))


def _trim(sides: Sides, found: Map, device: str | None) -> tuple[Map, float]:
    """A map fitted to the nearer half of the points that are each other's nearest; and where residuals fall apart.

    An assignment gives every point a match, and pulls the map towards those that have no partner.
    """
    x, y = sides.x.points, sides.y.points
    size: Float64s = np.empty(0)
    for _ in range(TRIMS if max(len(x), len(y)) <= DENSE_POINTS else LARGE_TRIMS):
        moved, others = found.map_first(x), found.map_second(y)
        near, distances = nearest(moved, others, 1, device)
        ahead, size = near[:, 0], distances[:, 0]
        back = nearest(others, moved, 1, device)[0][:, 0]
        mutual = np.flatnonzero(back[ahead] == np.arange(len(x)))
        kept = mutual[size[mutual] <= np.median(size[mutual])] if len(mutual) >= MIN_GROUPED else mutual[:0]
        if len(kept) < MIN_KEPT_PAIRS * sides.n_directions:
            return found, np.inf
        matches = np.full(len(x), -1)
        matches[kept] = ahead[kept]
        found = Map.of_matches(x, y, matches)
    return found, cut_between(size)


def fit_and_assign(
    sides: Sides,
    found: Map,
    most: int,
    device: str | None,
    advance: Advance,
    weigh: Int64s | None = None,
    floor: float | None = None,
    *,
    cut: float = np.inf,
    known: Int64s | None = None,
) -> Finished:
    """Assign points and fit the map to matches, in turns, until matches stay; with `weigh` also weigh directions.

    Without any rounds, the map is kept as it is.
    """
    x, y = sides.x.points, sides.y.points
    matches = np.full(len(x), -1) if weigh is None else weigh
    has_settled = True
    for _ in range(max(most, 1)):
        weights = None
        if weigh is not None and floor is not None:
            weights = direction_weights(*compared(sides, found, None), matches, floor)
        pairs = pairs_of(*compared(sides, found, weights), device)
        before, matches = matches, _with_known(pairs.assign(cut), known)
        advance(1)
        has_settled = most == 0 or bool(np.mean(before != matches) <= MAX_CHANGE)
        if has_settled or not (matches >= 0).any():
            break
        found = fitted(sides, matches)
    own = matches >= 0
    left = np.square(found.map_first(x[own]) - found.map_second(y[matches[own]])).sum(axis=1)
    return Finished(sides, found, floor, weights, pairs, matches, float(left.mean()) if own.any() else 0.0, has_settled)


def _with_known(matches: Int64s, known: Int64s | None) -> Int64s:
    """Matches in which known ones replace others; whoever loses a match to them gets what was theirs."""
    if known is None:
        return matches
    found = matches.copy()
    for point in np.flatnonzero((known >= 0) & (known != matches)):
        holder = np.flatnonzero(found == known[point])
        found[holder] = found[point]
        found[point] = known[point]
    return found


def direction_weights(moved: Floats, others: Floats, matches: Int64s, floor: float) -> Floats:
    """(k, k): makes what is left at matches equal in all directions, on the whole as large as before."""
    own = matches >= 0
    left = moved[own] - others[matches[own]]
    values, vectors = np.linalg.eigh(left.T @ left / len(left))
    values = np.maximum(values, 0) + floor * max(float(values.mean()), MIN_VARIANCE)
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
