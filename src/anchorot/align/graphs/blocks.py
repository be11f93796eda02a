"""Rows of sparse matrices that are worked on at a time, so that memory stays small."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def row_blocks(cost: Any, most: float) -> Iterator[slice]:
    """Rows, one at least, whose costs together are at most so much."""
    before = np.append(0, np.cumsum(cost))
    begin = 0
    while begin < len(cost):
        end = max(begin + 1, int(np.searchsorted(before, before[begin] + most, side="right")) - 1)
        yield slice(begin, end)
        begin = end
