"""Plots of large maps: error curves, matched categories, two embeddings in one plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._layout import category_table, common_plane
from anchorot._typing import Float64s, Int64s
from anchorot._validate import as_array, check_choice, shown
from anchorot.align.correspondence import Correspondence
from anchorot.align.embeddings.result import EmbeddingAlignment
from anchorot.align.plans import encode_labels
from anchorot.align.scores import AlignmentScores, check_label_pair, check_labelled
from anchorot.exceptions import InputError
from anchorot.plot.distances import write_labels
from anchorot.plot.matches import draw_lines, some_points
from anchorot.plot.style import (
    BLUE,
    INK,
    PALE,
    PALETTE,
    RED,
    draw_blocks,
    given_or_current,
    hide_frame,
    legible,
    literal,
    quiet_frame,
    sharpness,
    slim_colorbar,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ERROR_SHOWN = 25.0  # hundredths of a root of area or of a diameter; larger errors are not shown
MAX_CELLS = 400  # per side of the image
HEIGHT_PER_CATEGORY, MAX_HEIGHT = 0.19, 14.0  # inches
SHARE_OF_MATRIX = 0.72  # of the length of a side; names take the rest
UNITS = {
    "root area": ("root_area", "geodesic error x 100 / root of area"),
    "diameter": ("diameter", "error x 100 / diameter"),
    "cost": (None, "error, in units of the costs"),
}


def error_curve(
    scores: AlignmentScores | Mapping[str, AlignmentScores],
    *,
    unit: str | None = None,
    up_to_symmetry: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of points whose error is at most x, one curve for each map; the legend has mean errors.

    Parameters
    ----------
    scores : AlignmentScores, or mapping of names to them
        As from :func:`~anchorot.alignment_scores`, with `truth` and `cost`.
    unit : {"root area", "diameter", "cost"}, optional
        Unit of errors: hundredths of the root of the second mesh's area, as in papers on surfaces (the default if all
        maps are into meshes); hundredths of the diameter; or none.
    up_to_symmetry : bool
        Draw `errors_up_to_symmetry`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> scores = ao.alignment_scores([1, 0, 2], truth=[1, 0, 0], cost=[[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> ax = ao.plot.error_curve({"mine": scores})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['mine: mean 33.3']
    """
    named: Any = {"": scores} if isinstance(scores, AlignmentScores) else scores
    if not isinstance(named, Mapping) or not all(isinstance(one, AlignmentScores) for one in named.values()):
        raise InputError(
            f"scores must be those of alignment_scores, or a mapping of names to them, but got {shown(scores)}"
        )
    if not named:
        raise InputError("scores is empty, but at least one map's scores are needed")
    has_areas = all(one.root_area is not None for one in named.values())
    unit = unit or ("root area" if has_areas else "diameter")
    check_choice(unit, "unit", tuple(UNITS))
    curves = {name: np.sort(_errors(one, name, unit, up_to_symmetry)) for name, one in named.items()}
    ax = given_or_current(ax, 5.6, 4)
    most = max(float(errors[-1]) for errors in curves.values()) or 1.0
    right = most if unit == "cost" else min(most, MAX_ERROR_SHOWN)
    for number, (name, errors) in enumerate(curves.items()):
        levels = np.arange(len(errors) + 1) / len(errors)
        label = f"{legible(name)}: mean {errors.mean():.3g}".removeprefix(": ")
        places, heights = np.concatenate([[0.0], errors, [max(right, most)]]), np.append(levels, 1.0)
        style = "-" if number < len(PALETTE) else "--"
        colour = PALETTE[number % len(PALETTE)]
        ax.step(places, heights, where="post", color=colour, lw=1.8, ls=style, label=label)
    ax.set_xlim(0, right)
    ax.set_ylim(0, 1.01)
    ax.legend(loc="lower right", frameon=False, fontsize=9)
    xlabel = UNITS[unit][1] + (", up to symmetry" if up_to_symmetry else "")
    quiet_frame(ax, xlabel, "share of points", has_grid=True)
    return ax


