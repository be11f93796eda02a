"""From a rough map to a sharp one, by more and more eigenfunctions (ZoomOut: Melzi et al., 2019).

With the first k eigenfunctions of both surfaces and a map T, the matrix C = Φᵀ A Ψ[T] carries functions over; the next
map sends every point i to the point j whose row of Ψ Cᵀ is nearest to row i of Φ. Each round has some more functions.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s

BLOCK_BYTES = 64 << 20  # of products of rows that are held at a time

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


def carried(first: Float64s, mass: Float64s, second: Float64s, matches: Int64s) -> Float64s:
    """The matrix (k, l) that carries functions of the second surface to the first; points without a match (-1) rest."""
    kept = np.flatnonzero(matches >= 0)
    return (first[kept] * mass[kept, None]).T @ second[matches[kept]]


def upsampled(first: Float64s, mass: Float64s, second: Float64s, matches: Int64s, sizes: Iterable[int]) -> Int64s:
    """Refine a map by the eigenfunctions of both surfaces, (n, k) and (m, k), so many at a time as `sizes` says."""
    for k in sizes:
        matrix = carried(first[:, :k], mass, second[:, :k], matches)
        found = nearest_rows(first[:, :k].astype(np.float32), (second[:, :k] @ matrix.T).astype(np.float32))
        matches = np.where(matches >= 0, found, -1)
    return matches
