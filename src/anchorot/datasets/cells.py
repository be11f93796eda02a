"""Synthetic cells: grown neurons, tissues of several cell types, and one population measured twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_integer, check_nonnegative, check_rng
from anchorot.datasets.collection import MADE, NO_LICENCE, Dataset
from anchorot.geometry import Geometry
from anchorot.io.graphs import from_graph
from anchorot.io.points import from_points
from anchorot.space import Space

STEP = 6.0  # micrometres between samples of a branch
TYPES = ("tumour", "immune", "stroma")


class Stem(NamedTuple):
    """A branch at the soma: its direction, the length of its segments, and its number of forks."""

    direction: tuple[float, float, float]
    length: float
    forks: int
    trunk: float = 0.0  # extra length of the first segment


KINDS = ("pyramidal", "bipolar", "stellate")


def _stems(kind: str, rng: np.random.Generator) -> list[Stem]:
    if kind == "pyramidal":
        basal = [Stem((np.cos(a), np.sin(a), -0.5), 45, 2) for a in rng.uniform(0, 2 * np.pi, 5)]
        return [Stem((0, 0, 1), 55, 3, trunk=260), *basal]
    if kind == "bipolar":
        return [Stem((0, 0, 1), 60, 3, trunk=40), Stem((0, 0, -1), 60, 3, trunk=40)]
    return [Stem((x, y, z), 40, 3) for x, y, z in rng.normal(size=(7, 3))]


def grown_neurons(n_per_kind: int = 6, n_points: int | None = 120, rng: RngLike = 0) -> Dataset:
    """Grow neurons of three kinds: paths along their trees, in micrometres.

    Synthetic: branches wander and fork. Pyramidal neurons have one long trunk and many short branches, bipolar ones two
    trees, stellate ones branches in all directions.

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
    Dataset(grown neurons, 6 spaces of 120 points, 3 labels; none needed: synthetic)
    """
    n_per_kind = check_integer(n_per_kind, "n_per_kind", 1)
    labels = tuple(kind for kind in KINDS for _ in range(n_per_kind))
    seeds = check_rng(rng).spawn(len(labels))
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
            for _ in range(max(1, round(length / STEP))):
                direction = direction / np.linalg.norm(direction) + rng.normal(0, 0.12, 3)
                places.append(places[at] + STEP * direction / np.linalg.norm(direction))
                edges.append((at, len(places) - 1, STEP))
                at = len(places) - 1
            if forks > 0:
                todo += [(at, direction + rng.normal(0, 0.7, 3), forks - 1, 0.0) for _ in range(2)]
    tree = from_graph(edges, weight=True)
    order = np.array(tree.labels, dtype=np.int64)  # nodes by first appearance: the sites of the points
    geometry = Geometry(order, len(places), np.array(places), edges=np.array([edge[:2] for edge in edges]))
    space = Space(tree.cost, geometry=geometry)
    return space if n_points is None or n_points >= len(space) else space.sample(n_points, rng=rng)


def tissues(n_samples: int = 8, n_cells: int = 120, clump: float = 0.12, rng: RngLike = 0) -> Dataset:
    """Make tissues of three cell types: in half of them mixed, in the others with immune cells in clumps.

    Synthetic. Both kinds have the same proportions of types and uniform cells in the unit square; only the neighbours
    differ.

    Parameters
    ----------
    n_samples : int
        Tissues of each kind.
    n_cells : int
    clump : float
        Radius of the clumps.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    Dataset
        `labels` are "mixed" and "in clumps"; spaces have types.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.tissues(2)
    Dataset(tissues, 4 spaces of 120 points, 2 labels; none needed: synthetic)
    """
    n_samples, n_cells = check_integer(n_samples, "n_samples", 1), check_integer(n_cells, "n_cells", 3)
    generator = check_rng(rng)
    labels = ("mixed",) * n_samples + ("in clumps",) * n_samples
    radii = [None if label == "mixed" else clump for label in labels]
    seeds = generator.spawn(len(radii))
    spaces = tuple(_tissue(n_cells, radius, own) for radius, own in zip(radii, seeds, strict=True))
    names = tuple(f"{label} {i % n_samples}" for i, label in enumerate(labels))
    return Dataset("tissues", spaces, labels, names, MADE, NO_LICENCE)


def _tissue(n_cells: int, radius: float | None, rng: np.random.Generator) -> Space:
    """Make a third of the cells immune, at random or near a few centres, and half of the others stroma."""
    places, kinds = rng.random((n_cells, 2)), np.where(rng.random(n_cells) < 0.5, 0, 2)
    while (missing := n_cells // 3 - int((kinds == 1).sum())) > 0:
        near = np.linalg.norm(places - rng.random(2), axis=1) < (np.inf if radius is None else radius)
        kinds[rng.permutation(np.flatnonzero(near & (kinds != 1)))[:missing]] = 1
    return from_points(places, types=[TYPES[kind] for kind in kinds])


class TwoAssays(NamedTuple):
    """One population measured by two assays.

    Attributes
    ----------
    first, second : ndarray of shape (n, 30) and (n, 12)
        Measurements of the two assays; row k of both is the same cell.
    branch : ndarray of shape (n,)
        Which branch of the lineage each cell is on: 0 the stem, 1 and 2 its fates.
    time : ndarray of shape (n,)
        Developmental time, from 0 to 1.
    """

    first: Float64s
    second: Float64s
    branch: Int64s
    time: Float64s


def two_assays(n_cells: int = 200, noise: float = 0.05, rng: RngLike = 0) -> TwoAssays:
    """Make a population of cells that differentiate into two fates, measured by two assays without a common feature.

    Synthetic. Cells lie along a stem that forks into branches of different length and density; each assay applies its
    own smooth random map and adds noise.

    Parameters
    ----------
    n_cells : int
    noise : float
        Standard deviation of the noise; that of the signals is 1.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    TwoAssays

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.two_assays(50).second.shape
    (50, 12)
    """
    n_cells, generator = check_integer(n_cells, "n_cells", 3), check_rng(rng)
    noise = check_nonnegative(noise, "noise")
    branch = generator.choice(3, size=n_cells, p=(0.35, 0.4, 0.25))
    share = generator.random(n_cells)
    time = np.where(branch == 0, 0.4 * share, 0.4 + 0.6 * share)
    ways = np.array([(1.0, 0.0), (0.7, 1.1), (0.5, -0.7)])
    place = np.where(
        (branch == 0)[:, None], 1.2 * share[:, None] * ways[0], 1.2 * ways[0] + 1.6 * share[:, None] * ways[branch]
    )
    first, second = (_measured(place, size, noise, generator) for size in (30, 12))
    return TwoAssays(first, second, branch, time)


def _measured(place: Float64s, size: int, noise: float, rng: np.random.Generator) -> Float64s:
    """Map positions smoothly and randomly into more dimensions."""
    signal = np.tanh(0.6 * place @ rng.normal(size=(2, size)) + 0.3 * rng.normal(size=size))
    return signal / signal.std() + noise * rng.normal(size=signal.shape)
