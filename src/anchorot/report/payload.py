"""Data of the page for a plan or an alignment: masses, matches and colours, compressed to be embedded in it."""

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anchorot._typing import Float64s, Int64s
from anchorot.align.correspondence import Candidate, Correspondence
from anchorot.align.matching import match
from anchorot.align.plans import TIE_TOLERANCE, check_plan, spread_of
from anchorot.distances.wasserstein import Transport
from anchorot.exceptions import InputError

N_BEST = 10  # rows of the page's table
N_BEST_ALONE = 50  # matches kept of each point if the plan is too large to embed
MAX_ENTRIES = 9_000_000  # entries of a plan that is embedded in full
LEVELS = ((1_000_000, 255), (4_500_000, 63), (9_000_000, 15))  # most masses for each number of codes
MIN_SHOWN = 1e-3  # of the largest entry of its row or column: smaller masses are not shown
FIRST_HUE, LAST_HUE = 285.0, 15.0  # degrees: violet, blue, green, amber, rose
NO_COLOUR = (154, 160, 170)  # of an unmatched point


@dataclass(frozen=True, eq=False)
class Version:
    """A plan and the matches of all points; or a map, in which several points may share a match.

    Attributes
    ----------
    matches : (ndarray of shape (n,), ndarray of shape (m,))
        The match of every point of either side, -1 for an unmatched point. The second side of a map has the first of
        the points matched with each point.
    plan : ndarray of shape (n, m) or None
        The masses to highlight; None for a map.
    weights : (ndarray of shape (n,), ndarray of shape (m,)) or None
        The points' weights; shares are relative to them. None for a map.
    is_sharp : bool
        Whether the matches are more than the plan's largest entries, and so are shown.
    text : str
        Describes this version if there are two.
    """

    matches: tuple[Int64s, Int64s]
    plan: Float64s | None = None
    weights: tuple[Float64s, Float64s] | None = None
    is_sharp: bool = True
    text: str = ""

    def colours(self, places: np.ndarray) -> list[np.ndarray]:
        """Colours of both sides, uint8, from those of the first side's positions; of the second side's for a map."""
        forth, back = self.matches
        colours = [places.copy(), places[back]] if self.plan is not None else [places[forth], places]
        colours[0][forth < 0] = NO_COLOUR
        if self.plan is not None:
            colours[1][back < 0] = NO_COLOUR
        return colours

    def packed(self, levels: int | None) -> dict[str, Any]:
        """The masses, and the effective number of matches of each point; for a map, how many points share a match."""
        if self.plan is not None and self.weights is not None:
            spread = spread_of(self.plan), spread_of(self.plan.T)
            return {"plan": pack_plan(self.plan, self.weights, levels), "spread": [pack(one, "f4") for one in spread]}
        forth, back = self.matches
        counts = np.bincount(forth[forth >= 0], minlength=len(back))
        spread = np.where(forth >= 0, 1.0, np.nan), np.where(counts > 0, counts, np.nan)
        return {"plan": pack_map(forth, counts), "spread": [pack(one, "f4") for one in spread]}


def versions_of(plan: Correspondence | Transport | ArrayLike, shape: tuple[int, int]) -> list[Version]:
    """The versions that the page shows: a plan, or an alignment and its runner-up."""
    if not isinstance(plan, Correspondence):
        mass = check_plan(plan, shape)
        matches = np.where(mass.any(axis=1), match(mass), -1), np.where(mass.any(axis=0), match(mass.T), -1)
        return [Version(matches, mass, (mass.sum(axis=1), mass.sum(axis=0)), is_sharp=False)]
    if plan.shape != shape:
        raise InputError(
            f"the alignment is between {plan.shape[0]} and {plan.shape[1]} points, but the spaces have "
            f"{shape[0]} and {shape[1]}; pass write_report the spaces that were aligned"
        )
    other = plan.runner_up
    text = f"Shown: the best alignment, objective {plan.objective:.6g}."
    versions: list[tuple[Candidate | None, Int64s, str]] = [(None, plan.matches, text)]
    if other is not None:
        text = f"Shown: the runner-up, objective {other.objective:.6g}, with {other.differs:.0%} different matches."
        versions.append((other, other.matches, text))
    if plan.is_map or np.prod(shape) > MAX_ENTRIES:
        return [Version((forth, plan.backward(one)), text=text) for one, forth, text in versions]
    shown = []
    for one, forth, text in versions:
        masses: Any = plan.soft(one)
        dense = masses if isinstance(masses, np.ndarray) else masses.toarray()
        shown.append(Version((forth, plan.backward(one)), dense, plan.side_weights(), text=text))
    return shown


