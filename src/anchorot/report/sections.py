"""Sections around the drawings: a verdict, the candidates, categories, and the most and least certain matches."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from anchorot._layout import CategoryTable, Drawable, category_table
from anchorot._typing import Float64s, Int64s
from anchorot.align.correspondence import Correspondence, cell
from anchorot.align.graphs.result import GraphAlignment
from anchorot.align.scores import check_label_pair
from anchorot.report.payload import pack, place_colours

N_LISTED = 10  # matches in each table


TITLES = {  # tooltips of the columns of the table of candidates
    "name": "its start; the first row was chosen",
    "objective": "smaller is better",
    "n_iter": "steps of the solver",
    "converged": "whether the solver stopped because nothing moved",
    "orientation": "from -1 to 1; negative for a mirrored map",
    "distortion": "mean difference of geodesic distances, in roots of the area",
    "curvature": "correlation, from -1 to 1, of curvature at vertices and at their matches",
    "turns": "correlation, from -1 to 1, of features with opposite signs on left and right",
    "rigidity": "mean deviation of neighbourhoods from rigid motion",
    "differs": "share of points matched differently from the chosen one",
    "seconds": "time to compute it",
}


def verdict(found: object) -> str:
    """A paragraph about the reliability of an alignment as a whole."""
    text, is_warning = found.verdict() if isinstance(found, Correspondence) else ("", False)
    if not text:
        return ""
    kind, mark = ("verdict warning", "<strong>Warning:</strong> ") if is_warning else ("verdict", "")
    return f'<p class="{kind}">{mark}{html.escape(text)}</p>'


def candidates(found: object) -> str:
    """The table of the alignments that were compared."""
    if not isinstance(found, Correspondence):
        return ""
    table = [one.numbers() for one in found.candidates]
    heads = "".join(
        f'<th scope="col"><abbr title="{TITLES.get(name, "")}">{name.replace("_", " ")}</abbr></th>'
        for name in table[0]
    )
    rows = "".join(_candidate(one, is_kept=place == 0) for place, one in enumerate(table))
    content = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return _section("Candidates", f'<div class="wide">{content}</div>', "candidates")


def _candidate(numbers: dict[str, Any], is_kept: bool) -> str:
    row = "".join(f"<td>{html.escape(cell(name, value))}</td>" for name, value in numbers.items())
    return f'<tr class="kept">{row}</tr>' if is_kept else f"<tr>{row}</tr>"


def _section(title: str, content: str, name: str) -> str:
    return f'<section class="below" id="{name}"><h2>{title}</h2>{content}</section>'


def confidences(found: object) -> tuple[Float64s, Float64s] | None:
    """Confidence of the first side's points, and for the second side's points the mean of those matched with them.

    NaN for unmatched points; None if confidence is not known.
    """
    if not isinstance(found, Correspondence):
        return None
    chances = found.confidence
    matches = found.matches
    kept = np.flatnonzero(matches >= 0)
    counts, sums = (np.bincount(matches[kept], weights, found.shape[1]) for weights in (None, chances[kept]))
    with np.errstate(invalid="ignore"):
        return np.where(matches >= 0, chances, np.nan), sums / counts


def spread_over(chances: Float64s, places: Float64s) -> Float64s:
    """Fill places without a match, of which a map leaves many, with the value of the nearest matched place."""
    known = np.isfinite(chances)
    if known.all() or not known.any():
        return chances
    filled = chances.copy()
    filled[~known] = chances[known][cKDTree(places[known]).query(places[~known])[1]]
    return filled


def surest_matches(found: object, sides: tuple[Drawable, Drawable]) -> str:
    """Tables of the most and the least certain matches, with clickable points; empty for maps of surfaces."""
    known = confidences(found)
    if known is None or not isinstance(found, Correspondence) or found.is_map:  # neighbours are equally certain
        return ""
    chances, matches = known[0], found.matches
    order = np.argsort(-chances, kind="stable")[: int((matches >= 0).sum())]
    surest, least = order[:N_LISTED], order[N_LISTED:][::-1][:N_LISTED]
    unit = "node" if isinstance(found, GraphAlignment) else "point"
    tables = [
        _table_of("highest", unit, surest, matches, chances, sides),
        _table_of("lowest", unit, least, matches, chances, sides),
    ]
    shown = "".join(table for table, points in zip(tables, (surest, least), strict=True) if len(points))
    return _section("Confidence of matches", f'<div class="pair">{shown}</div>', "surest")


def _table_of(
    title: str, unit: str, points: Int64s, matches: Int64s, chances: Float64s, sides: tuple[Drawable, Drawable]
) -> str:
    rows = "".join(
        f'<tr><td><button type="button" data-side="0" data-point="{i}">{_name(sides[0], i)}</button></td>'
        f"<td>{_name(sides[1], int(matches[i]))}</td><td>{chances[i]:.1%}</td></tr>"
        for i in points.tolist()
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in (unit, "match", "confidence"))
    return f"<div><h3>{title}</h3><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"


def _name(side: Drawable, point: int) -> str:
    return html.escape(str(point if side.labels is None else side.labels[point]))


def categories(
    matches: tuple[Int64s, Int64s], labels: tuple[Sequence[Any], Sequence[Any]] | None
) -> tuple[str, dict[str, Any] | None]:
    """The section for the matrix of matched categories, and its data for the page's script."""
    if labels is None:
        return "", None
    both = check_label_pair(labels, len(matches[0]), len(matches[1]))
    table = category_table(matches[0], *both)
    own = sum(
        int(table.counts[k, table.columns.index(name)]) for k, name in enumerate(table.rows) if name in table.columns
    )
    accuracy = f"{own / len(matches[0]):.1%} of the points have a match in their own category." if own else ""
    text = f"Rows are categories of points, columns those of their matches; darker is more. {accuracy}"
    section = _section("Categories", f'<p>{text}</p><div id="categories"></div>', "which")
    packed = {
        "rows": table.rows,
        "columns": table.columns,
        "counts": pack(table.counts, "f4"),
        "shares": pack(table.shares, "f4"),
        "colours": [pack(_colours(side, table), "u1") for side in both],
    }
    return section, packed


def _colours(labels: Sequence[Any], table: CategoryTable) -> NDArray[np.uint8]:
    """A colour (n, 3) for every point's category; confused categories, adjacent in the table, have similar colours."""
    names = [*table.rows, *(name for name in table.columns if name not in set(table.rows))]
    wheel = place_colours(np.stack([np.arange(len(names)), np.arange(len(names)) % 2], axis=1).astype(np.float64))
    number = {name: k for k, name in enumerate(names)}
    return np.asarray(wheel[[number[str(label)] for label in labels]], np.uint8)
