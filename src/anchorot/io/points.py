"""Spaces from point clouds: distances, or shortest paths on the graph of nearest neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from anchorot._kernels import kernels
from anchorot._typing import Disconnected, Float64s, Floats, Int64s, RngLike
from anchorot._validate import (
    check_choice,
    check_finite,
    check_integer,
    check_labels,
    check_memory,
    check_numbers,
    check_weights,
    row_names,
)
from anchorot.exceptions import InputError, first_line
from anchorot.geometry import cloud, extent
from anchorot.io.attributes import draw_points, given_attributes
from anchorot.io.graph_inputs import EdgeTable
from anchorot.io.graphs import table_space
from anchorot.space import Space

PointMetric = str | Callable[[Float64s, Float64s], float]
# the power of the points' unit that distances scale with
DEGREES = {
    **dict.fromkeys(("euclidean", "cityblock", "chebyshev", "minkowski"), 1),
    **dict.fromkeys(("canberra", "braycurtis", "cosine", "correlation", "seuclidean", "mahalanobis"), 0),
    "sqeuclidean": 2,
}
MAX_EXPONENT = 400  # of 2: below this, squares of coordinates and their sums stay in range
EXTENT = "extent"
MAX_COORDINATES = 3  # of positions; more are measurements
BLOCK_BYTES = 1 << 24  # distances computed in float64 at a time


def from_points(
    points: ArrayLike,
    metric: PointMetric = "euclidean",
    weights: ArrayLike | None = None,
    *,
    dtype: DTypeLike = "float64",
    types: Iterable[Hashable] | None = None,
    features: ArrayLike | None = None,
    labels: Iterable[object] | None = None,
    area: float | str | None = None,
    n_points: int | None = None,
    rng: RngLike = None,
    **metric_options: Any,
) -> Space:
    """Make the space of points, with the distances between them as costs.

    Parameters
    ----------
    points : array_like of shape (n, d)
    metric : str or callable
        Any metric of :func:`scipy.spatial.distance.cdist`.
    weights : array_like of shape (n,), optional
        Uniform by default. Renormalised over the points that are kept.
    dtype : float64 or float32
        Type of the costs. Distances are computed in blocks, so memory stays at n² numbers of this type.
    types : iterable of n hashable objects, optional
        Type of each point, see :class:`Space`.
    features : array_like of shape (n, k) or (n,), optional
        Features of the points, see :class:`Space`.
    labels : iterable of n objects, optional
        Names of the points; by default those of a data frame's rows.
    area : float or "extent", optional
        Area of the field of view, see :class:`Space`. "extent": estimated from the range of the coordinates.
    n_points : int, optional
        Keep at most this many points, drawn uniformly.
    rng : None, int or numpy.random.Generator
        Source of randomness for the sample.
    **metric_options
        Passed on to the metric, as in ``from_points(X, "minkowski", p=3)``.

    Returns
    -------
    Space
        The points that are kept, in the order drawn; `Space.geometry` has the positions of all points, if they have
        at most three coordinates.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.from_points([[0, 0], [3, 4]]).cost.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    >>> ao.from_points([[0], [1], [2]], types=["C", "O", "N"], n_points=2, rng=0).types
    ('O', 'N')
    """
    everything = check_points(points)
    labels = row_names(points) if labels is None else labels
    check_dtype(dtype)
    named = None if labels is None else check_labels(labels, len(everything), "there are")
    attributes = given_attributes(types, features, len(everything), "points")
    size = extent(everything) if isinstance(area, str) and area == EXTENT else area
    shares = None if weights is None else check_weights(weights, len(everything), "points")
    kept = draw_points(np.arange(len(everything)), n_points, rng, shares)
    x = everything[kept]
    check_memory(len(x), np.dtype(dtype).itemsize)
    cost = np.empty((len(x), len(x)), dtype)
    for start, block in distance_blocks(x, x, metric, metric_options):
        with np.errstate(over="ignore"):
            cost[start : start + len(block)] = block
        _check_range(block, cost[start : start + len(block)])
    mass = None if shares is None else shares[kept] / shares[kept].sum()
    names = None if named is None else [named[i] for i in kept]
    rest = {**attributes.of(kept), "labels": names, "area": size, "geometry": cloud(everything, kept)}
    return Space(cost, mass, **rest, copy=False)


def field_area(points: Float64s, metric: PointMetric) -> float | None:
    """Estimate the area of a field of view from coordinates, at most three, whose unit is that of the distances."""
    is_plane = points.shape[1] <= MAX_COORDINATES and isinstance(metric, str) and DEGREES.get(metric) == 1
    return extent(points) if is_plane else None


def cloud_space(
    points: ArrayLike,
    metric: str,
    n_neighbors: int | None,
    disconnected: Disconnected | Literal["split"],
    **options: Any,
) -> Space | list[Space]:
    """Make the space of a cloud, with distances as costs, or with paths on its neighbour graph given `n_neighbors`."""
    if n_neighbors is None:
        return from_points(points, metric, **options)
    options.pop("area", None)  # of the plane, whose distances paths are not
    return from_neighbors(points, n_neighbors, metric, disconnected, **options)


def check_points(points: ArrayLike) -> Float64s:
    """Turn `points` into n >= 1 rows of finite float64 numbers."""
    x = check_numbers(points, "points").astype(np.float64, copy=False)
    if x.ndim != 2 or len(x) == 0:
        advice = "many clouds: anchorot.io.PointClouds(points)" if x.ndim == 3 else "d = 1 too: points[:, None]"
        raise InputError(f"points has shape {x.shape}, but (n, d) with n >= 1 is needed; {advice}")
    check_finite(x, "points")
    return x


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the type of costs."""
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise InputError(f"dtype must be float64 or float32, but got {np.dtype(dtype)}")
    return np.dtype(dtype)


