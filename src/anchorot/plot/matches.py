"""Plots of matches: two spaces side by side with lines between them, or a transport plan as an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._layout import drawable
from anchorot._typing import Float64s, Int64s
from anchorot._validate import as_array, at_hand, check_choice, check_numbers
from anchorot.align.correspondence import Correspondence
from anchorot.align.matching import match
from anchorot.align.plans import check_plan
from anchorot.distances.wasserstein import Transport
from anchorot.exceptions import InputError
from anchorot.plot.shapes import View, check_values, colour_scale, dot_areas, draw, one_colour, value_colours, view
from anchorot.plot.style import BLUE, INK, PALE, RED, draw_blocks, given_or_current, hide_axes, slim_colorbar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.6  # between the two, in units of the radius
MOST_LINES, SOME_LINES = 500, 100  # up to the first number all matches have a line; of more, about the second number
MAX_CELLS = 400  # per side of the image


def matched_graphs(
    x: Any,
    y: Any,
    plan_or_match: Correspondence | Transport | ArrayLike,
    *,
    highlight: Sequence[int] | None = None,
    values: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw two graphs, or any two spaces, side by side: matched points share a colour and are joined by a line.

    Unmatched points of y are grey; if several points of x share a match, it has the colour of the first. For a dense
    alignment, which need not cover all of y, y is coloured by position and x by its matches.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
        With n and m points; or, if matches are given, inputs of :func:`~anchorot.align` with `n_landmarks`: points
        (n, d), a mesh or its path.
    plan_or_match : Alignment, DenseAlignment, Transport, array_like of shape (n, m), or integers of shape (n,)
        An alignment, or the match of every point of x in y, -1 for none, as from :func:`~anchorot.match`; or a plan,
        from which the one-to-one matching of largest mass is drawn.
    highlight : sequence of int, optional
        Points of x to draw larger, with lines only from these. By default there are lines from all points, or from some
        of more than 500.
    values : array_like of shape (n,), optional
        A number for each point of x, shown as its colour, NaN as grey; by default the horizontal position.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> path = ao.Space([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> ax = ao.plot.matched_graphs(path, path.take([2, 1, 0]), [2, 1, 0], highlight=[0])
    """
    left, right = drawable(x), drawable(y)
    found = _check_match(at_hand(plan_or_match), left.n, right.n)
    chosen = some_points(left.n) if highlight is None else _check_points(highlight, left.n)
    ax = given_or_current(ax, 8, 4.2)
    view_x, view_y = view(left), view(right)
    shift = GAP + float(view_x.sites[:, 0].max() - view_y.sites[:, 0].min())
    view_y = view_y.moved(shift)
    if values is None and isinstance(plan_or_match, Correspondence) and plan_or_match.is_map:
        colours_x, colours_y = _colours_of_map(view_y, found)
    else:
        colours_x, colours_y = _colours_by(view_x.points[:, 0] if values is None else values, found, right.n)
    draw_lines(ax, view_x.points, view_y.points[found], chosen[found[chosen] >= 0])
    draw(ax, view_x, colours_x, left.weights)
    draw(ax, view_y, colours_y, right.weights)
    if highlight is not None:
        _ring(ax, view_x, chosen, colours_x, left.weights)
        _ring(ax, view_y, found[chosen[found[chosen] >= 0]], colours_y, right.weights)
    ax.autoscale_view()
    hide_axes(ax)
    return ax


def _colours_by(values: ArrayLike, found: Int64s, m: int) -> tuple[Float64s, Float64s]:
    """Colours of the first side by value, and of their matches."""
    numbers = check_values(values, len(found))
    colours_x, colours_y = value_colours(colour_scale(numbers), numbers), one_colour(PALE, m)
    matched = np.flatnonzero(found >= 0)[::-1]  # reversed, so that the first one overwrites the others
    colours_y[found[matched]] = colours_x[matched]
    return colours_x, colours_y


def _colours_of_map(second: View, found: Int64s) -> tuple[Float64s, Float64s]:
    """Colours of the first side from those of the second side's positions; a map need not cover all of these."""
    places = second.points[:, 0]
    colours_y = value_colours(colour_scale(places), places)
    colours_x = colours_y[found]
    colours_x[found < 0] = one_colour(PALE, 1)
    return colours_x, colours_y


