"""An index in a file: saved and changed whole or not at all."""

import errno
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.search import file as index_file
from anchorot.search.file import IndexFile
from tests.requirements import ROOT
from tests.search.expected import brute_force, pairs, results_of
from tests.strategies import clouds

# -- saved and loaded ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robust", [False, True])
def test_a_saved_index_gives_the_same_bits(robust, tmp_path, few_at_first):
    many, more = clouds(40), clouds(10, seed=1)
    index = ao.SearchIndex.build(many, robust=robust)
    index.remove([3, 39])
    index.save(tmp_path / "one")
    again = ao.SearchIndex.load(tmp_path / "one")
    assert repr(again) == repr(index)
    assert again.query(many[3], 1).index[0] != 3
    for each in (index, again):
        each.add(more)
        each.remove([45])
    again.save(tmp_path / "two")
    index.save(tmp_path / "three")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "three").read_bytes()
    third = ao.SearchIndex.load(tmp_path / "two")
    for x in clouds(5, seed=2):
        results = [each.query(x, k=7) for each in (index, again, third)]
        assert len({str((pairs(r), r.n_exact)) for r in results}) == 1


def test_an_index_can_be_saved_over_the_file_it_came_from(tmp_path):
    many = clouds(10)
    ao.SearchIndex.build(many).save(tmp_path / "index")
    index = ao.SearchIndex.load(tmp_path / "index")
    index.remove([0])
    index.save(tmp_path / "index")
    for each in (index, ao.SearchIndex.load(tmp_path / "index")):
        assert pairs(each.query(many[0], k=9)) == brute_force(many[0], many[1:], 9, range(1, 10))


