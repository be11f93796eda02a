"""Which points of a large thing to keep."""

import numpy as np

from anchorot._typing import Float64s, Int64s, RngLike
from anchorot._validate import check_integer


def sampled(candidates: Int64s, n_points: int | None, rng: RngLike, weights: Float64s | None = None) -> Int64s:
    """Draw at most `n_points` of the candidates, uniformly, none twice; all in order if there are fewer.

    Of more than that none is drawn that has no weight, unless none has any.
    """
    if n_points is None or check_integer(n_points, "n_points", 1) >= len(candidates):
        return candidates
    if weights is not None and weights[candidates].any():
        candidates = candidates[weights[candidates] > 0]
        if n_points >= len(candidates):
            return candidates
    return np.random.default_rng(rng).choice(candidates, size=int(n_points), replace=False)
