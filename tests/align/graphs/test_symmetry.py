"""Networks in which most nodes look alike: rings, tori and other networks with many symmetries."""

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from anchorot.align.graphs.symmetry import canonical_order
from tests.align.graphs.networks import network

# Small networks share as many edges by chance as they have.
pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


def shuffled(graph, seed):
    """The graph with its nodes renamed at random."""
    order = np.random.default_rng(seed).permutation(len(graph))
    return nx.relabel_nodes(nx.convert_node_labels_to_integers(graph), dict(enumerate(order.tolist())))


def without(graph, count, seed):
    """The graph without some of its edges."""
    edges = list(graph.edges)
    lost = np.random.default_rng(seed).permutation(len(edges))[:count]
    smaller = graph.copy()
    smaller.remove_edges_from([edges[e] for e in lost])
    return smaller


SYMMETRIC = {
    "ring of 20": nx.cycle_graph(20),
    "ring of 30": nx.cycle_graph(30),
    "ring of 101": nx.cycle_graph(101),
    "torus": nx.grid_2d_graph(5, 6, periodic=True),
    "hypercube": nx.hypercube_graph(5),
    "bipartite": nx.complete_bipartite_graph(5, 7),
    "Petersen": nx.petersen_graph(),
    "rings": nx.disjoint_union_all([nx.cycle_graph(k) for k in (7, 10, 10)]),
    "circulant": nx.circulant_graph(60, [1, 7]),
    "prism": nx.circular_ladder_graph(15),
    "strongly regular": nx.Graph(nx.paley_graph(29)),
    "tree": nx.balanced_tree(3, 3),
    "directed ring": nx.cycle_graph(17, create_using=nx.DiGraph),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_shuffled_copies_of_symmetric_networks_have_all_edges_in_common(name):
    graph = nx.convert_node_labels_to_integers(SYMMETRIC[name])
    for seed in range(4):
        found = ao.align_graphs(graph, shuffled(graph, seed), rng=seed)
        assert found.common_edges == graph.number_of_edges()
        assert found.is_settled


@pytest.mark.parametrize("name", ["ring of 20", "ring of 30", "torus", "circulant", "prism"])
def test_symmetric_networks_are_aligned_where_one_edge_or_one_type_is_missing(name):
    graph = nx.convert_node_labels_to_integers(SYMMETRIC[name])
    n, count = len(graph), graph.number_of_edges()
    for seed in range(2):
        torn = ao.align_graphs(graph, shuffled(without(graph, 1, seed), seed), rng=seed)
        assert torn.common_edges == count - 1
        typed = ao.align_graphs(graph, shuffled(graph, seed), types=(["b"] + ["a"] * (n - 1), ["a"] * n), rng=seed)
        assert typed.common_edges == count - graph.degree(0)
        assert torn.is_settled
        assert typed.is_settled


@pytest.mark.parametrize("name", ["ring of 20", "torus", "circulant"])
def test_symmetric_networks_that_lost_different_edges_are_aligned_as_well_as_planted(name):
    graph = nx.convert_node_labels_to_integers(SYMMETRIC[name])
    for seed in range(3):
        pair = without(graph, 2, seed), without(graph, 2, seed + 9)
        planted = nx.intersection(*pair).number_of_edges()
        assert ao.align_graphs(pair[0], shuffled(pair[1], seed), rng=seed).common_edges >= planted


def test_relabelling_symmetric_networks_changes_no_count_of_common_edges():
    first, second = nx.cycle_graph(24), without(nx.circulant_graph(24, [1, 5]), 3, 0)
    counts = {
        ao.align_graphs(shuffled(first, seed), shuffled(second, seed + 50), rng=0).common_edges for seed in range(4)
    }
    assert len(counts) == 1


@pytest.mark.parametrize("name", SYMMETRIC)
def test_copies_of_symmetric_networks_are_brought_to_the_same_order(name):
    graph = nx.convert_node_labels_to_integers(SYMMETRIC[name])
    forms = []
    for seed in range(3):
        matrix = nx.to_scipy_sparse_array(shuffled(graph, seed), nodelist=range(len(graph)), dtype=np.float32)
        order = canonical_order(matrix, np.zeros(len(graph), np.uint64), np.random.default_rng(seed))
        forms.append(matrix.toarray()[np.ix_(order, order)])
    np.testing.assert_array_equal(forms[0], forms[1])
    np.testing.assert_array_equal(forms[0], forms[2])


def test_an_order_of_their_own_is_that_of_copies_too():
    matrix = network(30, 3, 0.15, weighted=True)
    attributes = np.zeros(30, np.uint64)
    order = np.random.default_rng(0).permutation(30)
    one, other = (canonical_order(m, attributes, np.random.default_rng(0)) for m in (matrix, matrix[order][:, order]))
    np.testing.assert_array_equal(order[other], one)
