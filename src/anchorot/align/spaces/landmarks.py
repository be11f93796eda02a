"""More points than a plan can hold: landmarks are aligned, and all other points by their distances to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_overflow
from anchorot.align.correspondence import Candidate, Correspondence, excess_allowed, find_runner_up
from anchorot.align.plans import share_differing
from anchorot.align.spaces.reliability import judge
from anchorot.align.spaces.result import Alignment
from anchorot.align.spaces.score import NEIGHBOURS, DenseEvidence, Evidence
from anchorot.distances.landmarks import Distances, Landmarks, farthest
from anchorot.exceptions import InputError
from anchorot.space import Space

COMPONENTS = 40  # of the vectors of distances, which lie near a surface of few dimensions
ROUNDS = 6  # in which landmarks move, at the most; they rarely gain MIN_GAIN as often
MIN_GAIN = 0.005  # of the discrepancy: what another round must gain

Float32s = NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class DenseAlignment(Correspondence):
    """An alignment by landmarks: the match of every point, and the alignment of the landmarks.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        The match of every point of the first; -1 for points that take no part: of weight zero, or outside the largest
        component of a mesh. Several points may have one match.
    objective : float
        Root mean square, over points and landmarks, of the difference between a point's distance to a landmark and
        its match's distance to the landmark's match. In the units of the first side's distances; the second side's are
        brought to their size.
    candidates : tuple of Candidate
        The maps that were compared, best first: the landmarks' alignment extended to all points, and its runner-up.
    runner_up : Candidate or None
        The other map, as it was before landmarks moved, if it is about as good.
    converged : bool
        Whether the landmarks' alignment converged, and landmarks stopped moving.
    landmarks : (ndarray of shape (k,), ndarray of shape (l,))
        The points of both sides that `alignment` is about.
    alignment : Alignment
        Of the landmarks, with `value`, `bound`, and `candidates` of its own.
    rounds : int
        How often landmarks moved to where the other points place them, and all points were matched again.
    n_second : int
        Number of points of the second.
    """

    matches: Int64s
    objective: float
    candidates: tuple[Candidate, ...]
    runner_up: Candidate | None
    converged: bool
    landmarks: tuple[Int64s, Int64s]
    alignment: Alignment
    rounds: int
    n_second: int
    _evidence: DenseEvidence = field(repr=False)
    _landmarks_evidence: Evidence = field(repr=False)

    method = "align, by landmarks"
    remedies = "other distances or more landmarks may help"

    @cached_property
    def confidence(self) -> Float64s:
        """Estimated chance that every point's match is right, to within twice the spacing of the landmarks, shape (n,).

        The spacing is the largest distance of any point to a landmark; 0 without a match. From what landmarks near the
        point show: whether their neighbours stay neighbours, and whether other starts and other dense maps agree.
        `docs/alignment.md` says how well that holds on which data.
        """
        return self._evidence.confidence()

    @cached_property
    def reliable(self) -> float:
        """Estimated chance that the map as a whole is right: that of the landmarks' matches that it began with.

        As :attr:`Alignment.reliable`; :func:`align` warns where it is below 0.5.
        """
        return judge(self._landmarks_evidence).reliable

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either thing."""
        return len(self.matches), self.n_second

    def _own_facts(self, full: bool) -> dict[str, str]:
        return {
            "landmarks": " and ".join(str(len(side)) for side in self.landmarks),
            "mean difference of distances": f"{self.objective:.6g}",
            "loss of the landmarks": f"{self.alignment.value:.6g}",
        }


