"""The picture of times against sizes."""

from typing import TYPE_CHECKING

import numpy as np

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
    "gw": (VIOLET, "v", "-"),
}


def draw_times(curves: dict[str, Curve]) -> "Figure":
    """Draw mean times with standard deviations, both axes logarithmic, with the power of n in the legend."""
    figure = plot.new_figure(8.4, 5.2)
    ax = figure.subplots()
    for key, curve in curves.items():
        color, marker, line = STYLES[key]
        label = f"{METHODS[key].label}:  $n^{{{curve.exponent()[0]:.2f}}}$"
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
