"""What the command line says of an alignment of any kind: lines, a table of candidates, and numbers for programs."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from anchorot.align.correspondence import Correspondence, cell
from anchorot.cli.output import new_table, plain


def known_of(found: Correspondence) -> dict[str, Any]:
    """The numbers of an alignment and of its candidates, for programs."""
    other = found.runner_up
    return {
        **{name: getattr(found, name) for name in found.numbers},
        "runner_up": other and {**other.numbers(), "match": other.matches.tolist()},
        "candidates": [one.numbers() for one in found.candidates],
    }


def lines_of(found: Correspondence) -> Iterator[str]:
    """What is known of an alignment, one fact to a line, with a warning where it is not reliable."""
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
