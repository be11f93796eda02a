"""Index files: right, or refused in one line; never a crash, however they were made."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.search.store import FeatureStore

import index_fuzz
from test_search import brute_force, clouds, pairs

pytestmark = pytest.mark.kernel_free

HERE = Path(__file__).parent


# -- saved and loaded ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robust", [False, True])
def test_a_saved_index_gives_the_same_bits(robust, tmp_path, few_at_first):
    many, more = clouds(40), clouds(10, seed=1)
    index = ao.SearchIndex.build(many, robust=robust)
    index.remove([3, 39])
    index.save(tmp_path / "one")
    again = ao.SearchIndex.load(tmp_path / "one")
    assert repr(again) == repr(index)
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


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    many = clouds(4)
    index = ao.SearchIndex.build(many)
    index.save(tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    index.add(many)

    def full_disk(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(FeatureStore, "bytes_of", full_disk)
    with pytest.raises(OSError, match="no space"):
        index.save(tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small index file, and what it answers."""
    file = tmp_path_factory.mktemp("saved") / "index"
    index = ao.SearchIndex.build(clouds(3), list("abc"), grid=(2, 2))
    index.save(file)
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


@pytest.mark.lengthy
def test_flipped_bits_are_noticed_wherever_they_matter(saved, tmp_path):
    data, right = saved
    content = np.flatnonzero(np.frombuffer(data, np.uint8))  # nearly all bytes that are not filling
    rng = np.random.default_rng(0)
    places = np.unique(np.concatenate([np.arange(0, 700, 3), rng.choice(content, 250), rng.integers(0, len(data), 50)]))
    refused = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        refused += refused_or_right(tmp_path / "index", damaged, right)
    assert refused > 350


def test_files_cut_short_or_drawn_out_are_refused(saved, tmp_path):
    data, right = saved
    lengths = [0, 1, 31, 32, 100, 4095, 4096, 4097, *range(5000, len(data), 1777), len(data) - 8, len(data) - 1]
    assert all(refused_or_right(tmp_path / "index", data[:length], right) for length in lengths)
    assert refused_or_right(tmp_path / "index", data + b"\0", right)
    assert not refused_or_right(tmp_path / "index", data, right)


def test_damaged_features_are_refused_when_saved_again(saved, tmp_path):
    data, _ = saved
    (tmp_path / "index").write_bytes(data[:-20] + bytes(12) + data[-8:])
    with pytest.raises(ao.InputError, match=r"index: the features at byte .* are not those that were saved"):
        ao.SearchIndex.load(tmp_path / "index").save(tmp_path / "copy")


def test_other_files_and_versions_are_refused(saved, tmp_path):
    data, _ = saved
    (tmp_path / "text").write_text("Not an index at all, but a line of text.")
    with pytest.raises(ao.InputError, match=r"^text: not a search index of anchorot$"):
        ao.SearchIndex.load(tmp_path / "text")
    (tmp_path / "newer").write_bytes(data[:8] + b"\3" + data[9:])
    with pytest.raises(ao.InputError, match="newer: version 3 of the format, but this anchorot reads up to 2"):
        ao.SearchIndex.load(tmp_path / "newer")
    with pytest.raises(FileNotFoundError):
        ao.SearchIndex.load(tmp_path / "nothing")


# -- made with intent, or changed while open -----------------------------------------------------------------------


def in_a_process(*arguments, seconds=300):
    """Run Python: what goes wrong may end the process."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=HERE, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    return done.stdout


def test_no_mutation_of_a_file_whose_checksums_fit_crashes_or_answers_wrongly():
    said = in_a_process("-W", "error", "index_fuzz.py", "--cases", 25)
    assert said.count("of 25 refused") == len(index_fuzz.MUTATIONS)


@pytest.mark.parametrize(
    ("which", "place", "value"),
    [("row", 3, 5), ("row", 3, 2**32 - 1), ("jump", 1, -1), ("jump", 1, 2**62), ("mass", 2, 2.0), ("mass", 2, np.nan)]
    + [("position", 0, value) for value in (np.nan, np.inf, 1e9)],
)
def test_what_the_kernels_cannot_be_given_is_refused(which, place, value, tmp_path):
    file = tmp_path / "index"
    x = index_fuzz.sound_index(file)
    parts = index_fuzz.Parts.of(file.read_bytes())
    parts.events(index_fuzz.WEIGHTED)[place][0] = value
    file.write_bytes(parts.together())
    index = ao.SearchIndex.load(file)
    with pytest.raises(
        ao.InputError, match="index: the features at byte 0 are not sorted costs of points whose weights"
    ):
        index.query(x, k=3)
    with pytest.raises(ao.InputError, match="the features at byte 0"):
        index.save(tmp_path / "copy")


CHANGED_WHILE_OPEN = """
import sys
import anchorot as ao
import index_fuzz
from pathlib import Path

file, change, asked = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "asked"
x = index_fuzz.sound_index(file)
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
        handle.seek(size - 4096)
        handle.write(bytes(4096))
for act in (lambda: index.query(x, k=3), lambda: index.save(file.with_name("copy"))):
    try:
        act()
    except ao.InputError as error:
        assert "are not those that were saved" in str(error), error
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
    with pytest.raises(ao.InputError, match=r"a folder without shards\.json, but an index in a folder has one"):
        ao.SearchIndex.load(tmp_path)


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
        assert found.distance.tolist() == wanted.distance.tolist()
        assert (found.index[0], found.distance[0]) == (2, 0.0)


def test_what_is_read_otherwise_is_noted(files):
    index = ao.SearchIndex.build(ao.read(path, **HOW) for path in files)
    message = "^this was read otherwise than the index: n_points=8 where the index has 9, rng=4 where the index has 3$"
    with pytest.warns(ao.InputNote, match=message):
        index.query(ao.read(files[0], kind="points", n_points=8, rng=4), k=1)
    with pytest.warns(ao.InputNote, match="n_points=None where the index has 9"):
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
    index = ao.SearchIndex.build(clouds(3))
    index._contents.common = index._contents.common._replace(reading=reading)
    index.save(tmp_path / "x.index")
    with pytest.raises(ao.InputError, match=r"x\.index: its header says that spaces were read with"):
        ao.SearchIndex.load(tmp_path / "x.index")
