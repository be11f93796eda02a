"""Two embeddings in, a map and matches out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._parallel import interruptible
from anchorot._progress import Advance, late_bar
from anchorot._typing import Float64s, Floats, Int64s, RngLike
from anchorot._validate import check_choice, check_device, check_integer, check_rng
from anchorot.align.correspondence import Candidate, excess_allowed, find_runner_up, warn_if_unreliable
from anchorot.align.embeddings.candidates import Map, MapCandidate, Search
from anchorot.align.embeddings.pairs import BlurredPairs
from anchorot.align.embeddings.plausible import Judgement, judge
from anchorot.align.embeddings.refine import Finished, are_few, carried, finish, fit_and_assign
from anchorot.align.embeddings.result import EmbeddingAlignment, check_embedding
from anchorot.align.embeddings.retrieval import map_of_pairs
from anchorot.align.embeddings.score import HeldOut, chances, held_out
from anchorot.align.embeddings.sides import Side, Sides, unit_rows
from anchorot.align.plans import share_differing
from anchorot.align.truth import numbered_pairs
from anchorot.exceptions import InputError

METRICS = ("auto", "cosine", "euclidean")
N_STEPS = 40  # about: draws, and rounds on all points
SOFT_BLUR = 4.0  # of the noise, in what is carried over: neighbours that are as good in kind have a say
MAX_RUNNERS_UP = 2  # that are finished on all points
MAX_VOTING = 8  # maps
MIN_VOTE = 0.01  # weight of a map that has a vote
UNRELATED_OBJECTIVE = 2.0  # mean squared distance of unrelated points, each of variance 1
WHICH = ("the first side", "the second side")


def align_embeddings(
    x: ArrayLike,
    y: ArrayLike,
    *,
    metric: str = "auto",
    seeds: Iterable[tuple[int, int]] | Mapping[int, int] | None = None,
    n_landmarks: int | None = None,
    rng: RngLike = None,
    device: str | None = None,
    progress: bool = True,
) -> EmbeddingAlignment:
    """Match the points of two embeddings, and find the rotation between them, without known pairs.

    A few hundred points of each side are aligned by the distances within each. The resulting map grows from the main
    directions to all. Several draws of points are tried until two agree. Finally, rounds of assignment and rotation
    refine the map on all points. The two sides need not have the same dimension or number of points, nor be the same
    objects: the map is found from the shapes of the two clouds. Where it cannot be found, ten known pairs may do.

    Parameters
    ----------
    x, y : array_like of shape (n, d) and (m, e)
        One row for each point.
    metric : {"auto", "cosine", "euclidean"}
        Whether directions alone count ("cosine": rows are brought to length 1), or positions do, up to a common scale
        ("euclidean"). "auto" tries directions, as seen from the mean, and positions, and keeps what more points agree
        on. A shift of either side then changes nothing, unless neither explains the two sides: then "cosine" is tried.
    seeds : iterable of pairs (i, j) or mapping, optional
        Pairs of points that are known to match.
        Row i of `x` and row j of `y`; the map begins with them.
    n_landmarks : int, optional
        Points of each side that are aligned first, by their distances.
        400 by default. More take longer, and help where the two clouds are hardly alike.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
        It decides which points are drawn.
    device : str, optional
        Where PyTorch (extra ``torch``) does the heavy work, "cuda", say.
        That is the search for nearest points, of 10 000 points and more.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    EmbeddingAlignment
        With `matches`, `rotation`, `scale`, `offset`, ``transform(X_new)``, ``inverse_transform(Y_new)``, ``top_k(k)``,
        ``retrieve(X_new, k)``, a `confidence` for each point, `reliable` for the whole, `candidates`, `runner_up` and
        more.

    Warns
    -----
    ConvergenceWarning
        If `reliable` is below 0.5: no map was found that can be trusted.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> rng = np.random.default_rng(0)
    >>> points, order = rng.normal(size=(60, 4)) * (4, 3, 2, 1), rng.permutation(60)
    >>> turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    >>> found = ao.align_embeddings(points, 7 * points[order] @ turn, rng=0)
    >>> bool((order[found.matches] == np.arange(60)).all()), bool(np.allclose(found.rotation, turn))
    (True, True)
    """
    found = solve(x, y, metric, seeds, n_landmarks, rng, device, progress)
    warn_if_unreliable(found.reliable, found.remedies, stacklevel=2)
    return found


def solve(
    x: ArrayLike,
    y: ArrayLike,
    metric: str,
    seeds: Iterable[tuple[int, int]] | Mapping[int, int] | None,
    n_landmarks: int | None,
    rng: RngLike,
    device: str | None,
    progress: bool,
) -> EmbeddingAlignment:
    """Check the arguments, and find the map; without a warning."""
    check_choice(metric, "metric", METRICS)
    rows, others = (unit_rows(check_embedding(side, name), name, metric) for side, name in ((x, "x"), (y, "y")))
    count = None if n_landmarks is None else check_integer(n_landmarks, "n_landmarks", 2)
    known = _known(seeds, len(rows), len(others))
    where, generator = check_device(device), check_rng(rng)
    with late_bar(N_STEPS, "aligning", "steps", progress) as advance:
        return interruptible(
            lambda: _Pipeline(rows, others, metric, known, count, generator, where, advance).solve(),
            max(len(rows), len(others)),
        )


def _known(seeds: Iterable[Any] | None, n: int, m: int) -> Int64s | None:
    """The matches of known points, -1 elsewhere; None if none is known."""
    pairs = numbered_pairs(seeds, (range(n), range(m)), "seeds", WHICH, ("point", "side"))
    if not len(pairs):
        return None
    found = np.full(n, -1)
    found[pairs[:, 0]] = pairs[:, 1]
    return found


class _Solution(NamedTuple):
    """A finished map, with what held-out points say about it."""

    finished: Finished
    held_out: HeldOut
    chances: Float64s
    name: str
    seconds: float


class _Pipeline:
    """One alignment, step by step."""

    def __init__(
        self,
        rows: Float64s,
        others: Float64s,
        metric: str,
        known: Int64s | None,
        n_landmarks: int | None,
        rng: np.random.Generator,
        device: str | None,
        advance: Advance,
    ) -> None:
        self._metric, self._known, self._n_landmarks = metric, known, n_landmarks
        self._rng, self._device, self._advance = rng, device, advance
        raw = Sides("unit" if metric == "cosine" else "raw", Side.of(rows), Side.of(others))
        self._given = raw
        self._views: tuple[Sides, ...] = (raw,)
        if metric == "auto":
            cosine = Sides("cosine", Side.of_cosines(rows), Side.of_cosines(others))
            self._views = (Sides("unit", raw.x.directions(), raw.y.directions()), raw, cosine)

    def solve(self) -> EmbeddingAlignment:
        """Search, finish, judge; and where another map explains more than the first, finish that."""
        maps: list[list[MapCandidate]] = []
        if self._known is None:
            maps.append(self._candidates(0))
            first = maps[0][0]
        else:
            first = self._of_seeds(self._known)
        best = self._solution(0, first)
        judgement = self._judge(best, maps)
        if judgement.better is not None and self._known is None:
            view, found = judgement.better
            best = self._solution(view, found)
            judgement = self._judge(best, maps, judgement)
        return self._result(best, judgement)

    def _candidates(self, view: int) -> list[MapCandidate]:
        return Search(self._views[view], self._n_landmarks, self._rng, self._advance).candidates()

    def _of_seeds(self, known: Int64s) -> MapCandidate:
        begin = time.perf_counter()
        found = map_of_pairs(self._views[0], known, self._rng, self._device, self._advance)
        return MapCandidate(found, 0.0, "seeds", time.perf_counter() - begin)

    def _solution(self, view: int, one: MapCandidate) -> _Solution:
        begin = time.perf_counter()
        first = self._views[view]
        views = (first, *(other for other in self._views[:2] if other is not first))
        if first.rows == "cosine":  # the only rows that a shift of a side changes: a last resort
            views = (first,)
        finished = finish(views, one.map, self._device, self._rng, self._advance, self._known)
        left_out = held_out(finished)
        chance = chances(left_out.shares(), finished.matches)
        return _Solution(finished, left_out, chance, one.name, one.seconds + time.perf_counter() - begin)

    def _judge(self, best: _Solution, maps: list[list[MapCandidate]], before: Judgement | None = None) -> Judgement:
        own = best.finished.matches >= 0
        agreed = float(best.chances[own].mean()) if own.any() else 0.0
        found = judge(
            best.finished, agreed, self._views, maps, self._candidates, self._rng, self._device, self._advance, before
        )
        if self._known is not None and are_few(best.finished.sides):
            # a rotation fitted to so few matches leaves little of them, right or wrong: held-out points alone can tell
            return found._replace(reliable=found.weight * agreed)
        return found

    def _result(self, best: _Solution, judgement: Judgement) -> EmbeddingAlignment:
        finished = best.finished
        others = self._runners_up(finished, judgement)
        candidates = [_candidate(finished, best.name, best.seconds, finished), *(one for one, _ in others)]
        runner_up = find_runner_up(candidates, excess_allowed(finished.objective, UNRELATED_OBJECTIVE))
        confidence = best.chances * judgement.weight
        for one, weight in others:  # which agree on some matches
            confidence = np.where(one.matches == finished.matches, confidence + best.chances * weight, confidence)
        if self._known is not None:
            confidence = np.where(self._known >= 0, 1.0, confidence)
        given = self._given
        whole = _in_rows_of(given, finished)
        rotation = (given.x.basis @ whole.left) @ (given.y.basis @ whole.right).T
        with np.errstate(over="ignore", invalid="ignore"):
            scale = whole.stretch * (given.y.unit / given.x.unit)
            origin = given.x.mean + given.x.unit * (given.x.basis @ whole.origin)
            target = given.y.mean + given.y.unit * (given.y.basis @ whole.target)
            offset = target - scale * (origin @ rotation)
        if not (0 < scale < np.inf and np.isfinite(offset).all()):
            raise InputError("x and y differ in size by more than float64 can hold; multiply one of them by a constant")
        return EmbeddingAlignment(
            matches=finished.matches,
            confidence=np.minimum(confidence, 1.0),
            reliable=judgement.reliable,
            rotation=rotation,
            scale=scale,
            offset=offset,
            metric=self._metric,
            rows="raw" if finished.sides.rows == "raw" else "unit",
            objective=finished.objective,
            candidates=tuple(candidates),
            runner_up=runner_up,
            converged=finished.converged,
            n_second=len(given.y.points),
            _sides=finished.sides,
            _map=finished.map,
            _voting=self._voting(best, judgement),
        )

    def _runners_up(self, best: Finished, judgement: Judgement) -> list[tuple[Candidate, float]]:
        """Other maps that may be right, finished on all points in the rows of the best, and their weights."""
        found = []
        for one, weight in judgement.others[:MAX_RUNNERS_UP]:
            if weight < MIN_VOTE:
                break
            begin = time.perf_counter()
            begun = carried(one.finished.map, one.finished.sides, best.sides)
            rounds = 0 if one.few else 1
            other = fit_and_assign(best.sides, begun, rounds, self._device, self._advance)
            seconds = one.seconds + time.perf_counter() - begin
            found.append((_candidate(other, one.name, seconds, best), weight))
        return found

    def _voting(self, best: _Solution, judgement: Judgement) -> tuple[tuple[BlurredPairs, float], ...]:
        """All plausible maps, the places to which they bring the points, and their weights."""
        moved, others = best.finished.places()
        temperature = SOFT_BLUR * best.held_out.temperature
        voting = [(BlurredPairs(moved, others, temperature, self._device), judgement.weight)]
        for one, weight in judgement.others[:MAX_VOTING]:
            if weight >= MIN_VOTE:
                sides = next(view for view in self._views if view.rows == one.finished.sides.rows)
                places = one.finished.map.map_first(sides.x.points), one.finished.map.map_second(sides.y.points)
                temperature = SOFT_BLUR * held_out(one.finished).temperature
                voting.append((BlurredPairs(*places, temperature, self._device), weight))
        total = sum(weight for _, weight in voting)
        return tuple((pairs, weight / total) for pairs, weight in voting)


def _in_rows_of(given: Sides, found: Finished) -> Map:
    """The map between the rows as they were given, with the rotation that was found."""
    if found.sides is given:
        return found.map
    one = carried(found.map, found.sides, given)
    own = np.flatnonzero(found.matches >= 0)
    if not len(own):
        return one
    x, y = given.x.points[own], given.y.points[found.matches[own]]
    return one._replace(origin=x.mean(axis=0), target=y.mean(axis=0)).with_stretch(x, y)


def _candidate(found: Finished, name: str, seconds: float, best: Finished) -> Candidate:
    return Candidate(
        name=name,
        objective=found.objective,
        seconds=seconds,
        matches=found.matches,
        differs=share_differing(best.matches, found.matches),
        details={"converged": found.converged, "rotation": _rotation(found)},
    )


def _rotation(found: Finished) -> Floats:
    return (found.sides.x.basis @ found.map.left) @ (found.sides.y.basis @ found.map.right).T
