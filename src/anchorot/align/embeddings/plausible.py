"""Which maps explain two embeddings about as well, and whether any of them does.

Two samples of one distribution lie as near to each other as each lies to itself. So the distance from a point to the
nearest of the other side, divided by the distance between neighbours within that side, says what a map leaves
unexplained: about 1 where it is right, less where the two sides have objects in common, more where it is wrong or the
two sides are not alike. Maps are weighed by it, and where none comes near 1, none was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from anchorot._progress import Advance, no_progress
from anchorot._typing import Float64s, Floats
from anchorot.align.embeddings.candidates import MIN_VARIANCE, ROUNDING, Map, MapCandidate, map_difference
from anchorot.align.embeddings.pairs import nearest
from anchorot.align.embeddings.refine import Finished, are_few, carried, compared, fit_and_assign
from anchorot.align.embeddings.sides import Sides

QUERIES = 500  # points of each side that maps are compared by
ROUNDS = 4  # of rotation and assignment, before a map is weighed
MAX_SAME = 0.5  # of the variance: maps that differ by less are one
FLIPPED = 3  # main directions that may be mirrored, in all combinations
POWER = 20.0  # of what a map leaves: 3.5 % more halves its weight; chosen by simulated cells
POINTS_PER_POWER = 8  # of few points it is less: a map that is fitted to them leaves little anyway
HOPELESS = 1e6  # squared distances within: what a map leaves that sends all points to one spot
SURE = 0.8  # mean confidence above which no other maps are looked for
FAIR, STEEPNESS = 2.3, 6.0  # what may be left, in squared distances within, where a map is as likely right as not


class Trial(NamedTuple):
    """A map finished on some of the points, without weights of directions."""

    finished: Finished
    name: str
    seconds: float
    left: float  # what it leaves unexplained

    @property
    def few(self) -> bool:
        """Whether there are too few points to fit a rotation to matches."""
        return are_few(self.finished.sides)


def part_of(views: tuple[Sides, ...], rng: np.random.Generator) -> tuple[Sides, ...]:
    """The views of at most `QUERIES` points of each side, the same points in all."""
    first = views[0]
    chosen = [np.sort(side.draw(QUERIES, rng)) for side in (first.x, first.y)]
    return tuple(
        Sides(view.rows, *(side.at(own) for side, own in zip((view.x, view.y), chosen, strict=True))) for view in views
    )


def trial(sides: Sides, found: Map, name: str, seconds: float, device: str | None, rounds: int = ROUNDS) -> Trial:
    """Fit a map to points in turns, and see what it leaves."""
    finished = fit_and_assign(sides, found, 0 if are_few(sides) else rounds, device, no_progress)
    return Trial(finished, name, seconds, left_by(sides, finished.map, device))


def left_by(sides: Sides, found: Map, device: str | None) -> float:
    """Squared distance to the nearest point of the other side, in units of that within a side (means of logarithms)."""
    moved, others = compared(sides, found, None)
    if min(len(moved), len(others)) < 2:
        return FAIR
    scale = float(np.square(others).sum(axis=1).mean())
    if scale < MIN_VARIANCE:
        return HOPELESS  # all points lie on one spot
    sums = [_mean_log(moved, others, 0, scale, device), _mean_log(others, moved, 0, scale, device)]
    within = [_mean_log(side, side, 1, scale, device) for side in (others, moved)]
    return float(np.exp((sum(sums) - sum(within)) / 2))


def _mean_log(points: Floats, among: Floats, rank: int, scale: float, device: str | None) -> float:
    """Mean logarithm of the squared distance to one of the nearest points."""
    away = nearest(points, among, rank + 1, device)[1][:, rank] / scale
    return float(np.log(np.maximum(away, ROUNDING)).mean())


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """What leaves least, and all that differs from what leaves less."""
    kept: list[Trial] = []
    for one in sorted(trials, key=lambda one: one.left):
        if all(difference(other.finished, one.finished) >= MAX_SAME for other in kept):
            kept.append(one)
    return kept


def difference(one: Finished, other: Finished) -> float:
    """How far apart two maps put the same points, as a share of the variance; in the rows of the first."""
    return map_difference(one.sides.x.points, one.map, carried(other.map, other.sides, one.sides))


def weights_of(trials: Sequence[Trial]) -> Float64s:
    """How likely each map is, if one of them is right."""
    points = trials[0].finished.sides.x.points, trials[0].finished.sides.y.points
    power = min(POWER, min(map(len, points)) / POINTS_PER_POWER)
    left = np.log([one.left for one in trials])
    weights = np.exp(-power * (left - left.min()))
    return weights / weights.sum()


def fit_of(left: float) -> float:
    """The chance that a map is right that leaves so much: one half at `FAIR`."""
    return 1 / (1 + (left / FAIR) ** STEEPNESS)


def flipped(found: Map) -> list[Map]:
    """The map after main directions of the first side were mirrored, in all combinations."""
    count = min(FLIPPED, len(found.left))
    maps = []
    for bits in range(1, 2**count):
        signs = np.array([-1.0 if bits >> k & 1 else 1.0 for k in range(count)])
        left = found.left.copy()
        left[:count] *= signs[:, None]
        maps.append(found._replace(left=left, origin=np.zeros(len(left))))
    return maps


class Judgement(NamedTuple):
    """How likely a result is, beside others."""

    reliable: float
    weight: float  # of the result, if one of the maps is right
    others: list[tuple[Trial, float]]  # different maps and their weights, the likeliest first
    better: tuple[int, MapCandidate] | None  # a view and a map that is likelier
    part: tuple[Sides, ...]
    trials: list[Trial]


def judge(
    best: Finished,
    agreed: float,
    views: tuple[Sides, ...],
    maps: list[list[MapCandidate]],
    search: Callable[[int], list[MapCandidate]],
    rng: np.random.Generator,
    device: str | None,
    advance: Advance,
    before: Judgement | None = None,
) -> Judgement:
    """Compare a result with other maps, of which more are looked for if its confidence `agreed` is not high."""
    is_sure = agreed >= SURE and not are_few(best.sides)
    if before is None:
        part, trials = part_of(views, rng), []
        for place, sides in enumerate(part):
            if place == len(maps):
                if is_sure:
                    break
                maps.append(search(place))
            trials += _trials(sides, maps[place], 0 if is_sure else ROUNDS, device)
            advance(1)
    else:
        part, trials = before.part, before.trials
    place = next(place for place, view in enumerate(views) if view.rows == best.sides.rows)
    own = trial(part[place], best.map, "best", 0.0, device, 0)
    kept = distinct([own, *trials])
    weights = weights_of(kept)
    is_own = np.array([difference(one.finished, own.finished) < MAX_SAME for one in kept])
    weight = float(weights[is_own].sum())
    others = [(kept[k], float(weights[k])) for k in np.argsort(-weights) if not is_own[k]]
    better = None
    if before is None and not is_sure and others and others[0][1] > weight:
        one = others[0][0]
        view = next(place for place, view in enumerate(views) if view.rows == one.finished.sides.rows)
        better = view, MapCandidate(one.finished.map, one.left, one.name, one.seconds)
    left = min(one.left for one, same in zip(kept, is_own, strict=True) if same)
    return Judgement(weight * max(agreed, fit_of(left)), weight, others, better, part, trials)


def _trials(sides: Sides, maps: Sequence[MapCandidate], rounds: int, device: str | None) -> list[Trial]:
    """Maps of one view, and mirror images of the one that leaves least."""
    found = [trial(sides, one.map, one.name, one.seconds, device, rounds) for one in maps]
    least = min(found, key=lambda one: one.left)
    mirrored = [
        trial(sides, one, f"{least.name}, mirrored", 0.0, device, rounds) for one in flipped(least.finished.map)
    ]
    return found + mirrored
