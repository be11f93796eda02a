"""Synthetic shapes and graphs: point clouds and graphs in several sizes, and animals and people in several poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_integer, check_list, check_rng
from anchorot.datasets.collection import MADE, NO_LICENCE, Dataset
from anchorot.exceptions import InputError
from anchorot.io.graphs import from_graph
from anchorot.io.meshes import from_mesh
from anchorot.io.points import from_points
from anchorot.space import Space

Rng = np.random.Generator
Edges = list[tuple[int, int]]
STEP = 0.16  # of the grid for extracting the skin
SOFTNESS = 0.07  # radius of the smooth union of limbs
Place = tuple[float, float, float]
CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if np.abs(CORNERS[a] - CORNERS[b]).sum() == 1]


def sphere(n: int, rng: Rng) -> Float64s:
    """Random points on a sphere of radius 3."""
    points = rng.normal(size=(n, 3))
    return 3 * points / np.linalg.norm(points, axis=1, keepdims=True)


def torus(n: int, rng: Rng) -> Float64s:
    """Random points on a torus of radii 3 and 0.5."""
    u, v = rng.uniform(0, 2 * np.pi, size=(2, n))
    radius = 3 + 0.5 * np.cos(v)
    return np.stack([radius * np.cos(u), radius * np.sin(u), 0.5 * np.sin(v)], axis=1)


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
    """Return a random tree: each node is joined to a random earlier one."""
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


SHAPES: dict[str, Callable[[int, Rng], Float64s]] = {make.__name__: make for make in (sphere, torus, spring, dumbbell)}
GRAPHS: dict[str, Callable[[int, Rng], Edges]] = {"ring": ring, "tree": tree, "scale-free": scale_free}
SIZES = (1.0, 0.6, 1.7)  # times the first size, in turn, so that size says nothing about the class


def shapes_and_graphs(n_points: int = 150, rng: RngLike = 0) -> Dataset:
    """Make every kind of shape and graph in three sizes, shapes of `n_points` points each in a random pose.

    Synthetic.

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
    generator = check_rng(rng)
    made: list[tuple[str, float, Space]] = []
    for kind, make_points in SHAPES.items():
        for size in SIZES:
            points = make_points(n_points, generator)
            turn, _ = np.linalg.qr(generator.normal(size=(3, 3)))  # a random rotation or reflection
            made.append((kind, size, from_points(size * points @ turn)))
    for kind, make_edges in GRAPHS.items():
        made += [(kind, size, from_graph(make_edges(int(n_points * size), generator))) for size in SIZES]
    kinds, sizes, spaces = zip(*made, strict=True)
    names = tuple(f"{kind} x{size:g}" for kind, size in zip(kinds, sizes, strict=True))
    return Dataset("shapes and graphs", spaces, kinds, names, MADE, NO_LICENCE, np.array(sizes))


@dataclass(frozen=True)
class Limb:
    """A rounded rod between two positions, which may rotate about its start by some degrees."""

    start: Place
    end: Place
    radii: tuple[float, float]
    bend: float = 0.0
    parent: int = -1  # index of the limb it is attached to, which precedes it

    def depth(self, places: Float64s) -> Float64s:
        """Return the depth of each position under the limb's skin; negative outside."""
        start, along = np.array(self.start), np.subtract(self.end, self.start)
        share = np.clip((places - start) @ along / (along @ along), 0, 1)
        radius = self.radii[0] + share * (self.radii[1] - self.radii[0])
        return radius - np.linalg.norm(places - start - share[..., None] * along, axis=-1)


def _four_legs(length: float, height: float, neck: tuple[float, float], muzzle: float, tail: float) -> list[Limb]:
    """Return an animal with four legs, head to the right: body, neck, head, tail, and legs in two parts."""
    shoulder, hip = (length / 2, 0.0, 0.0), (-length / 2, 0.0, 0.0)
    head = (shoulder[0] + neck[0], 0.0, neck[1])
    limbs = [
        Limb(hip, shoulder, (0.5, 0.55)),
        Limb(shoulder, head, (0.34, 0.24), 25, 0),
        Limb(head, (head[0] + muzzle, 0.0, head[2] - 0.2), (0.32, 0.18), 25, 1),
        Limb(hip, (hip[0] - 0.3 - tail, 0.0, 0.4), (0.24, 0.13), 40, 0),
    ]
    for x in (shoulder[0] - 0.05, hip[0] + 0.05):
        for y in (-0.34, 0.34):
            knee = (x, y, -0.2 - height / 2)
            limbs.append(Limb((x, y, -0.2), knee, (0.28, 0.2), 30, 0))
            limbs.append(Limb(knee, (x, y, -0.2 - height), (0.2, 0.16), 30, len(limbs) - 1))
    return limbs


