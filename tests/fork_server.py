"""Processes that have imported the command line before they begin: forked from one that waits, at a tenth of the cost.

Each is its own process, with its own folder, environment, signals and standard streams, as if started anew; what
the waiting one has read from its environment when it imported stays as it was.
"""

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

# What most commands import when they work, and take long to: packages of others only, for ours must find their own.
AHEAD = [
    "faiss",
    "matplotlib.backends.backend_agg",
    "ot",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.spatial.distance",
    "typer._adapters",  # of newer ones, which brings pydantic
]


class ForkServer:
    """The caller's side: sends programs to the process that waits."""

    def __init__(self, *ahead):
        self._ours, theirs = socket.socketpair()
        names = [*AHEAD, *ahead]
        command = [sys.executable, "-c", f"from tests.fork_server import serve; serve({theirs.fileno()}, {names})"]
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        with theirs:
            self._process = subprocess.Popen(
                command,
                env=os.environ | {"PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,  # which its forks replace by others
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the tests; without them it ends by itself
            )
        atexit.register(self._close)

    def run(self, program, arguments, folder, environment):
        """Run a program, and return its status and both streams."""
        job = {"program": program, "arguments": arguments, "folder": folder, "environment": environment}
        (stdout, stdout_end), (stderr, stderr_end) = os.pipe(), os.pipe()
        socket.send_fds(self._ours, [b"\n"], [stdout_end, stderr_end])
        os.close(stdout_end)
        os.close(stderr_end)
        self._ours.sendall(json.dumps(job).encode() + b"\n")
        with ThreadPoolExecutor(1) as pool:
            errors = pool.submit(_read, stderr)
            output = _read(stdout)
            status = self._ours.recv(64)
            assert status, f"the waiting process has ended: {self._process.communicate()[1].decode()}"
            return int(status), output, errors.result()

    def _close(self):
        self._ours.close()
        self._process.communicate()


@cache
def fork_server(*ahead):
    """The waiting process that has imported these as well, started when it is first asked for."""
    return ForkServer(*ahead)


def _read(descriptor):
    with open(descriptor, encoding="utf-8", errors="surrogateescape") as stream:
        return stream.read()


def serve(descriptor, names):
    """Import these, and wait for programs; a fork of this process runs each, and this one tells its status."""
    channel = socket.socket(fileno=descriptor)
    lines = channel.makefile("r")
    import_module("anchorot.cli")
    for name in names:
        with suppress(ModuleNotFoundError):
            import_module(name)
    gc.freeze()  # or each fork would, when it ends, look at all that was imported, and so copy it
    while descriptors := socket.recv_fds(channel, 1, 2)[1]:
        job = json.loads(lines.readline())
        child = os.fork()
        if child == 0:
            channel.close()
            lines.close()
            _become(job, descriptors)
            return
        for own in descriptors:
            os.close(own)
        channel.sendall(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(job, descriptors):
    for own, standard in zip(descriptors, (1, 2), strict=True):
        os.dup2(own, standard)
        os.close(own)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    tempfile.tempdir = None  # look for it again: what is imported ahead has asked for it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["-c", *job["arguments"]]
    exec(compile(job["program"], "<string>", "exec"), {"__name__": "__main__"})
