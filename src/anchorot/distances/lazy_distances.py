"""Distances within meshes and clouds of points, computed on demand, from one point to all others at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_choice, check_numbers
from anchorot.distances.landmarks import Distances, SpaceDistances
from anchorot.exceptions import InputError
from anchorot.geometry import Geometry, cloud
from anchorot.io.geodesics import ROWS
from anchorot.io.meshes import about_file, open_mesh, surface_of
from anchorot.io.points import check_points, distance_blocks
from anchorot.space import Space, as_space


class MeshDistances:
    """A whole mesh, whose distances along the surface are computed where they are needed.

    Parameters
    ----------
    mesh : path, trimesh.Trimesh, or pair of arrays
        As in :func:`anchorot.from_mesh`. Of several components the largest is kept, with an `InputWarning`.
    geodesic : {"heat", "edge"}
        How distances are measured, see :func:`anchorot.from_mesh`. "heat" factorises a matrix once and then solves once
        for every row.

    Examples
    --------
    >>> import anchorot as ao
    >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]
    >>> ao.distances.MeshDistances(square, "edge").row(1).tolist()
    [1.0, 0.0, 1.0, 2.0]
    """

    def __init__(self, mesh: Any, geodesic: str = "heat") -> None:
        check_choice(geodesic, "geodesic", tuple(ROWS))
        opened = open_mesh(mesh)
        with about_file(mesh):
            self._surface = surface_of(opened)
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
        """Root of the surface's area, the unit of length for errors of maps."""
        unit = unit_of(float(np.abs(self._surface.vertices).max()))
        a, b, c = (self._surface.vertices / unit)[self._surface.faces.T]
        return unit * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2) ** 0.5


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
    >>> ao.distances.PointDistances([[0, 0], [3, 4], [0, 1]]).row(0).tolist()
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


def is_mesh(thing: Any) -> bool:
    """Whether this is a mesh: an object with faces, or a pair (vertices, faces). Other tuples are rows."""
    return hasattr(thing, "faces") or (isinstance(thing, tuple) and len(thing) == 2)


def distances_of(thing: Any) -> Distances:
    """Turn what people have into distances: a space or cost matrix, a cloud (n, d), or a mesh."""
    if isinstance(thing, MeshDistances | PointDistances):
        return thing
    if isinstance(thing, Space):
        return SpaceDistances(thing)
    if isinstance(thing, str | os.PathLike) or is_mesh(thing):
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
