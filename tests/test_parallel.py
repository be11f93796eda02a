"""Threads and processes that do the same to many things: every task once, errors as they are, nothing left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot import _parallel
from anchorot._parallel import (
    CannotStartError,
    LostProcessError,
    Processes,
    StoppedError,
    Threads,
    cores,
    n_workers,
)
from tests.many.long_runs import none_is_left_of, wait_until


def square(x):
    return x * x


def die_of(x):
    """End the process at one task, by the signal -x."""
    if x < 0:
        os.kill(os.getpid(), -x)
    return x


class Counting:
    """Remembers how often it was called, and in which process."""

    count = 0

    def __call__(self, task):
        self.count += 1
        return os.getpid(), self.count


# -- threads -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers()), st.integers(1, 4), st.booleans())
def test_every_task_is_done_once(tasks, n, in_order):
    with Threads(n) as threads:
        found = list(threads.map(square, tasks, in_order=in_order))
    wanted = [(task, task * task) for task in tasks]
    assert Counter(found) == Counter(wanted)
    assert found == wanted or not in_order


def test_tasks_are_taken_when_a_worker_is_soon_free():
    taken = []

    def tasks():
        for task in range(100):
            taken.append(task)
            yield task

    with Threads(2) as threads:
        for number, _ in enumerate(threads.map(square, tasks(), in_order=True), 1):
            assert len(taken) <= number + 4


def test_one_thread_is_the_callers_own():
    with Threads(1) as threads:
        ((_, name),) = threads.map(lambda _: threading.current_thread(), [0])
    assert name is threading.current_thread()


@pytest.mark.parametrize("n", [1, 3])
def test_errors_come_as_they_are_and_stop_what_has_not_begun(n):
    begun = []

    def fail(task):
        begun.append(task)
        raise KeyError(task)

    with pytest.raises(KeyError), Threads(n) as threads:
        list(threads.map(fail, range(1000)))
    assert len(begun) <= 4 * n


def test_a_task_can_see_that_it_is_stopped():
    with Threads(2) as threads:
        found = threads.map(lambda task: task or wait_until(threads.is_stopped), [0, 1])
        assert next(found) == (1, 1)
    assert threads.is_stopped()


# -- processes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def pool():
    with Processes(2) as found:
        yield found
        pids = [process._popen.pid for process in found._all]
    assert none_is_left_of(pids)
    assert not found._all


@pytest.mark.system
@pytest.mark.parametrize("in_order", [True, False])
def test_processes_do_what_threads_do(pool, in_order):
    found = list(pool.map(square, range(20), in_order=in_order))
    assert sorted(found) == [(task, task * task) for task in range(20)]
    assert found == sorted(found) or not in_order
    assert len(pool._all) == 2


@pytest.mark.system
def test_a_function_is_sent_once_and_keeps_what_it_remembers(pool):
    calls = [result for _, result in pool.map(Counting(), range(20))]
    last = Counter(pid for pid, _ in calls)
    assert {(pid, count) for pid, most in last.items() for count in range(1, most + 1)} == set(calls)
    (fresh,) = pool.map(Counting(), [0])
    assert fresh[1][1] == 1


@pytest.mark.system
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_process_that_dies_costs_one_task_and_no_other(pool, name):
    number = getattr(signal, name)

    def attempt(task):
        try:
            return pool.call(die_of, task)
        except LostProcessError as lost:
            return lost

    with Threads(2) as threads:
        found = dict(threads.map(attempt, [1, 2, -number, 3, 4, 5]))
    lost = found.pop(-number)
    assert (lost.status, lost.task) == (-number, -number)
    assert found == {task: task for task in (1, 2, 3, 4, 5)}


@pytest.mark.system
def test_errors_of_a_process_come_as_they_are(pool):
    with pytest.raises(ao.InputError, match=r"^no number$"):
        pool.call(_refuse, "no number")
    with pytest.raises(TypeError, match="can't multiply") as caught:
        pool.call(square, "x")
    assert "in square" in caught.value.__notes__[0]  # where it was raised
    with pytest.raises(ao.AnchorotError, match=r"^Unheard: of$"):
        pool.call(_raise_what_cannot_be_sent, "of")
    assert pool.call(square, 3) == 9
    assert len(pool._all) == 1


def _refuse(text):
    raise ao.InputError(text)


def _raise_what_cannot_be_sent(text):
    class Unheard(Exception):  # noqa: N818
        pass

    raise Unheard(text)


@pytest.mark.system
def test_what_a_task_prints_or_reads_disturbs_nobody(pool, capfd):
    for task in ("print", "input", "os.write"):
        assert pool.call(_chat, task) == task
    assert capfd.readouterr() == ("", "")


def _chat(task):
    if task == "print":
        print("x" * 100_000, flush=True)
        print("x", file=sys.stderr, flush=True)
    elif task == "input":
        assert sys.stdin.read() == ""
    else:
        os.write(1, b"x" * 100_000)
    return task


@pytest.mark.system
def test_large_tasks_and_results_pass(pool):
    content = os.urandom(1 << 24)
    assert pool.call(bytes, bytearray(content)) == content


@pytest.mark.system
def test_what_cannot_be_sent_is_one_line(pool):
    with pytest.raises(ao.AnchorotError, match=r"^a lock cannot be sent to another process"):
        pool.call(square, threading.Lock())
    assert pool.call(square, 2) == 4


@pytest.mark.system
def test_leaving_stops_what_is_under_way():
    begin = time.monotonic()
    with Processes(2) as pool:
        found = pool.map(time.sleep, [0, 60, 60, 60])
        next(found)
        pids = [process._popen.pid for process in pool._all]
    assert time.monotonic() - begin < 20
    assert none_is_left_of(pids)
    with pytest.raises(StoppedError):
        pool.call(square, 2)


@pytest.mark.parametrize("executable", ["/bin/false", "/no/such/program", None, ""])
def test_where_no_process_can_start_that_is_one_line(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    with Processes() as pool, pytest.raises(CannotStartError, match=r"^no worker process can be started"):
        pool.call(square, 2)


SCRIPT = """
import os, sys, time
from anchorot._parallel import Processes

