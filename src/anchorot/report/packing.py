"""Numbers as text, small enough to travel inside a page."""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.distances.alignment import EQUAL

N_BEST = 10  # rows of the page's table
N_BEST_ALONE = 50  # matches kept of each point where the whole plan is too large
LARGEST = 9_000_000  # entries of a plan that a page carries whole
LEVELS = (
    (1_000_000, 255),
    (4_500_000, 63),
    (9_000_000, 15),
)  # masses, up to which this many codes are used
FAINT = 1e-3  # of its row's and its column's largest entry: what is smaller is not shown


def deflate(data: bytes) -> str:
    """Compress, and write in base64; browsers undo both."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def pack(array: np.ndarray, dtype: str) -> dict[str, str]:
    """An array in C order, little-endian, as the page's script reads it; `dtype` is one of the ARRAYS there."""
    return {"dtype": dtype, "data": deflate(np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<")).tobytes())}


def pack_indices(array: np.ndarray, bound: int) -> dict[str, str]:
    """Indices below `bound`, in as few bytes as they need."""
    return pack(array, "u2" if bound <= 1 << 16 else "u4")


def levels_for(plans: Sequence[Float64s]) -> int | None:
    """How many codes the masses of all plans of a page are given, so that it stays small; None if they do not fit."""
    if any(plan.size > LARGEST for plan in plans):
        return None
    shown = sum(int(np.count_nonzero(_shown(plan))) for plan in plans)
    return next((levels for masses, levels in LEVELS if shown <= masses), None)


def pack_plan(plan: Float64s, weights: tuple[Float64s, Float64s], levels: int | None) -> dict[str, Any]:
    """Give the exact best matches of every point in both directions, and the whole plan in few bits if it fits.

    Shares are of the points' weights, of which `matched` says how much goes anywhere.
    """
    n_best = N_BEST_ALONE if levels is None else N_BEST
    sides = tuple(zip((plan, plan.T), weights, strict=True))
    return {
        "weights": [pack(weight, "f8") for weight in weights],
        "matched": [pack(_shares(mass.sum(axis=1), weight), "f4") for mass, weight in sides],
        "best": [_pack_best(mass, weight, n_best) for mass, weight in sides],
        "whole": None if levels is None else _pack_whole(plan, levels),
    }


def pack_map(matches: Int64s, counts: Int64s) -> dict[str, Any]:
    """The same of a map: the one match of every point, and of those that share a match the first few."""
    n, m = len(matches), len(counts)
    is_matched = matches >= 0
    order = np.flatnonzero(is_matched)[np.argsort(matches[is_matched], kind="stable")]
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)  # among those that share its match
    width = int(min(max(counts.max(), 1), N_BEST_ALONE))
    order, place = order[place < width], place[place < width]
    back, share = np.zeros((m, width), np.int64), np.zeros((m, width))
    back[matches[order], place], share[matches[order], place] = order, 1 / counts[matches[order]]
    return {
        "weights": [pack(is_matched, "f8"), pack(counts, "f8")],
        "matched": [pack(is_matched, "f4"), pack(counts > 0, "f4")],
        "best": [
            {"count": 1, "index": pack_indices(matches.clip(0), m), "share": pack(is_matched, "f4")},
            {"count": width, "index": pack_indices(back, n), "share": pack(share, "f4")},
        ],
        "whole": None,
    }


def best_matches(plan: Float64s, k: int) -> Int64s:
    """Columns of the k largest entries of every row, the largest first, the first of equals first."""
    most = plan.max(axis=1, keepdims=True)
    steps = np.rint(np.divide(plan, most * EQUAL, out=np.zeros_like(plan), where=most > 0)).astype(np.int64)
    order = np.arange(plan.shape[1]) - plan.shape[1] * steps  # no two are equal, so that a part can be sorted alone
    if k < plan.shape[1]:
        best = np.argpartition(order, k, axis=1)[:, :k]
        return np.take_along_axis(best, np.take_along_axis(order, best, axis=1).argsort(axis=1), axis=1)
    return order.argsort(axis=1)


def _shown(plan: Float64s) -> NDArray[np.bool_]:
    row, column = plan.max(axis=1, keepdims=True), plan.max(axis=0)
    shown: NDArray[np.bool_] = (plan > 0) & (plan >= FAINT * np.minimum(row, column))
    return shown


def _shares(mass: Float64s, weights: Float64s) -> Float64s:
    return np.divide(mass, weights, out=np.zeros_like(mass), where=weights > 0)


def _pack_best(plan: Float64s, weights: Float64s, k: int) -> dict[str, Any]:
    index = best_matches(plan, k)
    share = _shares(np.take_along_axis(plan, index, axis=1), np.broadcast_to(weights[:, None], index.shape))
    return {"count": index.shape[1], "index": pack_indices(index, plan.shape[1]), "share": pack(share, "f4")}


def _pack_whole(plan: Float64s, levels: int) -> dict[str, Any]:
    """Code the plan by logarithms, relative to the largest entries of rows and columns.

    plan[i, j] is about rows[i] * columns[j] * exp(low + step * (code - 1)), within the factor exp(step / 2); code 0 is
    zero. Both a row and a column read off the codes keep their relative masses, whatever the weights.
    """
    rows, columns = np.sqrt(plan.max(axis=1)), np.sqrt(plan.max(axis=0))
    kept = _shown(plan)
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
