"""The C++ kernels (`native/`), with their results allocated here."""

import numpy as np

from anchorot._kernels import _native
from anchorot._kernels._native import fenwick_expected_cost, level_energy, sort_rows, sweep_energy
from anchorot._typing import Float64s, Floats, Int64s

__all__ = [
    "argsort",
    "description",
    "fenwick_expected_cost",
    "level_energy",
    "quantiles",
    "sort_rows",
    "sweep_energy",
]


def description() -> str:
    """Say which kernels these are."""
    return f"native ({_native.simd_level()})"


def quantiles(matrix: Floats, threads: int) -> Floats:
    """Sort each row, transpose."""
    out = np.empty(matrix.shape[::-1], matrix.dtype)
    _native.quantiles(matrix, out, threads)
    return out


def argsort(values: Float64s, threads: int) -> tuple[Float64s, Int64s]:
    """Sorted values and the stable order that sorts them."""
    ordered, order = np.empty_like(values), np.empty(len(values), np.int64)
    _native.argsort(values, ordered, order, threads)
    return ordered, order