class Point:
    def __init__(self, x):
        self.x = x

def double(point):
    time.sleep(point.x)
    return 2 * point.x

print("here", flush=True)
with Processes(2) as pool:
    for _, found in pool.map(double, [Point(0), Point(float(sys.argv[1]))], in_order=True):
        print(found, *(process._popen.pid for process in pool._all), flush=True)
"""


def start(tmp_path, seconds):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.system
def test_what_a_script_defines_travels_without_the_script(tmp_path):
    said, complaints = start(tmp_path, 0.5).communicate()
    assert [line.split()[0] for line in said.splitlines()] == ["here", "0", "1.0"]
    assert complaints == ""


@pytest.mark.system
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_processes_end_with_their_parent_however_that_ends(tmp_path, name):
    script = start(tmp_path, 600)
    script.stdout.readline()
    pids = [int(pid) for pid in script.stdout.readline().split()[1:]]
    assert len(pids) == 2
    os.killpg(script.pid, getattr(signal, name))  # as a terminal does
    _, complaints = script.communicate(timeout=20)
    assert none_is_left_of(pids)
    assert complaints.count("Traceback") == (name == "SIGINT")


@pytest.mark.system
def test_a_forked_child_starts_its_own_and_leaves_the_parents_alone(pool):
    theirs = pool.call(_pid, None)
    child = os.fork()
    if child == 0:
        os._exit(0 if pool.call(_pid, None) != theirs and len(pool._all) == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pool.call(_pid, None) == theirs


def _pid(task):
    return os.getpid()


def test_one_worker_per_core_but_one_alone_in_another_pool():
    assert (n_workers(-1), n_workers(3)) == (cores(), 3)
    with pytest.raises(ao.InputError, match="n_jobs must be an integer >= 1"):
        n_workers(0)


@pytest.mark.system
def test_in_a_worker_of_another_pool_there_is_one():
    joblib = pytest.importorskip("joblib")
    assert joblib.Parallel(2)([joblib.delayed(n_workers)(-1)]) == [1]
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(_parallel.n_workers, (-1,)) == 1
