"""What the page draws of one space."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from anchorot._drawing.normals import vertex_normals
from anchorot._drawing.scene import Drawable, Scene
from anchorot._typing import Float64s, Int64s
from anchorot.report.packing import pack, pack_indices
from anchorot.report.placing import Place

MAX_FACES, MAX_EDGES, MAX_DOTS = 60_000, 30_000, 20_000
NEIGHBOURS = 3  # points that the colour of a place on a surface is mixed from
LIFT = 0.003  # of the unit box: how far points stand off their surface


class Drawing:
    """One side of the page: the points of a space, in a unit box, and the body that they are on.

    Attributes
    ----------
    points : ndarray of shape (n, 2) or (n, 3)
    notes : list of str
        What was left out.
    """

    def __init__(self, space: Drawable, place: Place) -> None:
        placed, sites, self._eye = place
        self.space = space
        self.notes: list[str] = []
        self.points = sites[placed.index]
        self._body = self._mesh(placed, sites) or self._lines(placed, sites) or self._dots(placed, sites)

    def packed(self, name: str) -> dict[str, Any]:
        """Everything that the page's script needs to know about this side."""
        labels = self.space.labels
        return {
            "name": name,
            "count": self.space.n,
            "dim": self.points.shape[1],
            "eye": None if self._eye is None else self._eye.round(4).tolist(),
            "labels": None if labels is None else [str(label) for label in labels],
            "points": pack(self.points, "f4"),
            "body": self._body,
        }

    def _mesh(self, placed: Scene, sites: Float64s) -> dict[str, Any] | None:
        if placed.faces is None or not len(placed.faces) or sites.shape[1] != 3:
            return None
        normals = vertex_normals(sites, placed.faces)
        vertices, faces = _coarser(sites, placed.faces)
        if len(faces) < len(placed.faces):
            self.notes.append(f"the surface is drawn with {len(faces)} of {len(placed.faces)} triangles")
        body = {"kind": "mesh", "faces": pack_indices(faces, len(vertices)), **self._blended(vertices)}
        self.points = self.points + LIFT * normals[placed.index]
        return body

    def _lines(self, placed: Scene, sites: Float64s) -> dict[str, Any] | None:
        edges = placed.edges
        if edges is None or not len(edges):
            return None
        if len(edges) > MAX_EDGES:
            self.notes.append(f"{MAX_EDGES} of {len(edges)} edges are drawn")
            edges = edges[np.linspace(0, len(edges) - 1, MAX_EDGES).astype(np.int64)]
        return {"kind": "lines", "edges": pack_indices(edges, len(sites)), **self._blended(sites)}

    def _dots(self, placed: Scene, sites: Float64s) -> dict[str, Any] | None:
        others = np.delete(sites, placed.index, axis=0)
        if not len(others):
            return None
        if len(others) > MAX_DOTS:
            self.notes.append(f"{MAX_DOTS} of {len(others)} other points are drawn, as dots")
            others = others[np.linspace(0, len(others) - 1, MAX_DOTS).astype(np.int64)]
        return {"kind": "dots", "sites": pack(others, "f4")}

    def _blended(self, sites: Float64s) -> dict[str, Any]:
        """Sites, and the points near each that its colour is mixed from, with weights of sum 255."""
        k = min(NEIGHBOURS, self.space.n)
        apart, near = (found.reshape(len(sites), k) for found in cKDTree(self.points).query(sites, k=k))
        closeness = 1 / np.maximum(apart, 1e-6) ** 2
        shares = np.rint(255 * closeness / closeness.sum(axis=1, keepdims=True))
        return {
            "sites": pack(sites, "f4"),
            "near": pack_indices(near, self.space.n),
            "shares": pack(shares, "u1"),
            "neighbours": k,
        }


def _coarser(vertices: Float64s, faces: Int64s) -> tuple[Float64s, Int64s]:
    """Merge the vertices in each cell of a grid, as fine as MAX_FACES triangles allow."""
    cells, merged, kept = 400.0, vertices, faces
    while len(kept) > MAX_FACES:
        _, cell, count = np.unique(np.rint(vertices * cells), axis=0, return_inverse=True, return_counts=True)
        cell = cell.reshape(-1)
        merged = np.column_stack([np.bincount(cell, axis) for axis in vertices.T]) / count[:, None]
        kept = cell[faces]
        kept = kept[(kept != np.roll(kept, 1, axis=1)).all(axis=1)]
        cells *= 0.8
    return merged, kept
