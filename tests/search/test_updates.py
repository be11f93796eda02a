"""An index that is changed in place: the results of a rebuilt one, for all who have it open."""

import os
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

import anchorot as ao
from anchorot.search import file as index_file
from anchorot.search import query, updates
from anchorot.search.file import IndexFile
from anchorot.search.preprocessing import View
from tests.requirements import ROOT
from tests.search.expected import brute_force, pairs
from tests.strategies import assert_same, clouds


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """So that few spaces come in several pieces, wherever there are pieces."""
    monkeypatch.setattr(updates, "FIRST_SPACES", 7)
    monkeypatch.setattr(updates, "NEXT_SPACES", 3)
    monkeypatch.setattr(updates, "SPOOL_BYTES", 1000)
    monkeypatch.setattr(updates, "COPY_BYTES", 1000)
    monkeypatch.setattr(index_file, "BATCH_ROWS", 4)
    monkeypatch.setattr(index_file, "VACUUM_PAGES", 2)
    monkeypatch.setattr(query, "READ_AHEAD", 3)
    monkeypatch.setattr(query, "SMALL_SEGMENT", 5)


# -- results -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("count", [1, 7, 30])
def test_an_index_in_a_file_gives_the_results_of_a_temporary_one(robust, count, tmp_path, few_at_first):
    many, names = clouds(count), [f"cloud {k}" for k in range(count)]
    built = ao.SearchIndex.build(iter(many), names, robust=robust, path=tmp_path / "x")
    for index in (built, ao.SearchIndex.load(tmp_path / "x"), ao.SearchIndex.build(many, names, robust=robust)):
        assert index.ids.tolist() == list(range(count))
        for x in clouds(3, seed=1):
            k = min(count, 9)
            result = index.query(x, k)
            assert pairs(result) == brute_force(x, many, k, robust=robust)
            assert result.names == tuple(names[i] for i in result.index)
            assert result.exact


@pytest.mark.parametrize("threads", [1, 3])
def test_spaces_that_are_looked_at_together_are_kept_as_one_by_one(threads, monkeypatch):
    stack = [*np.array([x.cost for x in clouds([9] * 70, weighted=False) if x.cost.dtype == float])]
    many = [*stack, *clouds(20), *stack[:5]]
    together = updates.Staged(iter(many), View(False), None, threads=threads)
    monkeypatch.setattr(View, "kept_together", lambda self, spaces, threads: [None] * len(spaces))
    alone = updates.Staged(iter(many), View(False), None)
    assert (together.spans, together.reading) == (alone.spans, alone.reading)
    encoder = updates.choose_encoder(alone, alone.view, (4, 4))
    assert_same(together.encode(encoder), np.array([encoder.encode(alone.features(k))[0] for k in range(len(alone))]))
    alone.encode(encoder)
    assert_same(together._entries, alone._entries)
    assert [together.data(k) for k in range(len(many))] == [alone.data(k) for k in range(len(many))]


def test_an_index_of_clouds_is_that_of_their_spaces(few_at_first):
    points = np.random.default_rng(0).normal(size=(30, 8, 2))
    index = ao.SearchIndex.build(ao.io.PointClouds(points))
    many = [ao.from_points(x) for x in points]
    assert pairs(index.query(many[3], 5)) == brute_force(many[3], many, 5)


@pytest.mark.parametrize("place", [0, 3, 66])
def test_a_bad_array_among_many_is_named(place):
    stack = np.ones((70, 3, 3))
    stack[place:, 0, 1] = np.nan
    with pytest.raises(ao.InputError, match=rf"^spaces\[{place}\]: cost must be finite, but 1 entries are not"):
        ao.SearchIndex.build(stack)


def test_an_approximate_result_is_the_best_of_the_first_candidates_of_all_segments(tmp_path):
    many, x = clouds(30), clouds(1, seed=1)[0]
    index = ao.SearchIndex.build(many[:10], path=tmp_path / "x", grid=ao.anchors.Grid((4, 4), 0, 9))
    for start in (10, 20):
        index.query(x, 1)
        index.add(many[start : start + 10])
    result = index.query(x, 3, exact=False, candidates=5)
    assert len(index._reader.snapshot().segments) == 3
    assert not result.exact
    assert result.n_exact <= 5
    together = ao.SearchIndex.build(many, grid=index.grid).query(x, 3, exact=False, candidates=5)
    assert pairs(result) == pairs(together)
    assert pairs(index.query(x, 3, exact=False, candidates=30)) == brute_force(x, many, 3)


