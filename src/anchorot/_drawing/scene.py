"""Where to draw the points of a space."""

from dataclasses import dataclass

import numpy as np

from anchorot._drawing.layout import stress_layout
from anchorot._typing import Float64s, Int64s
from anchorot.space import Space


@dataclass(frozen=True, eq=False)
class Scene:
    """What to draw of a space: N sites in the plane or in 3-D, and what joins them."""

    positions: Float64s  # (N, 2) or (N, 3)
    index: Int64s  # (n,): the site of each of the space's points
    faces: Int64s | None  # (F, 3)
    edges: Int64s | None  # (E, 2)
    is_free: bool  # whether nothing says which way is up: a layout, or a bare cloud


def scene(space: Space) -> Scene:
    """Take the positions that a space came with, or lay it out in the plane by its costs.

    A space without positions is laid out from its costs alone. If its points are a sample of a graph's nodes, the
    places of the others are unknown, and no edges are drawn.
    """
    geometry = space.geometry
    if geometry is not None and geometry.positions is not None:
        is_bare = geometry.faces is None and geometry.edges is None
        return Scene(geometry.positions, geometry.index, geometry.faces, geometry.edges, is_bare)
    placed = stress_layout(np.abs(space.cost.astype(np.float64)))
    if geometry is None or geometry.n_sites != space.n:
        return Scene(placed, np.arange(space.n), None, None, is_free=True)
    positions = np.empty_like(placed)
    positions[geometry.index] = placed
    return Scene(positions, geometry.index, None, geometry.edges, is_free=True)
