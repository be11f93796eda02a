"""Estimates of memory: they cover what is really taken, and nothing is begun that would not fit."""

import subprocess
import sys

import numpy as np
import pytest

import anchorot as ao
from anchorot import _memory, _validate

# The estimates are of the compiled kernels; NumPy's raise a MemoryError.
pytestmark = pytest.mark.system

WEIGHTS = np.arange(1.0, 4.0) / 6
ACTIONS = {
    "points": "ao.from_points(x)",
    "points of single precision": "ao.from_points(x, dtype=np.float32)",
    "graph": "ao.from_graph(ring)",
    "graph with lengths": "ao.from_graph(ring, True)",
    "features": "ao.AnchorFeatures.of(uniform)",
    "weighted features": "ao.AnchorFeatures.of(weighted)",
    "ranks": "uniform.ranked()",
}
MEASURE = """
import numpy as np, scipy.spatial.distance, scipy.sparse as sp, scipy.sparse.csgraph, rustworkx
import anchorot as ao
from anchorot import _validate
n = 2500
rng = np.random.default_rng(0)
x, w = rng.normal(size=(n, 3)), rng.random(n)
ring = sp.coo_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n)).tocsr()
uniform = weighted = None
if {needs_space}:
    uniform = ao.Space(rng.random((n, n)), copy=False)
    weighted = ao.Space(uniform.cost, w / w.sum(), copy=False)
else:
    ao.from_graph([(0, 1)])
def status(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key))
needed = []
class Free:
    def __lt__(self, other):  # needed > free
        needed.append(other)
        return False
_validate.free_memory = Free
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = status("VmRSS")
{action}
print(max(needed), status("VmHWM") - before)
"""


@pytest.mark.parametrize("what", ACTIONS)
def test_estimates_cover_what_is_taken_and_not_much_more(what):
    space = any(word in what for word in ("features", "ranks"))
    code = MEASURE.format(action=ACTIONS[what], needs_space=space)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    estimated, taken = map(float, done.stdout.split())
    assert taken < 1.15 * estimated + 32e6
    assert estimated < 1.6 * taken


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (lambda: ao.from_points(np.zeros((3, 2))), "costs between 3 points"),
        (lambda: ao.from_graph([(0, 1), (1, 2)]), "costs between 3 points"),
        (lambda: ao.from_mesh((np.eye(3), [[0, 1, 2]]), geodesic="edge"), "costs between 3 points"),
        (lambda: ao.AnchorFeatures.of(np.eye(3)), "features of 3 points"),
        (lambda: ao.Space(np.eye(3)).ranked(), "ranks of 3 points"),
        (lambda: ao.anchor_energy(ao.Space(np.eye(3), WEIGHTS), np.eye(3)), "features of 3 points"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(monkeypatch, work, what):
    monkeypatch.setattr(_validate, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(_validate, "free_memory", lambda: 20.0)
    with pytest.raises(ao.InputError, match=rf"{what} take \S+ GiB, but \S+ GiB of memory are free; keep fewer points"):
        work()


def test_the_least_of_all_limits_counts(monkeypatch):
    files = {
        "/proc/meminfo": ["MemTotal: 100 kB", "MemAvailable:   50 kB"],
        "/sys/fs/cgroup/memory.max": ["40000"],
        "/sys/fs/cgroup/memory.current": ["30000"],
        "/sys/fs/cgroup/memory.stat": ["anon 20000", "inactive_file 5000"],
    }
    monkeypatch.setattr(_memory, "_lines", lambda path: files.get(path, []))
    assert _memory.free_memory() == 15000
    files["/sys/fs/cgroup/memory.max"] = ["max"]
    assert _memory.free_memory() == 50 * 1024
    monkeypatch.setattr("resource.getrlimit", lambda what: (7000, 8000))
    assert _memory.free_memory() == 7000


def test_work_that_would_not_fit_is_refused_before_compiled_code_ends_the_process():
    code = """
import resource, sys
import numpy as np
import anchorot as ao, rustworkx, scipy.sparse.csgraph
ao.from_graph([(0, 1)])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), -1))
try:
    ao.from_graph(np.stack([np.arange(30000), np.arange(1, 30001)], axis=1))
except ao.InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "costs between 30001 points take 7.54 GiB, but " in done.stdout
