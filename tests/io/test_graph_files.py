"""Graphs from files: edge lists, GraphML, GEXF and GML."""

import networkx as nx
import numpy as np
import pytest

import anchorot as ao


def saved(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "labels", "first"),
    [
        ("a b\nb c\n", ("a", "b", "c"), [0, 1, 2]),
        ("# comment\n% another\n10 20\n20,30\n", (10, 20, 30), [0, 1, 2]),
        ("4 2\n0 1\n1 2\n", (0, 1, 2, 3), [0, 1, 2, 9]),
        ("3 2\n1 2\n2 3\n", (1, 2, 3), [0, 1, 2]),
        ("1 2\n2 3\n", (1, 2, 3), [0, 1, 2]),
    ],
)
def test_edge_lists_from_files(tmp_path, text, labels, first):
    for name in ("g.edgelist", "g.edges"):
        x = ao.read(saved(tmp_path / name, text), disconnected=9)
        assert x.labels == labels
        assert x.cost[0].tolist() == first
    assert ao.read(saved(tmp_path / "g.txt", text), kind="graph", disconnected=9).labels == labels


def test_edges_in_an_array_file(tmp_path):
    np.save(tmp_path / "g.npy", [[5, 7], [7, 9]])
    assert ao.read(tmp_path / "g.npy", kind="graph").labels == (5, 7, 9)


def test_edge_list_lengths(tmp_path):
    path = saved(tmp_path / "g.edgelist", "a b 2.5\nb c 1e-1\n")
    assert ao.read(path, weight=False).cost[0].tolist() == [0, 1, 2]
    assert ao.read(path, weight=True).cost[0].tolist() == [0, 2.5, 2.6]


def test_graphml(tmp_path):
    g = nx.Graph()
    g.add_edge("a", "b", weight=2.0)
    g.add_edge("b", "c", weight=0.5)
    nx.write_graphml(g, tmp_path / "g.graphml")
    x = ao.read(tmp_path / "g.graphml", weight="weight")
    assert x.labels == ("a", "b", "c")
    assert x.cost[0].tolist() == [0, 2, 2.5]
    nx.write_graphml(nx.DiGraph([(0, 1), (1, 2), (2, 0)]), tmp_path / "d.graphml")
    assert ao.read(tmp_path / "d.graphml").cost[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("g.edgelist", "", {}, "g.edgelist: the file is empty"),
        ("g.edgelist", "# only a comment\n", {}, "g.edgelist: the file is empty"),
        ("g.edgelist", "a b\nc\n", {}, "line 2 of edges is 'c', but two nodes are needed"),
        ("g.edgelist", "a b\n", {"weight": True}, "line 1 of edges is 'a b', but lengths are requested"),
        ("g.edgelist", "a b 1\nb c\nc d 2\n", {"weight": True}, "line 2 of edges is 'b c', but lengths are requested"),
        (
            "g.gml",
            "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 weight 1 weight 2 ] ]",
            {"weight": True},
            r"g.gml: edge lengths have shape \(1, 2\), but a number for each of 1 edges is needed",
        ),
        ("g.edgelist", "a b\nc d\n", {}, "g.edgelist: the graph has 2 components"),
        (
            "g.edgelist",
            "a b\nc d\n",
            {"disconnected": "split"},
            "disconnected='split' is not possible",
        ),
        ("g.graphml", "<graphml", {}, "g.graphml: not a GraphML file that can be read"),
        ("g.graphml", "<graphml></graphml>", {}, "g.graphml: not a GraphML file that can be read"),
    ],
)
def test_bad_graph_files_get_one_clear_line(tmp_path, name, text, options, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.read(saved(tmp_path / name, text), **options)
    assert "\n" not in str(caught.value)


def test_nodes_of_files_are_reported_with_the_name_of_the_file(tmp_path):
    file = tmp_path / "two.edgelist"
    file.write_text("a b\nb c\nd e\n")
    with pytest.warns(
        ao.InputWarning, match=r"^two.edgelist is not connected; the largest part is kept, 3 of 5 nodes$"
    ):
        ao.read(file, disconnected="largest")
