"""Shares of points as step functions of the level."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s


class ShareSteps(NamedTuple):
    """At level[e] the share of point[e] rises by step[e]; every share is 0 below level 0 and above level 1."""

    level: Float64s  # ascending
    point: NDArray[np.uint32]
    step: Float64s
