"""The content of index files: damaged or impossible ones are refused."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

import anchorot as ao
from anchorot.search import file as index_file
from tests.requirements import ROOT
from tests.search import index_fuzz
from tests.search.expected import brute_force, pairs, results_of
from tests.strategies import clouds


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


def test_file_names_that_are_not_text_are_kept(tmp_path):
    name = os.fsdecode(b"cat\xff.off")
    index = ao.SearchIndex.build(clouds(2), [name, ""], path=tmp_path / "x")
    assert index.query(clouds(1)[0], 1).names == (name,)
    assert ao.SearchIndex.load(tmp_path / "x").query(clouds(2)[1], 1).names == ("",)
    index.remove([name])
    assert len(index) == 1


def refused_or_right(file, data, right):
    """Whether an index is refused; if not, its results_of must be right."""
    file.write_bytes(data)
    try:
        found = results_of(ao.SearchIndex.load(file))
    except ao.InputError as error:
        found = str(error)
    if isinstance(found, str):
        assert found.startswith(f"{file.name}: ")
        return True
    assert found == right
    return False


def test_flipped_bits_are_detected_where_they_matter(saved, tmp_path):
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


def test_damage_that_sqlite_cannot_decode_is_refused(saved, tmp_path):
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
        ao.InputError, match=r"^newer: version 7 of the format, but this anchorot reads up to version 2; build"
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
def test_no_mutation_of_a_file_with_valid_checksums_crashes_or_gives_wrong_results():
    said = in_a_process("-W", "error", "-m", "tests.search.index_fuzz", "--cases", 20)
    assert said.count("of 20 refused") == len(index_fuzz.MUTATIONS) + len(index_fuzz.RAW_MUTATIONS)


@pytest.mark.parametrize(
    ("which", "place", "value"),
    [("row", 3, 5), ("row", 3, 2**32 - 1), ("jump", 1, -1), ("jump", 1, 2**62), ("mass", 2, 2.0), ("mass", 2, np.nan)]
    + [("position", 0, value) for value in (np.nan, np.inf, 1e9)],
)
def test_features_unsafe_for_the_kernels_are_refused(which, place, value, tmp_path):
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


@pytest.mark.parametrize(
    "reading",
    [3, {"speed": 1}, {"kind": "no"}, {"rng": "x"}, {"rng": -1}, {"point_metric": 3}, {"weight": []}],
    ids=repr,
)
def test_an_index_with_invalid_reading_options_is_refused(tmp_path, reading):
    ao.SearchIndex.build(clouds(3), path=tmp_path / "x.index")
    index_fuzz.Parts.of(tmp_path / "x.index").write(tmp_path / "x.index", reading=reading)
    with pytest.raises(ao.InputError, match=r"x\.index: its header says that spaces were read with"):
        ao.SearchIndex.load(tmp_path / "x.index")
