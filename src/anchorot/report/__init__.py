"""An interactive HTML page of two spaces and the plan between them: one file that works offline."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot._layout import Drawable, Whole, common_plane, drawable
from anchorot.align.correspondence import Correspondence
from anchorot.align.embeddings.result import EmbeddingAlignment
from anchorot.align.graphs.result import GraphAlignment
from anchorot.distances.wasserstein import Transport
from anchorot.exceptions import MissingExtraError
from anchorot.geometry import Geometry
from anchorot.io.atomic import replacing
from anchorot.report.drawing import Drawing, Places, lay_out_alike, place
from anchorot.report.payload import N_BEST_ALONE, ShownMap, deflate, pack, pack_shown, place_colours, shown_of
from anchorot.report.sections import candidates, categories, confidences, spread_over, surest_matches, verdict

__all__ = ["write_report"]

SCRIPTS = ("data.js", "drawing.js", "camera.js", "info.js", "input.js", "page.js")


def write_report(
    path: str | os.PathLike[str],
    x: Any,
    y: Any,
    plan: Correspondence | Transport | ArrayLike,
    *,
    names: tuple[str, str] = ("A", "B"),
    labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    title: str | None = None,
    details: Mapping[str, str] | None = None,
) -> None:
    """Write an interactive page: a click on a point of either space shows its matches in the other.

    Both spaces are drawn in their original form (a surface, a graph, a neuron or a cloud), or laid out in the plane by
    their costs, and coloured by correspondence. The page is one file, works offline and needs a browser of 2023 or
    later. Plans of up to nine million entries are shown in full, with 8 bits or fewer per entry; the table of best
    matches is exact. The same colour means the same share of a point's mass on every page.

    The page lists the files that the spaces were read from, with options (`Space.origin`). For an alignment it lists
    objective, bound and candidates. A click highlights the masses of its soft plan and its match; unmatched points are
    grey and listed, and a button shows the runner-up. If both spaces are drawn in the same number of dimensions, the
    second is rotated so that matched points are at the same positions.

    Two aligned graphs share one layout, with matched nodes at the same positions: common edges are dark, edges of only
    one graph are coloured, and a click shows other possible matches of a node.

    Two aligned embeddings are drawn in the plane of largest common variance, the first after the map.

    For two aligned meshes the page starts with the estimated reliability of the map, with a warning below 0.8. Colours
    can show confidence instead of positions, if it is known.

    Parameters
    ----------
    path : path
        The page; an existing file is replaced once the new one is complete.
    x, y : Space, array_like of shape (n, n), or path
        For :func:`anchorot.align` with landmarks, its inputs: points (n, d), `PointDistances`, `MeshDistances`. For
        embeddings the two arrays, for meshes the inputs of :func:`anchorot.align_meshes`, for graphs those of
        :func:`anchorot.align_graphs`.
    plan : Correspondence, Transport or array_like of shape (n, m)
        The result of :func:`anchorot.align`, :func:`anchorot.align_meshes`, :func:`anchorot.align_embeddings` or
        :func:`anchorot.align_graphs`, or the mass between every point of x and of y, such as from
        :func:`anchorot.anchor_energy_plan`.
    names : (str, str)
        Names of the two spaces.
    labels : (sequence of length n, sequence of length m), optional
        The category of every point of both sides: the page then shows a matrix of matched categories.
    title : str, optional
    details : mapping of str to str, optional
        More entries for the top of the page, such as distances or settings.

    Examples
    --------
    >>> from anchorot.report import write_report
    >>> import tempfile, anchorot as ao
    >>> square = ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/page.html", square, square, ao.anchor_energy_plan(square, square))
    """
    library, version = _plotly()
    x, y = _sides(x, y, plan)
    versions = shown_of(plan, (x.n, y.n))
    is_map = isinstance(versions[0], ShownMap)
    shown = plan.masses(soft=False) if isinstance(plan, Correspondence) else versions[0].plan
    places = place(x, y, shown, is_common=isinstance(plan, EmbeddingAlignment))
    drawings = Drawing(x, places.first), Drawing(y, places.second)
    packed = pack_shown(versions, place_colours(drawings[is_map].points))
    if (chances := confidences(plan)) is not None:
        filled = chances[0], spread_over(chances[1], drawings[1].points) if is_map else chances[1]
        packed[0]["confidence"] = [pack(side, "f4") for side in filled]
    matrix, numbers = categories(versions[0].matches, labels)
    facts = {**_origins(x, y), **(plan.facts(full=True) if isinstance(plan, Correspondence) else {}), **(details or {})}
    data = {
        "sides": [drawing.packed(name) for drawing, name in zip(drawings, names, strict=True)],
        "versions": packed,
        "agree": places.agree,
        "categories": numbers,
    }
    page = Template(_template("page.html")).substitute(
        title=html.escape(title or f"{names[0]} and {names[1]}"),
        verdict=verdict(plan),
        details=_definitions(facts),
        sections=candidates(plan) + matrix + surest_matches(plan, (x, y)),
        back="Clear" if is_map else "Back to colours",
        lead=_lead(is_map),
        names_0=html.escape(names[0]),
        names_1=html.escape(names[1]),
        counts_0=_counted(x.n),
        counts_1=_counted(y.n),
        colouring=html.escape(_colouring(*(reversed(names) if is_map else names))),
        notes=_paragraphs([*_edge_notes(x, y, names), *_notes(drawings, names, places, packed[0])]),
        style=_template("page.css"),
        script="\n".join(_template(name) for name in SCRIPTS),
        # A label such as </script> must not end the script.
        data=json.dumps(data).replace("<", "\\u003c"),
        plotly=deflate(library.encode()),
        plotly_version=html.escape(version),
    )
    with replacing(path) as temporary:
        temporary.write_text(
            page, encoding="utf-8", errors="backslashreplace"
        )  # file names may contain bytes that are not text


def _sides(x: Any, y: Any, plan: object) -> tuple[Drawable, Drawable]:
    """Both sides as drawables; aligned graphs and embeddings at the positions that the result gives them."""
    if isinstance(plan, GraphAlignment):
        return lay_out_alike(plan)
    if isinstance(plan, EmbeddingAlignment):
        plane = common_plane(plan, x, y)
        first, second = (Whole(Geometry(np.arange(len(side)), len(side), side)) for side in plane[:2])
        return first, second
    return drawable(x), drawable(y)


def _plotly() -> tuple[str, str]:
    """Source and version of the plotting library, which is embedded in the page."""
    try:
        from plotly.offline import get_plotlyjs, get_plotlyjs_version
    except ImportError:
        raise MissingExtraError("plotly", "report") from None
    return get_plotlyjs(), get_plotlyjs_version()


def _notes(
    drawings: tuple[Drawing, Drawing], names: tuple[str, str], places: Places, packed: Mapping[str, Any]
) -> list[str]:
    """Notes on how the drawings were changed, and on what the page does not show in full."""
    found = drawings[0].notes, [*places.notes, *drawings[1].notes]
    notes = [f"{name}: {note}." for name, own in zip(names, found, strict=True) for note in own]
    whole = packed["plan"]["whole"]
    if whole is None and not packed["map"]:
        notes.append(f"The plan is large: only the {N_BEST_ALONE} best matches of each point are highlighted.")
    elif whole is not None:
        percent = 100 * np.expm1(whole["step"] / 2)
        if percent >= 10:
            notes.append(f"The plan is large: colours are accurate to {percent:.0f} %, masses in the table are exact.")
    return notes


def _edge_notes(x: Drawable, y: Drawable, names: tuple[str, str]) -> list[str]:
    """What the colours of edges mean, if two graphs are drawn."""
    shared = [side.is_common for side in (x, y) if isinstance(side, Whole) and side.is_common is not None]
    if len(shared) < 2:
        return []
    lost, new = (int((~own).sum()) for own in shared)
    common = int(shared[0].sum())
    return [
        f"{common} common edges are dark; {lost} edges only in {names[0]} are orange, {new} only in {names[1]} blue.",
        "Shares are probabilities: a match has its confidence; other nodes share the rest by the edges they lose.",
    ]


def _lead(is_map: bool) -> str:
    if is_map:
        return "Click a point on either side to see its matches."
    return "Click a point on either side to see where its mass goes on the other side."


def _colouring(placed: str, other: str) -> str:
    return (
        f"Points of {placed} are coloured by position; each point of {other} has the colour of its match. "
        "Grey points are unmatched."
    )


def _template(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _definitions(details: Mapping[str, str]) -> str:
    return "".join(
        f"<div><dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd></div>" for key, value in details.items()
    )


def _paragraphs(notes: list[str]) -> str:
    return "".join(f"<p>{html.escape(note)}</p>" for note in notes)


def _counted(n: int) -> str:
    return "1 point" if n == 1 else f"{n} points"


def _origins(x: Drawable, y: Drawable) -> dict[str, str]:
    """The files that the two spaces were read from, if any."""
    named = {"first space": x.origin, "second space": y.origin}
    return {name: str(origin) for name, origin in named.items() if origin is not None}
