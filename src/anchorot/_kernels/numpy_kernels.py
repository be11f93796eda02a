"""The kernels in NumPy: the same algorithms, vectorised, for machines without a compiler."""

import numpy as np

from anchorot._kernels.block_sweep import block_sweep
from anchorot._kernels.events import Events, from_heights, heights_after
from anchorot._kernels.fenwick_tree import fenwick_expected_cost
from anchorot._kernels.gap_energy import gap_energy
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

BLOCK_NUMBERS = 1 << 18  # numbers merged at a time: a few MB of temporary arrays


def description() -> str:
    """Say which kernels these are."""
    return "numpy"


def quantiles(matrix: Floats, threads: int) -> Floats:
    """Sort each row, transpose."""
    return np.ascontiguousarray(np.sort(matrix, axis=1).T)


def sort_rows(matrix: Floats, threads: int) -> None:
    """Sort each row in place."""
    matrix.sort(axis=1)


def level_energy(x: Floats, y: Floats, p: int, threads: int) -> float:
    """Integrate the energy distance of the two samples x[k], y[l] over the common refinement of the levels."""
    (levels_x, n), (levels_y, m) = x.shape, y.shape
    cuts = np.union1d(np.arange(levels_x + 1) * levels_y, np.arange(levels_y + 1) * levels_x)
    width = np.diff(cuts) / (levels_x * levels_y)
    at_x, at_y = cuts[:-1] // levels_y, cuts[:-1] // levels_x
    step = max(1, BLOCK_NUMBERS // (n + m))
    energy = np.empty(len(width))
    for start in range(0, len(width), step):
        block = slice(start, start + step)
        merged = np.concatenate([x[at_x[block]], y[at_y[block]]], axis=1).astype(np.float64, copy=False)
        order = np.argsort(merged, axis=1, kind="stable")
        # D after each number, in units of 1 / (n m): exact
        d = np.cumsum(np.where(order < n, m, -n), axis=1)[:, :-1] / (n * m)
        energy[block] = gap_energy(np.diff(np.take_along_axis(merged, order, axis=1), axis=1), d, p)
    return float(width @ energy)


def argsort(values: Float64s, threads: int) -> tuple[Float64s, Int64s]:
    """Sorted values and the stable order that sorts them."""
    order = np.argsort(values, kind="stable")
    return values[order], order


def sweep_energy(x: Events, y: Events, threads: int) -> float:
    """Sweep over the positions; the CDF heights are the values that move."""
    order = np.argsort(np.concatenate([x.position, y.position]), kind="stable")
    position = np.concatenate([x.position, y.position])[order]
    row = np.concatenate([x.row, y.row + np.uint32(len(x.mass))])[order]
    jump = np.concatenate([x.jump, y.jump])[order]
    after = heights_after(row, jump)
    signed_mass = np.concatenate([x.mass, -y.mass])
    return block_sweep(
        time=position,
        row=row,
        before=from_heights(after - jump),
        after=from_heights(after),
        start=np.zeros(len(signed_mass)),
        signed_mass=signed_mass,
        p=1,
        span=(position[0], position[-1]),
    )
