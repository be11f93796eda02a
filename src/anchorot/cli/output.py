"""What the commands share in speaking to people and to programs."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import anchorot as ao

if TYPE_CHECKING:
    from rich.table import Table


def print_json(found: dict[str, Any]) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(found))


def print_table(table: "Table", *lines: str) -> None:
    """Print a table below its title, and lines of text below it."""
    from rich.console import Console

    console = Console()
    title, table.title = table.title, None  # a title of the table itself would be as narrow as the table
    console.print(title)
    console.print(table)
    for line in lines:
        console.print(line)


def new_table(title: str, *columns: str) -> "Table":
    """Return an empty table; columns after the first are flush right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, style="italic"))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def plain(text: str) -> str:
    """Return text in which rich finds no markup of its own."""
    from rich.markup import escape

    return escape(text)


class Stopwatch:
    """Seconds that each step took, by name; on a terminal the step under way is shown."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str, shown: str) -> Iterator[None]:
        """Time a block of code under a name; `shown` is what a person reads meanwhile."""
        start = time.perf_counter()
        with _status(shown):
            yield
        self.seconds[name] = time.perf_counter() - start


@contextmanager
def _status(shown: str) -> Iterator[None]:
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(plain(shown)) if console.is_terminal else nullcontext():
        yield


def read_both(a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch) -> tuple[ao.Space, ao.Space]:
    """Read two spaces, and time each."""
    with stopwatch("read_a", f"reading {a.name}"):
        x = ao.read(a, **reading)
    with stopwatch("read_b", f"reading {b.name}"):
        y = ao.read(b, **reading)
    return x, y


def check_endings(path: Path | None, endings: tuple[str, ...]) -> None:
    """Refuse a file of another kind than can be written, or in no folder."""
    check_output(path)
    if path is not None and path.suffix.lower() not in endings:
        raise ao.InputError(f"{path}: a file ending in {' or '.join(endings)} is written here")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be drawn or written, before the work and not after."""
    check_endings(path, (".png", ".svg", ".pdf"))
    if path is not None:
        from anchorot.plot import new_figure

        new_figure(1, 1)  # tells of a missing matplotlib


def check_output(path: Path | None) -> None:
    """Refuse a file that could not be written, before the work and not after."""
    if path is not None and not path.resolve().parent.is_dir():
        raise ao.InputError(f"{path}: there is no folder {path.resolve().parent}")
