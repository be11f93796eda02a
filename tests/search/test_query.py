"""Queries: the results of brute force, with few Anchor Energies."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.encoder import Encoder
from anchorot.search.query import VectorIndex
from tests.search.expected import brute_force, pairs
from tests.strategies import clouds, examples, spaces

# -- results -------------------------------------------------------------------------------------------------------


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


def test_energies_ruled_out_by_bounds_are_not_computed(few_at_first):
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


def test_the_number_of_first_candidates_does_not_change_results(monkeypatch):
    other, x = clouds(2)
    many = [x, x, other, x, *clouds(30, seed=1), x, x, x, x]
    index = ao.SearchIndex.build(many)
    monkeypatch.setattr(VectorIndex, "nearest", lambda self, *_: (np.array([20, 37, 36]), 0.0))
    assert pairs(index.query(x, k=3)) == [(0.0, 0), (0.0, 1), (0.0, 3)]
    assert pairs(index.query(other, k=3)) == brute_force(other, many, 3)


@pytest.mark.parametrize(("low", "high"), [(0.4, 0.6), (-5, -4), (100, 200), (-1e3, 1e3)])
def test_ranges_that_do_not_fit_still_give_exact_results(low, high, few_at_first):
    many = clouds(40)
    index = ao.SearchIndex.build(many, grid=ao.anchors.Grid((4, 4), low, high))
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


@pytest.mark.parametrize("call", [lambda: ao.SearchIndex.build([np.eye(2)]), lambda: ao.SearchIndex.load("nothing")])
def test_without_faiss_the_error_names_the_extra(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ao.MissingExtraError, match=r"faiss-cpu is not installed.*anchorot\[search\]"):
        call()
