"""The picture of a claim: every number with its interval, and the margin."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anchorot import plot
from experiments.common.rules import RULES, Part, Side, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {Verdict.HOLDS: plot.PALETTE[2], Verdict.FAILS: plot.PALETTE[3], Verdict.OPEN: "#6b7280"}


def draw_parts(parts: Sequence[Part]) -> "Figure":
    """Draw a row for each part, coloured by its verdict, and the margin of the first one's rule as a line."""
    figure = plot.new_figure(8, 0.34 * len(parts) + 1.1)
    ax = figure.subplots()
    for row, part in enumerate(reversed(parts)):
        ends = [[part.found.value - part.found.low], [part.found.high - part.found.value]]
        ax.errorbar([part.found.value], [row], xerr=ends, fmt="o", color=COLOURS[part.verdict], capsize=3)
    rule = RULES[parts[0].rule]
    for margin in (-rule.margin, rule.margin) if rule.side is Side.WITHIN else (rule.margin,):
        ax.axvline(margin, color="#9ca3af", linewidth=1)
    ax.set_yticks(range(len(parts)), [part.what for part in reversed(parts)], fontsize=9)
    ax.set_xlabel(f"value and 95 % interval; to hold, it lies {rule}")
    ax.spines[["top", "right"]].set_visible(False)
    return figure
