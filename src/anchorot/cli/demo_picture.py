"""The figure of `anchorot demo`: a row for each question; the documentation shows single rows."""

from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot import plot
from anchorot._typing import Float64s
from anchorot.cli.demo import POSES, Demo
from anchorot.plot.style import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE: dict[str, Any] = {"fontsize": 12, "weight": "bold", "color": INK}
WIDTH = 12.0  # of the figure, in inches
TISSUE_COLOURS = {"immune": PALETTE[1], "tumour": PALETTE[0], "stroma": "#d1d5db"}


def draw_creatures(figure: Any, found: Demo) -> None:
    """Draw all creatures, and a map of them."""
    kinds = found.creatures.labels
    colours = dict(zip(dict.fromkeys(kinds), PALETTE, strict=False))
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.15))
    places = left.subplots(len(colours), POSES).ravel()
    for ax, creature, kind in zip(places, found.creatures, kinds, strict=True):
        plot.shape(creature, color=colours[kind], ax=ax)
    left.suptitle("How far apart? Four creatures in four poses", **TITLE, ha="left", x=0.03)
    chart = plot.distance_map(found.energies, kinds, ax=right.subplots())
    _title(chart, f"Nearest by Anchor Energy: the same creature for {found.n_same_kind} of {len(kinds)}")


def draw_dogs(figure: Any, found: Demo) -> None:
    """Draw both poses of the dog; the second has the colours of its matches."""
    first, second = found.dogs
    places = _places(first)
    colours = places[:, 0] + 0.5 * places[:, 2]
    left, right = figure.subplots(1, 2)
    plot.shape(first, colours, colorbar=False, ax=left)
    plot.shape(second, found.alignment.project(colours, onto="second"), colorbar=False, ax=right)
    _title(left, "Which point is which? One pose, coloured by position")
    _title(right, f"Colours transferred by the matches, {found.n_right} of {first.n} correct")


def draw_tissues(figure: Any, found: Demo) -> None:
    """Draw a tissue of each group, and the distances at which the groups differ."""
    *places, curve = figure.subplots(1, 3, width_ratios=(1, 1, 1.7))
    labels = found.tissues.labels
    for ax, number in zip(places, (0, labels.index(labels[-1])), strict=True):
        space = found.tissues[number]
        ax.scatter(*_places(space).T, c=[TISSUE_COLOURS[str(kind)] for kind in space.types or ()], s=22)
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.spines[:].set_color("#d1d5db")
        _title(ax, f"Do they differ? {labels[number]}" if number == 0 else str(labels[number]))
    plot.scale_curve(found.test, ax=curve)
    _title(curve, f"{labels.count(labels[0])} tissues of each kind: at which distances?")


# the rows, and their heights in inches
ROWS = ((draw_creatures, 4.0), (draw_dogs, 3.4), (draw_tissues, 3.4))


def draw_demo(found: Demo) -> "Figure":
    """Draw the three results below each other."""
    heights = [height for _, height in ROWS]
    figure = plot.new_figure(WIDTH, sum(heights))
    rows: Any = figure.subfigures(len(ROWS), 1, height_ratios=heights)
    for (draw, _), row in zip(ROWS, rows, strict=True):
        draw(row, found)
    return figure


def _places(space: Any) -> Float64s:
    positions: Float64s = space.geometry.positions
    return positions if space.geometry.index is None else positions[np.asarray(space.geometry.index)]


def _title(ax: "Axes", text: str) -> None:
    ax.set_title(text, loc="left", pad=8, **TITLE)
