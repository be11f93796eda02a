"""Maps that may be right, on samples of two surfaces: many rough ones, refined, and their images under symmetries.

Rough maps come from landmarks aligned by distances, alone or after signatures and turns have led them somewhere, and
from signatures alone, each point going to the most similar one. Nearly all that go wrong are right up to a symmetry of
the body: left for right, front for back, or both. So each surface is mapped to itself with all turns reversed, far away
(left and right exchanged) and nearby (front and back); composed with these, a wrong map becomes a right one. In the end
all maps are blended, place by place the one that fits best.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from anchorot._progress import Advance, no_progress
from anchorot._typing import Float64s, Int64s, RngLike
from anchorot.align.meshes.refine import ROUGH_SIZES, nearest_rows, refined
from anchorot.align.meshes.score import distortion, local_misfits, misfits, orientation
from anchorot.align.meshes.shape import Shape
from anchorot.align.spaces.pipeline import solve_alignment
from anchorot.align.spaces.result import Alignment

EVEN_WEIGHTS = (0.5, 2.0)  # of even signatures, where turns count 1
SIMILAR_SIZES = ((6, 6, 6, 10, 14), (10, 10, 10, 14), (20, 20, 20))  # of eigenfunctions, before ROUGH_SIZES
NEARBY_SIZES = ((15, 15), (30, 30))  # likewise, for exchanging front and back; how they were chosen was not recorded
N_LOW = 8  # eigenfunctions that do not tell front from back
NEARBY_WEIGHTS = (0.15, 0.4, 1.0)  # of signatures, where these eigenfunctions count 1
N_INTRINSIC_EVEN, N_INTRINSIC_TURNS = 4, 6  # signatures that do not depend on how the surface bulges
SAME = 0.05  # of the surface going elsewhere, by FAR, makes another map
FAR = 0.1  # roots of the area
BLEND_REACHES = (0.15, 0.3, 0.6)  # of the places at which the best map is taken


class Lead(NamedTuple):
    """What guides landmarks before distances alone refine it."""

    name: str
    uses_even: bool
    alpha: float  # share of the distances
    start: str


LEADS = (  # how the shares were chosen was not recorded
    Lead("turns", False, 0.5, "anchors"),
    Lead("turns, from afar", False, 0.3, "product"),
    Lead("signatures", True, 0.5, "anchors"),
    Lead("signatures, from afar", True, 0.3, "product"),
)


class RoughMap(NamedTuple):
    """A map from the sample of one shape to vertices of the other."""

    name: str
    image: Int64s
    seconds: float


class Pool:
    """Candidates that differ from each other, with the time that each took."""

    def __init__(self, first: Shape, second: Shape, advance: Advance) -> None:
        self._weights = first.sample.mass / first.sample.mass.sum()
        self._sites, self._advance = second.vertices, advance
        self.found: list[RoughMap] = []
        self._begin = time.perf_counter()

    def add(self, name: str, image: Int64s) -> None:
        """Add a map, unless one like it is there."""
        now = time.perf_counter()
        if all(differing(self._weights, self._sites, image, other.image) > SAME for other in self.found):
            self.found.append(RoughMap(name, image, now - self._begin))
        self._begin = now
        self._advance(1)


def differing(weights: Float64s, sites: Float64s, image: Int64s, other: Int64s) -> float:
    """Share of the surface that two maps send to places far from each other."""
    return float(weights @ (np.linalg.norm(sites[image] - sites[other], axis=1) > FAR))


def candidates(
    first: Shape,
    second: Shape,
    mass: float | str | None,
    rng: RngLike,
    threads: int,
    advance: Advance = no_progress,
) -> list[RoughMap]:
    """Make all candidates; those of parts (`mass`) from landmarks alone."""
    pool = Pool(first, second, advance)
    _add_aligned(pool, first, second, mass, rng, threads)
    if mass is not None:
        return pool.found
    for weight in EVEN_WEIGHTS:
        image = most_similar(first, second, weight)
        for sizes in SIMILAR_SIZES:
            pool.add(f"most similar, {sizes[0]}", refined(first, second, image, (*sizes, *ROUGH_SIZES)))
    own, other = symmetries(first), symmetries(second)
    for one in list(pool.found):
        images = {f"{name} of the second": flip[second.sample.owner[one.image]] for name, flip in other.items()}
        images |= {f"{name} of the first": one.image[first.sample.owner[flip]] for name, flip in own.items()}
        if len(other) == 2:
            left, front = (flip[second.sample.owner] for flip in other.values())
            images["both of the second"] = left[front[one.image]]
        for name, image in images.items():
            pool.add(f"{one.name}: {name}", refined(first, second, image, (20, *ROUGH_SIZES)))
    images_found = [one.image for one in pool.found]
    for reach in BLEND_REACHES:
        image = _blended(first, second, images_found, reach)
        pool.add(f"blend, {reach}", refined(first, second, image, (20, 20, *ROUGH_SIZES)))
    return pool.found


def _blended(first: Shape, second: Shape, images: list[Int64s], reach: float) -> Int64s:
    """Take, place by place, the map that fits best around it: one may be right above the waist, another below."""
    misfit = np.stack([local_misfits(first, second, image, reach) for image in images])
    nearest = first.rows[:, first.sample.chosen].argmin(axis=0)
    return np.stack(images)[misfit.argmin(axis=0)[nearest], np.arange(len(nearest))]


def _add_aligned(pool: Pool, first: Shape, second: Shape, mass: float | str | None, rng: RngLike, threads: int) -> None:
    """Align the landmarks by distances alone and by every lead; each result and runner-up makes a map."""
    is_part = mass is not None
    areas = np.array([first.mass.sum(), second.mass.sum()])  # parts have as many landmarks as they are large
    sizes = [len(first.landmarks), len(second.landmarks)]
    n, m = np.maximum(2, np.rint(sizes * areas / areas.max()).astype(int)).tolist() if is_part else sizes
    spaces = first.space(n), second.space(m)
    nearest = first.rows[:n, first.sample.chosen].argmin(axis=0)

    def add(name: str, matches: Int64s) -> None:
        image = np.where(matches >= 0, second.landmarks[matches], -1)[nearest]
        if (image >= 0).any():
            pool.add(name, refined(first, second, image, ROUGH_SIZES, is_part=is_part))

    def add_both(name: str, found: Alignment) -> None:
        add(name, found.matches)
        if found.runner_up is not None:
            add(f"{name}, runner-up", found.runner_up.matches)

    add_both("distances", solve_alignment(*spaces, mass=mass, rng=rng, threads=threads, progress=False))
    for lead in LEADS:
        features = _features(first, lead)[:n], _features(second, lead)[:m]
        led = solve_alignment(
            *spaces,
            start=lead.start,
            alpha=lead.alpha,
            features=features,
            mass=mass,
            rng=rng,
            threads=threads,
            progress=False,
        )
        add(lead.name, led.matches)
        then = solve_alignment(*spaces, start=led.plan, mass=mass, rng=rng, threads=threads, progress=False)
        add_both(f"{lead.name}, then distances", then)


def _features(shape: Shape, lead: Lead) -> Float64s:
    even, turns = shape.signatures.at(shape.landmarks)
    return np.hstack([even, turns]) if lead.uses_even else turns


def most_similar(first: Shape, second: Shape, weight: float, turn: int = 1) -> Int64s:
    """Send every sampled point to that of the most similar signatures; with ``turn=-1`` of reversed turns."""
    x, y = first.signatures.at(first.sample.chosen), second.signatures.at(second.sample.chosen)
    rows = np.hstack([weight * x.even, x.turns]), np.hstack([weight * y.even, turn * y.turns])
    return second.sample.chosen[nearest_rows(*(side.astype(np.float32) for side in rows))]


def symmetries(shape: Shape) -> dict[str, Int64s]:
    """Maps of a surface to itself that mirror it: to the other side, and from front to back."""
    far = [
        refined(shape, shape, most_similar(shape, shape, weight, -1), (*sizes, *ROUGH_SIZES))
        for weight in EVEN_WEIGHTS
        for sizes in SIMILAR_SIZES
    ]
    near = [
        refined(shape, shape, _nearby(shape, weight), (*sizes, *(k for k in ROUGH_SIZES if k > sizes[0])))
        for weight in NEARBY_WEIGHTS
        for sizes in NEARBY_SIZES
    ]

    def symmetry_cost(image: Int64s) -> float:
        return sum(float(misfits(shape, shape, image, reach)[1].mean()) for reach in (0.1, 0.2)) + 4 * distortion(
            shape, shape, image
        )

    def sense(image: Int64s) -> float:
        return orientation(shape, shape, image) or 0.0

    return {"left and right": min(far, key=symmetry_cost), "front and back": min(near, key=sense)}


def _nearby(shape: Shape, weight: float) -> Int64s:
    """Send every sampled point to one nearby, by a few eigenfunctions, of reversed turns."""
    chosen = shape.sample.chosen
    even, turns = shape.signatures.at(chosen)
    even, turns = weight * even[:, :N_INTRINSIC_EVEN], weight * turns[:, :N_INTRINSIC_TURNS]
    place = shape.functions[chosen, :N_LOW] / np.sqrt(N_LOW)
    rows = np.hstack([place, even, turns]), np.hstack([place, even, -turns])
    return chosen[nearest_rows(*(side.astype(np.float32) for side in rows))]
