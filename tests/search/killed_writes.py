"""Kill a process at its k-th write to an index, for all k: the old or the new index is left.

python -m tests.search.killed_writes FOLDER ACT        with killed_writes.c preloaded
"""

import ctypes
import os
import shutil
import sys
from itertools import count
from pathlib import Path

import anchorot as ao
from tests.search.expected import pairs
from tests.strategies import clouds

kill_at = ctypes.CDLL(None).kill_at
folder, act = Path(sys.argv[1]), sys.argv[2]
path, first, copy = folder / "x", folder / "at first", folder / "copy"
many, x = clouds(9), clouds(1, seed=1)[0]
ACTS = {
    "add": lambda index: index.add(many[7:]),
    "remove": lambda index: index.remove([1, 5]),
    "compact": lambda index: index.compact(),
    "build": lambda _: ao.SearchIndex.build(many[3:], path=path),
    "build another": lambda _: ao.SearchIndex.build(many[3:], path=copy),
    "save": lambda index: index.save(copy),
}


def state(file):
    """What somebody finds who opens the index; nothing if there is none."""
    if not file.exists():
        return "nothing"
    index = ao.SearchIndex.load(file)
    return str((pairs(index.query(x, len(index))), index.ids.tolist()))


def begin():
    """The files as they are at first, and an index that is open."""
    for file in folder.iterdir():
        if file != first:
            file.unlink()
    shutil.copy(first, path)
    index = ao.SearchIndex.load(path)
    index.query(x, 1)
    return index


def is_killed_at(call, half, index):
    """Do it in a child that ends before this call, or half-way through it; whether it ended before it was done."""
    number = os.fork()
    if number == 0:
        kill_at(call, half)
        ACTS[act](index)
        kill_at(-1, 0)
        os._exit(0)
    status = os.waitpid(number, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, status
    return os.WIFSIGNALED(status)


whole = ao.SearchIndex.build(many[:7], path=first)
if act == "compact":
    whole.add(clouds(60, seed=2))
    whole.remove(range(7, 60))
del whole
changed = copy if act in ("build another", "save") else path
old = (begin(), state(changed))[1]
ACTS[act](begin())
new = state(changed)
assert (old == new) == (act == "compact")


def calls_until_done(half):
    """Kill a child at every call in turn; return how many there are."""
    for call in count():
        index = begin()
        was_killed = is_killed_at(call, half, index)
        found = state(changed)
        assert found in (old, new), (call, found)
        if not was_killed:
            break
        assert index.query(x, 5).index.tolist() == ao.SearchIndex.load(path).query(x, 5).index.tolist()
        index.add(many[:1])  # what is left can be changed
        assert not Path(f"{path}-journal").exists()
    assert found == new
    return call


print(calls_until_done(half=False), calls_until_done(half=True))
