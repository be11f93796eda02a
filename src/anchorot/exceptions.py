"""The errors anchorot raises on purpose; each is also the built-in kind that callers expect."""

import errno
import sys
import warnings

LONGEST_LINE = 300  # libraries may quote all of a file


class AnchorotError(Exception):
    """Base of all errors that anchorot raises on purpose."""


class InputError(AnchorotError, ValueError):
    """An argument or a file does not hold what is needed; the message says what it got and what is needed."""


class ConvergenceWarning(UserWarning):
    """An iterative solver stopped before it converged; its result says ``converged=False``."""


class InputWarning(UserWarning):
    """Something about an input that the caller should know, and that does not stop the work."""


class MissingExtraError(AnchorotError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; get it with: pip install 'anchorot[{extra}]'")
        self._arguments = package, extra

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Pickle by what it was made from: it may come from a worker in another process."""
        return type(self), self._arguments


def note_input(text: str) -> None:
    """Warn with an `InputWarning` where anchorot was called."""
    frame, count = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "anchorot":
        frame, count = frame.f_back, count + 1
    warnings.warn(text, InputWarning, stacklevel=count)


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its kind if it says nothing; not all of it if it is very long."""
    said = str(error).strip()
    line = said.splitlines()[0] if said else type(error).__name__
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def find_shortage(error: BaseException | None) -> BaseException | None:
    """Return the shortage of memory that an error is, or that it was raised because of; None if it is about another."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return error
        error = error.__cause__ or error.__context__
    return None


def printable(text: str) -> str:
    r"""Return text that is safe in one line of a terminal: control characters, line ends and bad bytes as escapes.

    Names of files, labels and graphs come from outside, and may hold what moves a cursor or forges a line.

    Examples
    --------
    >>> from anchorot.exceptions import printable
    >>> printable("cat\x1b[31m\n")
    'cat\\x1b[31m\\n'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
