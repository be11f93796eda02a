"""A mesh of the surface where a function on a grid is zero (naive surface nets)."""

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s

CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if np.abs(CORNERS[a] - CORNERS[b]).sum() == 1]


def surface_of(values: Float64s, origin: Float64s, step: float) -> tuple[Float64s, Int64s]:
    """Return vertices (N, 3) and faces (F, 3) of the surface between positive (inside) and negative values.

    A cell of the grid that the surface passes has one vertex, the mean of where its edges are cut; a cut edge of the
    grid has a square of the four cells around it. The outermost values must be negative.
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
    """Of each cell, from its values (N, 8) at the corners, the mean of the cuts of its edges."""
    total, count = np.zeros((len(values), 3)), np.zeros((len(values), 1))
    for a, b in EDGES:
        cut = (values[:, a] > 0) != (values[:, b] > 0)
        share = values[cut, a] / (values[cut, a] - values[cut, b])
        total[cut] += CORNERS[a] + share[:, None] * (CORNERS[b] - CORNERS[a])
        count[cut] += 1
    return total / count


def _squares(inside: NDArray[np.bool_], number: Int64s, axis: int) -> Int64s:
    """Two triangles for every edge of the grid along an axis that the surface cuts, outside to the right."""
    first, second = np.moveaxis(inside, axis, 0)[:-1], np.moveaxis(inside, axis, 0)[1:]
    cells = np.moveaxis(number, axis, 0)
    at, u, v = np.nonzero(first != second)
    around = [cells[at, u - i, v - j] for i, j in ((1, 1), (0, 1), (0, 0), (1, 0))]
    outward = first[at, u, v] == (axis != 1)  # the other two axes change hands for the middle one
    square = np.where(outward[:, None], np.stack(around, axis=1), np.stack(around[::-1], axis=1))
    return np.concatenate([square[:, [0, 1, 2]], square[:, [0, 2, 3]]])
