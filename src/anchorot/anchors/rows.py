"""Transport costs between every anchor of one space and every anchor of another."""

from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels import kernels
from anchorot._kernels.records import StepRows, common_segments, from_heights, to_heights
from anchorot._typing import Float64s
from anchorot.rows import Rows
from anchorot.space import Space

MIN_SQUARE_SHARE = 1e-6  # of two squared norms: a smaller squared distance has lost digits as their difference
MAX_NEAR_SHARE = 0.02  # of all pairs, as in a graph whose nodes are all alike: more take longer one by one than all do
BLOCK_NUMBERS = 1 << 20  # worked on at a time


class AnchorRows:
    """The anchors of a space, each sorted: what the costs to another space's anchors need, computed once.

    Where all costs of a row count equally, as in a uniform space and in `Rows`, the quantiles are kept, [k, i] the k-th
    smallest cost of anchor i, else step functions of the level. Points of weight zero are anchors too, but no anchor
    sees them.
    """

    def __init__(self, weights: Float64s, *, quantiles: Float64s | None = None, steps: StepRows | None = None) -> None:
        self.weights = weights
        self.quantiles = quantiles
        if steps is not None:
            self.steps = steps  # fills the cached property of this name

    @classmethod
    def of(cls, space: Space | Rows, threads: int = 1) -> Self:
        """Sort the rows of a space."""
        if isinstance(space, Rows):
            part = space.support()
            quantiles = kernels.quantiles(part.values, threads).astype(np.float64, copy=False)
            return cls(part.weights, quantiles=quantiles)
        if space.is_uniform:
            quantiles = kernels.quantiles(space.cost, threads).astype(np.float64, copy=False)
            return cls(space.weights, quantiles=quantiles)
        seen = np.flatnonzero(space.weights)
        cost, heights = space.cost[:, seen], to_heights(space.weights[seen])
        order = np.argsort(cost, axis=1, kind="stable")
        value = np.take_along_axis(cost, order, axis=1).astype(np.float64, copy=False)
        end = np.minimum(from_heights(np.cumsum(heights[order], axis=1)), 1.0)  # rounded weights may sum to more
        end[:, -1] = 1.0
        return cls(space.weights, steps=StepRows(value, end))

    @property
    def n(self) -> int:
        """Number of anchors."""
        return len(self.weights)

    @cached_property
    def steps(self) -> StepRows:
        """Each anchor's quantile function."""
        assert self.quantiles is not None  # else these were there from the start
        value = np.ascontiguousarray(self.quantiles.T)
        count = value.shape[1]
        return StepRows(value, np.broadcast_to(np.arange(1, count + 1) / count, value.shape).copy())

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest cost that an anchor sees."""
        costs = self.steps.value if self.quantiles is None else self.quantiles
        return float(costs.min()), float(costs.max())

    def heavy(self) -> "AnchorRows":
        """Return the anchors of positive weight alone."""
        if self.quantiles is not None or self.weights.all():
            return self
        kept = self.weights > 0
        return AnchorRows(self.weights[kept], steps=StepRows(self.steps.value[kept], self.steps.end[kept]))

    def divided_by(self, scale: float) -> "AnchorRows":
        """Return the anchors of the space with all costs divided by a positive number, which keeps their order."""
        if self.quantiles is not None:
            return AnchorRows(self.weights, quantiles=self.quantiles / scale)
        return AnchorRows(self.weights, steps=StepRows(self.steps.value / scale, self.steps.end))


def row_costs(x: Space | Rows | AnchorRows, y: Space | Rows | AnchorRows, p: int, threads: int) -> Float64s:
    """M[i, j] = OT_p between the costs that point i of x and point j of y see; shape (n, m).

    O(n m (n + m)) time and O(n² + m² + n m) memory: sums of absolute differences in register tiles for p = 1, a
    matrix product for p = 2, both for uniform weights; merges of step functions for everything else. What is beyond the
    range of floats is infinite or NaN; callers refuse it.
    """
    rows_x, rows_y = (rows if isinstance(rows, AnchorRows) else AnchorRows.of(rows, threads) for rows in (x, y))
    qx, qy = rows_x.quantiles, rows_y.quantiles
    with np.errstate(over="ignore", invalid="ignore"):
        if qx is None or qy is None or p > 2:
            return kernels.step_costs(rows_x.steps, rows_y.steps, p, threads)
        return _absolute_costs(qx, qy, threads) if p == 1 else _squared_costs(qx, qy)


def largest_gaps(x: AnchorRows, y: AnchorRows) -> Float64s:
    """M[i, j] = the largest difference of the quantiles of row i of x and row j of y at one level, (n, m)."""
    from scipy.spatial.distance import cdist

    if x.quantiles is not None and y.quantiles is not None:
        k, l, _ = common_segments(len(x.quantiles), len(y.quantiles))
        return cdist(x.quantiles[k].T, y.quantiles[l].T, "chebyshev")
    return np.array([[_largest_gap(x.steps, i, y.steps, j) for j in range(y.n)] for i in range(x.n)])


def _largest_gap(x: StepRows, i: int, y: StepRows, j: int) -> float:
    """Between every two ends of steps of either, the difference of the steps that hold there."""
    ends = np.unique(np.concatenate([x.end[i], y.end[j]]))
    middle = (np.append(0.0, ends[:-1]) + ends) / 2
    of_x, of_y = (side.value[row][np.searchsorted(side.end[row], middle)] for side, row in ((x, i), (y, j)))
    return float(np.abs(of_x - of_y).max())


def _absolute_costs(qx: Float64s, qy: Float64s, threads: int) -> Float64s:
    """Σ_s width_s |qx[k_s, i] - qy[l_s, j]|; far from zero, where products of costs would round, from the smallest."""
    low, high = min(qx[0].min(), qy[0].min()), max(qx[-1].max(), qy[-1].max())
    if min(abs(low), abs(high)) > high - low:
        qx, qy = qx - low, qy - low
    return kernels.l1_costs(qx, qy, threads)


def _squared_costs(qx: Float64s, qy: Float64s) -> Float64s:
    """Σ_s width_s (qx[k_s, i] - qy[l_s, j])² by one matrix product, centred level by level against cancellation."""
    k, l, width = common_segments(len(qx), len(qy))
    a, b = qx[k], qy[l]
    centre = 0.5 * a.mean(axis=1, keepdims=True) + 0.5 * b.mean(axis=1, keepdims=True)
    root = np.sqrt(width)[:, None]
    a, b = (a - centre) * root, (b - centre) * root
    sums = np.sum(a * a, axis=0)[:, None] + np.sum(b * b, axis=0)
    squares = sums - 2 * (a.T @ b)
    is_near = squares <= MIN_SQUARE_SHARE * sums
    if is_near.mean() > MAX_NEAR_SHARE:
        from scipy.spatial.distance import cdist

        return cdist(a.T, b.T, "sqeuclidean")
    mend_near(squares, is_near, a.T, b.T)
    return squares


def mend_near(squares: Float64s, is_near: NDArray[np.bool_], some: Float64s, rest: Float64s) -> None:
    """Sum squares of differences of rows where a difference of squares has lost digits."""
    near, other = np.nonzero(is_near)
    step = max(1, BLOCK_NUMBERS // some.shape[1])
    for begin in range(0, len(near), step):
        i, j = near[begin : begin + step], other[begin : begin + step]
        gap = some[i] - rest[j]
        squares[i, j] = np.einsum("kl,kl->k", gap, gap)
