"""The picture of the trade-off."""

from typing import TYPE_CHECKING, Any

from anchorot import plot
from experiments.trade_off.shapes import RANKS, Shapes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "AE": plot.PALETTE[0],
    "AE, more points": plot.PALETTE[6],
    "robust AE": plot.PALETTE[4],
    "AW": plot.PALETTE[2],
    "GW": plot.PALETTE[1],
    "GW by POT": plot.PALETTE[3],
}
OTHERS = {"SLB": "v", "sliced TLB": "^", "quantized GW": "s"}  # and markers


def pareto(rows: list[dict[str, Any]], rank: int) -> list[dict[str, Any]]:
    """Return the rows that no row beats in both time and accuracy, fastest first."""
    front: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: row["seconds"]):
        if not front or row[f"top-{rank}"] > front[-1][f"top-{rank}"]:
            front.append(row)
    return front


def draw_trade_off(rows: list[dict[str, Any]], families: list[str]) -> "Figure":
    """Draw accuracy against time, one point a method; the Pareto front is grey."""
    figure = plot.new_figure(12, 4.8)
    panels = figure.subplots(1, len(RANKS), sharey=True)
    for ax, rank in zip(panels, RANKS, strict=True):
        front = pareto(rows, rank)
        times, accuracies = [row["seconds"] for row in front], [row[f"top-{rank}"] for row in front]
        ax.step(times, accuracies, where="post", color="#d1d5db", linewidth=5, label="Pareto front")
        for family, colour in COLOURS.items():
            line = [row for row, its in zip(rows, families, strict=True) if its == family]
            _draw_line(ax, line, rank, colour, "o", family)
        for family, marker in OTHERS.items():
            line = [row for row, its in zip(rows, families, strict=True) if its == family]
            _draw_line(ax, line, rank, "#4b5563", marker, family)
        ax.set(xscale="log", xlabel="seconds a pair, one core", ylim=(0, 1.02), title=f"top-{rank}")
        ax.grid(color="#e5e7eb", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("accuracy")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False, fontsize=9
    )
    return figure


def draw_shapes(shapes: Shapes) -> "Figure":
    """Draw the first shape of each class."""
    first = list(dict(zip(shapes.classes[::-1], shapes.spaces[::-1], strict=True)).items())[::-1]
    columns = min(6, len(first))
    figure = plot.new_figure(2 * columns, 2.1 * -(-len(first) // columns))
    panels = figure.subplots(-(-len(first) // columns), columns, squeeze=False).ravel()
    for ax, (name, space) in zip(panels, first, strict=False):
        plot.shape(space, color="#a9bcd6", ax=ax)
        ax.set_title(str(name), fontsize=10)
    for ax in panels[len(first) :]:
        ax.set_axis_off()
    return figure


def _draw_line(ax: "Axes", rows: list[dict[str, Any]], rank: int, colour: str, marker: str, label: str) -> None:
    ax.errorbar(
        [row["seconds"] for row in rows],
        [row[f"top-{rank}"] for row in rows],
        [row[f"top-{rank} error"] for row in rows],
        color=colour,
        marker=marker,
        markersize=5,
        linewidth=1,
        elinewidth=0.9,
        label=label,
    )
