"""How sure one can be of a point's match, from the alignment alone.

Matched points vote: D_ik is the mean square of the differences between the costs of i to matched points and those of k
to their matches. Three things decide how likely a match is right:

- *The point.* Between clouds of dimension d whose points have errors of their own, exchanging the matches i', j' of i
  and j is as likely as exp(-d (D_ij' + D_ji' - D_ii' - D_jj') / 2s), where s is the variance of an error. What
  neighbours share, as a limb that bends, leads neither astray; so s is how far the differences that a point votes with
  vary between neighbours (`roughness`). Nothing is fitted in that, and it holds on surfaces as in clouds.
- *The region.* A right match has the matches of the point's neighbours for neighbours, and so have those.
- *The whole.* Other starts end in the same matches; neighbours are kept more often than between spaces that have
  nothing in common, which can be aligned too.

The chance is that of the point, times a logistic function of the others, divided by the number of equally good
alignments: exchanges that cost nothing, points that are alike by symmetry, and results of other starts, the less the
worse they are. ``python benchmarks/calibrate.py --fit spaces`` fits the coefficients, which are in
align/coefficients.toml, to pairs of spaces of seven kinds (Gaussian clouds, two views of clusters, bent surfaces,
neighbours' graphs, nearly symmetric clouds, spaces with nothing in common, scans of one person); docs/alignment.md has
how well that holds on other kinds.

Of more points than a plan can hold, landmarks are judged, by their regions alone: a match is then right if it is within
twice the landmarks' spacing of the true point, the largest distance of any point to a landmark.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._rescale import in_unit_range
from anchorot._typing import Float64s, Int64s
from anchorot.align.calibration import Logistic, load
from anchorot.space import Space

NEIGHBOURS = 8  # points: few enough to be near among 40, and many enough for the share that is kept to say something
MIN_ROUGHNESS = 1e-9  # of the mean of D, since copies have none
ROUNDING = 1e-10  # of the mean of D: an exchange that costs less costs nothing; sums are off by less
ALIKE = 1e-7  # colours, of unit size, that differ by less are equal: above what rounding changes
REFINEMENTS = 3  # of colours, which then depend on costs three steps away
UNKNOWN_AGREEMENT = 0.5  # share on which starts agree, where there was only one: neither for the match nor against it
FAILURE = 3.0  # per relative excess of the objective: a start whose objective is larger by a third counts half
DECAY = 100.0  # per relative excess: a result whose objective is larger by a hundredth is 1 / e times as likely

Bools = NDArray[np.bool_]


class Evidence(NamedTuple):
    """What it takes to say how sure matches are, which is not always asked for."""

    spaces: tuple[Space, Space]
    matches: Int64s  # (n,): -1 for none
    mass: Float64s  # (n,): what goes to the match
    others: tuple[tuple[Int64s, float], ...]  # other starts' matches, and the excess of their objectives as a share
    features: Float64s | None  # costs between features of points of positive weight, as they join the objective
    alpha: float
    is_whole: bool  # all of the mass was to be matched

    def confidence(self) -> Float64s:
        """(n,): the estimated chance that a point's match is right; 0 without a match."""
        found = np.zeros(len(self.matches))
        rows = np.flatnonzero(self.matches >= 0)
        if len(rows):
            found[rows] = chances(self.factors(rows))
        return found

    def factors(self, rows: Int64s) -> dict[str, Float64s]:
        """What the chances of matched points are computed from: and the number of `solutions` as good as this."""
        judge = _Judge(self, rows)
        likely, ties = judge.exchanges()
        shares, nearby = common_neighbours(judge.first, judge.second)
        agreement, solutions = other_starts(self.matches, self.others, rows)
        return {
            "exchanges": likely,
            "neighbours": nearby,
            "agreement": np.full(len(rows), agreement),
            "kept neighbours": np.full(len(rows), shares.mean()),
            "dimension": np.full(len(rows), judge.dimension),
            "points": np.full(len(rows), float(len(rows))),
            "solutions": np.maximum(np.maximum(solutions, 1 + ties), judge.alike()),
        }


class DenseEvidence(NamedTuple):
    """What it takes to say how sure the matches of more points than a plan can hold are: that of landmarks."""

    matches: Int64s  # (n,): -1 for none
    costs: tuple[Float64s, Float64s]  # (k, k) and (k, k): between landmarks, and between what they are taken for
    around: Int64s  # (c, p): landmarks near to each point that has a match
    own: Int64s  # (k,): landmarks' matches in the alignment that was kept,
    others: tuple[tuple[Int64s, float], ...]  # and in other starts' results, with the excess of their objectives
    elsewhere: tuple[tuple[Bools, float], ...]  # of other dense maps: (p,) what they match elsewhere; and their excess

    def confidence(self) -> Float64s:
        """(n,): the estimated chance that a match is right to within twice the spacing of landmarks; 0 without one."""
        shares, nearby = common_neighbours(*self.costs)
        k = len(shares)
        agreement, solutions = other_starts(self.own, self.others, np.arange(k))
        sizes = dimension(self.costs[0]) * dimension(self.costs[1])
        seen = {
            "neighbours": nearby,
            "agreement": np.full(k, agreement),
            "kept neighbours": np.full(k, shares.mean()),
            "dimension": np.full(k, np.sqrt(sizes)),
            "points": np.full(k, float(k)),
        }
        chance = (region_chances(seen) / solutions)[self.around].mean(axis=0)
        chance /= 1 + sum(own * np.exp(-DECAY * max(excess, 0.0)) for own, excess in self.elsewhere)
        found = np.zeros(len(self.matches))
        found[self.matches >= 0] = chance
        return found


