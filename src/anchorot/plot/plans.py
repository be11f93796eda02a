"""A transport plan as an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_choice
from anchorot.distances.alignment import Alignment, check_plan, match
from anchorot.distances.wasserstein import Transport
from anchorot.plot.style import BLUE, INK, RED, axes_or_new, quiet_frame, sharpness, slim_colorbar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELLS = 400  # a side of the image, at most


def plan(
    plan: Alignment | Transport | ArrayLike, *, order: str | None = None, marginals: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw a transport plan: rows are points of the first space, columns points of the second, dark is much mass.

    A side of more than 400 points is drawn in blocks of points, each as dark as the mass in it.

    Parameters
    ----------
    plan : Alignment, Transport or array_like of shape (n, m)
        As from :func:`~anchorot.align`, :func:`~anchorot.anchor_energy_plan` or :func:`~anchorot.anchor_wasserstein`.
        Of an alignment its `plan`; its `soft` one is an array to be drawn as well.
    order : {"match"}, optional
        Put the columns in the order of the rows that they match best, one to one: a good correspondence is then a
        diagonal, whatever the numbering of the second space. By default they stay as they are.
    marginals : bool
        Draw the points' weights as bars along the sides.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import anchorot as ao
    >>> ax = ao.plot.plan([[0.0, 0.5], [0.4, 0.1]], order="match")
    >>> ax.images[0].get_array().tolist()
    [[0.5, 0.0], [0.1, 0.4]]
    """
    array = check_plan(plan)
    if order is not None:
        check_choice(order, "order", ("match",))
        array = array[:, _columns_by_match(array)]
    n, m = array.shape
    ax = axes_or_new(ax, 5.6, 5)
    blocks = _pooled(_pooled(array, 0), 1)
    extent = (-0.5, m - 0.5, n - 0.5, -0.5)
    image = ax.imshow(blocks, cmap="magma_r", vmin=0, extent=extent, interpolation=sharpness(ax, max(blocks.shape)))
    quiet_frame(ax)
    ax.locator_params(integer=True)
    ax.set_xlabel("points of the second space", color=INK)
    ax.set_ylabel("points of the first space", color=INK)
    if marginals:
        _side_bars(ax, array)
    slim_colorbar(ax, image, "mass", gap=0.09 if marginals else 0.03)
    if max(n, m) > 3 * min(n, m):
        ax.set_aspect("auto")
    return ax


def _columns_by_match(array: Float64s) -> Int64s:
    row_of = match(array.T, "assignment")
    row_of = np.where(row_of < 0, match(array.T), row_of)  # columns left over join the row they share most with
    return np.argsort(row_of, kind="stable")


def _pooled(array: Float64s, axis: int) -> Float64s:
    """Add up neighbours along an axis, so that at most CELLS are left."""
    count = array.shape[axis]
    if count <= CELLS:
        return array
    return np.add.reduceat(array, np.arange(CELLS) * count // CELLS, axis=axis)


def _side_bars(ax: Axes, array: Float64s) -> None:
    """Row sums as red bars on the right, column sums as blue ones on top."""
    n, m = array.shape
    top = ax.inset_axes((0, 1.012, 1, 0.05), sharex=ax)
    top.stairs(array.sum(axis=0), np.arange(m + 1) - 0.5, fill=True, color=BLUE, alpha=0.5)
    side = ax.inset_axes((1.012, 0, 0.05, 1), sharey=ax)
    side.stairs(array.sum(axis=1), np.arange(n + 1) - 0.5, orientation="horizontal", fill=True, color=RED, alpha=0.5)
    for bars in (top, side):
        bars.axis("off")
    top.set_ylim(0, None)
    side.set_xlim(0, None)
