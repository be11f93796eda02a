"""Match vertices: two meshes in, a `MeshAlignment` out."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anchorot._parallel import interruptible
from anchorot._progress import Advance, late_bar
from anchorot._typing import Int64s, RngLike
from anchorot._validate import check_rng, check_threads
from anchorot.align.correspondence import MIN_DIFFERENCE, Candidate, find_runner_up, warn_if_unreliable
from anchorot.align.meshes.candidates import RoughMap, candidates, differing
from anchorot.align.meshes.refine import MAX_SOURCES, fitted, sharpened, sharpened_image
from anchorot.align.meshes.result import MeshAlignment
from anchorot.align.meshes.score import Scores, local_confidence, scores_of, staying
from anchorot.align.meshes.shape import Shape, in_own_unit, root_of_area, smoothed
from anchorot.align.spaces.pipeline import check_mass
from anchorot.exceptions import InputError
from anchorot.io.meshes import Surface, open_mesh, surface_of
from anchorot.io.safe_open import about
from anchorot.space import Space

N_STEPS = 100  # about: candidates that are made and those that are sharpened
N_FINALISTS = 5  # candidates that are sharpened; chosen by hand
MIN_RUNNER_UP_SHARE = 0.2  # of the chosen map's probability: what a runner-up must have
MAX_SIZE_RATIO = 50.0  # of a mesh to its part, in roots of the area: a smaller one gets no landmark of 300


def align_meshes(
    x: Any,
    y: Any,
    *,
    mass: float | str | None = None,
    rng: RngLike = None,
    threads: int = 1,
    progress: bool = True,
) -> MeshAlignment:
    """Match the vertices of two meshes, and tell left from right.

    Landmarks are aligned by their distances along the surface, and by signatures that tell left from right; each result
    is refined by 20 to 150 eigenfunctions of the Laplacian, until it is a map of all vertices. Distances alone cannot
    tell a body's left from its right, and hardly its front from its back, so there are several candidates, among them
    the images of each under the symmetries of either surface. The choice between them uses the orientation of the
    surface: where it bulges, which way one turns, and whether neighbourhoods are moved by a proper rotation. Such
    rotations finally sharpen the chosen map, unless `mass` is given.

    Parameters
    ----------
    x, y : path, trimesh.Trimesh, or pair of arrays
        Triangle meshes, as :func:`from_mesh` takes them. Of several components the largest is kept, with a warning.
        Faces may have either orientation, and are made consistent. Sizes do not matter, unless `mass` is given.
    mass : float from 1e-9 to 1, or "free", optional
        Match only this share of the points, by their weights.
        For parts, such as a scan that lacks a limb: the share is that of the landmarks. "free" leaves out those that
        fit far worse than the rest. Both meshes must then be in the same units.
    rng : None, int or numpy.random.Generator
        Seed of the random choices.
        It decides between matches that symmetry makes equal.
    threads : int
        Threads of the kernels; the result does not depend on it.
        They align landmarks; matrix products use the threads of the BLAS library.
    progress : bool
        Show a bar after a second of work, on a terminal or in a notebook.

    Returns
    -------
    MeshAlignment
        With `matches`, a `confidence` for every vertex, `reliable`, `candidates`, `orientation` and more. Where
        `reliable`, the estimated chance that the map is the right way round, is below 0.5, there is a
        `ConvergenceWarning`.

    Notes ----- Two meshes of 5 000 vertices take some ten seconds on one core, and 0.5 GB; two of 52 000 take 90
    seconds, and 0.9 GB. Candidates are made and compared on samples of 1 000 vertices; the last step takes O(n m)
    products of rows of 150 numbers. Meshes of 10 000 vertices and more are smoothed first, by a round of averages over
    neighbours for every 5 000 vertices: otherwise noise as large as an edge crumples the surface, and distorts areas
    and distances.

    Examples
    --------
    >>> import numpy as np
    >>> import trimesh
    >>> import anchorot as ao
    >>> ball = trimesh.creation.icosphere(2)
    >>> egg = ball.vertices * [1, 1.3, 1.9] + 0.2 * ball.vertices**2
    >>> order = np.random.default_rng(0).permutation(len(egg))
    >>> found = ao.align_meshes((egg, ball.faces), (egg[order], np.argsort(order)[ball.faces]))
    >>> bool((order[found.matches] == np.arange(len(egg))).all()), found.is_mirrored
    (True, False)
    """
    share, threads = check_mass(mass), check_threads(threads)
    check_rng(rng)
    for thing in (x, y):
        _check_kind(thing)
    with late_bar(N_STEPS, "aligning", "steps", progress) as advance:
        found = interruptible(lambda: solve(x, y, share, rng, threads, advance))
    warn_if_unreliable(found.reliable, found.remedies, stacklevel=2)
    return found


def _check_kind(thing: Any) -> None:
    """Refuse what has no faces, and say what takes it."""
    if isinstance(thing, Space):
        raise InputError("got a Space, but meshes are needed; use align(x, y), with n_landmarks= for a large space")
    if isinstance(thing, np.ndarray) or (isinstance(thing, list) and len(thing) != 2):
        raise InputError("got points without faces, but meshes are needed; align(x, y, n_landmarks=300) takes points")


class Judged(NamedTuple):
    """A candidate, what it looks like, and the match of every vertex."""

    candidate: RoughMap
    scores: Scores
    matches: Int64s


def solve(
    first: Any, second: Any, mass: float | str | None, rng: RngLike, threads: int, advance: Advance
) -> MeshAlignment:
    """Align two meshes: compare candidates, sharpen the best ones, and choose one."""
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
    reliable = best.scores.probability * _staying(x, y, judged, table)
    confidence = np.zeros(x.total)
    confidence[x.kept] = reliable * local_confidence(x, y, best.candidate.image)
    return MeshAlignment(
        matches=table[0].matches,
        confidence=np.where(table[0].matches >= 0, confidence, 0.0),
        reliable=reliable,
        objective=table[0].objective,
        candidates=tuple(table),
        runner_up=find_runner_up(table, (1 - MIN_RUNNER_UP_SHARE) * best.scores.probability),
        n_second=y.total,
    )


def _staying(x: Shape, y: Shape, judged: list[Judged], table: list[Candidate]) -> float:
    """Share of the surface that stays in a likely map; where the chosen one mirrors, of those that do so too."""
    others = [
        place
        for place, one in enumerate(judged)
        if table[place].differs > MIN_DIFFERENCE and one.scores.is_mirrored >= judged[0].scores.is_mirrored
    ]
    compared = [judged[place] for place in (0, *others)]
    images, is_mirrored = [one.candidate.image for one in compared], [one.scores.is_mirrored for one in compared]
    return staying(x, y, images, is_mirrored, np.array([0.0, *(table[place].differs for place in others)]))


def _numbered(x: Shape, y: Shape, matches: Int64s) -> Int64s:
    """Matches by the numbers that the vertices of both meshes have."""
    out = np.full(x.total, -1)
    out[x.kept] = np.where(matches >= 0, y.kept[matches], -1)
    return out