def _check_match(plan_or_match: Correspondence | Transport | ArrayLike, n: int, m: int) -> Int64s:
    """Turn an alignment, a plan or a match into the match of every point of x, -1 for none."""
    given = plan_or_match.plan if isinstance(plan_or_match, Transport) else plan_or_match
    given = given.matches if isinstance(given, Correspondence) else given
    numbers = check_numbers(given, "plan_or_match")
    if numbers.ndim == 1 and as_array(given, "plan_or_match").dtype.kind in "iu":
        found = numbers.astype(np.int64)
        if len(found) != n:
            raise InputError(f"the match has {len(found)} entries, but the first space has {n} points")
        if found.min() < -1 or found.max() >= m:
            raise InputError(f"the match ranges from {found.min()} to {found.max()}, but must be from -1 to {m - 1}")
        return found
    return match(check_plan(numbers, (n, m)), "assignment")


def _check_points(points: Sequence[int], n: int) -> Int64s:
    index = as_array(points, "highlight")
    is_whole = index.dtype.kind in "iu" or not index.size
    if index.ndim != 1 or not is_whole or (index.size and (index.min() < 0 or index.max() >= n)):
        raise InputError(f"highlight must hold integers from 0 to {n - 1}, but got {points!r}")
    return index.astype(np.int64)


def some_points(n: int) -> Int64s:
    """Points whose matches are joined by a line: all, or some of many."""
    return np.arange(0, n, 1 if n <= MOST_LINES else n // SOME_LINES)


def draw_lines(ax: Axes, ends_x: Float64s, ends_y: Float64s, chosen: Int64s) -> None:
    """Draw thin lines between points and their matches, below everything else."""
    from matplotlib.collections import LineCollection

    lines = np.stack([ends_x[chosen, :2], ends_y[chosen, :2]], axis=1)
    alpha = float(np.clip(25 / max(len(chosen), 1), 0.12, 0.8))
    ax.add_collection(LineCollection(list(lines), colors="#b6bdc8", linewidths=0.7, alpha=alpha, zorder=0.5))


def _ring(ax: Axes, seen: View, points: Int64s, colours: Float64s, weights: Float64s) -> None:
    places, areas = seen.points[points], dot_areas(ax, weights)[points]
    dots = ax.scatter(places[:, 0], places[:, 1], s=2.2 * areas, c=colours[points], zorder=3)
    dots.set(edgecolors=INK, linewidths=1.1)


def plan(
    plan: Correspondence | Transport | ArrayLike,
    *,
    order: str | None = None,
    marginals: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a transport plan: rows are points of the first space, columns points of the second, darker is more mass.

    A side of more than 400 points is drawn in blocks of points, with their total mass.

    Parameters
    ----------
    plan : Alignment, Transport or array_like of shape (n, m)
        As from :func:`~anchorot.align`, :func:`~anchorot.anchor_energy_plan` or :func:`~anchorot.anchor_wasserstein`.
        For an alignment, its `plan` is drawn; pass `found.soft()` to draw where points might belong.
    order : {"match"}, optional
        Sort the columns by the rows that they match best, one to one: a good correspondence is then a diagonal,
        whatever the numbering of the second space. By default they keep their order.
    marginals : bool
        Draw the points' weights as bars along the sides.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

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
        row_of = match(array.T, "assignment")
        row_of = np.where(row_of < 0, match(array.T), row_of)  # unmatched columns join the row of most shared mass
        array = array[:, np.argsort(row_of, kind="stable")]
    n, m = array.shape
    ax = given_or_current(ax, 5.6, 5)
    blocks = _pooled(_pooled(array, 0), 1)
    image = draw_blocks(ax, blocks, (n, m), "points of the second space", "points of the first space")
    if marginals:
        _side_bars(ax, array)
    slim_colorbar(ax, image, "mass", gap=0.09 if marginals else 0.03)
    return ax


def _pooled(array: Float64s, axis: int) -> Float64s:
    """Sum blocks along an axis, so that at most MAX_CELLS remain."""
    count = array.shape[axis]
    if count <= MAX_CELLS:
        return array
    return np.add.reduceat(array, np.arange(MAX_CELLS) * count // MAX_CELLS, axis=axis)


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
