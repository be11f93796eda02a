"""Things with more points than a matrix of costs can hold: distances from one point to all, a row at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Float64s, Floats, Int64s
from anchorot._units import unit_of
from anchorot._validate import check_choice, check_memory, check_numbers
from anchorot.exceptions import InputError
from anchorot.io.geodesics import ROWS, mesh_edges
from anchorot.io.meshes import open_mesh, surface_of
from anchorot.io.points import check_points, distance_blocks
from anchorot.origin import Geometry, cloud
from anchorot.space import Space, as_space

NEIGHBOURHOOD = 0.2  # of the largest distance: what counts as the neighbourhood of a vertex
BYTES_PER_DISTANCE = 12  # for every landmark and point: rows of a side, the same in the order of matches, and some room


def turns(vertices: Float64s, faces: Int64s, rows: Floats) -> Float64s | None:
    """At every vertex: how far one turns, seen from outside, from the way out to the way into the crowd.

    The way out is the gradient of the mean of `rows`, distances (k, n) from landmarks; the way into the crowd is that
    of the number of landmarks nearby. Both are the same on every bent copy of a surface, so on a mirror image the turn
    has the other sign. None where faces do not agree on which side is outside.
    """
    outside = _outside(vertices, faces)
    if outside is None:
        return None
    scale = NEIGHBOURHOOD * float(rows.max())
    out, crowd = rows.mean(axis=0, dtype=np.float64), np.zeros(rows.shape[1])
    for row in rows:
        crowd += np.exp(-np.square(row / scale))
    a, b, c = faces.T
    across = (out[b] - out[a]) * (crowd[c] - crowd[a]) - (out[c] - out[a]) * (crowd[b] - crowd[a])
    area = np.linalg.norm(np.cross(vertices[b] - vertices[a], vertices[c] - vertices[a]), axis=1)
    sums, areas = (sum(np.bincount(corner, values, len(vertices)) for corner in faces.T) for values in (across, area))
    turn = outside * sums / np.where(areas > 0, areas, 1)
    return np.sign(turn) * np.sqrt(np.abs(turn))  # or few vertices would outvote all others


def agreement(first: Float64s, second: Float64s) -> float:
    """Cosine between the turns of points and those of their matches; below 0 for a map that mirrors."""
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / size if size > 0 else 0.0


def _outside(vertices: Float64s, faces: Int64s) -> int | None:
    """1 if faces run anticlockwise seen from outside (a surface with a rim: taken for granted), -1 if not; or None."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    if len(np.unique(sides, axis=0)) < len(sides):
        return None
    a, b, c = (vertices[corner] - vertices.mean(axis=0) for corner in faces.T)
    is_closed = 2 * len(mesh_edges(faces)) == len(sides)
    return -1 if is_closed and float((a * np.cross(b, c)).sum()) < 0 else 1


class Distances(Protocol):
    """What is asked of a large thing. Its points are counted by their places in `kept`."""

    @property
    def total(self) -> int:
        """Number of points, those that cannot have a match included."""

    @property
    def kept(self) -> Int64s:
        """The points that can."""

    @property
    def begin(self) -> int:
        """A point at the rim, the same however points are numbered unless several are as far out."""

    def row(self, point: int) -> Floats:
        """Distances from a point to all."""

    def space(self, index: Int64s, cost: Float64s) -> Space:
        """The space of some points, between which rows have these costs."""

    def turns(self, rows: Floats) -> Float64s | None:
        """Numbers that a mirror image has with the other sign, from distances to landmarks; None where unknown."""


class MeshDistances:
    """A whole mesh, whose distances along the surface are computed where they are needed.

    Parameters
    ----------
    mesh : path, trimesh.Trimesh, or pair of arrays
        As in :func:`from_mesh`. Of several components the largest is kept, with an `InputNote`.
    geodesic : {"heat", "edge"}
        How distances are measured, see :func:`from_mesh`. "heat" factorises a matrix once and then solves once for
        every row.

    Examples
    --------
    >>> import anchorot as ao
    >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]
    >>> ao.MeshDistances(square, "edge").row(1).tolist()
    [1.0, 0.0, 1.0, 2.0]
    """

    def __init__(self, mesh: Any, geodesic: str = "heat") -> None:
        check_choice(geodesic, "geodesic", tuple(ROWS))
        self._surface = surface_of(open_mesh(mesh))
        self.kept = self._surface.kept
        self.total = len(self._surface.sites)
        self.row: Callable[[int], Float64s] = ROWS[geodesic](self._surface.vertices, self._surface.faces)

    @property
    def begin(self) -> int:
        """The vertex farthest from the centre."""
        return _outermost(self._surface.vertices)

    def space(self, index: Int64s, cost: Float64s) -> Space:
        """The space of some vertices; both of two opposite costs become their mean."""
        return self._surface.space((cost + cost.T) / 2, index)

    @property
    def geometry(self) -> Geometry:
        """The whole mesh, to be drawn."""
        total = len(self._surface.sites)
        return Geometry(np.arange(total), total, self._surface.sites, faces=self._surface.corners)

    @property
    def root_area(self) -> float:
        """Root of the surface's area, a length that errors of maps are told in."""
        unit = unit_of(float(np.abs(self._surface.vertices).max()))
        a, b, c = (self._surface.vertices / unit)[self._surface.faces.T]
        return unit * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2) ** 0.5

    def turns(self, rows: Floats) -> Float64s | None:
        """Numbers at the vertices that a mirror image has with the other sign."""
        return turns(self._surface.vertices, self._surface.faces, rows)


