"""Graphs of every library give the same table of edges."""

import warnings

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import rustworkx
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests.messages import noted, said
from tests.reference import floyd_warshall

TWO_PARTS = [(0, 1), (1, 2), (3, 4)]


@st.composite
def edge_lists(draw, max_nodes=7):
    """Edges (head, tail, length) with loops, parallels and zero lengths."""
    node = st.integers(0, max_nodes - 1)
    return draw(st.lists(st.tuples(node, node, st.integers(0, 4)), min_size=1, max_size=14))


@given(edge_lists())
def test_every_graph_library_gives_the_same_space(edges):
    for weight, name in ((False, False), (True, "weight")):
        for directed in (False, True):
            expected = ao.from_graph(edges, weight, 50, directed=directed)
            g = (nx.MultiDiGraph if directed else nx.MultiGraph)()
            g.add_nodes_from(expected.labels)
            g.add_weighted_edges_from(edges)
            number = {label: i for i, label in enumerate(expected.labels)}
            ends = [(number[h], number[t]) for h, t, _ in edges]
            lengths = [float(length) for _, _, length in edges]
            i = igraph.Graph(expected.n, ends, directed=directed, edge_attrs={"weight": lengths})
            for graph, chosen in ((g, name), (i, name), (g, weight)):
                np.testing.assert_array_equal(ao.from_graph(graph, chosen, 50).cost, expected.cost)


@given(edge_lists())
def test_a_sparse_matrix_is_a_graph(edges):
    shortest = {}
    for head, tail, length in edges:
        if head != tail:
            key = (min(head, tail), max(head, tail))
            shortest[key] = min(length, shortest.get(key, length))
    n = 7
    heads, tails = zip(*shortest, strict=True) if shortest else ((), ())
    matrix = sp.coo_array((np.array(list(shortest.values()), float), (heads, tails)), shape=(n, n))
    named = [(head, tail, length) for (head, tail), length in shortest.items()]
    expected = floyd_warshall(n, named, directed=False, far=9)
    for make in (sp.coo_array, sp.csr_array, sp.csc_array, sp.csr_matrix):
        assert ao.from_graph(make(matrix), True, 9).cost.tolist() == expected


def test_names_of_nodes_are_kept():
    g = nx.Graph([("b", "a"), ("a", "ç")])
    assert ao.from_graph(g).labels == ("b", "a", "ç")
    assert ao.from_graph([(5, 3), (3, 9)]).labels == (3, 5, 9)
    assert ao.from_graph([("x", 3)]).labels == ("x", 3)
    i = igraph.Graph(edges=[(0, 1)])
    i.vs["name"] = ["left", "right"]
    assert ao.from_graph(i).labels == ("left", "right")
    assert ao.from_graph(np.array([[2, 0], [0, 1]])).labels == (0, 1, 2)