def test_ids_go_on_counting_in_a_copy(tmp_path, few_at_first):
    many, names = clouds(20), [str(k) for k in range(20)]
    index = ao.SearchIndex.build(many, names, path=tmp_path / "x")
    index.remove([3, 19])
    index.save(tmp_path / "copy")
    again = ao.SearchIndex.load(tmp_path / "copy")
    held = [k for k in range(20) if k not in (3, 19)]
    assert again.ids.tolist() == held
    assert again.add([many[3]], ["again"]).tolist() == [20]
    x = clouds(1, seed=1)[0]
    assert pairs(again.query(x, 9)) == brute_force(x, [*(many[k] for k in held), many[3]], 9, [*held, 20])


def test_types_are_distinguished_in_every_segment(tmp_path):
    rng = np.random.default_rng(0)
    many = [
        ao.from_points(rng.normal(size=(6, 2)), types=list("aabbcc")[: 6 - k % 2] + ["b"] * (k % 2)) for k in range(16)
    ]
    index = ao.SearchIndex.build(many, attributes="types", grid=(4, 4), path=tmp_path / "x")
    right = ao.SearchIndex.build(many, attributes="types", grid=(4, 4))
    index.add(many[:2])
    right.add(many[:2])
    assert pairs(index.query(many[4], 9)) == pairs(right.query(many[4], 9))


# -- changes -------------------------------------------------------------------------------------------------------


def test_what_is_added_and_removed_in_place_is_what_a_rebuilt_index_has(tmp_path, few_at_first):
    rng, many, path = np.random.default_rng(0), clouds(90), tmp_path / "x"
    index = ao.SearchIndex.build(many[:10], [str(k) for k in range(10)], path=path)
    reader = ao.SearchIndex.load(path)  # follows all changes
    held, wanted = list(range(10)), clouds(2, seed=1)
    for step in range(24):
        act = rng.integers(4)
        if act == 0 and len(held) > 6:
            gone = rng.choice(held, int(rng.integers(1, len(held) - 4)), replace=False).tolist()
            index.remove([str(k) for k in gone] if step % 2 else gone)
            held = [k for k in held if k not in gone]
        elif act == 1:
            index.compact()
        else:
            start = index._file.header().next_id
            new = list(range(start, start + int(rng.integers(1, 5))))
            assert index.add([many[k] for k in new], [str(k) for k in new]).tolist() == new
            held += new
        again = ao.SearchIndex.load(path)
        rebuilt = ao.SearchIndex.build([many[k] for k in held])
        for x in wanted:
            right = [(value, held[i]) for value, i in pairs(rebuilt.query(x, 4))]
            assert pairs(index.query(x, 4)) == pairs(again.query(x, 4)) == pairs(reader.query(x, 4)) == right
            assert reader.query(x, 4).names == tuple(str(i) for _, i in right)
    assert reader.ids.tolist() == held


def test_an_addition_writes_what_is_new_and_little_else(tmp_path):
    index = ao.SearchIndex.build(clouds(700), path=tmp_path / "x", grid=(4, 4))
    before = np.frombuffer((tmp_path / "x").read_bytes(), np.uint8).reshape(-1, 8192)
    index.add(clouds(2, seed=1))
    index.remove([0, 500])
    after = np.frombuffer((tmp_path / "x").read_bytes(), np.uint8).reshape(-1, 8192)
    assert len(after) <= len(before) + 4
    assert (before != after[: len(before)]).any(axis=1).sum() < 25


def test_compacting_frees_the_space_of_removed_entries(tmp_path):
    many = clouds(60)
    alone = ao.SearchIndex.build(many[:6], path=tmp_path / "small")
    index = ao.SearchIndex.build(many, path=tmp_path / "x")
    large = (tmp_path / "x").stat().st_size
    index.remove(range(6, 60))
    assert (tmp_path / "x").stat().st_size == large
    index.compact()
    assert (tmp_path / "x").stat().st_size < 1.3 * (tmp_path / "small").stat().st_size
    assert pairs(index.query(many[3], 6)) == pairs(alone.query(many[3], 6))
    assert index.add(many[:1]).tolist() == [60]
    index.remove(index.ids)
    index.compact()
    assert len(ao.SearchIndex.load(tmp_path / "x")) == 0
    assert index.add(many[:1]).tolist() == [61]


