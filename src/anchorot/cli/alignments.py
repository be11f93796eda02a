"""How the command line shows an alignment: lines, a table of candidates, and JSON."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from anchorot._typing import Float64s, Int64s
from anchorot.align.correspondence import Correspondence, cell
from anchorot.cli.output import Stopwatch, new_table, plain, print_table
from anchorot.cli.writing import Outputs, write_csv

ROWS_SHOWN = 10  # matches and candidates in a table on the screen
Labels = tuple[list[str], list[str]]


def known_of(found: Correspondence) -> dict[str, Any]:
    """The numbers of an alignment and of its candidates, for JSON."""
    other = found.runner_up
    return {
        "reliable": found.reliable,
        **{name: getattr(found, name) for name in found.numbers},
        "runner_up": other and {**other.numbers(), "match": other.matches.tolist()},
        "candidates": [one.numbers() for one in found.candidates],
    }


def lines_of(found: Correspondence) -> Iterator[str]:
    """Facts about an alignment, one per line, with a warning if it is not reliable."""
    for name, fact in found.facts(full=True).items():
        yield f"{name}: {plain(fact)}"
    text, is_warning = found.verdict()
    if is_warning:
        yield f"[bold]WARNING: {plain(text)}[/]"


def candidate_table(found: Correspondence) -> Table:
    """The candidates that were compared."""
    rows = [one.numbers() for one in found.candidates]
    table = new_table("candidates, best first", *(name.replace("_", " ") for name in rows[0]))
    for row in rows:
        table.add_row(*(plain(cell(name, value)) for name, value in row.items()))
    return table


def write_matches(
    path: Path, labels: Labels, matches: Int64s, sure: Mapping[str, Float64s], arrays: Mapping[str, Any]
) -> None:
    """Write matches by name with columns that say how sure they are, their numbers as .txt, or arrays as .npz."""
    first, second = labels
    if path.suffix.lower() == ".npz":
        known: dict[str, Any] = {"match": matches, "labels_a": first, "labels_b": second, **arrays}
        np.savez_compressed(path, **known)
    elif path.suffix.lower() == ".txt":
        np.savetxt(path, matches, fmt="%d")
    else:
        pairs = ([first[i], second[j] if j >= 0 else ""] for i, j in enumerate(matches))
        columns = ([f"{numbers[i]:.9g}" for numbers in sure.values()] for i in range(len(first)))
        rows = (pair + numbers for pair, numbers in zip(pairs, columns, strict=True))
        write_csv(path, (["a", "b", *sure], *rows))


def print_matches(
    files: tuple[Path, Path],
    labels: Labels,
    found: object,
    matches: Int64s,
    sure: Mapping[str, Float64s],
    shown: Int64s,
    lines: list[str],
    stopwatch: Stopwatch,
    outputs: Outputs,
    noun: str = "points",
    which: str = "the surest",
) -> None:
    """Print candidates, the first of the matches in `shown`, lines of text, and the seconds of each step."""
    (a, b), (first, second) = files, labels
    title = f"{a.name} ({len(first)} {noun}) in {b.name} ({len(second)} {noun}): {which} {min(ROWS_SHOWN, len(first))}"
    columns = ["share of its mass" if name == "share" else name for name in sure]
    table = new_table(title, noun.removesuffix("s"), "match", *columns)
    for i in shown[:ROWS_SHOWN]:
        name = second[matches[i]] if matches[i] >= 0 else "none"
        table.add_row(plain(first[i]), plain(name), *(f"{numbers[i]:.2%}" for numbers in sure.values()))
    if isinstance(found, Correspondence):
        print_table(candidate_table(found))
    took = ", ".join(f"{name.replace('_', ' ')} {seconds:.2f} s" for name, seconds in stopwatch.seconds.items())
    print_table(table, *lines, f"[dim]{took}[/]", *outputs.lines())
