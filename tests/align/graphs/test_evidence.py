"""How reliable a whole matching is: what common edges say against chance."""

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from anchorot.align.graphs.evidence import _likelihood_ratio
from tests.align.graphs.test_pipeline import noisy

KINDS = {
    "random": lambda seed: nx.gnp_random_graph(60, 0.1, seed=seed),
    "attachment": lambda seed: nx.powerlaw_cluster_graph(60, 4, 0.5, seed=seed),
    "small world": lambda seed: nx.connected_watts_strogatz_graph(60, 6, 0.3, seed=seed),
    "regular": lambda seed: nx.random_regular_graph(6, 60, seed=seed),
    "directed": lambda seed: nx.gnp_random_graph(60, 0.07, seed=seed, directed=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_related_networks_are_reliable_and_unrelated_ones_no_better_than_chance(kind):
    graph, other = KINDS[kind](7), KINDS[kind](8)
    order = np.random.default_rng(0).permutation(60)
    related = ao.align_graphs(graph, nx.relabel_nodes(noisy(graph, 0.1, 1), dict(enumerate(order.tolist()))), rng=0)
    assert related.reliable > 0.95
    assert np.mean([order[i] == j for i, j in related.pairs()]) > 0.8
    with pytest.warns(ao.ConvergenceWarning, match="no alignment was found that can be trusted"):
        unrelated = ao.align_graphs(graph, other, rng=0)
    assert unrelated.reliable < 0.5
    assert "reliable" in repr(unrelated)


def blocks(seed):
    graph = nx.stochastic_block_model([20, 20, 20], np.full((3, 3), 0.05) + 0.4 * np.eye(3), seed=seed)
    graph.graph.clear()
    return graph


OF_ONE_KIND = {
    "blocks": blocks,
    "geometric": lambda seed: nx.random_geometric_graph(60, 0.25, seed=seed),
    "caves": lambda seed: nx.relaxed_caveman_graph(10, 6, 0.2, seed=seed),
    "trees": lambda seed: nx.random_labeled_tree(60, seed=seed),
}


@pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")
@pytest.mark.parametrize("kind", OF_ONE_KIND)
def test_unrelated_networks_of_one_kind_are_not_reliable(kind):
    found = ao.align_graphs(OF_ONE_KIND[kind](1), OF_ONE_KIND[kind](2), rng=0)
    assert found.reliable < 0.5


@pytest.mark.parametrize("kind", ["blocks", "geometric", "caves"])
def test_such_networks_are_reliable_where_they_are_related(kind):
    graph = OF_ONE_KIND[kind](1)
    found = ao.align_graphs(graph, noisy(graph, 0.05, 3), rng=0)
    assert np.mean([i == j for i, j in found.pairs()]) > 0.7
    assert found.reliable > 0.7


@pytest.mark.slow
def test_regular_networks_whose_nodes_are_not_found_say_so():
    graph = nx.random_regular_graph(10, 300, seed=0)
    with pytest.warns(ao.ConvergenceWarning, match="no alignment was found that can be trusted"):
        found = ao.align_graphs(graph, noisy(graph, 0.4, 0), rng=0)
    assert np.mean([i == j for i, j in found.pairs()]) < 0.1
    assert not found.is_settled


def test_reliability_does_not_depend_on_labels_or_order():
    graph = nx.gnp_random_graph(60, 0.1, seed=1)
    other = noisy(graph, 0.15, 2)
    names = np.random.default_rng(0).permutation(60).tolist()
    moved = nx.relabel_nodes(other, dict(enumerate(names)))
    one, turned, renamed = (ao.align_graphs(*pair, rng=0) for pair in ((graph, other), (other, graph), (graph, moved)))
    assert renamed.reliable == pytest.approx(one.reliable)
    assert turned.reliable == pytest.approx(one.reliable, abs=0.01)


def test_isomorphic_networks_raise_no_warning_however_small():
    for graph in (nx.complete_graph(4), nx.star_graph(3), nx.path_graph(2), nx.cycle_graph(5)):
        found = ao.align_graphs(graph, graph, rng=0)
        assert found.is_settled
        assert found.reliable == 1


def test_likelihood_ratio_is_the_mutual_information_of_the_table():
    table = np.array([[80.0, 10.0], [5.0, 15.0]])
    share = table / table.sum()
    expected = (table * np.log(share / np.outer(share.sum(axis=1), share.sum(axis=0)))).sum()
    assert _likelihood_ratio(table) == pytest.approx(expected)
    assert _likelihood_ratio(table[:, ::-1]) == 0
