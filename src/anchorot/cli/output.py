"""What commands say to people and to programs, and how they end: one line, and a status that scripts know."""

import json
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
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

LOG_SECONDS = 30.0  # seconds between two lines about what is under way, where there is no terminal
FAILURE_STATUS = 2
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
STDOUT = "standard output"
# what PyTorch says, whose errors of memory are of no kind of their own on a CPU
TORCH_SHORTAGE = ("can't allocate memory", "not enough memory", "out of memory")
# newer Typer bundles click and older ones import it: this is the kind of either
ClickException: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def print_json(found: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON lacks, NaN and infinity, become null."""
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
    with console.status(plain(shown)) if console.is_terminal else _repeated_on_stderr(shown):
        yield


@contextmanager
def _repeated_on_stderr(shown: str) -> Iterator[None]:
    """Say on standard error, every half minute, that something is under way, for who reads a log."""
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
    """Seconds that each step took, by name; the step under way is shown, or written to a log now and then."""

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
    """Report a missing package before the work, not after."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtraError(package, extra)


def read_both(a: Path, b: Path, reading: dict[str, Any], stopwatch: Stopwatch) -> tuple[Space, Space]:
    """Read two spaces, and time each."""
    with stopwatch("read_a", f"reading {a.name}"):
        x = read(a, **reading)
    with stopwatch("read_b", f"reading {b.name}"):
        y = read(b, **reading)
    return x, y


def run(app: Callable[..., Any]) -> NoReturn:
    """Run the command line, and leave: bad input is one line on standard error and status 2."""
    _replace_closed_streams()
    warnings.showwarning = show_note
    _end_tidily_by_signals()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal's encoding lacks is no error
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
        said = _describe_error(error)
        if said is None:
            raise
        leave(said)
    if status == INTERRUPT_STATUS:
        leave("interrupted", INTERRUPT_STATUS)
    sys.exit(status if isinstance(status, int) else 0)


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Say, if a block is interrupted that fills a checkpoint, that its work is not lost."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        leave("interrupted; run the same command to resume", INTERRUPT_STATUS)


def show_note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as one line, without the place in the source, which is of no use at a terminal."""
    say(f"anchorot: note: {printable(str(message))}")


def leave(message: str, status: int = FAILURE_STATUS, command: str = "anchorot") -> NoReturn:
    """Say why in one line, and end the program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C does not wait for threads, and leaves no traceback
    say(f"{command}: {printable(message)}")
    sys.exit(status)


def say(line: str) -> None:
    """Say a line on standard error, if anything can be said there."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def no_memory(error: Exception, doing: str = "", also: str = "") -> AnchorotError | None:
    """Return what to say about an error that is a shortage of memory; None if it is another."""
    shortage = find_shortage(error)
    if shortage is None and isinstance(error, RuntimeError) and any(words in str(error) for words in TORCH_SHORTAGE):
        shortage = error
    if shortage is None:
        return None
    said = first_line(shortage)
    reason = "" if said in ("MemoryError", "std::bad_alloc") else f" ({said})"
    when = f" while {doing}" if doing else ""
    return AnchorotError(f"out of memory{when}{reason}; keep fewer points of each space with --n-points{also}")


def describe_os_error(error: OSError) -> str:
    """Return what the system says went wrong, and with which file."""
    if error.filename is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {error.strerror}"


class _NamedOutput:
    """Standard output, whose errors say that they are its own."""

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
    """Send what is still to be flushed nowhere: the interpreter would complain of it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _replace_closed_streams() -> None:
    """Let streams that are closed lead nowhere, and end at once if standard output, where results go, is one of them.

    Python has no object for a closed stream; but the next file that is opened would get its number, and with it
    whatever libraries or child processes write to that stream.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        number = ("stdin", "stdout", "stderr").index(name)
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115
    if "stdout" in closed:
        leave(f"{STDOUT}: is closed; send it to a file or to {os.devnull}")


def _leave_usage(error: Any) -> NoReturn:
    """Report options and arguments that do not fit a command; without any, its help has been shown."""
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.exit(FAILURE_STATUS)
    command = "anchorot" if error.ctx is None else error.ctx.command_path
    said = " ".join(error.format_message().split()).rstrip(".")
    leave(f"{said} (see: {command} --help)", command=command)


def _describe_error(error: Exception) -> str | None:
    """Return what to say about an error that is not a bug of this program; None for any other."""
    if isinstance(error, AnchorotError):
        return str(error)
    if (shortage := no_memory(error)) is not None:
        return str(shortage)
    return describe_os_error(error) if isinstance(error, OSError) else None


def _end_tidily_by_signals() -> None:
    """Let signals that end a program unwind it first, so that cursors reappear and temporary files do not stay."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)  # the second one means it
        sys.exit(128 + number)

    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup it is ignored, and stays so
            signal.signal(number, end)
