"""What an index file must hold before anything relies on it: checksums tell damage, but no bad intent.

The kernels use rows as indexes, and add up jumps; searches rely on order, and on the norms of vectors. What remains
possible is a file whose vectors are not those of its features: its answers are of the spaces it holds, but need not be
the nearest.
"""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels.heights import from_heights
from anchorot._kernels.records import Events
from anchorot._typing import Floats
from anchorot.anchors.features import AnchorFeatures
from anchorot.exceptions import InputError
from anchorot.search.embedding import Grid, check_cells

LARGEST_ID = 1 << 62
SUM_TOLERANCE = 1e-9  # of masses and heights, which were divided by their sums
NORM_TOLERANCE = 1e-2  # of squares that are added up in float32


def refuse(name: str, what: str) -> NoReturn:
    """Say that a file is damaged, and how."""
    raise InputError(f"{name}: {what}; the file is damaged: build the index again")


def checked_header(header: dict[str, Any], name: str) -> tuple[Grid, bool, int]:
    """Return the grid, whether features are of ranks, and the next id."""
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
    return grid, robust, next_id


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
    ascends = (levels[:, 1:] >= levels[:, :-1]).all() and (levels[1:] >= levels[:-1]).all()
    return bool(ascends and np.isfinite(levels[0, 0]) and np.isfinite(levels[-1, -1]))


def _sound_events(events: Events) -> bool:
    position, row, jump, mass = events
    if not (np.isfinite(position[[0, -1]]).all() and (position[1:] >= position[:-1]).all()):
        return False
    if not ((mass >= 0).all() and abs(mass.sum() - 1) <= SUM_TOLERANCE):
        return False
    if row.max() >= len(mass) or jump.min() < 0:
        return False
    heights = np.bincount(row, from_heights(jump), len(mass))
    # A row of no mass may have lost its events.
    return bool((heights <= 1 + SUM_TOLERANCE).all() and (heights[mass > 0] >= 1 - SUM_TOLERANCE).all())
