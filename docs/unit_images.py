"""Pictures of the designs on the page about units: what is permuted has a dark outline, colours are groups."""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from anchorot import plot

COLOURS = {"a": "#2f62ad", "b": "#e07b39"}
SIZE = (7.2, 1.05)  # inches
DOT, GAP, HEIGHT = 0.3, 0.25, 1.0  # widths of an image and of what is around units


class Box(NamedTuple):
    """A patient or a batch; its units are texts with the group of each image."""

    units: tuple[str, ...]
    label: str = ""


def patients(*units: tuple[str, ...]) -> tuple[Box, ...]:
    """Boxes with numbers."""
    return tuple(Box(own, f"patient {k}") for k, own in enumerate(units, 1))


DESIGNS = {
    "independent": tuple(Box((group,)) for group in "aaaaabbbbb"),
    "patients": patients(("aaaa",), ("aa",), ("aaa",), ("bb",), ("bbbb",), ("b",)),
    "strata": (Box(tuple("aaaaab"), "batch 1"), Box(tuple("abbbbb"), "batch 2")),
    "pairs": patients(*[("a", "b")] * 6),
    "visits": patients(("aaa", "bb"), ("aa", "bbb"), ("aaa", "bbb")),
    "slides": patients(*[("aa", "aaa", "bb", "bb")] * 2),
}


def unit_picture(name: str) -> Figure:
    """Draw a design."""
    figure = plot.new_figure(*SIZE)
    ax = figure.subplots()
    right = 0.0
    for box in DESIGNS[name]:
        right = _draw_box(ax, box, right) + GAP
    ax.set(xlim=(-0.1, right - GAP + 0.1), ylim=(-0.45, HEIGHT + 0.1), aspect="equal")
    ax.axis("off")
    return figure


def _draw_box(ax: Axes, box: Box, left: float) -> float:
    """Draw a patient with its units; return where it ends."""
    at = left + GAP * bool(box.label)
    for unit in box.units:
        width = DOT * (len(unit) + 1)
        ax.add_patch(_rectangle(at, 0.25, width, 0.5, "#111827", 1.8, "white", order=2))
        for k, group in enumerate(unit):
            ax.plot(at + DOT * (k + 1), 0.5, "o", color=COLOURS[group], markersize=7, zorder=3)
        at += width + GAP
    right = at - GAP * (not box.label)
    if box.label:
        ax.add_patch(_rectangle(left, 0.0, right - left, HEIGHT, "#d1d5db", 0.8, "#f3f4f6", order=1))
        ax.text((left + right) / 2, -0.1, box.label, ha="center", va="top", fontsize=8, color="#4b5563")
    return right


def _rectangle(
    x: float, y: float, width: float, height: float, edge: str, line: float, face: str, order: int
) -> FancyBboxPatch:
    style = "round,pad=0,rounding_size=0.12"
    return FancyBboxPatch((x, y), width, height, style, edgecolor=edge, linewidth=line, facecolor=face, zorder=order)
