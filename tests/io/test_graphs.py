"""Graphs of every library become the same space; broken ones get one clear line."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.io import graph_costs
from tests.reference import floyd_warshall

TWO_PARTS = [(0, 1), (1, 2), (3, 4)]


@st.composite
def edge_lists(draw, max_nodes=7):
    """Edges (head, tail, length) with loops, parallels and zero lengths."""
    node = st.integers(0, max_nodes - 1)
    return draw(st.lists(st.tuples(node, node, st.integers(0, 4)), min_size=1, max_size=14))


@pytest.mark.parametrize("with_rustworkx", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@given(edges=edge_lists())
def test_costs_are_shortest_paths(with_rustworkx, directed, edges):
    with pytest.MonkeyPatch.context() as patch:
        if not with_rustworkx:
            patch.setattr(graph_costs, "find_spec", lambda name: None)
        for weight in (False, True):
            x = ao.from_graph(edges, weight, 99.0, directed=directed)
            number = {name: i for i, name in enumerate(x.labels)}
            table = [(number[h], number[t], length if weight else 1) for h, t, length in edges]
            assert x.cost.tolist() == floyd_warshall(x.n, table, directed, far=99)


def test_disconnected_graphs_raise_an_error_that_lists_the_options():
    with pytest.raises(ao.InputError) as caught:
        ao.from_graph(TWO_PARTS)
    message = str(caught.value)
    assert "2 components (of 3, 2 nodes)" in message
    for way in ("disconnected='largest'", "disconnected='split'", "a finite number"):
        assert way in message
    with pytest.raises(ao.InputError, match=r"3 strongly connected components \(of 1, 1, 1 nodes\)"):
        ao.from_graph([(0, 1), (1, 2)], directed=True)
    many = [(2 * i, 2 * i + 1) for i in range(40)]
    with pytest.raises(ao.InputError, match=r"40 components \(of 2, 2, 2, 2, 2, \.\.\. nodes\)"):
        ao.from_graph(many)


@pytest.mark.filterwarnings("ignore:the graph is not connected:anchorot.InputWarning")
def test_the_three_options_for_disconnected_graphs():
    assert ao.from_graph(TWO_PARTS, disconnected="largest").labels == (0, 1, 2)
    assert [part.labels for part in ao.from_graph(TWO_PARTS, disconnected="split")] == [(0, 1, 2), (3, 4)]
    filled = ao.from_graph(TWO_PARTS, disconnected=7.5)
    assert filled.cost[0].tolist() == [0, 1, 2, 7.5, 7.5]


@pytest.mark.filterwarnings("ignore:the graph is not connected:anchorot.InputWarning")
def test_node_weights_follow_their_nodes():
    x = ao.from_graph(TWO_PARTS, disconnected="largest", weights=[0.1, 0.1, 0.3, 0.25, 0.25])
    np.testing.assert_allclose(x.weights, [0.2, 0.2, 0.6])


def test_a_sample_of_nodes_keeps_the_paths_through_all():
    g = nx.barabasi_albert_graph(60, 2, seed=1)
    whole, part = ao.from_graph(g), ao.from_graph(g, n_points=12, rng=3)
    assert part.n == 12
    np.testing.assert_array_equal(part.cost, whole.cost[np.ix_(part.labels, part.labels)])
    assert ao.from_graph(g, n_points=99).n == 60
    assert ao.from_graph(g, n_points=12, rng=3).labels == part.labels != ao.from_graph(g, n_points=12, rng=4).labels


@pytest.mark.filterwarnings("ignore:the graph is not connected:anchorot.InputWarning")
def test_edges_are_kept_for_pictures():
    x = ao.from_graph(TWO_PARTS, disconnected=9)
    assert x.geometry.edges.tolist() == [list(edge) for edge in TWO_PARTS]
    small = ao.from_graph(TWO_PARTS, disconnected="split")[1]
    assert small.geometry.edges.tolist() == [[0, 1]]
    assert (small.geometry.index.tolist(), small.geometry.n_sites) == ([0, 1], 2)
    part = ao.from_graph(TWO_PARTS, disconnected="largest", n_points=2, rng=0)
    assert [small.geometry.n_sites, part.geometry.n_sites] == [2, 3]
    assert part.geometry.index.tolist() == list(part.labels)


def test_nodes_outside_the_largest_component_are_reported():
    with pytest.warns(ao.InputWarning, match=r"^the graph is not connected; the largest part is kept, 3 of 5 nodes$"):
        ao.from_graph(TWO_PARTS, disconnected="largest")
    with pytest.warns(ao.InputWarning, match="3 of 5 nodes"):
        ao.from_graph(TWO_PARTS, disconnected="largest", n_points=2, rng=0)
