"""Many point clouds as one sequence of spaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from anchorot._kernels import kernels
from anchorot._typing import Float64s, Floats
from anchorot._validate import check_list
from anchorot.exceptions import InputError
from anchorot.io.points import PointMetric, check_dtype, check_points, from_points
from anchorot.space import Space


class PointClouds(Sequence[Space]):
    """Many point clouds as a sequence of spaces, whose costs are computed when they are needed.

    ``clouds[k]`` is ``from_points(points[k], metric)``, and ``clouds[:10]`` the first ten clouds. All functions of many
    spaces take the sequence; it needs the memory of the points alone. :func:`~anchorot.pairwise`,
    :func:`~anchorot.embed`, :meth:`SearchIndex.build <anchorot.SearchIndex.build>` and
    :meth:`AnchorFeatures.of_many <anchorot.AnchorFeatures.of_many>` compute Euclidean distances of many small clouds in
    one call, without Python's lock.

    Parameters
    ----------
    points : array_like of shape (N, n, d), or sequence of N array_like of shape (n, d)
        Float64 arrays are shared, and must not be changed later. Numbers of points may differ.
    metric : str or callable
        Any metric of :func:`scipy.spatial.distance.cdist`.
    dtype : float64 or float32
        Type of the costs.
    **metric_options
        Passed on to the metric.

    Examples
    --------
    >>> import anchorot as ao
    >>> clouds = ao.io.PointClouds([[[0, 0], [3, 4]], [[0, 0], [0, 1]]])
    >>> clouds[0].cost.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    >>> ao.pairwise(clouds).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """

    def __init__(
        self,
        points: ArrayLike | Sequence[ArrayLike],
        metric: PointMetric = "euclidean",
        *,
        dtype: DTypeLike = "float64",
        **metric_options: Any,
    ) -> None:
        self._points = _checked(points)
        self._metric, self._dtype, self._options = metric, check_dtype(dtype), metric_options

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, place: int) -> Space: ...
    @overload
    def __getitem__(self, place: slice) -> PointClouds: ...
    def __getitem__(self, place: int | slice) -> Space | PointClouds:
        if not isinstance(place, slice):
            return self.maker(place)()
        part = PointClouds.__new__(PointClouds)
        part.__dict__.update(self.__dict__, _points=self._points[place])
        return part

    def maker(self, place: int) -> partial[Space]:
        """The function that makes one space, which holds no other points."""
        return partial(from_points, self._points[place], self._metric, dtype=self._dtype, **self._options)

    def plain_costs(self, indices: range, most: int, threads: int = 1) -> list[Floats | None]:
        """Costs of some clouds of at most so many points, in one call; None for those that need a closer look."""
        found: list[Floats | None] = [None] * len(indices)
        if self._metric != "euclidean" or self._options:
            return found
        places = [place for place, index in enumerate(indices) if len(self._points[index]) <= most]
        points = [self._points[indices[place]] for place in places]
        costs, ordinary = kernels.cloud_costs(points, self._dtype, threads)
        for place, cost, is_ordinary in zip(places, costs, ordinary.tolist(), strict=True):
            found[place] = cost if is_ordinary else None
        return found

    def __repr__(self) -> str:
        sizes = [len(points) for points in self._points]
        points = f"{min(sizes, default=0)} to {max(sizes, default=0)} points each"
        return f"PointClouds({len(self)} clouds, {points}, {self._metric!r}, {self._dtype})"


def _checked(points: Any) -> Sequence[Float64s]:
    """Finite float64 clouds, contiguous, as views of one stack if they are one."""
    if type(points) in (np.ndarray, np.memmap) and points.ndim == 3 and points.dtype == np.float64 and points.size:
        stack = np.ascontiguousarray(points).view(np.ndarray)
        if np.isfinite(stack).all():
            return list(_read_only(stack))
    found = []
    for place, each in enumerate(check_list(points, "points", "cloud", "point clouds, each of shape (n, d)")):
        try:
            found.append(_read_only(np.ascontiguousarray(check_points(each))))
        except InputError as error:
            raise InputError(f"points[{place}]: {error}") from None
    return found


def _read_only(array: Float64s) -> Float64s:
    view = array.view()
    view.flags.writeable = False
    return view
