"""How results are shown: facts in one line, and small HTML tables and figures with all text escaped."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from anchorot.exceptions import printable

MAX_TEXT_LENGTH = 60  # characters of a name
MAX_ROWS = 10  # of a table, about half a screen
WIDTH, HEIGHT = 120, 40  # of a figure, in pixels
MAX_DOTS, MAX_LINE_POINTS, N_BINS = 80, 40, 24  # of one figure: they show its form in a kilobyte
MAX_NUMBERS = 1 << 16  # values used for one figure


class WithFacts:
    """A result whose facts are what `repr` and notebooks show."""

    def facts(self) -> dict[str, str]:
        """Summarise the result in words; nothing is computed for it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        said = "; ".join(f"{name}: {printable(fact)}" for name, fact in self.facts().items())
        return f"{type(self).__name__}({said})"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self.facts())


def card(title: str, facts: Mapping[str, object], picture: str = "", below: str = "") -> str:
    """Return a title, a table of facts (None is left out), a figure and extra HTML below."""
    cells = "".join(
        f"<tr><th>{_text(name)}</th><td>{_text(fact)}</td></tr>" for name, fact in facts.items() if fact is not None
    )
    return f"<div><b>{_text(title)}</b>{picture}<table>{cells}</table>{below}</div>"


def rows(header: Sequence[object], body: Sequence[Sequence[object]]) -> str:
    """Return a table with a header; of a long table, the first rows and the number of the others."""
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    lines = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in body[:MAX_ROWS])
    more = f"<div>and {len(body) - MAX_ROWS} more</div>" if len(body) > MAX_ROWS else ""
    return f"<table><tr>{head}</tr>{lines}</table>{more}"


def line(values: NDArray[np.floating]) -> str:
    """Draw values in order, from left to right."""
    sample = _thinned(values.ravel(), MAX_LINE_POINTS).astype(np.float64)
    x = _fitted(np.arange(len(sample), dtype=np.float64), WIDTH)
    return _svg(_polyline(x, HEIGHT - _fitted(sample, HEIGHT)))


def sorted_line(values: NDArray[np.floating]) -> str:
    """Draw values from the smallest to the largest."""
    return line(np.sort(_thinned(values.reshape(-1), MAX_NUMBERS)))


def dots(positions: NDArray[np.floating]) -> str:
    """Draw positions in the plane; 3-D positions are projected on the two axes along which they extend most."""
    sample = _thinned(positions, MAX_DOTS)
    sample = sample / (np.abs(sample).max() or 1.0)
    wide = np.sort(np.argsort(-np.ptp(sample, axis=0), kind="stable")[:2])
    x, y = (sample[:, wide] - sample[:, wide].min(axis=0)).T
    unit = max(float(x.max()) / WIDTH, float(y.max()) / HEIGHT) or 1.0
    places = zip((x / unit).round().astype(int), (HEIGHT - y / unit).round().astype(int), strict=True)
    return _svg("".join(f"M{i} {j}h0" for i, j in places), width=3)


def histogram(values: NDArray[np.floating], observed: float) -> str:
    """Draw a histogram with a line at the observed value; return an empty text if no value is finite."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0 or not np.isfinite(observed):
        return ""
    unit = max(float(np.abs(finite).max()), abs(observed)) or 1.0
    scaled, position = finite / unit, observed / unit
    low, high = min(float(scaled.min()), position), max(float(scaled.max()), position)
    counts, _ = np.histogram(scaled, N_BINS, (low, high if high > low else low + 1))
    x = _fitted(np.arange(N_BINS, dtype=np.float64), WIDTH)
    at = round((position - low) / ((high - low) or 1.0) * WIDTH)
    return _svg(_polyline(x, HEIGHT - _fitted(counts.astype(np.float64), HEIGHT)) + f"M{at} 0V{HEIGHT}")


def _text(value: object) -> str:
    text = printable(str(value))
    return escape(text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…")


def _thinned(values: NDArray[np.floating], max_count: int) -> NDArray[np.floating]:
    return values[:: max(1, -(-len(values) // max_count))]


def _fitted(values: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Scale values to integers from 0 to `size`, without overflow for any range of values."""
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