class PointDistances:
    """A whole cloud of points, whose distances are computed where they are needed.

    Parameters
    ----------
    points : array_like of shape (n, d)
    metric : str or callable
        Any metric of :func:`scipy.spatial.distance.cdist`.
    **metric_options
        Passed on to the metric.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.PointDistances([[0, 0], [3, 4], [0, 1]]).row(0).tolist()
    [0.0, 5.0, 1.0]
    """

    def __init__(
        self,
        points: ArrayLike,
        metric: str | Callable[[Float64s, Float64s], float] = "euclidean",
        **metric_options: Any,
    ) -> None:
        self._points = check_points(points)
        self._metric, self._options = metric, metric_options
        self.total = len(self._points)
        self.kept = np.arange(self.total)

    @property
    def begin(self) -> int:
        """The point farthest from the mean."""
        return _outermost(self._points)

    @property
    def geometry(self) -> Geometry:
        """The cloud, to be drawn: as it is in up to three dimensions, of more the three that it varies most in."""
        found = cloud(self._points)
        if found is not None:
            return found
        centred = self._points - self._points.mean(axis=0)
        axes = np.linalg.eigh(centred.T @ centred)[1][:, :-4:-1]
        return Geometry(np.arange(self.total), self.total, centred @ axes)

    def row(self, point: int) -> Float64s:
        """Distances from a point to all."""
        blocks = distance_blocks(self._points[[point]], self._points, self._metric, self._options)
        return next(block[0] for _, block in blocks)

    def space(self, index: Int64s, cost: Float64s) -> Space:
        """The space of some points."""
        return Space(cost, labels=index.tolist(), geometry=cloud(self._points, index), copy=False)

    def turns(self, rows: Floats) -> None:
        """Nothing is known of mirror images."""


class SpaceDistances:
    """A space, whose costs are there already."""

    def __init__(self, space: Space) -> None:
        self.whole = space
        self.total = space.n
        self.kept = np.flatnonzero(space.weights)

    @property
    def begin(self) -> int:
        """The point of the largest mean cost."""
        return int(np.argmax((self.whole.cost @ self.whole.weights)[self.kept]))

    def row(self, point: int) -> Floats:
        """Costs from a point to all of positive weight."""
        return self.whole.cost[self.kept[point], self.kept]

    def space(self, index: Int64s, cost: Float64s) -> Space:
        """The space of some points, with their weights; `cost` is known more exactly here."""
        return self.whole.take(self.kept[index])

    def turns(self, rows: Floats) -> None:
        """Nothing is known of mirror images."""


class Landmarks(NamedTuple):
    """Points that cover a large thing, and their distances to all of it."""

    source: Distances
    chosen: Int64s  # (k,)
    rows: NDArray[np.float32]  # (k, n), in units of `unit`
    unit: float

    @property
    def space(self) -> Space:
        """The space of the landmarks."""
        return self.source.space(self.chosen, self.rows[:, self.chosen].astype(np.float64) * self.unit)

    def rows_of(self, points: Int64s) -> NDArray[np.float32]:
        """Distances from other points to all, in the same units."""
        found = np.empty((len(points), len(self.source.kept)), np.float32)
        for row, point in zip(found, points.tolist(), strict=True):
            np.divide(self.source.row(point), self.unit, out=row, casting="unsafe")
        return found


def farthest(source: Distances, k: int, unit: float) -> Landmarks:
    """Landmarks that cover a thing: each is the farthest from all before it. All points, in order, if there are few.

    The first is the farthest from `source.begin`, so that copies with other numbers have the same landmarks.
    """
    n = len(source.kept)
    check_memory(n, BYTES_PER_DISTANCE * min(k, n) / n, "distances to landmarks of")
    found = Landmarks(source, np.arange(min(k, n)), np.empty((min(k, n), n), np.float32), unit)
    reach = np.full(n, np.inf)
    point = int(np.argmax(source.row(source.begin)))
    for place in range(len(found.chosen)):
        point = place if k >= n else point
        found.chosen[place] = point
        found.rows[place] = found.rows_of(found.chosen[place : place + 1])[0]
        reach = np.minimum(reach, found.rows[place])
        reach[point] = -np.inf  # never twice, even where points lie on one spot
        point = int(np.argmax(reach))
    return found


def distances_of(thing: Any) -> Distances:
    """Turn what people have into distances: a space or cost matrix, a cloud (n, d), or a mesh."""
    if isinstance(thing, MeshDistances | PointDistances):
        return thing
    if isinstance(thing, Space):
        return SpaceDistances(thing)
    if isinstance(thing, str | os.PathLike | tuple) or hasattr(thing, "faces"):
        return MeshDistances(thing)
    array = check_numbers(thing, "an array")
    if array.ndim != 2:
        raise InputError(
            f"got an array of shape {array.shape}, but a matrix of costs (n, n) or points (n, d) are needed"
        )
    return SpaceDistances(as_space(array)) if len(array) == array.shape[1] else PointDistances(array)


def _outermost(positions: Float64s) -> int:
    """The farthest from the mean; as seen from a box around them, so that nothing overflows."""
    small = positions / unit_of(float(np.abs(positions).max()))
    away = small - small.mean(axis=0)
    return int(np.argmax(np.square(away / (np.abs(away).max() or 1.0)).sum(axis=1)))
