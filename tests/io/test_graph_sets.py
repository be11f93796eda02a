"""Collections of graphs in TU folders."""

import numpy as np
import pytest

import anchorot as ao
from anchorot.cli.sources import find_sources
from anchorot.io.graph_costs import adjacency
from anchorot.io.graph_sets import is_gin_file


def saved(path, text):
    path.write_text(text)
    return path


def tu_folder(tmp_path, edges="1, 2\n2, 1\n3, 4\n4, 3\n", owner="1\n1\n2\n2\n3\n", labels="1\n-1\n1\n"):
    folder = tmp_path / "TOY"
    folder.mkdir()
    for name, text in (("A", edges), ("graph_indicator", owner), ("graph_labels", labels)):
        saved(folder / f"TOY_{name}.txt", text)
    return folder


def test_tu_folders(tmp_path):
    found = ao.io.read_tu(tu_folder(tmp_path))
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
        ao.io.read_tu(tu_folder(tmp_path, **change))


def test_folders_that_are_not_collections(tmp_path):
    with pytest.raises(ao.InputError, match="not a TU collection"):
        ao.io.read_tu(tmp_path)
    with pytest.raises(ao.InputError, match="not a folder"):
        ao.io.read_tu(tmp_path / "nothing")
    with pytest.raises(ao.InputError, match="this is a folder, but a file is needed"):
        ao.read(tmp_path)
    with pytest.raises(ao.InputError, match="TU collection: read_tu reads it"):
        ao.read(tu_folder(tmp_path))


def test_enzymes(data):
    found = ao.io.read_tu(data / "tu" / "ENZYMES")
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


def test_nodes_of_a_collection_are_reported_once():
    whole, parts = (adjacency(n, np.array(edges), None, directed=False) for n, edges in GRAPHS)
    collection = ao.io.GraphSet("TOY", (whole, parts, parts), None)
    with pytest.warns(ao.InputWarning) as caught:
        spaces = collection.spaces("largest")
    assert [len(space) for space in spaces] == [2, 3, 3]
    message = "TOY has 2 of 3 graphs that are not connected; the largest part of each is kept, 8 of 12 nodes"
    assert [str(warning.message) for warning in caught] == [message]
    with pytest.warns(ao.InputWarning, match=r"^graphs_a has 2 of 3 graphs that are not connected"):
        ao.graph_model_test(collection, [whole] * 3, "anchors", disconnected="largest", rng=0, progress=False)


GRAPHS = (2, [(0, 1)]), (5, [(0, 1), (1, 2), (3, 4)])


def tu_folder_with(tmp_path, **files):
    folder = tmp_path / "TOY"
    folder.mkdir()
    usual = {"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n3\n", "graph_labels": "1\n-1\n1\n"}
    for name, text in {**usual, **files}.items():
        (folder / f"TOY_{name}.txt").write_text(text)
    return folder


def test_labels_and_attributes_of_a_tu_collection(tmp_path):
    found = ao.io.read_tu(
        tu_folder_with(tmp_path, node_labels="4\n5\n6\n4\n7\n", node_attributes="1,2\n3,4\n5,6\n7,8\n9,1.5\n")
    )
    assert found.types == ((4, 5), (6, 4), (7,))
    assert [values.tolist() for values in found.features] == [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 1.5]]]
    assert repr(found) == "GraphSet(TOY, 3 graphs, 2 classes, 4 types, features of length 2)"
    spaces = found.spaces()
    assert [space.types for space in spaces] == list(found.types)
    assert [space.features.tolist() for space in spaces] == [values.tolist() for values in found.features]
    reading = {"disconnected": "error", "n_points": None, "rng": 0, "types": None, "features": None}
    sources = find_sources([tmp_path / "TOY"])
    assert [source.unread(reading)().types for source in sources] == list(found.types)
    with pytest.raises(ao.InputError, match="TOY/1: no node attribute is called 'atom'; there are: label, attributes"):
        sources[0].unread({**reading, "types": "atom"})()


def test_several_labels_of_a_node_are_one_type(tmp_path):
    found = ao.io.read_tu(tu_folder_with(tmp_path, node_labels="4,1\n5,1\n6,2\n4,1\n7,0\n"))
    assert found.types == (((4, 1), (5, 1)), ((6, 2), (4, 1)), ((7, 0),))
    assert found.features is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"node_labels": "1\n2\n"}, "TOY_node_labels.txt: 2 lines, but there are 5 nodes"),
        ({"node_labels": "1\n" * 4 + "0.5\n"}, "TOY_node_labels.txt: integers are needed"),
        ({"node_attributes": "1\n" * 6}, "TOY_node_attributes.txt: 6 lines, but there are 5 nodes"),
        ({"node_attributes": "1\n" * 4 + "nan\n"}, "TOY_node_attributes.txt: attributes of nodes must be finite"),
    ],
)
def test_bad_attributes_of_a_tu_collection_raise_one_clear_line(tmp_path, files, message):
    with pytest.raises(ao.InputError, match=message):
        ao.io.read_tu(tu_folder_with(tmp_path, **files))


