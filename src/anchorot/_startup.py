"""Ctrl-C while the command line is still importing: one line and an exit status, as later, and no traceback.

The package imports this module before all others. Other programs that import anchorot keep their own handling.
"""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPT_STATUS = 128 + signal.SIGINT  # what shells report of a program that Ctrl-C ended


def raise_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, once there is code that catches it."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """Exit at once: the module that is being imported could swallow or replace an exception."""
    with suppress(OSError):  # standard error may be closed
        os.write(2, b"anchorot: interrupted\n")
    os._exit(INTERRUPT_STATUS)


def _is_command_line() -> bool:
    """Whether this process was started as `anchorot` or `python -m anchorot`."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # until the module is found; orig_argv has its name before the same arguments
        program = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    return os.path.splitext(os.path.basename(program))[0] == "anchorot"


if _is_command_line() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
