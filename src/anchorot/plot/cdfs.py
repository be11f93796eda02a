"""Plot of Anchor Energy: the CDFs of the anchors, and the integrand between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anchorot._typing import Float64s
from anchorot._validate import check_integer
from anchorot.distances.energy import anchor_energy
from anchorot.plot.style import BLUE, RED, given_or_current, legible, quiet_frame, slim_colorbar
from anchorot.space import Space, as_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ShareField(NamedTuple):
    """The difference between the anchors of two spaces at every cost and level, on a grid of K x K cells."""

    edges: Float64s  # (K + 1,) of the cells' costs; their levels are those of [0, 1] in K equal parts
    heights_x: Float64s  # (n, K) CDF of each anchor of the first space at the cells' middle costs
    heights_y: Float64s  # (m, K)
    difference: Float64s  # (K, K), level by cost: F - G


def anchor_cdfs(
    x: Space | ArrayLike,
    y: Space | ArrayLike,
    *,
    robust: bool = False,
    names: tuple[str, str] = ("x", "y"),
    n_curves: int = 100,
    resolution: int = 400,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the integrand of Anchor Energy (p = 1): the anchors' CDFs, red and blue, and where their shares differ.

    Every anchor of x is a thin red curve, the CDF of its costs, every anchor of y a thin blue one; the bold curves are
    their means. Let F(s, t) be the share of red curves that have reached the level t at the cost s, and G that of
    blue ones. Then

    .. math:: AE = \iint 2\,(F(s, t) - G(s, t))^2\,ds\,dt

    and the shading is this integrand: red where more red curves have reached the level, blue where more blue ones have.
    Its integral is the Anchor Energy, which the legend shows.

    Parameters
    ----------
    x, y : Space or array_like of shape (n, n)
        A cost matrix is taken as a uniform space.
    robust : bool
        Draw ranks of costs instead of costs.
    names : (str, str)
        Names of x and y.
    n_curves : int
        Draw at most this many thin curves per space, evenly chosen by their mean cost. The shading uses all.
    resolution : int
        Number of cells per side of the grid. Values are exact at the cells' midpoints.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Notes
    -----
    O(n² log K + n K) time and O(n K) memory for K cells per side.

    Examples
    --------
    >>> import anchorot as ao
    >>> line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> ax = ao.plot.anchor_cdfs(line, triangle, names=("line", "triangle"))
    >>> ax.get_legend().get_title().get_text()
    'AE = 0.2963'
    """
    red, blue = (as_space(space, robust=robust).support() for space in (x, y))
    n_curves = check_integer(n_curves, "n_curves", 0)
    field = share_field(red, blue, check_integer(resolution, "resolution", 2))
    ax = given_or_current(ax, 6.8, 4.6)
    integrand = np.sign(field.difference) * 2 * field.difference**2
    most = float(np.abs(integrand).max()) or 1.0
    extent = (field.edges[0], field.edges[-1], 0.0, 1.0)
    from matplotlib.colors import LinearSegmentedColormap

    red_and_blue = LinearSegmentedColormap.from_list("red and blue", [BLUE, "white", RED])
    colours: dict[str, Any] = {"cmap": red_and_blue, "vmin": -most, "vmax": most}
    image = ax.imshow(integrand, **colours, origin="lower", extent=extent, aspect="auto")
    sides = zip((red, blue), (field.heights_x, field.heights_y), (RED, BLUE), names, strict=True)
    for space, heights, colour, name in sides:
        _draw_curves(ax, field.edges, heights, space.weights, colour, name, n_curves)
    ax.set_xlim(extent[:2])
    ax.set_ylim(0, 1)
    quiet_frame(ax, "rank of the cost" if robust else "cost", "level")
    title = f"{'robust ' * robust}AE = {anchor_energy(red, blue):.4g}"
    legend = ax.legend(title=title, loc="lower right", alignment="left", fontsize=9, edgecolor="none", framealpha=0.85)
    legend.get_title().set_fontweight("bold")
    bar = slim_colorbar(ax, image, "2 (F - G)²")
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    return ax


def share_field(x: Space, y: Space, resolution: int) -> ShareField:
    """Compute the share of the anchors that have reached each level at each cost, at midpoints of cells."""
    low = float(min(x.cost.min(), y.cost.min()))
    high = float(max(x.cost.max(), y.cost.max()))
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, resolution + 1)
    costs = (edges[1:] + edges[:-1]) / 2
    heights_x, heights_y = _heights(x, costs), _heights(y, costs)
    return ShareField(edges, heights_x, heights_y, _shares(heights_x, x.weights) - _shares(heights_y, y.weights))


def _heights(space: Space, costs: Float64s) -> Float64s:
    """CDF of every anchor at the given costs: H_i(s) = Σ_j a_j [C_ij <= s]."""
    count = len(costs)
    rows = (np.bincount(np.searchsorted(costs, row), space.weights, count + 1) for row in space.cost)
    return np.stack([np.cumsum(jumps[:count]) for jumps in rows])


def _shares(heights: Float64s, weights: Float64s) -> Float64s:
    """F(s, t) = Σ_i a_i [H_i(s) >= t], level by cost, at the midpoints of equal parts of [0, 1]."""
    count = heights.shape[1]
    reached = np.searchsorted((np.arange(count) + 0.5) / count, heights, side="right")
    cells = (reached * count + np.arange(count)).ravel()
    mass = np.bincount(cells, np.repeat(weights, count), (count + 1) * count).reshape(count + 1, count)
    # A curve that has reached a level has reached all lower ones: accumulate from the top.
    return np.cumsum(mass[:0:-1], axis=0, dtype=np.float64)[::-1]


def _draw_curves(
    ax: Axes, edges: Float64s, heights: Float64s, weights: Float64s, colour: str, name: str, n_curves: int
) -> None:
    from matplotlib.collections import LineCollection

    by_mean = np.argsort(heights.sum(axis=1), kind="stable")
    shown = by_mean[np.linspace(0, len(heights) - 1, min(n_curves, len(heights))).round().astype(int)]
    alpha = float(np.clip(12 / max(len(shown), 1), 0.22, 0.8))
    ax.add_collection(LineCollection(list(_outline(edges, heights[shown])), colors=colour, linewidths=0.4, alpha=alpha))
    mean = _outline(edges, weights @ heights).T
    ax.plot(*mean, color="white", linewidth=4, alpha=0.9)
    ax.plot(*mean, color=colour, linewidth=2.2, label=f"mean of {legible(name)}")


def _outline(edges: Float64s, heights: Float64s) -> Float64s:
    """Corners of CDFs (..., K) that are constant in each cell and end at 1: (..., 2 K + 1, 2)."""
    flat = np.repeat(heights, 2, axis=-1)
    whole = np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)
    return np.stack(np.broadcast_arrays(np.repeat(edges, 2)[1:], whole), axis=-1)
