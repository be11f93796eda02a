"""Signatures of the points of a surface: numbers that bending does not change, and some that depend on the outside.

`even` numbers are the same at the two halves of a symmetric body: how central a point is, how fast heat leaves it, how
the surface bulges around it. `turns` have opposite signs there. From two even functions f and g on the surface, the
turn det(n, ∇f, ∇g) says whether one turns to the left or to the right, seen from outside, from the way along which f
grows to that along which g does. Both kinds hardly change when a body moves, so they guide an alignment
to the map that does not mirror, which distances alone cannot tell from the one that does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anchorot._typing import Float64s, Floats, Int64s
from anchorot.align.meshes.laplacian import factorised, vertex_normals, vertex_sums

HEAT_TIMES = (0.005, 0.02, 0.08)  # where the area is 1, as all times here
CURVATURE_TIMES = (0.0005, 0.002, 0.008)  # of the heat flow that curvature is averaged by
SMOOTHING_TIME = 0.003  # of functions before they are turned, and of turns
SQUASHING = 4  # median absolute deviations beyond which a number counts little more


class Signatures(NamedTuple):
    """Numbers at the vertices, each of mean square 1 over the surface."""

    even: Float64s  # (n, 7), of mean 0; the last three are mean curvatures, positive where the surface bulges
    turns: Float64s  # (n, 15)

    def at(self, vertices: Int64s) -> Signatures:
        """Those of some vertices."""
        return Signatures(self.even[vertices], self.turns[vertices])


def signatures_of(
    vertices: Float64s,
    faces: Int64s,
    is_oriented: bool,
    laplacian: Any,
    mass: Float64s,
    spectrum: tuple[Float64s, Float64s],
    rows: Floats,
) -> Signatures:
    """Compute the signatures of a surface of area 1, given distances (l, n) from landmarks."""
    from scipy.sparse import diags_array

    def flow(time: float, sums: Float64s) -> Float64s:
        """Turn sums over the areas of vertices into means over neighbourhoods."""
        return factorised(diags_array(mass) + time * laplacian).solve(sums)

    values, functions = spectrum
    decay = np.exp(-np.outer(values, HEAT_TIMES))
    heat = np.log(np.maximum(np.square(functions) @ decay / decay.sum(axis=0), 1e-300))
    normals = vertex_normals(vertices, faces)
    bend = ((laplacian @ vertices) * normals).sum(axis=1)
    curvature = np.stack([flow(time, bend) for time in CURVATURE_TIMES], axis=1)
    even = _squashed(np.column_stack([rows.mean(axis=0, dtype=np.float64), heat, curvature]), mass)
    base = flow(SMOOTHING_TIME, mass[:, None] * np.delete(even, -3, axis=1))
    turns = [_turn(f, g, faces) for i, f in enumerate(base.T) for g in base.T[:i]]
    smooth = flow(SMOOTHING_TIME, is_oriented * np.stack(turns, axis=1))
    return Signatures(even, _unit(np.sign(smooth) * np.sqrt(np.abs(smooth)), mass))


def _turn(f: Float64s, g: Float64s, faces: Int64s) -> Float64s:
    """Integral of det(n, ∇f, ∇g) over the faces around every vertex, but for a factor."""
    a, b, c = faces.T
    return vertex_sums((f[b] - f[a]) * (g[c] - g[a]) - (f[c] - f[a]) * (g[b] - g[a]), faces, len(f))


def _squashed(values: Float64s, mass: Float64s) -> Float64s:
    """Centre every column and bring outliers near, so that a few fingertips do not outweigh a body."""
    centre = np.median(values, axis=0)
    scale = SQUASHING * np.median(np.abs(values - centre), axis=0)
    small = np.tanh((values - centre) / np.where(scale > 0, scale, 1.0))
    return _unit(small - np.average(small, axis=0, weights=mass), mass)


def _unit(values: Float64s, mass: Float64s) -> Float64s:
    size = np.sqrt(np.average(np.square(values), axis=0, weights=mass))
    return values / np.where(size > 0, size, 1.0)
