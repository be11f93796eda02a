"""Pictures: bars of correlations, and rows of a plan on a graph."""

from textwrap import fill
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from anchorot import plot
from experiments.node_assignment.matchings import Labelled
from experiments.node_assignment.roles import Role

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

WAYS = {
    "as_generated": "nodes numbered as they joined, ties by number (the authors' way)",
    "shuffled": "numbered at random, ties by number",
    "split": "numbered at random, ties split",
}
EDGE, GREY = "#d1d5db", "#e9ebee"


def draw_bars(table: dict[str, dict[str, NDArray[np.float64]]]) -> "Figure":
    """Draw for every method the mean correlation in three ways, with standard errors."""
    figure = plot.new_figure(12.5, 4.8)
    ax = figure.subplots()
    places = np.arange(len(table))
    for k, (way, label) in enumerate(WAYS.items()):
        found = [table[name][way] for name in table]
        means = [values.mean() for values in found]
        errors = [values.std(ddof=1) / np.sqrt(len(values)) for values in found]
        colour = (plot.PALETTE[9], plot.PALETTE[5], plot.PALETTE[0])[k]
        whiskers = {"elinewidth": 0.9, "ecolor": "#374151"}
        ax.bar(places + 0.27 * (k - 1), means, 0.25, yerr=errors, color=colour, label=label, error_kw=whiskers)
    ax.axhline(float(np.mean(table["AEP"]["split"])), color=plot.PALETTE[0], linewidth=0.8, linestyle=":", zorder=0)
    ax.set_xticks(places, [_tick(name) for name in table], fontsize=7)
    ax.set(ylabel="correlation of the latent orders\nof matched nodes", ylim=(0, 1), xlim=(-0.6, len(table) - 0.4))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    ax.set_title("Do matched nodes have like roles? It depends on how ties are broken", fontsize=11)
    return figure


def _tick(name: str) -> str:
    """A method's name in short lines, its parameter in the last."""
    method, paren, setting = name.partition(" (")
    return fill(method, 11) + (f"\n({setting}" if paren else "")


def draw_roles(x: Labelled, y: Labelled, central: Role, peripheral: Role) -> "Figure":
    """Draw two nodes of one graph and, on the other, where their mass goes."""
    figure = plot.new_figure(11, 4.1)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.08, 1.08))
    places_x, places_y = (nx.kamada_kawai_layout(graph.graph) for graph in (x, y))
    chosen = np.zeros(len(x.order))
    _draw_graph(left, x, places_x, chosen, 1.0)
    for role, colour, name in ((central, plot.PALETTE[3], "central"), (peripheral, plot.PALETTE[0], "peripheral")):
        spot = places_x[role.node]
        left.scatter(*spot, s=90, color=colour, edgecolors="#374151", linewidths=0.8, zorder=3, label=name)
    left.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, handletextpad=0.1)
    left.set_title("one graph, and two of its nodes", fontsize=10)
    for ax, role, name in ((middle, central, "central"), (right, peripheral, "peripheral")):
        density = role.row * len(role.row)
        dots = _draw_graph(ax, y, places_y, density, float(density.max()))
        ax.set_title(f"the other: where the {name} node goes", fontsize=10)
        bar = figure.colorbar(dots, ax=ax, shrink=0.75, pad=0.01, aspect=28)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelsize=8)
        bar.set_label("mass, in units of 1/n", fontsize=8)
    return figure


def _draw_graph(
    ax: "Axes", graph: Labelled, places: dict[int, NDArray[np.float64]], values: NDArray[np.float64], top: float
) -> "PathCollection":
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    spots = np.array([places[node] for node in range(len(places))])
    lines = [(spots[a], spots[b]) for a, b in graph.graph.edges]
    ax.add_collection(LineCollection(lines, colors=EDGE, linewidths=0.5, zorder=1))
    scale = LinearSegmentedColormap.from_list("mass", [GREY, plot.PALETTE[1], plot.PALETTE[3]])
    order = np.argsort(values)  # the heaviest on top
    low = float(values.min()) if values.any() else 0.0
    dots = ax.scatter(
        spots[order, 0],
        spots[order, 1],
        s=22,
        c=values[order],
        cmap=scale,
        vmin=low,
        vmax=top,
        edgecolors="#9ca3af",
        linewidths=0.4,
        zorder=2,
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.axis("off")
    return dots