def _errors(scores: AlignmentScores, name: str, unit: str, up_to_symmetry: bool) -> Float64s:
    """Errors of the points that have a true match, in hundredths of a unit, or unscaled."""
    called = f"the scores of {name!r}" if name else "scores"
    errors = scores.errors_up_to_symmetry if up_to_symmetry else scores.errors
    if errors is None:
        wanted = "truth, cost and symmetry" if up_to_symmetry else "truth and cost"
        raise InputError(f"{called} have no errors; pass {wanted} to alignment_scores")
    field = UNITS[unit][0]
    size = 100.0 if field is None else getattr(scores, field)
    if size is None:
        raise InputError(f"{called} have no {unit}; pass a mesh as cost to alignment_scores")
    return errors[np.isfinite(errors)] * (100.0 / (size or 1.0))


def matching(
    found: Correspondence | ArrayLike,
    labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    *,
    counts: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw which categories are matched: rows of the first side, columns of the second, darker is more.

    Confused categories are adjacent. If both sides have the same categories, they are in the same order, with correct
    matches on the diagonal; else columns are sorted by the row that they match best. Without labels, points are drawn
    in their order, more than 400 in blocks.

    Parameters
    ----------
    found : Correspondence or array_like of int, shape (n,)
        An alignment of any kind, or matches, -1 for none.
    labels : (sequence of length n, sequence of length m), optional
        The category of every point of both sides, as :func:`~anchorot.alignment_scores` takes them.
    counts : bool
        Show numbers of points instead of shares of the row's category.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import anchorot as ao
    >>> ax = ao.plot.matching([1, 2, 0], (["cat", "cat", "dog"], ["dog", "cat", "dog"]))
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.images[0].get_array().tolist()
    (['cat', 'dog'], [[0.5, 0.5], [0.0, 1.0]])
    """
    matches = _matches(found)
    m = found.shape[1] if isinstance(found, Correspondence) else None
    if labels is None:
        return _points_matched(matches, m, ax)
    first, second = check_label_pair(labels, len(matches), m)
    check_labelled(matches, second)
    found_table = category_table(matches, first, second)
    table = found_table.counts if counts else found_table.shares
    height = float(np.clip(HEIGHT_PER_CATEGORY * max(table.shape), 5.2, MAX_HEIGHT))
    ax = given_or_current(ax, height + 1, height)
    most = None if counts else 1.0
    image = ax.imshow(table, cmap="magma_r", vmin=0, vmax=most, interpolation=sharpness(ax, max(table.shape)))
    if max(table.shape) > 3 * min(table.shape):
        ax.set_aspect("auto")
    hide_frame(ax)
    for axis, side in zip("yx", (found_table.rows, found_table.columns), strict=True):
        places = np.arange(len(side), dtype=np.float64)
        write_labels(ax, axis, (places, [literal(name) for name in side]), round(len(side) / SHARE_OF_MATRIX))
    ax.set_ylabel("category of a point", fontsize=9, color=INK)
    ax.set_xlabel("category of its match", fontsize=9, color=INK)
    slim_colorbar(ax, image, "points" if counts else "share of the points of a category")
    return ax


def embedding_pair(
    found: EmbeddingAlignment,
    X: ArrayLike,  # noqa: N803
    Y: ArrayLike,  # noqa: N803
    labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    *,
    lines: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw two aligned embeddings in one plane: the first after the map, the second unchanged.

    The plane is spanned by the first two principal components of both together. Points of the first side are dots,
    those of the second rings.

    Parameters
    ----------
    found : EmbeddingAlignment
        As from :func:`~anchorot.align_embeddings`.
    X, Y : array_like of shape (n, d) and (m, e)
        The aligned embeddings.
    labels : (sequence of length n, sequence of length m), optional
        The category of every point of both sides: the ten largest have their own colours. Without labels each side has
        one colour.
    lines : bool
        Join matched points by lines; some of more than 500.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current one by default.

    Examples
    --------
    >>> import numpy as np
    >>> import anchorot as ao
    >>> points = np.random.default_rng(0).normal(size=(40, 3)) * (3, 2, 1)
    >>> found = ao.align_embeddings(points, points[::-1, ::-1], metric="euclidean", rng=0)
    >>> ax = ao.plot.embedding_pair(found, points, points[::-1, ::-1])
    """
    if not isinstance(found, EmbeddingAlignment):
        raise InputError(f"expected the result of align_embeddings, but got a {type(found).__name__}")
    placed = common_plane(found, X, Y)
    colours = ([RED] * len(placed.first), [BLUE] * len(placed.second))
    legend = {"first": (RED, "o"), "second": (BLUE, "o")}
    if labels is not None:
        colours, largest = _category_colours(*check_label_pair(labels, *found.shape))
        legend = {"first": (INK, "o"), "second": (INK, "ring"), **{name: (colour, "o") for name, colour in largest}}
    ax = given_or_current(ax, 6.8, 5.2)
    if lines:
        matched = some_points(found.shape[0])
        draw_lines(ax, placed.first, placed.second[found.matches], matched[found.matches[matched] >= 0])
    area = float(np.clip(9000 / sum(found.shape), 4, 40))
    (x, y), (u, v) = placed.first.T, placed.second.T
    ax.scatter(u, v, s=area, facecolors="none", edgecolors=colours[1], linewidths=0.9, zorder=2)
    ax.scatter(x, y, s=area, c=colours[0], linewidths=0, zorder=3)
    for name, (colour, mark) in legend.items():
        face = "none" if mark == "ring" else colour
        ax.scatter([], [], s=36, facecolors=face, edgecolors=colour, linewidths=0.9, label=name)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=9, handletextpad=0.2)
    ax.set_aspect("equal", adjustable="datalim")
    titles = zip(("first", "second"), placed.shares, strict=True)
    xlabel, ylabel = (f"{which} principal axis, {share:.0%} of the variance" for which, share in titles)
    quiet_frame(ax, xlabel, ylabel, has_grid=True)
    return ax


