"""What an index file must hold before anything relies on it: checksums tell damage, but no bad intent.

The kernels use rows as indexes, and add up jumps; searches rely on order, and on the norms of vectors. What remains
possible is a file whose vectors are not those of its features: its answers are of the spaces it holds, but need not be
the nearest.
"""

import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.heights import from_heights
from anchorot._kernels.records import Events
from anchorot._typing import Floats
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.exceptions import InputError
from anchorot.io.options import ReadOptions
from anchorot.search.signatures import check_cells
from anchorot.search.view import View, unpacked

LARGEST_ID = 1 << 62
SUM_TOLERANCE = 1e-9  # of masses and heights, which were divided by their sums
NORM_TOLERANCE = 1e-2  # of squares that are added up in float32


def refuse(name: str, what: str) -> NoReturn:
    """Say that a file is damaged, and how."""
    raise InputError(f"{name}: {what}; the file is damaged: build the index again")


def checked_header(header: dict[str, Any], name: str) -> tuple[Grid, View, int, dict[str, Any] | None]:
    """Return the grid, how spaces are looked at, the next id, and how spaces were read, if that is known."""
    shape, low, high = (header.get(key) for key in ("shape", "low", "high"))
    robust, next_id = header.get("robust"), header.get("next_id")
    if not (isinstance(shape, list) and isinstance(low, float) and isinstance(high, float)):
        refuse(name, "its header holds no grid")
    if not isinstance(robust, bool) or type(next_id) is not int or not 0 <= next_id <= LARGEST_ID:
        refuse(name, f"its header says robust={robust!r} and next_id={next_id!r}")
    try:
        grid = Grid((*shape,), low, high)
        check_cells(grid)
    except InputError as error:
        refuse(name, str(error))
    try:
        view = unpacked(header.get("marking"), robust)
    except (ValueError, AttributeError) as error:
        refuse(name, f"its header says that points are told apart by {error}")
    return grid, view, next_id, checked_reading(header.get("reading"), name)


def checked_reading(reading: Any, name: str) -> dict[str, Any] | None:
    """Return options that `read` has, with values that they can have."""
    if reading is None:
        return None
    try:
        options = ReadOptions(**reading)
    except (TypeError, InputError) as error:
        refuse(name, f"its header says that spaces were read with options that there are not ({error})")
    single = {option: value for option, value in reading.items() if option not in ("features", "columns")}
    plain = all(type(value) in (str, int, float, bool, type(None)) for value in single.values())
    seed = 0 if options.rng is None else options.rng
    if not plain or not isinstance(options.point_metric, str) or type(seed) is not int or seed < 0:
        refuse(name, f"its header says that spaces were read with {reading}")
    return reading


def checked_names(names: Any, count: int, name: str) -> tuple[str, ...] | None:
    """Return a text an entry, or None."""
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != count or not all(isinstance(each, str) for each in names):
        refuse(name, f"its names are not {count} texts")
    return tuple(names)


def check_vectors(vectors: NDArray[np.float32], name: str) -> None:
    """Vectors are finite, with norms up to 1."""
    holds = np.einsum("ij,ij->i", vectors, vectors) <= 1 + NORM_TOLERANCE
    if not holds.all():
        refuse(name, f"vector {np.argmin(holds)} is longer than 1")


def are_sound(features: AnchorFeatures) -> bool:
    """Whether features can be given to the kernels."""
    return _sound_events(features.events) if features.levels is None else _sound_levels(features.levels)


def _sound_levels(levels: Floats) -> bool:
    finite = math.isfinite(levels.item(0)) and math.isfinite(levels.item(-1))
    return finite and _all(levels[:, 1:] >= levels[:, :-1]) and _all(levels[1:] >= levels[:-1])


def _sound_events(events: Events) -> bool:
    position, row, jump, mass = events
    if not (math.isfinite(position.item(0)) and math.isfinite(position.item(-1))):
        return False
    if not (_all(position[1:] >= position[:-1]) and _all(row < len(mass)) and _all(jump >= 0)):
        return False
    if not (_all(mass >= 0) and abs(mass.sum() - 1) <= SUM_TOLERANCE):
        return False
    heights = np.bincount(row, from_heights(jump), len(mass))
    # A row of no mass may have lost its events.
    return _all(heights <= 1 + SUM_TOLERANCE) and _all((heights >= 1 - SUM_TOLERANCE) | (mass == 0))


def _all(holds: NDArray[np.bool_]) -> bool:
    """``holds.all()``, in half the time for the few numbers of a space."""
    return np.count_nonzero(holds) == holds.size
