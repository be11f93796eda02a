"""More points than a plan can hold: landmarks are aligned, and all other points by their distances to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from anchorot._html import card
from anchorot._typing import Float64s, Int64s
from anchorot._units import unit_of
from anchorot._validate import check_overflow
from anchorot.distances.alignment import Alignment, Correspondence, Rival, Start, differing
from anchorot.distances.confidence import NEIGHBOURS, DenseEvidence
from anchorot.distances.landmarks import Distances, Landmarks, agreement, farthest
from anchorot.exceptions import InputError

COMPONENTS = 40  # of the vectors of distances, which lie near a surface of few dimensions
ROUNDS = 6
NEIGHBOURHOOD_SHARE = 0.05  # of the largest distance
MIRROR_PENALTY = 1.5  # times as large: how much better a map that mirrors a surface must be than one that does not
EXACT_DISCREPANCY = 1e-4  # of the unit: maps of a smaller discrepancy are as good as exact
MIN_GAIN = 0.005  # of the discrepancy: what another round must gain

Float32s = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class DenseRival:
    """The other of two dense maps that were tried, as it was before landmarks moved.

    Attributes
    ----------
    matches : ndarray of shape (n,)
    discrepancy : float
    agreement : float or None
        As in `DenseAlignment`.
    differs : float
        Share of the first thing's points that it matches otherwise.
    """

    matches: Int64s = field(repr=False)
    discrepancy: float
    agreement: float | None
    differs: float


@dataclass(frozen=True, eq=False)
class DenseAlignment(Correspondence):
    """Which point of a large thing is which of another.

    Attributes
    ----------
    matches : ndarray of shape (n,)
        The match of every point of the first; -1 for points that take no part: of weight zero, or outside the largest
        component of a mesh. Several points may have one match.
    discrepancy : float
        Root mean square, over points and landmarks, of the difference between a point's distance to a landmark and
        its match's distance to the landmark's match. In the units of the distances.
    agreement : float or None
        Between two meshes: how far points and matches agree on what is left and right, seen from outside. Below 0 the
        map mirrors. None for clouds, spaces, and meshes whose faces do not tell inside from outside.
    landmarks : (ndarray of shape (k,), ndarray of shape (l,))
        The points of both sides that `alignment` is about.
    alignment : Alignment
        Of the landmarks, with `value`, `bound`, `starts` and `runner_up`.
    rounds : int
        How often all points were matched anew after landmarks had moved to where the others say they belong.
    runner_up : DenseRival or None
        If the landmarks' alignment has a runner-up, both are extended. If both mirror, another answer is looked for
        that does not. This is the best of those not kept.
    from_runner_up : bool
        Whether it is the landmarks' runner-up that was kept.
    n_second : int
        Number of points of the second.
    evidence : DenseEvidence
        What `confidence` is computed from, when that is asked for.
    """

    matches: Int64s
    discrepancy: float
    agreement: float | None
    landmarks: tuple[Int64s, Int64s]
    alignment: Alignment
    rounds: int
    runner_up: DenseRival | None
    from_runner_up: bool
    n_second: int
    evidence: DenseEvidence = field(repr=False)

    @cached_property
    def confidence(self) -> Float64s:
        """Estimated chance that every point's match is right, to within twice the spacing of the landmarks, shape (n,).

        The spacing is the largest distance of any point to a landmark; 0 without a match. From what landmarks near the
        point show: whether their neighbours stay neighbours, and whether other starts and other dense maps agree.
        `docs/alignment.md` says how well that holds on which data.
        """
        return self.evidence.confidence()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points of either thing."""
        return len(self.matches), self.n_second

    @property
    def starts(self) -> tuple[Start, ...]:
        """All that was tried for the landmarks, best first."""
        return self.alignment.starts

    @property
    def converged(self) -> bool:
        """Whether the landmarks' alignment did."""
        return self.alignment.converged

    def __repr__(self) -> str:
        sizes = " x ".join(str(len(side)) for side in self.landmarks)
        rival = ", with a runner-up" if self.runner_up is not None else ""
        count = f"{len(self.matches)} -> {self.n_second} points, {sizes} landmarks"
        return f"DenseAlignment({count}, discrepancy={self.discrepancy:.6g}{rival})"

    def _repr_html_(self) -> str:
        rival = self.runner_up
        differs = None if rival is None else f"{rival.discrepancy:.6g}, differs on {100 * rival.differs:.3g} %"
        facts = {
            "points": f"{len(self.matches)} and {self.n_second}, {100 * np.mean(self.matches >= 0):.4g} % matched",
            "landmarks": " and ".join(str(len(side)) for side in self.landmarks),
            "discrepancy": f"{self.discrepancy:.6g}",
            "agreement": None if self.agreement is None else f"{self.agreement:.3g}",
            "runner-up": differs or "none",
        }
        return card("DenseAlignment", facts)


