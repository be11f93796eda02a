"""What an index leaves alone: other people's files, readers that are at work, and what a failed change was about."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import anchorot as ao
from anchorot.search.sqlite_files import JOURNAL_MAGIC
from tests.requirements import ROOT
from tests.search.test_search import brute_force, clouds, pairs

pytestmark = pytest.mark.system

ON_UNIX = pytest.mark.skipif(sys.platform == "win32", reason="limits and rights of processes are others there")


def place_of(index):
    """The folder that other people may put their files into."""
    return index if index.is_dir() else index.parent


def old(path):
    """Let a file or folder be two hours old."""
    then = time.time() - 7200
    os.utime(path, (then, then))


# -- other people's files --------------------------------------------------------------------------------------------

STRANGERS = ("NOTES.txt", ".gitignore", ".x-0a1b2c3d", "x-wal.txt", "shards.bak", "000000-3f9a2c.part.md")


def changed_in_every_way(path):
    index = ao.SearchIndex.load(path)
    index.add(clouds(3, seed=1))
    index.remove([0, 5])
    index.compact()
    index.save(path.with_name("copy"))


def test_no_change_of_an_index_touches_the_files_of_others(tmp_path):
    path = tmp_path / "x"
    ao.SearchIndex.build(clouds(5), path=path)
    place = place_of(path)
    for name in STRANGERS:
        (place / name).write_text("mine")
        old(place / name)
    changed_in_every_way(path)
    assert [(place / name).read_text() for name in STRANGERS] == ["mine"] * len(STRANGERS)


def test_an_old_folder_beside_an_index_stops_no_change_and_stays(tmp_path):
    path = tmp_path / "x"
    ao.SearchIndex.build(clouds(5), path=path)
    folder = place_of(path) / "old"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear")
    old(folder)
    changed_in_every_way(path)
    assert (folder / "letter.txt").read_text() == "Dear"
    assert ao.SearchIndex.load(path).ids.tolist() == [1, 2, 3, 4, 6, 7]


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


@pytest.mark.parametrize("write", ["build", "save"])
def test_a_file_that_is_no_index_is_not_overwritten(write, tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Dear")
    acts = {"build": lambda: ao.SearchIndex.build(clouds(3), path=path), "save": lambda: saved.save(path)}
    saved = ao.SearchIndex.build(clouds(3))
    with pytest.raises((ao.InputError, OSError), match=r"letter\.txt"):
        acts[write]()
    assert path.read_text() == "Dear"
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_that_appears_while_an_index_is_built_is_not_overwritten(tmp_path):
    path = tmp_path / "letter.txt"

    def spaces():
        yield from clouds(3)
        path.write_text("Dear")

    with pytest.raises(ao.InputError, match=r"^letter\.txt: this is there already, and is no search index"):
        ao.SearchIndex.build(spaces(), path=path)
    assert path.read_text() == "Dear"
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def in_every_way(path):
    return {
        "load": lambda: ao.SearchIndex.load(path),
        "save": lambda: ao.SearchIndex.build(clouds(2)).save(path),
        "build": lambda: ao.SearchIndex.build(clouds(2), path=path),
    }


# What SQLite would take for its own by the name: it would be read into the index, and deleted.
@pytest.mark.parametrize("name", ["x-journal", "x-wal"])
@pytest.mark.parametrize("kind", ["text", "link", "folder"])
def test_a_file_in_the_place_of_a_journal_is_neither_taken_for_one_nor_touched(name, kind, tmp_path):
    path, other, notes = tmp_path / "x", tmp_path / name, tmp_path / "NOTES.txt"
    index = ao.SearchIndex.build(clouds(5), path=path)
    before = path.read_bytes()
    notes.write_text("mine")
    {"text": lambda: other.write_text("mine"), "link": lambda: other.symlink_to(notes), "folder": other.mkdir}[kind]()
    if kind == "folder":
        (other / "letter.txt").write_text("Dear")
    acts = in_every_way(path) | {
        "add": lambda: index.add(clouds(1)),
        "remove": lambda: index.remove([0]),
        "compact": index.compact,
        "query": lambda: index.query(clouds(1)[0], 3),
    }
    for act in acts.values():
        with pytest.raises(ao.InputError, match=rf"^{name}: lies where SQLite would take it for a part of x; move it"):
            act()
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["NOTES.txt", "x", name])
    assert path.read_bytes() == before
    assert (kind == "folder" and (other / "letter.txt").read_text() == "Dear") or other.read_text() == "mine"
    other.rename(tmp_path / "moved")
    assert index.add(clouds(1)).tolist() == [5]


@pytest.mark.parametrize("name", ["x-journal", "x-wal"])
def test_an_index_is_not_built_where_files_of_another_are_left(name, tmp_path):
    """A journal of an index that was deleted would be played back into the new one."""
    left = tmp_path / name
    left.write_bytes(JOURNAL_MAGIC + bytes(504))
    for act in (each for way, each in in_every_way(tmp_path / "x").items() if way != "load"):
        with pytest.raises(ao.InputError, match=rf"^{name}: lies where SQLite would take it for a part of x; move it"):
            act()
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_link_that_leads_to_itself_is_not_replaced(tmp_path):
    path = tmp_path / "x"
    path.symlink_to(path)
    for act in in_every_way(path).values():
        with pytest.raises(OSError, match="Too many levels of symbolic links"):
            act()
    assert path.is_symlink()


def test_a_folder_that_an_earlier_version_made_is_one_clear_line_and_stays(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "shards.json").write_text("{}")
    messages = {"load": r"x: a folder, but an index is one file; .* build it again", "save": "x: this is there already"}
    for way, act in in_every_way(folder).items():
        with pytest.raises(ao.InputError, match=rf"^{messages.get(way, messages['save'])}[^\n]*$"):
            act()
    assert [file.name for file in folder.iterdir()] == ["shards.json"]


def test_what_a_build_leaves_is_the_index_and_nothing_else(tmp_path):
    index = ao.SearchIndex.build(clouds(5), path=tmp_path / "x")
    index.add(clouds(2, seed=1))
    index.remove([1])
    index.compact()
    index.query(clouds(1)[0], 3)
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


# -- readers that are at work ----------------------------------------------------------------------------------------


def test_a_reader_whose_index_was_compacted_goes_on(tmp_path):
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


def test_a_reader_whose_index_was_built_anew_goes_on(tmp_path):
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
from tests.search.test_search import clouds

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
from tests.search.test_search import brute_force, clouds, pairs

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
            raise AssertionError("there was room")
        resource.setrlimit(resource.RLIMIT_FSIZE, no_limit)
        assert state() == before
        assert [file.name for file in path.parent.iterdir()] == [path.name], list(path.parent.iterdir())
assert index.add(many[20:]).tolist() == list(range(20, 40))
assert pairs(index.query(many[33], 40)) == brute_force(many[33], many, 40)
"""

READ_ONLY = """
import os, sys
import anchorot as ao
from tests.search.test_search import clouds, pairs

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


@ON_UNIX
def test_many_additions_need_few_descriptors(tmp_path):
    run(FEW_DESCRIPTORS, tmp_path / "x")


@ON_UNIX
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path):
    run(FULL_DISK, tmp_path / "x")


@ON_UNIX
def test_an_index_in_a_folder_that_cannot_be_written_to_can_be_asked(tmp_path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    ao.SearchIndex.build(clouds(9), path=folder / "x")
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in (tmp_path, *tmp_path.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)
    run(READ_ONLY, folder / "x")
    assert sorted(file.name for file in folder.iterdir()) == ["x"]
