"""Small tables and pictures of HTML, for notebooks: a few hundred bytes each, and no text that is taken for orders."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from anchorot.exceptions import printable

MAX_LETTERS = 60  # letters of a name
MOST_ROWS = 10
WIDTH, HEIGHT = 120, 40  # of a picture
MOST_DOTS, MOST_POINTS, BARS = 80, 40, 24
MAX_NUMBERS = 1 << 16  # numbers that a picture is made of, at the most


def card(title: str, facts: Mapping[str, object], picture: str = "", below: str = "") -> str:
    """Return a title, a table of what is known (what is None is left out), a picture and more below."""
    known = "".join(
        f"<tr><th>{_text(name)}</th><td>{_text(fact)}</td></tr>" for name, fact in facts.items() if fact is not None
    )
    return f"<div><b>{_text(title)}</b>{picture}<table>{known}</table>{below}</div>"


def rows(header: Sequence[object], body: Sequence[Sequence[object]]) -> str:
    """Return a table with a header; of many rows the first, and how many more there are."""
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    lines = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in body[:MOST_ROWS])
    more = f"<div>and {len(body) - MOST_ROWS} more</div>" if len(body) > MOST_ROWS else ""
    return f"<table><tr>{head}</tr>{lines}</table>{more}"


def line(values: NDArray[np.floating]) -> str:
    """Draw numbers in their order, from left to right."""
    some = _thinned(values.ravel(), MOST_POINTS).astype(np.float64)
    x = _fitted(np.arange(len(some), dtype=np.float64), WIDTH)
    return _svg(_polyline(x, HEIGHT - _fitted(some, HEIGHT)))


def sorted_line(values: NDArray[np.floating]) -> str:
    """Draw numbers from the least to the largest."""
    return line(np.sort(_thinned(values.reshape(-1), MAX_NUMBERS)))


def dots(positions: NDArray[np.floating]) -> str:
    """Draw places in the plane, or from where those in space are widest."""
    some = _thinned(positions, MOST_DOTS)
    some = some / (np.abs(some).max() or 1.0)
    wide = np.sort(np.argsort(-np.ptp(some, axis=0), kind="stable")[:2])
    x, y = (some[:, wide] - some[:, wide].min(axis=0)).T
    unit = max(float(x.max()) / WIDTH, float(y.max()) / HEIGHT) or 1.0
    places = zip((x / unit).round().astype(int), (HEIGHT - y / unit).round().astype(int), strict=True)
    return _svg("".join(f"M{i} {j}h0" for i, j in places), width=3)


def histogram(values: NDArray[np.floating], mark: float) -> str:
    """Draw how often numbers occur, and a line at one that stands out; nothing if none is finite."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0 or not np.isfinite(mark):
        return ""
    unit = max(float(np.abs(finite).max()), abs(mark)) or 1.0
    scaled, place = finite / unit, mark / unit
    low, high = min(float(scaled.min()), place), max(float(scaled.max()), place)
    counts, _ = np.histogram(scaled, BARS, (low, high if high > low else low + 1))
    x = _fitted(np.arange(BARS, dtype=np.float64), WIDTH)
    at = round((place - low) / ((high - low) or 1.0) * WIDTH)
    return _svg(_polyline(x, HEIGHT - _fitted(counts.astype(np.float64), HEIGHT)) + f"M{at} 0V{HEIGHT}")


def _text(thing: object) -> str:
    said = printable(str(thing))
    return escape(said if len(said) <= MAX_LETTERS else f"{said[: MAX_LETTERS - 1]}…")


def _thinned(values: NDArray[np.floating], most: int) -> NDArray[np.floating]:
    return values[:: max(1, -(-len(values) // most))]


def _fitted(values: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Whole numbers from 0 to `size`, in proportion; whatever the range of the values, nothing overflows."""
    scaled = values / (float(np.abs(values).max(initial=0)) or 1.0)
    span = float(np.ptp(scaled)) or 1.0
    return np.rint((scaled - scaled.min()) / span * size).astype(np.int64)


def _polyline(x: NDArray[np.int64], y: NDArray[np.int64]) -> str:
    return "M" + "L".join(f"{i} {j}" for i, j in zip(x.tolist(), y.tolist(), strict=True))


def _svg(path: str, width: float = 1.5) -> str:
    return (
        f'<svg viewBox="-3 -3 {WIDTH + 6} {HEIGHT + 6}" width="{WIDTH}" height="{HEIGHT}"><path d="{path}" fill="none" '
        f'stroke="currentColor" stroke-width="{width}" stroke-linecap="round"/></svg>'
    )
