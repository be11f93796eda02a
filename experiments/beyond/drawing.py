"""Pictures: how well cells are aligned, aligned cells on one map, and neurons on another."""

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anchorot import plot
from experiments.beyond.cell_plans import METHODS
from experiments.beyond.cells import Alignment, Estimate, Pair
from experiments.beyond.neurons import Separation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY, FRAME = "#6b7280", "#d1d5db"
SCORES = (("foscttm", "FOSCTTM (less is better)"), ("transfer", "label transfer accuracy (more is better)"))
Choice = dict[str, dict[str, Alignment]]  # by data set and method


def draw_scores(pairs: list[Pair], usual: Choice) -> "Figure":
    """Draw both scores of every method as bars."""
    figure = plot.new_figure(11, 3.2 * len(pairs) + 0.2)
    panels = figure.subplots(len(pairs), 2, squeeze=False)
    for row, pair in zip(panels, pairs, strict=True):
        share = np.unique(pair.types, return_counts=True)[1].max() / len(pair.types)
        for ax, (score, label), chance in zip(row, SCORES, (0.5, share), strict=True):
            _draw_bars(ax, usual[pair.name], score)
            ax.axhline(chance, color=GREY, linestyle=":", linewidth=1.2, zorder=3)
            name = "chance" if score == "foscttm" else "largest type"
            ax.text(len(METHODS) + 0.3, chance, name, ha="right", va="bottom", fontsize=8.5, color=GREY)
            ax.set_xlim(-0.5, len(METHODS) + 0.3)  # room for the name of the line
            ax.set_xticks(range(len(METHODS)), [fill(method, 12) for method in METHODS], fontsize=9)
            ax.set_ylim(0, 0.62 if score == "foscttm" else 1.12)
            ax.set_title(f"{pair.name}: {label}", fontsize=10.5)
            ax.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_bars(ax: "Axes", chosen: dict[str, Alignment], score: str) -> None:
    for number, method in enumerate(METHODS):
        found: Estimate = getattr(chosen[method], score)
        top = found.mean + found.error
        ax.bar(number, found.mean, 0.6, color=plot.PALETTE[number])
        ax.errorbar(number, found.mean, found.error, color="#374151", linewidth=1, capsize=3)
        ax.annotate(
            f"{found.mean:.2f}", (number, top), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8.5
        )


def draw_alignments(pairs: list[Pair], chosen: Choice) -> "Figure":
    """Draw the second assay and, carried over to it, the first, on the plane of the second's most variance."""
    figure = plot.new_figure(15, 3.3 * len(pairs))
    panels = figure.subplots(len(pairs), 1 + len(METHODS), squeeze=False)
    for row, pair in zip(panels, pairs, strict=True):
        centre = pair.second.mean(axis=0)
        axes = np.linalg.svd(pair.second - centre, full_matrices=False)[2][:2].T
        reference = (pair.second - centre) @ axes
        _draw_cells(row[0], reference, pair.types, "o", legend=True)
        row[0].set_title(f"{pair.name}: {pair.assays[1]}", fontsize=10)
        for ax, method in zip(row[1:], METHODS, strict=True):
            found = chosen[pair.name][method]
            ax.scatter(reference[:, 0], reference[:, 1], s=9, color=FRAME, linewidth=0)
            _draw_cells(ax, (found.projected - centre) @ axes, pair.types, "^", legend=False)
            ax.set_title(f"{pair.assays[0]} by {method}\n{found.setting}", fontsize=9)
            ax.set_xlim(row[0].get_xlim())
            ax.set_ylim(row[0].get_ylim())
    return figure


def _draw_cells(ax: "Axes", places: NDArray[np.float64], types: NDArray[np.str_], marker: str, *, legend: bool) -> None:
    for number, kind in enumerate(dict.fromkeys(types)):
        chosen = places[types == kind]
        across, up = chosen.T
        ax.scatter(across, up, s=14, marker=marker, color=plot.PALETTE[number], alpha=0.7, linewidth=0, label=kind)
    if legend:
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=3,
            frameon=False,
            fontsize=8.5,
            handletextpad=0.1,
            columnspacing=0.8,
        )
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color(FRAME)


def draw_neurons(found: list[Separation], kinds: NDArray[np.str_]) -> "Figure":
    """Draw a map of all neurons for every distance."""
    figure = plot.new_figure(3.1 * len(found), 3.5)
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for ax, one in zip(panels, found, strict=True):
        plot.distance_map(one.matrix, list(kinds), squared=False, legend=False, ax=ax)
        _look_closer(ax)
        ax.set_title(f"{one.distance}: {np.mean(one.right):.0%} right", fontsize=11)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _look_closer(ax: "Axes") -> None:
    """Leave out of sight the one dot that is twice as far out as any other, if there is one."""
    places = np.concatenate([np.asarray(dots.get_offsets()) for dots in ax.collections])
    out = np.linalg.norm(places - np.median(places, axis=0), axis=1)
    farthest = int(np.argmax(out))
    if out[farthest] < 2 * np.sort(out)[-2]:
        return
    low, high = (bound(np.delete(places, farthest, axis=0), axis=0) for bound in (np.min, np.max))
    margin = 0.08 * (high - low).max()
    ax.set_aspect("auto")  # a thin cloud would be a line
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(low[1] - margin, high[1] + margin)
    ax.text(0.98, 0.97, "one far outside", transform=ax.transAxes, ha="right", va="top", fontsize=8.5, color=GREY)
