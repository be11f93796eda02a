"""Threads and processes that do the same to many things: every task once, errors as they are, nothing left behind."""

import os
import sys
import threading
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorot._parallel import (
    CannotStartError,
    Processes,
    StoppedError,
    Threads,
)
from tests.many.long_runs import none_is_left_of, wait_until


def square(x):
    return x * x


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
