"""A progress bar on a terminal or in a notebook; nothing when standard error is redirected."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import copy_context
from html import escape
from typing import TYPE_CHECKING, Any

from anchorot.exceptions import printable

if TYPE_CHECKING:
    from rich.progress import Task

Advance = Callable[[int], None]
REDRAW_SECONDS = 0.1  # between two updates of a bar in a notebook
QUIET_SECONDS = 1.0  # of work before a late bar appears: less than that needs no bar


def no_progress(count: int) -> None:
    """Take the number of steps just finished, and show nothing."""


def progress_bar(
    total: int, description: str, unit: str, enabled: bool = True, *, done: int = 0, vanishes: bool = False
) -> AbstractContextManager[Advance]:
    """Show a bar with percentage, count, speed and time left: in a notebook, or on a terminal's standard error.

    Yields a function to call with the number of units just finished. `done` units were finished before, and do not
    count for the speed. A bar that `vanishes` is removed when an exception ends the work.

    Examples
    --------
    >>> from anchorot._progress import progress_bar
    >>> with progress_bar(10, "comparing", "pairs") as advance:
    ...     advance(10)
    """
    if enabled and _in_notebook():
        return _notebook_bar(total, description, unit, done, vanishes)
    if enabled and _on_terminal():
        return _terminal_bar(total, description, unit, done, vanishes)
    return nullcontext(no_progress)


@contextmanager
def late_bar(total: int, description: str, unit: str, enabled: bool = True) -> Iterator[Advance]:
    """Show a bar as :func:`progress_bar` does, but only after a second of work.

    `total` is an estimate: the bar stops there if more units are finished, and jumps there at the end. After an
    exception it vanishes. Other threads may call the function that it yields.

    Examples
    --------
    >>> from anchorot._progress import late_bar
    >>> with late_bar(10, "aligning", "steps") as advance:
    ...     advance(3)
    """
    if not (enabled and (_in_notebook() or _on_terminal())):
        yield no_progress
        return
    bar = _LateBar(total, description, unit)
    try:
        yield bar.advance
    except BaseException:
        bar.close(*sys.exc_info())
        raise
    bar.close()


class _LateBar:
    """A bar that a timer shows, in a separate thread: a single step may take minutes."""

    def __init__(self, total: int, description: str, unit: str) -> None:
        self._total, self._description, self._unit, self._done = total, description, unit, 0
        self._bar: AbstractContextManager[Advance] | None = None
        self._advance: Advance = no_progress
        self._lock, self._is_closed = threading.Lock(), False
        # The context says which cell of a notebook the bar is shown below.
        self._timer = threading.Timer(QUIET_SECONDS, copy_context().run, (self._show,))
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        with self._lock:
            if self._is_closed or not (_in_notebook() or _on_terminal()):
                return
            bar = progress_bar(self._total, self._description, self._unit, vanishes=True)
            self._advance = bar.__enter__()
            self._bar = bar
            self._advance(self._done)

    def advance(self, count: int) -> None:
        """Count finished units, at most up to the total."""
        with self._lock:
            if not self._is_closed:
                count = min(count, self._total - self._done)
                self._done += count
                self._advance(count)

    def close(self, *error: Any) -> None:
        """Complete the bar, or remove it after an error."""
        self._timer.cancel()
        with self._lock:
            self._is_closed = True
            if self._bar is None:
                return
            if error:
                with suppress(BaseException):  # the caller raises the error itself
                    self._bar.__exit__(*error)
            else:
                self._advance(self._total - self._done)
                self._bar.__exit__(None, None, None)


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which has imported IPython."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def _on_terminal() -> bool:
    """Whether standard error is an open terminal."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


@contextmanager
def _terminal_bar(total: int, description: str, unit: str, done: int, vanishes: bool) -> Iterator[Advance]:
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
        try:
            yield lambda count: bar.advance(task, count)
        except BaseException:
            bar.live.transient = vanishes
            raise


@contextmanager
def _notebook_bar(total: int, description: str, unit: str, done: int, vanishes: bool) -> Iterator[Advance]:
    """Show one output and update it: this needs no widgets, and is saved with the notebook."""
    from IPython.display import display

    bar = _NotebookBar(total, printable(description), unit, done)
    handle = display(bar, display_id=True)
    shown = time.monotonic()

    def advance(count: int) -> None:
        nonlocal shown
        bar.completed += count
        if time.monotonic() - shown >= REDRAW_SECONDS:
            handle.update(bar)
            shown = time.monotonic()

    try:
        yield advance
    except BaseException:
        handle.update({"text/plain": ""}, raw=True) if vanishes else handle.update(bar)
        raise
    handle.update(bar)


class _NotebookBar:
    """The state of the work, as text and as HTML."""

    def __init__(self, total: int, description: str, unit: str, done: int) -> None:
        self.total, self.description, self.unit = total, description, unit
        self.done_before, self.completed, self.begun = done, done, time.monotonic()

    def __repr__(self) -> str:
        return f"{self.description}: {self._status()}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bar = f'<progress value="{self.completed}" max="{max(self.total, 1)}"></progress>'
        return {"text/plain": repr(self), "text/html": f"<div>{escape(self.description)} {bar} {self._status()}</div>"}

    def _status(self) -> str:
        elapsed = time.monotonic() - self.begun
        speed = (self.completed - self.done_before) / elapsed if elapsed > 0 else 0.0
        parts = [
            f"{self.completed / self.total if self.total else 1:.0%}",
            f"{self.completed:,} of {self.total:,} {self.unit}",
        ]
        if speed:
            parts.append(_speed(speed, self.unit))
        if self.completed >= self.total:
            parts.append(f"in {_clock(elapsed)}")
        elif speed:
            parts.append(f"{_clock((self.total - self.completed) / speed)} left")
        return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"


def _speed(speed: float | None, unit: str) -> str:
    if speed is None:
        return ""
    return f"{speed:,.0f} {unit}/s" if speed >= 10 else f"{speed:.2g} {unit}/s"
