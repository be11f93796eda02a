"""Averages over equal cells: of F in the (x, t) plane, and of G in the (s, t) plane."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from anchorot._kernels import kernels
from anchorot._kernels.records import GridSpec, common_segments
from anchorot._typing import Float64s, Floats
from anchorot._validate import check_integer, check_overflow
from anchorot.anchors.attributes import Outline
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.space import Space

MIN_RANGE, MAX_RANGE = 1e-70, 1e70  # roots of ranges beyond these are no float32 numbers


@dataclass(frozen=True)
class Grid:
    """Equal cells over a range of costs x and all levels t in [0, 1].

    Attributes
    ----------
    shape : (int, int)
        Cells along x and along t.
    low, high : float
        The range of costs. Costs outside it are legal: cells then see less of a space, and bounds stay bounds.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.anchors.Grid.around([[[0, 3], [1, 0]]], shape=(8, 8))
    Grid(shape=(8, 8), low=0.0, high=3.0)
    """

    shape: tuple[int, int]
    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not MIN_RANGE < self.high - self.low < MAX_RANGE:
            needed = f"low < high, between {MIN_RANGE:g} and {MAX_RANGE:g} apart,"
            raise InputError(f"got a grid from low={self.low} to high={self.high}, but {needed} is needed")
        object.__setattr__(self, "shape", check_shape(self.shape))

    @classmethod
    def around(
        cls,
        spaces: Iterable[Space | Outline | AnchorFeatures | ArrayLike],
        shape: tuple[int, int] = (32, 32),
        *,
        robust: bool = False,
        max_cost: float | None = None,
    ) -> Self:
        """Grid over the range of all costs of the spaces, up to a max_cost; of ranks, if `robust`, over [0, 1]."""
        low, high = (0.0, 1.0) if robust else span_of_all(map(span_of, spaces))
        if max_cost is None:
            return cls.over((low, high), shape)
        return cls(shape, low if max_cost - low > MIN_RANGE else max_cost - max(abs(max_cost), 1.0), max_cost)

    @classmethod
    def over(cls, span: tuple[float, float], shape: tuple[int, int]) -> Self:
        """Grid over costs from the first to the second number, widened if they are (nearly) equal."""
        low, high = span
        return cls(shape, low, high if high - low > MIN_RANGE else low + max(abs(low), 1.0))

    @property
    def cells(self) -> GridSpec:
        """The grid as kernels take it."""
        return GridSpec(*self.shape, self.low, self.high)

    @property
    def cell_area(self) -> float:
        """Area of a cell in the (x, t) plane."""
        return (self.high - self.low) / math.prod(self.shape)


def check_shape(
    shape: object, name: str = "grid", needed: str = "two numbers of cells, along x and along t"
) -> tuple[int, int]:
    """Return two numbers of cells as ints; `name` and `needed` are what messages say."""
    if not isinstance(shape, Sequence) or len(shape) != 2:
        raise InputError(f"{name} must be {needed}, but got {shape!r}")
    return check_integer(shape[0], f"{name}[0]", 1), check_integer(shape[1], f"{name}[1]", 1)


def span_of(x: Space | Outline | AnchorFeatures | ArrayLike) -> tuple[float, float]:
    """Smallest and largest cost between points of positive weight, found without sorting."""
    return x.span if isinstance(x, AnchorFeatures) else Outline.of(x, robust=False).span


def span_of_all(spans: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The smallest and the largest of all costs."""
    all_spans = np.array(list(spans))
    if len(all_spans) == 0:
        raise InputError("got no spaces to learn the range of costs from; give a Grid instead")
    return float(all_spans[:, 0].min()), float(all_spans[:, 1].max())


def plain_averages(features: AnchorFeatures, grid: GridSpec) -> Float64s:
    """Averages over the cells of the F of all anchors alike, (cells_x, cells_t)."""
    if features.levels is not None:
        return kernels.level_averages(features.levels, grid)
    return kernels.event_averages(features.events, grid)


def signature_of(features: AnchorFeatures, shape: tuple[int, int]) -> Float64s:
    """The averages of G that are the signature of plain features, see `signature`."""
    if features.is_mean_only:
        raise InputError("the features were made with mean_only=True, but a signature needs all anchors")
    if (levels := features.levels) is not None:
        averages = _cell_means(_cell_means(levels, shape[0]).T, shape[1]).T
    else:
        averages = kernels.quantile_averages(features.level_moves, features.events.mass, shape)
    check_overflow(averages, 1)
    return np.ascontiguousarray(averages / math.sqrt(math.prod(shape)))


def _cell_means(steps: Floats, count: int) -> Float64s:
    """Averages over `count` equal cells of a step function whose equal steps are the rows of a matrix."""
    if len(steps) == count:
        return steps.astype(np.float64)
    step, cell, width = common_segments(len(steps), count)
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    return np.add.reduceat((count * width)[:, None] * steps[step].astype(np.float64), first, axis=0)


def averages_of_each(spaces: Sequence[AnchorFeatures], grid: GridSpec, threads: int = 1) -> Float64s:
    """The same of many spaces, (spaces, cells_x, cells_t); those with levels of one type of numbers in one call."""
    dtypes = {None if features.levels is None else features.levels.dtype for features in spaces}
    if len(dtypes) == 1 and None not in dtypes:
        levels = [features.levels for features in spaces if features.levels is not None]
        return kernels.level_averages_of_spaces(levels, grid, threads)
    return np.array([plain_averages(features, grid) for features in spaces])