def distance_blocks(
    x: Float64s, y: Float64s, metric: PointMetric, options: dict[str, Any]
) -> Iterator[tuple[int, Float64s]]:
    """Yield distances between rows of x and y, in blocks of rows of x, with the index of the first row."""
    exponent = math.frexp(float(np.abs(y).max(initial=0)))[1]
    if options or metric not in DEGREES or abs(exponent) <= MAX_EXPONENT:
        exponent = 0
    if exponent:  # otherwise squares of differences would be 0 or infinite
        x, y = np.ldexp(x, -exponent), np.ldexp(y, -exponent)
    options = options | _estimated(y, metric, options)
    step = max(1, BLOCK_BYTES // (8 * len(y)))
    for start in range(0, len(x), step):
        try:
            block = _distances(x[start : start + step], y, metric, options)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"metric {metric!r} does not work on points of shape {x.shape}: {first_line(error)}"
            ) from None
        if np.isnan(block).any():
            raise InputError(f"metric {metric!r} is not defined {_where_undefined(x, metric, block, start)}")
        with np.errstate(over="ignore"):
            found = np.ldexp(block, exponent * DEGREES[str(metric)]) if exponent else block
        _check_range(block, found)
        yield start, found


def _distances(x: Float64s, y: Float64s, metric: PointMetric, options: dict[str, Any]) -> Float64s:
    if metric == "euclidean" and not options and len(x) > 1:  # as `PointClouds` compute them, to the last bit
        return kernels.euclidean(np.ascontiguousarray(x), np.ascontiguousarray(y))
    from scipy.spatial.distance import cdist

    found: Float64s = cdist(x, y, metric, **options)
    return found


def _check_range(block: Float64s, found: Floats) -> None:
    """Raise if the largest distance overflows or underflows in the given unit and dtype."""
    largest = found.max()
    if np.isinf(largest) or (block.max() > 0 and largest < np.finfo(found.dtype).tiny):
        raise InputError(f"distances between points are outside the range of {found.dtype}; choose another unit")


