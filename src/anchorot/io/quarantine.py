"""Libraries that crash or hang on damaged files, HDF5 and SciPy's MATLAB reader, kept out of this process.

Both are compiled code that trusts what a file says of itself, and no check of ours in front of them would be complete.
So a process of its own reads such files, with bounds on time and memory set by the operating system: whatever a file
does, only that process is lost. The alternative, readers of our own that check every length, is a hundred lines for
MATLAB files and out of the question for HDF5. What speaks against a process is the time that it takes to start; so one
of them, which never looks into a file itself, stays and forks for every file (see `quarantine_process.py`).
"""

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from anchorot.exceptions import AnchorotError, InputError
from anchorot.io.gate import opened

FORKS = hasattr(os, "fork")
PROGRAM = Path(__file__).with_name("quarantine_process.py")
BAD_FILE, TOO_LONG = 2, -14  # how a reader ends on a bad file, and by SIGALRM
PATIENCE = 30.0  # seconds to wait for any file,
SLOWEST = 5e6  # and bytes a second that are waited for
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a process that forks must have no others

_idle: list["subprocess.Popen[str]"] = []
_lock = threading.Lock()


def quarantined(reader: str, file: Path, limit: int, **options: str) -> dict[str, Any]:
    """Return the arrays that one of the `READERS` finds in a file; at most `limit` bytes of them."""
    with opened(file) as handle:  # what the system has to say about the file is raised as it is
        patience = PATIENCE + os.fstat(handle.fileno()).st_size / SLOWEST
    with TemporaryDirectory() as folder:
        result, told = Path(folder) / "found.npz", Path(folder) / "told"
        paths = {"path": str(file.resolve()), "result": str(result), "told": str(told)}
        request = {"reader": reader, **paths, "seconds": int(patience) + 1, "bytes": limit, "options": options}
        status = _status_of(json.dumps(request), patience)
        if status == BAD_FILE:
            raise InputError(told.read_text("utf-8"))
        if status == TOO_LONG:
            raise InputError(f"not a file that can be read (it took more than {patience:.0f} s)")
        if status:
            raise InputError(
                f"not a file that can be read (the reader of {file.suffix} ended with status {status} on it)"
            )
        with np.load(result, allow_pickle=False) as found:
            return dict(found)


def _status_of(request: str, patience: float) -> int:
    """Have one of the processes read a file, and return how that ended."""
    if not FORKS:
        return _status_alone(request, patience)
    for _ in range(2):  # one that has been idle may have been ended by somebody
        process = _idle_process()
        answer = ""
        try:
            answer = _answer(process, request)
        finally:
            if answer:
                with _lock:
                    _idle.append(process)
            else:  # also if we are interrupted: its answer would be taken for that to the next request
                _end(process)
        if answer:
            return int(answer)
    raise AnchorotError("the process that reads .h5ad and .mat files ends before it has read any")


def _answer(process: "subprocess.Popen[str]", request: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{request}\n")
        process.stdin.flush()
    except BrokenPipeError:
        return ""
    return process.stdout.readline()


def _status_alone(request: str, patience: float) -> int:
    """Where no process can fork, start one for this file alone."""
    try:
        done = subprocess.run(_command(), input=request, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return TOO_LONG
    return int(done.stdout) if done.stdout else done.returncode or 1


def _command() -> list[str]:
    return [sys.executable, "-I", "-W", "ignore", str(PROGRAM)]


def _idle_process() -> "subprocess.Popen[str]":
    with _lock:
        if _idle:
            return _idle.pop()
    return subprocess.Popen(
        _command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **ONE_THREAD},
        text=True,
        start_new_session=True,  # Ctrl-C is for whoever asked, and the whole group can be ended
    )


def _end(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()  # type: ignore[union-attr]


@atexit.register
def _end_all() -> None:
    while _idle:
        _end(_idle.pop())


def _forget_all() -> None:
    """In a forked child: the processes are the parent's."""
    global _lock
    _lock = threading.Lock()
    for process in _idle:
        process.returncode = 0  # or it would warn that one is left behind
    _idle.clear()


if FORKS:
    os.register_at_fork(after_in_child=_forget_all)
