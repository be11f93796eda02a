"""Shapes and graphs that are made, by a seed: several kinds in several sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer
from anchorot.datasets.collection import Dataset
from anchorot.io import from_graph, from_points
from anchorot.space import Space

MADE, NO_LICENCE = "made by a seed", "none needed: made"
Rng = np.random.Generator
Edges = list[tuple[int, int]]


def sphere(n: int, rng: Rng) -> Float64s:
    """Random points on a sphere of radius 3."""
    points = rng.normal(size=(n, 3))
    return 3 * points / np.linalg.norm(points, axis=1, keepdims=True)


def torus(n: int, rng: Rng) -> Float64s:
    """Random points on a torus of radii 3 and 0.5."""
    u, v = rng.uniform(0, 2 * np.pi, size=(2, n))
    reach = 3 + 0.5 * np.cos(v)
    return np.stack([reach * np.cos(u), reach * np.sin(u), 0.5 * np.sin(v)], axis=1)


def spring(n: int, rng: Rng) -> Float64s:
    """Random points on five turns of a spring of radius 0.7 and length 9."""
    u = rng.uniform(0, 10 * np.pi, size=n)
    return np.stack([0.7 * np.cos(u), 0.7 * np.sin(u), 0.9 * u / np.pi], axis=1)


def dumbbell(n: int, rng: Rng) -> Float64s:
    """Random points in two balls, six apart, one twice as heavy as the other."""
    side = np.where(np.arange(n) < n // 3, -3.0, 3.0)
    return 0.6 * rng.normal(size=(n, 3)) + np.array([1.0, 0.0, 0.0]) * side[:, None]


def ring(n: int, rng: Rng) -> Edges:
    """Return a ring in which each node is joined to the next five."""
    return [(i, (i + step) % n) for i in range(n) for step in range(1, 6)]


def tree(n: int, rng: Rng) -> Edges:
    """Return a random tree: each node hangs on a random earlier one."""
    return [(i, int(rng.integers(i))) for i in range(1, n)]


def scale_free(n: int, rng: Rng) -> Edges:
    """Return a Barabási-Albert graph: each node joins two earlier ones, in proportion to their degrees."""
    edges = [(0, 1), (1, 2), (2, 0)]
    ends = [node for edge in edges for node in edge]
    for node in range(3, n):
        chosen: set[int] = set()
        while len(chosen) < 2:
            chosen.add(ends[int(rng.integers(len(ends)))])
        for other in sorted(chosen):
            edges.append((node, other))
            ends += [node, other]
    return edges


SHAPES: dict[str, Callable[[int, Rng], Float64s]] = {
    "sphere": sphere,
    "torus": torus,
    "spring": spring,
    "dumbbell": dumbbell,
}
GRAPHS: dict[str, Callable[[int, Rng], Edges]] = {"ring": ring, "tree": tree, "scale-free": scale_free}
SIZES = (1.0, 0.6, 1.7)


def shapes_and_graphs(n_points: int = 150, rng: RngLike = 0) -> Dataset:
    """Make every kind of shape and graph in three sizes, shapes of `n_points` points each in a random pose.

    This is what ``anchorot demo`` compares. Made by a seed.

    Parameters
    ----------
    n_points : int
        Points of each shape; graphs have as many nodes times their size.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    Dataset
        21 spaces; `labels` are the kinds, `values` the sizes.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.shapes_and_graphs(10).names[:4]
    ('sphere x1', 'sphere x0.6', 'sphere x1.7', 'torus x1')
    """
    n_points = check_integer(n_points, "n_points", 6)
    generator = np.random.default_rng(rng)
    made: list[tuple[str, float, Space]] = []
    for kind, make_points in SHAPES.items():
        for size in SIZES:
            made.append((kind, size, _turned(make_points(n_points, generator), size, generator)))
    for kind, make_edges in GRAPHS.items():
        for size in SIZES:
            made.append((kind, size, from_graph(make_edges(int(n_points * size), generator))))
    kinds, sizes, spaces = zip(*made, strict=True)
    names = tuple(f"{kind} x{size:g}" for kind, size in zip(kinds, sizes, strict=True))
    return Dataset("shapes and graphs", spaces, kinds, names, MADE, NO_LICENCE, np.array(sizes))


def _turned(points: Float64s, size: float, rng: Rng) -> Space:
    """Space of the points, turned at random and scaled."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return from_points(size * points @ turn)
