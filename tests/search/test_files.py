"""Index files: right, or refused in one line; never a crash, however they were made."""

import errno
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing

import numpy as np
import pytest

import anchorot as ao
from anchorot.search import file as index_file
from anchorot.search.file import IndexFile
from anchorot.search.sqlite_files import JOURNAL_MAGIC
from tests.requirements import ROOT
from tests.search import index_fuzz
from tests.search.test_search import brute_force, clouds, pairs

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


def test_a_copy_and_the_index_that_it_was_saved_from_go_separate_ways(tmp_path):
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
def test_a_full_disk_is_an_error_that_names_a_place_the_caller_knows(way, is_there, tmp_path, monkeypatch):
    path, index = tmp_path / "x", ao.SearchIndex.build(clouds(30))
    if is_there:
        ao.SearchIndex.build(clouds(2), path=path)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if way == "wait":  # in a temporary file, before the first is written to the index
        monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", full)
    else:
        monkeypatch.setattr(index_file, "SETTINGS", (*index_file.SETTINGS, "max_page_count = 6"))
    with pytest.raises(OSError, match="No space left on device") as told:
        index.save(path) if way == "save" else ao.SearchIndex.build(clouds(30), path=path)
    assert told.value.filename == str(tmp_path if way == "wait" else path)
    assert told.value.errno == errno.ENOSPC
    assert [file.name for file in tmp_path.iterdir()] == ["x"] * is_there


def test_errors_of_who_gives_the_spaces_stay_what_they_are(tmp_path):
    def spaces():
        yield from clouds(2)
        raise TimeoutError("the database does not reply")

    with pytest.raises(TimeoutError, match="the database does not reply") as told:
        ao.SearchIndex.build(spaces(), path=tmp_path / "x")
    assert told.value.filename is None


def test_features_that_are_too_long_for_one_row_take_several(tmp_path, monkeypatch):
    monkeypatch.setattr(index_file, "PART_BYTES", 100)
    many = clouds(9)
    index = ao.SearchIndex.build(many, path=tmp_path / "x")
    index.add(many[:2])
    index.remove([3])
    index.save(tmp_path / "copy")
    held = [0, 1, 2, *range(4, 11)]
    for name in ("x", "copy"):
        again = ao.SearchIndex.load(tmp_path / name)
        right = brute_force(many[4], [[*many, *many[:2]][k] for k in held], 10, held)
        assert pairs(again.query(many[4], 10)) == right
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            keys = [key for (key,) in connection.execute("SELECT id FROM features")]
        assert sorted({key % index_file.MAX_ID for key in keys}) == held
        assert len(keys) > 3 * len(held)


