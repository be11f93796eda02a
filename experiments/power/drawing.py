"""Pictures of level and power."""

from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot import plot
from experiments.common.rules import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 4
MARKERS = "osD^v<>Pp"
BESIDE = 1.018  # times the place of the last test, so that bars can be told apart


def draw_level(level: dict[str, Interval], wanted: float) -> "Figure":
    """Draw how often each test rejects where nothing differs."""
    figure = plot.new_figure(7.2, 0.36 * len(level) + 1.2)
    ax = figure.subplots()
    rows = np.arange(len(level))[::-1]
    values = np.array([share.value for share in level.values()])
    ends = np.array([(share.low, share.high) for share in level.values()]).T
    for row, value, low, high, colour in zip(rows, values, *ends, plot.PALETTE, strict=False):
        ax.errorbar([value], [row], xerr=[[value - low], [high - value]], fmt="o", color=colour)
    ax.axvline(wanted, color="#9ca3af", linewidth=1)
    ax.set_yticks(rows, list(level))
    ax.set(xlabel="share rejected where nothing differs", xlim=(0, max(0.1, 1.1 * float(ends[1].max()))))
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def draw_power(
    power: dict[tuple[str, str], list[Interval]], kinds: list[Any], sizes: tuple[int, ...], level: float
) -> "Figure":
    """Draw power against the size of collections, a panel an alternative."""
    rows = -(-(len(kinds) + 1) // COLUMNS)
    figure = plot.new_figure(3.3 * COLUMNS, 3.1 * rows)
    panels = figure.subplots(rows, COLUMNS, sharey=True, squeeze=False).ravel()
    tests = list(dict.fromkeys(test for _, test in power))
    for ax, kind in zip(panels, kinds, strict=False):
        for m, test in enumerate(tests):
            shares = power[kind.name, test]
            values = np.array([share.value for share in shares])
            low, high = np.array([(share.low, share.high) for share in shares]).T
            places = np.array(sizes) * BESIDE ** (m - len(tests) / 2)
            ax.errorbar(
                places,
                values,
                [values - low, high - values],
                color=plot.PALETTE[m],
                marker=MARKERS[m],
                markersize=4,
                linewidth=1.1,
                elinewidth=0.7,
                label=test,
            )
        ax.axhline(level, color="#9ca3af", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
        ax.set(ylim=(-0.03, 1.03), xlabel="spaces a side")
        ax.set_title(kind.name, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in panels[::COLUMNS]:
        ax.set_ylabel("share rejected")
    for ax in panels[len(kinds) :]:
        ax.set_axis_off()
    panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="center", frameon=False, fontsize=8.5)
    return figure