def test_a_copy_and_its_original_are_independent(tmp_path):
    many = clouds(6)
    index = ao.SearchIndex.build(many[:3], path=tmp_path / "x")
    index.save(tmp_path / "copy")
    copy = ao.SearchIndex.load(tmp_path / "copy")
    index.add(many[3:5])
    copy.add(many[5:])
    assert (index.ids.tolist(), copy.ids.tolist()) == ([0, 1, 2, 3, 4], [0, 1, 2, 3])
    assert pairs(copy.query(many[5], 1)) == [(0.0, 3)]


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    many = clouds(4)
    index = ao.SearchIndex.build(many)
    index.save(tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    index.add(many)

    def full_disk(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(IndexFile, "data", full_disk)
    with pytest.raises(OSError, match="no space"):
        index.save(tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("way", ["build", "save", "wait"])
def test_a_full_disk_is_an_error_that_names_the_callers_path(way, is_there, tmp_path, monkeypatch):
    path, index = tmp_path / "x", ao.SearchIndex.build(clouds(30))
    if is_there:
        ao.SearchIndex.build(clouds(2), path=path)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if way == "wait":  # in a temporary file, before the first is written to the index
        monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", full)
    else:
        monkeypatch.setattr(index_file, "SETTINGS", (*index_file.SETTINGS, "max_page_count = 6"))
    with pytest.raises(OSError, match="No space left on device") as reported:
        index.save(path) if way == "save" else ao.SearchIndex.build(clouds(30), path=path)
    assert reported.value.filename == str(tmp_path if way == "wait" else path)
    assert reported.value.errno == errno.ENOSPC
    assert [file.name for file in tmp_path.iterdir()] == ["x"] * is_there


def test_errors_of_the_source_of_spaces_are_not_changed(tmp_path):
    def spaces():
        yield from clouds(2)
        raise TimeoutError("the database does not reply")

    with pytest.raises(TimeoutError, match="the database does not reply") as reported:
        ao.SearchIndex.build(spaces(), path=tmp_path / "x")
    assert reported.value.filename is None


def test_a_damaged_index_can_be_built_again_where_it_is(saved, tmp_path):
    data, _ = saved
    for damaged in (data[: len(data) // 2], data[:8192] + bytes(len(data) - 8192)):
        (tmp_path / "index").write_bytes(damaged)
        index = ao.SearchIndex.build(clouds(5), path=tmp_path / "index")
        assert len(index) == len(ao.SearchIndex.load(tmp_path / "index")) == 5


# -- made with intent, or changed while open -----------------------------------------------------------------------


def in_a_process(*arguments, seconds=300):
    """Run Python: what goes wrong may end the process."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    return done.stdout


CHANGED_WHILE_OPEN = """
import sys
import anchorot as ao
from tests.search import index_fuzz
from pathlib import Path

file, change, asked = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "asked"
x = index_fuzz.sound_index(file)
features = bytes(index_fuzz.Parts.of(file).features[1])
index = ao.SearchIndex.load(file)
if asked:
    index.query(x, k=3)
size = file.stat().st_size
with file.open("r+b") as handle:
    if change == "cut":
        handle.truncate(size // 8192 * 4096)
    elif change == "emptied":
        handle.truncate(0)
    else:
        handle.seek(file.read_bytes().index(features))
        handle.write(bytes(len(features)))
for act in (lambda: index.query(x, k=3), lambda: index.save(file.with_name("copy"))):
    try:
        act()
    except ao.InputError as error:
        assert str(error).startswith(f"{file.name}: "), error
    else:
        raise AssertionError("no error")
"""


@pytest.mark.system
@pytest.mark.parametrize("asked", ["asked", "fresh"])
@pytest.mark.parametrize("change", ["cut", "emptied", "overwritten"])
def test_a_file_that_changes_while_it_is_open_is_refused(change, asked, tmp_path):
    in_a_process("-c", CHANGED_WHILE_OPEN, tmp_path / "index", change, asked)


def test_a_file_that_was_only_touched_gives_the_same_results(saved, tmp_path):
    data, right = saved
    (tmp_path / "index").write_bytes(data)
    index = ao.SearchIndex.load(tmp_path / "index")
    assert results_of(index) == right
    os.utime(tmp_path / "index", (time.time() + 9, time.time() + 9))
    assert results_of(index) == right


# -- how spaces were read --------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(4):
        np.savetxt(tmp_path / f"{number}.csv", rng.normal(size=(30, 2)) * [1, 1 + number], delimiter=",")
    return [tmp_path / f"{number}.csv" for number in range(4)]


HOW = {"kind": "points", "n_points": 9, "rng": 3}


def test_an_index_reads_a_file_as_its_spaces_were_read(tmp_path, files):
    index = ao.SearchIndex.build(ao.read(path, **HOW) for path in files)
    index.save(tmp_path / "x.index")
    for each in (index, ao.SearchIndex.load(tmp_path / "x.index")):
        assert each.reading == HOW
        found = each.query(files[2], k=2)
        wanted = each.query(ao.read(files[2], **HOW), k=2)
        assert found.value.tolist() == wanted.value.tolist()
        assert (found.index[0], found.value[0]) == (2, 0.0)


def test_reading_with_other_options_is_noted(files):
    index = ao.SearchIndex.build(ao.read(path, **HOW) for path in files)
    differs = "n_points=8 where the index has 9, rng=4 where the index has 3"
    message = f"^this was read with different options from the index: {differs}$"
    with pytest.warns(ao.InputWarning, match=message):
        index.query(ao.read(files[0], kind="points", n_points=8, rng=4), k=1)
    with pytest.warns(ao.InputWarning, match="n_points=None where the index has 9"):
        index.add([ao.read(files[0], kind="points")])
    index.query(ao.read(files[0], **HOW).cost, k=1)  # nobody knows how that was read


def test_spaces_read_with_several_options_have_no_common_ones(files):
    spaces = [ao.read(files[0], **HOW), ao.read(files[1], kind="points")]
    assert ao.SearchIndex.build(spaces).reading is None
    assert ao.SearchIndex.build([spaces[0], spaces[0].cost]).reading is None
    assert ao.SearchIndex.build([np.zeros((2, 2))]).reading is None


ON_UNIX = pytest.mark.skipif(sys.platform == "win32", reason="limits and rights of processes are others there")


def place_of(index):
    """The folder that other people may put their files into."""
    return index if index.is_dir() else index.parent


def old(path):
    """Let a file or folder be two hours old."""
    then = time.time() - 7200
    os.utime(path, (then, then))


@pytest.mark.system
def test_a_change_that_raises_is_not_made_and_another_try_makes_it_once(tmp_path):
    path = tmp_path / "x"
    index = ao.SearchIndex.build(clouds(5), path=path)
    folder = place_of(path) / "old"
    folder.mkdir()
    old(folder)
    for _ in range(2):
        try:
            index.add(clouds(1, seed=1))
        except OSError:
            continue
        break
    assert len(ao.SearchIndex.load(path)) == 6


# -- readers that are at work ----------------------------------------------------------------------------------------


@pytest.mark.system
def test_a_reader_continues_after_compaction(tmp_path):
    many = clouds(12)
    writer = ao.SearchIndex.build(many, path=tmp_path / "x")
    reader = ao.SearchIndex.load(tmp_path / "x")
    assert pairs(reader.query(many[3], 4)) == brute_force(many[3], many, 4)
    writer.remove(range(6))
    writer.add(many[:2])
    writer.compact()
    changed, ids = [*many[6:], *many[:2]], range(6, 14)
    assert pairs(reader.query(many[3], 4)) in (
        brute_force(many[3], many, 4),
        brute_force(many[3], changed, 4, ids),
    )
    reader.remove([7])
    assert ao.SearchIndex.load(tmp_path / "x").ids.tolist() == [6, *range(8, 14)]


@pytest.mark.system
def test_a_reader_continues_after_a_rebuild(tmp_path):
    many, others = clouds(30), clouds(12, seed=1)
    ao.SearchIndex.build(many, path=tmp_path / "x")
    reader = ao.SearchIndex.load(tmp_path / "x")
    reader.query(many[3], 4)
    ao.SearchIndex.build(others, path=tmp_path / "x", robust=True)
    assert pairs(reader.query(many[3], 4)) in (
        brute_force(many[3], many, 4),
        brute_force(many[3], others, 4, robust=True),
    )


FEW_DESCRIPTORS = """
import resource, sys
import anchorot as ao
from tests.strategies import clouds

resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
many = clouds(152)
index = ao.SearchIndex.build(many[:1], path=sys.argv[1])
for x in many[1:]:
    index.add([x])
for each in (index, ao.SearchIndex.load(sys.argv[1])):
    found = each.query(many[77], 1)
    assert (found.index[0], found.value[0]) == (77, 0.0), found
index.remove(range(50))
index.compact()
assert len(ao.SearchIndex.load(sys.argv[1])) == 102
"""


FULL_DISK = """
import os, resource, sys
from pathlib import Path
import anchorot as ao
from anchorot.search import updates
from tests.search.expected import brute_force, pairs
from tests.strategies import clouds

path = Path(sys.argv[1])
many = clouds(40)
index = ao.SearchIndex.build(many[:20], path=path)
size = path.stat().st_size

def state():
    return pairs(index.query(many[3], len(index)))

before = state()
no_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
for spool, acts in {
    1 << 26: [lambda: index.add(many * 9), lambda: ao.SearchIndex.build(many * 9, path=path.with_name("y"))],
    1: [lambda: index.add(many * 99)],  # what waits to be added lies in a file, too
}.items():
    updates.SPOOL_BYTES = spool
    for act in [*acts, lambda: ao.SearchIndex.build(many * 9, path=path), lambda: index.save(path.with_name("z"))]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2 if "save" in act.__code__.co_names else size, no_limit[1]))
        try:
            act()
        except OSError as error:
            assert "\\n" not in str(error), error
            assert error.errno, error
        else:
            raise AssertionError("there was space")
        resource.setrlimit(resource.RLIMIT_FSIZE, no_limit)
        assert state() == before
        assert [file.name for file in path.parent.iterdir()] == [path.name], list(path.parent.iterdir())
assert index.add(many[20:]).tolist() == list(range(20, 40))
assert pairs(index.query(many[33], 40)) == brute_force(many[33], many, 40)
"""


READ_ONLY = """
import os, sys
import anchorot as ao
from tests.search.expected import pairs
from tests.strategies import clouds

many = clouds(9)
right = pairs(ao.SearchIndex.build(many).query(many[4], 9))
if os.getuid() == 0:
    os.setuid(65534)
assert not os.access(os.path.dirname(sys.argv[1]), os.W_OK)
index = ao.SearchIndex.load(sys.argv[1])
assert pairs(index.query(many[4], 9)) == right
for change in (lambda: index.add(many[:1]), lambda: index.remove([0]), index.compact):
    try:
        change()
    except (OSError, ao.AnchorotError) as error:
        assert "\\n" not in str(error), error
    else:
        raise AssertionError("changed")
assert pairs(index.query(many[4], 9)) == right
"""


def run(program, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.system
@ON_UNIX
def test_many_additions_need_few_descriptors(tmp_path):
    run(FEW_DESCRIPTORS, tmp_path / "x")


@pytest.mark.system
@ON_UNIX
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path):
    run(FULL_DISK, tmp_path / "x")


@pytest.mark.system
@ON_UNIX
def test_an_index_in_a_read_only_folder_can_be_queried():
    # not below pytest's own folder, which every other session of pytest closes to other users
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ao.SearchIndex.build(clouds(9), path=folder / "x")
        (folder / "x").chmod(0o444)
        folder.chmod(0o555)
        run(READ_ONLY, folder / "x")
        assert [file.name for file in folder.iterdir()] == ["x"]
        folder.chmod(0o755)  # so that it can be removed
