"""Two embeddings in, a map and matches out."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike

from anchorot._parallel import interruptible
from anchorot._progress import Advance, late_bar
from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_choice, check_device, check_integer, check_rng
from anchorot.align.correspondence import Candidate, excess_allowed, find_runner_up
from anchorot.align.embeddings.candidates import (
    MAX_EXCESS,
    MAX_MAP_DIFFERENCE,
    ROUNDING,
    MapCandidate,
    Search,
    Side,
)
from anchorot.align.embeddings.refine import Finished, finish
from anchorot.align.embeddings.result import BlurredPairs, EmbeddingAlignment, check_embedding, unit_rows
from anchorot.align.embeddings.score import chances, temperature_of
from anchorot.align.plans import share_differing
from anchorot.exceptions import InputError

METRICS = ("cosine", "euclidean")
N_STEPS = 10  # about: draws, and rounds on all points
SOFT_BLUR = 4.0  # temperature of what is carried over: neighbours that are as good in kind have a say
MAX_RUNNERS_UP = 2  # that are finished on all points
UNRELATED_OBJECTIVE = 2.0  # mean squared distance of unrelated points, each of variance 1


def align_embeddings(
    x: ArrayLike,
    y: ArrayLike,
    *,
    metric: str = "cosine",
    n_landmarks: int | None = None,
    rng: RngLike = None,
    device: str | None = None,
    progress: bool = True,
) -> EmbeddingAlignment:
    """Find the rotation that brings one embedding onto another, and which point is which, without known pairs.

    A few hundred points of each side are aligned by the distances within each; the map that follows from that grows
    from the main directions to all; several draws of points are tried, until two agree; rounds of assignment and
    rotation on all points end it. The two sides need not have the same dimension or number of points, nor be the same
    objects: the map is found from the shapes of the two clouds.

    Parameters
    ----------
    x, y : array_like of shape (n, d) and (m, e)
        One row for each point.
    metric : {"cosine", "euclidean"}
        Whether directions alone count (rows are brought to length 1), or positions do, up to a common scale.
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
        a `confidence` for each point, `candidates`, `runner_up` and more.

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
    check_choice(metric, "metric", METRICS)
    first, second = (unit_rows(check_embedding(side, name), name, metric) for side, name in ((x, "x"), (y, "y")))
    count = None if n_landmarks is None else check_integer(n_landmarks, "n_landmarks", 2)
    where, generator = check_device(device), check_rng(rng)
    with late_bar(N_STEPS, "aligning", "steps", progress) as advance:
        return interruptible(
            lambda: solve(first, second, metric, count, generator, where, advance), max(len(first), len(second))
        )


def solve(
    rows: Float64s,
    others: Float64s,
    metric: str,
    n_landmarks: int | None,
    rng: np.random.Generator,
    device: str | None,
    advance: Advance,
) -> EmbeddingAlignment:
    """Find the map from rows to others."""
    x, y = Side.of(rows), Side.of(others)
    search = Search(x, y, n_landmarks, rng, advance)
    maps = search.candidates()
    runners_up = [
        one
        for one in maps[1:]
        if one.objective <= (1 + MAX_EXCESS) * maps[0].objective + ROUNDING
        and search.difference(maps[0].map, one.map) >= MAX_MAP_DIFFERENCE
    ][:MAX_RUNNERS_UP]
    finished = sorted(
        (_finished(one, x, y, device, rng, advance) for one in (maps[0], *runners_up)), key=lambda one: one[0].objective
    )
    best = finished[0][0]
    candidates = [_candidate(*one, best) for one in finished]
    runner_up = find_runner_up(candidates, excess_allowed(best.objective, UNRELATED_OBJECTIVE))
    own = best.matches >= 0
    left = best.map.map_first(x.points[own]) - best.map.map_second(y.points[best.matches[own]])
    temperature = SOFT_BLUR * temperature_of(left)
    rotation = best.map.left @ best.map.right.T
    with np.errstate(over="ignore", invalid="ignore"):
        scale = best.map.stretch * (y.unit / x.unit)
        origin, target = x.mean + x.unit * best.map.origin, y.mean + y.unit * best.map.target
        offset = target - scale * (origin @ rotation)
    if not (0 < scale < np.inf and np.isfinite(offset).all()):
        raise InputError("x and y differ in size by more than float64 can hold; multiply one of them by a constant")
    return EmbeddingAlignment(
        matches=best.matches,
        confidence=chances(best, None if runner_up is None else runner_up.matches),
        rotation=rotation,
        scale=scale,
        offset=offset,
        metric=metric,
        objective=best.objective,
        candidates=tuple(candidates),
        runner_up=runner_up,
        converged=best.converged,
        n_second=len(others),
        _blurred=BlurredPairs(best.map.map_first(x.points), best.map.map_second(y.points), temperature, device),
    )


def _finished(
    one: MapCandidate, x: Side, y: Side, device: str | None, rng: np.random.Generator, advance: Advance
) -> tuple[Finished, str, float]:
    """A map fitted to all points, with its name and the time that all of it took."""
    begin = time.perf_counter()
    found = finish(x, y, one.map, device, rng, advance)
    return found, one.name, one.seconds + time.perf_counter() - begin


def _candidate(found: Finished, name: str, seconds: float, best: Finished) -> Candidate:
    return Candidate(
        name=name,
        objective=found.objective,
        seconds=seconds,
        matches=found.matches,
        differs=share_differing(best.matches, found.matches),
        details={"converged": found.converged, "rotation": found.map.left @ found.map.right.T},
    )
