"""The picture of times against sizes."""

from typing import TYPE_CHECKING

import numpy as np

import anchorot as ao
from anchorot import plot
from experiments.scalability.growth import Curve
from experiments.scalability.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, VIOLET, *_, GREY = plot.PALETTE
STYLES = {
    "ae": (BLUE, "o", "-"),
    "ae_numpy": (BLUE, "o", "--"),
    "ae_fenwick": (GREEN, "s", "-"),
    "ae_naive": (RED, "^", "-"),
    "aw": (ORANGE, "D", "-"),
    "aw_share": (ORANGE, "D", "--"),
    "gw": (VIOLET, "v", ":"),
}


def draw_times(curves: dict[str, Curve]) -> "Figure":
    """Draw mean times with standard deviations, both axes logarithmic, with the power of n in the legend."""
    figure = plot.new_figure(8.4, 5.2)
    ax = figure.subplots()
    for key, curve in curves.items():
        color, marker, line = STYLES[key]
        label = METHODS[key].label
        if METHODS[key].converges:
            label += f":  $n^{{{curve.exponent().value:.2f}}}$"
        low = np.minimum(curve.deviation, 0.9 * curve.mean)  # zero has no place on the axis
        ax.errorbar(
            curve.sizes,
            curve.mean,
            (low, curve.deviation),
            color=color,
            marker=marker,
            linestyle=line,
            label=label,
            markersize=5,
            linewidth=1.8,
            capsize=2.5,
        )
    sizes = sorted({int(n) for curve in curves.values() for n in curve.sizes})
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(sizes, [str(n) for n in sizes])
    _draw_guides(ax, curves["ae"])
    ax.set_title("Comparing two cats", fontsize=11, loc="left", weight="bold", color="#374151")
    ax.set_xlabel("points of each shape, n")
    ax.set_ylabel("seconds on one core")
    ax.grid(color="#e5e7eb", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9.5)
    return figure


def _draw_guides(ax: "Axes", fastest: Curve) -> None:
    """Draw n² and n³ below all curves, to compare slopes with."""
    sizes, times = fastest.sizes[-3:].astype(float), fastest.mean[-3:]
    for power, style in ((2, ":"), (3, (0, (1, 3)))):
        guide = times[0] / 8 * (sizes / sizes[0]) ** power
        ax.plot(sizes, guide, color=GREY, linestyle=style, linewidth=1.5)
        ax.annotate(
            f"$n^{power}$", (sizes[-1], guide[-1]), xytext=(5, 0), textcoords="offset points", color=GREY, va="center"
        )


def draw_sweep(x: ao.Space, y: ao.Space) -> "Figure":
    """Draw what SL-AE does: a line sweeps over the jumps of all distribution functions, and keeps their heights."""
    figure = plot.new_figure(10, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
    line = float(np.median(np.concatenate([x.cost, y.cost], axis=None)))
    for space, color, name in ((x, BLUE, "first space"), (y, ORANGE, "second space")):
        heights = []
        for number, row in enumerate(np.sort(space.cost, axis=1)):
            steps = np.arange(1, space.n + 1) / space.n
            left.step(
                np.append(row, 1.05 * max(x.cost.max(), y.cost.max())),
                np.append(steps, 1),
                where="post",
                color=color,
                linewidth=1.4,
                alpha=0.8,
                label=None if number else f"anchors of the {name}",
            )
            left.plot(row, steps, ".", color=color, markersize=5)
            heights.append(np.searchsorted(row, line, side="right") / space.n)
        right.barh(np.arange(space.n) + (0 if space is x else space.n + 0.6), heights, color=color, height=0.75)
    left.axvline(line, color=GREY, linewidth=2, linestyle=(0, (4, 2)))
    left.annotate("the sweeping line", (line, 1.03), color=GREY, ha="center", va="bottom", annotation_clip=False)
    left.set(xlabel="cost", ylabel="share of points within that cost", ylim=(0, 1.0))
    left.legend(frameon=False, fontsize=8.5, loc="lower right")
    right.set(xlabel="height of each anchor at the line", xlim=(0, 1), yticks=[], title="kept in the Fenwick trees")
    right.title.set_fontsize(10)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure
