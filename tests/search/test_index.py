"""A search index: spaces are added, removed and named; errors are one line."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import anchorot as ao
from anchorot.anchors.encoder import Encoder
from anchorot.search.file import IndexFile
from tests.search.expected import brute_force, pairs
from tests.strategies import clouds


def test_features_can_be_indexed_and_queried():
    many = clouds(20)
    index = ao.SearchIndex.build(ao.AnchorFeatures.of(x) for x in many)
    result = index.query(ao.AnchorFeatures.of(many[7]), k=1)
    assert pairs(result) == [(0.0, 7)]
    assert result.names is None


# -- changes -------------------------------------------------------------------------------------------------------


def test_adding_and_removing(few_at_first):
    many, more = clouds(30), clouds(20, seed=1)
    index = ao.SearchIndex.build(many)
    assert index.add(more).tolist() == list(range(30, 50))
    index.remove([0, 7, 7, 49])
    index.remove(31)
    assert index.add(many[:1]).tolist() == [50]
    assert index.add(many[1:2]).tolist() == [51]
    kept = [k for k in range(50) if k not in (0, 7, 31, 49)] + [50, 51]
    assert len(index) == len(kept)
    assert index.ids.tolist() == kept
    held = [[*many, *more, *many[:2]][k] for k in kept]
    for x in (many[0], more[1], *clouds(3, seed=2)):
        assert pairs(index.query(x, k=6)) == brute_force(x, held, 6, kept)


def test_the_last_space_can_be_removed(tmp_path):
    index = ao.SearchIndex.build([np.eye(2)], ["one"])
    index.remove([0])
    index.save(tmp_path / "index")
    again = ao.SearchIndex.load(tmp_path / "index")
    assert len(again) == 0
    assert again.add([np.eye(3)], ["two"]).tolist() == [1]
    assert again.query(np.eye(3), k=1).names == ("two",)


def test_names_go_with_their_spaces(tmp_path):
    many = clouds(12)
    index = ao.SearchIndex.build(iter(many), [f"cloud {k}" for k in range(12)])
    index.remove([2, 3])
    index.add(many[2:3], ["Wölkchen"])
    assert index.query(many[2], k=1).names == ("Wölkchen",)
    index.save(tmp_path / "index")
    again = ao.SearchIndex.load(tmp_path / "index")
    for k in (0, 1, 4, 11):
        assert index.query(many[k], k=1).names == again.query(many[k], k=1).names == (f"cloud {k}",)


@pytest.mark.parametrize("error", [ao.InputError, KeyboardInterrupt])
def test_an_addition_that_fails_changes_nothing(error, monkeypatch):
    many = clouds(9)
    index = ao.SearchIndex.build(many)

    def unwilling():
        yield from clouds(5, seed=1)
        if error is ao.InputError:
            yield np.zeros((2, 3))

    encode = Encoder.encode
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return encode(*arguments)

    if error is KeyboardInterrupt:
        monkeypatch.setattr(Encoder, "encode", interrupted)
    with pytest.raises(error):
        index.add(unwilling())
    monkeypatch.undo()
    x = clouds(1, seed=1)[0]
    assert index.add([x]).tolist() == [9]
    assert pairs(index.query(x, k=10)) == brute_force(x, [*many, x], 10)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("change", ["add", "remove"])
def test_an_interrupt_leaves_no_half_a_change(change, moment, tmp_path, monkeypatch):
    many = clouds(9)
    index = ao.SearchIndex.build(many[:8], path=tmp_path / "x")
    done = IndexFile.change

    def interrupted(self, action):
        if moment == "before":
            done(self, lambda connection, header: (action(connection, header), interrupt())[0])
        done(self, action)
        interrupt()

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(IndexFile, "change", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.add(many[8:]) if change == "add" else index.remove([2])
    monkeypatch.undo()
    held = {"add": list(range(9)), "remove": [0, 1, 3, 4, 5, 6, 7]}[change] if moment == "after" else list(range(8))
    for each in (index, ao.SearchIndex.load(tmp_path / "x")):
        assert each.ids.tolist() == held
        assert pairs(each.query(many[2], k=5)) == brute_force(many[2], [many[i] for i in held], 5, held)


@pytest.mark.parametrize("made", [list, tuple, np.array, iter, dict.fromkeys], ids=lambda made: made.__name__)
def test_names_and_ids_may_be_any_iterable(made):
    index = ao.SearchIndex.build(clouds(4), made(["a", "b", "c", "d"]))
    index.add(clouds(2, seed=1), made(["e", "f"]))
    assert index.query(clouds(4)[1], 1).names == ("b",)
    index.remove(made(["a", "e"]))
    index.remove(made([2]))
    assert index.ids.tolist() == [1, 3, 5]


def test_adding_nothing_changes_nothing():
    index = ao.SearchIndex.build(clouds(2))
    assert index.add([]).tolist() == []
    index.remove([])
    assert len(index) == 2


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda index: index.query(np.eye(2), k=4), "k=4, but the index has only 3 spaces"),
        (lambda index: index.query(np.eye(2), k=0), "k must be an integer >= 1"),
        (lambda index: index.query(np.eye(2), 2, exact=False, candidates=1), "candidates must be an integer >= 2"),
        (lambda index: index.query(np.eye(2), 2, candidates=3), "candidates needs exact=False"),
        (lambda index: index.query(ao.AnchorFeatures.of(np.eye(2), robust=True), 1), "made with robust=True"),
        (lambda index: index.remove([1, 8]), "the index has no space with id 8"),
        (lambda index: index.remove([0.5]), "ids must be integers, but got float64"),
        (lambda index: index.add([np.eye(2)], ["a"]), "got names, but the index has none"),
        (lambda index: index.add([np.eye(2), np.ones(3)]), r"spaces\[1\]: cost has shape \(3,\)"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], ["a", "b"]), "names has 2 entries, but got 1 spaces"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], [1]), "names must be strings"),
        (
            lambda index: ao.SearchIndex.build([np.eye(2)] * 3, "cat"),
            "names must be a sequence of strings, but got 'cat'",
        ),
        (lambda index: ao.SearchIndex.build([np.eye(2)], 7), "names must be a sequence of strings, but got 7"),
        (lambda index: index.query(np.full((2, 2), 1.7e308), 1), "differences of costs exceed the range of float64"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], ["a"]).add([np.eye(2)]), "the index has names, but got none"),
        (lambda index: ao.SearchIndex.build([]), "got no spaces to learn the range of costs from"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], grid=(2000, 1000)), "at most 1048576 cells; take fewer"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], grid=(1,)), "grid must be two numbers of cells"),
    ],
)
def test_bad_input_gets_one_clear_line(call, message):
    with pytest.raises(ao.InputError, match=message):
        call(ao.SearchIndex.build([np.eye(2), np.eye(3), np.ones((4, 4))]))


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (ao.io.GraphSet("TOY", (csr_array(np.eye(2)),), None), r"a GraphSet; make spaces of its graphs: \.spaces\(\)"),
        (ao.Space(1 - np.eye(2)), "a Space; make it a list"),
        (ao.AnchorFeatures.of(1 - np.eye(2)), "an AnchorFeatures; features are enough"),
        ("shapes/cat.off", "a str; make it a list"),
        (Path("cat.off"), r"a \w+Path; make it a list"),
        ({"cat": np.eye(2)}, r"a dict; give list\(spaces\.values\(\)\)"),
        (None, "a NoneType; make it a list"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_input_that_is_not_a_collection_gets_one_clear_line(given, got, tmp_path):
    index = ao.SearchIndex.build([np.eye(2)])
    for take in (ao.SearchIndex.build, index.add):
        with pytest.raises(ao.InputError, match=rf"^spaces must be a sequence[^\n]* but got {got}[^\n]*$"):
            take(given)
    assert len(index) == 1
