"""The geometry that a space was made from: sites with positions, faces and edges, for drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anchorot._typing import Float64s, Int64s


@dataclass(frozen=True, eq=False)
class Geometry:
    """The cloud, mesh, graph or neuron that a space was made from, with N sites.

    Attributes
    ----------
    index : ndarray of shape (n,)
        The site of each of the space's points.
    n_sites : int
        N: the number of points of the space, or more if these are a sample.
    positions : ndarray of shape (N, 2) or (N, 3), or None
        Positions of the sites; None if they have none, as in most graphs.
    faces : ndarray of shape (F, 3) or None
        Triangles of a mesh, as sites.
    edges : ndarray of shape (E, 2) or None
        Edges of a graph or tree, as sites.
    """

    index: Int64s
    n_sites: int
    positions: Float64s | None = None
    faces: Int64s | None = None
    edges: Int64s | None = None

    def take(self, points: Int64s) -> Geometry:
        """Return the same geometry for a subset of the space's points."""
        return Geometry(self.index[points], self.n_sites, self.positions, self.faces, self.edges)


def renumber(simplices: Int64s, kept: Int64s, n_sites: int) -> Int64s:
    """Return the simplices (edges or faces) whose sites are all kept, with sites numbered as in `kept`."""
    number = np.full(n_sites, -1)
    number[kept] = np.arange(len(kept))
    inside = number[simplices]
    return np.ascontiguousarray(inside[(inside >= 0).all(axis=1)])


def extent(points: Float64s) -> float | None:
    """Return the area (or volume) of the box in which points were drawn, estimated from the box around them.

    The range of n uniform numbers is on average (n - 1) / (n + 1) of their interval. Sides of length zero do not count;
    None if all are.
    """
    sides = np.ptp(points, axis=0)
    with np.errstate(over="ignore"):
        area = float(np.prod(sides[sides > 0] * ((len(points) + 1) / max(len(points) - 1, 1))))
    return area if sides.any() and 0 < area < np.inf else None


def cloud(points: Float64s, index: Int64s | None = None) -> Geometry | None:
    """Return the geometry of a cloud of points, or None if it has more than three dimensions."""
    if points.shape[1] > 3:
        return None
    padded = np.pad(points, ((0, 0), (0, max(0, 2 - points.shape[1]))))
    return Geometry(np.arange(len(points)) if index is None else index, len(points), padded)
