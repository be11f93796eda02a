"""Ctrl-C ends a long kernel at once, whatever the number of its threads, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.system

PATIENCE = 4.0  # seconds from the signal to the end of the kernel, among other tests; the kernels take ten and more

PROGRAM = """
import os, signal, sys
import numpy as np
from anchorot._kernels import kernels
from anchorot._kernels.records import to_heights
from anchorot._kernels.records import Events, PlaceMoves, RowItems, StepRows

signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores Ctrl-C for its children
rng = np.random.default_rng(0)


def step_costs(n, threads):
    value = np.sort(rng.normal(size=(n, 2000)), axis=1)
    rows = StepRows(value, np.broadcast_to(np.arange(1, 2001) / 2000, value.shape).copy())
    return lambda: kernels.step_costs(rows, rows, 3, threads)


def events(rows, atoms, spread):
    values = spread * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, atoms))
    order = np.argsort(values.ravel(), kind="stable")
    row = np.repeat(np.arange(rows, dtype=np.uint32), atoms)[order]
    jump = np.full(rows * atoms, to_heights(np.array(1 / atoms)))
    return Events(values.ravel()[order], row, jump, np.full(rows, 1 / rows))


def sweep(n, threads):
    x, y = events(n, 20, 0.0), events(n, 20, 0.001)
    return lambda: kernels.sweep_energy(x, y, threads)


def labelled(n, threads):
    place = np.sort(rng.normal(size=60 * n))
    target = rng.permutation(len(place)).astype(np.uint32)
    row = np.repeat(np.arange(n, dtype=np.uint32), 60)[rng.permutation(60 * n)]
    moves = PlaceMoves(np.sort(rng.random(60 * n)), row, target, np.zeros(n, np.uint32), place, 0.0, 1.0)
    items = RowItems(np.arange(n, dtype=np.uint32), np.ones(n))
    labels = rng.permuted(np.repeat(np.arange(n, dtype=np.uint8)[None] % 2, 4000, axis=0), axis=1)
    return lambda: kernels.labelled_energies(moves, items, labels, threads)


def space_levels(count, threads):
    costs = [rng.random((250, 250)) for _ in range(20)] * count
    return lambda: kernels.space_levels(costs, threads)[0][0]


def threads_alive():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


make, large, small = {
    "step_costs": (step_costs, 2000, 30), "sweep": (sweep, 150_000, 50),
    "labelled": (labelled, 20_000, 50), "space_levels": (space_levels, 1500, 1),
}[sys.argv[1]]
threads = int(sys.argv[2])
long_kernel, short_kernel = make(large, threads), make(small, threads)
expected, alive = short_kernel(), threads_alive()
print("ready", flush=True)
try:
    long_kernel()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert threads_alive() == alive
    np.testing.assert_array_equal(short_kernel(), expected)
"""


@pytest.mark.parametrize(
    ("name", "threads"),
    [
        ("step_costs", 1),
        ("step_costs", 3),
        ("sweep", 1),
        ("labelled", 1),
        ("labelled", 2),
        ("space_levels", 1),
        ("space_levels", 2),
    ],
)
def test_a_signal_ends_a_long_kernel(name, threads, native_only):
    environment = os.environ | {"ANCHOROT_KERNELS": "native", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, name, str(threads)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n", child.communicate()[1]
        time.sleep(0.4)
        assert child.poll() is None, "the kernel ended before the signal came"
        child.send_signal(signal.SIGINT)
        begin = time.perf_counter()
        assert child.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - begin < PATIENCE
        _, complaints = child.communicate(timeout=60)
    assert child.returncode == 0, complaints
