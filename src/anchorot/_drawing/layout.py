"""Multidimensional scaling: points in the plane whose distances are as close as can be to given ones."""

import numpy as np

from anchorot._typing import Float64s

FARTHEST = 100.0  # times the median distance: what is farther is drawn there
MOST_TOGETHER = 600  # points whose stress is lowered together; more go where distances to those put them
STEPS_ALONE = 30


def classical_mds(squared_distances: Float64s, dim: int = 2) -> Float64s:
    """Coordinates (N, dim) that best reproduce squared distances, by the leading eigenvectors of the Gram matrix.

    Anchor Energy (p = 1, 2) is the square of a Euclidean distance, so for all N - 1 dimensions this is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot._drawing.layout import classical_mds
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
    step, for up to 600 points; of more, 600 are drawn and laid out, and each of the others goes where its own stress
    against those is least.

    Examples
    --------
    >>> import numpy as np
    >>> from anchorot._drawing.layout import stress_layout
    >>> path = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> x = stress_layout(path)
    >>> bool(abs(np.linalg.norm(x[0] - x[2]) - 2) < 1e-3)
    True
    """
    n = len(distances)
    order = np.random.default_rng(0).permutation(n) if n > MOST_TOGETHER else np.arange(n)
    chosen, others = np.sort(order[:MOST_TOGETHER]), np.sort(order[MOST_TOGETHER:])
    among = (distances[np.ix_(chosen, chosen)] + distances[np.ix_(chosen, chosen)].T) / 2
    np.fill_diagonal(among, 0.0)
    if not among.any():
        return np.zeros((n, dim))
    middle = float(np.median(among[among > 0]))  # in units of which squares are safe
    positions = np.empty((n, dim))
    positions[chosen] = _together(np.minimum(among / middle, FARTHEST), dim, max_iter, tol)
    if len(others):
        rest = (distances[np.ix_(others, chosen)] + distances[np.ix_(chosen, others)].T) / (2 * middle)
        positions[others] = _alone(np.minimum(rest, FARTHEST), positions[chosen])
    return middle * positions


def _together(distances: Float64s, dim: int, max_iter: int, tol: float) -> Float64s:
    """Lower the stress of all points at once."""
    from scipy.linalg import cho_factor, cho_solve

    start = classical_mds(distances**2, dim)
    near = np.where(distances > 0, np.maximum(distances, 1 / FARTHEST), np.inf)
    weights = near**-2
    laplacian = np.diag(weights.sum(axis=1)) - weights
    factor = cho_factor(laplacian + weights.mean())  # constants, which it does not see, are made to count
    wanted = weights * distances
    # Points that classical scaling puts on one spot could never part again.
    positions = start + 1e-3 * np.random.default_rng(0).normal(size=start.shape)
    for _ in range(max_iter):
        apart = np.sqrt(np.maximum(_squared_distances(positions, positions), 0))
        pull = np.divide(wanted, apart, out=apart, where=apart > 0)
        moved = cho_solve(factor, pull.sum(axis=1)[:, None] * positions - pull @ positions)
        change = np.linalg.norm(moved - positions) / np.linalg.norm(moved)
        positions = moved
        if change < tol:
            break
    return positions


def _alone(distances: Float64s, landmarks: Float64s) -> Float64s:
    """Lower the stress of every point against landmarks that stay, from its nearest ones: distances are (points, l)."""
    weights = np.maximum(distances, 1 / FARTHEST) ** -2
    weights /= weights.sum(axis=1, keepdims=True)
    nearest = np.argsort(distances, axis=1)[:, :3]
    positions = landmarks[nearest].mean(axis=1)
    centre = weights @ landmarks
    for _ in range(STEPS_ALONE):
        apart = np.sqrt(np.maximum(_squared_distances(positions, landmarks), 0))
        pull = np.divide(weights * distances, apart, out=np.zeros_like(apart), where=apart > 0)
        positions = centre + pull.sum(axis=1)[:, None] * positions - pull @ landmarks
    return positions


def _squared_distances(x: Float64s, y: Float64s) -> Float64s:
    found = x @ (-2 * y.T)
    found += (y**2).sum(axis=1)
    found += (x**2).sum(axis=1)[:, None]
    return found
