"""Signatures of spaces: what search compares, and how far rounding may move them."""

import math

import numpy as np
from numpy.typing import NDArray

from anchorot._typing import Float64s
from anchorot.anchors.features import AnchorFeatures
from anchorot.anchors.grid import Grid
from anchorot.anchors.parts import plain_averages
from anchorot.exceptions import InputError

DETAIL = 4  # a finer grid bounds hardly better
AE_ERROR = 1e-12  # of a computed Anchor Energy, in units of how far the costs reach
LEAST_RADIUS = 1e-7  # of a signature: what rounding to float32 may move it by
MOST_RADIUS = 4.0  # signatures are at most 2 apart, so that a larger one says no more
MOST_CELLS = 1 << 20  # of a search index: signatures of 8 MB


def cell_averages(features: AnchorFeatures, grid: Grid) -> Float64s:
    """Averages of F(x, t) over the cells of a grid, as an array of its shape. O(n²) time."""
    return plain_averages(features, grid.cells)


def signature(features: AnchorFeatures, grid: Grid) -> Float64s:
    """Cell averages with a spread each: what search compares. 2 (high - low) ||s_x - s_y||² <= AE(x, y).

    Let e be the coordinates of F on a grid DETAIL times finer both ways, in units in which the whole grid has area 1,
    so that 2 (high - low) ||e_x - e_y||² <= AE. Within a cell of the coarse grid split e into its mean, a vector of
    equal entries, and the rest r. The two are orthogonal, and ||r_x - r_y|| >= | ||r_x|| - ||r_y|| |, so a cell can
    keep just two numbers, the norms of both: in memory that is twice the coarse grid, but it bounds about as well as a
    grid of four times as many cells.
    """
    cells_x, cells_t = grid.shape
    fine = Grid((DETAIL * cells_x, DETAIL * cells_t), grid.low, grid.high)
    e = cell_averages(features, fine).reshape(cells_x, DETAIL, cells_t, DETAIL)
    mean = e.mean(axis=(1, 3), keepdims=True)
    spread = np.sqrt(((e - mean) ** 2).mean(axis=(1, 3)))
    return np.concatenate([mean.ravel(), spread.ravel()]) / math.sqrt(cells_x * cells_t)


def rounded_signature(features: AnchorFeatures, grid: Grid) -> tuple[NDArray[np.float32], float]:
    """The signature in float32, and a radius that makes up for all rounding.

    Let D be the distance of the rounded vectors of x and y, r_x and r_y their distances to the true ones, and A the
    Anchor Energy in units of 2 (high - low): sqrt(A) >= D - r_x - r_y. The computed energy may be less than A, by
    AE_ERROR (s_x + s_y) / 2 where s is how far costs reach, in units of the range. With z = sqrt(A) - sqrt(AE_ERROR
    s_x) - sqrt(AE_ERROR s_y) >= 0 it is at least z². So the radius of x is r_x + sqrt(AE_ERROR s_x); signatures have
    norms up to 1, so that r_x is less than LEAST_RADIUS.
    """
    return signature(features, grid).astype(np.float32), rounding(features, grid)


def rounding(features: AnchorFeatures, grid: Grid) -> float:
    """The radius of `rounded_signature`."""
    low, high = features.span
    reach = (max(high, grid.high) - min(low, grid.low)) / (grid.high - grid.low)
    return min(LEAST_RADIUS + math.sqrt(AE_ERROR * reach), MOST_RADIUS)


def check_cells(grid: Grid) -> None:
    """Refuse a grid that is too fine to search with."""
    if math.prod(grid.shape) > MOST_CELLS:
        raise InputError(f"grid has shape {grid.shape}, but an index takes at most {MOST_CELLS} cells; take fewer")


def signature_length(grid: Grid) -> int:
    """How many numbers a signature has."""
    return 2 * math.prod(grid.shape)
