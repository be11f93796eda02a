"""A page that shows two spaces and the plan between them: one HTML file, which needs no network."""

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
from anchorot.report.sections import candidates, categories, confidences, spread_over, sure_matches, verdict

__all__ = ["write_report"]

SCRIPTS = ("masses.js", "drawing.js", "turning.js", "telling.js", "hands.js", "page.js")


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
    """Write a page on which a click on a point of either space shows where it goes in the other.

    Both spaces are drawn as what they came from, a surface, a graph, a neuron or a cloud, or laid out in the plane by
    their costs, and coloured by correspondence. The page is one file, works without a network and needs a browser of
    2023 or later. Plans of up to nine million entries are shown whole, in 8 bits or fewer; the table of best matches
    is exact. The same colour means the same share of a point's mass on every page.

    The page says which files the spaces were read from, and how (`Space.origin`). For an alignment it says
    where that comes from (objective, bound, starts); its soft plan lights up, its matches are marked, points without
    one are grey and listed, and a button shows the runner-up. Where both spaces are drawn in as many dimensions, the
    second is turned so that matched points are at the same places.

    Two aligned networks are drawn alike, matched nodes at the same places: common edges are dark, those that only one
    of them has are coloured, and a click shows where else a node might belong.

    Two aligned embeddings are drawn in the plane in which they vary most together, the first after the map.

    Of two aligned meshes it says first how likely the map is to be the right way round, with a warning below 0.8. Of
    all alignments it lists the candidates that were compared. Where confidence is known, colours can show that instead.

    Parameters
    ----------
    path : path
        The page; an old one is replaced once the new one is complete.
    x, y : Space, array_like of shape (n, n), or path
        Where :func:`anchorot.align` took landmarks, what it was given: points (n, d), `PointDistances`,
        `MeshDistances`. For embeddings the two arrays, for meshes what :func:`anchorot.align_meshes` was given, for
        networks what :func:`anchorot.align_graphs` was given, whose result has them.
    plan : Correspondence, Transport or array_like of shape (n, m)
        What :func:`anchorot.align`, :func:`anchorot.align_meshes`, :func:`anchorot.align_embeddings` or
        :func:`anchorot.align_graphs` found, or mass between every point of x and of y, as of
        :func:`anchorot.anchor_energy_plan`.
    names : (str, str)
        What to call the two spaces.
    labels : (sequence of length n, sequence of length m), optional
        The category of every point of both sides: the page then shows which are matched with which.
    title : str, optional
    details : mapping of str to str, optional
        What else to say at the top of the page, distances or settings; of an alignment it says where that comes from.

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
    said = {**_origins(x, y), **(plan.facts(full=True) if isinstance(plan, Correspondence) else {}), **(details or {})}
    data = {
        "sides": [drawing.packed(name) for drawing, name in zip(drawings, names, strict=True)],
        "answers": packed,
        "agree": places.agree,
        "categories": numbers,
    }
    page = Template(_template("page.html")).substitute(
        title=html.escape(title or f"{names[0]} and {names[1]}"),
        verdict=verdict(plan),
        details=_definitions(said),
        sections=candidates(plan) + matrix + sure_matches(plan, (x, y)),
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
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")  # names of files may be no text


def _sides(x: Any, y: Any, plan: object) -> tuple[Drawable, Drawable]:
    """Both as what can be drawn; what was aligned as networks or embeddings, where the result puts it."""
    if isinstance(plan, GraphAlignment):
        return lay_out_alike(plan)
    if isinstance(plan, EmbeddingAlignment):
        plane = common_plane(plan, x, y)
        first, second = (Whole(Geometry(np.arange(len(side)), len(side), side)) for side in plane[:2])
        return first, second
    return drawable(x), drawable(y)


def _plotly() -> tuple[str, str]:
    """Source and version of the drawing library that goes into the page."""
    try:
        from plotly.offline import get_plotlyjs, get_plotlyjs_version
    except ImportError:
        raise MissingExtraError("plotly", "report") from None
    return get_plotlyjs(), get_plotlyjs_version()


def _notes(
    drawings: tuple[Drawing, Drawing], names: tuple[str, str], places: Places, packed: Mapping[str, Any]
) -> list[str]:
    """What was done to the drawings, and what the page does not show in full."""
    found = drawings[0].notes, [*places.notes, *drawings[1].notes]
    notes = [f"{name}: {note}." for name, said in zip(names, found, strict=True) for note in said]
    whole = packed["plan"]["whole"]
    if whole is None and not packed["map"]:
        notes.append(f"The plan is large: of every point only the {N_BEST_ALONE} best matches light up.")
    elif whole is not None:
        percent = 100 * np.expm1(whole["step"] / 2)
        if percent >= 10:
            notes.append(f"The plan is large: lit masses are within {percent:.0f} %, those in the table are exact.")
    return notes


def _edge_notes(x: Drawable, y: Drawable, names: tuple[str, str]) -> list[str]:
    """What the colours of edges mean, where two networks are drawn."""
    shared = [side.is_common for side in (x, y) if isinstance(side, Whole) and side.is_common is not None]
    if len(shared) < 2:
        return []
    lost, new = (int((~own).sum()) for own in shared)
    common = int(shared[0].sum())
    return [
        f"{common} edges are common and dark; {lost} orange ones only in {names[0]}, {new} blue only in {names[1]}.",
        "Shares are chances: a match has its confidence, other nodes the rest by the common edges they would cost.",
    ]


def _lead(is_map: bool) -> str:
    if is_map:
        return "Click a point on either side to see what is matched with it."
    return "Click a point on either side to see where its mass goes on the other."


def _colouring(placed: str, other: str) -> str:
    return (
        f"Points of {placed} are coloured by their place; each point of {other} has the colour of its match. "
        "Grey points have none."
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
    """Where the two spaces come from, if they were read."""
    named = {"first space": x.origin, "second space": y.origin}
    return {name: str(origin) for name, origin in named.items() if origin is not None}