def _upright() -> list[Limb]:
    """Return a person: trunk, head, arms in two parts, and legs with feet."""
    limbs = [Limb((0, 0, 0.1), (0, 0, 1.5), (0.48, 0.52)), Limb((0, 0, 2.3), (0, 0, 2.65), (0.36, 0.4), 20, 0)]
    limbs.append(Limb((0, 0, 1.6), (0, 0, 2.3), (0.3, 0.25), 0, 0))
    for side in (-1.0, 1.0):
        elbow, knee = (1.5 * side, 0.0, 1.45), (0.42 * side, 0.0, -1.3)
        limbs.append(Limb((0.4 * side, 0, 1.55), elbow, (0.26, 0.2), 45, 0))
        limbs.append(Limb(elbow, (2.5 * side, 0, 1.45), (0.2, 0.16), 60, len(limbs) - 1))
        limbs.append(Limb((0.3 * side, 0, -0.1), knee, (0.32, 0.22), 30, 0))
        limbs.append(Limb(knee, (0.45 * side, 0, -2.7), (0.22, 0.17), 30, len(limbs) - 1))
        limbs.append(Limb((0.45 * side, 0, -2.7), (0.5 * side, -0.5, -2.75), (0.17, 0.14), 0, len(limbs) - 1))
    return limbs


KINDS: dict[str, list[Limb]] = {
    "person": _upright(),
    "dog": _four_legs(2.2, 1.5, (0.5, 0.8), 0.7, 0.8),
    "giraffe": _four_legs(2.0, 2.3, (0.8, 2.6), 0.6, 0.5),
    "lizard": _four_legs(3.0, 0.9, (0.8, 0.1), 0.7, 3.0),
}


def figures(kinds: Sequence[str] = tuple(KINDS), n_poses: int = 5, n_points: int = 200, rng: RngLike = 0) -> Dataset:
    """Make animals and people in several poses: meshes, with distances along the skin as costs.

    Synthetic, not scanned; ``anchorot demo`` compares them. Point k of a kind is the same point of the body in all its
    poses, and bending a limb changes the distances along the skin only a little.

    Parameters
    ----------
    kinds : sequence of {"person", "dog", "giraffe", "lizard"}
    n_poses : int
        Poses of each kind; in the first all limbs are straight.
    n_points : int
        Vertices to keep of each mesh, far from each other.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    Dataset
        `labels` are the kinds; the types of points are the indices of their limbs.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.figures(["dog"], n_poses=2, n_points=60)
    Dataset(figures, 2 spaces of 60 points, 1 label; none needed: synthetic)
    """
    kinds = check_list(kinds, "kinds", "kind")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(f"kinds must be among {', '.join(KINDS)}, but got {unknown[0]!r}")
    n_poses, n_points = check_integer(n_poses, "n_poses", 1), check_integer(n_points, "n_points", 2)
    made = [
        (kind, f"{kind} {pose}", space)
        for kind, own in zip(kinds, check_rng(rng).spawn(len(kinds)), strict=True)
        for pose, space in enumerate(_poses(KINDS[kind], n_poses, n_points, own))
    ]
    labels, names, spaces = zip(*made, strict=True)
    return Dataset("figures", spaces, labels, names, MADE, NO_LICENCE)


def _poses(limbs: list[Limb], n_poses: int, n_points: int, rng: np.random.Generator) -> list[Space]:
    vertices, faces, shares = _skin(limbs)
    owner = shares.argmax(axis=1)
    kept = from_mesh((vertices, faces), n_points, "edge", rng).labels
    spaces = []
    for pose in range(n_poses):
        bends = np.radians([limb.bend * rng.uniform(-1, 1) if pose else 0.0 for limb in limbs])
        bent = _bent(limbs, vertices, shares, bends)
        spaces.append(from_mesh((bent, faces), geodesic="edge", points=kept, types=owner.tolist()))  # type: ignore[arg-type]
    return spaces


