"""Files beside an index, or at its path: other people's files are not changed."""

import os
import sqlite3
import time

import pytest

import anchorot as ao
from anchorot.search.sqlite_files import JOURNAL_MAGIC
from tests.search import index_fuzz
from tests.strategies import clouds


def test_a_file_with_a_log_beside_it_is_refused(tmp_path):
    index_fuzz.sound_index(tmp_path / "index")
    connection = sqlite3.connect(tmp_path / "index")
    connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(ao.InputError, match=r"^index: its journal is not a rollback journal"):
        ao.SearchIndex.load(tmp_path / "index")
    connection.close()


def test_a_journal_cannot_delete_another_file(tmp_path):
    # SQLite takes such a file for the journal of a change of several databases, and deletes it after rolling back.
    index_fuzz.sound_index(tmp_path / "index")
    index = ao.SearchIndex.load(tmp_path / "index")
    notes = tmp_path / "NOTES.txt"
    notes.write_text("mine")
    name, pages = os.fsencode(notes), (tmp_path / "index").stat().st_size // 8192
    numbers = [0, 7, pages, 512, 8192]  # records, a random number, pages of the file, bytes of a sector and of a page
    head = JOURNAL_MAGIC + b"".join(number.to_bytes(4) for number in numbers)
    tail = bytes(4) + name + len(name).to_bytes(4) + sum(name).to_bytes(4) + JOURNAL_MAGIC
    (tmp_path / "index-journal").write_bytes(head.ljust(512, b"\0") + tail)
    for act in (lambda: ao.SearchIndex.load(tmp_path / "index"), lambda: index.add(clouds(1), ["x"]), index.compact):
        with pytest.raises(
            ao.InputError, match=r"^index-journal: SQLite would take this file for a part of index; move"
        ):
            act()
    assert notes.read_text() == "mine"


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ao.InputError, match="not a regular file, but an index is one"):
        ao.SearchIndex.load(tmp_path / "pipe")


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


@pytest.mark.system
def test_no_change_of_an_index_touches_the_files_of_others(tmp_path):
    path = tmp_path / "x"
    ao.SearchIndex.build(clouds(5), path=path)
    place = place_of(path)
    for name in STRANGERS:
        (place / name).write_text("mine")
        old(place / name)
    changed_in_every_way(path)
    assert [(place / name).read_text() for name in STRANGERS] == ["mine"] * len(STRANGERS)


@pytest.mark.system
def test_an_old_folder_beside_an_index_is_kept_and_ignored(tmp_path):
    path = tmp_path / "x"
    ao.SearchIndex.build(clouds(5), path=path)
    folder = place_of(path) / "old"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear")
    old(folder)
    changed_in_every_way(path)
    assert (folder / "letter.txt").read_text() == "Dear"
    assert ao.SearchIndex.load(path).ids.tolist() == [1, 2, 3, 4, 6, 7]


@pytest.mark.system
@pytest.mark.parametrize("write", ["build", "save"])
def test_a_file_that_is_not_an_index_is_not_overwritten(write, tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Dear")
    acts = {"build": lambda: ao.SearchIndex.build(clouds(3), path=path), "save": lambda: saved.save(path)}
    saved = ao.SearchIndex.build(clouds(3))
    with pytest.raises((ao.InputError, OSError), match=r"letter\.txt"):
        acts[write]()
    assert path.read_text() == "Dear"
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.system
def test_a_file_that_appears_while_an_index_is_built_is_not_overwritten(tmp_path):
    path = tmp_path / "letter.txt"

    def spaces():
        yield from clouds(3)
        path.write_text("Dear")

    with pytest.raises(ao.InputError, match=r"^letter\.txt: already exists and is not a search index"):
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
@pytest.mark.system
@pytest.mark.parametrize("name", ["x-journal", "x-wal"])
@pytest.mark.parametrize("kind", ["text", "link", "folder"])
def test_a_file_named_like_a_journal_is_neither_used_nor_changed(name, kind, tmp_path):
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
        with pytest.raises(ao.InputError, match=rf"^{name}: SQLite would take this file for a part of x; move it"):
            act()
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["NOTES.txt", "x", name])
    assert path.read_bytes() == before
    assert (kind == "folder" and (other / "letter.txt").read_text() == "Dear") or other.read_text() == "mine"
    other.rename(tmp_path / "moved")
    assert index.add(clouds(1)).tolist() == [5]


@pytest.mark.system
@pytest.mark.parametrize("name", ["x-journal", "x-wal"])
def test_an_index_is_not_built_where_files_of_another_are_left(name, tmp_path):
    """A journal of an index that was deleted would be played back into the new one."""
    left = tmp_path / name
    left.write_bytes(JOURNAL_MAGIC + bytes(504))
    for act in (each for way, each in in_every_way(tmp_path / "x").items() if way != "load"):
        with pytest.raises(ao.InputError, match=rf"^{name}: SQLite would take this file for a part of x; move it"):
            act()
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.system
def test_a_link_to_itself_is_not_replaced(tmp_path):
    path = tmp_path / "x"
    path.symlink_to(path)
    for act in in_every_way(path).values():
        with pytest.raises(OSError, match="Too many levels of symbolic links"):
            act()
    assert path.is_symlink()


@pytest.mark.system
def test_a_folder_that_an_earlier_version_made_is_one_clear_line_and_stays(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "shards.json").write_text("{}")
    messages = {"load": r"x: a folder, but an index is one file; .* build it again", "save": "x: already exists"}
    for way, act in in_every_way(folder).items():
        with pytest.raises(ao.InputError, match=rf"^{messages.get(way, messages['save'])}[^\n]*$"):
            act()
    assert [file.name for file in folder.iterdir()] == ["shards.json"]


@pytest.mark.system
def test_building_leaves_only_the_index(tmp_path):
    index = ao.SearchIndex.build(clouds(5), path=tmp_path / "x")
    index.add(clouds(2, seed=1))
    index.remove([1])
    index.compact()
    index.query(clouds(1)[0], 3)
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
