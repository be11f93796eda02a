"""An index in a folder: the answers of one in memory, changed in place, and whole whatever happens meanwhile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao

from test_search import brute_force, clouds, pairs

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


# -- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("count", [1, 7, 30])
def test_an_index_in_a_folder_answers_as_one_in_memory(robust, count, tmp_path, few_at_first):
    many, names = clouds(count), [f"cloud {k}" for k in range(count)]
    built = ao.SearchIndex.build(iter(many), names, robust=robust, path=tmp_path / "x")
    assert len(files(tmp_path / "x")) == -(-count // 7)
    for index in (built, ao.SearchIndex.load(tmp_path / "x")):
        assert index.ids.tolist() == list(range(count))
        for x in clouds(3, seed=1):
            k = min(count, 9)
            result = index.query(x, k)
            assert pairs(result) == brute_force(x, many, k, robust=robust)
            assert result.names == tuple(names[i] for i in result.index)
            assert result.exact


def test_a_rough_answer_is_the_best_of_the_first_candidates_of_all_shards(tmp_path):
    many, x = clouds(30), clouds(1, seed=1)[0]
    index = ao.SearchIndex.build(many, path=tmp_path / "x", grid=ao.Grid((4, 4), 0, 9))
    result = index.query(x, 3, exact=False, candidates=5)
    assert not result.exact
    assert result.n_exact <= 5
    together = ao.SearchIndex.build(many, grid=index.grid).query(x, 3, exact=False, candidates=5)
    assert pairs(result) == pairs(together)
    assert pairs(index.query(x, 3, exact=False, candidates=30)) == brute_force(x, many, 3)


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


def test_a_folder_can_be_saved_as_one_file(tmp_path, few_at_first):
    many, names = clouds(20), [str(k) for k in range(20)]
    index = ao.SearchIndex.build(many, names, path=tmp_path / "x")
    index.remove([3, 19])
    index.save(tmp_path / "file")
    again = ao.SearchIndex.load(tmp_path / "file")
    held = [k for k in range(20) if k not in (3, 19)]
    assert again.ids.tolist() == held
    assert again.add([many[3]], ["again"]).tolist() == [20]
    x = clouds(1, seed=1)[0]
    assert pairs(again.query(x, 9)) == brute_force(x, [*(many[k] for k in held), many[3]], 9, [*held, 20])


def test_types_are_told_apart_in_every_shard(tmp_path):
    rng = np.random.default_rng(0)
    many = [
        ao.from_points(rng.normal(size=(6, 2)), types=list("aabbcc")[: 6 - k % 2] + ["b"] * (k % 2)) for k in range(16)
    ]
    index = ao.SearchIndex.build(many, marks="types", grid=(4, 4), path=tmp_path / "x")
    right = ao.SearchIndex.build(many, marks="types", grid=(4, 4))
    index.add(many[:2])
    right.add(many[:2])
    assert pairs(index.query(many[4], 9)) == pairs(right.query(many[4], 9))


# -- changes -------------------------------------------------------------------------------------------------------


def test_what_is_added_and_removed_in_place_is_what_a_rebuilt_index_has(tmp_path, few_at_first):
    rng, many, path = np.random.default_rng(0), clouds(60), tmp_path / "x"
    index = ao.SearchIndex.build(many[:10], [str(k) for k in range(10)], path=path)
    held, wanted = list(range(10)), clouds(2, seed=1)
    for step in range(12):
        act = rng.integers(4)
        if act == 0 and len(held) > 4:
            gone = rng.choice(held, 3, replace=False).tolist()
            index.remove([str(k) for k in gone] if step % 2 else gone)
            held = [k for k in held if k not in gone]
        elif act == 1:
            index.compact()
        else:
            start = int(index._contents.common.next_id)
            new = list(range(start, start + int(rng.integers(1, 5))))
            assert index.add([many[k] for k in new], [str(k) for k in new]).tolist() == new
            held += new
        again = ao.SearchIndex.load(path)
        rebuilt = ao.SearchIndex.build([many[k] for k in held])
        for x in wanted:
            right = [(value, held[i]) for value, i in pairs(rebuilt.query(x, 4))]
            assert pairs(index.query(x, 4)) == pairs(again.query(x, 4)) == right
            assert again.query(x, 4).names == tuple(str(i) for _, i in right)


def test_an_addition_writes_what_is_new_and_nothing_else(tmp_path):
    index = ao.SearchIndex.build(clouds(20), path=tmp_path / "x")
    before = {name: (tmp_path / "x" / name).stat().st_mtime_ns for name in files(tmp_path / "x")}
    index.add(clouds(2, seed=1))
    index.remove([0, 20])
    after = {name: (tmp_path / "x" / name).stat().st_mtime_ns for name in files(tmp_path / "x")}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1


def test_compacting_joins_small_files_and_forgets_what_was_removed(tmp_path):
    many = clouds(24)
    index = ao.SearchIndex.build(many[:20], path=tmp_path / "x")
    for x in many[20:]:
        index.add([x])
    index.remove(range(1, 7))
    whole = files(tmp_path / "x")[1]
    index.compact()
    assert len(files(tmp_path / "x")) == 4
    assert whole in files(tmp_path / "x")  # full, and nothing of it was removed
    assert ao.SearchIndex.load(tmp_path / "x").ids.tolist() == [0, *range(7, 24)]
    index.remove(index.ids)
    index.compact()
    assert len(files(tmp_path / "x")) == 1
    assert len(ao.SearchIndex.load(tmp_path / "x")) == 0
    assert index.add(many[:1]).tolist() == [24]


def test_spaces_of_one_name_are_removed_together():
    index = ao.SearchIndex.build(clouds(4), ["cat", "dog", "cat", "cow"])
    index.remove("cat")
    assert index.ids.tolist() == [1, 3]
    index.remove(["cow", "dog"])
    assert len(index) == 0


def test_a_name_that_no_space_has_is_told():
    index = ao.SearchIndex.build(clouds(2), ["cat", "dog"])
    with pytest.raises(ao.InputError, match=r"^there is no space called 'cow' in the index$"):
        index.remove(["cat", "cow"])
    assert len(index) == 2
    with pytest.raises(ao.InputError, match=r"^there is no space called 'cat' in the index$"):
        ao.SearchIndex.build(clouds(2)).remove(["cat"])


def test_who_has_not_seen_a_change_makes_none(tmp_path):
    first = ao.SearchIndex.build(clouds(5), path=tmp_path / "x")
    second = ao.SearchIndex.load(tmp_path / "x")
    first.add(clouds(1, seed=1))
    for change in (lambda: second.add(clouds(1)), lambda: second.remove([0]), lambda: second.compact()):
        with pytest.raises(ao.InputError, match=r"^x: another process has changed the index; load it again$"):
            change()
    assert second.ids.tolist() == list(range(5))
    assert len(second.query(clouds(1)[0], 5).index) == 5
    assert ao.SearchIndex.load(tmp_path / "x").ids.tolist() == list(range(6))


def test_an_addition_that_fails_leaves_the_folder_as_it_was(tmp_path):
    index = ao.SearchIndex.build(clouds(5), path=tmp_path / "x")
    before = (tmp_path / "x" / "shards.json").read_bytes()
    with pytest.raises(ao.InputError, match=r"spaces\[6\]: cost has shape"):
        index.add([np.eye(2), np.ones(3)])
    assert (tmp_path / "x" / "shards.json").read_bytes() == before
    assert index.add([np.eye(2)]).tolist() == [5]


def test_an_index_that_is_built_where_another_is_replaces_it(tmp_path):
    ao.SearchIndex.build(clouds(20), path=tmp_path / "x")
    index = ao.SearchIndex.build(clouds(9, seed=1), path=tmp_path / "x")
    assert len(files(tmp_path / "x")) == 2
    assert pairs(index.query(clouds(1)[0], 9)) == brute_force(clouds(1)[0], clouds(9, seed=1), 9)


def test_a_folder_of_other_things_is_no_place_for_an_index(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(ao.InputError, match="holds other files; an index takes a folder of its own"):
        ao.SearchIndex.build(clouds(2), path=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


# -- files ---------------------------------------------------------------------------------------------------------

HOW = {"kind": "points", "n_points": 9, "rng": 3}


def test_paths_are_read_as_asked_and_what_is_added_is_read_alike(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    names = [f"{number}.csv" for number in range(9)]
    for name in names:
        np.savetxt(tmp_path / name, rng.normal(size=(30, 2)), delimiter=",")
    monkeypatch.chdir(tmp_path)
    index = ao.SearchIndex.build(names[:8], path="x", **HOW)
    assert index.reading == ao.SearchIndex.load("x").reading == HOW
    index.add(names[8:])
    assert pairs(index.query(names[8], 1)) == [(0.0, 8)]
    assert ao.SearchIndex.build(names, **HOW).query(names[3], 1).index.tolist() == [3]
    with pytest.raises(ao.InputError, match=r"^spaces\[1\] \(no\.csv\): "):
        ao.SearchIndex.build([names[0], "no.csv"], **HOW)
    with pytest.raises(ao.InputError, match="n_points is an option of reading, for paths"):
        ao.SearchIndex.build([np.eye(2)], n_points=3)


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
@pytest.mark.lengthy
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
