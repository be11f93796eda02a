"""Plots of tests: the null distribution with the observed statistic, and the distances at which groups differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anchorot._typing import Float64s
from anchorot._validate import check_integer
from anchorot.exceptions import InputError
from anchorot.plot.style import BLUE, PALE, QUIET, RED, given_or_current, literal, quiet_frame, slim_colorbar
from anchorot.stats.permutation import PermutationTest
from anchorot.stats.scale_result import ScaleTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 60  # of a histogram of permuted statistics
MIN_RANGE = 0.1  # of the colours of effects: noise below stays pale
MAX_LINEAR_RATIO = 4.0  # of the observed statistic to the largest of the null; beyond, the axis is logarithmic


def null_distribution(test: PermutationTest, *, ax: Axes | None = None) -> Axes:
    """Draw the statistics of the permutations as a histogram, and the observed one as a line.

    Parameters
    ----------
    test : PermutationTest
        Result of `energy_test`, `graph_model_test` or `group_test`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> test = ao.energy_test([[0, 1], [0, 2], [1, 1]], [[5, 6], [5, 7], [6, 6]], rng=0)
    >>> ao.plot.null_distribution(test).get_xlabel()
    'statistic under permuted labels'
    """
    ax = given_or_current(ax, 6.4, 3.6)
    null = test.null[np.isfinite(test.null)]
    observed = test.statistic if np.isfinite(test.statistic) else None
    low, high = _range(null if observed is None else np.append(null, observed))
    # on a linear axis the null would be one thin bar
    far = low > 0 and len(null) > 0 and high > MAX_LINEAR_RATIO * null.max()
    bins = np.geomspace(low, high, BINS + 1) if far else np.linspace(low, high, BINS + 1)
    # the p-value counts the permutations from the observed statistic on
    for part, colour in ((null[null < test.statistic], PALE), (null[null >= test.statistic], BLUE)):
        ax.hist(part, bins=bins.tolist(), color=colour, edgecolor="white", linewidth=0.4)
    if far:
        ax.set_xscale("log")
    if observed is not None:
        ax.axvline(observed, color=RED, lw=1.8)
    # text left of the line, else in the corner, where the tail is thin
    beside = observed is not None and observed >= bins[BINS // 2]
    ax.annotate(
        f"observed {test.statistic:.4g}\np = {test.pvalue:.3g}",
        (observed if beside else 1.0, 0.95),
        xycoords=("data" if beside else "axes fraction", "axes fraction"),
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        color=RED,
        fontsize=9,
    )
    quiet_frame(ax, "statistic under permuted labels", f"count, of {len(test.null)} permutations")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _range(values: Float64s) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low, low + 1.0)


def scale_curve(test: ScaleTest, *, level: float = 0.05, ax: Axes | None = None) -> Axes:
    """Draw how much groups differ at each distance, and how much is expected by chance.

    The curve is the share of the dispersion that lies between the groups, band by band. The grey area is the range
    under permuted labels, up to the critical value for all bands, with the mean dotted. Groups differ where the curve
    is above it, and red; if they do not differ, it is above anywhere with a probability of at most `level`. The dashed
    line is at the distances with the largest difference. Light blue is twice the jackknife standard error of the
    curve, over subjects (or spaces without subjects).

    Parameters
    ----------
    test : ScaleTest
        Result of `scale_test`.
    level : float
        Family-wise error rate.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> clouds = [ao.from_points(np.random.default_rng(seed).random((12, 2)) ** (1 + seed // 4)) for seed in range(8)]
    >>> ax = ao.plot.scale_curve(ao.scale_test(clouds, list("aaaabbbb"), rng=0))
    >>> ax.get_xlabel()
    'distance'
    """
    ax = given_or_current(ax, 6.4, 3.6)
    edges, share, limit = test.edges, test.share, test.limit(level)
    top = np.where(np.isfinite(limit), limit, 1.0)  # with too few permutations nothing is significant
    _fill(ax, edges, np.zeros_like(share), np.maximum(top, 0.0), PALE, 0.6)
    ax.stairs(test.expected, edges, baseline=None, color=QUIET, lw=0.8, ls=":")
    differs = test.adjusted_pvalues <= level
    _fill(ax, edges, top, np.where(differs, share, top), RED, 0.25)
    error = 2 * np.nan_to_num(test.error)
    high = np.minimum(share + error, 1.0)
    _fill(ax, edges, np.maximum(share - error, 0.0), high, BLUE, 0.15)
    ax.stairs(share, edges, baseline=None, color=BLUE, lw=1.4)
    ax.stairs(np.where(differs, share, np.nan), edges, baseline=None, color=RED, lw=2.0)
    if differs.any():
        ax.axvline(sum(test.band) / 2, color=RED, lw=0.8, ls="--")
    ax.annotate("by chance", (edges[-1], top[-1]), (-4, -4), textcoords="offset points", ha="right", va="top").set(
        color=QUIET, fontsize=8
    )
    first, last = test.band
    where = f"largest difference from {first:.3g} to {last:.3g}" if differs.any() else "no significant distance"
    colour = RED if differs.any() else QUIET
    text = ax.annotate(f"{where}\np = {test.pvalue:.3g}", (1.0, 0.97), xycoords="axes fraction", ha="right", va="top")
    text.set(color=colour, fontsize=9)
    ax.set_xlim(float(edges[0]), float(edges[-1]))
    ax.set_ylim(0.0, max(1.25 * float(share.max()), 1.25 * float(top.max()), float(high.max())))
    quiet_frame(ax, "distance", "share of dispersion between groups")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def type_pairs(test: ScaleTest, *, level: float = 0.05, most: int = 24, ax: Axes | None = None) -> Axes:
    """Draw how much groups differ at each distance between points of each two types, significant or not.

    The darker a cell, the more of the dispersion lies between the groups than is expected by chance. Cells with a frame
    are significant: the probability that any of them is wrong is at most `level`.

    Parameters
    ----------
    test : ScaleTest
        Result of `scale_test` with ``type_pairs=True``.
    level : float
        Family-wise error rate.
    most : int
        Number of pairs to draw; the most certain ones, first.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> tissues = ao.datasets.tissues(4, n_cells=30, rng=0)
    >>> test = ao.scale_test(tissues, tissues.labels, attributes="types", type_pairs=True, n_resamples=99, rng=0)
    >>> ax = ao.plot.type_pairs(test)
    >>> len(ax.get_yticklabels()) == len(test.pairs)
    True
    """
    if not test.pairs:
        raise InputError("the test has no pairs of types; use scale_test(..., attributes='types', type_pairs=True)")
    adjusted, effects = test.pair_adjusted_pvalues, test.pair_effects
    order = np.lexsort((-effects.max(axis=1), adjusted.min(axis=1)))[: check_integer(most, "most", 1)]
    ax = given_or_current(ax, 6.4, 1.2 + 0.22 * len(order))
    rows = np.arange(len(order) + 1)
    shown = np.maximum(effects[order], 0.0)
    image = ax.pcolormesh(test.edges, rows, shown, cmap="magma_r", vmin=0, vmax=max(float(shown.max()), MIN_RANGE))
    for row, band in np.argwhere(adjusted[order] <= level).tolist():
        low, high = test.edges[band : band + 2]
        ax.plot([low, high, high, low, low], [row, row, row + 1, row + 1, row], color=BLUE, lw=1.4)
    ax.invert_yaxis()
    names = [literal(f"{first} and {second}") for first, second in (test.pairs[k] for k in order)]
    ax.set_yticks(rows[:-1] + 0.5, names)
    quiet_frame(ax, "distance")
    slim_colorbar(ax, image, "share between groups, beyond chance")
    return ax


def _fill(ax: Axes, edges: Float64s, low: Float64s, high: Float64s, colour: str, alpha: float) -> None:
    """Fill between two step functions of the bands."""
    corners = np.repeat(edges, 2)[1:-1]
    ax.fill_between(corners, np.repeat(low, 2), np.repeat(high, 2), color=colour, alpha=alpha, lw=0)