def _category_colours(
    first: Sequence[Any], second: Sequence[Any]
) -> tuple[tuple[list[str], list[str]], list[tuple[str, str]]]:
    """A colour for every point of both sides, and those of the largest categories by name."""
    texts = [str(label) for label in [*first, *second]]
    kinds, codes = encode_labels(texts, len(texts))
    order = np.argsort(-np.bincount(codes), kind="stable")[: len(PALETTE)]
    colour_of = {str(kinds[code]): PALETTE[place] for place, code in enumerate(order)}
    colours = [colour_of.get(text, PALE) for text in texts]
    named = [(literal(name), colour) for name, colour in colour_of.items()]
    others = [("others", PALE)] if len(kinds) > len(order) else []
    return (colours[: len(first)], colours[len(first) :]), named + others


def _matches(found: Correspondence | ArrayLike) -> Int64s:
    matches = found.matches if isinstance(found, Correspondence) else as_array(found, "the alignment")
    if matches.ndim != 1 or matches.dtype.kind not in "iu" or not len(matches) or matches.min() < -1:
        raise InputError(
            f"got an array of shape {matches.shape} and dtype {matches.dtype}, but an alignment or the match of every "
            "point is needed, -1 for none"
        )
    if matches.max() > np.iinfo(np.int64).max:
        raise InputError(f"got a match of {matches.max()}, but no space has as many points")
    return matches.astype(np.int64)


def _points_matched(matches: Int64s, m: int | None, ax: Axes | None) -> Axes:
    """Draw points by number, in blocks if there are many."""
    n, m = len(matches), max(1, int(matches.max()) + 1) if m is None else m
    ax = given_or_current(ax, 5.6, 5)
    cells = min(n, MAX_CELLS), min(m, MAX_CELLS)
    matched = np.flatnonzero(matches >= 0)
    blocks, _, _ = np.histogram2d(matched, matches[matched], bins=cells, range=((-0.5, n - 0.5), (-0.5, m - 0.5)))
    image = draw_blocks(ax, blocks, (n, m), "match in the second space", "point of the first space")
    if max(cells) < max(n, m):
        slim_colorbar(ax, image, "points in a block")
    return ax