def test_names_of_files_that_are_no_text_are_kept(tmp_path):
    name = os.fsdecode(b"cat\xff.off")
    index = ao.SearchIndex.build(clouds(2), [name, ""], path=tmp_path / "x")
    assert index.query(clouds(1)[0], 1).names == (name,)
    assert ao.SearchIndex.load(tmp_path / "x").query(clouds(2)[1], 1).names == ("",)
    index.remove([name])
    assert len(index) == 1


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small index file, and what it answers."""
    file = tmp_path_factory.mktemp("saved") / "index"
    index = ao.SearchIndex.build(clouds(3), list("abc"), grid=(2, 2), path=file)
    return file.read_bytes(), answers(index)


def answers(index):
    result = index.query(clouds(2, seed=1)[1], k=len(index))
    return pairs(result), result.names


def refused_or_right(file, data, right):
    """Whether an index is refused; if not, its answers must be right."""
    file.write_bytes(data)
    try:
        found = answers(ao.SearchIndex.load(file))
    except ao.InputError as error:
        found = str(error)
    if isinstance(found, str):
        assert found.startswith(f"{file.name}: ")
        return True
    assert found == right
    return False


def test_flipped_bits_are_noticed_wherever_they_matter(saved, tmp_path):
    data, right = saved
    content = np.flatnonzero(np.frombuffer(data, np.uint8))  # nearly all bytes that are not filling
    rng = np.random.default_rng(0)
    places = np.unique(np.concatenate([np.arange(0, 700, 5), rng.choice(content, 150), rng.integers(0, len(data), 30)]))
    refused = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        refused += refused_or_right(tmp_path / "index", damaged, right)
    assert refused > 140


def test_damage_that_sqlite_cannot_spell_is_refused(saved, tmp_path):
    data, right = saved
    for place in range(start := data.index(b"CREATE TABLE"), start + 60, 3):  # SQLite quotes it in its own error
        damaged = bytearray(data)
        damaged[place] = 0xCC
        refused_or_right(tmp_path / "index", damaged, right)


def test_files_cut_short_are_refused(saved, tmp_path):
    data, right = saved
    lengths = [0, 1, 31, 32, 99, 100, 4095, 4096, 8191, 8192, 8193, *range(9000, len(data) - 8192, 1777)]
    assert all(refused_or_right(tmp_path / "index", data[:length], right) for length in lengths)
    assert not refused_or_right(tmp_path / "index", data, right)
    refused_or_right(tmp_path / "index", data + b"\0", right)


def test_damaged_features_are_refused_when_saved_again(tmp_path):
    index_fuzz.sound_index(tmp_path / "index")
    with closing(sqlite3.connect(tmp_path / "index")) as connection, connection:
        connection.execute("UPDATE features SET data = zeroblob(length(data)) WHERE id = 1")
    with pytest.raises(ao.InputError, match=r"^index: the features of id 1 are not those that were saved; the file"):
        ao.SearchIndex.load(tmp_path / "index").save(tmp_path / "copy")
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


def test_a_damaged_index_can_be_built_again_where_it_is(saved, tmp_path):
    data, _ = saved
    for damaged in (data[: len(data) // 2], data[:8192] + bytes(len(data) - 8192)):
        (tmp_path / "index").write_bytes(damaged)
        index = ao.SearchIndex.build(clouds(5), path=tmp_path / "index")
        assert len(index) == len(ao.SearchIndex.load(tmp_path / "index")) == 5


def test_other_files_and_versions_are_refused(saved, tmp_path):
    data, _ = saved
    (tmp_path / "text").write_text("Not an index at all, but a line of text.")
    with closing(sqlite3.connect(tmp_path / "diary")) as connection, connection:
        connection.execute("CREATE TABLE days (day)")
    for name in ("text", "diary"):
        with pytest.raises(ao.InputError, match=rf"^{name}: not a search index of anchorot$"):
            ao.SearchIndex.load(tmp_path / name)
    (tmp_path / "newer").write_bytes(data[:60] + (7).to_bytes(4) + data[64:])
    with pytest.raises(
        ao.InputError, match=r"^newer: version 7 of the format, but this anchorot reads version 1; build"
    ):
        ao.SearchIndex.load(tmp_path / "newer")
    with pytest.raises(FileNotFoundError, match="nothing"):
        ao.SearchIndex.load(tmp_path / "nothing")


# -- made with intent, or changed while open -----------------------------------------------------------------------


def in_a_process(*arguments, seconds=300):
    """Run Python: what goes wrong may end the process."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    return done.stdout


@pytest.mark.system
def test_no_mutation_of_a_file_whose_checksums_fit_crashes_or_answers_wrongly():
    said = in_a_process("-W", "error", "-m", "tests.search.index_fuzz", "--cases", 20)
    assert said.count("of 20 refused") == len(index_fuzz.MUTATIONS) + len(index_fuzz.RAW_MUTATIONS)


@pytest.mark.parametrize(
    ("which", "place", "value"),
    [("row", 3, 5), ("row", 3, 2**32 - 1), ("jump", 1, -1), ("jump", 1, 2**62), ("mass", 2, 2.0), ("mass", 2, np.nan)]
    + [("position", 0, value) for value in (np.nan, np.inf, 1e9)],
)
def test_what_the_kernels_cannot_be_given_is_refused(which, place, value, tmp_path):
    file = tmp_path / "index"
    x = index_fuzz.sound_index(file)
    parts = index_fuzz.Parts.of(file)
    parts.events(index_fuzz.WEIGHTED)[place][0] = value
    parts.write(file)
    index = ao.SearchIndex.load(file)
    message = "^index: the features of id 0 are not sorted costs of points whose weights"
    with pytest.raises(ao.InputError, match=message):
        index.query(x, k=3)
    with pytest.raises(ao.InputError, match=message):
        index.save(tmp_path / "copy")


