"""A worker process: what it prints, sends back and outlives."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import anchorot as ao
from anchorot._parallel import (
    LostProcessError,
    Threads,
)
from tests.many.long_runs import none_is_left_of


def square(x):
    return x * x


def die_of(x):
    """End the process at one task, by the signal -x."""
    if x < 0:
        os.kill(os.getpid(), -x)
    return x


# -- processes -----------------------------------------------------------------------------------------------------


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
def test_printing_or_reading_in_a_task_disturbs_no_other(pool, capfd):
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
