"""Which way round a surface is: numbers at its vertices that a mirror image has with the other sign."""

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.io.geodesics import mesh_edges

NEAR = 0.2  # of the largest distance: what counts as the neighbourhood of a vertex


def turns(vertices: Float64s, faces: Int64s, rows: Floats) -> Float64s | None:
    """At every vertex: how far one turns, seen from outside, from the way out to the way into the crowd.

    The way out is the gradient of the mean of `rows`, distances (k, n) from landmarks; the way into the crowd is that
    of the number of landmarks nearby. Both are the same on every bent copy of a surface, so on a mirror image the turn
    has the other sign. None where faces do not agree on which side is outside.
    """
    outside = _outside(vertices, faces)
    if outside is None:
        return None
    scale = NEAR * float(rows.max())
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
