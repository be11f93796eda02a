"""Multidimensional scaling: points in the plane whose distances are as close as can be to given ones."""

import numpy as np

from anchorot._typing import Float64s

FARTHEST = 100.0  # times the median distance: what is farther is drawn there


def classical_mds(squared_distances: Float64s, dim: int = 2) -> Float64s:
    """Coordinates (N, dim) that best reproduce squared distances, by the leading eigenvectors of the Gram matrix.

    Anchor Energy (p = 1, 2) is the square of a Euclidean distance, so for all N - 1 dimensions this is exact.

    Examples
    --------
    >>> classical_mds(np.array([[0.0, 4.0], [4.0, 0.0]]), dim=1).round(6).tolist()
    [[1.0], [-1.0]]
    """
    from scipy.linalg import eigh

    centred = squared_distances - squared_distances.mean(axis=0)
    gram = -0.5 * (centred - centred.mean(axis=1, keepdims=True))
    values, vectors = eigh(gram, subset_by_index=(max(0, len(gram) - dim), len(gram) - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))] < 0, -1, 1)
    coordinates = vectors * np.sqrt(np.maximum(values, 0))
    return np.pad(coordinates, ((0, 0), (0, dim - coordinates.shape[1])))


def stress_layout(distances: Float64s, dim: int = 2, *, max_iter: int = 100, tol: float = 1e-3) -> Float64s:
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
    from scipy.linalg import cho_factor, cho_solve

    distances = (distances + distances.T) / 2
    if not distances.any():
        return np.zeros((len(distances), dim))
    middle = float(np.median(distances[distances > 0]))
    distances = np.minimum(distances / middle, FARTHEST)  # in units of which squares are safe
    start = classical_mds(distances**2, dim)
    near = np.where(distances > 0, np.maximum(distances, 1 / FARTHEST), np.inf)
    weights = near**-2
    laplacian = np.diag(weights.sum(axis=1)) - weights
    factor = cho_factor(laplacian + weights.mean())  # constants, which it does not see, are made to count
    wanted = weights * distances
    # Points that classical scaling puts on one spot could never part again.
    positions = start + 1e-3 * np.random.default_rng(0).normal(size=start.shape)
    for _ in range(max_iter):
        apart = np.sqrt(np.maximum(_squared_distances(positions), 0))
        pull = np.divide(wanted, apart, out=apart, where=apart > 0)
        moved = cho_solve(factor, pull.sum(axis=1)[:, None] * positions - pull @ positions)
        change = np.linalg.norm(moved - positions) / np.linalg.norm(moved)
        positions = moved
        if change < tol:
            break
    return middle * positions


def _squared_distances(x: Float64s) -> Float64s:
    norms = (x**2).sum(axis=1)
    found = x @ (-2 * x.T)
    found += norms
    found += norms[:, None]
    return found
