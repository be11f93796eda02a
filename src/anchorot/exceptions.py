"""Errors and warnings of anchorot; each error is also of the built-in type that callers expect."""

import errno
import sys
import warnings
from typing import Any

MAX_LINE_LENGTH = 300  # characters; libraries may quote a whole file


class AnchorotError(Exception):
    """Base of all errors that anchorot raises on purpose."""


class InputError(AnchorotError, ValueError):
    """An argument or a file is invalid; the message says what was given and what is needed."""


class ConvergenceWarning(UserWarning):
    """An iterative solver stopped before it converged; its result says ``converged=False``."""


class InputWarning(UserWarning):
    """A property of an input that the caller should know about; the call continues."""


class MissingExtraError(AnchorotError, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; get it with: pip install 'anchorot[{extra}]'")
        self._arguments = package, extra

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Pickle by its arguments: the error may come from a worker process."""
        return type(self), self._arguments


def note_input(text: str) -> None:
    """Issue an `InputWarning` at the line that called anchorot."""
    frame, count = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "anchorot":
        frame, count = frame.f_back, count + 1
    warnings.warn(text, InputWarning, stacklevel=count)


def type_of(value: Any) -> str:
    """Return the name of a value's type with its article, for a message."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' or name == 'ndarray' else 'a'} {name}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, shortened if very long; the type's name if there is no message."""
    message = str(error).strip()
    line = message.splitlines()[0] if message else type(error).__name__
    return line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}..."


def find_shortage(error: BaseException | None) -> BaseException | None:
    """Return the out-of-memory error that this error is, or was caused by; None if there is none."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return error
        error = error.__cause__ or error.__context__
    return None


def printable(text: str) -> str:
    r"""Return text that is safe in one line of a terminal: control characters, line ends and invalid bytes are escaped.

    Names of files, labels and graphs are untrusted: they could move the cursor or forge a line of output.

    Examples
    --------
    >>> from anchorot.exceptions import printable
    >>> printable("cat\x1b[31m\n")
    'cat\\x1b[31m\\n'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
