"""Types, seeds and features: what they forbid is never matched, and leaves no trace in objectives."""

import warnings
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import anchorot as ao
from tests import reference
from tests.align.graphs.test_pipeline import edges_of, noisy, pairs_of_matrices
from tests.strategies import examples

# Small networks share as many edges by chance as they have.
pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


def ring_without_one_type(n, seed):
    """A ring, a shuffled ring, and types of which the second lacks one."""
    order = np.random.default_rng(seed).permutation(n)
    ring = nx.to_numpy_array(nx.cycle_graph(n))
    return csr_array(ring), csr_array(ring[np.ix_(order, order)]), (["b"] + ["a"] * (n - 1), ["a"] * n)


@st.composite
def typed_pairs(draw):
    x, y, directed = draw(pairs_of_matrices(6))
    return (
        x,
        y,
        directed,
        tuple(draw(st.lists(st.sampled_from("ab"), min_size=len(z), max_size=len(z))) for z in (x, y)),
    )


def worth_of(x, y, matches, directed):
    """Weight of the common edges and loops of the matched nodes."""
    matched = np.flatnonzero(matches >= 0)
    part, images = x[np.ix_(matched, matched)], matches[matched]
    weight = reference.common_weight(part, y, images)
    return weight if directed else (weight + float((part.diagonal() * y.diagonal()[images]).sum())) / 2


@examples(60)
@given(typed_pairs())
def test_objectives_are_those_of_the_matches_that_types_allow(case):
    x, y, directed, types = case
    found = ao.align_graphs(csr_array(x), csr_array(y), types=types, weight=True, directed=directed, rng=0)
    results = [(found.matches, found.objective)]
    if found.runner_up is not None:
        results.append((found.runner_up.matches, found.runner_up.objective))
    counts = [Counter(own) for own in types]
    for matches, objective in results:
        assert all(types[0][i] == types[1][j] for i, j in enumerate(matches) if j >= 0)
        assert (matches >= 0).sum() == (counts[0] & counts[1]).total()
        assert len(set(matches[matches >= 0])) == (matches >= 0).sum()
        alone = edges_of(x, directed) + edges_of(y, directed)
        assert objective == pytest.approx(alone - 2 * worth_of(x, y, matches, directed), rel=1e-5, abs=1e-5 * alone)
    assert all(found.objective <= one.objective for one in found.candidates)
    assert found.soft().shape == (len(x), len(y))


@pytest.mark.parametrize("seed", range(6))
def test_a_runner_up_keeps_types_apart(seed):
    x, y, types = ring_without_one_type(30, seed)
    found = ao.align_graphs(x, y, types=types, rng=seed)
    for matches in (found.matches, *([] if found.runner_up is None else [found.runner_up.matches])):
        assert matches[0] == -1
        assert (matches >= 0).sum() == 29


def test_a_type_that_is_missing_costs_its_edges_and_no_more():
    triangle = nx.complete_graph(3)
    found = ao.align_graphs(triangle, triangle, types=(list("aab"), list("abb")), rng=0)
    assert (found.common_edges, found.objective) == (1, 3 + 3 - 2 * 1)
    assert found.candidates[0].objective == 4
    apart = ao.align_graphs(triangle, triangle, types=(list("aaa"), list("bbb")), rng=0)
    assert (apart.objective, apart.pairs(), apart.runner_up) == (3 + 3, [], None)


@pytest.mark.parametrize("swap", [False, True])
def test_networks_in_the_other_order_have_the_same_objective_where_types_are_missing(swap):
    graphs, types = (nx.path_graph(6), nx.cycle_graph(8)), (list("aaabbb"), list("abbbbbcc"))
    order = (1, 0) if swap else (0, 1)
    found = ao.align_graphs(*(graphs[k] for k in order), types=tuple(types[k] for k in order), rng=0)
    assert len(found.pairs()) == 4
    assert (found.common_edges, found.objective) == (3, 5 + 8 - 2 * 3)


@pytest.mark.parametrize("seed", range(4))
def test_features_that_are_the_same_everywhere_change_no_match(seed):
    first = nx.gnp_random_graph(60, 0.1, seed=seed)
    second = noisy(first, 0.25, seed)
    plain = ao.align_graphs(first, second, rng=0)
    found = ao.align_graphs(first, second, features=(np.zeros(60), np.ones(60)), rng=0)  # each pair costs as much
    assert found.objective > plain.objective
    np.testing.assert_array_equal(found.matches, plain.matches)
    assert found.is_settled == plain.is_settled
    assert (found.runner_up is None) == (plain.runner_up is None)


PATH = nx.path_graph(4)
REFUSED = {
    "a seed of two types": ({"types": (list("aabb"), list("aabb")), "seeds": [(0, 3)]}, "of types 'a' and 'b'"),
    "types of one graph": ({"types": (list("aabb"), None)}, "types of the second graph are None"),
    "features of one graph": ({"features": (None, np.zeros(4))}, "features of the first graph are None"),
    "features of other widths": ({"features": (np.zeros((4, 1)), np.zeros((4, 2)))}, "1 and 2 columns"),
    "features too short": ({"features": (np.zeros(3), np.zeros(4))}, "features has shape"),
    "types too short": ({"types": (list("aab"), list("aabb"))}, "types has 3 entries"),
    "a seed out of range": ({"seeds": [(0, 4)]}, "seeds has the node 4"),
    "a seed used twice": ({"seeds": [(0, 1), (2, 1)]}, "in several pairs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_contradictory_constraints_are_refused_in_one_line(name):
    options, said = REFUSED[name]
    with pytest.raises(ao.InputError) as error:
        ao.align_graphs(PATH, PATH, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("scale", [1e300, 1e200, 1e-200, 1e-308])
def test_weights_whose_products_no_float_holds_are_aligned_as_others(scale):
    weights = np.array([1.0, 2.0, 1.5, 1.0])

    def aligned(unit):
        edges = [(i, i + 1, w * unit) for i, w in enumerate(weights)]
        return ao.align_graphs(edges, edges, weight=True, rng=0)

    plain = aligned(1.0)
    with pytest.warns(ao.InputWarning, match="objective is in units of the largest weights"):
        found = aligned(scale)
    np.testing.assert_array_equal(found.matches, plain.matches)
    assert found.objective == pytest.approx(plain.objective / 4)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_weights_whose_products_fit_have_the_objective_of_their_own_units(scale):
    path, edge = [(0, 1, scale), (1, 2, 2 * scale)], [(0, 1, 2 * scale)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ao.align_graphs(path, edge, weight=True, rng=0)
    assert found.objective == pytest.approx(scale * scale)
