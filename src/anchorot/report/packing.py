"""Numbers as text, small enough to travel inside a page."""

import base64
import zlib
from typing import Any

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.distances.plan import EQUAL

N_BEST = 10  # rows of the page's table
N_BEST_ALONE = 50  # matches kept of each point where the whole plan is too large
LEVELS = ((1_000_000, 255), (4_500_000, 63), (9_000_000, 15))  # entries of a plan, up to which this many codes are used
FAINT = 1e-3  # of its row's and its column's largest entry: what is smaller is not shown


def deflate(data: bytes) -> str:
    """Compress, and write in base64; browsers undo both."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def pack(array: np.ndarray, dtype: str) -> dict[str, str]:
    """An array in C order, little-endian, as the page's script reads it; `dtype` is "f4", "f8", "u1", "u2" or "u4"."""
    return {"dtype": dtype, "data": deflate(np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<")).tobytes())}


def pack_indices(array: np.ndarray, bound: int) -> dict[str, str]:
    """Indices below `bound`, in as few bytes as they need."""
    return pack(array, "u2" if bound <= 1 << 16 else "u4")


def pack_plan(plan: Float64s) -> dict[str, Any]:
    """Give the exact best matches of every point in both directions, and the whole plan in few bits if it fits."""
    levels = next((levels for entries, levels in LEVELS if plan.size <= entries), None)
    n_best = N_BEST_ALONE if levels is None else N_BEST
    return {
        "mass": [pack(plan.sum(axis=1), "f8"), pack(plan.sum(axis=0), "f8")],
        "best": [_pack_best(plan, n_best), _pack_best(plan.T, n_best)],
        "whole": None if levels is None else _pack_whole(plan, levels),
    }


def best_matches(plan: Float64s, k: int) -> Int64s:
    """Columns of the k largest entries of every row, the largest first, the first of equals first."""
    most = plan.max(axis=1, keepdims=True)
    steps = np.rint(np.divide(plan, most * EQUAL, out=np.zeros_like(plan), where=most > 0))
    return np.argsort(-steps, axis=1, kind="stable")[:, :k]


def _pack_best(plan: Float64s, k: int) -> dict[str, Any]:
    index = best_matches(plan, k)
    total = plan.sum(axis=1, keepdims=True)
    mass = np.take_along_axis(plan, index, axis=1)
    share = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
    return {"count": index.shape[1], "index": pack_indices(index, plan.shape[1]), "share": pack(share, "f4")}


def _pack_whole(plan: Float64s, levels: int) -> dict[str, Any]:
    """Code the plan by logarithms, relative to the largest entries of rows and columns.

    plan[i, j] is about rows[i] * columns[j] * exp(low + step * (code - 1)), within the factor exp(step / 2); code 0 is
    zero. Both a row and a column read off the codes keep their relative masses, whatever the weights.
    """
    row, column = plan.max(axis=1), plan.max(axis=0)
    rows, columns = np.sqrt(row), np.sqrt(column)
    kept = (plan > 0) & (plan >= FAINT * np.minimum(row[:, None], column))
    i, j = np.nonzero(kept)
    logs = np.log(plan[kept] / rows[i] / columns[j])
    low = float(logs.min()) if logs.size else 0.0
    step = float(logs.max() - low) / (levels - 1) if logs.size else 0.0
    codes = np.zeros(plan.shape, np.uint8)
    codes[kept] = 1 + np.rint((logs - low) / step) if step else 1
    return {
        "levels": levels,
        "low": low,
        "step": step,
        "rows": pack(rows, "f8"),
        "columns": pack(columns, "f8"),
        "codes": pack(codes, "u1"),
    }