def test_a_graph_of_a_collection_that_is_not_a_space_is_named(tmp_path):
    folder = tu_folder_with(tmp_path, A="1, 2\n2, 1\n", node_labels="4\n5\n6\n4\n7\n")
    with pytest.raises(ao.InputError, match="TOY/2: the graph has 2 components"):
        ao.io.read_tu(folder).spaces()
    with pytest.warns(ao.InputWarning, match="TOY has 1 of 3 graphs that are not connected"):
        assert [space.types for space in ao.io.read_tu(folder).spaces("largest")] == [(4, 5), (6,), (7,)]


GIN = "2\n3 1\n0 1 1\n4 2 0 2\n0 1 1\n2 -1\n5 1 1\n6 1 0\n"


def test_a_collection_in_the_format_of_gin(tmp_path):
    (tmp_path / "TOY.txt").write_text(GIN)
    found = ao.io.read_gin(tmp_path / "TOY.txt")
    assert found.labels.tolist() == [1, -1]
    assert (found.types, found.features) == (((0, 4, 0), (5, 6)), None)
    assert [space.cost[0].tolist() for space in found.spaces()] == [[0, 1, 2], [0, 1]]
    assert repr(found) == "GraphSet(TOY, 2 graphs, 2 classes, 4 types)"
    with pytest.raises(ao.InputError, match=r"TOY\.txt: this is a collection of graphs \(read_gin reads it\)"):
        ao.read(tmp_path / "TOY.txt")
    assert [source.name for source in find_sources([tmp_path])] == ["TOY/1", "TOY/2"]


def test_attributes_in_the_format_of_gin(tmp_path):
    (tmp_path / "x.txt").write_text("1\n2 0\n7 1 1 0.5 2\n8 1 0 -1 3\n")
    found = ao.io.read_gin(tmp_path / "x.txt")
    assert found.features[0].tolist() == [[0.5, 2], [-1, 3]]
    assert found.spaces()[0].types == (7, 8)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2\n3", "3\n3", "the first line promises 3 graphs, but there are 2"),
        ("2\n3", "x\n3", "the first line is 'x', but the number of graphs is needed"),
        ("3 1", "3 one", "line 2 is '3 one', but a graph starts with 'n class'"),
        ("3 1", "99 1", "line 2 promises 99 nodes, but 6 lines follow"),
        ("4 2 0 2", "4 2 0 3", "line 4 names a neighbour that is not from 0 to 2"),
        ("4 2 0 2", "4 9 0 2", "line 4 is '4 9 0 2', but a tag, a number of neighbours and these are needed"),
        ("4 2 0 2", "4 2 0 2 nan", "line 4 has attributes that are not finite numbers"),
        ("4 2 0 2", "4 2 0 2 1", "some nodes have 0 attributes and others 1"),
    ],
)
def test_bad_collections_of_gin_get_one_clear_line(tmp_path, old, new, message):
    (tmp_path / "x.txt").write_text(GIN.replace(old, new, 1))
    with pytest.raises(ao.InputError, match=rf"x\.txt: {message}") as caught:
        ao.io.read_gin(tmp_path / "x.txt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["2\n5 1\n1 0\n", "2\n1 2\n2 1\n0.5 0.5\n", "3\n0 1 2\n1 0 2\n2 2 0\n", "1\n0\n1\n"])
def test_matrices_of_the_authors_are_not_collections(tmp_path, text):
    (tmp_path / "x.txt").write_text(text)
    assert not is_gin_file(tmp_path / "x.txt")
    assert ao.read(tmp_path / "x.txt").n == int(text[0])


@pytest.mark.filterwarnings("ignore:ENZYMES has 31 of 600 graphs that are not connected:anchorot.InputWarning")
def test_real_collections_have_types(data):
    enzymes = ao.io.read_tu(data / "tu" / "ENZYMES")
    assert repr(enzymes) == "GraphSet(ENZYMES, 600 graphs, 6 classes, 3 types, features of length 18)"
    mutag = ao.io.read_tu(data / "tu" / "MUTAG")
    assert repr(mutag) == "GraphSet(MUTAG, 188 graphs, 2 classes, 7 types)"
    for found in (enzymes, mutag):
        spaces = found.spaces("largest", n_points=20, rng=0)
        for space, types in zip(spaces, found.types, strict=True):
            assert space.types == tuple(types[label] for label in space.labels)