def _estimated(x: Float64s, metric: PointMetric, given: dict[str, Any]) -> dict[str, Any]:
    """Estimate metric parameters from all points; SciPy would estimate them from each block."""
    wanted = {"seuclidean": "V", "mahalanobis": "VI"}.get(metric) if isinstance(metric, str) else None
    if wanted is None or wanted in given:
        return {}
    if len(x) == 1:
        raise InputError(f"metric {metric!r} needs at least two points, to estimate their variance")
    if wanted == "V":
        return {"V": x.var(axis=0, ddof=1)}
    covariance = np.atleast_2d(np.cov(x.T))
    rank = int(np.linalg.matrix_rank(covariance))
    if rank < len(covariance):
        raise InputError(
            f"metric 'mahalanobis' needs points that vary in all {len(covariance)} dimensions, not in {rank};"
            " use fewer dimensions, or another metric"
        )
    return {"VI": np.linalg.inv(covariance).T}


def _where_undefined(x: Float64s, metric: PointMetric, block: Float64s, start: int) -> str:
    for name, flat, why in (
        ("correlation", (x == x[:, :1]).all(axis=1), "whose coordinates are all equal"),
        ("cosine", (x == 0).all(axis=1), "whose coordinates are all zero"),
    ):
        if metric == name and flat.any():
            return f"for point {int(np.argmax(flat))}, {why}"
    i, j = np.argwhere(np.isnan(block))[0]
    return f"between points {start + i} and {j}"


def from_neighbors(
    points: ArrayLike,
    n_neighbors: int = 5,
    metric: PointMetric = "correlation",
    disconnected: Disconnected | Literal["split"] = "error",
    *,
    mode: str = "connectivity",
    weights: ArrayLike | None = None,
    types: Iterable[Hashable] | None = None,
    features: ArrayLike | None = None,
    labels: Iterable[object] | None = None,
    n_points: int | None = None,
    rng: RngLike = None,
) -> Space | list[Space]:
    """Make the space of points with shortest paths on their nearest-neighbour graph as costs.

    These follow a curved cloud, as in single-cell methods such as SCOT (which then divide by the largest cost).

    Parameters
    ----------
    points : array_like of shape (n, d)
    n_neighbors : int
        Each point is joined to this many nearest others; ties are broken by index.
    metric : str or callable
        Metric for the neighbours, see :func:`from_points`.
    disconnected : {"error", "largest", "split"} or float
        See :func:`from_graph`. A larger `n_neighbors` also helps.
    mode : {"connectivity", "distance"}
        Count edges, or sum their distances.
    weights, types, features, labels, n_points, rng
        See :func:`from_points`. Paths of a sample still use all points.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.from_neighbors([[0.0], [1.0], [2.5]], 1, "euclidean").cost.tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    check_choice(mode, "mode", ("connectivity", "distance"))
    x = check_points(points)
    k = check_integer(n_neighbors, "n_neighbors", 1)
    if k >= len(x):
        raise InputError(f"n_neighbors must be below the number of points, but got {k} for {len(x)} points")
    attributes = given_attributes(types, features, len(x), "points")
    edges, lengths = _nearest(x, k, metric)
    labels = row_names(points) if labels is None else labels
    names = tuple(range(len(x))) if labels is None else check_labels(labels, len(x), "there are")
    table = EdgeTable(len(x), edges, lengths if mode == "distance" else None, False, names)
    geometry = cloud(x)
    options: dict[str, Any] = {"weights": weights, "attributes": attributes, "n_points": n_points, "rng": rng}
    positions = None if geometry is None else geometry.positions
    another_way = "more neighbours (n_neighbors)"
    return table_space(table, disconnected, **options, positions=positions, another_way=another_way)


def _nearest(x: Float64s, k: int, metric: PointMetric) -> tuple[Int64s, Float64s]:
    """Return the edges from every point to its k nearest others, and their lengths."""
    tails, lengths = [], []
    for start, block in distance_blocks(x, x, metric, {}):
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf  # no point is its own neighbour
        near = np.argsort(block, axis=1, kind="stable")[:, :k]
        tails.append(near)
        lengths.append(np.take_along_axis(block, near, axis=1))
    heads = np.repeat(np.arange(len(x)), k)
    return np.stack([heads, np.concatenate(tails).ravel()], axis=1), np.concatenate(lengths).ravel()