class Measured:
    """A large thing, its distances checked and less a number that both sides share: only differences are compared."""

    def __init__(self, source: Distances) -> None:
        self._source, self._origin = source, 0.0
        self.total, self.kept, self.begin = source.total, source.kept, source.begin
        self.space = source.space

    def row(self, point: int) -> Float64s:
        """Distances from a point to all."""
        found = self._source.row(point).astype(np.float64)
        if not np.isfinite(found).all():
            raise InputError(
                "distances exceed the range of float64; divide all points by their largest coordinate first"
            )
        return found - self._origin

    @classmethod
    def both(cls, x: Distances, y: Distances) -> tuple[Self, Self, float]:
        """Measure two things from one origin; also return a unit for both."""
        first, second = cls(x), cls(y)
        rows = first.row(first.begin), second.row(second.begin)
        first._origin = second._origin = min(float(row.min()) for row in rows)
        max_cost = max(float(row.max()) for row in rows) - first._origin
        check_overflow(max_cost, 1)
        return first, second, unit_of(max_cost)


class Map(NamedTuple):
    """A dense map; points are places in the kept ones of either side."""

    matches: Int64s
    targets: Int64s  # (k,): what the first side's landmarks are taken for
    rows: Float32s  # (k, m): distances from there
    scale: float  # what they are multiplied with, so that landmarks are as far apart on both sides
    discrepancy: float  # in units


class Pair(NamedTuple):
    """Two large things seen from their landmarks."""

    first: Landmarks
    second: Landmarks
    basis: Float32s  # (k, c): directions in which the first side's vectors of distances vary most

    @classmethod
    def of(cls, x: Distances, y: Distances, n_landmarks: int) -> Pair:
        """Choose landmarks on both sides, and measure from there in one unit."""
        *sides, unit = Measured.both(x, y)
        first, second = (farthest(side, n_landmarks, unit) for side in sides)
        return cls(first, second, _basis(first.rows))

    def map_all(self, targets: Int64s, rows: Float32s) -> Map:
        """Match all points by their distances to landmarks, which are taken for `targets`."""
        sizes = [
            float(np.square(side[:, ends]).mean(dtype=np.float64))
            for side, ends in ((self.first.rows, self.first.chosen), (rows, targets))
        ]
        scale = float(np.sqrt(sizes[0] / sizes[1])) if min(sizes) > 0 else 1.0
        if len(self.first.chosen) == self.first.rows.shape[1]:  # all points are landmarks: they have their matches
            matches = targets
        else:
            matches = nearest(self.first.rows.T @ self.basis, np.float32(scale) * (rows.T @ self.basis))
        return Map(matches, targets, rows, scale, _discrepancy(self.first.rows, rows, scale, matches))

    def map_from(self, matches: Int64s) -> Map:
        """Match all points after landmarks' matches are given."""
        return self.map_all(self.second.chosen[matches], self.second.rows[matches])

    def refine(self, start: Map) -> tuple[Map, int]:
        """Let landmarks move to the matches that the map gives them and match all points anew, while that helps."""
        best, rounds = start, 0
        while rounds < ROUNDS:
            targets = best.matches[self.first.chosen]
            moved = np.flatnonzero(targets != best.targets)
            if len(moved) == 0:
                break
            rows = best.rows.copy()
            rows[moved] = self.second.rows_of(targets[moved])
            found = self.map_all(targets, rows)
            if found.discrepancy >= (1 - MIN_GAIN) * best.discrepancy:
                break
            best, rounds = found, rounds + 1
        return best, rounds