def test_additions_reuse_the_space_of_removed_entries(tmp_path):
    index = ao.SearchIndex.build(clouds(60), path=tmp_path / "x")
    index.remove(range(30))
    before = (tmp_path / "x").stat().st_size
    index.add(clouds(10, seed=1))
    assert (tmp_path / "x").stat().st_size <= before


def test_spaces_of_one_name_are_removed_together():
    with pytest.warns(ao.InputWarning, match="'cat' to 2"):
        index = ao.SearchIndex.build(clouds(4), ["cat", "dog", "cat", "cow"])
    index.remove("cat")
    assert index.ids.tolist() == [1, 3]
    index.remove(["cow", "dog"])
    assert len(index) == 0


def test_an_unknown_name_gets_one_line():
    index = ao.SearchIndex.build(clouds(2), ["cat", "dog"])
    with pytest.raises(ao.InputError, match=r"^the index has no space named 'cow'$"):
        index.remove(["cat", "cow"])
    assert len(index) == 2
    with pytest.raises(ao.InputError, match=r"^the index has no space named 'cat'$"):
        ao.SearchIndex.build(clouds(2)).remove(["cat"])


def test_a_process_that_missed_a_change_can_make_another(tmp_path):
    many = clouds(8)
    first = ao.SearchIndex.build(many[:5], path=tmp_path / "x")
    second = ao.SearchIndex.load(tmp_path / "x")
    assert first.add(many[5:6]).tolist() == [5]
    assert second.add(many[6:7]).tolist() == [6]
    first.remove([5, 0])
    second.compact()
    with pytest.raises(ao.InputError, match=r"^the index has no space with id 5$"):
        second.remove([5])
    assert second.add(many[7:]).tolist() == [7]
    held = [1, 2, 3, 4, 6, 7]
    for each in (first, second, ao.SearchIndex.load(tmp_path / "x")):
        assert each.ids.tolist() == held
        assert pairs(each.query(many[6], 6)) == brute_force(many[6], [many[i] for i in held], 6, held)


def test_a_space_removed_by_another_process_is_missed(tmp_path, monkeypatch):
    index, other = (ao.SearchIndex.build(clouds(5), path=tmp_path / "x") for _ in range(2))
    find = query.Snapshot.find

    def late(*arguments):
        ids = find(*arguments)
        monkeypatch.undo()
        other.remove([2])
        return ids

    monkeypatch.setattr(query.Snapshot, "find", late)
    with pytest.raises(ao.InputError, match=r"^the index has no space with id 2$"):
        index.remove([1, 2])
    assert index.ids.tolist() == [0, 1, 3, 4]


def test_an_addition_to_an_index_that_is_replaced_meanwhile_is_made_or_refused(tmp_path):
    many = clouds(6)

    def replacing(robust):
        yield many[4]
        ao.SearchIndex.build(many[:2], path=tmp_path / "x", grid=(4, 4), robust=robust)

    index = ao.SearchIndex.build(many[:4], path=tmp_path / "x")
    assert index.add(replacing(robust=False)).tolist() == [2]
    assert pairs(index.query(many[4], 3)) == brute_force(many[4], [*many[:2], many[4]], 3)
    with pytest.raises(ao.InputError, match=r"^x: another index has replaced this one; load it again$"):
        index.add(replacing(robust=True))
    assert len(index) == 2


def test_an_addition_that_fails_leaves_the_file_as_it_was(tmp_path):
    index = ao.SearchIndex.build(clouds(5), path=tmp_path / "x")
    before = (tmp_path / "x").read_bytes()
    with pytest.raises(ao.InputError, match=r"spaces\[1\]: cost has shape"):
        index.add([np.eye(2), np.ones(3)])
    assert (tmp_path / "x").read_bytes() == before
    assert index.add([np.eye(2)]).tolist() == [5]


