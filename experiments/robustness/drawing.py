"""Pictures: accuracy at every level, and how queries look."""

from typing import TYPE_CHECKING

import numpy as np

from anchorot import plot

from experiments.robustness.retrieval import DISTANCES, Accuracy
from experiments.robustness.shapes import KINDS, SCALES, Mesh, query

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#6b7280"


def draw_accuracy(found: list[Accuracy], chance: dict[str, float], sizes: dict[str, int]) -> "Figure":
    """Draw accuracy against level: a row for each data set, a column for each kind of query."""
    figure = plot.new_figure(9, 3.1 * len(chance) + 0.6)
    panels = figure.subplots(len(chance), 2, sharex=True, sharey=True, squeeze=False)
    for row, data in zip(panels, chance, strict=True):
        for ax, kind in zip(row, KINDS, strict=True):
            _draw_panel(ax, [one for one in found if (one.data, one.kind) == (data, kind)], chance[data])
            ax.set_title(f"{data}, {sizes[data]} shapes: {kind}", fontsize=11)
    for ax in panels[-1]:
        ax.set_xlabel("level of the query (and its size)")
        ax.set_xticks(list(SCALES), [f"{level}\n(size {factor:g})" for level, factor in SCALES.items()])
    for ax in panels[:, 0]:
        ax.set_ylabel("retrieval accuracy")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=7,
        frameon=False,
        fontsize=9,
        columnspacing=1.4,
        handlelength=3,
    )
    return figure


def _draw_panel(ax: "Axes", found: list[Accuracy], chance: float) -> None:
    for number, distance in enumerate(DISTANCES):
        for robust in (False, True):
            chosen = [one for one in found if (one.distance, one.robust) == (distance, robust)]
            levels = sorted({one.level for one in chosen})
            values = [[one.value for one in chosen if one.level == level] for level in levels]
            ax.errorbar(
                np.array(levels) + 0.07 * (number - 1),  # side by side, where curves agree
                [np.mean(of_level) for of_level in values],
                [float(np.std(of_level, ddof=1)) if len(of_level) > 1 else 0.0 for of_level in values],
                color=plot.PALETTE[number],
                linestyle="-" if robust else (0, (4, 2)),
                marker="osD"[number],
                markerfacecolor=plot.PALETTE[number] if robust else "white",
                markersize=5,
                linewidth=1.6,
                elinewidth=1,
                capsize=2,
                label=f"robust {distance}" if robust else distance,
            )
    ax.axhline(chance, color=GREY, linestyle=":", linewidth=1.2, label="chance")
    ax.set_ylim(-0.03, 1.06)
    ax.grid(color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def draw_queries(meshes: dict[str, Mesh], rng: np.random.Generator) -> "Figure":
    """Draw shapes and their queries of levels 3 and 5, all in one scale."""
    figure = plot.new_figure(11, 2.6 * len(meshes))
    panels = figure.subplots(len(meshes), 5, squeeze=False)
    for row, (name, mesh) in zip(panels, meshes.items(), strict=True):
        _draw_mesh(row[0], mesh, 1.0, f"{name}: the database")
        for k, (level, kind) in enumerate([(level, kind) for level in (3, 5) for kind in KINDS]):
            factor = SCALES[level]
            title = f"level {level}: size {factor:g}" + (" and noise" if kind != "scale" else "")
            _draw_mesh(row[1 + k], query(mesh, level, kind, rng), factor, title)
    return figure


def _draw_mesh(ax: "Axes", mesh: Mesh, factor: float, title: str) -> None:
    plot.shape(mesh.space(2, np.random.default_rng(0)), color="#a9bcd6", ax=ax)
    reach = 1.05 / factor  # a shape is drawn in its own size: this undoes it
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-0.85 * reach, 0.85 * reach)
    ax.set_title(title, fontsize=10)
