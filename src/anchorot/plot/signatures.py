"""Plot of a signature: the sorted anchors of a space as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from anchorot._validate import check_finite, check_numbers
from anchorot.exceptions import InputError
from anchorot.plot.style import given_or_current, quiet_frame, slim_colorbar

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def signature(values: ArrayLike, *, label: str = "cost", ax: Axes | None = None) -> Axes:
    """Draw a signature, or a mean of signatures: levels upwards, points from left to right.

    Each column is a share of the points, by how far they see; going up it shows the costs to the nearest, the median
    and the farthest of all points.

    Parameters
    ----------
    values : array_like of shape (levels, shares)
        As :func:`~anchorot.signature` returns it, or the mean or the difference of several.
    label : str
        Label of the colour bar, with units.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> line = ao.from_points([[0], [1], [2], [5]])
    >>> ax = ao.plot.signature(ao.signature(line, (8, 8)))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('share of the points s', 'level t')
    """
    matrix = check_numbers(values, "values").astype(np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"a signature is a matrix of levels and shares, but values has shape {matrix.shape}")
    check_finite(matrix, "values")
    costs = math.sqrt(matrix.size) * matrix
    ax = given_or_current(ax, 5.2, 4.2)
    most = float(np.abs(costs).max())
    colours = {"cmap": "RdBu_r", "vmin": -most, "vmax": most} if costs.min() < 0 else {"cmap": "viridis"}
    image = ax.imshow(costs, **colours, origin="lower", extent=(0, 1, 0, 1), aspect="equal", interpolation="nearest")
    quiet_frame(ax, "share of the points s", "level t")
    slim_colorbar(ax, image, label)
    return ax