@pytest.mark.parametrize("names", [None, list("abcdefgh")])
def test_a_failed_build_leaves_no_files(names, tmp_path):
    def unwilling():
        yield from clouds(9)
        if names is None:
            yield np.ones(3)

    with pytest.raises(ao.InputError, match=r"spaces\[9\]: cost has shape|names has 8 entries, but got 9 spaces"):
        ao.SearchIndex.build(unwilling(), names, path=tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_threads_that_add_to_a_file_at_the_same_time_lose_nothing(tmp_path):
    many = clouds(16)
    index = ao.SearchIndex.build(many[:4], path=tmp_path / "x")
    threads = [threading.Thread(target=index.add, args=(many[k : k + 3],)) for k in (4, 7, 10, 13)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert index.query(many[0], 1).index[0] == 0
    for thread in threads:
        thread.join()
    for each in (index, ao.SearchIndex.load(tmp_path / "x")):
        assert each.ids.tolist() == list(range(16))
        assert all(each.query(x, 1).value[0] < 1e-12 for x in many)


def test_an_index_that_changes_while_it_is_loaded_is_loaded_as_it_is_then(tmp_path, monkeypatch):
    index = ao.SearchIndex.build(clouds(10), path=tmp_path / "x")
    batches = IndexFile.batches

    def late(self, *arguments):
        monkeypatch.undo()
        index.remove(range(8))
        index.compact()
        return batches(self, *arguments)

    monkeypatch.setattr(IndexFile, "batches", late)
    assert ao.SearchIndex.load(tmp_path / "x").ids.tolist() == [8, 9]


def test_features_removed_before_they_are_read_raise_no_error(tmp_path, monkeypatch, few_at_first):
    many = clouds(12)
    index, other = (ao.SearchIndex.build(many, path=tmp_path / "x") for _ in range(2))
    kept = IndexFile.kept

    def late(self, *arguments):
        monkeypatch.setattr(IndexFile, "kept", kept)
        other.remove([4, 5])
        return kept(self, *arguments)

    monkeypatch.setattr(IndexFile, "kept", late)
    held = [k for k in range(12) if k not in (4, 5)]
    assert pairs(index.query(many[4], 6)) == brute_force(many[4], [many[k] for k in held], 6, held)


def test_a_copy_made_during_changes_has_one_state(tmp_path, monkeypatch):
    index = ao.SearchIndex.build(clouds(12), path=tmp_path / "x")
    data, left = IndexFile.data, [lambda: index.add(clouds(1)), lambda: index.remove([11]), lambda: index.remove([0])]

    def disturbed(self, *arguments):
        if left:
            left.pop(0)()
        return data(self, *arguments)

    monkeypatch.setattr(IndexFile, "data", disturbed)
    index.save(tmp_path / "copy")
    assert not left
    assert ao.SearchIndex.load(tmp_path / "copy").ids.tolist() in ([*range(11), 12], [*range(1, 11), 12])


def test_an_index_that_is_built_where_another_is_replaces_it(tmp_path):
    old = ao.SearchIndex.build(clouds(20), path=tmp_path / "x")
    index = ao.SearchIndex.build(clouds(9, seed=1), path=tmp_path / "x")
    for each in (index, old):
        assert pairs(each.query(clouds(1)[0], 9)) == brute_force(clouds(1)[0], clouds(9, seed=1), 9)
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_a_link_to_an_index_is_followed(tmp_path):
    ao.SearchIndex.build(clouds(3), path=tmp_path / "x")
    (tmp_path / "link").symlink_to("x")
    index = ao.SearchIndex.load(tmp_path / "link")
    index.add(clouds(1, seed=1))
    index.save(tmp_path / "x")
    assert len(ao.SearchIndex.load(tmp_path / "x")) == 4
    ao.SearchIndex.build(clouds(2), path=tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert len(index) == len(ao.SearchIndex.load(tmp_path / "x")) == 2


def test_long_names_of_files_work(tmp_path):
    for name in ("x" * 247, "sp ace?mode=rw#1%41", "ü" * 100):
        ao.SearchIndex.build(clouds(3), path=tmp_path / name)
        index = ao.SearchIndex.build(clouds(4), path=tmp_path / name)
        index.save(tmp_path / "copy")
        assert len(ao.SearchIndex.load(tmp_path / name)) == 4


def test_an_index_whose_file_is_deleted_still_gives_results_and_cannot_be_changed(tmp_path):
    many = clouds(5)
    index = ao.SearchIndex.build(many, path=tmp_path / "x")
    (tmp_path / "x").unlink()
    assert pairs(index.query(many[2], 5)) == brute_force(many[2], many, 5)
    with pytest.raises(FileNotFoundError, match="x"):
        index.add(many[:1])
    with pytest.raises(FileNotFoundError, match="x"):
        ao.SearchIndex.load(tmp_path / "x")


def test_what_a_killed_process_left_is_removed_an_hour_later(tmp_path):
    left = {".x-0a1b2c3d.anchorot-new": 7200, ".x-0a1b2c3d.anchorot-new-journal": 7200, ".x-0a1b2c3e.anchorot-new": 60}
    others = {".y-0a1b2c3d.anchorot-new": 7200, ".x-0a1b2c3d": 7200, "x-0a1b2c3d.anchorot-new": 7200}
    now = tmp_path.stat().st_mtime
    for name, age in (left | others).items():
        (tmp_path / name).write_bytes(b"half an index")
        os.utime(tmp_path / name, (now - age, now - age))
    ao.SearchIndex.build(clouds(2), path=tmp_path / "x")
    assert {file.name for file in tmp_path.iterdir()} == {"x", ".x-0a1b2c3e.anchorot-new", *others}


# -- files ---------------------------------------------------------------------------------------------------------

HOW = {"kind": "points", "n_points": 9, "rng": 3}


def test_added_paths_are_read_with_the_options_of_the_index(tmp_path, monkeypatch):
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
    for n_jobs in (1, 2):
        again = ao.SearchIndex.build(names, n_jobs=n_jobs, **HOW)
        assert pairs(again.query(names[3], 9)) == pairs(index.query(names[3], 9))
        with pytest.raises(ao.InputError, match=r"^spaces\[1\] \(no\.csv\): "):
            ao.SearchIndex.build([names[0], "no.csv"], n_jobs=n_jobs, **HOW)
    with pytest.raises(ao.InputError, match="n_points is an option of reading, for paths"):
        ao.SearchIndex.build([np.eye(2)], n_points=3)


# -- other processes -----------------------------------------------------------------------------------------------

WRITER = """
import sys
import anchorot as ao
from tests.strategies import assert_same, clouds

path, start = sys.argv[1], int(sys.argv[2])
index = ao.SearchIndex.load(path)
for x in clouds(15, seed=start):
    ids = index.add([x, x])
    index.remove(ids[:1])
    if ids[0] % 10 < 3:
        index.compact()
"""


def test_repeated_names_are_noted():
    many = clouds(5)
    with pytest.warns(
        ao.InputWarning, match=r"^2 names belong to several spaces of the index: 'b' to 3, \.\.\.;"
    ) as caught:
        index = ao.SearchIndex.build(many, ["b", "a", "b", "b", "a"])
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(ao.InputWarning, match=r"^a name belongs to several spaces of the index: 'a' to 3;"):
        index.add(many[:2], ["c", "a"])
    with pytest.warns(ao.InputWarning, match=r"^a name belongs to several spaces of the index: 'd' to 2;"):
        index.add(many[:2], ["d", "d"])
    index.remove(["a", "d"])
    assert len(index) == 4
    index.add(many[:2], ["a", "d"])  # which were removed; warnings are errors here


@pytest.mark.system
def test_two_writers_and_two_readers_do_not_disturb_each_other(tmp_path):
    many = clouds(20)
    index = ao.SearchIndex.build(many, path=tmp_path / "x")
    writers = [
        subprocess.Popen([sys.executable, "-W", "ignore", "-c", WRITER, tmp_path / "x", start], cwd=ROOT)
        for start in ("1", "2")
    ]
    wrong, asked = [], 0

    def ask():
        nonlocal asked
        reader = ao.SearchIndex.load(tmp_path / "x")
        while any(writer.poll() is None for writer in writers):
            found = pairs(reader.query(many[4], 3))
            asked += 1
            if found[0] != (0.0, 4) or found != sorted(found):
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for process in (*writers, *threads):
        process.wait(120) if isinstance(process, subprocess.Popen) else process.join(120)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert not wrong
    assert asked > 5
    assert len(index) == len(ao.SearchIndex.load(tmp_path / "x")) == 50
    assert sorted(index.ids.tolist())[-1] < 80
    added = [x for start in (1, 2) for x in clouds(15, seed=start)]
    assert all(index.query(x, 1).value[0] < 1e-12 for x in added)


def test_an_endless_writer_gives_others_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(index_file, "TIMEOUT_S", 0)
    index = ao.SearchIndex.build(clouds(3), path=tmp_path / "x")
    other = sqlite3.connect(tmp_path / "x", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    busy = r"^x: another process is changing the index, or still reading it; try again$"
    for change in (lambda: index.add(clouds(1)), lambda: index.remove([0]), index.compact):
        with pytest.raises(ao.AnchorotError, match=busy):
            change()
    assert len(index.query(clouds(1)[0], 3).index) == 3  # who reads need not wait
    other.execute("COMMIT")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ao.AnchorotError, match=busy):
        index.query(clouds(1)[0], 3)
    with pytest.raises(ao.AnchorotError, match=busy):
        ao.SearchIndex.build(clouds(4), path=tmp_path / "x")
    other.close()
    assert index.add(clouds(1)).tolist() == [3]
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
