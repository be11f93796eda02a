"""Graphs of every make become the same space; broken ones get one clear line."""

import igraph
import networkx as nx
import numpy as np
import pytest
import rustworkx
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.io import geodesics
from anchorot.io.geodesics import adjacency
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
            patch.setattr(geodesics, "find_spec", lambda name: None)
        for weight in (False, True):
            x = ao.from_graph(edges, weight, 99.0, directed=directed)
            number = {name: i for i, name in enumerate(x.labels)}
            table = [(number[h], number[t], length if weight else 1) for h, t, length in edges]
            assert x.cost.tolist() == floyd_warshall(x.n, table, directed, far=99)


@given(edge_lists())
def test_every_make_of_graph_gives_the_same_space(edges):
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


def test_direction_is_minded_only_where_it_is_asked_for():
    assert ao.from_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0)])).cost[0].tolist() == [0, 1, 2]
    assert ao.from_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0)]), directed=False).cost[0].tolist() == [0, 1, 1]
    assert ao.from_graph([(0, 1), (1, 2), (2, 0)], directed=True).cost[0].tolist() == [0, 1, 2]


def test_a_graph_in_parts_is_an_error_that_names_them_and_the_ways_out():
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
def test_the_three_ways_out():
    assert ao.from_graph(TWO_PARTS, disconnected="largest").labels == (0, 1, 2)
    assert [part.labels for part in ao.from_graph(TWO_PARTS, disconnected="split")] == [(0, 1, 2), (3, 4)]
    filled = ao.from_graph(TWO_PARTS, disconnected=7.5)
    assert filled.cost[0].tolist() == [0, 1, 2, 7.5, 7.5]


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
        ([([], 1)], {}, r"nodes need names that can be looked up, such as numbers or text, but got \[\]"),
        ("abc", {}, "got a str, but a networkx, igraph or PyTorch Geometric graph"),
        (7, {}, "got an int, but a networkx"),
        (rustworkx.PyGraph(), {}, "rustworkx graphs are not read"),
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
def test_a_sparse_matrix_whose_indices_lead_out_of_it(part, value):
    graph = sp.csr_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    getattr(graph, part)[1] = value
    with pytest.raises(ao.InputError, match="the adjacency matrix is damaged"):
        ao.from_graph(graph)


def test_a_sparse_matrix_whose_coordinates_lead_out_of_it():
    graph = sp.coo_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    graph.coords[0][1] = 1000
    with pytest.raises(ao.InputError, match="an edge names the node 1000, but nodes go from 0 to 2"):
        ao.from_graph(graph)


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
        ("g.edgelist", "a b\n", {"weight": True}, "line 1 of edges is 'a b', but lengths are asked for"),
        ("g.edgelist", "a b 1\nb c\nc d 2\n", {"weight": True}, "line 2 of edges is 'b c', but lengths are asked for"),
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


def tu_folder(tmp_path, edges="1, 2\n2, 1\n3, 4\n4, 3\n", owner="1\n1\n2\n2\n3\n", labels="1\n-1\n1\n"):
    folder = tmp_path / "TOY"
    folder.mkdir()
    for name, text in (("A", edges), ("graph_indicator", owner), ("graph_labels", labels)):
        saved(folder / f"TOY_{name}.txt", text)
    return folder


def test_tu_folders(tmp_path):
    found = ao.read_tu(tu_folder(tmp_path))
    assert [graph.shape[0] for graph in found.graphs] == [2, 2, 1]
    assert found.labels.tolist() == [1, -1, 1]
    assert repr(found) == "GraphSet(TOY, 3 graphs, 2 classes)"
    assert [ao.from_graph(graph).cost.tolist() for graph in found.graphs] == [[[0, 1], [1, 0]]] * 2 + [[[0]]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": "1, 9\n"}, "TOY_A.txt: edges must be pairs of nodes from 1 to 5"),
        ({"edges": "1, 3\n"}, "TOY_A.txt: an edge joins nodes of different graphs"),
        ({"edges": "1, 1.5\n"}, "TOY_A.txt: integers are needed"),
        ({"edges": "1, x\n"}, "TOY_A.txt: line 1 of numbers"),
        ({"owner": "1\n1\n2\n2\n9\n"}, "TOY_graph_indicator.txt: graphs must be numbered"),
        ({"labels": "1\n"}, "TOY_graph_labels.txt: 1 classes, but there are 3 graphs"),
    ],
)
def test_bad_tu_folders_get_one_clear_line(tmp_path, change, message):
    with pytest.raises(ao.InputError, match=message):
        ao.read_tu(tu_folder(tmp_path, **change))


