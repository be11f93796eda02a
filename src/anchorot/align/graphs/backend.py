"""Where the work is done: NumPy arrays and this package's kernels, or PyTorch tensors on a device."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from anchorot._kernels import kernels
from anchorot._kernels.records import EdgeLanes, EdgeRows, SparseRows
from anchorot._typing import Float32s

ROUNDS = 2  # of the sum over matchings


class Backend:
    """NumPy arrays, and kernels in C++ or NumPy; `device.Device` has the same for tensors.

    Dense matrices are float32; sparse ones are made by `sparse` and known to their maker only.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads

    @property
    def threads(self) -> int:
        """How many threads kernels use."""
        return self._threads

    def dense(self, array: Float32s) -> Any:
        """Bring a matrix to where the work is done."""
        return np.ascontiguousarray(array, np.float32)

    def host(self, array: Any) -> Float32s:
        """Bring a matrix back."""
        return array

    def sparse(self, matrix: csr_array) -> Any:
        """Bring a sparse matrix, for products, to where the work is done."""
        return SparseRows(matrix.indptr, matrix.indices, matrix.data)

    def left(self, a: Any, x: Any) -> Any:
        """The product A X."""
        return kernels.multiply_left(a, x, self._threads)

    def right(self, x: Any, transposed: Any) -> Any:
        """The product X B, by B transposed."""
        return kernels.multiply_right(x, transposed, self._threads)

    def tilt(self, plan: Any, slope: Any, rate: float, copies: Any, rounds: int) -> Any:
        """Multiply a plan, which is lost, by exp(rate slope); scale it as `Kernels.tilt_plan` says."""
        kernels.tilt_plan(plan, slope, rate, copies, rounds, self._threads)
        return plan

    def spread(self, matrix: Any) -> float:
        """Standard deviation of all entries."""
        return kernels.spread(matrix, self._threads)

    def sorted_bins(self, matrix: Any, ends: Any) -> Any:
        """(bins, rows): roots of each row's entries, from the largest down, summed up to each end."""
        ordered = np.sqrt(kernels.quantiles(matrix, self._threads)[::-1])
        return np.add.reduceat(ordered, np.append(0, ends[:-1]), axis=0, dtype=np.float64)

    def row_costs(self, x: Any, y: Any) -> Any:
        """(n, m): mean absolute differences of the columns of (bins, n) and (bins, m) matrices."""
        return kernels.l1_costs(np.ascontiguousarray(x), np.ascontiguousarray(y), self._threads).astype(np.float32)

    def messages(self, first: EdgeRows, second: EdgeLanes) -> "Messages":
        """Messages between the edges of two networks."""
        return Messages(first, second, self._threads)


class Messages:
    """What pairs of edges know of each other: two arrays that take turns, the last round's messages and this one's."""

    def __init__(self, first: EdgeRows, second: EdgeLanes, threads: int) -> None:
        self._first, self._second, self._threads = first, second, threads
        shape = len(first.neighbour), len(second.neighbour)
        self._said: Any = np.empty(shape, np.float32)
        self._spare = np.empty_like(self._said)

    def begin(self, chance: float) -> None:
        """Say that every pair of edges is free with the same chance."""
        self._said[:] = chance

    def step(self, plan: Any, ratios: Float32s) -> Any:
        """Pass messages once; return the evidence, (n, m)."""
        evidence, said = kernels.pass_messages(
            self._first, self._second, ratios, plan, self._said, ROUNDS, self._threads, self._spare
        )
        self._said, self._spare = said, self._said
        return evidence
