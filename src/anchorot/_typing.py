"""Type aliases shared by all modules."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]  # float64 or float32
Float64s = NDArray[np.float64]
Float32s = NDArray[np.float32]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
RngLike = int | np.random.Generator | None
Disconnected = Literal["error", "largest"] | float  # what to do with a graph that is not connected
