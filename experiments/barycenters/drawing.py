"""The picture of digits and their barycenters."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from anchorot import plot
from experiments.barycenters.alignment import upright
from experiments.barycenters.digits import Digit
from experiments.barycenters.search import GEOMETRIES, Found

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {"ae": plot.PALETTE[0], "aw": plot.PALETTE[1]}
INK, GREY = "#374151", "#9aa1ab"
REACH = 13.0  # half the width of every drawing, in pixels of the images


def draw_barycenters(examples: Mapping[int, Sequence[Digit]], found: Sequence[Found]) -> "Figure":
    """Draw one row a digit: an example in the plane and in space, then the barycenters of all repetitions."""
    labels = list(examples)
    repetitions = 1 + max(one.repetition for one in found)
    columns = 2 + repetitions * len(GEOMETRIES)
    figure = plot.new_figure(1.45 * columns, 1.6 * len(labels) + 0.5)
    axes = figure.subplots(len(labels), columns, squeeze=False)
    for row, label in zip(axes, labels, strict=True):
        example = examples[label][0]
        _draw_points(row[0], example.flat, INK, size=5)
        _draw_points(row[1], _in_view(example.cloud), GREY, size=5)
        for one in found:
            if one.label == label:
                ax = row[2 + list(GEOMETRIES).index(one.geometry) * repetitions + one.repetition]
                _draw_points(ax, upright(one.points, [digit.flat for digit in examples[label]]), COLORS[one.geometry])
                right = one.looks_like == label
                text = f"nearest to {one.looks_like}s"
                ax.set_xlabel(
                    text, fontsize=8.5, color=INK if right else "#b5352f", weight="normal" if right else "bold"
                )
    _write_titles(axes[0], repetitions)
    return figure


def _write_titles(top: np.ndarray, repetitions: int) -> None:
    titles = {0: ("a digit", INK), 1: ("in space", GREY)}
    for place, (geometry, name) in enumerate(GEOMETRIES.items()):
        titles[2 + place * repetitions] = (f"{name} barycenter{'s' if repetitions > 1 else ''}", COLORS[geometry])
    for column, (text, color) in titles.items():
        top[column].set_title(text, fontsize=11, loc="left", weight="bold", color=color)


def _in_view(cloud: np.ndarray) -> np.ndarray:
    """Return a cloud in space as seen from one side."""
    centred = cloud - cloud.mean(axis=0)
    return centred[:, :2] + 0.35 * centred[:, 2:]


def _draw_points(ax: "Axes", points: np.ndarray, color: str, size: float = 7) -> None:
    """Draw points without a frame, all at one scale."""
    ax.scatter(points[:, 0], points[:, 1], s=size, color=color, linewidths=0)
    ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
