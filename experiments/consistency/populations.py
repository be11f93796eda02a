"""Spaces of which everything is known: how to draw points, and how likely a point lies within x of two others."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import anchorot as ao

Floats = NDArray[np.float64]
X_CELLS = 250  # of costs, for integrals
REACH = 0.5  # the largest distance of all spaces of one kind of points


@dataclass(frozen=True)
class Homogeneous:
    """A space whose points all see the same distances, of diameter 1/2 and mass 1.

    Attributes
    ----------
    draw : callable
        Returns points, drawn uniformly; rows.
    costs : callable
        Distances between the rows of two arrays.
    cdf : callable
        Share of the space within x of any point.
    regular : callable
        Points spread evenly, to integrate over.
    places : callable
        Points that stand for all of them as seen from the first regular one, by symmetry, with equal masses.
    """

    draw: Callable[[np.random.Generator, int], Floats]
    costs: Callable[[Floats, Floats], Floats]
    cdf: Callable[[Floats], Floats]
    regular: Callable[[], Floats]
    places: Callable[[], Floats]

    def sample(self, rng: np.random.Generator, n: int) -> ao.Space:
        """Draw a space of n points."""
        points = self.draw(rng, n)
        return ao.Space(self.costs(points, points), copy=False)

    def apart(self, x: Floats) -> Floats:
        """(places, x): the share of the space within x of just one of two points, the first regular one and another."""
        points = self.regular()
        own = self.costs(points[:1], points)[0]
        shares = []
        for place in self.places():
            other = self.costs(place[None], points)[0]
            near, far = np.sort(np.minimum(own, other)), np.sort(np.maximum(own, other))
            shares.append(np.searchsorted(near, x, side="right") - np.searchsorted(far, x, side="right"))
        return np.array(shares) / len(points)


@dataclass(frozen=True)
class Interval:
    """Points on [0, 1] with the distribution function u^power."""

    power: float

    def sample(self, rng: np.random.Generator, n: int) -> ao.Space:
        """Draw a space of n points."""
        places = self.quantile(rng.random(n))
        return ao.Space(np.abs(places[:, None] - places), copy=False)

    def quantile(self, share: Floats) -> Floats:
        """Places with these shares of the points below."""
        found: Floats = share ** (1 / self.power)
        return found

    def mass(self, low: Floats, high: Floats) -> Floats:
        """Share of the points between two places; 0 if the first is not the lower one."""
        ends = (np.clip(end, 0, 1) ** self.power for end in (low, high))
        return np.maximum(-np.subtract(*ends), 0)


def midpoints(cells: int) -> Floats:
    """Middles of equal cells of [0, 1]."""
    return (np.arange(cells) + 0.5) / cells


def _around(a: Floats, b: Floats) -> Floats:
    """How far numbers of two arrays are apart on a circle of length 1."""
    gap = np.abs(a[:, None] - b)
    return np.minimum(gap, 1 - gap)


def _on_sphere(height: Floats, turn: Floats) -> Floats:
    radius = np.sqrt(1 - height**2)
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), height])


def _draw_sphere(rng: np.random.Generator, n: int) -> Floats:
    return _on_sphere(rng.uniform(-1, 1, n), rng.uniform(0, 2 * np.pi, n))


def _spiral() -> Floats:
    n = 10_000
    points = _on_sphere(1 - 2 * midpoints(n), np.pi * (3 - np.sqrt(5)) * np.arange(n))
    points[0] = 0, 0, 1  # what all others are seen from
    return points


def _torus_costs(a: Floats, b: Floats) -> Floats:
    return np.hypot(_around(a[:, 0], b[:, 0]), _around(a[:, 1], b[:, 1])) / np.sqrt(2)


def _torus_cdf(x: Floats) -> Floats:
    """Area of a disc of radius r in the unit square: a circle's, less four segments beyond its sides."""
    r = np.sqrt(2) * x
    safe = np.maximum(r, 0.5)
    segment = safe**2 * np.arccos(0.5 / safe) - 0.5 * np.sqrt(safe**2 - 0.25)
    return np.minimum(np.pi * r**2 - np.where(r > 0.5, 4 * segment, 0), 1)


def _lattice(side: int, width: float) -> Floats:
    line = width * midpoints(side)
    return np.array(np.meshgrid(line, line)).reshape(2, -1).T


def _torus_lattice() -> Floats:
    points = _lattice(101, 1.0)
    return (points - points[0]) % 1


HOMOGENEOUS = {
    "circle": Homogeneous(
        draw=lambda rng, n: rng.random((n, 1)),
        costs=lambda a, b: _around(a[:, 0], b[:, 0]),
        cdf=lambda x: np.minimum(2 * x, 1),
        regular=lambda: np.arange(10_000)[:, None] / 10_000,
        places=lambda: midpoints(200)[:, None] / 2,
    ),
    "sphere": Homogeneous(
        draw=_draw_sphere,
        costs=lambda a, b: np.arccos(np.clip(a @ b.T, -1, 1)) / (2 * np.pi),
        cdf=lambda x: (1 - np.cos(2 * np.pi * np.minimum(x, 0.5))) / 2,
        regular=_spiral,
        places=lambda: _on_sphere(1 - 2 * midpoints(200), np.zeros(200)),
    ),
    "torus": Homogeneous(
        draw=lambda rng, n: rng.random((n, 2)),
        costs=_torus_costs,
        cdf=_torus_cdf,
        regular=_torus_lattice,
        places=lambda: _lattice(16, 0.5),
    ),
}
INTERVALS = {"interval": Interval(1.0), "ramp": Interval(2.0)}
POPULATIONS: dict[str, Homogeneous | Interval] = {**HOMOGENEOUS, **INTERVALS}
