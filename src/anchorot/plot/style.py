"""What all pictures share: colours, the Axes to draw on, quiet frames."""

from typing import TYPE_CHECKING, Any

from anchorot.exceptions import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

PALETTE = ("#3b6fb6", "#e07b39", "#4f9d69", "#b5484b", "#8167a9", "#c9a227", "#3f8f9b", "#8c6d53", "#d377a8", "#6b7280")
RED, BLUE = "#b5352f", "#2f62ad"  # the paper's two sides
INK, QUIET, FRAME, GRID, NOTHING = "#374151", "#6b7280", "#d1d5db", "#e5e7eb", "#d7dbe0"


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure that pyplot does not know: for servers, threads and batch jobs, it needs no screen.

    Examples
    --------
    >>> import anchorot as ao
    >>> left, right = ao.plot.new_figure(8, 4).subplots(1, 2)
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return Figure(**_page(width, height))


def _page(width: float, height: float) -> dict[str, Any]:
    """Size and layout of a figure of ours."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return {"figsize": (width, height), "layout": ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)}


def given_or_current(ax: "Axes | None", width: float, height: float) -> "Axes":
    """Return the Axes given, or pyplot's current one; if pyplot has no figure, it gets one of this size."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    if not plt.get_fignums():
        plt.figure(**_page(width, height))
    return plt.gca()


def hide_frame(ax: "Axes") -> None:
    """Leave no frame and no tick marks."""
    ax.tick_params(length=0, which="both")
    ax.spines[:].set_visible(False)


def hide_axes(ax: "Axes") -> None:
    """Leave nothing but the drawing, at one scale in both directions."""
    hide_frame(ax)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal", adjustable="datalim")


def sharpness(ax: "Axes", cells: int) -> str:
    """How to draw an image: cells as sharp squares or, where a pixel must hold several, so that none is lost."""
    box = ax.get_window_extent()
    return "nearest" if cells <= min(box.width, box.height) else "auto"


def quiet_frame(ax: "Axes") -> None:
    """Let frame and numbers step back."""
    ax.tick_params(length=0, labelsize=8, labelcolor=QUIET)
    ax.spines[:].set_color(FRAME)


def slim_colorbar(ax: "Axes", mappable: "ScalarMappable", label: str = "", *, gap: float = 0.03) -> "Colorbar":
    """Put a scale of colours beside the Axes."""
    if ax.get_aspect() == "auto" or ax.figure.get_layout_engine() is None:
        bar = ax.figure.colorbar(mappable, ax=ax, shrink=0.85, pad=gap, aspect=30)
    else:  # an image of fixed aspect is smaller than its place: the scale is put beside the image, and room is made
        bar = ax.figure.colorbar(mappable, cax=ax.inset_axes((1 + gap, 0, 0.03, 1)))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=QUIET)
    bar.set_label(label, fontsize=9, color=INK)
    return bar


def legible(name: object) -> str:
    """Return a name without lone surrogates, as names of files may have them: fonts refuse those."""
    return str(name).encode("utf-8", "backslashreplace").decode()


def literal(name: str) -> str:
    """Return a name in which matplotlib finds no formula of its own."""
    return legible(name).replace("$", r"\$")
