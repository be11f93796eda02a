"""How likely an alignment of spaces is right as a whole: what else fits as well, and whether regions lie right.

Two numbers decide, both from at most 160 matched points that cover the first space:

- *Staying near.* Other alignments of the same spaces are made: results of other starts, and the chosen one mirrored
  along the principal axes of the second space; assignments improve each, and the chosen one too. Of another alignment b
  with objective O_b against the chosen one's O, the log-odds are

      -(k / 2) log(O_b / O)  +  logit P(T > z),

  the likelihood of errors of unknown variance, k the participation ratio of the squared eigenvalues of the chosen one's
  differences of costs (how many independent errors there are), and a t-test over cells of the first space of whether
  b is rougher everywhere (`roughness`). A point stays near in b if b's match is among the nearest points of the chosen
  one's match. Averaged over points, and over alignments by their chances, that is the share of points that would be
  where they are if another alignment were the true one.
- *Regions.* The mean chance of a match's region, as in `score.py`, which is low where spaces have nothing in common.

The chance is a logistic function of the log-odds of both. Alignments of equal objective are images under a symmetry of
either space, which nothing could tell apart: they count as the same. ``python benchmarks/calibrate.py --fit
whole_spaces`` fits the coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from anchorot._rescale import in_unit_range
from anchorot._typing import Float64s, Int64s
from anchorot.align.calibration import load, t_log_odds
from anchorot.align.correspondence import MIN_DIFFERENCE, excess_allowed
from anchorot.align.spaces.score import (
    NEIGHBOURS,
    Evidence,
    balls,
    common_neighbours,
    dimension,
    mean_squares,
    other_starts,
    region_chances,
)

MOST_POINTS = 160  # 200 are as good (AUC 0.985 against 0.984 on held-out kinds) and take half as long again
MOST_AXES, MIRRORED_AXES, MIN_AXIS = 10, 4, 0.02  # of the second space; variance, as a share of the first one's
N_IMPROVED = 3  # mirrored alignments that are improved, of at most 15
MOST_STEPS, HOPELESS = 8, 5.0  # assignments; an objective this many times the chosen one's is given up after two
MIN_GAIN = 0.005  # of the objective, by an assignment: what follows gains no more
N_CELLS = 16  # parts of a space, which a t-test compares: ten points each of the most points; chosen by hand
SAME = 0.9  # share of the points that stay near: the same alignment
EQUAL = 1e-9  # of the variance of the costs: objectives that differ by less are equal
LEAST = 1e-12  # roughness of a cell, in units of the costs
LARGEST_LOG_ODDS = 50.0  # either way: their exponentials and sums of these stay finite
CLIP = 0.01  # least chance that counts, and largest one from 1: the mean of a few dozen points says no more


class Verdict(NamedTuple):
    """What is said of an alignment as a whole."""

    reliable: float
    has_mirror_image: bool  # a different alignment that is about as good, found by mirroring it


def judge(evidence: Evidence) -> Verdict:
    """Estimate the chance that at least 80 % of the matches are at or near the truth, up to symmetries."""
    if not (evidence.matches >= 0).any():
        return Verdict(0.0, has_mirror_image=False)
    sample = _Sample.of(evidence)
    others = _Judge(sample).others()
    reliable = float(load("spaces.whole").probability(_features(sample, others, evidence)))
    return Verdict(reliable, any(other.is_mirror_image for other in others))


def whole_features(evidence: Evidence) -> dict[str, float]:
    """Evidence for the alignment as a whole."""
    sample = _Sample.of(evidence)
    return _features(sample, _Judge(sample).others(), evidence)


def _features(sample: _Sample, others: list[_Other], evidence: Evidence) -> dict[str, float]:
    shares = {"near": staying(others), "regions": sample.regions(evidence)}
    return {name: _logit(min(max(share, CLIP), 1 - CLIP)) for name, share in shares.items()}


def staying(others: list[_Other]) -> float:
    """Share of the points that stay near in a likely alignment."""
    distinct = [other for other in others if other.counts]
    chances, shares = [0.0, *(other.log_odds for other in distinct)], [1.0, *(other.share for other in distinct)]
    odds = np.exp(np.clip(chances, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))
    return float(odds @ np.array(shares) / odds.sum())


def _logit(chance: float) -> float:
    return float(np.log(chance) - np.log1p(-chance))


class _Sample(NamedTuple):
    """Matched points that cover the first space, and all points of the second, by their places in the supports."""

    rows: Int64s  # (p,): among all points of the first space, as `others` count them
    own: Int64s  # (p,): their matches in the support of the second
    others: tuple[Int64s, ...]  # (p,) each: other starts' matches there; -1 for none
    first: Float64s  # (p, p): costs,
    second: Float64s  # and (m, m)
    features: Float64s | None  # (p, m): what features cost, as they join the objective
    alpha: float

    @classmethod
    def of(cls, evidence: Evidence) -> _Sample:
        """Choose the points; of several with one match, the first."""
        kept = [np.flatnonzero(space.weights) for space in evidence.spaces]
        costs, _ = in_unit_range([space.support().cost for space in evidence.spaces])
        rows = np.flatnonzero(evidence.matches >= 0)
        rows = rows[np.sort(np.unique(evidence.matches[rows], return_index=True)[1])]
        places = np.searchsorted(kept[0], rows)
        if len(rows) > MOST_POINTS:
            chosen = covering(_even(costs[0][np.ix_(places, places)]), MOST_POINTS)
            rows, places = rows[chosen], places[chosen]
        own, *others = (
            np.where(matches[rows] >= 0, np.searchsorted(kept[1], matches[rows]), -1)
            for matches in (evidence.matches, *(one for one, _ in evidence.others))
        )
        first, second = costs[0][np.ix_(places, places)], costs[1]
        features = None if evidence.features is None else evidence.features[places]
        sizes = [_size(cost) for cost in (first, second[np.ix_(own, own)])]
        if min(sizes) > 0:  # one size: the scale of a side changes no matching of all its points
            first, second = first / sizes[0], second / sizes[1]
            features = None if features is None else features / sizes[0] ** 2
        return cls(rows, own, tuple(others), first, second, features, evidence.alpha)

    def objective(self, matches: Int64s) -> float:
        """The objective of other matches of the sampled points."""
        loss = float(np.square(self.first - self.second[np.ix_(matches, matches)]).mean())
        if self.features is None:
            return loss
        return self.alpha * loss + (1 - self.alpha) * float(self.features[np.arange(len(matches)), matches].mean())

    def worst(self) -> float:
        """The loss of the product plan: what knowing nothing costs."""
        inside = self.second[np.ix_(self.own, self.own)]
        return float(np.square(self.first).mean() + np.square(inside).mean() - 2 * self.first.mean() * inside.mean())

    def regions(self, evidence: Evidence) -> float:
        """Mean chance that a match lies where it should."""
        inside = self.second[np.ix_(self.own, self.own)]
        kept, nearby = common_neighbours(self.first, inside)
        p = len(self.own)
        whole = {
            "agreement": other_starts(evidence.matches, evidence.others, self.rows)[0],
            "kept neighbours": float(kept.mean()),
            "dimension": float(np.sqrt(dimension(self.first) * dimension(inside))),
            "points": float(p),
        }
        seen = {name: np.full(p, value) for name, value in whole.items()}
        return float(region_chances(seen | {"neighbours": nearby}).mean())


class _Other(NamedTuple):
    """Another alignment."""

    log_odds: float
    share: float  # of the points that stay near
    counts: bool  # it is neither the chosen one nor its image under a symmetry, nor one that was seen before
    is_mirror_image: bool


class _Judge:
    """Compares the chosen alignment of sampled points with others."""

    def __init__(self, sample: _Sample) -> None:
        self._sample = sample
        self._x, self._y = _even(sample.first), _even(sample.second)
        self._near = balls(self._x)
        own = sample.own
        ends = self._y[own], self._y[np.ix_(own, own)]  # to all points of the second space, and to matches
        self._radius = np.maximum(*(_largest_of_nearest(rows) for rows in ends))
        self._tiny = EQUAL * (float(self._x.var()) + float(self._y[np.ix_(own, own)].var())) or EQUAL
        self._matches, self._objective = self._improved(own)
        off = self._differences(self._matches)
        total, together = float(np.square(off).sum()), float(np.square(off @ off).sum())
        self._n_errors = total**2 / together if self._objective > self._tiny and together > 0 else len(own)
        centres = covering(self._x, N_CELLS)
        self._cells = self._x[:, centres].argmin(axis=1)
        self._roughness = self._rough_cells(off)

    def others(self) -> list[_Other]:
        """Where other starts' matches lead, and mirrored ones."""
        seen: list[Int64s] = []
        found = []
        allowed = self._objective + self._tiny + excess_allowed(self._objective, self._sample.worst())
        for begin, is_mirrored in self._begins():
            matches, objective = self._improved(begin, self._objective + self._tiny)
            share = self._share_near(self._matches, matches)
            counts = share < SAME and abs(objective - self._objective) > self._tiny
            counts = counts and all(self._share_near(other, matches) < SAME for other in seen)
            differs = float(np.mean(matches != self._matches))
            is_mirror_image = is_mirrored and differs > MIN_DIFFERENCE and objective <= allowed
            if counts:
                seen.append(matches)
            found.append(_Other(self.log_odds(matches, objective) if counts else 0.0, share, counts, is_mirror_image))
        return found

    def log_odds(self, matches: Int64s, objective: float) -> float:
        """Of other matches against the chosen ones."""
        ratio = (objective + self._tiny) / (self._objective + self._tiny)
        return self._rougher(matches) - self._n_errors / 2 * float(np.log(ratio))

    def _begins(self) -> Iterator[tuple[Int64s, bool]]:
        """Other starts' matches, and the best of the mirrored ones; and whether they are mirrored."""
        begun = [self._sample.own]
        for matches in self._sample.others:
            if (matches >= 0).all() and all(self._share_near(one, matches) < SAME for one in begun):
                begun.append(matches)
                yield matches, False
        mirrored = sorted(self._mirrored(), key=self._sample.objective)
        yield from ((matches, True) for matches in mirrored[:N_IMPROVED])

    def _mirrored(self) -> Iterator[Int64s]:
        """The chosen alignment, mirrored along some of the principal axes of the matches."""
        own = self._sample.own
        if len(own) < 2:
            return
        squares = np.square(self._y[:, own])
        mean = squares[own].mean(axis=0)
        inner = (mean[:, None] + mean - squares[own] - mean.mean()) / 2
        values, axes = np.linalg.eigh(inner)
        values, axes = values[::-1][:MOST_AXES], axes[:, ::-1][:, :MOST_AXES]
        kept = values > max(MIN_AXIS * values[0], 0)
        values, axes = values[kept], axes[:, kept]
        points = (mean - squares) @ (axes / np.sqrt(values)) / 2  # of all, by their distances to the matches
        sizes = np.square(points).sum(axis=1)
        count = min(MIRRORED_AXES, len(values))
        for signs in list(product((1, -1), repeat=count))[1:]:
            turned = axes * np.sqrt(values) * np.append(signs, np.ones(len(values) - count))
            yield (sizes - 2 * turned @ points.T).argmin(axis=1)

    def _improved(self, matches: Int64s, least: float = np.inf) -> tuple[Int64s, float]:
        """Assign anew for as long as that helps, to points that may differ; and the objective."""
        from scipy.optimize import linear_sum_assignment

        best = self._sample.objective(matches)
        for step in range(MOST_STEPS):
            moved = linear_sum_assignment(self._slope(matches))[1]
            objective = self._sample.objective(moved)
            if objective >= best:
                break
            gain, matches, best = 1 - objective / best, moved, objective
            if gain < MIN_GAIN or (step and best > HOPELESS * least):
                break
        return matches, best

    def _slope(self, matches: Int64s) -> Float64s:
        """Half the gradient of the objective, (p, m)."""
        p = len(matches)
        found = mean_squares(self._x, self._y[:, matches], np.full(p, 1 / p))
        if self._sample.features is None:
            return found
        return self._sample.alpha * found + (1 - self._sample.alpha) / 2 * self._sample.features

    def _differences(self, matches: Int64s) -> Float64s:
        return self._x - self._y[np.ix_(matches, matches)]

    def _rough_cells(self, off: Float64s) -> Float64s:
        """Of every cell, how far differences of costs vary between neighbours."""
        p = len(off)
        apart = np.where(self._near, mean_squares(off, off, np.full(p, 1 / p)), 0).sum(axis=1)
        own = apart / np.maximum(self._near.sum(axis=1) - 1, 1) / 2
        around = self._near @ own / self._near.sum(axis=1)
        return np.bincount(self._cells, around) / np.bincount(self._cells)

    def _rougher(self, matches: Int64s) -> float:
        """Log-odds by a t-test that other matches are no rougher than the chosen ones."""
        there = self._rough_cells(self._differences(matches))
        return t_log_odds(np.log(np.maximum(there, LEAST) / np.maximum(self._roughness, LEAST)))

    def _share_near(self, matches: Int64s, others: Int64s) -> float:
        return float(np.mean(self._y[matches, others] <= self._radius))


def _largest_of_nearest(cost: Float64s) -> Float64s:
    """The cost to the last of the nearest points, of every row."""
    place = min(NEIGHBOURS, cost.shape[1] - 1)
    return np.asarray(np.partition(cost, place, axis=1)[:, place])


def covering(cost: Float64s, count: int) -> Int64s:
    """Places of points that cover a space: the one of the largest mean cost, then always the farthest."""
    nearest = cost[int(cost.sum(axis=1).argmax())].copy()
    found = [int(cost.sum(axis=1).argmax())]
    for _ in range(min(count, len(cost)) - 1):
        found.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, cost[found[-1]])
    return np.array(found)


def _size(cost: Float64s) -> float:
    """Root mean square."""
    largest = float(np.abs(cost).max())
    return largest * float(np.sqrt(np.square(cost / largest).mean())) if largest > 0 else 0.0


def _even(cost: Float64s) -> Float64s:
    """Costs whose two directions are averaged."""
    return cost if np.array_equal(cost, cost.T) else (cost + cost.T) / 2
