"""Plot of one space: dots, edges or a shaded surface, seen from its broadest side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._layout import Drawable, drawable, face_normals, scene, unit
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_numbers
from anchorot.exceptions import InputError
from anchorot.plot.style import PALE, PALETTE, given_or_current, hide_axes, slim_colorbar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

PLAIN_COLOUR = "#a9bcd6"
LIGHT = np.array([-0.35, 0.55, 0.76])  # from the upper left, and from the viewer
MAX_VECTOR_ELEMENTS = 2000  # more elements are rasterised in vector files


def shape(
    space: Any,
    values: ArrayLike | None = None,
    *,
    color: str | None = None,
    colorbar: bool = True,
    label: str = "value",
    ax: Axes | None = None,
) -> Axes:
    """Draw one space in its original form (a cloud, a mesh, a graph or a tree); without coordinates it is laid out.

    3-D objects are seen from their broadest side. The area of a dot is proportional to the point's weight.

    Parameters
    ----------
    space : Space or array_like of shape (n, n)
        Also points (n, d), or a mesh or its path: then all of its vertices are the points.
    values : array_like of shape (n,), optional
        A number for each point, shown as its colour; on a mesh it colours the surface nearest to the point. NaN is
        grey, as for points without a value from :meth:`~anchorot.Correspondence.project`.
    color : str, optional
        One colour for all points, without values.
    colorbar : bool
        Add a colour bar.
    label : str
        Label of the colour bar, with units.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> square = ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> ax = ao.plot.shape(square, [0.1, 0.2, 0.3, 0.4])
    """
    drawn = drawable(space)
    ax = given_or_current(ax, 5, 4.2)
    seen = view(drawn)
    if values is None:
        plain = PLAIN_COLOUR if seen.faces is not None else PALETTE[0]
        colours = one_colour(color or plain, drawn.n)
    else:
        numbers = check_values(values, drawn.n)
        scale = colour_scale(numbers)
        colours = value_colours(scale, numbers)
        if colorbar:
            slim_colorbar(ax, scale, label)
    draw(ax, seen, colours, drawn.weights)
    ax.autoscale_view()
    hide_axes(ax)
    return ax


def check_values(values: ArrayLike, n: int) -> Float64s:
    """Return `values` as one number per point, which may be NaN."""
    numbers = check_numbers(values, "values").astype(np.float64, copy=False)
    if numbers.shape != (n,):
        raise InputError(f"values has shape {numbers.shape}, but the space has {n} points")
    if np.isinf(numbers).any():
        first = int(np.argmax(np.isinf(numbers)))
        raise InputError(f"values must be finite or NaN, but values[{first}] is {numbers[first]}")
    return numbers


def one_colour(name: str, count: int) -> Float64s:
    """Return one colour `count` times, (count, 3)."""
    from matplotlib.colors import to_rgb

    return np.tile(to_rgb(name), (count, 1))


def colour_scale(values: Float64s) -> ScalarMappable:
    """Map the range of numbers to colours whose lightness increases."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    known = values[np.isfinite(values)]
    return ScalarMappable(Normalize(known.min(), known.max()) if len(known) else Normalize(0, 1), "viridis")


def value_colours(scale: ScalarMappable, values: Float64s) -> Float64s:
    """Return colours (n, 3) of numbers, grey for NaN."""
    colours = np.asarray(scale.to_rgba(np.nan_to_num(values)), np.float64)[:, :3]
    colours[np.isnan(values)] = one_colour(PALE, 1)
    return colours


@dataclass(frozen=True, eq=False)
class View:
    """A scene in viewer coordinates: right, up, and towards the viewer; centred, with largest coordinate 1."""

    sites: Float64s  # (N, 3)
    index: Int64s  # (n,): the site of each point
    faces: Int64s | None
    edges: Int64s | None
    is_solid: bool  # whether it is 3-D

    @property
    def points(self) -> Float64s:
        """Positions of the space's points, (n, 3)."""
        return self.sites[self.index]

    def moved(self, right: float) -> View:
        """Return the scene shifted to the right."""
        return replace(self, sites=self.sites + np.array([right, 0.0, 0.0]))


