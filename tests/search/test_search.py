"""Search: the answers of brute force, with few Anchor Energies."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import anchorot as ao
from anchorot.anchors.encoder import Encoder
from anchorot.search.file import IndexFile
from anchorot.search.query import VectorIndex
from tests.strategies import clouds, examples, spaces


def brute_force(x, spaces_, k, ids=None, robust=False):
    ids = range(len(spaces_)) if ids is None else ids
    features = [ao.AnchorFeatures.of(s, robust=robust) for s in [x, *spaces_]]
    energies = [(ao.anchor_energy(features[0], f, robust=robust), i) for f, i in zip(features[1:], ids, strict=True)]
    return sorted(energies)[:k]


def pairs(result):
    return list(zip(result.value.tolist(), result.index.tolist(), strict=True))


# -- answers -------------------------------------------------------------------------------------------------------


@examples(60)
@given(st.lists(spaces(), min_size=1, max_size=12), spaces(), st.data())
def test_exact_search_is_brute_force(many, x, data):
    many = many + many[:2]  # ties
    k = data.draw(st.integers(1, len(many)))
    robust = data.draw(st.booleans())
    index = ao.SearchIndex.build(many, grid=(2, 3), robust=robust)
    result = index.query(x, k)
    assert pairs(result) == brute_force(x, many, k, robust=robust)
    assert result.exact
    assert k <= result.n_exact <= len(many)


def test_exact_search_among_many_clouds(few_at_first):
    many, queries = clouds(150), clouds(6, seed=1)
    truth = [brute_force(x, many, 5) for x in queries]
    for grid in ((1, 1), (4, 4), (16, 8)):
        index = ao.SearchIndex.build(many, grid=grid)
        assert [pairs(index.query(x, k=5)) for x in queries] == truth


def test_nothing_is_computed_that_the_bounds_rule_out(few_at_first):
    many = clouds(200)
    index = ao.SearchIndex.build(many)
    encoder = Encoder(index.grid)
    vectors, radii = zip(*(encoder.encode(ao.AnchorFeatures.of(y)) for y in many), strict=True)
    for x in clouds(8, seed=1):
        result = index.query(x, k=3)
        vector, radius = encoder.encode(ao.AnchorFeatures.of(x))
        distances = np.linalg.norm(np.array(vectors, dtype=float) - vector, axis=1) - radii - radius
        bounds = 2 * (index.grid.high - index.grid.low) * np.maximum(distances, 0) ** 2
        assert result.n_exact <= np.sum(bounds <= result.value[-1]) + 1  # FAISS may swap two that are equally near
        assert result.n_exact < 0.2 * len(index)


def test_the_first_candidates_are_but_a_hint(monkeypatch):
    other, x = clouds(2)
    many = [x, x, other, x, *clouds(30, seed=1), x, x, x, x]
    index = ao.SearchIndex.build(many)
    monkeypatch.setattr(VectorIndex, "nearest", lambda self, *_: (np.array([20, 37, 36]), 0.0))
    assert pairs(index.query(x, k=3)) == [(0.0, 0), (0.0, 1), (0.0, 3)]
    assert pairs(index.query(other, k=3)) == brute_force(other, many, 3)


@pytest.mark.parametrize(("low", "high"), [(0.4, 0.6), (-5, -4), (100, 200), (-1e3, 1e3)])
def test_ranges_that_do_not_fit_still_give_exact_answers(low, high, few_at_first):
    many = clouds(40)
    index = ao.SearchIndex.build(many, grid=ao.Grid((4, 4), low, high))
    for x in clouds(2, seed=1):
        assert pairs(index.query(x, k=4)) == brute_force(x, many, 4)


def test_spaces_far_outside_the_range_are_found(few_at_first):
    many = clouds(20)
    large = [
        ao.Space(s.cost.astype(float) * factor, s.weights)
        for s in clouds(2, seed=1)
        for factor in (1e3, 1e6, 1e9, 1e200)
    ]
    index = ao.SearchIndex.build(many)
    index.add(large)
    for x in [*large[::3], *clouds(2, seed=2), ao.Space(np.full((2, 2), -1e4))]:
        assert pairs(index.query(x, k=4)) == brute_force(x, many + large, 4)


def test_equally_near_spaces_come_in_the_order_of_their_ids(few_at_first):
    other, x = clouds(2)
    index = ao.SearchIndex.build([other, x, x, other, x, *clouds(30, seed=1), x])
    assert pairs(index.query(x, k=3)) == [(0.0, 1), (0.0, 2), (0.0, 4)]
    index.remove([2])
    assert pairs(index.query(x, k=3)) == [(0.0, 1), (0.0, 4), (0.0, 35)]


def test_fast_search_ranks_the_first_candidates():
    many, x = clouds(100), clouds(1, seed=1)[0]
    index = ao.SearchIndex.build(many)
    result = index.query(x, k=3, exact=False, candidates=8)
    assert not result.exact
    assert result.n_exact <= 8
    energies = {i: ao.anchor_energy(x, s) for i, s in enumerate(many)}
    assert pairs(result) == sorted((energies[i], i) for i in result.index)
    assert index.query(x, k=3, exact=False, candidates=3).n_exact == 3
    assert pairs(index.query(x, k=3, exact=False, candidates=100)) == brute_force(x, many, 3)
    assert len(index.query(x, exact=False).index) == 10


def test_features_can_be_indexed_and_asked_for():
    many = clouds(20)
    index = ao.SearchIndex.build(ao.AnchorFeatures.of(x) for x in many)
    result = index.query(ao.AnchorFeatures.of(many[7]), k=1)
    assert pairs(result) == [(0.0, 7)]
    assert result.names is None


@pytest.mark.parametrize("directly", [True, False])
def test_no_vector_within_reach_is_missed(directly, monkeypatch):
    # Left to itself FAISS may expand squares, which for vectors so close to each other loses most digits.
    if not directly:
        monkeypatch.setattr(VectorIndex, "_only", lambda self, alive: None)
    rng = np.random.default_rng(0)
    centre = rng.normal(size=64)
    array = centre + 1e-3 * rng.normal(size=(12_001, 64))
    array = (array / np.linalg.norm(array, axis=1, keepdims=True)).astype(np.float32)
    vectors = VectorIndex(*array[1:].shape)
    vectors.array[:] = array[1:]
    distances = np.linalg.norm(array[1:].astype(float) - array[0], axis=1)
    np.testing.assert_allclose(vectors.distances(array[0], np.arange(12_000)), distances, rtol=1e-12)
    every, half = np.ones(12_000, np.bool_), np.arange(12_000) % 2 == 0
    for alive in (every, half) if directly else (every,):
        for rank in (5, 50, 500):
            max_cost = np.sort(distances[alive])[rank]
            wanted = set(np.flatnonzero(alive & (distances <= max_cost)).tolist())
            found = set(vectors.within(array[0], max_cost, alive).tolist())
            assert wanted <= found <= set(np.flatnonzero(alive).tolist())
            places, others = vectors.nearest(array[0], rank, alive)
            assert alive[places].all()
            assert distances[np.setdiff1d(np.flatnonzero(alive), places)].min() >= others
    assert vectors.nearest(array[0], 12_000, every)[1] == np.inf


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
        (lambda index: index.query(np.eye(2), k=4), "k=4 nearest spaces are asked for, but the index has only 3"),
        (lambda index: index.query(np.eye(2), k=0), "k must be an integer >= 1"),
        (lambda index: index.query(np.eye(2), 2, exact=False, candidates=1), "candidates must be an integer >= 2"),
        (lambda index: index.query(np.eye(2), 2, candidates=3), "candidates is for exact=False"),
        (lambda index: index.query(ao.AnchorFeatures.of(np.eye(2), robust=True), 1), "made with robust=True"),
        (lambda index: index.remove([1, 8]), "there is no space of id 8 in the index"),
        (lambda index: index.remove([0.5]), "ids must be integers, but got float64"),
        (lambda index: index.add([np.eye(2)], ["a"]), "got names, but the index has none"),
        (lambda index: index.add([np.eye(2), np.ones(3)]), r"spaces\[1\]: cost has shape \(3,\)"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], ["a", "b"]), "names has 2 entries, but got 1 spaces"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], [1]), "names must be text"),
        (lambda index: ao.SearchIndex.build([np.eye(2)] * 3, "cat"), "names must be several texts, but got 'cat'"),
        (lambda index: ao.SearchIndex.build([np.eye(2)], 7), "names must be several texts, but got 7"),
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
        (ao.GraphSet("TOY", (csr_array(np.eye(2)),), None), r"a GraphSet; make spaces of its graphs: \.spaces\(\)"),
        (ao.Space(1 - np.eye(2)), "a Space; make it a list"),
        (ao.AnchorFeatures.of(1 - np.eye(2)), "an AnchorFeatures; features serve"),
        ("shapes/cat.off", "a str; make it a list"),
        (Path("cat.off"), r"a \w+Path; make it a list"),
        ({"cat": np.eye(2)}, r"a dict; give list\(spaces\.values\(\)\)"),
        (None, "a NoneType; make it a list"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_is_no_collection_of_spaces_gets_one_clear_line(given, got, tmp_path):
    index = ao.SearchIndex.build([np.eye(2)])
    for take in (ao.SearchIndex.build, index.add):
        with pytest.raises(ao.InputError, match=rf"^spaces must be a sequence[^\n]* but got {got}[^\n]*$"):
            take(given)
    assert len(index) == 1


@pytest.mark.parametrize("call", [lambda: ao.SearchIndex.build([np.eye(2)]), lambda: ao.SearchIndex.load("nothing")])
def test_without_faiss_the_error_names_the_extra(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ao.MissingExtraError, match=r"faiss-cpu is not installed.*anchorot\[search\]"):
        call()
