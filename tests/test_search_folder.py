"""An index in a folder: the answers of one in memory, changed in place."""

import threading

import numpy as np
import pytest

import anchorot as ao
from anchorot.search.folder import Folder

from test_search import brute_force, clouds, pairs

pytestmark = pytest.mark.kernel_free


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


@pytest.mark.parametrize("names", [None, list("abcdefgh")])
def test_a_building_that_fails_leaves_no_files(names, tmp_path):
    def unwilling():
        yield from clouds(9)
        if names is None:
            yield np.ones(3)

    with pytest.raises(ao.InputError, match=r"spaces\[9\]: cost has shape|names has 8 entries, but got 9 spaces"):
        ao.SearchIndex.build(unwilling(), names, path=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_threads_that_add_to_a_folder_at_the_same_time_lose_nothing(tmp_path):
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
        assert all(each.query(x, 1).distance[0] < 1e-12 for x in many)


def test_an_index_that_changes_while_it_is_loaded_is_loaded_as_it_is_then(tmp_path, monkeypatch):
    index = ao.SearchIndex.build(clouds(10), path=tmp_path / "x")
    index.remove(range(8))
    read = Folder.read

    def late(self, part):
        monkeypatch.undo()
        index.compact()  # removes the files that were about to be opened
        return read(self, part)

    monkeypatch.setattr(Folder, "read", late)
    assert ao.SearchIndex.load(tmp_path / "x").ids.tolist() == [8, 9]


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
    for n_jobs in (1, 2):
        again = ao.SearchIndex.build(names, n_jobs=n_jobs, **HOW)
        assert pairs(again.query(names[3], 9)) == pairs(index.query(names[3], 9))
        with pytest.raises(ao.InputError, match=r"^spaces\[1\] \(no\.csv\): "):
            ao.SearchIndex.build([names[0], "no.csv"], n_jobs=n_jobs, **HOW)
    with pytest.raises(ao.InputError, match="n_points is an option of reading, for paths"):
        ao.SearchIndex.build([np.eye(2)], n_points=3)
