"""Plots of all-pairs distances: the matrix, and a map in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._layout import classical_mds
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_finite, check_square, point_values
from anchorot.exceptions import InputError
from anchorot.plot.style import (
    INK,
    PALETTE,
    QUIET,
    given_or_current,
    hide_frame,
    legible,
    quiet_frame,
    sharpness,
    slim_colorbar,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vP"
MAX_TYPE_SIZE, MIN_TYPE_SIZE = 10.0, 5.0  # font size of a label, in points
BORDER = 0.03  # largest width of borders, as a share of the groups' mean width


def distance_matrix(
    distances: ArrayLike,
    groups: Sequence[object] | None = None,
    *,
    names: Sequence[object] | None = None,
    label: str = "value",
    ax: Axes | None = None,
) -> Axes:
    """Draw an all-pairs matrix, ordered by group, with borders between groups.

    Parameters
    ----------
    distances : array_like of shape (N, N)
        Anchor Energies, their roots, or any other non-negative numbers.
    groups : sequence of N, optional
        The group of each space. Groups are drawn in order of first appearance, and spaces of a group in their order;
        without groups all spaces keep their order.
    names : sequence of N, optional
        The name of each space, left of the matrix; names that do not fit are omitted.
    label : str
        Label of the colour bar, with units.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> ax = ao.plot.distance_matrix([[0, 1, 4], [1, 0, 4], [4, 4, 0]], ["cat", "cat", "dog"])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['cat', 'dog']
    """
    square, groups, names = _checked(distances, groups, names)
    count = len(square)
    order, starts = _blocks([0] * count if groups is None else groups)
    ax = given_or_current(ax, 6.2, 5.2)
    image = ax.imshow(square[np.ix_(order, order)], cmap="magma_r", vmin=0, interpolation=sharpness(ax, count))
    hide_frame(ax)
    ends = np.append(starts[1:], count)
    width = min(1.2 if len(starts) < 30 else 0.5, BORDER * _cell_size(ax, "x", count) * float(np.mean(ends - starts)))
    for cut in starts[1:]:
        ax.axhline(cut - 0.5, color="white", linewidth=width)
        ax.axvline(cut - 0.5, color="white", linewidth=width)
    of_groups = None if groups is None else ((starts + ends - 1) / 2, [str(groups[order[i]]) for i in starts])
    of_spaces = None if names is None else (np.arange(count, dtype=np.float64), [str(names[i]) for i in order])
    write_labels(ax, "x", of_groups or of_spaces, count)
    write_labels(ax, "y", of_spaces or of_groups, count)
    slim_colorbar(ax, image, label)
    return ax


def distance_map(
    distances: ArrayLike,
    groups: Sequence[object] | None = None,
    *,
    squared: bool = True,
    names: Sequence[object] | None = None,
    sizes: Sequence[float] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one dot per space in the plane, by classical multidimensional scaling of their distances.

    Parameters
    ----------
    distances : array_like of shape (N, N)
        Anchor Energies, as :func:`~anchorot.pairwise` returns them. For distances, such as *roots* of Anchor Energies,
        use ``squared=False``.
    groups : sequence of N, optional
        The group of each space: each has its own colour (from the eleventh on, another marker).
    squared : bool
        Whether `distances` are squared distances, as Anchor Energy (p = 1, 2) is. Anchor Wasserstein and
        Gromov-Wasserstein are the p-th powers of distances.
    names : sequence of N, optional
        Written beside the dots.
    sizes : sequence of N float, optional
        Relative areas of the dots.
    legend : bool
        Add a legend with the groups' names beside the Axes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> energies = [[0, 1, 4], [1, 0, 4], [4, 4, 0]]
    >>> ax = ao.plot.distance_map(energies, ["cat", "cat", "dog"])
    """
    square, groups, names = _checked(distances, groups, names)
    count = len(square)
    areas = np.ones(count) if sizes is None else np.asarray(_one_each(sizes, "sizes", count))
    ax = given_or_current(ax, 6.4, 5.2)
    coordinates = classical_mds(square if squared else square**2)
    area = (90 if count < 60 else 36) * areas
    of_group = ["" for _ in range(count)] if groups is None else [str(group) for group in groups]
    for index, name in enumerate(dict.fromkeys(of_group)):
        members = [i for i in range(count) if of_group[i] == name]
        colour, marker = PALETTE[index % len(PALETTE)], MARKERS[index // len(PALETTE) % len(MARKERS)]
        x, y = coordinates[members].T
        style = {"edgecolor": "white", "linewidth": 0.8, "marker": marker}
        ax.scatter(x, y, s=area[members], color=colour, label=legible(name), **style)  # type: ignore[arg-type]
    if names is not None:
        for name_of, place in zip(names, coordinates, strict=True):
            shift = {"xytext": (6, 3), "textcoords": "offset points"}
            ax.annotate(legible(name_of), place, fontsize=7.5, color=INK, **shift)  # type: ignore[arg-type]
    if legend and groups is not None:
        shown = ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=9, handletextpad=0.2)
        for handle in shown.legend_handles:
            handle.set_sizes([60])  # type: ignore[union-attr]
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.12)
    quiet_frame(ax, "first coordinate (distance)", "second coordinate (distance)", has_grid=True)
    return ax


