"""One space as it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._drawing.scene import drawable
from anchorot._typing import Float64s
from anchorot._validate import check_numbers
from anchorot.exceptions import InputError
from anchorot.plot.drawing import draw, view
from anchorot.plot.style import NOTHING, PALETTE, axes_or_new, hide_axes, slim_colorbar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

PLAIN = "#a9bcd6"


def shape(
    space: Any,
    values: ArrayLike | None = None,
    *,
    color: str | None = None,
    colorbar: bool = True,
    label: str = "value",
    ax: Axes | None = None,
) -> Axes:
    """Draw one space: a cloud, a mesh, a graph or a tree, as it was made; one that never had places is laid out.

    What is in 3-D is seen from where it is widest. Dots are as large as their points are heavy.

    Parameters
    ----------
    space : Space or array_like of shape (n, n)
        Also points (n, d), or a mesh or its path: then all of its vertices are the points.
    values : array_like of shape (n,), optional
        A number for each point, shown as its colour; on a mesh, of all that is nearest to the point. Points whose value
        is NaN are grey, such as those that :meth:`~anchorot.Alignment.project` carries nothing to.
    color : str, optional
        One colour for all, where there are no values.
    colorbar : bool
        Show which colour is which value.
    label : str
        What the values are, and in which units, beside the scale of colours.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import anchorot as ao
    >>> square = ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> ax = ao.plot.shape(square, [0.1, 0.2, 0.3, 0.4])
    """
    drawn = drawable(space)
    ax = axes_or_new(ax, 5, 4.2)
    seen = view(drawn)
    if values is None:
        plain = PLAIN if seen.faces is not None else PALETTE[0]
        colours = one_colour(color or plain, drawn.n)
    else:
        numbers = check_values(values, drawn.n)
        scale = colour_scale(numbers)
        colours = value_colours(scale, numbers)
        if colorbar:
            slim_colorbar(ax, scale, label)
    draw(ax, seen, colours, drawn.weights)
    ax.autoscale_view()
    hide_axes(ax)
    return ax


def check_values(values: ArrayLike, n: int) -> Float64s:
    """Turn `values` into one number for each point, NaN where there is none."""
    numbers = check_numbers(values, "values").astype(np.float64, copy=False)
    if numbers.shape != (n,):
        raise InputError(f"values has shape {numbers.shape}, but the space has {n} points")
    if np.isinf(numbers).any():
        first = int(np.argmax(np.isinf(numbers)))
        raise InputError(f"values must be finite or NaN, but values[{first}] is {numbers[first]}")
    return numbers


def one_colour(name: str, count: int) -> Float64s:
    """Return the same colour for all, (count, 3)."""
    from matplotlib.colors import to_rgb

    return np.tile(to_rgb(name), (count, 1))


def colour_scale(values: Float64s) -> ScalarMappable:
    """Map numbers to colours that differ in lightness too, from the least to the largest."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    known = values[np.isfinite(values)]
    return ScalarMappable(Normalize(known.min(), known.max()) if len(known) else Normalize(0, 1), "viridis")


def value_colours(scale: ScalarMappable, values: Float64s) -> Float64s:
    """Return colours (n, 3) of numbers, grey for NaN."""
    colours = np.asarray(scale.to_rgba(np.nan_to_num(values)), np.float64)[:, :3]
    colours[np.isnan(values)] = one_colour(NOTHING, 1)
    return colours
