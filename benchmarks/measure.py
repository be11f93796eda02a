"""Measuring ratios fairly, and the table they go into."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import anchorot as ao
from record import put

Action = Callable[[], object]


class Row(NamedTuple):
    """One line of the table."""

    what: str
    measured: str
    bar: str = ""
    holds: bool | None = None


def cloud(n: int, seed: int, *, weighted: bool = False) -> ao.Space:
    """Points of a Gaussian in space, flatter for even seeds."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3)) * (1, 1, 0.5 + 0.5 * (seed % 2))
    return ao.from_points(points, weights=rng.dirichlet(np.ones(n)) if weighted else None)


def seconds(action: Action) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def alternating(one: Action, two: Action, repeat: int) -> tuple[float, float, float]:
    """Median times of both, and the median of their ratios, measured in turns after one call of each."""
    one()
    two()
    pairs = [(seconds(one), seconds(two)) for _ in range(repeat)]
    ratio = statistics.median(a / b for a, b in pairs)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio


def ms(value: float) -> str:
    """Seconds as milliseconds."""
    return f"{value * 1e3:.0f} ms"


def at_most(what: str, limit: float, one: Action, two: Action, repeat: int = 9) -> Row:
    """A row that holds if `one` takes at most `limit` times as long as `two`."""
    a, b, ratio = alternating(one, two, repeat)
    return Row(what, f"{ratio:.2f} ({ms(a)} / {ms(b)})", f"at most {limit:g}", ratio <= limit)


def at_least(what: str, limit: float, slow: Action, fast: Action, repeat: int = 5) -> Row:
    """A row that holds if `slow` takes at least `limit` times as long as `fast`."""
    a, b, ratio = alternating(slow, fast, repeat)
    return Row(what, f"{ratio:.1f} ({ms(a)} / {ms(b)})", f"at least {limit:g}", ratio >= limit)


def python(*arguments: str, **environment: str) -> str:
    """Run Python in its own process; return what it prints."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def write_results(script: str, how: str, text: str) -> None:
    """Put what a script has measured into the record, in place of what the same command measured before."""
    put(f"python benchmarks/{script} {how}".strip(), text)


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| what | measured | bar | holds |", "|---|---|---|---|"]
    for row in rows:
        holds = {True: "yes", False: "**no**", None: ""}[row.holds]
        lines.append(f"| {row.what} | {row.measured} | {row.bar} | {holds} |")
    return "\n".join(lines)
