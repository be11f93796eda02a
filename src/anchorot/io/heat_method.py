"""The heat method (Crane, Weischedel and Wardetzky, 2013): distances along a surface, from many vertices at a time.

Over a short time t, heat u from a vertex flows straight away from it: X = -∇u / |∇u| is the direction of the shortest
path, and the distance φ is the function whose gradient is nearest to X:

    (M + t L) u = source        L φ = div X

Both matrices are factorised once. They are those of an *intrinsic* Delaunay triangulation (Sharp and Crane, 2020):
edges are lengths, not lines in space, so an edge with bad opposite angles can be flipped without changing the surface.
Thin faces, boundaries and edges of three faces are then handled well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels import kernels
from anchorot._kernels.records import LowerRows
from anchorot._typing import Float64s, Int64s

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_SOURCES = 16  # right-hand sides per solve
MIN_SLACK = 1e-5  # of the mean length: the least excess of two sides of a face over the third
MIN_COTANGENTS = -1e-9  # an edge is flipped if the cotangents of its two opposite angles sum to less
MAX_ROUNDS = 1000  # of flips; a few dozen are usual
HOT = 2.0**960  # heat of a source: with 1, it would underflow far away


class Sides(NamedTuple):
    """Sides of triangles, three of each in a row: side s runs from corner[s] to the corner of the next."""

    corner: Int64s
    length: Float64s
    twin: Int64s  # the same edge in the neighbouring triangle, in opposite direction
    changed: NDArray[np.bool_]  # (triangles,): whether it is no longer a triangle of the mesh


def heat_solver(vertices: Float64s, faces: Int64s) -> Callable[[Int64s], Float64s]:
    """Factorise; return a function from sources (k,) to their distances (k, n) to all vertices, NaN where it fails."""
    n, sides = len(vertices), tufted(vertices, faces)
    make_delaunay(sides)
    time, place = sides.length.mean() ** 2, _elimination_places(sides, n)
    gradient, divergence, mass = _operators(sides, place, len(faces))
    laplacian = (divergence @ gradient).tocsr()
    diagonal = laplacian.diagonal()
    heat = kernels.sparse_solver(_lower_rows(time * laplacian, mass + time * diagonal))
    potential = kernels.sparse_solver(_lower_rows(laplacian, _grounded(diagonal)))

    def distances(sources: Int64s) -> Float64s:
        at = place[sources], np.arange(len(sources))
        start = np.zeros((n, len(sources)))
        start[at] = HOT
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            heated = heat(start)
            heated[np.abs(heated) < np.finfo(float).tiny] = np.nan  # underflow
            flow = (gradient @ heated).reshape(2, -1, len(sources))
            largest = np.abs(flow).max(axis=0)
            flow /= np.where(largest > 0, largest, 1.0)  # so that squares neither overflow nor underflow
            flow /= np.where(largest > 0, np.sqrt(np.square(flow).sum(axis=0)), 1.0)
            found = potential(divergence @ flow.reshape(-1, len(sources)))
        return (found[at] - found)[place].T

    def in_blocks(sources: Int64s) -> Float64s:
        blocks = (sources[first : first + BLOCK_SOURCES] for first in range(0, len(sources), BLOCK_SOURCES))
        return np.concatenate([distances(block) for block in blocks])

    return in_blocks


def _operators(sides: Sides, place: Int64s, count: int) -> tuple[csr_array, csr_array, Float64s]:
    """Return the gradient (2 triangles, n), its transpose times areas (the divergence), and the vertex areas."""
    from scipy.sparse import csr_array, diags_array

    n = len(place)
    kept, copies = _merged(sides.changed, count)
    i, j, k = place[sides.corner].reshape(-1, 3)[kept].T
    a, b, c = sides.length.reshape(-1, 3)[kept].T  # from i to j, j to k, k to i
    double = twice_area(a, b, c)
    x, y = (a * a + c * c - b * b) / (2 * a), double / a  # where k is, with i at 0 and j at (a, 0)
    face = np.arange(len(i))
    rows = np.concatenate([face, face, *[face + len(i)] * 3])
    values = np.concatenate([-1 / a, 1 / a, (x - a) / double, -x / double, 1 / y])
    gradient = csr_array((values, (rows, np.concatenate([i, j, i, j, k]))), shape=(2 * len(i), n))
    area = copies * double / 2
    mass = np.bincount(np.concatenate([i, j, k]), np.tile(area / 3, 3), n).astype(np.float64)
    return gradient, (gradient.T @ diags_array(np.tile(area, 2))).tocsr(), mass


def _grounded(diagonal: Float64s) -> Float64s:
    """Return the diagonal of an invertible Laplacian: the potential is pinned to zero at the last vertex."""
    return np.append(diagonal[:-1], 2 * diagonal[-1])


def tufted(vertices: Float64s, faces: Int64s) -> Sides:
    """Return the sides of the faces and, unless the surface is closed, of their backs, so that every side has a twin.

    At an edge of m faces, the front of each is glued to the back of the next; at a boundary, to its own back.
    """
    count = len(faces)
    corner = np.concatenate([faces, faces[:, ::-1]]).ravel()
    starts, ends = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    front = np.arange(3 * count)
    back = (3 * (count + np.arange(count))[:, None] + [1, 0, 2]).ravel()  # the same edge in opposite direction
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    order = np.lexsort((high, low))
    begins = np.append(True, (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0))
    following = np.arange(1, len(order) + 1)
    following[np.append(begins[1:], True)] = np.flatnonzero(begins)
    up, down = np.where(starts <= ends, front, back)[order], np.where(starts <= ends, back, front)[order][following]
    twin = np.empty(6 * count, np.int64)
    twin[up], twin[down] = down, up
    length = np.linalg.norm(vertices[ends] - vertices[starts], axis=1)
    sums = length.reshape(-1, 3).sum(axis=1, keepdims=True) - 2 * length.reshape(-1, 3)
    length += max(0.0, MIN_SLACK * length.mean() - sums.min())
    if (twin[: 3 * count] < 3 * count).all():  # closed: the backs are a separate surface
        return Sides(corner[: 3 * count], length, twin[: 3 * count], np.zeros(count, np.bool_))
    both = np.empty(6 * count)
    both[front], both[back] = length, length
    return Sides(corner, both, twin, np.zeros(2 * count, np.bool_))


def make_delaunay(sides: Sides) -> None:
    """Flip edges in place until no two angles opposite an edge sum to more than 180 degrees.

    Flips in one round share no triangle, so they are done all at once, the worst edges first.
    """
    _, length, twin, changed = sides
    queue = np.flatnonzero(twin > np.arange(len(twin)))
    for _ in range(MAX_ROUNDS):
        total = _cotangents(length, queue) + _cotangents(length, twin[queue])
        is_bad = (total < MIN_COTANGENTS) & (queue // 3 != twin[queue] // 3)
        queue = queue[is_bad][np.argsort(total[is_bad], kind="stable")]
        if len(queue) == 0:
            return
        other, rank = twin[queue], np.arange(len(queue))
        first = np.full(len(changed), len(queue))
        np.minimum.at(first, np.concatenate([queue // 3, other // 3]), np.tile(rank, 2))
        is_first = (first[queue // 3] == rank) & (first[other // 3] == rank)
        moved, renumbered = _flip(sides, queue[is_first], other[is_first])
        queue = np.concatenate([renumbered[queue[~is_first]], moved])
        queue = np.unique(np.minimum(queue, twin[queue]))


def _flip(sides: Sides, side: Int64s, other: Int64s) -> tuple[Int64s, Int64s]:
    """Replace triangles (i, j, k) and (j, i, l) by (k, i, l) and (l, j, k); side runs from i to j.

    Return the new indices of the four outer sides of each pair, and a map from old to new indices.
    """
    corner, length, twin, changed = sides
    to_k, from_k, to_l, from_l = _next(side), _next(_next(side)), _next(other), _next(_next(other))
    a = length[side]
    x_k = (a * a + length[from_k] ** 2 - length[to_k] ** 2) / (2 * a)
    x_l = (a * a + length[to_l] ** 2 - length[from_l] ** 2) / (2 * a)
    heights = (twice_area(a, length[to_k], length[from_k]) + twice_area(a, length[to_l], length[from_l])) / a
    diagonal = np.sqrt(np.square(x_k - x_l) + np.square(heights))
    one, two = side - side % 3, other - other % 3
    old, new = np.concatenate([from_k, to_l, from_l, to_k]), np.concatenate([one, one + 1, two, two + 1])
    renumbered = np.arange(len(twin))
    renumbered[old] = new
    corners, lengths, twins = corner[old], length[old], renumbered[twin[old]]
    corner[new], length[new], twin[new] = corners, lengths, twins
    twin[twins] = new
    corner[one + 2], corner[two + 2] = corner[two], corner[one]
    length[one + 2], length[two + 2] = diagonal, diagonal
    twin[one + 2], twin[two + 2] = two + 2, one + 2
    changed[one // 3], changed[two // 3] = True, True
    return new, renumbered


def _next(side: Int64s) -> Int64s:
    return np.where(side % 3 == 2, side - 2, side + 1)


def _cotangents(length: Float64s, side: Int64s) -> Float64s:
    """Return the cotangents of the angles opposite some sides."""
    a, b, c = length[side], length[_next(side)], length[_next(_next(side))]
    return (b * b + c * c - a * a) / (2 * np.maximum(twice_area(a, b, c), np.finfo(float).tiny))


def twice_area(a: Float64s, b: Float64s, c: Float64s) -> Float64s:
    """Return twice the area of triangles with these sides, by Kahan's stable form of Heron's formula."""
    a, b, c = np.sort([a, b, c], axis=0)[::-1]
    return np.sqrt(np.maximum((a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c)), 0)) / 2


def _merged(changed: NDArray[np.bool_], count: int) -> tuple[Int64s, Float64s]:
    """Return the triangles to keep and their multiplicity: triangles equal on both sides of the surface count twice."""
    front, back = changed[:count], changed[count:]
    is_same = ~(front | back) if len(back) else np.ones(count, np.bool_)
    others = np.flatnonzero(~is_same[: len(back)])
    return np.append(np.arange(count), count + others), np.append(1.0 + is_same, np.ones(len(others)))


def _elimination_places(sides: Sides, n: int) -> Int64s:
    """Return each vertex's position in a fill-reducing order: SuperLU's minimum degree.

    SuperLU returns the order only with factors; incomplete ones are cheap.
    """
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spilu

    starts, ends = sides.corner, sides.corner.reshape(-1, 3)[:, [1, 2, 0]].ravel()
    pattern = csc_array((np.full(len(starts), -1.0), (starts, ends)), shape=(n, n))
    pattern = pattern + pattern.T + (3 * len(starts)) * eye_array(n)
    return spilu(pattern.tocsc(), drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A").perm_c.astype(np.int64)


def _lower_rows(matrix: csr_array, diagonal: Float64s) -> LowerRows:
    from scipy.sparse import tril

    below = tril(matrix, -1, format="csr")
    return LowerRows(below.indptr.astype(np.int64), below.indices.astype(np.int32), below.data, diagonal)
