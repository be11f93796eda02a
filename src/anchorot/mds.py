"""Multidimensional scaling: points in the plane whose distances are as close as can be to given ones."""

import numpy as np

from anchorot._typing import Float64s


def classical_mds(squared_distances: Float64s, dim: int = 2) -> Float64s:
    """Coordinates (N, dim) that best reproduce squared distances, by the leading eigenvectors of the Gram matrix.

    Anchor Energy (p = 1, 2) is the square of a Euclidean distance, so for all N - 1 dimensions this is exact.

    Examples
    --------
    >>> classical_mds(np.array([[0.0, 4.0], [4.0, 0.0]]), dim=1).round(6).tolist()
    [[1.0], [-1.0]]
    """
    centred = squared_distances - squared_distances.mean(axis=0)
    gram = -0.5 * (centred - centred.mean(axis=1, keepdims=True))
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1][:dim], vectors[:, ::-1][:, :dim]
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))] < 0, -1, 1)
    coordinates = vectors * np.sqrt(np.maximum(values, 0))
    return np.pad(coordinates, ((0, 0), (0, dim - coordinates.shape[1])))


def stress_layout(distances: Float64s, dim: int = 2, *, max_iter: int = 200, tol: float = 1e-4) -> Float64s:
    r"""Coordinates (N, dim) of least stress, the usual drawing of a graph from its shortest paths.

    Stress is :math:`\sum_{i<j} d_{ij}^{-2} (|x_i - x_j| - d_{ij})^2`, the energy of Kamada and Kawai; it is lowered by
    majorisation (Gansner, Koren and North, 2004) from where classical scaling puts the points. O(N³) once, then O(N²) a
    step.

    Examples
    --------
    >>> path = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> x = stress_layout(path)
    >>> bool(abs(np.linalg.norm(x[0] - x[2]) - 2) < 1e-3)
    True
    """
    distances = (distances + distances.T) / 2
    start = classical_mds(distances**2, dim)
    if not distances.any():
        return start
    near = np.where(distances > 0, distances, np.inf)
    weights = (near.min() / near) ** 2  # the common factor keeps them at most 1
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    # Points that classical scaling puts on one spot could never part again.
    positions = start + 1e-3 * np.median(distances) * np.random.default_rng(0).normal(size=start.shape)
    for _ in range(max_iter):
        apart = np.sqrt(np.maximum(_squared_distances(positions), 0))
        pull = np.divide(weights * distances, apart, out=np.zeros_like(apart), where=apart > 0)
        moved = inverse @ (pull.sum(axis=1)[:, None] * positions - pull @ positions)
        change = np.linalg.norm(moved - positions) / np.linalg.norm(moved)
        positions = moved
        if change < tol:
            break
    return positions


def _squared_distances(x: Float64s) -> Float64s:
    norms = (x**2).sum(axis=1)
    return norms[:, None] + norms - 2 * x @ x.T
