"""`anchorot.plot` with a new figure for every plot; without `ax` two would be drawn over each other."""

import io
from types import SimpleNamespace

import pytest

import anchorot.plot

plt = pytest.importorskip("matplotlib.pyplot")


def _on_new_figure(function):
    def draw(*args, **options):
        if "ax" not in options:
            plt.close("all")
        return function(*args, **options)

    return draw


plot = SimpleNamespace(
    **{
        name: _on_new_figure(thing) if callable(thing := getattr(anchorot.plot, name)) else thing
        for name in anchorot.plot.__all__
    }
)


def drawn(ax):
    """Draw for real, so that what only drawing finds is found."""
    ax.figure.savefig(io.BytesIO(), format="png")
    return ax
