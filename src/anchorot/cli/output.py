"""What commands print for people and programs; how they end on errors: one line and an exit status."""

import json
import math
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

import typer

from anchorot._startup import INTERRUPT_STATUS, raise_interrupts
from anchorot.exceptions import AnchorotError, MissingExtraError, find_shortage, first_line, printable
from anchorot.io.files import read
from anchorot.space import Space

if TYPE_CHECKING:
    from rich.table import Table

LOG_SECONDS = 30.0  # between two lines about the current step, where there is no terminal
FAILURE_STATUS = 2  # exit status of every error; 1 is Python's own, of a traceback
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
STDOUT = "standard output"
INDEX_BEFORE_FILE = re.compile(r"^spaces\[\d+\]: (?=[^:]*[./][^:]*: )")  # commands are given files, not an indexed list
# in messages of PyTorch, which has no separate class for memory errors on a CPU
TORCH_SHORTAGE = ("can't allocate memory", "not enough memory", "out of memory")
# newer versions of Typer bundle click, older ones import it: this is the class in both
ClickException: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def print_json(found: dict[str, Any]) -> None:
    """Print one JSON object; NaN and infinity, which JSON lacks, become null."""
    print(json.dumps(_finite(found), allow_nan=False), flush=True)


def _finite(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _finite(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_finite(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def print_table(table: "Table", *lines: str) -> None:
    """Print a title, a table and lines of text."""
    from rich.console import Console

    console = Console()
    title, table.title = table.title, None  # a title of the table itself would be as narrow as the table
    for part in (title, table, *lines):
        console.print(part)


def print_facts(title: str, facts: Mapping[str, object], *lines: str, head: str = "") -> None:
    """Print a table of names and values, below `head`, and lines of text below it."""
    table = new_table(title, "", head)
    for name, value in facts.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    print_table(table, *lines)


def new_table(title: str, *columns: str) -> "Table":
    """Return an empty table; columns after the first are right-aligned, long texts wrap, and markup is escaped."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(printable(title), style="italic"))
    for number, column in enumerate(columns):
        table.add_column(plain(column), justify="right" if number else "left", overflow="fold")
    return table


def plain(text: str) -> str:
    """Return untrusted text, such as a name, without markup of rich or control characters of a terminal."""
    from rich.markup import escape

    return escape(printable(text))


@contextmanager
def doing(what: str, also: str = "") -> Iterator[None]:
    """If memory runs out, say during which step, and what helps besides fewer points."""
    try:
        yield
    except Exception as error:
        if (shortage := no_memory(error, what, also)) is None:
            raise
        raise shortage from None


@contextmanager
def _status(shown: str) -> Iterator[None]:
    """Show the current step: permanently on a terminal, elsewhere as a line now and then."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(plain(shown)) if console.is_terminal else _repeated_on_stderr(shown):
        yield


@contextmanager
def _repeated_on_stderr(shown: str) -> Iterator[None]:
    """Print the current step on standard error every half minute, for readers of a log."""
    begin, is_done = time.monotonic(), threading.Event()

    def repeat() -> None:
        while not is_done.wait(LOG_SECONDS):
            say(f"anchorot: {printable(shown)}, {time.monotonic() - begin:.0f} s so far")

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


class Stopwatch:
    """Seconds per step, by name; shows the current step, or logs it now and then."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str, shown: str) -> Iterator[None]:
        """Time a block of code and add it to those of the same name; `shown` is displayed meanwhile."""
        start = time.perf_counter()
        with _status(shown), doing(shown):
            yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def check_extra(package: str, extra: str) -> None:
    """Report a missing package before the work, not after."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtraError(package, extra)


def read_both(a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch) -> tuple[Space, Space]:
    """Read two spaces, and time both."""
    with stopwatch("read_a", f"reading {a.name}"):
        x = read(a, **reading)
    with stopwatch("read_b", f"reading {b.name}"):
        y = read(b, **reading)
    return x, y


def run(app: Callable[..., Any]) -> NoReturn:
    """Run the command line and exit; bad input ends in one line on standard error and status 2."""
    _replace_closed_streams()
    warnings.showwarning = show_note
    _end_tidily_by_signals()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that the terminal's encoding lacks
    sys.stdout = cast(TextIO, _NamedOutput(sys.stdout))
    try:
        raise_interrupts()
        status = app(prog_name="anchorot", standalone_mode=False)
        sys.stdout.flush()
    except ClickException as error:
        _leave_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPT_STATUS
    except Exception as error:
        if isinstance(error, AnchorotError):
            leave(INDEX_BEFORE_FILE.sub("", str(error)))
        if (shortage := no_memory(error)) is not None:
            leave(str(shortage))
        if isinstance(error, OSError):
            leave(describe_os_error(error))
        raise  # a bug
    if status == INTERRUPT_STATUS:
        leave("interrupted", INTERRUPT_STATUS)
    sys.exit(status if isinstance(status, int) else 0)


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """If work with a checkpoint is interrupted, say that it can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        leave("interrupted; run the same command to resume", INTERRUPT_STATUS)


def show_note(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning as one line, without its position in the source code."""
    say(f"anchorot: note: {printable(str(message))}")


def leave(message: str, status: int = FAILURE_STATUS, command: str = "anchorot") -> NoReturn:
    """Print one line and exit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C does not wait for threads, and leaves no traceback
    say(f"{command}: {printable(message)}")
    sys.exit(status)


def say(line: str) -> None:
    """Print a line on standard error, if it is open."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def no_memory(error: Exception, doing: str = "", also: str = "") -> AnchorotError | None:
    """Return an error with advice if this one means that memory ran out; None for other errors."""
    shortage = find_shortage(error)
    if shortage is None and isinstance(error, RuntimeError) and any(words in str(error) for words in TORCH_SHORTAGE):
        shortage = error
    if shortage is None:
        return None
    line = first_line(shortage)
    reason = "" if line in ("MemoryError", "std::bad_alloc") else f" ({line})"
    when = f" while {doing}" if doing else ""
    return AnchorotError(f"out of memory{when}{reason}; keep fewer points of each space with --n-points{also}")


def describe_os_error(error: OSError) -> str:
    """Return the system's message, with the name of the file."""
    if error.filename is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {error.strerror}"


class _NamedOutput:
    """Standard output, with errors that name it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._naming():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._naming():
            self._stream.flush()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _discard(self._stream)
            raise OSError(error.errno, error.strerror, STDOUT) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _discard(stream: TextIO) -> None:
    """Discard what is not yet flushed: the interpreter would report it again when it exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _replace_closed_streams() -> None:
    """Redirect closed streams to the null device; exit if standard output is closed.

    Otherwise the next file that is opened gets the number of the closed stream, and with it all that libraries or child
    processes write to that stream.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        number = ("stdin", "stdout", "stderr").index(name)
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115
    if "stdout" in closed:
        leave(f"{STDOUT}: is closed; send it to a file or to {os.devnull}")


def _leave_usage(error: Any) -> NoReturn:
    """Report a wrong use of a command; if it has no arguments at all, its help has been shown."""
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.exit(FAILURE_STATUS)
    command = "anchorot" if error.ctx is None else error.ctx.command_path
    message = " ".join(error.format_message().split()).rstrip(".")
    leave(f"{message} (see: {command} --help)", command=command)


def _end_tidily_by_signals() -> None:
    """Exit cleanly on signals that end a program, so that the cursor reappears and temporary files are removed."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # a second signal ends it at once
        sys.exit(128 + number)

    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores it
            signal.signal(number, end)
