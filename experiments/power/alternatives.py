"""Two kinds of small spaces for every way in which collections can differ; side 0 is what nothing was done to."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

Generator = np.random.Generator
N_POINTS = 20
CROSSED = (  # two graphs of six nodes that agree level by level, so that AE is 0, but whose anchors differ
    [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3), (3, 5)],
    [(0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (4, 5)],
)


@dataclass(frozen=True)
class Alternative:
    """A way to differ.

    Attributes
    ----------
    name, told : str
        What it is called, and what side 1 is.
    draw : callable
        Makes a space of side 0 or 1.
    """

    name: str
    told: str
    draw: Callable[[Generator, int], ao.Space]


def alternatives() -> list[Alternative]:
    """All of them."""
    return [
        Alternative("size", "points of a square 8 % larger", _size),
        Alternative("shape", "points of a rectangle of the same area, 1.6 times as long as wide", _shape),
        Alternative("spread", "squares whose sizes vary four times as much, about one mean", _spread),
        Alternative("local", "points in close pairs", _local),
        Alternative("types", "two types on either half instead of everywhere", _types),
        Alternative("outliers", "rectangles again; of all, two points in twenty lie far away", _outliers),
        Alternative("crossed", "graphs that agree with those of side 0 level by level, in many sizes", _crossed),
    ]


def _space(points: NDArray[np.float64], types: NDArray[np.int64]) -> ao.Space:
    gaps = points[:, None] - points
    return ao.Space(np.sqrt((gaps**2).sum(axis=2)), types=types, copy=False)


def _any_types(rng: Generator) -> NDArray[np.int64]:
    return rng.permutation(np.arange(N_POINTS) % 2)


def _square(rng: Generator, size: float = 1.0) -> ao.Space:
    return _space(size * rng.random((N_POINTS, 2)), _any_types(rng))


def _size(rng: Generator, side: int) -> ao.Space:
    return _square(rng, 1.08**side)


def _rectangle(rng: Generator, ratio: float) -> NDArray[np.float64]:
    return rng.random((N_POINTS, 2)) * [np.sqrt(ratio), 1 / np.sqrt(ratio)]


def _shape(rng: Generator, side: int) -> ao.Space:
    return _space(_rectangle(rng, 1.6**side), _any_types(rng))


def _spread(rng: Generator, side: int) -> ao.Space:
    return _square(rng, np.exp((0.2 if side else 0.05) * rng.normal()))


def _local(rng: Generator, side: int) -> ao.Space:
    points = rng.random((N_POINTS, 2))
    if side:
        points[1::2] = points[::2] + 0.05 * rng.normal(size=(N_POINTS // 2, 2))
    return _space(points, _any_types(rng))


def _types(rng: Generator, side: int) -> ao.Space:
    points = rng.random((N_POINTS, 2))
    halves = np.argsort(np.argsort(points[:, 0])) * 2 // N_POINTS
    types = _any_types(rng)
    moved = rng.random(N_POINTS) < 0.6 * side
    return _space(points, np.where(moved, halves, types))


def _outliers(rng: Generator, side: int) -> ao.Space:
    points = _rectangle(rng, 2.0**side)
    points[:2] *= 1 + 10 * np.abs(rng.standard_cauchy((2, 1)))
    return _space(points, _any_types(rng))


def _crossed(rng: Generator, side: int) -> ao.Space:
    space = ao.from_graph(CROSSED[side])
    return ao.Space(np.exp(0.05 * rng.normal()) * space.cost, types=np.zeros(space.n, np.int64), copy=False)
