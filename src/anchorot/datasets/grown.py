"""Neurons that are grown by a seed: trees in space, of three kinds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anchorot._typing import Float64s, RngLike
from anchorot._validate import check_integer
from anchorot.datasets.collection import Dataset
from anchorot.datasets.made import MADE, NO_LICENCE
from anchorot.geometry import Geometry
from anchorot.io import from_graph
from anchorot.space import Space

STEP = 6.0  # micrometres between samples of a branch


class Stem(NamedTuple):
    """A branch at the soma: where it goes, how long its pieces are, and how many times it forks."""

    direction: tuple[float, float, float]
    length: float
    forks: int
    trunk: float = 0.0  # how much longer the first piece is


def _stems(kind: str, rng: np.random.Generator) -> list[Stem]:
    if kind == "pyramidal":
        basal = [Stem((np.cos(a), np.sin(a), -0.5), 45, 2) for a in rng.uniform(0, 2 * np.pi, 5)]
        return [Stem((0, 0, 1), 55, 3, trunk=260), *basal]
    if kind == "bipolar":
        return [Stem((0, 0, 1), 60, 3, trunk=40), Stem((0, 0, -1), 60, 3, trunk=40)]
    return [Stem((x, y, z), 40, 3) for x, y, z in rng.normal(size=(7, 3))]


KINDS = ("pyramidal", "bipolar", "stellate")


def grown_neurons(n_per_kind: int = 6, n_points: int | None = 120, rng: RngLike = 0) -> Dataset:
    """Grow neurons of three kinds: paths along their trees, in micrometres.

    Made by a seed: branches wander and fork. Pyramidal ones have one long trunk and many short branches, bipolar ones
    two bushes, stellate ones branches to all sides.

    Parameters
    ----------
    n_per_kind : int
    n_points : int, optional
        Keep at most this many samples of each tree, drawn uniformly.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    Dataset
        `labels` are "pyramidal", "bipolar" and "stellate".

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.grown_neurons(2)
    Dataset(grown neurons, 6 spaces of 120 points, 3 labels; none needed: made)
    """
    n_per_kind = check_integer(n_per_kind, "n_per_kind", 1)
    labels = tuple(kind for kind in KINDS for _ in range(n_per_kind))
    seeds = np.random.default_rng(rng).spawn(len(labels))
    spaces = tuple(_grown(kind, n_points, own) for kind, own in zip(labels, seeds, strict=True))
    names = tuple(f"{kind} {i % n_per_kind}" for i, kind in enumerate(labels))
    return Dataset("grown neurons", spaces, labels, names, MADE, NO_LICENCE)


def _grown(kind: str, n_points: int | None, rng: np.random.Generator) -> Space:
    places: list[Float64s] = [np.zeros(3)]
    edges: list[tuple[int, int, float]] = []
    for stem in _stems(kind, rng):
        todo = [(0, np.array(stem.direction), stem.forks, stem.trunk)]
        while todo:
            at, direction, forks, extra = todo.pop()
            length = extra + stem.length * rng.uniform(0.6, 1.4)
            end, direction = _branch(places, edges, at, direction, length, rng)
            if forks > 0:
                todo += [(end, direction + rng.normal(0, 0.7, 3), forks - 1, 0.0) for _ in range(2)]
    tree = from_graph(edges, weight=True)
    order = np.array(tree.labels, dtype=np.int64)  # nodes by first appearance: the sites of the points
    looks = Geometry(order, len(places), np.array(places), edges=np.array([edge[:2] for edge in edges]))
    space = Space(tree.cost, geometry=looks)
    return space if n_points is None or n_points >= len(space) else space.sample(n_points, rng=rng)


def _branch(
    places: list[Float64s],
    edges: list[tuple[int, int, float]],
    at: int,
    direction: Float64s,
    length: float,
    rng: np.random.Generator,
) -> tuple[int, Float64s]:
    """Let a branch wander from a sample on; return its last sample and where it was heading."""
    for _ in range(max(1, round(length / STEP))):
        direction = direction / np.linalg.norm(direction) + rng.normal(0, 0.12, 3)
        places.append(places[at] + STEP * direction / np.linalg.norm(direction))
        edges.append((at, len(places) - 1, STEP))
        at = len(places) - 1
    return at, direction