def test_edges_are_directed_only_on_request():
    assert ao.from_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0)])).cost[0].tolist() == [0, 1, 2]
    assert ao.from_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0)]), directed=False).cost[0].tolist() == [0, 1, 1]
    assert ao.from_graph([(0, 1), (1, 2), (2, 0)], directed=True).cost[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        ([], {}, "the graph has no nodes"),
        (nx.Graph(), {}, "the graph has no nodes"),
        (nx.path_graph(3), {"weight": "length"}, "the edge from 0 to 1 has no attribute 'length'"),
        (igraph.Graph(edges=[(0, 1)]), {"weight": "length"}, "the edges have no attribute 'length'; they have: none"),
        ([(0, 1, -2.0)], {"weight": True}, "edge lengths must not be negative, but that from 0 to 1 is -2"),
        ([(0, 1, np.nan)], {"weight": True}, "edge lengths must be finite"),
        ([(0, 1, "far")], {"weight": True}, "edge lengths has dtype"),
        ([(0, 1, [2, 3])], {"weight": True}, r"edge lengths have shape \(1, 2\), but a number for each of 1 edges"),
        ([(0, 1)], {"weight": True}, "the edges are pairs of nodes without one"),
        ([(0, 1), (1, 2, 3)], {}, "all be pairs, or all triples"),
        ([(0, 1, 2, 3)], {}, r"all be pairs, or all triples with a length, but got \(0, 1, 2, 3\)"),
        (np.eye(5), {}, "got a square array, but edges are needed"),
        ([1, 2], {}, "all be pairs, or all triples with a length, but got 1"),
        ([([], 1)], {}, r"nodes need hashable names, such as numbers or texts, but got \[\]"),
        ("abc", {}, "got a str, but a networkx, igraph or PyTorch Geometric graph"),
        (7, {}, "got an int, but a networkx"),
        (rustworkx.PyGraph(), {}, "rustworkx graphs are not supported"),
        (sp.coo_array((2, 3)), {}, r"the adjacency matrix has shape \(2, 3\)"),
        (TWO_PARTS, {"disconnected": "smallest"}, "got 'smallest'"),
        (TWO_PARTS, {"disconnected": np.inf}, "disconnected must be a finite number"),
        (TWO_PARTS, {"disconnected": -1.0}, "disconnected must be a finite number"),
        ([(0, 1)], {"n_points": 0}, "n_points must be an integer >= 1"),
        ([(0, 1)], {"weights": [1.0]}, "weights has shape"),
    ],
)
def test_bad_graphs_get_one_clear_line(graph, options, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.from_graph(graph, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("part", "value"), [("indices", 9), ("indices", -1), ("indptr", 99)])
def test_a_sparse_matrix_with_indices_out_of_range(part, value):
    graph = sp.csr_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    getattr(graph, part)[1] = value
    with pytest.raises(ao.InputError, match="the adjacency matrix is damaged"):
        ao.from_graph(graph)


def test_a_sparse_matrix_with_coordinates_out_of_range():
    graph = sp.coo_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    graph.coords[0][1] = 1000
    with pytest.raises(ao.InputError, match="an edge names the node 1000, but nodes go from 0 to 2"):
        ao.from_graph(graph)


@pytest.mark.parametrize("edges", [[(0.0, np.nan), (np.nan, 1.0)], [("a", pd.NA), (pd.NA, "b")]])
def test_a_node_that_is_missing_has_no_edges(edges):
    assert "nodes need hashable names" in said(ao.from_graph, edges)


def test_edges_come_in_every_form():
    edges = [(0, 1), (1, 2), (2, 5)]
    wanted = ao.from_graph(edges)
    frame = pd.DataFrame(edges, columns=["from", "to"])
    structure = np.array(edges, [("from", "i4"), ("to", "i8")])
    mixed = [(0, np.int8(1)), (np.array(1), 2.0), (np.uint64(2), 5)]
    for form in (
        np.array(edges),
        np.array(edges, float),
        np.array(edges, object),
        frame,
        structure,
        mixed,
        iter(edges),
    ):
        found = ao.from_graph(form)
        assert found.labels == wanted.labels == (0, 1, 2, 5)
        assert {type(name) for name in found.labels} == {int}
        np.testing.assert_array_equal(found.cost, wanted.cost)


def test_a_dense_matrix_is_not_read_as_edges():
    for n in (3, 4, 7):
        assert "scipy.sparse.csr_array" in said(ao.from_graph, nx.to_numpy_array(nx.path_graph(n)))


def lengths(graph):
    nx.set_edge_attributes(graph, 2.5, "weight")
    return graph


def igraph_of(graph):
    return pytest.importorskip("igraph").Graph.from_networkx(graph)


WITH_LENGTHS = {
    "networkx": lengths(nx.path_graph(3)),
    "igraph": lengths(nx.path_graph(3)),
    "sparse": nx.to_scipy_sparse_array(lengths(nx.path_graph(3))),
    "triples": [(0, 1, 2.5), (1, 2, 2.5)],
    "array": np.array([(0, 1, 2.5), (1, 2, 2.5)]),
}


@pytest.mark.parametrize("kind", WITH_LENGTHS)
def test_ignored_edge_lengths_are_noted(kind):
    graph = igraph_of(WITH_LENGTHS[kind]) if kind == "igraph" else WITH_LENGTHS[kind]
    reported = noted(ao.from_graph, graph)
    assert reported.startswith("the graph has edges with lengths, which are not used")
    assert "weight=True" in reported
    for weight in (True, False):
        assert noted(ao.from_graph, graph, weight) is None
    assert ao.from_graph(graph, False).cost.max() == 2
    assert ao.from_graph(graph, True).cost.max() == 5


@pytest.mark.parametrize(
    "graph",
    [nx.path_graph(3), nx.to_scipy_sparse_array(nx.path_graph(3)), [(0, 1), (1, 2)], [(0, 1, 1), (1, 2, 1.0)]],
    ids=["networkx", "sparse", "pairs", "ones"],
)
def test_graphs_without_lengths_cause_no_note(graph):
    assert noted(ao.from_graph, graph) is None


@pytest.mark.parametrize("name", ["x.graphml", "x.gexf", "x.gml", "x.edgelist"])
def test_ignored_edge_lengths_of_a_file_are_noted_with_its_name(tmp_path, name):
    graph, path = lengths(nx.path_graph(3)), tmp_path / name
    if name == "x.edgelist":
        nx.write_weighted_edgelist(graph, path)
    else:
        {"x.graphml": nx.write_graphml_xml, "x.gexf": nx.write_gexf, "x.gml": nx.write_gml}[name](graph, path)
    assert noted(ao.read, path).startswith(f"{name} has edges with lengths, which are not used")
    assert noted(ao.read, path, weight="weight") is noted(ao.read, path, weight=False) is None
    assert noted(ao.graph_model_test, [graph] * 2, [graph] * 2, n_resamples=9, rng=0, progress=False) is None


def test_advice_for_disconnected_graphs_works(tmp_path):
    path = tmp_path / "x.edgelist"
    path.write_text("a b\nc d\n")
    points = [[0.0], [1.0], [10.0], [11.0]]
    np.savez(tmp_path / "x.npz", points=points)
    table = {"sample": [0] * 4, "x": [0.0, 1.0, 10.0, 11.0]}
    for make in (
        lambda **how: ao.from_graph([(0, 1), (2, 3)], **how),
        lambda **how: ao.from_neighbors(points, 1, "euclidean", **how),
        lambda **how: ao.read(path, **how),
        lambda **how: ao.read(tmp_path / "x.npz", n_neighbors=1, **how),
        lambda **how: ao.from_cohort(table, sample="sample", points="x", n_neighbors=1, **how),
    ):
        reported = said(make)
        assert "disconnected='largest'" in reported
        for way in ("largest", "split"):
            if f"'{way}'" in reported:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ao.InputWarning)
                    make(disconnected=way)
        make(disconnected=9.0)
