"""Classical multidimensional scaling: points in the plane whose distances are as close as can be to given ones."""

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
