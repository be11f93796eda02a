"""The alignment of networks by a few candidates of each node, forced on small networks: what holds of any alignment."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import anchorot as ao
from tests.align.graphs.networks import edges_of, lopsided, noisy, pairs_of_matrices
from tests.align.graphs.test_constraints import worth_of
from tests.strategies import examples

# Small networks share as many edges by chance as they have.
pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


def aligned(x, y, **options):
    return ao.align_graphs(x, y, **{"rng": 0, "sparse": True, "weight": True} | options)


def shuffled(graph, seed):
    """The adjacency matrix with its nodes in another order, and where each node is."""
    order = np.random.default_rng(seed).permutation(len(graph))
    matrix = nx.to_numpy_array(graph, nodelist=range(len(graph)))
    return csr_array(matrix[np.ix_(order, order)]), np.argsort(order)


def matrix_of(graph):
    return csr_array(nx.to_numpy_array(graph, nodelist=range(len(graph))))


@st.composite
def typed_pairs(draw):
    x, y, directed = draw(pairs_of_matrices(7))
    types = tuple(draw(st.lists(st.sampled_from("ab"), min_size=len(z), max_size=len(z))) for z in (x, y))
    return x, y, directed, draw(st.sampled_from([None, types]))


@examples(30)
@given(typed_pairs())
def test_any_networks_get_an_allowed_matching_and_its_objective(case):
    x, y, directed, types = case
    found = aligned(csr_array(x), csr_array(y), types=types, directed=directed)
    matched = found.matches[found.matches >= 0]
    assert len(set(matched)) == len(matched)
    if types is None:
        assert len(matched) == min(len(x), len(y))
    else:
        counts = [Counter(own) for own in types]
        assert len(matched) == (counts[0] & counts[1]).total()
        assert all(types[0][i] == types[1][j] for i, j in enumerate(found.matches) if j >= 0)
    alone = edges_of(x, directed) + edges_of(y, directed)
    worth = worth_of(x, y, found.matches, directed)
    assert found.objective == pytest.approx(alone - 2 * worth, rel=1e-5, abs=1e-5 * alone)
    assert np.all((found.confidence >= 0) & (found.confidence <= 1))


GRAPHS = {
    "random": nx.gnm_random_graph(300, 1500, seed=1),
    "regular": nx.random_regular_graph(8, 300, seed=1),
    "preferential": nx.barabasi_albert_graph(300, 4, seed=1),
    "small world": nx.watts_strogatz_graph(300, 8, 0.2, seed=1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_planted_edges_are_found_when_some_are_lost(name):
    graph = GRAPHS[name]
    thinned = graph.copy()
    edges = np.array(graph.edges)
    thinned.remove_edges_from(edges[np.random.default_rng(0).random(len(edges)) < 0.05].tolist())
    y, place = shuffled(thinned, 2)
    found = aligned(matrix_of(graph), y)
    assert found.common_edges >= thinned.number_of_edges()
    assert np.mean(found.matches == place) > 0.97
    assert abs(found.confidence.mean() - np.mean(found.matches == place)) < 0.05
    assert [one.name for one in found.candidates] == ["candidates"]
    assert found.is_settled


@pytest.mark.parametrize("seed", range(3))
def test_names_of_nodes_change_nothing(seed):
    graph = lopsided(120, seed)
    first, second = matrix_of(graph), matrix_of(noisy(graph, 0.15, seed))
    order = np.random.default_rng(seed).permutation(120)
    plain, moved = aligned(first, second), aligned(first, second[order][:, order])
    np.testing.assert_array_equal(plain.matches, order[moved.matches])
    np.testing.assert_array_equal(plain.confidence, moved.confidence)


def test_the_order_of_the_networks_changes_no_match():
    graph = lopsided(120, 1)
    first, second = matrix_of(graph), matrix_of(noisy(graph, 0.05, 1))
    there, back = aligned(first, second), aligned(second, first)
    assert there.common_edges == back.common_edges
    assert np.mean(back.matches[there.matches] == np.arange(120)) > 0.95


def test_directions_and_weights_say_which_node_is_which():
    rng = np.random.default_rng(0)
    ring = nx.random_regular_graph(4, 150, seed=1)
    matrix = nx.to_numpy_array(ring)
    upper = np.triu(matrix)
    strong = upper * rng.uniform(0.2, 1, matrix.shape)
    order = rng.permutation(150)
    for whole, directed in ((strong + strong.T, False), (np.where(rng.random(matrix.shape) < 0.5, upper, 0), True)):
        lost = whole * (rng.random(whole.shape) < 0.98)
        lost = lost if directed else np.triu(lost) + np.triu(lost).T
        found = aligned(csr_array(whole), csr_array(lost[np.ix_(order, order)]), directed=directed)
        planted = edges_of(np.sqrt(whole * lost), directed)
        assert edges_of(whole, directed) + edges_of(lost, directed) - found.objective >= 2 * planted * (1 - 1e-6)


def test_types_and_seeds_are_kept_and_help():
    graph = nx.watts_strogatz_graph(200, 6, 0.1, seed=3)
    y, place = shuffled(noisy(graph, 0.15, 3), 1)
    x = matrix_of(graph)
    kinds = np.random.default_rng(0).integers(0, 12, 200)
    others = np.empty(200, int)
    others[place] = kinds
    typed = aligned(x, y, types=(kinds.tolist(), others.tolist()))
    assert np.all(others[typed.matches] == kinds)
    assert np.mean(typed.matches == place) > 0.9
    seeds = [(i, int(place[i])) for i in range(0, 200, 10)]
    seeded = aligned(x, y, seeds=seeds)
    assert all(seeded.matches[i] == j for i, j in seeds)
    assert np.mean(seeded.matches == place) > 0.9


def test_a_part_of_a_network_is_found_in_it():
    graph = nx.gnm_random_graph(300, 1800, seed=2)
    part = graph.subgraph(range(240))
    y, place = shuffled(graph, 1)
    found = aligned(matrix_of(part), y)
    assert np.mean(found.matches == place[:240]) > 0.95
    assert np.mean(aligned(y, matrix_of(part)).matches >= 0) == pytest.approx(0.8)


@pytest.mark.parametrize("option", [{"features": (np.zeros((4, 1)), np.zeros((4, 1)))}, {"device": "cpu"}])
def test_what_needs_all_pairs_is_refused(option):
    with pytest.raises(ao.InputError, match=f"sparse=True is not possible with {next(iter(option))}="):
        aligned(nx.path_graph(4), nx.path_graph(4), **option)


def test_networks_that_do_not_fit_are_refused_in_one_line(monkeypatch):
    from anchorot import _validate

    monkeypatch.setattr(_validate, "free_memory", lambda: 2.0**28)
    large = csr_array((100_000, 100_000))
    with pytest.raises(ao.InputError, match=r"candidates of 200000 nodes take .* GiB of memory are free") as error:
        ao.align_graphs(large, large)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_networks_of_eighteen_thousand_nodes_are_aligned():
    graph = nx.barabasi_albert_graph(18_000, 5, seed=1)
    edges, rng = np.array(graph.edges), np.random.default_rng(1)
    names = rng.permutation(18_000)
    kept = edges[rng.random(len(edges)) >= 0.05]
    found = ao.align_graphs(graph, names[kept], rng=0)
    truth = {i: int(names[i]) for i in range(18_000)}
    assert found.common_edges >= len(kept)
    assert found.hits(truth) > 0.99
    assert found.confidence.mean() == pytest.approx(1, abs=0.02)
    assert found.reliable > 0.9
