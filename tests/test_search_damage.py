"""An index in a folder that is damaged, or whose writers are killed: refused, or whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import anchorot as ao

from test_search import clouds

pytestmark = pytest.mark.kernel_free

ON_LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere forks are unsafe, or there are none"
)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """So that few spaces fill several."""
    monkeypatch.setattr("anchorot.search.writing.SHARD", 7)


def files(path):
    return sorted(file.name for file in path.glob("*.part"))


# -- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(0, 250, 23))
def test_a_damaged_list_is_refused(place, tmp_path):
    ao.SearchIndex.build(clouds(9), path=tmp_path / "x")
    file = tmp_path / "x" / "shards.json"
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    with pytest.raises(ao.InputError, match=r"^x: .*shards\.json|^x: version"):
        ao.SearchIndex.load(tmp_path / "x")


@pytest.mark.parametrize(
    "change",
    [
        {"next_id": -1},
        {"next_id": "x"},
        {"parts": 3},
        {"parts": [{"file": "../x", "seal": "", "removed": []}]},
        {"parts": [{"file": "x", "seal": "", "removed": [0.5]}]},
        {"parts": []},
        {"next_id": 8},
        {"reading": {"speed": 1}},
    ],
    ids=str,
)
def test_a_list_that_says_what_no_index_can_is_refused(change, tmp_path):
    from anchorot.search.folder import _seal

    ao.SearchIndex.build(clouds(9), path=tmp_path / "x")
    file = tmp_path / "x" / "shards.json"
    content = json.loads(file.read_bytes())["content"] | change
    file.write_text(json.dumps({"content": content, "seal": _seal(content)}))
    with pytest.raises(ao.InputError, match=r"^x: "):
        ao.SearchIndex.load(tmp_path / "x")


def test_a_shard_that_is_missing_or_another_is_refused(tmp_path):
    ao.SearchIndex.build(clouds(9), path=tmp_path / "x")
    first, second = (tmp_path / "x" / name for name in files(tmp_path / "x"))
    kept = second.read_bytes()
    second.write_bytes(first.read_bytes())
    with pytest.raises(ao.InputError, match=r"^x: .*\.part is not the file that was saved"):
        ao.SearchIndex.load(tmp_path / "x")
    second.unlink()
    with pytest.raises(ao.InputError, match=r"^x: .*\.part is missing"):
        ao.SearchIndex.load(tmp_path / "x")
    second.write_bytes(kept)
    assert len(ao.SearchIndex.load(tmp_path / "x")) == 9


def test_two_shards_that_do_not_belong_together_are_refused(tmp_path):
    from anchorot.search.folder import Folder, Listing

    for name, robust in (("x", False), ("y", True)):
        ao.SearchIndex.build(clouds(14), robust=robust, path=tmp_path / name)
    home, other = (Folder.open(tmp_path / name) for name in "xy")
    part = other.listing.parts[1]
    (tmp_path / "x" / part.file).write_bytes((tmp_path / "y" / part.file).read_bytes())
    home.replace(Listing((home.listing.parts[0], part), 14))
    with pytest.raises(ao.InputError, match=r"^x: its files do not belong together"):
        ao.SearchIndex.load(tmp_path / "x")


# -- kill -9 -------------------------------------------------------------------------------------------------------

KILLED_AT_ANY_CALL = """
import os, shutil, sys
import anchorot as ao
import anchorot.search.writing
from test_search import clouds, pairs

anchorot.search.writing.SHARD = 4
path, act = sys.argv[1:]
many, x = clouds(9), clouds(1, seed=1)[0]
ACTS = {
    "add": lambda index: index.add(many[7:]),
    "remove": lambda index: index.remove([1, 5]),
    "compact": lambda index: (index.remove([1, 5]), index.compact()),
    "build": lambda index: ao.SearchIndex.build(many[3:], path=path),
}
STEP = {"compact": 3, "build": 3}.get(act, 1)
TOUCHING = {"write", "replace", "unlink", "pwrite", "open", "flush", "close", "flock", "__exit__"}

def state():
    index = ao.SearchIndex.load(path)
    return str((pairs(index.query(x, len(index))), index.ids.tolist()))

ao.SearchIndex.build(many[:7], path=path + " at first")

def begin():
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(path + " at first", path)
    return ao.SearchIndex.load(path)

def killed_at(call):
    # Do it in a child that ends at this call that touches files; whether it ended before.
    index, number = begin(), os.fork()
    if number == 0:
        left = [call]
        def count(frame, event, function):
            if event == "c_call" and function.__name__ in TOUCHING:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)
        sys.setprofile(count)
        ACTS[act](index)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 9

allowed = [(begin(), state())[1]]
if act == "compact":
    begin().remove([1, 5])
    allowed.append(state())
index = begin()
ACTS[act](index)
allowed.append(state())
seen, call = set(), 0
while killed_at(call):
    found = state()
    assert found in allowed, (call, found)
    if found not in seen:
        ao.SearchIndex.load(path).add(many[:1])  # what is left can be changed
    seen.add(found)
    call += STEP
assert state() == allowed[-1]
assert len(seen) > 1
print(call)
"""


@ON_LINUX
@pytest.mark.system
@pytest.mark.parametrize("act", ["add", "remove", "compact", "build"])
def test_a_process_that_is_killed_at_any_call_leaves_the_old_or_the_new_index(act, tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", KILLED_AT_ANY_CALL, str(tmp_path / "x"), act]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def test_what_a_killed_process_left_is_removed_an_hour_later(tmp_path):
    index = ao.SearchIndex.build(clouds(5), path=tmp_path / "x")
    for name, age in (("000005-aaaaaa.part", 7200), ("000005-bbbbbb.part", 60)):
        (tmp_path / "x" / name).write_bytes(b"half a shard")
        then = os.stat(tmp_path / "x").st_mtime - age
        os.utime(tmp_path / "x" / name, (then, then))
    index.remove([0])
    assert "000005-aaaaaa.part" not in files(tmp_path / "x")
    assert "000005-bbbbbb.part" in files(tmp_path / "x")