def _skin(limbs: list[Limb]) -> tuple[Float64s, Int64s, Float64s]:
    """Return vertices and faces of the figure with straight limbs, and each vertex's weight for each limb."""
    ends = np.array([place for limb in limbs for place in (limb.start, limb.end)])
    low, high = ends.min(axis=0) - 1, ends.max(axis=0) + 1
    axes = [np.arange(a, b, STEP) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    union = SOFTNESS * np.logaddexp.reduce([limb.depth(grid) / SOFTNESS for limb in limbs], axis=0)
    vertices, faces = surface_of(union, low, STEP)
    depths = np.stack([limb.depth(vertices) for limb in limbs], axis=1) / SOFTNESS
    shares = np.exp(depths - depths.max(axis=1, keepdims=True))
    return vertices, faces, shares / shares.sum(axis=1, keepdims=True)


def _bent(limbs: list[Limb], vertices: Float64s, shares: Float64s, bends: Float64s) -> Float64s:
    """Rotate every limb, with all attached limbs, about its start; vertices blend the motions of their limbs."""
    moves: list[tuple[Float64s, Float64s]] = []  # per limb: v -> turn @ v + shift
    for limb, angle in zip(limbs, bends, strict=True):
        turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
        start = np.array(limb.start)
        shift = start - turn @ start
        if limb.parent >= 0:
            carried, moved = moves[limb.parent]
            turn, shift = carried @ turn, carried @ shift + moved
        moves.append((turn, shift))
    placed = np.stack([vertices @ turn.T + shift for turn, shift in moves], axis=1)
    return np.einsum("vl,vlk->vk", shares, placed)


def surface_of(values: Float64s, origin: Float64s, step: float) -> tuple[Float64s, Int64s]:
    """Return vertices (N, 3) and faces (F, 3) of the surface between positive (inside) and negative values.

    Surface nets: a grid cell that the surface crosses has one vertex, the mean of its edges' crossings; a crossed edge
    of the grid gives a square of the four cells around it. The outermost values must be negative.
    """
    inside = values > 0
    shape = np.array(values.shape) - 1
    corners = [values[tuple(slice(c, c + n) for c, n in zip(corner, shape, strict=True))] for corner in CORNERS]
    mixed = np.any([(c > 0) != (corners[0] > 0) for c in corners], axis=0)
    cells = np.argwhere(mixed)
    number = np.full(mixed.shape, -1)
    number[mixed] = np.arange(len(cells))
    vertices = origin + step * (cells + _centres(np.stack([c[mixed] for c in corners], axis=1)))
    return vertices, np.concatenate([_squares(inside, number, axis) for axis in range(3)])


def _centres(values: Float64s) -> Float64s:
    """Return the mean crossing of each cell's edges, from the values (N, 8) at its corners."""
    total, count = np.zeros((len(values), 3)), np.zeros((len(values), 1))
    for a, b in EDGES:
        cut = (values[:, a] > 0) != (values[:, b] > 0)
        share = values[cut, a] / (values[cut, a] - values[cut, b])
        total[cut] += CORNERS[a] + share[:, None] * (CORNERS[b] - CORNERS[a])
        count[cut] += 1
    return total / count


def _squares(inside: NDArray[np.bool_], number: Int64s, axis: int) -> Int64s:
    """Return two triangles for every grid edge along an axis that the surface crosses, oriented outwards."""
    first, second = np.moveaxis(inside, axis, 0)[:-1], np.moveaxis(inside, axis, 0)[1:]
    cells = np.moveaxis(number, axis, 0)
    at, u, v = np.nonzero(first != second)
    around = [cells[at, u - i, v - j] for i, j in ((1, 1), (0, 1), (0, 0), (1, 0))]
    outward = first[at, u, v] == (axis != 1)  # the other two axes swap orientation for the middle one
    square = np.where(outward[:, None], np.stack(around, axis=1), np.stack(around[::-1], axis=1))
    return np.concatenate([square[:, [0, 1, 2]], square[:, [0, 2, 3]]])
