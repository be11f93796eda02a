"""A run long enough to be killed in the middle, in its own process, and what it and killed jobs leave on disk."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anchorot as ao
from anchorot.many import shards

PROGRAM = """
import sys
import numpy as np
import anchorot as ao

def spaces():
    rng = np.random.default_rng(0)
    n = 60 if ao.config.config()["kernels"] == "numpy" else 400  # about as long to compare
    return [rng.uniform(size=(n, n)) * rng.uniform(0.5, 2) for _ in range(60)]

if __name__ == "__main__":
    folder, backend = sys.argv[1:]
    np.save(folder + ".npy", ao.pairwise(spaces(), checkpoint=folder, backend=backend, n_jobs=2, tile=4))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def matrices(program):
    names = {"__name__": "imported"}
    exec(program.read_text(), names)
    return names["spaces"]()


@pytest.fixture(scope="module")
def unbroken(matrices):
    return ao.pairwise(matrices, n_jobs=1)


def tiles_of(folder):
    return sorted(path for path in folder.glob("*.npy") if not path.name.startswith("."))


def start(program, folder, backend="threads"):
    command = [sys.executable, str(program), str(folder), backend]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def children_of(pid):
    """Processes that a process has started, and those that these have started."""
    found = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True, check=False)
    own = [int(line) for line in found.stdout.split()]
    return [*own, *(grandchild for child in own for grandchild in children_of(child))]


def none_is_left_of(pids):
    """Whether all processes end within seconds; some are in their own groups."""

    def is_gone(pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return Path(f"/proc/{pid}/stat").is_file() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"

    wait_until(lambda: all(map(is_gone, pids)), 20)
    return True


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Let jobs show many signs of life; a lease stays long, so that no busy machine makes a living one lost."""
    monkeypatch.setattr(shards, "BEAT_SECONDS", 0.02)


@pytest.fixture
def short_lease(monkeypatch):
    monkeypatch.setattr(shards, "LEASE_SECONDS", 0.4)


def leave_behind(folder, *files, age=3600.0):
    """Claim files as a job does that is killed then, and was so some seconds ago; return its sign of life."""
    claims = shards.Claims(folder, "killed")
    claims._heart.start = lambda: None
    claims.__enter__()
    assert all(claims.take(folder / file) for file in files)
    seen = claims._job.stat().st_mtime - age
    os.utime(claims._job, (seen, seen))
    return claims._job
