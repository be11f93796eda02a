"""Where the work is done: NumPy arrays and this package's kernels, or PyTorch tensors on a device."""

from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from anchorot._kernels import kernels
from anchorot._kernels.records import EdgeLanes, EdgeRows, SparseRows
from anchorot._typing import Float32s


class Backend(Protocol):
    """Dense matrices are float32; sparse ones are made by `sparse` and known to their maker only."""

    def dense(self, array: Float32s) -> Any:
        """Bring a matrix to where the work is done."""

    def host(self, array: Any) -> Float32s:
        """Bring a matrix back."""

    def sparse(self, matrix: csr_array) -> Any:
        """Bring a sparse matrix, for products, to where the work is done."""

    def left(self, a: Any, x: Any) -> Any:
        """The product A X."""

    def right(self, x: Any, transposed: Any) -> Any:
        """The product X B, by B transposed."""

    def tilt(self, plan: Any, slope: Any, rate: float, copies: Any, rounds: int) -> Any:
        """Multiply a plan by exp(rate slope); scale it: rows sum to 1, and columns, row i counted copies[i] times."""

    def spread(self, matrix: Any) -> float:
        """Standard deviation of all entries."""

    def sorted_bins(self, matrix: Any, ends: Any) -> Any:
        """(bins, rows): roots of each row's entries, from the largest down, summed up to each end."""

    def row_costs(self, x: Any, y: Any) -> Any:
        """(n, m): mean absolute differences of the columns of (bins, n) and (bins, m) matrices."""

    def messages(self, first: EdgeRows, second: EdgeLanes) -> "Messages":
        """Messages between the edges of two networks."""


class Messages(Protocol):
    """What pairs of edges know of each other."""

    def begin(self, chance: float) -> None:
        """Say that every pair of edges is free with the same chance."""

    def step(self, plan: Any, ratios: Float32s) -> Any:
        """Pass messages once; return the evidence, (n, m)."""


ROUNDS = 2  # of the sum over matchings


class Host:
    """NumPy arrays, and kernels in C++ or NumPy."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads

    def dense(self, array: Float32s) -> Float32s:
        """Return the array."""
        return np.ascontiguousarray(array, np.float32)

    def host(self, array: Float32s) -> Float32s:
        """Return the array."""
        return array

    def sparse(self, matrix: csr_array) -> SparseRows:
        """Return the rows of a sparse matrix."""
        return SparseRows(matrix.indptr, matrix.indices, matrix.data)

    def left(self, a: SparseRows, x: Float32s) -> Float32s:
        """The product A X."""
        return kernels.multiply_left(a, x, self._threads)

    def right(self, x: Float32s, transposed: SparseRows) -> Float32s:
        """The product X B."""
        return kernels.multiply_right(x, transposed, self._threads)

    def tilt(self, plan: Float32s, slope: Float32s, rate: float, copies: Float32s, rounds: int) -> Float32s:
        """Multiply a plan by exp(rate slope) and scale it, in place."""
        kernels.tilt_plan(plan, slope, rate, copies, rounds, self._threads)
        return plan

    def spread(self, matrix: Float32s) -> float:
        """Standard deviation of all entries."""
        return kernels.spread(matrix, self._threads)

    def sorted_bins(self, matrix: Float32s, ends: Any) -> Any:
        """Sum the roots of each row's entries, from the largest down."""
        ordered = np.sqrt(kernels.quantiles(matrix, self._threads)[::-1])
        return np.add.reduceat(ordered, np.append(0, ends[:-1]), axis=0, dtype=np.float64)

    def row_costs(self, x: Any, y: Any) -> Float32s:
        """Mean absolute differences of columns."""
        return kernels.l1_costs(np.ascontiguousarray(x), np.ascontiguousarray(y), self._threads).astype(np.float32)

    def messages(self, first: EdgeRows, second: EdgeLanes) -> "HostMessages":
        """Messages between the edges of two networks."""
        return HostMessages(first, second, self._threads)


class HostMessages:
    """Two arrays that take turns: what was said in the last round, and what is said in this one."""

    def __init__(self, first: EdgeRows, second: EdgeLanes, threads: int) -> None:
        self._first, self._second, self._threads = first, second, threads
        shape = len(first.neighbour), len(second.neighbour)
        self._said, self._spare = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def begin(self, chance: float) -> None:
        """Say that every pair of edges is free with the same chance."""
        self._said[:] = chance

    def step(self, plan: Float32s, ratios: Float32s) -> Float32s:
        """Pass messages once; return the evidence."""
        evidence, said = kernels.pass_messages(
            self._first, self._second, ratios, plan, self._said, ROUNDS, self._threads, self._spare
        )
        self._said, self._spare = said, self._said
        return evidence
