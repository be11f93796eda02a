"""Pictures: accuracy at every level, and how queries look."""

from typing import TYPE_CHECKING

import numpy as np

from anchorot import plot
from experiments.robustness.judging import Record
from experiments.robustness.retrieval import FORMS, Curve
from experiments.robustness.shapes import KINDS, LEVELS, SCALES, Mesh, query

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#6b7280"
COLUMNS = ("AE", "AW", "GW")
DASHED = (0, (4, 2))
COLOURS = dict(zip(FORMS, (plot.PALETTE[1], plot.PALETTE[0], plot.PALETTE[2], plot.PALETTE[4]), strict=True))


def draw_accuracy(record: Record, sizes: dict[str, int]) -> "Figure":
    """Draw accuracy against size: a row for each data set and kind of query, a column for each distance."""
    rows = [(data, kind) for data in sizes for kind in KINDS]
    figure = plot.new_figure(10, 2.5 * len(rows) + 0.6)
    panels = figure.subplots(len(rows), len(COLUMNS), sharex=True, sharey=True, squeeze=False)
    for axes, (data, kind) in zip(panels, rows, strict=True):
        for ax, distance in zip(axes, COLUMNS, strict=True):
            _draw_panel(ax, record, data, kind, distance)
            _finish(ax, 1 / sizes[data], f"{data}, {sizes[data]} shapes: {kind}")
        axes[0].set_ylabel("retrieval accuracy")
    for ax in panels[-1]:
        ax.set_xlabel("size of the query (and its level)")
        ax.set_xticks(range(len(LEVELS)), [f"{SCALES[level]:g}\n({level})" for level in LEVELS])
        ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.32), ncols=2)
    return figure


def draw_outliers(record: Record, sizes: dict[str, int], shares: tuple[float, ...]) -> "Figure":
    """Draw accuracy of AE in all forms against the share of outliers, a panel for each data set."""
    figure = plot.new_figure(9, 3.6)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for ax, (data, size) in zip(panels, sizes.items(), strict=True):
        for number, form in enumerate(FORMS):
            curve = Curve("AE", form)
            by_draw = [record.right(data, "outliers", share, curve).mean(axis=1) for share in shares]
            _draw_curve(ax, 100 * np.array(shares) + 0.08 * number, by_draw, curve)
        _finish(ax, 1 / size, f"{data}, {size} shapes")
        ax.set_xlabel("outliers among a query's points, %")
    panels[0].set_ylabel("retrieval accuracy")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


def _draw_panel(ax: "Axes", record: Record, data: str, kind: str, distance: str) -> None:
    for number, curve in enumerate(Curve(distance, form) for form in FORMS):
        by_level = {place: record.right(data, kind, level, curve) for place, level in enumerate(LEVELS)}
        tried = {place: right.mean(axis=1) for place, right in by_level.items() if len(right)}
        if tried:
            _draw_curve(ax, np.array(list(tried)) + 0.05 * (number - 1), list(tried.values()), curve)


def _draw_curve(ax: "Axes", places: np.ndarray, by_draw: list[np.ndarray], curve: Curve) -> None:
    """Draw means and deviations over draws."""
    ax.errorbar(
        places,
        [values.mean() for values in by_draw],
        [float(values.std(ddof=1)) if len(values) > 1 else 0.0 for values in by_draw],
        color=COLOURS[curve.form],
        linestyle=DASHED if curve.form == "plain" else "-",
        marker="o",
        markerfacecolor="white" if curve.form == "plain" else COLOURS[curve.form],
        markersize=4.5,
        linewidth=1.5,
        elinewidth=1,
        capsize=2,
        label=curve.name,
    )


def _finish(ax: "Axes", chance: float, title: str) -> None:
    ax.axhline(chance, color=GREY, linestyle=":", linewidth=1.2, label="chance")
    ax.set_ylim(-0.03, 1.06)
    ax.grid(color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, fontsize=10)


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
    plot.shape(mesh.space(mesh.draw(2, np.random.default_rng(0))), color="#a9bcd6", ax=ax)
    reach = 1.05 / factor  # a shape is drawn in its own size: this undoes it
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-0.85 * reach, 0.85 * reach)
    ax.set_title(title, fontsize=10)
