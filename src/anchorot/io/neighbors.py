"""Spaces from point clouds, along the graph of nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_choice, check_integer, check_labels, row_names
from anchorot.exceptions import InputError
from anchorot.geometry import cloud
from anchorot.io.graph_inputs import EdgeTable
from anchorot.io.graphs import table_space
from anchorot.io.marks import given_marks
from anchorot.io.options import Disconnected
from anchorot.io.points import check_points, distance_blocks
from anchorot.space import Space


def from_neighbors(
    points: ArrayLike,
    n_neighbors: int = 5,
    metric: str | Callable[[Float64s, Float64s], float] = "correlation",
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
    """Make the space of points whose costs are shortest paths on their graph of nearest neighbours.

    Follows curved clouds, as single-cell methods such as SCOT do (which then divide by the largest cost).

    Parameters
    ----------
    points : array_like of shape (n, d)
    n_neighbors : int
        Each point is joined to this many others, the nearest; ties are broken by number.
    metric : str or callable
        Which neighbours are near, see :func:`from_points`.
    disconnected : {"error", "largest", "split"} or float
        See :func:`from_graph`. More neighbours are another way out.
    mode : {"connectivity", "distance"}
        Count edges, or add up their distances.
    weights, types, features, labels
        Of the points, see :func:`from_points`.
    n_points : int, optional
        Keep at most this many points, drawn uniformly; paths still lead through all of them.
    rng : None, int or numpy.random.Generator
        Source of randomness for the draw.

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
        raise InputError(f"each point has {len(x) - 1} others, so {k} neighbours cannot be had; ask for fewer")
    marks = given_marks(types, features, len(x), "points")
    edges, lengths = _nearest(x, k, metric)
    labels = row_names(points) if labels is None else labels
    names = tuple(range(len(x))) if labels is None else check_labels(labels, len(x), "there are")
    table = EdgeTable(len(x), edges, lengths if mode == "distance" else None, False, names)
    drawn = cloud(x)
    positions = None if drawn is None else drawn.positions
    return table_space(
        table,
        disconnected,
        weights=weights,
        marks=marks,
        n_points=n_points,
        rng=rng,
        positions=positions,
        another_way="more neighbours (n_neighbors)",
    )


def _nearest(x: Float64s, k: int, metric: str | Callable[[Float64s, Float64s], float]) -> tuple[Int64s, Float64s]:
    """Edges from every point to its k nearest others, and their lengths."""
    tails, lengths = [], []
    for start, block in distance_blocks(x, x, metric, {}):
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf  # no point is its own neighbour
        near = np.argsort(block, axis=1, kind="stable")[:, :k]
        tails.append(near)
        lengths.append(np.take_along_axis(block, near, axis=1))
    heads = np.repeat(np.arange(len(x)), k)
    return np.stack([heads, np.concatenate(tails).ravel()], axis=1), np.concatenate(lengths).ravel()
