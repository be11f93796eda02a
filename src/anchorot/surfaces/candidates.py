"""Maps that may be right, from landmarks aligned in several ways, refined on a sample of either surface."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot.distances.align import align
from anchorot.distances.alignment import Alignment
from anchorot.surfaces.shape import Shape
from anchorot.surfaces.upsampling import upsampled

SAMPLE_SIZES = (20, 30, 40, 50, 65, 80, 100)


class Lead(NamedTuple):
    """What leads landmarks to an answer before distances alone refine it."""

    name: str
    uses_even: bool
    alpha: float  # share of the distances
    start: str


LEADS = (
    Lead("turns", False, 0.5, "anchors"),
    Lead("turns, from afar", False, 0.3, "product"),
    Lead("signatures", True, 0.5, "anchors"),
    Lead("signatures, from afar", True, 0.3, "product"),
)


class Candidate(NamedTuple):
    """A map from the sample of one shape to vertices of the other."""

    name: str
    image: Int64s
    seconds: float


def candidates(first: Shape, second: Shape, rng: RngLike, threads: int) -> list[Candidate]:
    """Align the landmarks by distances alone and by every lead; each answer and runner-up makes a map."""
    spaces = first.space, second.space
    found: list[Candidate] = []
    begin = time.perf_counter()

    def add(name: str, matches: Int64s) -> None:
        nonlocal begin
        refined = refined_on_sample(first, second, matches)
        now = time.perf_counter()
        found.append(Candidate(name, refined, now - begin))
        begin = now

    def add_both(name: str, answer: Alignment) -> None:
        add(name, answer.matches)
        if answer.runner_up is not None:
            add(f"{name}, runner-up", answer.runner_up.matches)

    add_both("distances", align(*spaces, rng=rng, threads=threads))
    for lead in LEADS:
        features = _features(first, lead), _features(second, lead)
        led = align(*spaces, features=features, alpha=lead.alpha, start=lead.start, rng=rng, threads=threads)
        add(lead.name, led.matches)
        add_both(f"{lead.name}, then distances", align(*spaces, start=led.plan, rng=rng, threads=threads))
    return found


def _features(shape: Shape, lead: Lead) -> Float64s:
    even, turns = shape.signatures.at(shape.landmarks)
    return np.hstack([even, turns]) if lead.uses_even else turns


def refined_on_sample(first: Shape, second: Shape, matches: Int64s) -> Int64s:
    """Refine a map of landmarks, the first points of a sample: the vertex that every sampled point goes to."""
    x, y = first.sample, second.sample
    nearest = first.rows[:, x.chosen].argmin(axis=0)
    start = matches[nearest]
    found = upsampled(first.functions[x.chosen], x.mass, second.functions[y.chosen], start, SAMPLE_SIZES)
    return y.chosen[found]
