"""Which points of a large thing to keep."""

import numpy as np

from anchorot._typing import Int64s, RngLike
from anchorot._validate import check_integer


def sampled(candidates: Int64s, n_points: int | None, rng: RngLike) -> Int64s:
    """Draw at most `n_points` of the candidates, uniformly, none twice; all in order if there are fewer."""
    if n_points is None or check_integer(n_points, "n_points", 1) >= len(candidates):
        return candidates
    return np.random.default_rng(rng).choice(candidates, size=int(n_points), replace=False)
