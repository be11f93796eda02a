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
from anchorot.report.payload import N_BEST_ALONE, deflate, pack, pack_versions, place_colours, versions_of
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

    Two aligned graphs share one layout, with matched nodes at the same positions: common edges are grey, edges of only
    one graph are coloured, and a click leaves a node, its match and their edges, and lists its twins and other matches.

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
    try:
        from plotly.offline import get_plotlyjs, get_plotlyjs_version
    except ImportError:
        raise MissingExtraError("plotly", "report") from None
    x, y = _sides(x, y, plan)
    versions = versions_of(plan, (x.n, y.n))
    is_map = versions[0].plan is None
    shown = plan.masses(soft=False) if isinstance(plan, Correspondence) else versions[0].plan
    places = place(x, y, shown, is_common=isinstance(plan, EmbeddingAlignment))
    drawings = Drawing(x, places.first), Drawing(y, places.second)
    packed = pack_versions(versions, place_colours(drawings[is_map].points))
    if (chances := confidences(plan)) is not None:
        filled = chances[0], spread_over(chances[1], drawings[1].points) if is_map else chances[1]
        packed[0]["confidence"] = [pack(side, "f4") for side in filled]
    matrix, numbers = categories(versions[0].matches, labels)
    origins = {"first space": x.origin, "second space": y.origin}
    facts = {name: str(origin) for name, origin in origins.items() if origin is not None}
    facts |= {**(plan.facts(full=True) if isinstance(plan, Correspondence) else {}), **(details or {})}
    unit = "node" if isinstance(plan, GraphAlignment) else "point"
    sides = [drawing.packed(name) for drawing, name in zip(drawings, names, strict=True)]
    if isinstance(plan, GraphAlignment):
        sides = [{**side, "twins": pack(twins, "i4")} for side, twins in zip(sides, plan.twins, strict=True)]
    data = {
        "pointName": unit,
        "sides": sides,
        "versions": packed,
        "agree": places.agree,
        "categories": numbers,
    }
    shown_of = "its matches" if is_map else "where its mass goes on the other side"
    shown_of = "its match, its edges and its twins" if unit == "node" else shown_of
    notes = [*_edge_notes(x, y, names), *_notes(drawings, names, places, packed[0])]
    page = Template(_template("page.html")).substitute(
        title=html.escape(title or f"{names[0]} and {names[1]}"),
        verdict=verdict(plan),
        details="".join(
            f"<div><dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd></div>" for key, value in facts.items()
        ),
        sections=candidates(plan) + matrix + surest_matches(plan, (x, y)),
        back="Clear" if is_map else "Back to colours",
        lead=f"Click a {unit} on either side to see {shown_of}.",
        unit=unit,
        names_0=html.escape(names[0]),
        names_1=html.escape(names[1]),
        counts_0=_counted(x.n, unit),
        counts_1=_counted(y.n, unit),
        notes="".join(f"<p>{html.escape(note)}</p>" for note in notes),
        style=_template("page.css"),
        script="\n".join(_template(name) for name in SCRIPTS),
        # A label such as </script> must not end the script.
        data=json.dumps(data).replace("<", "\\u003c"),
        plotly=deflate(get_plotlyjs().encode()),
        plotly_version=html.escape(get_plotlyjs_version()),
    )
    with replacing(path) as temporary:
        # file names may contain bytes that are not text
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")


def _sides(x: Any, y: Any, plan: object) -> tuple[Drawable, Drawable]:
    """Both sides as drawables; aligned graphs and embeddings at the positions of the result."""
    if isinstance(plan, GraphAlignment):
        return lay_out_alike(plan)
    if isinstance(plan, EmbeddingAlignment):
        plane = common_plane(plan, x, y)
        first, second = (Whole(Geometry(np.arange(len(side)), len(side), side)) for side in plane[:2])
        return first, second
    return drawable(x), drawable(y)


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
        f"{common} common edges are grey; {lost} edges only in {names[0]} are orange, {new} only in {names[1]} blue.",
        "Shares are probabilities: a match has its confidence; other nodes share the rest by the edges they lose.",
    ]


def _template(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _counted(n: int, unit: str) -> str:
    return f"1 {unit}" if n == 1 else f"{n} {unit}s"