def chances(seen: dict[str, Float64s]) -> Float64s:
    """The chance of a right match, by the factors seen."""
    return region_chances(seen) / (1 + seen["exchanges"]) / seen["solutions"]


def region_chances(seen: dict[str, Float64s]) -> Float64s:
    """The chance that a match lies where it should, if perhaps not on the right point."""
    features = features_of(seen, load("spaces.by_chance"))
    return np.asarray(load("spaces.match").probability(features))


def features_of(seen: dict[str, Float64s], by_chance: Logistic) -> dict[str, Float64s]:
    """Evidence for a match's region; `by_chance` gives the share of neighbours kept with nothing in common."""
    sizes = {"log dimension": np.log(seen["dimension"]), "log points": np.log(seen["points"])}
    return seen | {"kept beyond chance": seen["kept neighbours"] - np.clip(by_chance.score(sizes), 0, 1)}


class _Judge:
    """Matched points and their matches, by their places among the points of positive weight, with costs in units."""

    def __init__(self, evidence: Evidence, rows: Int64s) -> None:
        self._spaces = [space.support() for space in evidence.spaces]
        self._costs, _ = in_unit_range([space.cost for space in self._spaces])
        self._features, self._alpha = evidence.features, evidence.alpha
        self.rows, self.columns = (
            np.searchsorted(np.flatnonzero(space.weights), points)
            for space, points in zip(evidence.spaces, (rows, evidence.matches[rows]), strict=True)
        )
        self.first, self.second = self._to_matched(self.rows, self.columns)
        self._is_even = all(np.array_equal(cost, cost.T) for cost in self._costs)
        self._votes = evidence.mass[rows] / evidence.mass[rows].sum()
        self.dimension = float(np.sqrt(dimension(self.first) * dimension(self.second)))

    def exchanges(self) -> tuple[Float64s, Int64s]:
        """(p,) and (p,): how likely a point has another's match, or one that is free; and number of those as good."""
        between = self._squares(self.rows, self.columns)
        own, unit = between.diagonal(), float(between.mean()) or 1.0
        width = np.maximum(self._roughness() / unit, MIN_ROUGHNESS)
        cost = (between + between.T - own[:, None] - own) / unit
        steps = [(cost, width[:, None] + width, self.columns[:, None] != self.columns)]
        free_rows, free_columns = (
            np.setdiff1d(np.arange(len(cost)), matched)
            for cost, matched in zip(self._costs, (self.rows, self.columns), strict=True)
        )
        for moved in (self._squares(self.rows, free_columns), self._squares(free_rows, self.columns).T):
            steps.append(((moved - own[:, None]) / unit, 2 * width[:, None], np.ones_like(moved, bool)))
        likely, ties = np.zeros(len(self.rows)), np.zeros(len(self.rows), np.int64)
        for step, scale, is_other in steps:
            is_tie = is_other & (step <= ROUNDING)
            odds = np.exp(-self.dimension * np.maximum(step, 0) / scale)
            likely += np.where(is_other & ~is_tie, odds, 0).sum(axis=1)
            ties += is_tie.sum(axis=1)
        return likely, ties

    def alike(self) -> Int64s:
        """(p,): how many points symmetry makes alike, of either space, wherever these are more."""
        found = []
        for side, (space, cost) in enumerate(zip(self._spaces, self._costs, strict=True)):
            attributes = [space.weights / space.weights.max()]
            if self._features is not None:  # points with the same costs to the features of the other side's points
                there = np.random.default_rng(0).normal(size=self._features.shape[1 - side])
                costs = self._features / (float(self._features.max()) or 1.0)
                attributes.append(np.tensordot(np.cos(costs), there, (1 - side, 0)) / self._features.shape[1 - side])
            found.append(orbit_sizes(cost, attributes))
        return np.maximum(found[0][self.rows], found[1][self.columns])

    def _to_matched(self, own: Int64s, other: Int64s, *, back: bool = False) -> tuple[Float64s, Float64s]:
        """Costs of some points of either space to the matched ones, or back from these."""
        x, y = (cost.T for cost in self._costs) if back else self._costs
        return x[np.ix_(own, self.rows)], y[np.ix_(other, self.columns)]

    def _squares(self, own: Int64s, other: Int64s) -> Float64s:
        """D between points of the first space and of the second, joined with what features cost."""
        found = mean_squares(*self._to_matched(own, other), self._votes)
        if not self._is_even:
            found = (found + mean_squares(*self._to_matched(own, other, back=True), self._votes)) / 2
        return found if self._features is None else self._join(found, self._features[np.ix_(own, other)])

    def _roughness(self) -> Float64s:
        """(p,): the variance of a point's error, as far as its neighbours do not share that."""
        off = self.first - self.second
        near = balls(self.first)
        others = near & ~np.eye(len(near), dtype=bool)
        apart = np.where(others, mean_squares(off, off, self._votes) / 2, 0).sum(axis=1)
        found = apart / np.maximum(others.sum(axis=1), 1)
        if self._features is not None:
            found = self._join(found, self._features[self.rows, self.columns])
        return near @ found / near.sum(axis=1)

    def _join(self, structure: Float64s, features: Float64s) -> Float64s:
        """Half the gradient of the objective, by its two parts."""
        return self._alpha * structure + (1 - self._alpha) / 2 * features