def align_densely(
    x: Distances, y: Distances, n_landmarks: int, solve: Callable[[Space, Space], Alignment]
) -> DenseAlignment:
    """Align landmarks by `solve`, extend its alignment and its runner-up to all points, and keep the better map."""
    pair = Pair.of(x, y, n_landmarks)
    found = solve(pair.first.space, pair.second.space)
    begin = time.perf_counter()
    ends = [found.candidates[0], *([found.runner_up] if found.runner_up is not None else [])]
    maps = [(pair.map_from(one.matches), one) for one in ends]
    (best, source), *others = sorted(maps, key=lambda one: one[0].discrepancy)
    final, rounds = pair.refine(best)
    unit = pair.first.unit
    seconds = time.perf_counter() - begin

    def number_all(matches: Int64s) -> Int64s:
        out = np.full(x.total, -1)
        out[x.kept] = y.kept[matches]
        return out

    matches = number_all(final.matches)
    candidates = [
        Candidate(
            name=start.name,
            objective=one.discrepancy * unit,
            seconds=start.seconds + seconds,
            matches=own,
            differs=share_differing(matches, own),
            details={"rounds": count},
        )
        for one, start, count, own in (
            (one, start, count, number_all(one.matches))
            for one, start, count in ((final, source, rounds), *((one, start, 0) for one, start in others))
        )
    ]
    before = replace(candidates[0], objective=best.discrepancy * unit)  # before landmarks moved, in both maps
    excess = excess_allowed(before.objective, float(pair.first.rows.std()) * unit)
    return DenseAlignment(
        matches=matches,
        objective=final.discrepancy * unit,
        candidates=tuple(candidates),
        runner_up=find_runner_up([before, *candidates[1:]], excess),
        converged=found.converged and rounds < ROUNDS,
        landmarks=(x.kept[pair.first.chosen], y.kept[pair.second.chosen]),
        alignment=found,
        rounds=rounds,
        n_second=y.total,
        _evidence=_evidence(pair, found, source is not ends[0], (best, final, [one for one, _ in others]), matches),
        _landmarks_evidence=_from_runner_up(found) if source is not ends[0] else found._evidence,
    )


def _from_runner_up(found: Alignment) -> Evidence:
    """What is known of landmarks that have the runner-up's matches."""
    assert found.runner_up is not None
    shown = found._evidence
    return shown._replace(matches=found.runner_up.matches, others=((shown.matches, 0.0), *shown.others))


def _evidence(
    pair: Pair, found: Alignment, is_runner_up: bool, maps: tuple[Map, Map, list[Map]], matches: Int64s
) -> DenseEvidence:
    """What is needed of distances to landmarks in order to say how sure matches are."""
    rows, (best, final, others) = pair.first.rows, maps
    spacing = float(final.rows.min(axis=0).max())
    count = min(NEIGHBOURS, len(rows))
    near = np.argpartition(rows, count - 1, axis=0)[:count]
    moved = ((np.abs(final.rows[:, one.matches] - final.rows[:, final.matches]).max(axis=0), one) for one in others)
    shown, other = found._evidence, found.runner_up if is_runner_up else None
    return DenseEvidence(
        matches=matches,
        costs=(rows[:, pair.first.chosen].astype(np.float64), final.rows[:, final.targets].astype(np.float64)),
        around=near,
        own=found.matches if other is None else other.matches,
        others=shown.others if other is None else ((shown.matches, 0.0), *shown.others),
        elsewhere=tuple(
            (by > 2 * spacing, (one.discrepancy / (best.discrepancy or 1.0)) ** 2 - 1.0) for by, one in moved
        ),
    )


def _basis(rows: Float32s) -> Float32s:
    """Directions (k, c) in which the points' vectors of distances vary most."""
    mean = rows.mean(axis=1, dtype=np.float64)
    scatter = (rows @ rows.T).astype(np.float64) / rows.shape[1] - np.outer(mean, mean)
    return np.linalg.eigh(scatter)[1][:, -COMPONENTS:].astype(np.float32)


def nearest(points: Float32s, among: Float32s) -> Int64s:
    """The nearest of some vectors to every point; by a tree, since vectors of distances fill few dimensions."""
    from scipy.spatial import KDTree

    return np.asarray(KDTree(among).query(points)[1], np.int64)


def _discrepancy(rows: Float32s, others: Float32s, scale: float, matches: Int64s) -> float:
    total = sum(
        float(np.square(own - np.float32(scale) * other[matches]).sum(dtype=np.float64))
        for own, other in zip(rows, others, strict=True)
    )
    return float(np.sqrt(total / rows.size))
