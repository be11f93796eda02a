"""A page that shows two spaces and the plan between them: one HTML file, which needs no network."""

import html
import json
import os
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anchorot.distances.plan import check_plan, match
from anchorot.distances.transport import Transport
from anchorot.exceptions import MissingExtraError
from anchorot.io.atomic import replacing
from anchorot.report.colours import NO_COLOUR, place_colours
from anchorot.report.drawing import Drawing
from anchorot.report.packing import N_BEST_ALONE, deflate, pack_plan
from anchorot.space import Space

__all__ = ["write_report"]

SCRIPTS = ("masses.js", "drawing.js", "page.js")


def write_report(
    path: str | os.PathLike[str],
    x: Space,
    y: Space,
    plan: Transport | ArrayLike,
    *,
    names: tuple[str, str] = ("A", "B"),
    title: str | None = None,
    details: Mapping[str, str] | None = None,
) -> None:
    """Write a page on which a click on a point of either space shows where its mass goes in the other.

    Both spaces are drawn as what they came from, a surface, a graph, a neuron or a cloud, or laid out in the plane by
    their costs, and coloured by correspondence. The page is one file, works without a network and needs a browser of
    2023 or later. Of plans of up to nine million entries all are shown, in 8 bits or fewer; the table of best matches
    is exact.

    Parameters
    ----------
    path : path
        The page; an old one is replaced once the new one is complete.
    x, y : Space
    plan : Transport or array_like of shape (n, m)
        Mass between every point of x and of y, as of :func:`anchorot.anchor_energy_plan`.
    names : (str, str)
        What to call the two spaces.
    title : str, optional
    details : mapping of str to str, optional
        What else to say at the top of the page, distances or settings.

    Examples
    --------
    >>> import tempfile, anchorot as ao
    >>> square = ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/page.html", square, square, ao.anchor_energy_plan(square, square))
    """
    library, version = _plotly()
    mass = check_plan(plan, (x.n, y.n))
    drawings = Drawing(x), Drawing(y)
    colours = place_colours(drawings[0].points)
    carried = colours[match(mass.T)]
    carried[mass.max(axis=0) == 0] = NO_COLOUR
    sides = [
        drawing.packed(name, colour) for drawing, name, colour in zip(drawings, names, (colours, carried), strict=True)
    ]
    packed = pack_plan(mass)
    page = Template(_template("page.html")).substitute(
        title=html.escape(title or f"{names[0]} and {names[1]}"),
        details=_definitions(details or {}),
        names_0=html.escape(names[0]),
        names_1=html.escape(names[1]),
        counts_0=_counted(x.n),
        counts_1=_counted(y.n),
        notes=_paragraphs(_notes(drawings, names, packed)),
        style=_template("page.css"),
        script="\n".join(_template(name) for name in SCRIPTS),
        # A label such as </script> must not end the script.
        data=json.dumps({"sides": sides, "plan": packed}).replace("<", "\\u003c"),
        plotly=deflate(library.encode()),
        plotly_version=html.escape(version),
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _plotly() -> tuple[str, str]:
    """Source and version of the drawing library that goes into the page."""
    try:
        from plotly.offline import get_plotlyjs, get_plotlyjs_version
    except ImportError:
        raise MissingExtraError("plotly", "report") from None
    return get_plotlyjs(), get_plotlyjs_version()


def _notes(drawings: tuple[Drawing, Drawing], names: tuple[str, str], packed: Mapping[str, Any]) -> list[str]:
    """What the page does not show in full."""
    notes = [f"{name}: {note}." for drawing, name in zip(drawings, names, strict=True) for note in drawing.notes]
    if packed["whole"] is None:
        notes.append(f"The plan is large: of every point only the {N_BEST_ALONE} best matches light up.")
    else:
        percent = 100 * np.expm1(packed["whole"]["step"] / 2)
        if percent >= 10:
            notes.append(f"The plan is large: lit masses are within {percent:.0f} %, those in the table are exact.")
    return notes


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
