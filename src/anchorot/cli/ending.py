"""How a command ends: one line for whatever went wrong, a status that scripts know, and the terminal as it was."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TextIO

import typer

import anchorot as ao
from anchorot.exceptions import find_shortage, first_line, printable

FAILED = 2
INTERRUPTED = 128 + signal.SIGINT
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
STDOUT = "standard output"
# what PyTorch says, whose errors of memory are of no kind of their own on a CPU
TORCH_SHORTAGE = ("can't allocate memory", "not enough memory", "out of memory")
# newer Typer bundles click and older ones import it: this is the kind of either
ClickException: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run(app: Callable[..., Any]) -> NoReturn:
    """Run the command line, and leave: bad input is one line on standard error and status 2."""
    warnings.showwarning = show_note
    _end_tidily_by_signals()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal's encoding lacks is no error
    try:
        status = app(prog_name="anchorot", standalone_mode=False)
    except ClickException as error:
        _leave_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except Exception as error:
        said = _said(error)
        if said is None:
            raise
        leave(said)
    if status == INTERRUPTED:
        leave("interrupted", INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def show_note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as one line, without the place in the source, which is of no use at a terminal."""
    print(f"anchorot: note: {printable(str(message))}", file=sys.stderr)


def leave(message: str, status: int = FAILED, command: str = "anchorot") -> NoReturn:
    """Say why in one line, and end the program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C does not wait for threads, and leaves no traceback
    print(f"{command}: {printable(message)}", file=sys.stderr)
    sys.exit(status)


def no_memory(error: Exception, doing: str = "", also: str = "") -> ao.AnchorotError | None:
    """Return what to tell of an error that is a shortage of memory; None if it is another."""
    shortage = find_shortage(error)
    if shortage is None and isinstance(error, RuntimeError) and any(words in str(error) for words in TORCH_SHORTAGE):
        shortage = error
    if shortage is None:
        return None
    said = first_line(shortage)
    reason = "" if said in ("MemoryError", "std::bad_alloc") else f" ({said})"
    when = f" while {doing}" if doing else ""
    return ao.AnchorotError(f"out of memory{when}{reason}; keep fewer points of each space with --n-points{also}")


def describe_os_error(error: OSError) -> str:
    """Return what the system says went wrong, and with which file."""
    if error.filename is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {error.strerror}"


@contextmanager
def writes_to_stdout() -> Iterator[None]:
    """Flush what a block prints, and let an error name standard output."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        _discard_stdout()
        raise OSError(error.errno, error.strerror, STDOUT) from None


def _discard_stdout() -> None:
    """Send what is still to be flushed nowhere: the interpreter would complain of it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _leave_usage(error: Any) -> NoReturn:
    """Tell of options and arguments that do not fit a command; without any, its help has been shown."""
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.exit(FAILED)
    command = "anchorot" if error.ctx is None else error.ctx.command_path
    said = " ".join(error.format_message().split()).rstrip(".")
    leave(f"{said} (see: {command} --help)", command=command)


def _said(error: Exception) -> str | None:
    """Return what to tell of an error that is not this program's own; None of any other."""
    if isinstance(error, ao.AnchorotError):
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