def _checked(
    distances: ArrayLike, groups: Sequence[object] | None, names: Sequence[object] | None
) -> tuple[Float64s, list[Any] | None, list[Any] | None]:
    array = check_square(distances, "distances").astype(np.float64, copy=False)
    if array.size == 0:
        raise InputError(f"distances has shape {array.shape}, but at least one space is needed")
    check_finite(array, "distances")
    return array, _one_each(groups, "groups", len(array)), _one_each(names, "names", len(array))


def _one_each(values: Sequence[object] | None, name: str, count: int) -> list[Any] | None:
    """Return one value per space as a list, or None."""
    if values is None:
        return None
    listed = point_values(values, name)
    if len(listed) != count:
        raise InputError(f"{name} has {len(listed)} entries, but there are {count} spaces")
    return listed


def _blocks(groups: list[object]) -> tuple[Int64s, Int64s]:
    """Order of all spaces by group, in order of first appearance, and the start of each group."""
    first = {group: place for place, group in reversed(list(enumerate(groups)))}
    rank = np.array([first[group] for group in groups])
    order = np.argsort(rank, kind="stable")
    return order, np.flatnonzero(np.diff(rank[order], prepend=-1))


def _cell_size(ax: Axes, axis: str, count: int) -> float:
    """Size of one of `count` equal cells along an axis, in points."""
    box = ax.get_window_extent()
    return (box.width if axis == "x" else box.height) * 72 / ax.figure.dpi / count


def write_labels(ax: Axes, axis: str, labels: tuple[Float64s, list[str]] | None, count: int) -> None:
    """Write names at their positions along an axis, as large as they fit; omit those that would be too small."""
    if labels is None:
        ax.tick_params(labelsize=8, labelcolor=QUIET)
        ax.set(**{f"{axis}label": "space"})
        return
    cell = _cell_size(ax, axis, count)
    places: list[float] = []
    names: list[str] = []
    for place, name in zip(*labels, strict=True):
        if not places or (place - places[-1]) * cell >= MIN_TYPE_SIZE:
            places.append(float(place))
            names.append(legible(name))
    space = cell * float(min(np.diff(places), default=count))
    size = float(np.clip(space, MIN_TYPE_SIZE, MAX_TYPE_SIZE))
    if axis == "y":
        ax.set_yticks(places, names, fontsize=size)
    elif space > MAX_TYPE_SIZE:
        ax.set_xticks(places, names, fontsize=size, rotation=40, ha="right", rotation_mode="anchor")
    else:
        ax.set_xticks(places, names, fontsize=size, rotation=90)