def mean_squares(first: Float64s, second: Float64s, weights: Float64s) -> Float64s:
    """(a, b): weighted mean square differences between rows (a, v) and (b, v)."""
    ends = [np.square(rows) @ weights for rows in (first, second)]
    return np.maximum(ends[0][:, None] + ends[1] - 2 * (first * weights) @ second.T, 0)


def balls(cost: Float64s) -> Bools:
    """(n, n): whether j is one of the nearest points of i, with itself and all that are as near as the last."""
    place = min(NEIGHBOURS, len(cost) - 1)
    found: Bools = cost <= np.partition(cost, place, axis=1)[:, place, None]
    np.fill_diagonal(found, True)  # also where costs to others are less than to itself
    return found


def common_neighbours(first: Float64s, second: Float64s) -> tuple[Float64s, Float64s]:
    """(n,) and (n,): the share of a point's neighbours that its match has too, and the mean share around it.

    Both matrices are of costs between matched points, in one order.
    """
    near, there = balls(first), balls(second)
    both = near & there
    sizes = np.sqrt((near.sum(axis=1) - 1.0) * (there.sum(axis=1) - 1.0))
    shares = np.divide(both.sum(axis=1) - 1.0, sizes, out=np.ones(len(first)), where=sizes > 0)
    return shares, both @ shares / both.sum(axis=1)


def dimension(cost: Float64s) -> float:
    """In how many directions points with these distances vary: the participation ratio of their principal axes."""
    squares = np.square((cost + cost.T) / 2)
    rows = squares.mean(axis=1)
    inner = (rows[:, None] + rows - squares - rows.mean()) / 2
    size = float(np.square(inner).sum())
    return max(1.0, float(np.trace(inner)) ** 2 / size) if size > 0 else 1.0


def other_starts(matches: Int64s, others: tuple[tuple[Int64s, float], ...], rows: Int64s) -> tuple[float, Float64s]:
    """How far other starts agree; and (p,) the number of solutions, where worse ones count for less.

    Starts that ended far worse have failed, and count for less too; those that are as good are among the solutions.
    """
    solutions, seen = np.ones(len(rows)), [matches[rows]]
    agreed, total = 1.0, 1.0  # the alignment's own
    for one, given in others:
        own, excess = one[rows], max(given, 0.0)
        likely, weight = np.exp(-DECAY * excess), 1 / (1 + FAILURE * excess)
        same = float(np.mean(own == seen[0]))
        agreed += weight * same
        total += weight * (same + (1 - same) * (1 - likely))
        is_new = (own >= 0) & np.all([own != other for other in seen], axis=0)
        solutions += is_new * likely
        seen.append(own)
    return agreed / total if others else UNKNOWN_AGREEMENT, solutions


def orbit_sizes(cost: Float64s, attributes: list[Float64s]) -> Int64s:
    """(n,): how many points are alike, so that refinement (Weisfeiler and Leman) cannot distinguish them.

    Colours are means of smooth functions of costs and of the colours of the points there, so that rounding changes them
    little. Costs and attributes are of unit size.
    """
    from scipy.spatial import KDTree

    waves = [np.cos(rate * cost) for rate in (1.3, 3.7, 9.1)]
    if not np.array_equal(cost, cost.T):
        waves.append(np.cos(2.3 * cost.T))
    colours = [*attributes, np.cos(cost.diagonal())]
    for _ in range(REFINEMENTS):
        mixed = np.sum([np.cos(5 * colour + place) for place, colour in enumerate(colours)], axis=0)
        colours += [wave @ mixed / len(cost) for wave in waves]
    points = np.stack(colours, axis=1)
    return np.asarray(KDTree(points).query_ball_point(points, ALIKE, p=np.inf, return_length=True), np.int64)
