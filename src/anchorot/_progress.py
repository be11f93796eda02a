"""A progress bar for a person at a terminal; nothing for a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anchorot.exceptions import printable

if TYPE_CHECKING:
    from rich.progress import Task


@contextmanager
def progress_bar(
    total: int, description: str, unit: str, enabled: bool = True, *, done: int = 0
) -> Iterator[Callable[[int], None]]:
    """Show a bar with share, count, speed and time left on standard error, if that is a terminal.

    Gives a function to call with the number of units just finished. `done` units were finished before, and do not
    count for the speed.

    Examples
    --------
    >>> with progress_bar(10, "comparing", "pairs") as advance:
    ...     advance(10)
    """
    if not enabled or sys.stderr is None or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class SpeedColumn(ProgressColumn):
        def render(self, task: "Task") -> Text:
            return Text(_speed(task.finished_speed or task.speed, unit), style="progress.data.speed")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} " + unit),
        SpeedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(printable(description), total=total, completed=done)
        yield lambda count: bar.advance(task, count)


def _speed(speed: float | None, unit: str) -> str:
    if speed is None:
        return ""
    return f"{speed:,.0f} {unit}/s" if speed >= 10 else f"{speed:.2g} {unit}/s"
