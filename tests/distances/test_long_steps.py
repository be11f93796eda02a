"""Signals interrupt compiled code at once, even in steps that take minutes."""

import hashlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import anchorot as ao

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers that send signals"),
]


PATIENCE = 1.5  # seconds from the signal to the end of the call; the step under way takes three


class EndedError(Exception):
    """What the signal raises."""


def long_step(*_, **__):
    """Compute for three seconds in compiled code, which ignores signals but releases the interpreter's lock."""
    end = time.perf_counter() + 3
    begin, count = time.perf_counter(), 100_000
    hashlib.pbkdf2_hmac("sha256", b"", b"", count)
    each = (time.perf_counter() - begin) / count
    hashlib.pbkdf2_hmac("sha256", b"", b"", max(1, int((end - time.perf_counter()) / each)))


def seconds_to_end(call):
    """How long a call goes on after a signal that raises an exception."""
    sent = []

    def end(number, frame):
        raise EndedError

    before = signal.signal(signal.SIGALRM, end)
    try:
        sent.append(time.perf_counter() + 0.7)
        signal.setitimer(signal.ITIMER_REAL, 0.7)
        with pytest.raises(EndedError):
            call()
        return time.perf_counter() - sent[0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr("anchorot._parallel.MAX_QUICK_POINTS", 10)


def cloud(n, seed):
    return ao.from_points(np.random.default_rng(seed).normal(size=(n, 3)))


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("scipy.optimize.linear_sum_assignment", lambda: ao.align(cloud(30, 0), cloud(30, 1))),
        ("ot.emd", lambda: ao.align(cloud(30, 0), cloud(25, 1))),
        ("ot.emd", lambda: ao.align(cloud(30, 0), cloud(30, 1), mass=0.8)),
        ("scipy.spatial.KDTree", lambda: ao.align(cloud(30, 0), cloud(30, 1), n_landmarks=10)),
        ("ot.emd", lambda: ao.gromov_wasserstein(cloud(30, 0), cloud(25, 1))),
        ("ot.emd", lambda: ao.anchor_wasserstein(cloud(30, 0), cloud(25, 1), epsilon=0)),
        ("scipy.optimize.linear_sum_assignment", lambda: ao.lower_bounds(cloud(30, 0), cloud(30, 1))),
    ],
    ids=["align", "sizes", "mass", "dense", "gromov", "wasserstein", "bounds"],
)
def test_a_signal_interrupts_a_long_step(name, call, monkeypatch):
    pytest.importorskip("ot")
    assert threading.current_thread() is threading.main_thread()
    package, _, function = name.rpartition(".")
    __import__(package)
    monkeypatch.setattr(sys.modules[package], function, long_step)
    assert seconds_to_end(call) < PATIENCE


@pytest.mark.usefixtures("few_are_many")
def test_results_errors_and_warnings_are_those_of_a_plain_call(monkeypatch):
    x, y = cloud(12, 0), cloud(12, 1)
    beside = ao.align(x, y)
    monkeypatch.setattr("anchorot._parallel.MAX_QUICK_POINTS", 1000)
    np.testing.assert_array_equal(beside.plan, ao.align(x, y).plan)
    monkeypatch.setattr("anchorot._parallel.MAX_QUICK_POINTS", 1)
    with pytest.raises(ao.InputError, match="exceed the range of float64"):
        ao.gromov_wasserstein(x.cost * 1e200, y.cost * 1e200)
    with pytest.warns(ao.ConvergenceWarning):
        ao.anchor_wasserstein(x, y, epsilon=1e-6, max_iter=1)


def test_abandoned_work_ends_at_its_next_step():
    interruptible = sys.modules["anchorot._parallel"].interruptible
    steps = []

    def work():
        for _ in range(600):
            steps.append(time.sleep(0.01))

    assert seconds_to_end(lambda: interruptible(work)) < PATIENCE
    time.sleep(0.2)
    count = len(steps)
    time.sleep(0.2)
    assert len(steps) == count < 600


# -- commands ------------------------------------------------------------------------------------------------------

STUCK = """
import hashlib, sys
import scipy.optimize
import anchorot._parallel
from anchorot.cli import main

def assignment(*_, **__):
    print("begun", file=sys.stderr, flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)

scipy.optimize.linear_sum_assignment, anchorot._parallel.MAX_QUICK_POINTS = assignment, 10
main()
"""


@pytest.mark.system
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_command_ends_within_a_second_or_so_of_a_signal(number, tmp_path):
    np.save(tmp_path / "a.npy", cloud(30, 0).cost)
    np.save(tmp_path / "b.npy", cloud(30, 1).cost)
    words = [sys.executable, "-c", STUCK, "match", "a.npy", "b.npy", "--report", "r.html"]
    listen = {signal.SIGINT: signal.default_int_handler}  # a parent in the background ignores Ctrl-C for its children
    before = {each: signal.signal(each, handler) for each, handler in listen.items()}
    try:
        with subprocess.Popen(
            words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        ) as child:
            assert child.stderr.readline() == "begun\n", child.communicate()[1]
            begin = time.perf_counter()
            child.send_signal(number)
            killer = threading.Timer(10, child.kill)
            killer.start()
            _, said = child.communicate()
            killer.cancel()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert time.perf_counter() - begin < 2 * PATIENCE  # the interpreter's own end takes a part of it
    assert child.returncode == 128 + number
    assert said in ("", "anchorot: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npy"]
