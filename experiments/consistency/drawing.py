"""Pictures of how the Anchor Energy of samples approaches that of populations."""

from typing import TYPE_CHECKING, Any

import numpy as np

from anchorot import plot
from experiments.consistency.theory import expected_energy, true_energy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_means(found: list[Any]) -> "Figure":
    """Draw means against n beside theory: of one space left, relative biases of two spaces right."""
    figure = plot.new_figure(11.5, 4.8)
    left, right = figure.subplots(1, 2)
    names = list(dict.fromkeys(one.name for one in found))
    for name, colour in zip(names, plot.PALETTE, strict=False):
        own = [one for one in found if one.name == name]
        if own[0].first == own[0].second:
            _draw_null(left, own, colour)
        else:
            _draw_bias(right, own, colour)
    left.set(xscale="log", yscale="log", xlabel="points of each sample, n", ylabel="mean AE of two samples")
    left.set_title("one space", loc="left")
    right.axhline(0, color="#9ca3af", linewidth=0.8)
    right.set(xscale="log", xlabel="points of each sample, n", ylabel="relative bias of AE")
    right.yaxis.set_major_formatter("{x:+.0%}")
    right.set_title("two spaces", loc="left")
    for ax in (left, right):
        _finish(ax, sorted({one.n for one in found}))
    return figure


def _draw_null(ax: "Axes", own: list[Any], colour: str) -> None:
    sizes = np.array([one.n for one in own])
    fine = np.unique(np.geomspace(sizes[0], sizes[-1], 12).astype(int))
    ax.plot(fine, [expected_energy(*own[0].names, int(n)) for n in fine], color=colour, linewidth=1.2)
    means = [one.plain.mean() for one in own]
    ax.errorbar(sizes, means, [2 * _error(one.plain) for one in own], color=colour, fmt="o", ms=4, label=own[0].name)


def _draw_bias(ax: "Axes", own: list[Any], colour: str) -> None:
    truth = true_energy(*own[0].names)
    for values, theory, style, fill in (
        ("plain", "expected", "-", colour),
        ("value", "expected_value", "--", "white"),
    ):
        shown = [one for one in own if getattr(one, values) is not None]
        sizes = [one.n for one in shown]
        draws = [getattr(one, values) for one in shown]
        ax.plot(sizes, [getattr(one, theory) / truth - 1 for one in shown], style, color=colour, linewidth=1.2)
        means = [each.mean() / truth - 1 for each in draws]
        errors = [2 * _error(each) / truth for each in draws]
        label = f"{own[0].name}{'' if values == 'plain' else ', estimate'}"
        ax.errorbar(sizes, means, errors, color=colour, fmt="o", ms=4, mfc=fill, label=label)


def draw_scatter(found: list[Any]) -> "Figure":
    """Draw standard deviations against n."""
    figure = plot.new_figure(6.4, 4.6)
    ax = figure.subplots()
    names = list(dict.fromkeys(one.name for one in found))
    sizes = np.array(sorted({one.n for one in found}))
    for name, colour in zip(names, plot.PALETTE, strict=False):
        own = [one for one in found if one.name == name]
        spread = np.array([one.plain.std(ddof=1) for one in own])
        error = spread / np.sqrt(2 * (len(own[0].plain) - 1))
        fill = colour if own[0].first == own[0].second else "white"
        ax.errorbar(sizes, spread, 2 * error, color=colour, marker="o", ms=4, mfc=fill, linewidth=1, label=name)
    top = 1.6 * max(one.plain.std(ddof=1) for one in found if one.n == sizes[0])
    for power, text in ((-0.5, "n$^{-1/2}$"), (-1.0, "n$^{-1}$")):
        line = top * (sizes / sizes[0]) ** power
        ax.plot(sizes, line, ":", color="#6b7280", linewidth=1.2)
        ax.annotate(text, (sizes[-1], line[-1]), fontsize=8, color="#6b7280")
    ax.set(xscale="log", yscale="log", xlabel="points of each sample, n", ylabel="standard deviation of AE")
    _finish(ax, list(sizes))
    return figure


def draw_floor(rows: list[dict[str, Any]]) -> "Figure":
    """Draw the noise of two draws of one shape beside what tells classes apart."""
    figure = plot.new_figure(6.4, 4.4)
    ax = figure.subplots()
    sizes = [row["n"] for row in rows]
    for key, error, marker, colour, label in (
        ("AE, two draws of one shape", "error", "o", plot.PALETTE[0], "two draws of one shape"),
        ("estimate", "error of the estimate", "s", plot.PALETTE[2], "the same, estimated: 0 is right"),
    ):
        values, errors = [row[key] for row in rows], [2 * row[error] for row in rows]
        ax.errorbar(sizes, values, errors, color=colour, marker=marker, label=label)
    between = [row["median AE, two classes"] for row in rows]
    ax.plot(sizes, between, "D--", color=plot.PALETTE[1], label="two classes, median")
    ax.axhline(0, color="#9ca3af", linewidth=0.8)
    ax.set(xscale="log", xlabel="points of each draw, n", ylabel="AE, in TOSCA's units")
    _finish(ax, sizes)
    return figure


def _error(values: Any) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _finish(ax: "Axes", sizes: list[int]) -> None:
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    ax.grid(color="#e5e7eb", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
