"""The C++ kernels (`native/`), with their results allocated here."""

import numpy as np
from numpy.typing import NDArray

from anchorot._kernels import _native
from anchorot._kernels._native import fenwick_expected_cost, level_energy, sort_rows, sweep_energy
from anchorot._kernels.levels import common_segments
from anchorot._kernels.records import Events, GridSpec, PlaceMoves, RowItems, ShareSteps, StepRows
from anchorot._typing import Float64s, Floats, Int64s

__all__ = [
    "argsort",
    "description",
    "event_averages",
    "fenwick_expected_cost",
    "l1_costs",
    "labelled_energies",
    "labelled_steps",
    "level_averages",
    "level_energy",
    "level_shares",
    "quantiles",
    "share_product",
    "sort_rows",
    "step_costs",
    "sweep_energy",
]

CACHED_PLACES = 8192  # whose masses, 128 bytes each, fit the second cache; beyond, steps take several times as long
STRETCH = 32768  # least number of moves that are swept with one set of places, as in labelled.cpp


def description() -> str:
    """Say which kernels these are."""
    return f"native ({_native.simd_level()})"


def quantiles(matrix: Floats, threads: int) -> Floats:
    """Sort each row, transpose."""
    out = np.empty(matrix.shape[::-1], matrix.dtype)
    _native.quantiles(matrix, out, threads)
    return out


def l1_costs(x: Float64s, y: Float64s, threads: int) -> Float64s:
    """Transport costs (p = 1) between all columns of two quantile matrices."""
    out = np.empty((x.shape[1], y.shape[1]))
    _native.l1_costs(x, y, *common_segments(len(x), len(y)), out, threads)
    return out


def step_costs(x: StepRows, y: StepRows, p: int, threads: int) -> Float64s:
    """Transport costs (any p) between all rows of two collections of weighted samples."""
    out = np.empty((len(x.value), len(y.value)))
    _native.step_costs(*x, *y, p, out, threads)
    return out


def level_shares(cost: Float64s, split_ties: bool) -> Float64s:
    """Share of the rows in which each column has each rank."""
    out = np.empty(cost.shape)
    _native.level_shares(cost, split_ties, out)
    return out


def share_product(x: ShareSteps, n: int, y: ShareSteps, m: int, threads: int) -> Float64s:
    """Integrals of the products of all shares in x and all shares in y."""
    out = np.empty((n, m))
    _native.share_product(*x, *y, out, threads)
    return out


def argsort(values: Float64s, threads: int) -> tuple[Float64s, Int64s]:
    """Sorted values and the stable order that sorts them."""
    ordered, order = np.empty_like(values), np.empty(len(values), np.int64)
    _native.argsort(values, ordered, order, threads)
    return ordered, order


def labelled_energies(moves: PlaceMoves, items: RowItems, in_x: NDArray[np.uint8], threads: int) -> Float64s:
    """Energy distance of the two collections that each labelling makes of a pool."""
    out = np.empty(len(in_x))
    size_x = float(in_x[0].sum())
    _native.labelled_energies(*moves, *items, in_x, size_x, in_x.shape[1] - size_x, out, threads)
    return out


def labelled_steps(moves: PlaceMoves) -> float:
    """Tell how long `labelled_energies` takes, in passes over one place."""
    rows = len(moves.start)
    _, moving = np.unique(moves.time, return_counts=True)
    at_once = (2 * moving >= rows) & (len(moves.place) > rows)  # moments at which all rows are put in order
    places = min(len(moves.place), rows + max(rows, STRETCH))
    rest = float(moving[~at_once].sum())
    by_place = np.count_nonzero(~at_once) * places + 4 * rest
    steps = min(by_place, rest * (10 + 6 * np.log2(places)))
    return float(rows * (1 + 3 * np.count_nonzero(at_once)) + steps * (1 if places <= CACHED_PLACES else 8))


def level_averages(levels: Floats, grid: GridSpec) -> Float64s:
    """Averages of F(x, t) over cells, from levels."""
    out = np.empty((grid.cells_x, grid.cells_t))
    _native.level_averages(levels, grid.low, grid.high, out)
    return out


def event_averages(events: Events, grid: GridSpec) -> Float64s:
    """Averages of F(x, t) over cells, from events."""
    out = np.empty((grid.cells_x, grid.cells_t))
    _native.event_averages(events, grid.low, grid.high, out)
    return out
