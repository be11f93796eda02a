"""From maps to the answer: the best one, finished on all points, its rivals, and how sure one can be."""

from __future__ import annotations

from functools import partial

import numpy as np

from anchorot._typing import Float64s
from anchorot.embeddings.fit import Finished, Search, Side, finish, start_of
from anchorot.embeddings.pairs import pairs_of
from anchorot.embeddings.result import EmbeddingAlignment, EmbeddingRival

MAX_RIVAL_EXCESS = 0.02  # of the best objective: a map that is worse by no more is about as good
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
    best = finish(x.points, y.points, candidates[0].map, device)
    rival = None
    for one in candidates[1:]:
        if one.objective <= (1 + MAX_RIVAL_EXCESS) * candidates[0].objective:
            other = finish(x.points, y.points, one.map, device)
            differs = float(np.mean(other.matches != best.matches))
            if differs > MIN_RIVAL_DIFFERENCE and other.objective <= (1 + MAX_RIVAL_EXCESS) * best.objective:
                rotation = other.map.left @ other.map.right.T
                rival = EmbeddingRival(other.matches, other.objective, differs, rotation)
                break
    masses = partial(_masses, x.points, y.points, best, device)
    shares = masses()
    own = np.flatnonzero(best.matches >= 0)
    confidence = np.zeros(len(rows))
    confidence[own] = np.asarray(shares[own, best.matches[own]]).ravel()
    rotation = best.map.left @ best.map.right.T
    scale = best.map.stretch * y.unit / x.unit
    origin, target = x.mean + x.unit * best.map.origin, y.mean + y.unit * best.map.target
    return EmbeddingAlignment(
        matches=best.matches,
        confidence=np.minimum(confidence, 1.0),
        rotation=rotation,
        scale=scale,
        offset=target - scale * (origin @ rotation),
        metric=metric,
        objective=best.objective,
        starts=tuple(start_of(one) for one in candidates),
        runner_up=rival,
        converged=agree and best.converged,
        n_second=len(others),
        masses=masses,
    )


def _masses(x: Float64s, y: Float64s, best: Finished, device: str | None) -> object:
    own = best.residuals[best.matches >= 0]
    pairs = pairs_of(best.map.moved(x), best.map.others(y), device)
    left = best.map.moved(x[best.matches >= 0]) - best.map.others(y[best.matches[best.matches >= 0]])
    spectrum = np.square(np.linalg.svd(left, compute_uv=False))
    directions = spectrum.sum() ** 2 / max(float(np.square(spectrum).sum()), 1e-300)
    return pairs.shares(max(2 * float(own.mean()) / max(directions, 1.0), 1e-12))