def view(space: Drawable) -> View:
    """Return the view of a space; 3-D objects are rotated to their principal axes."""
    found = scene(space)
    is_solid = found.positions.shape[1] == 3
    sites = _facing(found.positions) if is_solid else np.pad(found.positions, ((0, 0), (0, 1)))
    sites = sites - (sites.min(axis=0) + sites.max(axis=0)) / 2
    radius = float(np.abs(sites).max()) or 1.0
    return View(sites / radius, found.index, found.faces, found.edges, is_solid)


def draw(ax: Axes, seen: View, colours: Float64s, weights: Float64s) -> None:
    """Draw a view with a colour (n, 3) per point; each part of a surface has the colour of its nearest point."""
    if seen.edges is not None:
        _draw_edges(ax, seen, seen.edges)
    if seen.faces is not None:
        _draw_faces(ax, seen, seen.faces, colours)
    else:
        _draw_points(ax, seen, colours, weights)


def dot_areas(ax: Axes, weights: Float64s) -> Float64s:
    """Area of each point's dot, proportional to its weight within limits; together they fill a share of the Axes."""
    box = ax.get_window_extent()
    available = box.width * box.height * (72 / ax.figure.dpi) ** 2
    ordinary = float(np.clip(0.08 * available / len(weights), 2, 60))
    return ordinary * np.clip(weights * len(weights), 0.1, 5)


def _facing(positions: Float64s) -> Float64s:
    """Rotate 3-D positions to their principal axes, the smallest in depth, without reflection.

    The axis closer to the original up direction points up. That is z, or y if the view is along z.
    """
    centred = positions - positions.mean(axis=0)
    depth, *plane = np.linalg.eigh(centred.T @ centred)[1].T
    up = np.eye(3)[2 if abs(depth[2]) < 0.7 else 1]
    right, upward = sorted(plane, key=lambda axis: abs(axis @ up))
    upward = upward * (-1 if upward @ up < 0 else 1)
    tail = ((centred @ right) ** 3).sum()  # axes have no sign: put the longer tail on the left, in every pose
    right = right * (-1 if tail > 0 else 1)
    return centred @ np.stack([right, upward, np.cross(right, upward)], axis=1)


def _draw_edges(ax: Axes, seen: View, edges: Int64s) -> None:
    from matplotlib.collections import LineCollection

    width = float(np.clip(400 / max(len(edges), 1), 0.6, 1.2))
    lines = LineCollection(list(seen.sites[edges, :2]), colors="#98a2b0", linewidths=width, zorder=1)
    lines.set_rasterized(len(edges) > MAX_VECTOR_ELEMENTS)
    ax.add_collection(lines)


def _draw_points(ax: Axes, seen: View, colours: Float64s, weights: Float64s) -> None:
    points, areas = seen.points, dot_areas(ax, weights)
    order = np.argsort(points[:, 2], kind="stable")  # nearest last
    near = (points[:, 2:] + 1) / 2 if seen.is_solid else np.ones((len(points), 1))
    hazy = 1 - (1 - colours) * (0.45 + 0.55 * near)
    dots = ax.scatter(points[order, 0], points[order, 1], s=areas[order], c=hazy[order], zorder=2)
    dots.set(edgecolors=0.65 * hazy[order], linewidths=0.4)
    dots.set_rasterized(len(points) > MAX_VECTOR_ELEMENTS)


def _draw_faces(ax: Axes, seen: View, faces: Int64s, colours: Float64s) -> None:
    from matplotlib.collections import PolyCollection
    from scipy.spatial import cKDTree

    corners = seen.sites[faces]
    normals = unit(face_normals(corners))
    normals *= np.where(normals[:, 2:] < 0, -1, 1)  # towards the viewer, whatever the orientation of the face
    brightness = np.clip(normals @ LIGHT, 0, 1)
    _, nearest = cKDTree(seen.points).query(corners.mean(axis=1))
    base = colours[nearest]
    shaded = base * (0.45 + 0.55 * brightness[:, None])
    shaded += (1 - shaded) * (0.25 * brightness[:, None] ** 8)  # a soft highlight
    order = np.argsort(corners[:, :, 2].mean(axis=1), kind="stable")  # painter's algorithm: farthest first
    # Edges have the colour of their face; otherwise seams between faces would be visible.
    surface = PolyCollection(
        list(corners[order, :, :2]), facecolors=shaded[order], edgecolors=shaded[order], linewidths=0.3, zorder=1
    )
    surface.set_rasterized(len(faces) > MAX_VECTOR_ELEMENTS)
    ax.add_collection(surface)
