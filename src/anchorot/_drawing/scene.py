"""Where to draw the points of a space, or of a thing that is too large to be one."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anchorot._cost_scales import in_unit_range
from anchorot._drawing.layout import stress_layout
from anchorot._typing import Float64s, Int64s
from anchorot._validate import uniform_weights
from anchorot.geometry import Geometry
from anchorot.io.files import read
from anchorot.io.landmarks import MeshDistances, PointDistances, SpaceDistances, distances_of
from anchorot.io.mesh_files import MESH_READERS
from anchorot.io.meshes import check_mesh, open_mesh
from anchorot.origin import Origin
from anchorot.space import Space

LARGEST_UNIT = 2.0**900  # of costs that are drawn at their own size; larger ones are drawn smaller


@dataclass(frozen=True, eq=False)
class Whole:
    """A thing that is drawn as it is, all of its points, without costs between them."""

    geometry: Geometry
    labels: tuple[object, ...] | None = None
    origin: Origin | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.geometry.index)

    @property
    def weights(self) -> Float64s:
        """All alike."""
        return uniform_weights(self.n)


Drawable = Space | Whole


def drawable(thing: Any) -> Drawable:
    """Turn what `align` takes into what can be drawn: spaces and cost matrices, meshes, clouds, and files of them."""
    if isinstance(thing, Space | Whole):
        return thing
    if isinstance(thing, str | os.PathLike) and Path(thing).suffix.lower() not in MESH_READERS:
        return read(thing)
    if isinstance(thing, str | os.PathLike | tuple) or hasattr(thing, "faces"):
        mesh = open_mesh(thing)
        vertices, faces = check_mesh(mesh.vertices, mesh.faces)
        return Whole(Geometry(np.arange(len(vertices)), len(vertices), vertices, faces=faces))
    source = distances_of(thing)
    if isinstance(source, MeshDistances | PointDistances):
        return Whole(source.geometry)
    assert isinstance(source, SpaceDistances)
    return source.whole


@dataclass(frozen=True, eq=False)
class Scene:
    """What to draw of a space: N sites in the plane or in 3-D, and what joins them."""

    positions: Float64s  # (N, 2) or (N, 3)
    index: Int64s  # (n,): the site of each of the space's points
    faces: Int64s | None  # (F, 3)
    edges: Int64s | None  # (E, 2)
    is_free: bool  # whether nothing says which way is up: a layout, or a bare cloud


def scene(space: Drawable) -> Scene:
    """Take the positions that a space came with, or lay it out in the plane by its costs.

    A space without positions is laid out from its costs alone, counted from the least of them. If its points are a
    sample of a graph's nodes, the places of the others are unknown, and no edges are drawn.
    """
    geometry = space.geometry
    if geometry is not None and geometry.positions is not None:
        is_bare = geometry.faces is None and geometry.edges is None
        return Scene(geometry.positions, geometry.index, geometry.faces, geometry.edges, is_bare)
    assert isinstance(space, Space)
    (costs,), unit = in_unit_range([space.cost])
    placed = stress_layout(costs) * min(unit, LARGEST_UNIT)
    if geometry is None or geometry.n_sites != space.n:
        return Scene(placed, np.arange(space.n), None, None, is_free=True)
    positions = np.empty_like(placed)
    positions[geometry.index] = placed
    return Scene(positions, geometry.index, None, geometry.edges, is_free=True)
