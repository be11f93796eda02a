"""Two meshes in, candidates compared, the best ones sharpened, one of them out: a `MeshAlignment`."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anchorot._progress import Advance
from anchorot._typing import Int64s, RngLike
from anchorot.align.correspondence import Candidate, find_runner_up
from anchorot.align.meshes.candidates import RoughMap, candidates, differing
from anchorot.align.meshes.refine import MAX_SOURCES, fitted, sharpened, sharpened_image
from anchorot.align.meshes.result import MeshAlignment
from anchorot.align.meshes.score import Scores, local_confidence, scores_of
from anchorot.align.meshes.shape import Shape, in_own_unit, root_of_area, smoothed
from anchorot.exceptions import InputError
from anchorot.io.meshes import Surface, open_mesh, surface_of
from anchorot.io.safe_open import about

N_FINALISTS = 5
MIN_RUNNER_UP_SHARE = 0.2  # of the chosen map's probability: what a runner-up must have
MAX_SIZE_RATIO = 50.0  # of a mesh to its part, in roots of the area: a smaller one gets no landmark of 300


class Judged(NamedTuple):
    """A candidate, what it looks like, and the match of every vertex."""

    candidate: RoughMap
    scores: Scores
    matches: Int64s


def solve(
    first: Any, second: Any, mass: float | str | None, rng: RngLike, threads: int, advance: Advance
) -> MeshAlignment:
    """Align two meshes."""
    is_part = mass is not None
    (surface, size, unit), (other, other_size, other_unit) = _measured(first), _measured(second)
    if is_part:  # as large as they are
        ratio = _checked_ratio((size / other_size) * (unit / other_unit))
        size, other_size = size * max(1.0, 1 / ratio), other_size * max(1.0, ratio)
    x, y = Shape.of(surface, size), Shape.of(other, other_size)
    found = [(scores_of(x, y, one.image), one) for one in candidates(x, y, mass, rng, threads, advance)]
    if not found:
        raise InputError(f"mass={mass:g} is too little to match any landmark; give a larger share")
    found.sort(key=lambda pair: -pair[0].log_odds)
    finalists = []
    for _, one in found[:N_FINALISTS]:
        finalists.append(_sharpened(x, y, one, is_part))
        advance(1)
    finalists.sort(key=lambda judged: -judged.scores.log_odds)
    if len(x.vertices) > MAX_SOURCES:
        finalists[0] = finalists[0]._replace(matches=sharpened(x, y, finalists[0].candidate.image, is_part=is_part))
    if not is_part:
        is_mirrored = (finalists[0].scores.orientation or 0.0) < 0
        finalists[0] = finalists[0]._replace(matches=fitted(x, y, finalists[0].matches, is_mirrored=is_mirrored))
    others = [Judged(one, scores, one.image[x.sample.owner]) for scores, one in found[N_FINALISTS:]]
    return _result(x, y, [*finalists, *others])


def _measured(thing: Any) -> tuple[Surface, float, float]:
    """Read a mesh: its surface, the root of its area, and the unit that both are in; errors name its file."""
    mesh = open_mesh(thing)
    with about(Path(mesh.name)) if isinstance(thing, str | os.PathLike) else nullcontext():
        surface, unit = in_own_unit(surface_of(mesh))
        surface = smoothed(surface)
        return surface, root_of_area(surface), unit


def _checked_ratio(ratio: float) -> float:
    """How many times as large the first mesh is as the second, if one can be a part of the other."""
    if not 1 / MAX_SIZE_RATIO <= ratio <= MAX_SIZE_RATIO:
        raise InputError(
            f"the first mesh is {ratio:.3g} times as large as the second, but with mass= both must be in the same "
            "units; scale one of them, or leave mass out"
        )
    return ratio


def _sharpened(x: Shape, y: Shape, one: RoughMap, is_part: bool) -> Judged:
    """Sharpen a candidate, on the whole surface unless that is large, and look at it again."""
    if len(x.vertices) > MAX_SOURCES:
        image = sharpened_image(x, y, one.image)
        matches = image[x.sample.owner]
    else:
        matches = sharpened(x, y, one.image, is_part=is_part)
        image = matches[x.sample.chosen]
    return Judged(one._replace(image=image), scores_of(x, y, image), matches)


def _result(x: Shape, y: Shape, judged: list[Judged]) -> MeshAlignment:
    best = judged[0]
    weights = x.sample.mass / x.sample.mass.sum()
    table = [
        Candidate(
            name=one.candidate.name,
            objective=1 - one.scores.probability,
            seconds=one.candidate.seconds,
            matches=_numbered(x, y, one.matches),
            differs=differing(weights, y.vertices, best.candidate.image, one.candidate.image),
            details={
                name: getattr(one.scores, name)
                for name in ("orientation", "distortion", "curvature", "turns", "rigidity")
            },
        )
        for one in judged
    ]
    reliable = 1 - table[0].objective
    confidence = np.zeros(x.total)
    confidence[x.kept] = reliable * local_confidence(x, y, best.candidate.image)
    return MeshAlignment(
        matches=table[0].matches,
        confidence=np.where(table[0].matches >= 0, confidence, 0.0),
        reliable=reliable,
        objective=table[0].objective,
        candidates=tuple(table),
        runner_up=find_runner_up(table, (1 - MIN_RUNNER_UP_SHARE) * reliable),
        n_second=y.total,
    )


def _numbered(x: Shape, y: Shape, matches: Int64s) -> Int64s:
    """Matches by the numbers that the vertices of both meshes have."""
    out = np.full(x.total, -1)
    out[x.kept] = np.where(matches >= 0, y.kept[matches], -1)
    return out
