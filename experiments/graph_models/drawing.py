"""The picture: how far each source of graphs is from the test graphs, and what its graphs look like."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from anchorot.plot import PALETTE, new_figure
from experiments.graph_models.comparing import STATISTICS, Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "test set": PALETTE[9],
    "training set": PALETTE[0],
    "GraphRNN": PALETTE[2],
    "GraphRNN-S": PALETTE[6],
    "Erdős-Rényi": PALETTE[1],
    "Barabási-Albert": PALETTE[3],
    "rewired": PALETTE[4],
}
SHORT = {
    "training set": "training\nset",
    "GraphRNN": "Graph-\nRNN",
    "GraphRNN-S": "Graph-\nRNN-S",
    "Erdős-Rényi": "Erdős-\nRényi",
    "Barabási-Albert": "Barabási-\nAlbert",
}
INK = "#374151"


def draw_comparison(
    compared: Mapping[tuple[str, str], Comparison], examples: Mapping[str, Sequence[nx.Graph]]
) -> "Figure":
    """Draw a panel of bars for each statistic, and below it a column of example graphs for each source."""
    statistics = list(dict.fromkeys(statistic for statistic, _ in compared))
    figure = new_figure(3.7 * max(2, len(statistics)), 6.4)
    top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.15, 1])[:, 0]
    panels = top.subplots(1, len(statistics), squeeze=False)[0]
    panels[0].set_ylabel("root of the energy distance")
    for ax, statistic in zip(panels, statistics, strict=True):
        _bars(ax, [comparison for (of, _), comparison in compared.items() if of == statistic])
        ax.set_title(STATISTICS[statistic], fontsize=11)
    n_rows = min(len(graphs) for graphs in examples.values())
    columns = bottom.subplots(n_rows, len(examples), squeeze=False).T
    for (name, graphs), column in zip(examples.items(), columns, strict=True):
        column[0].set_title(name, fontsize=10, color=COLOURS[name])
        for ax, graph in zip(column, graphs, strict=False):
            _graph(ax, graph, COLOURS[name])
    return figure


def _bars(ax: "Axes", comparisons: Sequence[Comparison]) -> None:
    """Draw energy distances on a scale of square roots: these are the distances whose squares they are."""
    for place, comparison in enumerate(comparisons):
        roots = np.sqrt(np.maximum(comparison.distances, 0))
        height, spread = roots.mean(), roots.std()
        ax.bar(place, height, width=0.65, color=COLOURS[comparison.source])
        ax.errorbar(place, height, spread, color=INK, capsize=3, linewidth=1)
        threshold = np.sqrt(max(0.0, comparison.thresholds.mean()))
        ax.plot([place - 0.42, place + 0.42], [threshold, threshold], color=INK, linewidth=1.3, linestyle=(0, (2, 1)))
        if comparison.rejected.value > 0.5:
            ax.annotate("*", (place, height + spread), ha="center", va="bottom", fontsize=16, color=INK)
    names = [comparison.source for comparison in comparisons]
    ax.set_xticks(range(len(names)), [SHORT.get(name, name) for name in names], fontsize=7)
    ax.tick_params(axis="x", length=0)
    ax.margins(y=0.16)
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)


def _graph(ax: "Axes", graph: nx.Graph, colour: str) -> None:
    places = nx.kamada_kawai_layout(graph)
    ends = np.array([[places[u], places[v]] for u, v in graph.edges])
    points = np.array([places[node] for node in graph])
    ax.plot(*ends.transpose(2, 1, 0), color=colour, alpha=0.55, linewidth=0.8)
    ax.scatter(points[:, 0], points[:, 1], s=7, color=colour, zorder=2)
    ax.margins(0.08)
    ax.set_aspect("equal", adjustable="datalim")
    ax.axis("off")
