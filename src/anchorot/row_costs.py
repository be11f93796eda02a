"""Transport costs between every anchor of one space and every anchor of another."""

import numpy as np

from anchorot._kernels import kernels
from anchorot._kernels.events import from_heights, to_heights
from anchorot._kernels.segments import common_segments
from anchorot._kernels.step_rows import StepRows
from anchorot._typing import Float64s
from anchorot.space import Space


def row_costs(x: Space, y: Space, p: int, threads: int) -> Float64s:
    """M[i, j] = OT_p between the costs that point i of x and point j of y see; shape (n, m).

    O(n m (n + m)) time and O(n² + m² + n m) memory: sums of absolute differences in register tiles for p = 1, a
    matrix product for p = 2, both for uniform weights; merges of step functions for everything else.
    """
    if not (x.is_uniform and y.is_uniform) or p > 2:
        return kernels.step_costs(_step_rows(x), _step_rows(y), p, threads)
    qx, qy = (kernels.quantiles(s.cost, threads).astype(np.float64, copy=False) for s in (x, y))
    return kernels.l1_costs(qx, qy, threads) if p == 1 else _squared_costs(qx, qy)


def _step_rows(x: Space) -> StepRows:
    order = np.argsort(x.cost, axis=1, kind="stable")
    value = np.take_along_axis(x.cost, order, axis=1).astype(np.float64, copy=False)
    if x.is_uniform:
        end = np.broadcast_to(np.arange(1, x.n + 1) / x.n, value.shape).copy()
    else:
        end = from_heights(np.cumsum(to_heights(x.weights)[order], axis=1))
        end[:, -1] = 1.0
    return StepRows(value, end)


def _squared_costs(qx: Float64s, qy: Float64s) -> Float64s:
    """Σ_s width_s (qx[k_s, i] - qy[l_s, j])² by one matrix product, centred level by level against cancellation."""
    k, l, width = common_segments(len(qx), len(qy))
    a, b = qx[k], qy[l]
    centre = 0.5 * a.mean(axis=1, keepdims=True) + 0.5 * b.mean(axis=1, keepdims=True)
    root = np.sqrt(width)[:, None]
    a, b = (a - centre) * root, (b - centre) * root
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.sum(a * a, axis=0)[:, None] + np.sum(b * b, axis=0) - 2 * (a.T @ b)
    return np.maximum(squares, 0)