class Measured:
    """A large thing, its distances checked and less a number that both sides share: only differences are compared."""

    def __init__(self, source: Distances) -> None:
        self._source, self._origin = source, 0.0
        self.total, self.kept, self.begin = source.total, source.kept, source.begin
        self.space, self.turns = source.space, source.turns

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
        reach = max(float(row.max()) for row in rows) - first._origin
        check_overflow(reach, 1)
        return first, second, unit_of(reach)


class Map(NamedTuple):
    """A dense map; points are places in the kept ones of either side."""

    matches: Int64s
    targets: Int64s  # (k,): what the first side's landmarks are taken for
    rows: Float32s  # (k, m): distances from there
    discrepancy: float  # in units
    agreement: float | None

    @property
    def is_mirrored(self) -> bool:
        """Whether left and right are exchanged, as far as that is known."""
        return self.agreement is not None and self.agreement < 0

    @property
    def badness(self) -> float:
        """The discrepancy, and more of it for a map that mirrors."""
        return self.discrepancy * MIRROR_PENALTY + EXACT_DISCREPANCY if self.is_mirrored else self.discrepancy


class Pair(NamedTuple):
    """Two large things seen from their landmarks."""

    first: Landmarks
    second: Landmarks
    turns: tuple[Float64s, Float64s] | None
    basis: Float32s  # (k, c): directions in which the first side's vectors of distances vary most

    @classmethod
    def of(cls, x: Distances, y: Distances, n_landmarks: int) -> Pair:
        """Choose landmarks on both sides, and measure from there in one unit."""
        *sides, unit = Measured.both(x, y)
        first, second = (farthest(side, n_landmarks, unit) for side in sides)
        own, other = x.turns(first.rows), y.turns(second.rows)
        return cls(first, second, None if own is None or other is None else (own, other), _basis(first.rows))

    def turns_of_landmarks(self) -> list[Float64s]:
        """Turns around every landmark of either side: those of single points are too rough to lead anywhere."""
        reach = NEIGHBOURHOOD_SHARE * max(float(side.rows.max()) for side in self[:2])
        smooth = []
        for side, turn in zip(self[:2], self.turns or (), strict=True):
            near = (np.exp(-np.square(row / reach)) for row in side.rows)
            smooth.append(np.array([float(weights @ turn / weights.sum()) for weights in near]))
        return [values / (np.linalg.norm(values) or 1.0) * len(values) ** 0.5 for values in smooth]

    def mapped(self, targets: Int64s, rows: Float32s) -> Map:
        """Match all points by their distances to landmarks, which are taken for `targets`."""
        if len(self.first.chosen) == self.first.rows.shape[1]:  # all points are landmarks: they have their matches
            matches = targets
        else:
            matches = nearest(self.first.rows.T @ self.basis, rows.T @ self.basis)
        turn = None if self.turns is None else agreement(self.turns[0], self.turns[1][matches])
        return Map(matches, targets, rows, _discrepancy(self.first.rows, rows, matches), turn)

    def refined(self, start: Map) -> tuple[Map, int]:
        """Let landmarks move to the matches that the map gives them and match all points anew, while that helps."""
        best, rounds = start, 0
        while rounds < ROUNDS:
            targets = best.matches[self.first.chosen]
            moved = np.flatnonzero(targets != best.targets)
            if len(moved) == 0:
                break
            rows = best.rows.copy()
            rows[moved] = self.second.rows_of(targets[moved])
            found = self.mapped(targets, rows)
            if found.discrepancy >= (1 - MIN_GAIN) * best.discrepancy:
                break
            best, rounds = found, rounds + 1
        return best, rounds


class Candidate(NamedTuple):
    """A dense map and where it is from."""

    map: Map
    alignment: Alignment
    from_runner_up: bool


