"""Spaces from point clouds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from anchorot._typing import Float64s
from anchorot._validate import check_finite, check_numbers
from anchorot.exceptions import InputError
from anchorot.geometry import cloud
from anchorot.space import Space

BLOCK_BYTES = 1 << 24  # distances computed at a time in float64 before they are stored


def from_points(
    points: ArrayLike,
    metric: str | Callable[[Float64s, Float64s], float] = "euclidean",
    weights: ArrayLike | None = None,
    *,
    dtype: DTypeLike = np.float64,
    labels: Sequence[object] | None = None,
    **metric_options: Any,
) -> Space:
    """Make the space of points, with the distances between them as costs.

    Parameters
    ----------
    points : array_like of shape (n, d)
    metric : str or callable
        Any metric of :func:`scipy.spatial.distance.cdist`.
    weights : array_like of shape (n,), optional
        Uniform by default.
    dtype : float64 or float32
        Of the costs. Distances are computed in blocks, so memory stays at n² numbers of this type.
    labels : sequence of n objects, optional
        Names of the points.
    **metric_options
        Passed on to the metric, as in ``from_points(X, "minkowski", p=3)``.

    Examples
    --------
    >>> from_points([[0, 0], [3, 4]]).cost.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    from scipy.spatial.distance import cdist

    x = check_numbers(points, "points").astype(np.float64, copy=False)
    if x.ndim != 2 or len(x) == 0:
        raise InputError(f"points has shape {x.shape}, but (n, d) with n >= 1 is needed; d = 1 too: points[:, None]")
    check_finite(x, "points")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise InputError(f"dtype must be float64 or float32, but {np.dtype(dtype)} came")
    # What SciPy would estimate from a block must come from all points.
    if metric == "seuclidean" and "V" not in metric_options:
        metric_options["V"] = x.var(axis=0, ddof=1)
    if metric == "mahalanobis" and "VI" not in metric_options:
        metric_options["VI"] = np.linalg.inv(np.atleast_2d(np.cov(x.T))).T
    cost = np.empty((len(x), len(x)), dtype)
    step = max(1, BLOCK_BYTES // (8 * len(x)))
    for start in range(0, len(x), step):
        try:
            cost[start : start + step] = cdist(x[start : start + step], x, metric, **metric_options)
        except (ValueError, TypeError) as error:
            raise InputError(f"metric {metric!r} does not work on points of shape {x.shape}: {error}") from None
    return Space(cost, weights, labels=labels, geometry=cloud(x), copy=False)