def test_folders_that_are_no_collection(tmp_path):
    with pytest.raises(ao.InputError, match="not a TU collection"):
        ao.read_tu(tmp_path)
    with pytest.raises(ao.InputError, match="not a folder"):
        ao.read_tu(tmp_path / "nothing")
    with pytest.raises(ao.InputError, match="this is a folder, but a file is needed"):
        ao.read(tmp_path)
    with pytest.raises(ao.InputError, match="TU collection: read_tu reads it"):
        ao.read(tu_folder(tmp_path))


def test_enzymes(data):
    found = ao.read_tu(data / "tu" / "ENZYMES")
    sizes = [graph.shape[0] for graph in found.graphs]
    assert (len(found.graphs), min(sizes), max(sizes), len(set(found.labels.tolist()))) == (600, 2, 126, 6)
    connected = 0
    for graph in found.graphs:
        try:
            ao.from_graph(graph)
        except ao.InputError:
            continue
        connected += 1
    assert connected == 569  # as the collection's description says


def test_the_authors_graphs(data):
    x = ao.read(data.parent / "golden" / "G1.txt", kind="graph")
    assert x.n == 1000
    assert len(x.geometry.edges) == 2894


def test_nodes_outside_the_largest_component_are_reported():
    with pytest.warns(ao.InputWarning, match=r"^the graph is not connected; the largest part is kept, 3 of 5 nodes$"):
        ao.from_graph(TWO_PARTS, disconnected="largest")
    with pytest.warns(ao.InputWarning, match="3 of 5 nodes"):
        ao.from_graph(TWO_PARTS, disconnected="largest", n_points=2, rng=0)


def test_nodes_of_files_are_reported_with_the_name_of_the_file(tmp_path):
    file = tmp_path / "two.edgelist"
    file.write_text("a b\nb c\nd e\n")
    with pytest.warns(
        ao.InputWarning, match=r"^two.edgelist is not connected; the largest part is kept, 3 of 5 nodes$"
    ):
        ao.read(file, disconnected="largest")


def test_nodes_of_a_collection_are_reported_once():
    whole, parts = (adjacency(n, np.array(edges), None, directed=False) for n, edges in GRAPHS)
    collection = ao.GraphSet("TOY", (whole, parts, parts), None)
    with pytest.warns(ao.InputWarning) as caught:
        spaces = collection.spaces("largest")
    assert [len(space) for space in spaces] == [2, 3, 3]
    said = "TOY has 2 of 3 graphs that are not connected; the largest part of each is kept, 8 of 12 nodes"
    assert [str(warning.message) for warning in caught] == [said]
    with pytest.warns(ao.InputWarning, match=r"^graphs_a has 2 of 3 graphs that are not connected"):
        ao.graph_model_test(collection, [whole] * 3, "anchors", disconnected="largest", rng=0, progress=False)


GRAPHS = (2, [(0, 1)]), (5, [(0, 1), (1, 2), (3, 4)])


def taylor_heat(weights, time):
    """exp(-t L) by its power series: terms of steps of a random walk, by their Poisson shares."""
    degree = weights.sum(axis=1)
    root = np.array([d**-0.5 if d else 0.0 for d in degree])
    step = root[:, None] * weights * root + np.diag((degree == 0) * 1.0)
    term = found = np.eye(len(weights)) * np.exp(-time)
    for k in range(1, 80):
        term = term @ step * time / k
        found = found + term
    return found


@pytest.mark.parametrize("time", [0.5, 3, 10])
def test_heat_is_one_less_the_root_of_where_a_random_walk_is(time):
    graph = nx.disjoint_union(nx.gnp_random_graph(9, 0.4, seed=1), nx.path_graph(3))
    graph.add_node("alone")
    cost = ao.from_graph(graph, cost="heat", time=time).cost
    np.testing.assert_allclose(cost, 1 - np.sqrt(taylor_heat(nx.to_numpy_array(graph), time)), atol=1e-9)
    assert cost[0, 10] == 1
    assert cost[-1, -1] == 0


