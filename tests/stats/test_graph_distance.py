"""Scores of generated graphs: properties of the score, of its interval and of types."""

import networkx as nx
import numpy as np
import pytest

import anchorot as ao


def rings(seed, count=10, rewired=0.0):
    return [nx.watts_strogatz_graph(24, 4, rewired, seed=1000 * seed + k) for k in range(count)]


def test_the_score_is_the_coefficient_of_inhomogeneity_of_roots_of_anchor_energies():
    """On the grid; an embedding on the same one gives the same distances."""
    first, second = rings(0, 5, 0.1), rings(1, 4, 0.5)
    spaces = [ao.from_graph(graph, cost="heat", time=3.0) for graph in first + second]
    vectors = ao.embed(spaces, grid=ao.anchors.Grid((16, 32), 0.0, 1.0), progress=False).astype(float)
    d = np.sqrt(2 * ((vectors[:, None] - vectors) ** 2).sum(axis=2))
    xx, yy = (
        np.mean([own[i, j] for i in range(len(own)) for j in range(len(own)) if i != j])
        for own in (d[:5, :5], d[5:, 5:])
    )
    expected = 1 - (xx + yy) / (2 * d[:5, 5:].mean())
    found = ao.GraphDistance(first).compute(second, rng=0)
    assert found.subscores["anchors"] == pytest.approx(expected, rel=1e-4)
    assert found.score == max(found.subscores.values()) == found.subscores[found.descriptor]
    energies = ao.pairwise(spaces, progress=False)
    assert d[0, 5] == pytest.approx(energies[0, 5] ** 0.5, rel=0.15)
    assert (found.n_reference, found.n_graphs) == (5, 4)


def test_scores_lie_between_0_and_1_in_their_interval_and_grow_with_the_difference():
    metric = ao.GraphDistance(rings(0, rewired=0.05))
    found = [metric.compute(rings(1, rewired=p), n_resamples=199, rng=1) for p in (0.05, 0.2, 0.8)]
    assert found[0].score < found[1].score < found[2].score <= 1
    for one in found:
        low, high = one.interval()
        assert 0 <= low <= high <= 1
    assert found[0].pvalue > 0.01
    assert found[2].pvalue == 1 / 200
    assert found[2].interval()[0] > 0.1 > found[0].score


def test_equal_graphs_score_0_and_two_graphs_in_copies_score_1():
    ring, star = nx.cycle_graph(9), nx.star_graph(8)
    same = ao.GraphDistance([ring] * 4).compute([nx.relabel_nodes(ring, lambda k: (5 * k) % 9)] * 3, rng=0)
    assert (same.score, same.interval(), same.pvalue) == (0, (0, 0), 1)
    apart = ao.GraphDistance([ring] * 4).compute([star] * 4, rng=0)
    assert (apart.score, apart.interval()) == (1, (1, 1))
    assert apart.pvalue == pytest.approx(1 / 35)


def test_graphs_in_parts_are_scored_too():
    parts = [nx.disjoint_union(graph, nx.path_graph(3)) for graph in rings(0)]
    assert ao.GraphDistance(rings(0)).compute(parts, n_resamples=99, rng=1).pvalue == 0.01


def typed(count, order, rare=False):
    graphs = []
    for k in range(count):
        graph = nx.cycle_graph(12 + 2 * (k % 3))
        for node in graph:
            graph.nodes[node]["element"] = "CO"[node % 2] if order == "alternating" else "CO"[node < len(graph) // 2]
        if rare:
            graph.nodes[0]["element"] = "N"
        graphs.append(graph)
    return graphs


def test_types_tell_what_edges_cannot():
    options = {"n_resamples": 199, "rng": 0}
    plain = ao.GraphDistance(typed(9, "alternating")).compute(typed(9, "halves"), **options)
    marked = ao.GraphDistance(typed(9, "alternating"), types="element")
    assert plain.score == 0
    assert marked.compute(typed(9, "halves"), **options).score > 0.3
    assert marked.compute(typed(9, "alternating", rare=True), **options).score > 0.05  # a type that the reference lacks
    assert marked.compute(typed(9, "alternating"), **options).score == 0


@pytest.mark.parametrize(
    ("reference", "graphs", "message"),
    [
        ([[(0, 1)]] * 2, [[(0, 1)]] * 3, "reference has 2 graphs, but at least 3 are needed"),
        ([[(0, 1)]] * 3, [[(0, 1)], [], [(0, 1)]], r"graphs\[1\]: the graph has no nodes"),
        (3, [], "reference must be a list of graphs, but got 3"),
        ([[(0, 1)]] * 3, None, "graphs must be a list of graphs, but got None"),
    ],
)
def test_bad_collections_are_one_clear_line(reference, graphs, message):
    with pytest.raises(ao.InputError, match=message):
        ao.GraphDistance(reference).compute(graphs)


def test_graphs_may_come_one_by_one():
    graphs = rings(0, 4)
    found = ao.GraphDistance(graph for graph in graphs).compute((graph for graph in graphs), n_resamples=9, rng=0)
    assert (found.n_reference, found.n_graphs, found.score) == (4, 4, 0.0)


def test_a_type_that_no_node_has_is_one_line_that_says_so():
    ring = nx.cycle_graph(5)
    nx.set_node_attributes(ring, None, "element")
    with pytest.raises(ao.InputError, match=r"reference\[0\]: the node attribute 'element' is None everywhere"):
        ao.GraphDistance([ring] * 3, types="element")
