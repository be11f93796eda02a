"""What the commands share in speaking to people and to programs."""

import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anchorot as ao
from anchorot.cli.ending import no_memory, tell
from anchorot.exceptions import printable

if TYPE_CHECKING:
    from rich.table import Table

PAUSE = 30.0  # seconds between two lines about what is under way, where there is no terminal


def print_json(found: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON has no word for, NaN and infinity, are null."""
    print(json.dumps(_finite(found), allow_nan=False), flush=True)


def _finite(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _finite(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_finite(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def print_table(table: "Table", *lines: str) -> None:
    """Print a table below its title, and lines of text below it."""
    from rich.console import Console

    console = Console()
    title, table.title = table.title, None  # a title of the table itself would be as narrow as the table
    for part in (title, table, *lines):
        console.print(part)


def new_table(title: str, *columns: str) -> "Table":
    """Return an empty table; columns after the first are flush right, long texts fold, and none is taken for markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(printable(title), style="italic"))
    for number, column in enumerate(columns):
        table.add_column(plain(column), justify="right" if number else "left", overflow="fold")
    return table


def plain(text: str) -> str:
    """Return text from outside, such as a name, in which neither rich nor a terminal finds orders."""
    from rich.markup import escape

    return escape(printable(text))


@contextmanager
def doing(what: str, also: str = "") -> Iterator[None]:
    """Name what is under way if the memory does not suffice for it, and what helps beside fewer points."""
    try:
        yield
    except Exception as error:
        if (shortage := no_memory(error, what, also)) is None:
            raise
        raise shortage from None


@contextmanager
def _status(shown: str) -> Iterator[None]:
    """Show what is under way: on a terminal all the time, elsewhere a line now and then."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(plain(shown)) if console.is_terminal else _told_now_and_then(shown):
        yield


@contextmanager
def _told_now_and_then(shown: str) -> Iterator[None]:
    """Say on standard error, every half minute, that something is under way, for who reads a log."""
    begin, is_done = time.monotonic(), threading.Event()

    def repeat() -> None:
        while not is_done.wait(PAUSE):
            tell(f"anchorot: {printable(shown)}, {time.monotonic() - begin:.0f} s so far")

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


class Stopwatch:
    """Seconds that each step took, by name; the step under way is shown to a person, or told now and then to a log."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str, shown: str) -> Iterator[None]:
        """Time a block of code under a name, with all others of that name; `shown` is what a person reads meanwhile."""
        start = time.perf_counter()
        with _status(shown), doing(shown):
            yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def check_extra(package: str, extra: str) -> None:
    """Tell of a missing package before the work, not after."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ao.MissingExtraError(package, extra)


def read_both(a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch) -> tuple[ao.Space, ao.Space]:
    """Read two spaces, and time each."""
    with stopwatch("read_a", f"reading {a.name}"):
        x = ao.read(a, **reading)
    with stopwatch("read_b", f"reading {b.name}"):
        y = ao.read(b, **reading)
    return x, y
