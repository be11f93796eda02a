"""From a rough map to a sharp one, by more and more eigenfunctions (ZoomOut: Melzi et al., 2019).

With the first k eigenfunctions of both surfaces and a map T, the matrix C = Φᵀ A Ψ[T] carries functions over; the next
map sends every point i to the point j whose row of Ψ Cᵀ is nearest to row i of Φ. Each round has some more functions.
In the last rounds every neighbourhood is also turned as a whole to where the map sends it, and rows have the places and
normals that it comes to as well: eigenfunctions blur what is smaller than a finger, and rotations do not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.align.meshes.shape import Shape

BLOCK_BYTES = 64 << 20  # of products of rows that are held at a time
ROUGH_SIZES = (20, 30, 40, 50, 65, 80, 100)  # numbers of eigenfunctions on a sample
SHARP_SIZES = (30, 50, 70, 90, 110, 130, 150)  # and on whole surfaces
LARGE_SIZES = (50, 100, 150)  # and on large ones
FIT_REACHES = (0.1, 0.07, 0.05)  # of neighbourhoods that are turned as a whole, where the area is 1
LARGE_REACHES = (0.07,)  # and of large surfaces
NORMAL_WEIGHT, FUNCTION_WEIGHT = 0.06, 0.005  # in rows, where places count 1
MAX_SOURCES = 6000  # vertices of the first surface that take part in all rounds but the last

Float32s = NDArray[np.float32]


def nearest_rows(points: Float32s, among: Float32s) -> Int64s:
    """The nearest of some rows (m, k) to every row of `points` (n, k), by products of matrices."""
    found = np.empty(len(points), np.int64)
    half = np.square(among).sum(axis=1, dtype=np.float64).astype(np.float32) / 2
    step = max(1, BLOCK_BYTES // (4 * len(among)))
    columns = np.ascontiguousarray(among.T)
    for begin in range(0, len(points), step):
        products = points[begin : begin + step] @ columns
        products -= half
        found[begin : begin + step] = products.argmax(axis=1)
    return found


def functional_map(first: Float64s, mass: Float64s, second: Float64s) -> Float64s:
    """The matrix (k, l) that carries functions over, from values at points (p, k) and at their matches (p, l).

    Where the points are all of a surface, it is Φᵀ A Ψ; where they are a part of it, the least squares of Φ C = Ψ.
    """
    weighted = first * mass[:, None]
    matrix = weighted.T @ second
    gram = weighted.T @ first
    is_whole = np.abs(gram - np.eye(len(gram))).max() < 1e-3
    ridge = 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
    return matrix if is_whole else np.linalg.solve(gram + ridge, matrix)


def upsampled(
    first: Float64s, mass: Float64s, second: Float64s, matches: Int64s, sizes: Sequence[int], *, is_part: bool = False
) -> Int64s:
    """Refine a map by the eigenfunctions of both surfaces, (n, k) and (m, k); `sizes` are their numbers in each round.

    Points without a match (-1) get one in the first round. `is_part` says that they are a part of their surface only.
    """
    for k in sizes:
        kept = np.flatnonzero(matches >= 0)
        own, weights, there = first[kept, :k], mass[kept], second[matches[kept], :k]
        matrix = functional_map(own, weights, there) if is_part else (own * weights[:, None]).T @ there
        matches = nearest_rows(first[:, :k].astype(np.float32), (second[:, :k] @ matrix.T).astype(np.float32))
    return matches


def refined(first: Shape, second: Shape, image: Int64s, sizes: Sequence[int], *, is_part: bool = False) -> Int64s:
    """Refine a map on samples of both surfaces: from sampled points of the first to vertices of the second."""
    x, y = first.sample, second.sample
    start = np.where(image >= 0, y.owner[image], -1)
    found = upsampled(first.functions[x.chosen], x.mass, second.functions[y.chosen], start, sizes, is_part=is_part)
    return y.chosen[found]


def sharpened(first: Shape, second: Shape, image: Int64s, *, is_part: bool = False) -> Int64s:
    """The match of every vertex of the first surface, given that of sampled points.

    Of a large mesh, some vertices take part in all rounds, and the others in the last alone.
    """
    n = len(first.vertices)
    start = image[first.sample.owner]
    if n <= MAX_SOURCES:
        return upsampled(first.functions, first.mass, second.functions, start, SHARP_SIZES, is_part=is_part)
    some = np.sort(np.random.default_rng(0).permutation(n)[:MAX_SOURCES])
    functions, mass = first.functions[some], first.mass[some]
    rough = upsampled(functions, mass, second.functions, start[some], LARGE_SIZES, is_part=True)
    matrix = functional_map(functions, mass, second.functions[rough])
    return nearest_rows(first.functions.astype(np.float32), (second.functions @ matrix.T).astype(np.float32))


def sharpened_image(first: Shape, second: Shape, image: Int64s) -> Int64s:
    """The vertex of the second surface that sampled points of the first go to, by all eigenfunctions."""
    chosen, mass = first.sample.chosen, first.sample.mass
    return upsampled(first.functions[chosen], mass, second.functions, image, LARGE_SIZES, is_part=True)


def fitted(first: Shape, second: Shape, matches: Int64s, *, is_mirrored: bool) -> Int64s:
    """Sharpen a map of all vertices by neighbourhoods that are turned as a whole, each a little smaller."""
    has_sides = first.is_oriented and second.is_oriented
    weight = NORMAL_WEIGHT if has_sides else 0.0
    for reach in FIT_REACHES if len(first.vertices) <= MAX_SOURCES else LARGE_REACHES:
        places, normals = turned(first, second, matches, reach, is_mirrored=is_mirrored)
        matrix = (first.functions * first.mass[:, None]).T @ second.functions[matches]
        own = places, weight * normals, FUNCTION_WEIGHT * first.functions
        other = second.vertices, weight * second.normals, FUNCTION_WEIGHT * second.functions @ matrix.T
        matches = nearest_rows(*(np.hstack(side).astype(np.float32) for side in (own, other)))
    return matches


def turned(
    first: Shape, second: Shape, matches: Int64s, reach: float, *, is_mirrored: bool
) -> tuple[Float64s, Float64s]:
    """Places and normals that vertices come to when neighbourhoods of landmarks are turned to where a map sends them.

    The best rotation of each, or reflection, is blended with those around it.
    """
    n = len(first.vertices)
    cover = float(first.rows.min(axis=0).max())  # every vertex is in some neighbourhood,
    reach = max(reach, cover, 3 / np.sqrt(n))  # and every neighbourhood has some vertices
    share = np.exp(-np.square(first.rows.astype(np.float64) / reach))
    balls = share * first.mass
    balls /= balls.sum(axis=1, keepdims=True)
    share /= share.sum(axis=0)
    points, goal = first.vertices, second.vertices[matches]
    middle, target = balls @ points, balls @ goal
    products = (points[:, :, None] * goal[:, None, :]).reshape(n, 9)
    scatter = (balls @ products).reshape(-1, 3, 3) - middle[:, :, None] * target[:, None, :]
    left, _, right = np.linalg.svd(scatter)
    sense = np.sign(np.linalg.det(left) * np.linalg.det(right)) * (-1 if is_mirrored else 1)
    left[:, :, 2] *= sense[:, None]
    turns = left @ right  # of rows of coordinates
    moves = target - np.einsum("bi,bij->bj", middle, turns)
    blend = (share.T @ turns.reshape(-1, 9)).reshape(n, 3, 3)
    normals = np.einsum("ni,nij->nj", first.normals, blend)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    return np.einsum("ni,nij->nj", points, blend) + share.T @ moves, normals