def test_resistance_is_that_of_conductors():
    np.testing.assert_allclose(ao.from_graph(nx.path_graph(4), cost="resistance").cost[0], [0, 1, 2, 3], atol=1e-9)
    ring = ao.from_graph(nx.cycle_graph(6), cost="resistance").cost[0]
    np.testing.assert_allclose(ring, [k * (6 - k) / 6 for k in range(6)], atol=1e-9)
    graph = nx.gnp_random_graph(10, 0.5, seed=3)
    for i, k in graph.edges:
        graph[i][k]["weight"] = 1 + (i + k) % 3
    expected = nx.resistance_distance(graph, weight="weight", invert_weight=False)
    found = ao.from_graph(graph, weight=True, cost="resistance").cost
    for i, k in np.ndindex(10, 10):
        assert found[i, k] == pytest.approx(expected[i][k], abs=1e-9)


def test_after_a_long_time_heat_is_spread_by_degrees():
    graph = nx.disjoint_union(nx.karate_club_graph(), nx.cycle_graph(5))
    degree = np.array([graph.degree(node) for node in graph], float)
    part = np.arange(39) >= 34
    wanted = np.where(part[:, None] == part, np.sqrt(np.outer(degree, degree)) / np.where(part, 10, 156), 0)
    for time in (1e3, 1e13, 1e20, 1e300):
        cost = ao.from_graph(graph, False, cost="heat", time=time).cost
        np.testing.assert_allclose(cost, 1 - np.sqrt(wanted), atol=1e-7)


@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e20, 1e300])
def test_heat_knows_no_unit_of_weights_and_resistance_has_its_inverse(unit):
    edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 0.5), (3, 0, 1.0), (0, 2, 3.0)]
    grown = [(i, j, weight * unit) for i, j, weight in edges]
    for kind, factor in (("heat", 1.0), ("resistance", unit)):
        cost, other = (ao.from_graph(given, weight=True, cost=kind).cost for given in (edges, grown))
        np.testing.assert_allclose(other * factor, cost, rtol=1e-9)


def test_heat_and_resistance_of_some_nodes_are_those_of_all():
    graph = nx.gnp_random_graph(20, 0.3, seed=1)
    for cost in ("heat", "resistance"):
        whole, part = (ao.from_graph(graph, cost=cost, n_points=n, rng=0) for n in (None, 7))
        np.testing.assert_array_equal(part.cost, whole.cost[np.ix_(part.labels, part.labels)])


def test_graphs_in_parts_are_refused_or_given_a_cost_but_heat_needs_neither():
    parts = [(0, 1), (2, 3)]
    assert ao.from_graph(parts, cost="heat").n == 4
    with pytest.raises(ao.InputError, match="2 components"):
        ao.from_graph(parts, cost="resistance")
    assert ao.from_graph(parts, cost="resistance", disconnected=9).cost.tolist()[0] == [0, 1, 9, 9]
    with pytest.warns(ao.InputWarning, match="2 of 4 nodes"):
        assert ao.from_graph(parts, cost="heat", disconnected="largest").n == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cost": "walks"}, "cost must be"),
        ({"time": 2.0}, "time is for cost='heat'"),
        ({"cost": "heat", "time": 0}, "time must be a positive number"),
        ({"cost": "heat", "time": float("nan")}, "time"),
        ({"cost": "heat", "directed": True}, "without directions"),
    ],
)
def test_costs_that_cannot_be_are_refused_in_one_line(options, said):
    with pytest.raises(ao.InputError, match=said):
        ao.from_graph([(0, 1)], **options)


def test_files_and_collections_have_the_same_costs(tmp_path):
    path = tmp_path / "a.edgelist"
    path.write_text("0 1\n1 2\n2 3\n0 2\n")
    expected = ao.from_graph([(0, 1), (1, 2), (2, 3), (0, 2)], cost="heat", time=2).cost
    space = ao.read(path, costs="heat", time=2)
    np.testing.assert_array_equal(space.cost, expected)
    assert space.origin.options == {"costs": "heat", "time": 2}
    for part, text in (("A", "1, 2\n2, 3\n3, 4\n1, 3"), ("graph_indicator", "1\n1\n1\n1")):
        (tmp_path / f"{tmp_path.name}_{part}.txt").write_text(text)
    np.testing.assert_array_equal(ao.read_tu(tmp_path).spaces(cost="heat", time=2)[0].cost, expected)
