"""Many spaces and clouds, one after the other."""

import numpy as np
from numpy.typing import DTypeLike, NDArray

from anchorot._typing import Float64s, Floats

MOST_EXPONENT = 400  # of 2: squares of coordinates up to here, and from its inverse on, are in the range of floats


def space_levels(costs: list[Floats], threads: int) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Sort the rows of each matrix, transpose, and sort the rows again."""
    ordinary = np.array([_is_ordinary(cost) for cost in costs], bool)
    return [np.sort(np.sort(cost, axis=1).T, axis=1) for cost in costs], ordinary


def _is_ordinary(cost: Floats) -> bool:
    if not (np.isfinite(cost).all() and cost.min() >= 0):
        return False
    with np.errstate(over="ignore"):
        total, trace = cost.sum(dtype=np.float64), np.trace(cost, dtype=np.float64)
    return bool(len(cost) * trace <= total)


def euclidean(x: Float64s, y: Float64s) -> Float64s:
    """Distances between the rows of x and those of y."""
    from scipy.spatial.distance import cdist

    return cdist(x, y)


def cloud_costs(points: list[Float64s], dtype: DTypeLike, threads: int) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Distances within each cloud."""
    limits = np.finfo(np.dtype(dtype))
    out, ordinary = [], np.zeros(len(points), bool)
    for k, x in enumerate(points):
        size = float(np.abs(x).max(initial=0))
        cost = euclidean(x, x)
        largest = cost.max()
        in_range = largest == 0 or limits.tiny <= largest <= limits.max
        ordinary[k] = in_range and (size == 0 or 2.0**-MOST_EXPONENT < size < 2.0**MOST_EXPONENT)
        with np.errstate(over="ignore"):
            out.append(cost.astype(dtype, copy=False))
    return out, ordinary
