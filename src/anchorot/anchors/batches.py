"""Features of many spaces in one call: their rows are sorted on all threads, without Python's lock.

Small spaces whose points weigh the same are taken together. All others, and arrays that validation must look at, are
left to `AnchorFeatures.of`, which gives the same bits, errors and warnings one by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from anchorot._kernels import kernels
from anchorot._typing import Floats
from anchorot._validate import check_list
from anchorot.anchors.features import AnchorFeatures, as_features
from anchorot.exceptions import InputError
from anchorot.space import Space

MOST_POINTS = 256  # of a space that is taken with others: half a millisecond of sorts, and Python adds 20 µs
TOGETHER = 64  # spaces that are sorted in one call: at most 32 MB of features, and 30 ms on one thread


def plain_cost(x: Any) -> Floats | None:
    """The costs of a small space, or an array of them, if points weigh the same and nothing needs to be converted."""
    if isinstance(x, Space):
        cost = x.cost if x.n <= MOST_POINTS and x.is_uniform else None
    else:
        is_array = type(x) in (np.ndarray, np.memmap) and x.dtype in (np.float64, np.float32)
        cost = x if is_array and x.ndim == 2 and 0 < x.shape[0] == x.shape[1] <= MOST_POINTS else None
    return cost if cost is not None and cost.flags.c_contiguous else None


def makes_costs(spaces: Any) -> bool:
    """Whether a sequence computes the costs of many of its spaces in one call, as `PointClouds` do."""
    return hasattr(spaces, "plain_costs")


def plain_costs(spaces: Any, indices: range, threads: int = 1) -> list[Floats | None]:
    """Those of some spaces of a sequence; such a sequence may compute them in one call itself."""
    if makes_costs(spaces):
        found: list[Floats | None] = spaces.plain_costs(indices, MOST_POINTS, threads)
        return found
    return [plain_cost(spaces[index]) for index in indices]


def features_together(costs: Sequence[Floats | None], threads: int = 1) -> list[AnchorFeatures | None]:
    """Features of spaces of these costs; None for those that have to be looked at one by one."""
    found: list[AnchorFeatures | None] = [None] * len(costs)
    for dtype in (np.float64, np.float32):
        places = [place for place, cost in enumerate(costs) if cost is not None and cost.dtype == dtype]
        levels, ordinary = kernels.space_levels([costs[place] for place in places], threads)  # type: ignore[misc]
        for place, each, is_ordinary in zip(places, levels, ordinary.tolist(), strict=True):
            if is_ordinary:
                found[place] = AnchorFeatures(levels=each)
    return found


def each_loaded(spaces: Any, threads: int = 1) -> Iterator[Any]:
    """All spaces of a sequence that computes costs, as these where one call gives them."""
    for first in range(0, len(spaces), TOGETHER):
        indices = range(first, min(first + TOGETHER, len(spaces)))
        for index, cost in zip(indices, plain_costs(spaces, indices, threads), strict=True):
            yield spaces[index] if cost is None else cost


def in_batches(spaces: Iterable[Any]) -> Iterator[list[Any]]:
    """Runs of spaces that can be taken together, and others one by one; what cannot be loaded comes in its turn."""
    plain: list[Any] = []
    try:
        for x in spaces:
            is_plain = plain_cost(x) is not None
            if is_plain:
                plain.append(x)
            if plain and (len(plain) == TOGETHER or not is_plain):
                yield plain
                plain = []
            if not is_plain:
                yield [x]
    except Exception:
        if plain:
            yield plain
        raise
    if plain:
        yield plain


def features_of_each(spaces: Any, *, robust: bool, threads: int) -> Iterator[AnchorFeatures]:
    """Features of all spaces, in order; an error of one begins with its place."""
    spaces = spaces if makes_costs(spaces) else check_list(spaces, "spaces", "space")
    for first in range(0, len(spaces), TOGETHER):
        indices = range(first, min(first + TOGETHER, len(spaces)))
        costs = [None] * len(indices) if robust else plain_costs(spaces, indices, threads)
        for index, found in zip(indices, features_together(costs, threads), strict=True):
            try:
                yield as_features(spaces[index], robust=robust, threads=threads) if found is None else found
            except InputError as error:
                raise InputError(f"spaces[{index}]: {error}") from None
