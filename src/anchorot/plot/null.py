"""A permutation test at a glance: the null distribution, and where the observed statistic lies."""

from typing import TYPE_CHECKING

import numpy as np

from anchorot.permutation import PermutationTest
from anchorot.plot.style import BLUE, INK, NOTHING, QUIET, RED, axes_or_new, quiet_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def null_distribution(test: PermutationTest, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the statistics of the permutations as a histogram, and the observed one as a line.

    Parameters
    ----------
    test : PermutationTest
        Of `energy_test`, `graph_model_test` or `group_test`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    """
    ax = axes_or_new(ax, 6.4, 3.6)
    finite = test.null[np.isfinite(test.null)]
    shown = np.append(finite, test.statistic) if np.isfinite(test.statistic) else finite
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    bins = np.linspace(low, high if high > low else low + 1.0, 61).tolist()
    # bars beyond the observed statistic are what the p-value counts
    for part, colour in ((finite[finite < test.statistic], NOTHING), (finite[finite >= test.statistic], BLUE)):
        ax.hist(part, bins=bins, color=colour, edgecolor="white", linewidth=0.4)
    if np.isfinite(test.statistic):
        ax.axvline(test.statistic, color=RED, lw=1.8)
    on_right = test.statistic > 0.6 * low + 0.4 * high  # the text goes where there is room
    ax.annotate(
        f"observed {test.statistic:.4g}\np = {test.pvalue:.3g}",
        (test.statistic if np.isfinite(test.statistic) else high, 0.95),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if on_right else 6, 0),
        textcoords="offset points",
        ha="right" if on_right else "left",
        va="top",
        color=RED,
        fontsize=9,
    )
    ax.set_xlabel("statistic under permuted labels", fontsize=9, color=INK)
    ax.set_ylabel(f"of {len(test.null)} permutations", fontsize=9, color=QUIET)
    ax.spines[["top", "right"]].set_visible(False)
    quiet_frame(ax)
    return ax
