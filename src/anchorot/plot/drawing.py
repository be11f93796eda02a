"""Draw a space as it looks: dots, lines between them, or a shaded surface, in the plane of most spread."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anchorot._drawing.normals import face_normals, unit
from anchorot._drawing.scene import Drawable, scene
from anchorot._typing import Float64s, Int64s

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIGHT = np.array([-0.35, 0.55, 0.76])  # from the upper left, and from the reader
MANY = 2000  # from this many elements on, vector files hold them as an image


@dataclass(frozen=True, eq=False)
class View:
    """A scene as the reader sees it: to the right, up, and towards the reader; centred, of largest radius 1."""

    sites: Float64s  # (N, 3)
    index: Int64s  # (n,): the site of each point
    faces: Int64s | None
    edges: Int64s | None
    is_solid: bool  # whether depth is more than zero

    @property
    def points(self) -> Float64s:
        """Where the space's points are, (n, 3)."""
        return self.sites[self.index]

    def moved(self, right: float) -> "View":
        """Return the same scene further to the right."""
        return replace(self, sites=self.sites + np.array([right, 0.0, 0.0]))


def view(space: Drawable) -> View:
    """Place a space before the reader; what is in 3-D is turned to its principal axes."""
    found = scene(space)
    is_solid = found.positions.shape[1] == 3
    sites = _facing(found.positions) if is_solid else np.pad(found.positions, ((0, 0), (0, 1)))
    sites = sites - (sites.min(axis=0) + sites.max(axis=0)) / 2
    radius = float(np.abs(sites).max()) or 1.0
    return View(sites / radius, found.index, found.faces, found.edges, is_solid)


def draw(ax: "Axes", seen: View, colours: Float64s, weights: Float64s) -> None:
    """Draw a view with a colour (n, 3) for each point; on a surface each point colours what is nearest to it."""
    if seen.edges is not None:
        _draw_edges(ax, seen, seen.edges)
    if seen.faces is not None:
        _draw_faces(ax, seen, seen.faces, colours)
    else:
        _draw_points(ax, seen, colours, weights)


def dot_areas(ax: "Axes", weights: Float64s) -> Float64s:
    """Area of each point's dot, in proportion to its weight but for extremes; all together fill a share of the Axes."""
    box = ax.get_window_extent()
    room = box.width * box.height * (72 / ax.figure.dpi) ** 2
    ordinary = float(np.clip(0.08 * room / len(weights), 2, 60))
    return ordinary * np.clip(weights * len(weights), 0.1, 5)


def _facing(positions: Float64s) -> Float64s:
    """Turn 3-D positions to their principal axes, the least in depth: a rotation, never a mirror image.

    Of the other two, that which is nearer to the positions' own up goes up: z, or y if the reader looks along z.
    """
    centred = positions - positions.mean(axis=0)
    depth, *plane = np.linalg.eigh(centred.T @ centred)[1].T
    up = np.eye(3)[2 if abs(depth[2]) < 0.7 else 1]
    right, upward = sorted(plane, key=lambda axis: abs(axis @ up))
    upward = upward * (-1 if upward @ up < 0 else 1)
    tail = ((centred @ right) ** 3).sum()  # an axis has no sign: let the longer tail be on the left, in every pose
    right = right * (-1 if tail > 0 else 1)
    return centred @ np.stack([right, upward, np.cross(right, upward)], axis=1)


def _draw_edges(ax: "Axes", seen: View, edges: Int64s) -> None:
    from matplotlib.collections import LineCollection

    width = float(np.clip(400 / max(len(edges), 1), 0.6, 1.2))
    lines = LineCollection(list(seen.sites[edges, :2]), colors="#98a2b0", linewidths=width, zorder=1)
    lines.set_rasterized(len(edges) > MANY)
    ax.add_collection(lines)


def _draw_points(ax: "Axes", seen: View, colours: Float64s, weights: Float64s) -> None:
    points, areas = seen.points, dot_areas(ax, weights)
    order = np.argsort(points[:, 2], kind="stable")  # the near ones last
    near = (points[:, 2:] + 1) / 2 if seen.is_solid else np.ones((len(points), 1))
    hazy = 1 - (1 - colours) * (0.45 + 0.55 * near)
    dots = ax.scatter(points[order, 0], points[order, 1], s=areas[order], c=hazy[order], zorder=2)
    dots.set(edgecolors=0.65 * hazy[order], linewidths=0.4)
    dots.set_rasterized(len(points) > MANY)


def _draw_faces(ax: "Axes", seen: View, faces: Int64s, colours: Float64s) -> None:
    from matplotlib.collections import PolyCollection
    from scipy.spatial import cKDTree

    corners = seen.sites[faces]
    normals = unit(face_normals(corners))
    normals *= np.where(normals[:, 2:] < 0, -1, 1)  # whichever way a face is listed, the reader sees this side
    brightness = np.clip(normals @ LIGHT, 0, 1)
    _, nearest = cKDTree(seen.points).query(corners.mean(axis=1))
    base = colours[nearest]
    shaded = base * (0.45 + 0.55 * brightness[:, None])
    shaded += (1 - shaded) * (0.25 * brightness[:, None] ** 8)  # a soft highlight
    order = np.argsort(corners[:, :, 2].mean(axis=1), kind="stable")  # painter's order: the far ones first
    # Faces have edges of their own colour: without them, the seams between neighbours would shine through.
    surface = PolyCollection(
        list(corners[order, :, :2]), facecolors=shaded[order], edgecolors=shaded[order], linewidths=0.3, zorder=1
    )
    surface.set_rasterized(len(faces) > MANY)
    ax.add_collection(surface)
