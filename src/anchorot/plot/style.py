"""Shared by all plots: colours, the Axes to draw on, light frames."""

from typing import TYPE_CHECKING, Any

from anchorot.exceptions import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from anchorot._typing import Float64s

PALETTE = ("#3b6fb6", "#e07b39", "#4f9d69", "#b5484b", "#8167a9", "#c9a227", "#3f8f9b", "#8c6d53", "#d377a8", "#6b7280")
RED, BLUE = "#b5352f", "#2f62ad"  # the paper's two sides
INK, QUIET, FRAME, GRID, PALE = "#374151", "#6b7280", "#d1d5db", "#e5e7eb", "#d7dbe0"


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure that pyplot does not manage; it needs no display, as in servers, threads and batch jobs.

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
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return {"figsize": (width, height), "layout": ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)}


def given_or_current(ax: "Axes | None", width: float, height: float) -> "Axes":
    """Return the given Axes, or pyplot's current one; if pyplot has no figure, create one of this size."""
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
    """Remove the frame and the tick marks."""
    ax.tick_params(length=0, which="both")
    ax.spines[:].set_visible(False)


def hide_axes(ax: "Axes") -> None:
    """Remove the axes, and use the same scale in both directions."""
    hide_frame(ax)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal", adjustable="datalim")


def sharpness(ax: "Axes", cells: int) -> str:
    """Interpolation of an image: sharp cells, or averages if a pixel covers several cells."""
    box = ax.get_window_extent()
    return "nearest" if cells <= min(box.width, box.height) else "auto"


def quiet_frame(ax: "Axes", xlabel: str = "", ylabel: str = "", *, has_grid: bool = False) -> None:
    """Label the axes, and draw the frame and tick labels, and perhaps a grid, in light colours."""
    ax.set_xlabel(xlabel, fontsize=9, color=INK)
    ax.set_ylabel(ylabel, fontsize=9, color=INK)
    ax.tick_params(length=0, labelsize=8, labelcolor=QUIET)
    ax.spines[:].set_color(FRAME)
    if has_grid:
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)


def draw_blocks(ax: "Axes", blocks: "Float64s", shape: tuple[int, int], xlabel: str, ylabel: str) -> "AxesImage":
    """Draw a matrix of this shape that was summed in blocks, darker for more."""
    n, m = shape
    extent = (-0.5, m - 0.5, n - 0.5, -0.5)
    image = ax.imshow(blocks, cmap="magma_r", vmin=0, extent=extent, interpolation=sharpness(ax, max(blocks.shape)))
    quiet_frame(ax, xlabel, ylabel)
    ax.locator_params(integer=True)
    if max(n, m) > 3 * min(n, m):
        ax.set_aspect("auto")
    return image


def slim_colorbar(ax: "Axes", mappable: "ScalarMappable", label: str = "", *, gap: float = 0.03) -> "Colorbar":
    """Add a narrow colour bar beside the Axes."""
    if ax.get_aspect() == "auto" or ax.figure.get_layout_engine() is None:
        bar = ax.figure.colorbar(mappable, ax=ax, shrink=0.85, pad=gap, aspect=30)
    else:  # an image of fixed aspect is smaller than the Axes: put the bar beside the image
        bar = ax.figure.colorbar(mappable, cax=ax.inset_axes((1 + gap, 0, 0.03, 1)))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=QUIET)
    bar.set_label(label, fontsize=9, color=INK)
    return bar


def legible(name: object) -> str:
    """Return a name without lone surrogates, which file names may contain and fonts refuse."""
    return str(name).encode("utf-8", "backslashreplace").decode()


def literal(name: str) -> str:
    """Return a name escaped so that matplotlib does not parse formulas in it."""
    return legible(name).replace("$", r"\$")
