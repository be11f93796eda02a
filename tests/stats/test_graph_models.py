"""Collections of graphs, tested by what their nodes look like."""

import numpy as np
import pytest

import anchorot as ao


def test_graph_statistics_are_those_of_networkx():
    import networkx as nx

    from anchorot.stats.graphs import clustering, degrees, tables_of

    graphs = [nx.gnp_random_graph(n, 0.4, seed=n) for n in (1, 2, 9, 15)] + [nx.star_graph(5), nx.complete_graph(4)]
    tables = tables_of(graphs, "graphs")
    for graph, own_degrees, own_clustering in zip(graphs, degrees(tables), clustering(tables), strict=True):
        assert own_degrees.tolist() == [d for _, d in graph.degree()]
        assert own_clustering.tolist() == pytest.approx(list(nx.clustering(graph).values()))


def test_directions_loops_and_parallel_edges_do_not_count():
    plain = [[(0, 1), (1, 2)]]
    odd = [[(1, 0), (1, 2), (2, 1), (1, 1)]]
    assert ao.graph_model_test(plain, odd, n_resamples=1).statistic == 0


@pytest.mark.parametrize("statistic", ["degree", "clustering", "anchors"])
def test_graph_model_test_distinguishes_models_but_not_a_model_from_itself(statistic):
    import networkx as nx

    rng = np.random.default_rng(1)
    rings = [nx.connected_watts_strogatz_graph(20, 4, 0.1, seed=int(rng.integers(1000))) for _ in range(40)]
    trees = [nx.barabasi_albert_graph(20, 1, seed=int(rng.integers(1000))) for _ in range(20)]
    assert ao.graph_model_test(rings[:20], trees, statistic, rng=0).pvalue == 0.001
    assert ao.graph_model_test(rings[:20], rings[20:], statistic, rng=0).pvalue > 0.01


def test_graph_model_test_takes_graphs_of_all_makes():
    import igraph
    import networkx as nx
    from scipy.sparse import csr_array

    edges = [(0, 1), (1, 2), (2, 0), (2, 3)]
    dense = np.zeros((4, 4))
    dense[tuple(np.transpose(edges))] = 1
    makes = [edges, nx.Graph(edges), igraph.Graph(edges=edges), csr_array(dense)]
    for statistic in ("degree", "clustering", "anchors"):
        found = ao.graph_model_test(makes, [edges], statistic, n_resamples=1)
        assert found.statistic == pytest.approx(0, abs=1e-15)


def test_bad_graphs_are_named():
    with pytest.raises(ao.InputError, match=r"graphs_b\[1\]: the graph has no nodes"):
        ao.graph_model_test([[(0, 1)]], [[(0, 1)], []])
    with pytest.raises(ao.InputError, match=r"graphs_a\[0\]: the graph has 2 components .* disconnected='largest'"):
        ao.graph_model_test([[(0, 1), (2, 3)]], [[(0, 1)]], "anchors")
    with pytest.raises(ao.InputError, match="graphs_a is empty"):
        ao.graph_model_test([], [[(0, 1)]])
    with pytest.raises(ao.InputError, match="statistic must be one of 'degree', 'clustering', 'anchors'"):
        ao.graph_model_test([[(0, 1)]], [[(0, 1)]], "colour")


def test_enzymes_halves_are_alike(data):
    graphs = ao.io.read_tu(data / "tu" / "ENZYMES")
    order = np.random.default_rng(0).permutation(600)
    halves = [[graphs.graphs[i] for i in part] for part in (order[:300], order[300:])]
    for statistic in ("degree", "clustering"):
        assert ao.graph_model_test(*halves, statistic, rng=0).pvalue > 0.01
    mutag = ao.io.read_tu(data / "tu" / "MUTAG")
    assert ao.graph_model_test(graphs, mutag, rng=0).pvalue == 0.001
