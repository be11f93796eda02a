"""Pictures of distances, with matplotlib: every function draws on an Axes and returns it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import MissingExtraError
from anchorot.mds import classical_mds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#3b6fb6", "#e07b39", "#4f9d69", "#b5484b", "#8167a9", "#c9a227", "#3f8f9b", "#8c6d53", "#d377a8", "#6b7280")


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure that needs no screen."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))


def distance_matrix(distances: Float64s, groups: Sequence[str], *, ax: "Axes") -> "Axes":
    """Draw an all-pairs matrix, with borders between the groups (equal neighbours in `groups`) and their names."""
    image = ax.imshow(distances, cmap="magma_r", vmin=0, interpolation="nearest")
    starts = [i for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]]
    ends = [*starts[1:], len(groups)]
    for cut in starts[1:]:
        ax.axhline(cut - 0.5, color="white", linewidth=1.2)
        ax.axvline(cut - 0.5, color="white", linewidth=1.2)
    middles = [(start + end - 1) / 2 for start, end in zip(starts, ends, strict=True)]
    names = [groups[start] for start in starts]
    ax.set_xticks(middles, names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(middles, names)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.figure.colorbar(image, ax=ax, shrink=0.85, pad=0.02).outline.set_visible(False)
    return ax


def distance_map(
    distances: Float64s, groups: Sequence[str], *, sizes: Sequence[float] | None = None, ax: "Axes"
) -> "Axes":
    """Draw one dot per space in the plane, by classical scaling of the distances; a colour for every group."""
    coordinates = classical_mds(np.asarray(distances) ** 2)
    names = list(dict.fromkeys(groups))
    area = 90 * np.asarray(sizes if sizes is not None else np.ones(len(groups)))
    for index, name in enumerate(names):
        members = [i for i, group in enumerate(groups) if group == name]
        colour = PALETTE[index % len(PALETTE)]
        x, y = coordinates[members].T
        ax.scatter(x, y, s=area[members], color=colour, edgecolor="white", linewidth=0.8, label=name)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.12)
    ax.grid(color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelsize=8, labelcolor="#6b7280")
    for spine in ax.spines.values():
        spine.set_color("#d1d5db")
    return ax
