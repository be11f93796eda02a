"""A permutation test at a glance: the null distribution, and where the observed statistic lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anchorot._typing import Float64s
from anchorot.plot.style import BLUE, INK, NOTHING, QUIET, RED, axes_or_new, quiet_frame
from anchorot.stats.permutation import PermutationTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 60
FAR = 4.0  # times the largest of the null: an observed statistic beyond is drawn on a logarithmic axis


def null_distribution(test: PermutationTest, *, ax: Axes | None = None) -> Axes:
    """Draw the statistics of the permutations as a histogram, and the observed one as a line.

    Parameters
    ----------
    test : PermutationTest
        Of `energy_test`, `graph_model_test` or `group_test`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> test = ao.energy_test([[0, 1], [0, 2], [1, 1]], [[5, 6], [5, 7], [6, 6]], rng=0)
    >>> ao.plot.null_distribution(test).get_xlabel()
    'statistic under permuted labels'
    """
    ax = axes_or_new(ax, 6.4, 3.6)
    null = test.null[np.isfinite(test.null)]
    observed = test.statistic if np.isfinite(test.statistic) else None
    low, high = _range(null if observed is None else np.append(null, observed))
    far = low > 0 and len(null) > 0 and high > FAR * null.max()  # on a plain axis the null would be one thin bar
    bins = np.geomspace(low, high, BINS + 1) if far else np.linspace(low, high, BINS + 1)
    # bars from the observed statistic on are what the p-value counts
    for part, colour in ((null[null < test.statistic], NOTHING), (null[null >= test.statistic], BLUE)):
        ax.hist(part, bins=bins.tolist(), color=colour, edgecolor="white", linewidth=0.4)
    if far:
        ax.set_xscale("log")
    if observed is not None:
        ax.axvline(observed, color=RED, lw=1.8)
    beside = (
        observed is not None and observed >= bins[BINS // 2]
    )  # left of the line, else in the corner: tails are thin
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
    ax.set_xlabel("statistic under permuted labels", fontsize=9, color=INK)
    ax.set_ylabel(f"of {len(test.null)} permutations", fontsize=9, color=QUIET)
    ax.spines[["top", "right"]].set_visible(False)
    quiet_frame(ax)
    return ax


def _range(values: Float64s) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low, low + 1.0)
