"""At which distances groups differ, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anchorot._typing import Float64s
from anchorot.plot.style import BLUE, INK, NOTHING, QUIET, RED, axes_or_new, quiet_frame
from anchorot.stats.scale import ScaleTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scale_curve(test: ScaleTest, *, level: float = 0.05, ax: Axes | None = None) -> Axes:
    """Draw how much groups differ at each distance, and how much they would by chance.

    The curve is the share of the dispersion that lies between the groups, band by band. Grey is what permuted labels
    give: their mean, and up to where the largest of all bands comes by chance. Where the curve is above, and red, the
    groups differ; wherever they do not, it goes up there, anywhere, with a probability of at most `level`. The broken
    line marks the distances at which they differ most.

    Parameters
    ----------
    test : ScaleTest
        Of `scale_test`.
    level : float
        How often grey may be left by chance.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> clouds = [ao.from_points(np.random.default_rng(seed).random((12, 2)) ** (1 + seed // 4)) for seed in range(8)]
    >>> ax = ao.plot.scale_curve(ao.scale_test(clouds, list("aaaabbbb"), rng=0))
    >>> ax.get_xlabel()
    'distance'
    """
    ax = axes_or_new(ax, 6.4, 3.6)
    edges, share, limit = test.edges, test.share, test.limit(level)
    top = np.where(np.isfinite(limit), limit, 1.0)  # with few permutations nothing is beyond chance
    _fill(ax, edges, np.zeros_like(share), np.maximum(top, 0.0), NOTHING, 0.6)
    ax.stairs(test.expected, edges, baseline=None, color=QUIET, lw=0.8, ls=":")
    differs = test.adjusted_pvalues <= level
    _fill(ax, edges, top, np.where(differs, share, top), RED, 0.25)
    ax.stairs(share, edges, baseline=None, color=BLUE, lw=1.4)
    ax.stairs(np.where(differs, share, np.nan), edges, baseline=None, color=RED, lw=2.0)
    if differs.any():
        ax.axvline(sum(test.band) / 2, color=RED, lw=0.8, ls="--")
    ax.annotate("by chance", (edges[-1], top[-1]), (-4, -4), textcoords="offset points", ha="right", va="top").set(
        color=QUIET, fontsize=8
    )
    _say(ax, test, bool(differs.any()))
    ax.set_xlim(float(edges[0]), float(edges[-1]))
    ax.set_ylim(0.0, 1.25 * max(float(share.max()), float(top.max())))
    ax.set_xlabel("distance", fontsize=9, color=INK)
    ax.set_ylabel("share of dispersion between groups", fontsize=9, color=QUIET)
    ax.spines[["top", "right"]].set_visible(False)
    quiet_frame(ax)
    return ax


def _fill(ax: Axes, edges: Float64s, low: Float64s, high: Float64s, colour: str, alpha: float) -> None:
    """Fill between two step functions of the bands."""
    corners = np.repeat(edges, 2)[1:-1]
    ax.fill_between(corners, np.repeat(low, 2), np.repeat(high, 2), color=colour, alpha=alpha, lw=0)


def _say(ax: Axes, test: ScaleTest, differs: bool) -> None:
    low, high = test.band
    where = f"most from {low:.3g} to {high:.3g}" if differs else "no distance beyond chance"
    ax.annotate(
        f"{where}\np = {test.pvalue:.3g}",
        (1.0, 0.97),
        xycoords="axes fraction",
        ha="right",
        va="top",
        color=RED if differs else QUIET,
        fontsize=9,
    )
