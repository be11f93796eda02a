"""One index, several threads and processes: every result is exact for a state that the index had."""

import copy
import gc
import pickle
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from tests.requirements import ROOT
from tests.search.expected import pairs
from tests.strategies import clouds

pytestmark = pytest.mark.system

ON_LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere forks are unsafe, or there are none"
)


class History:
    """The states that an index has been in, each a tuple of pairs (id, which space)."""

    def __init__(self, state):
        self.states, self.done = [state], 1

    def change(self, state, act):
        self.states.append(state)  # may be seen from now on
        act()
        self.done = len(self.states)  # must be seen from now on

    def since(self, begun):
        """States that a result may belong to, if `done` was `begun` when the query started."""
        return self.states[begun - 1 :]


def watch(index, wanted, energies, history, stop, wrong):
    """Query until `stop` is set; keep results that no state explains, and errors."""
    k, rng = 5, np.random.default_rng(threading.get_ident() % 2**32)
    while not stop.is_set():
        which = int(rng.integers(len(wanted)))
        begun = history.done
        try:
            found = pairs(index.query(wanted[which], k))
        except Exception as error:
            found = error
        right = [sorted((energies[which, space], i) for i, space in state)[:k] for state in history.since(begun)]
        if found not in right:
            wrong.append((found, right))


def test_queries_while_another_thread_adds_and_removes_are_right():
    many, wanted = clouds(60), [ao.AnchorFeatures.of(x) for x in clouds(6, seed=1)]
    energies = np.array([[ao.anchor_energy(x, y) for y in map(ao.AnchorFeatures.of, many)] for x in wanted])
    index = ao.SearchIndex.build(many, grid=(4, 4))
    history = History(tuple(enumerate(range(60))))
    stop, wrong = threading.Event(), []
    threads = [threading.Thread(target=watch, args=(index, wanted, energies, history, stop, wrong)) for _ in range(4)]
    for thread in threads:
        thread.start()
    rng, next_id = np.random.default_rng(0), 60
    for _ in range(200):
        state = history.states[-1]
        if len(state) > 20 and rng.random() < 0.5:
            gone = set(rng.choice(len(state), int(rng.integers(1, 9)), replace=False).tolist())
            ids = [state[k][0] for k in gone]
            history.change(tuple(s for k, s in enumerate(state) if k not in gone), lambda: index.remove(ids))  # noqa: B023
        else:
            new = rng.integers(60, size=int(rng.integers(1, 9))).tolist()
            ids = range(next_id, next_id + len(new))
            next_id += len(new)
            added = (*state, *zip(ids, new, strict=True))
            history.change(added, lambda: index.add([many[i] for i in new]))  # noqa: B023
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert index.ids.tolist() == [i for i, _ in history.states[-1]]