def align_densely(x: Distances, y: Distances, n_landmarks: int, solve: Callable[..., Alignment]) -> DenseAlignment:
    """Align landmarks by `solve`, then all points by their distances to them; of all answers keep the best."""
    pair = Pair.of(x, y, n_landmarks)
    spaces = pair.first.space, pair.second.space
    candidates = _candidates(pair, solve(*spaces))
    if pair.turns is not None and candidates[0].map.is_mirrored:
        # Turns lead to a plan that does not mirror, if there is one; without them it becomes one of the costs' own.
        plan = solve(*spaces, features=pair.turns_of_landmarks()).plan
        candidates = sorted(candidates + _candidates(pair, solve(*spaces, start=plan)), key=lambda one: one.map.badness)
    best, final, rounds = _best(pair, candidates)
    others = [one.map for one in candidates if one is not best]
    unit = pair.first.unit

    def numbered(matches: Int64s) -> Int64s:
        out = np.full(x.total, -1)
        out[x.kept] = y.kept[matches]
        return out

    matches = numbered(final.matches)
    rivals = [
        DenseRival(own, one.discrepancy * unit, one.agreement, differing(matches, own))
        for own, one in ((numbered(one.matches), one) for one in others)
    ]
    return DenseAlignment(
        matches=matches,
        discrepancy=final.discrepancy * unit,
        agreement=final.agreement,
        landmarks=(x.kept[pair.first.chosen], y.kept[pair.second.chosen]),
        alignment=best.alignment,
        rounds=rounds,
        runner_up=rivals[0] if rivals else None,
        from_runner_up=best.from_runner_up,
        n_second=y.total,
        evidence=_evidence(pair, best, final, others, matches),
    )


def _evidence(pair: Pair, best: Candidate, final: Map, others: list[Map], matches: Int64s) -> DenseEvidence:
    """What is needed of distances to landmarks in order to say how sure matches are."""
    rows = pair.first.rows
    spacing = float(final.rows.min(axis=0).max())
    count = min(NEIGHBOURS, len(rows))
    near = np.argpartition(rows, count - 1, axis=0)[:count]
    moved = ((np.abs(final.rows[:, one.matches] - final.rows[:, final.matches]).max(axis=0), one) for one in others)
    shown = best.alignment.evidence
    return DenseEvidence(
        matches=matches,
        costs=(rows[:, pair.first.chosen].astype(np.float64), final.rows[:, final.targets].astype(np.float64)),
        around=near,
        own=_answer(best.alignment, best.from_runner_up).matches,
        others=((shown.matches, 0.0), *shown.others) if best.from_runner_up else shown.others,
        elsewhere=tuple((by > 2 * spacing, (one.badness / (best.map.badness or 1.0)) ** 2 - 1.0) for by, one in moved),
        is_mirrored=final.is_mirrored,
    )


def _answer(found: Alignment, is_runner_up: bool) -> Alignment | Rival:
    """The alignment itself, or its runner-up."""
    return found.runner_up if is_runner_up and found.runner_up is not None else found


def _best(pair: Pair, candidates: list[Candidate]) -> tuple[Candidate, Map, int]:
    """The best candidate, refined, and in how many rounds; a mirror image must stay better than what is none."""
    finalists = candidates[:1]
    if candidates[0].map.is_mirrored:
        finalists = finalists + [one for one in candidates if not one.map.is_mirrored][:1]
    refined = [(one, *pair.refined(one.map)) for one in finalists]
    return min(refined, key=lambda one: one[1].badness)


def _candidates(pair: Pair, found: Alignment) -> list[Candidate]:
    """Dense maps from an alignment of the landmarks and from its runner-up, the better first."""
    answers: list[Alignment | Rival] = [found] if found.runner_up is None else [found, found.runner_up]
    maps = [pair.mapped(pair.second.chosen[answer.matches], pair.second.rows[answer.matches]) for answer in answers]
    return sorted(
        (Candidate(one, found, answer is not found) for one, answer in zip(maps, answers, strict=True)),
        key=lambda one: one.map.badness,
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


def _discrepancy(rows: Float32s, others: Float32s, matches: Int64s) -> float:
    total = sum(
        float(np.square(own - other[matches]).sum(dtype=np.float64)) for own, other in zip(rows, others, strict=True)
    )
    return float(np.sqrt(total / rows.size))