def pack_versions(versions: list[Version], places: np.ndarray) -> list[dict[str, Any]]:
    """All versions as data for the page's script."""
    levels = levels_for([one.plan for one in versions if one.plan is not None])
    return [
        {
            **one.packed(levels),
            "matches": [pack(matches, "i4") for matches in one.matches],
            "colours": [pack(colours, "u1") for colours in one.colours(places)],
            "sharp": one.is_sharp,
            "map": one.plan is None,
            "text": one.text,
        }
        for one in versions
    ]


def deflate(data: bytes) -> str:
    """Compress and encode in base64; browsers can decode both."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def pack(array: np.ndarray, dtype: str) -> dict[str, str]:
    """An array in C order, little-endian, as the page's script reads it; `dtype` is one of the ARRAYS there."""
    return {"dtype": dtype, "data": deflate(np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<")).tobytes())}


def pack_indices(array: np.ndarray, bound: int) -> dict[str, str]:
    """Indices below `bound`, in 2 or 4 bytes each."""
    return pack(array, "u2" if bound <= 1 << 16 else "u4")


def levels_for(plans: Sequence[Float64s]) -> int | None:
    """Number of codes for the masses of all plans of a page, to keep it small; None if the plans are too large."""
    if any(plan.size > MAX_ENTRIES for plan in plans):
        return None
    shown = sum(int(np.count_nonzero(_shown(plan))) for plan in plans)
    return next((levels for masses, levels in LEVELS if shown <= masses), None)


def pack_plan(plan: Float64s, weights: tuple[Float64s, Float64s], levels: int | None) -> dict[str, Any]:
    """Pack the exact best matches of every point in both directions, and the whole plan in few bits if it fits.

    Shares are relative to the points' weights; `matched` is the share of each weight that has a match.
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
    """Pack a map in the same form: the match of every point, and the first few of the points that share a match."""
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
    """Columns of the k largest entries of every row, in descending order; ties by column."""
    most = plan.max(axis=1, keepdims=True)
    steps = np.rint(np.divide(plan, most * TIE_TOLERANCE, out=np.zeros_like(plan), where=most > 0)).astype(np.int64)
    order = np.arange(plan.shape[1]) - plan.shape[1] * steps  # no ties, so that a partial sort is enough
    if k < plan.shape[1]:
        best = np.argpartition(order, k, axis=1)[:, :k]
        return np.take_along_axis(best, np.take_along_axis(order, best, axis=1).argsort(axis=1), axis=1)
    return order.argsort(axis=1)


def _shown(plan: Float64s) -> NDArray[np.bool_]:
    row, column = plan.max(axis=1, keepdims=True), plan.max(axis=0)
    shown: NDArray[np.bool_] = (plan > 0) & (plan >= MIN_SHOWN * np.minimum(row, column))
    return shown


def _shares(mass: Float64s, weights: Float64s) -> Float64s:
    return np.divide(mass, weights, out=np.zeros_like(mass), where=weights > 0)


def _pack_best(plan: Float64s, weights: Float64s, k: int) -> dict[str, Any]:
    index = best_matches(plan, k)
    share = _shares(np.take_along_axis(plan, index, axis=1), np.broadcast_to(weights[:, None], index.shape))
    return {"count": index.shape[1], "index": pack_indices(index, plan.shape[1]), "share": pack(share, "f4")}


def _pack_whole(plan: Float64s, levels: int) -> dict[str, Any]:
    """Quantise the logarithms of the plan, relative to the largest entries of rows and columns.

    plan[i, j] is about rows[i] * columns[j] * exp(low + step * (code - 1)), within the factor exp(step / 2); code 0 is
    zero. Decoded rows and columns keep their relative masses, whatever the weights.
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


def place_colours(positions: Float64s) -> np.ndarray:
    """Smooth colours (n, 3), uint8, of positions: hue from left to right, lightness upwards, chroma to the back.

    Positions are replaced by ranks, so that all colours are used about equally often.
    """
    ranks = np.column_stack([_ranks(axis) for axis in positions.T])
    across, up = ranks[:, 0], ranks[:, -1]
    depth = ranks[:, 1] if ranks.shape[1] == 3 else np.full(len(ranks), 0.5)
    hue = np.radians(FIRST_HUE + (LAST_HUE - FIRST_HUE) * across)
    chroma = 0.115 + 0.03 * depth
    return _srgb(0.63 + 0.19 * up, chroma * np.cos(hue), chroma * np.sin(hue))


def _ranks(values: Float64s) -> Float64s:
    """Mid-ranks in (0, 1); equal values share theirs."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / (2 * len(values))


def _srgb(lightness: Float64s, a: Float64s, b: Float64s) -> np.ndarray:
    """From Oklab (Ottosson, 2020) to sRGB bytes."""
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s
    green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s
    blue = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s
    linear = np.clip(np.column_stack([red, green, blue]), 0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(255 * encoded).astype(np.uint8)