def test_threads_that_add_at_the_same_time_lose_nothing(tmp_path):
    many = clouds(80)
    index = ao.SearchIndex.build(many[:20], [str(k) for k in range(20)])
    parts = [range(start, start + 20) for start in (20, 40, 60)]

    def add(part):
        for k in part:
            index.add([many[k]], [str(k)])

    threads = [threading.Thread(target=add, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    index.save(tmp_path / "meanwhile")
    for thread in threads:
        thread.join()
    assert index.ids.tolist() == list(range(80))
    for k in (0, 25, 50, 79):
        assert index.query(many[k], k=1).names == (str(k),)
    meanwhile = ao.SearchIndex.load(tmp_path / "meanwhile")
    assert 20 <= len(meanwhile) <= 80
    found = meanwhile.query(many[0], k=len(meanwhile))
    held = [int(name) for name in found.names]
    assert sorted(held) == sorted(set(held))
    assert found.value.tolist() == [ao.anchor_energy(many[0], many[k]) for k in held]


def test_an_iterable_of_added_spaces_may_query_the_index():
    many = clouds(6)
    index = ao.SearchIndex.build(many[:3])

    def unlike_those_before():
        for x in many[3:]:
            if index.query(x, k=1).value[0] > 0:
                yield x

    assert len(index.add(unlike_those_before())) == 3


def test_readers_that_never_end_do_not_keep_a_writer_waiting(tmp_path):
    many, stop = clouds(30), threading.Event()
    index = ao.SearchIndex.build(many, path=tmp_path / "x")

    def read(k):
        mine = ao.SearchIndex.load(tmp_path / "x")
        while not stop.is_set():
            for each in (index, mine):
                each.query(many[k], 20)

    def write():
        for x in many[:5]:
            index.add([x])

    readers = [threading.Thread(target=read, args=(k,)) for k in range(4)]
    writer = threading.Thread(target=write)
    for thread in (*readers, writer):
        thread.start()
    writer.join(30)
    waits = writer.is_alive()
    stop.set()
    for thread in (*readers, writer):
        thread.join()
    assert not waits
    assert len(index) == 35


def test_searching_does_not_change_warning_filters(monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("two threads that catch warnings at once may leave each other's filters behind")

    ao.SearchIndex.build(clouds(3)).query(clouds(1)[0], k=2)  # imports what it needs, which may catch warnings
    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", forbidden)
        found = ao.SearchIndex.build(clouds(3)).query(clouds(1)[0], k=2)
    assert found.index.shape == (2,)


# -- forks ---------------------------------------------------------------------------------------------------------

PRELUDE = """
import os, sys, threading, time
import numpy as np
import anchorot as ao
from tests.search.expected import brute_force, pairs
from tests.strategies import clouds

def child(work):
    # Fork, do some work in the child, and return a function that waits for it to end well.
    number = os.fork()
    if number == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    def end():
        assert os.waitpid(number, 0)[1] == 0, "the child failed"
    return end
"""

BOTH_CHANGE_ONE_INDEX = """
many, hers, his = clouds(20), clouds(10, seed=1), clouds(10, seed=2)
if sys.argv[1] == "built":
    index = ao.SearchIndex.build(many[:10])
else:
    index = ao.SearchIndex.build(many[:10], path=sys.argv[1])
index.query(many[0])
index.add(many[10:])

def change_and_ask(more, gone):
    for x in more:
        index.add([x])
        assert index.query(x, 1).value[0] < 1e-12
        time.sleep(0.001)
    index.remove([gone])

end = child(lambda: change_and_ask(hers, 3))
change_and_ask(his, 4)
end()
assert len(index) == 38
assert index.ids.tolist() == [i for i in range(40) if i not in (3, 4)]
for x in [*many[:3], *many[5:], *hers, *his]:
    assert index.query(x, 1).value[0] < 1e-12
end = child(lambda: index.query(many[0]))  # a second child
end()
"""

FORKED_WHILE_A_THREAD_WRITES = """
many = clouds(30)
index = ao.SearchIndex.build(many, path=None if sys.argv[1] == "built" else sys.argv[1])
right = brute_force(many[4], many, 5)
stop = threading.Event()

def write():
    while not stop.is_set():
        index.remove(index.add([many[4]]))

def ask_and_write():
    found = [pair for pair in pairs(index.query(many[4], k=25)) if pair[1] < 30]  # others add and remove copies
    assert found[:5] == right, (found, right)
    ids = index.add([many[4]])
    assert ids[0] in index.query(many[4], k=25).index
    index.remove(ids)

thread = threading.Thread(target=write)
thread.start()
for _ in range(10):
    for end in [child(ask_and_write) for _ in range(10)]:
        end()
stop.set()
thread.join()
assert index.ids.tolist() == list(range(30))
assert pairs(index.query(many[4], k=5)) == right
"""

FORKED_CHILD_EXITS = """
import multiprocessing
many = clouds(9)
index = ao.SearchIndex.build(many)

def ask(k):
    return index.query(many[k], 1).index[0]

with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(ask, range(9)) == list(range(9))
number = os.fork()
if number == 0:
    ask(3)
    sys.exit()  # with all that a Python process does at its end
assert os.waitpid(number, 0)[1] == 0
assert os.path.exists(index._file.path)
assert [ask(k) for k in range(9)] == list(range(9))
print(index._file.path)
"""


def run(program, argument):
    """Run a program in its own process: this one may have threads, and what it does may crash."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + program, str(argument)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.system
@ON_LINUX
@pytest.mark.parametrize("kind", ["built", "loaded"])
def test_after_a_fork_both_processes_change_one_index(kind, tmp_path):
    run(BOTH_CHANGE_ONE_INDEX, "built" if kind == "built" else tmp_path / "index")


@pytest.mark.system
@ON_LINUX
@pytest.mark.parametrize("kind", ["built", "loaded"])
def test_a_process_forked_while_a_thread_writes_has_a_whole_index(kind, tmp_path):
    run(FORKED_WHILE_A_THREAD_WRITES, "built" if kind == "built" else tmp_path / "index")


@pytest.mark.system
@ON_LINUX
def test_a_child_that_ends_leaves_its_parent_the_index(tmp_path):
    path = Path(run(FORKED_CHILD_EXITS, tmp_path).strip())
    assert path.suffix == ".index"
    assert not path.exists()  # the parent has ended too


# -- temporary files -----------------------------------------------------------------------------------------------


def test_a_temporary_index_removes_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    index = ao.SearchIndex.build(clouds(3))
    index.add(clouds(1))
    assert [file.suffix for file in tmp_path.iterdir()] == [".index"]
    del index
    gc.collect()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ao.InputError):
        ao.SearchIndex.build([np.eye(2), np.ones(3)])
    assert not list(tmp_path.iterdir())


# -- copies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_copies_are_refused_with_advice(copied):
    with pytest.raises(TypeError, match=r"cannot be pickled or copied; save\(\) it, and load\(\) the file"):
        copied(ao.SearchIndex.build(clouds(2)))
