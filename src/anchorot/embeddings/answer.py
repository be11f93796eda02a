"""From maps to the answer: the best one, finished on all points, its rivals, and how sure one can be."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from anchorot._typing import Float64s, Floats
from anchorot.embeddings.confidence import chances, temperature_of
from anchorot.embeddings.fit import (
    MAX_RIVAL_EXCESS,
    ROUNDING,
    SIMILAR_MAP,
    Candidate,
    Finished,
    Search,
    Side,
    finish,
    start_of,
)
from anchorot.embeddings.pairs import pairs_of
from anchorot.embeddings.result import EmbeddingAlignment, EmbeddingRival

SOFT_BLUR = 4.0  # temperature of what is carried over: neighbours that are as good in kind have a say
MAX_RIVALS = 2  # that are finished on all points
MIN_RIVAL_DIFFERENCE = 0.1  # of the points matched otherwise make another answer


def answer(
    rows: Float64s,
    others: Float64s,
    metric: str,
    n_landmarks: int | None,
    rng: np.random.Generator,
    device: str | None,
) -> EmbeddingAlignment:
    """Find the map from rows to others."""
    x, y = Side.of(rows), Side.of(others)
    search = Search(x, y, n_landmarks, rng)
    candidates, agree = search.candidates()
    best = finish(x, y, candidates[0].map, device, rng)
    rivals = [
        one
        for one in candidates[1:]
        if one.objective <= (1 + MAX_RIVAL_EXCESS) * candidates[0].objective + ROUNDING
        and search.difference(candidates[0].map, one.map) >= SIMILAR_MAP
    ][:MAX_RIVALS]
    best, rival = _best_and_rival(best, rivals, x, y, device, rng)
    own = best.matches >= 0
    left = best.map.moved(x.points[own]) - best.map.others(y.points[best.matches[own]])
    temperature = SOFT_BLUR * temperature_of(left)
    rotation = best.map.left @ best.map.right.T
    scale = best.map.stretch * y.unit / x.unit
    origin, target = x.mean + x.unit * best.map.origin, y.mean + y.unit * best.map.target
    return EmbeddingAlignment(
        matches=best.matches,
        confidence=chances(best, None if rival is None else rival.matches),
        rotation=rotation,
        scale=scale,
        offset=target - scale * (origin @ rotation),
        metric=metric,
        objective=best.objective,
        starts=tuple(start_of(one) for one in candidates),
        runner_up=rival,
        converged=agree and best.converged,
        n_second=len(others),
        masses=partial(_soft, best.map.moved(x.points), best.map.others(y.points), temperature, device),
    )


def _soft(points: Floats, others: Floats, temperature: float, device: str | None) -> Any:
    """Where points might belong, by their distances after the map."""
    return pairs_of(points, others, device).shares(temperature)


def _best_and_rival(
    best: Finished, candidates: list[Candidate], x: Side, y: Side, device: str | None, rng: np.random.Generator
) -> tuple[Finished, EmbeddingRival | None]:
    """The best of what candidates lead to on all points, and another answer that is about as good."""
    rival: Finished | None = None
    for one in candidates:
        other = finish(x, y, one.map, device, rng)
        if np.mean(other.matches != best.matches) <= MIN_RIVAL_DIFFERENCE:
            continue
        if other.objective < best.objective:
            best, other = other, best
        if rival is None or other.objective < rival.objective:
            rival = other
    if rival is None or rival.objective > (1 + MAX_RIVAL_EXCESS) * best.objective + ROUNDING:
        return best, None
    differs = float(np.mean(rival.matches != best.matches))
    if differs <= MIN_RIVAL_DIFFERENCE:
        return best, None
    return best, EmbeddingRival(rival.matches, rival.objective, differs, rival.map.left @ rival.map.right.T)
