"""Candidates are made, compared, the best one is sharpened: a `MeshAlignment`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from anchorot._typing import Int64s, RngLike
from anchorot.distances.align import align
from anchorot.surfaces.choice import Scores, scores_of
from anchorot.surfaces.result import MeshAlignment, MeshCandidate
from anchorot.surfaces.shape import Shape
from anchorot.surfaces.upsampling import upsampled

FULL_SIZES = (20, 30, 40, 50, 60, 75, 90, 105, 120, 135, 150)


def answer(first: Any, second: Any, mass: float | str | None, rng: RngLike, threads: int) -> MeshAlignment:
    """Align two meshes."""
    x, y = Shape.of(first), Shape.of(second)
    begin = time.perf_counter()
    found = align(x.space, y.space, rng=rng, threads=threads)
    options = [("landmarks", found.matches)]
    if found.runner_up is not None:
        options.append(("landmarks, runner-up", found.runner_up.matches))
    candidates = []
    for name, matches in options:
        whole = np.full(len(x.kept), -1)
        whole[x.landmarks] = y.landmarks[matches]
        start = _extended(x, y, whole)
        full = upsampled(x.functions, x.mass, y.functions, start, FULL_SIZES)
        scores = scores_of(x, y, full)
        candidates.append(_candidate(name, x, y, full, scores, time.perf_counter() - begin))
    candidates.sort(key=lambda one: -one.probability)
    best = candidates[0]
    reliable = best.probability
    rivals = [one for one in candidates[1:] if one.differs > 0.1]
    return MeshAlignment(
        best.matches,
        np.where(best.matches >= 0, reliable, 0.0),
        reliable,
        tuple(candidates),
        rivals[0] if rivals else None,
        y.total,
    )


def _extended(x: Shape, y: Shape, matches: Int64s) -> Int64s:
    """All vertices go where the nearest landmark goes."""
    nearest = x.landmarks[x.rows.argmin(axis=0)]
    return matches[nearest]


def _candidate(name: str, x: Shape, y: Shape, matches: Int64s, scores: Scores, seconds: float) -> MeshCandidate:
    numbered = np.full(x.total, -1)
    numbered[x.kept] = y.kept[matches]
    value = 6 * ((scores.orientation or 0.0) - 2 * scores.distortion + scores.curvature - 1.0)
    return MeshCandidate(name, numbered, *scores, 1 / (1 + float(np.exp(-value))), 0.0, seconds)