HOSTILE = {
    "view": "ALTER TABLE features RENAME TO f; CREATE VIEW features AS SELECT id, randomblob(1 << 30) AS data FROM f",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON spaces BEGIN DELETE FROM features; END",
    "another table": "CREATE TABLE diary (day)",
    "index": "CREATE INDEX i ON spaces (name)",
    "another column": "ALTER TABLE spaces ADD COLUMN more DEFAULT 7",
    "virtual table": "DROP TABLE removed; CREATE VIRTUAL TABLE removed USING fts4(x)",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_with_tables_of_another_kind_is_refused(what, tmp_path):
    index_fuzz.sound_index(tmp_path / "index")
    index = ao.SearchIndex.load(tmp_path / "index")
    with closing(sqlite3.connect(tmp_path / "index")) as connection:
        connection.executescript(HOSTILE[what])
    for act in (lambda: ao.SearchIndex.load(tmp_path / "index"), lambda: index.add(clouds(1), ["x"])):
        with pytest.raises(ao.InputError, match=r"^index: its tables are not those of an index; the file is damaged"):
            act()


def test_a_file_with_a_log_beside_it_is_refused(tmp_path):
    index_fuzz.sound_index(tmp_path / "index")
    connection = sqlite3.connect(tmp_path / "index")
    connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(ao.InputError, match=r"^index: its journal is of another kind"):
        ao.SearchIndex.load(tmp_path / "index")
    connection.close()


def test_a_journal_that_names_another_file_has_it_not_deleted(tmp_path):
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
            ao.InputError, match=r"^index-journal: lies where SQLite would take it for a part of index; move"
        ):
            act()
    assert notes.read_text() == "mine"


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


def test_a_file_that_was_only_touched_answers_as_before(saved, tmp_path):
    data, right = saved
    (tmp_path / "index").write_bytes(data)
    index = ao.SearchIndex.load(tmp_path / "index")
    assert answers(index) == right
    os.utime(tmp_path / "index", (time.time() + 9, time.time() + 9))
    assert answers(index) == right


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ao.InputError, match="not a regular file, but an index is one"):
        ao.SearchIndex.load(tmp_path / "pipe")


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


def test_what_is_read_otherwise_is_noted(files):
    index = ao.SearchIndex.build(ao.read(path, **HOW) for path in files)
    message = "^this was read otherwise than the index: n_points=8 where the index has 9, rng=4 where the index has 3$"
    with pytest.warns(ao.InputWarning, match=message):
        index.query(ao.read(files[0], kind="points", n_points=8, rng=4), k=1)
    with pytest.warns(ao.InputWarning, match="n_points=None where the index has 9"):
        index.add([ao.read(files[0], kind="points")])
    index.query(ao.read(files[0], **HOW).cost, k=1)  # nobody knows how that was read


def test_spaces_of_several_sorts_have_no_common_way_of_reading(files):
    spaces = [ao.read(files[0], **HOW), ao.read(files[1], kind="points")]
    assert ao.SearchIndex.build(spaces).reading is None
    assert ao.SearchIndex.build([spaces[0], spaces[0].cost]).reading is None
    assert ao.SearchIndex.build([np.zeros((2, 2))]).reading is None


@pytest.mark.parametrize(
    "reading",
    [3, {"speed": 1}, {"kind": "no"}, {"rng": "x"}, {"rng": -1}, {"point_metric": 3}, {"weight": []}],
    ids=repr,
)
def test_an_index_with_an_impossible_way_of_reading_is_refused(tmp_path, reading):
    ao.SearchIndex.build(clouds(3), path=tmp_path / "x.index")
    index_fuzz.Parts.of(tmp_path / "x.index").write(tmp_path / "x.index", reading=reading)
    with pytest.raises(ao.InputError, match=r"x\.index: its header says that spaces were read with"):
        ao.SearchIndex.load(tmp_path / "x.index")
