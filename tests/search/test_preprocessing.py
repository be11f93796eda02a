"""Search by types and up to a cost: how an index prepares its spaces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests.many.test_attribute_collections import tissue, tissues
from tests.search.index_fuzz import Parts
from tests.strategies import examples

pytest.importorskip("faiss")


def weighted(space, seed):
    rng = np.random.default_rng(seed)
    return ao.Space(space.cost, rng.dirichlet(np.ones(space.n)), types=space.types)


def brute(query, spaces, **options):
    return np.array([ao.anchor_energy(query, space, **options) for space in spaces])


@pytest.mark.usefixtures("few_at_first")
@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize(("attributes", "max_cost"), [("types", None), ("types", 0.6), (None, 0.4)])
def test_results_equal_those_of_all_energies(robust, attributes, max_cost, tmp_path):
    spaces = [weighted(x, k) if k % 3 == 0 else x for k, x in enumerate(tissues(5))]
    index = ao.SearchIndex.build(spaces, attributes=attributes, max_cost=max_cost, robust=robust, grid=(6, 6))
    index.save(tmp_path / "x.index")
    ranked = [x.ranked() if robust else x for x in spaces]
    limit = max(float(x.cost.max()) for x in ranked) if max_cost is None else max_cost
    query = tissue(np.random.default_rng(9), mixed=False, n=17)
    expected = brute(query, spaces, attributes=attributes, max_cost=limit, robust=robust)
    for found in (index.query(query, 4), ao.SearchIndex.load(tmp_path / "x.index").query(query, 4)):
        np.testing.assert_allclose(found.value, np.sort(expected)[:4], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found.index, np.argsort(expected)[:4])
        assert found.n_exact <= len(spaces)


@examples(20)
@given(st.floats(-1, 0), st.floats(0.1, 2), st.integers(0, 99), st.sampled_from([np.float32, np.float64]))
def test_parts_of_types_follow_each_other_however_their_ends_are_rounded(low, high, seed, dtype):
    """Every pair of types has a part of one line; here all costs are at ends of parts."""
    rng = np.random.default_rng(seed)
    spaces = [ao.Space(rng.choice([low, high], (5, 5)).astype(dtype), types=list("abcde")) for _ in range(3)]
    index = ao.SearchIndex.build(spaces, attributes="types", grid=(2, 2))
    found = index.query(spaces[0], 3)
    expected = brute(spaces[0], spaces, attributes="types", max_cost=max(float(x.cost.max()) for x in spaces))
    np.testing.assert_allclose(found.value, np.sort(expected), rtol=1e-9, atol=1e-9)


def test_types_that_the_index_lacks_count_in_queries_and_are_refused_in_additions():
    spaces = tissues(3)
    index = ao.SearchIndex.build(spaces, attributes="types", max_cost=1.5, grid=(4, 4))
    odd = ao.Space(spaces[0].cost, types=["T"] * 20 + ["new"] * 10)
    found = index.query(odd, 6)
    np.testing.assert_allclose(found.value, np.sort(brute(odd, spaces, attributes="types", max_cost=1.5)), rtol=1e-9)
    with pytest.raises(ao.InputError, match="has the type 'new', which the index lacks; build it again"):
        index.add([odd])
    ids = index.add([tissue(np.random.default_rng(3), mixed=True)])
    assert index.query(spaces[2], 1).index[0] == 2
    assert ids.tolist() == [6]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attributes": "features"}, "an index takes attributes='types' or None"),
        ({"attributes": "types", "grid": ao.anchors.Grid((4, 4), 0, 1)}, "the grid follows from the costs"),
    ],
)
def test_unsupported_attributes_of_an_index(options, said):
    with pytest.raises(ao.InputError, match=said):
        ao.SearchIndex.build(tissues(1), **options)


def test_costs_below_those_of_the_index_are_refused():
    index = ao.SearchIndex.build(tissues(1), attributes="types", grid=(4, 4))
    low = ao.Space([[-1.0, 0.0], [0.0, 0.0]], types=["T", "B"])
    with pytest.raises(ao.InputError, match=r"has a cost of -1\.0, below 0\.0, the least of the index"):
        index.query(low, 1)


@pytest.mark.parametrize(
    "attribute_rule",
    [
        {"attributes": "colours", "max_cost": 1.0},
        {"attributes": "types", "max_cost": None},
        {"attributes": "types", "max_cost": 1.0, "low": 0.0, "types": [["a"]]},
        {"attributes": "types", "max_cost": 1.0, "low": "0", "types": ["a"]},
        [],
    ],
)
def test_an_index_with_invalid_attributes_is_refused(tmp_path, attribute_rule):
    ao.SearchIndex.build(tissues(1), attributes="types", grid=(4, 4), path=tmp_path / "x.index")
    Parts.of(tmp_path / "x.index").write(tmp_path / "x.index", attribute_rule=attribute_rule)
    with pytest.raises(ao.InputError, match=r"x\.index: its header says that points are distinguished by"):
        ao.SearchIndex.load(tmp_path / "x.index")
