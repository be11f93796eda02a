"""What someone who is new here tries first works, or is answered by one line that says what to call."""

import networkx as nx
import numpy as np
import pytest

import anchorot as ao

pytestmark = pytest.mark.kernel_free

SQUARE = ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.fixture
def collection(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
    return ao.read_tu(folder)


def said(attempt):
    with pytest.raises(ao.InputError) as caught:
        attempt()
    assert "\n" not in str(caught.value)
    return str(caught.value)


DISTANCES = (ao.anchor_energy, ao.anchor_wasserstein, ao.gromov_wasserstein, ao.align, ao.anchor_energy_plan)


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda distance: distance.__name__)
def test_every_distance_says_what_makes_a_space(distance, tmp_path, collection):
    file = tmp_path / "cat.off"
    assert "anchorot.read(" in said(lambda: distance(str(file), SQUARE))
    assert "anchorot.read(" in said(lambda: distance(SQUARE, file))
    assert "anchorot.from_graph(" in said(lambda: distance(nx.path_graph(4), SQUARE))
    assert "anchorot.from_graph(" in said(lambda: distance(collection.graphs[0], SQUARE))
    assert ".spaces()" in said(lambda: distance(collection, SQUARE))
    assert "list of spaces" in said(lambda: distance([SQUARE, SQUARE], SQUARE))


@pytest.mark.parametrize("distance", DISTANCES[1:], ids=lambda distance: distance.__name__)
def test_distances_that_need_more_than_features_ask_for_the_space(distance):
    told = said(lambda: distance(ao.AnchorFeatures.of(SQUARE), SQUARE))
    assert "AnchorFeatures" in told
    assert "give the Space that" in told


def test_igraph_and_meshes_are_known_too():
    igraph, trimesh = pytest.importorskip("igraph"), pytest.importorskip("trimesh")
    assert "anchorot.from_graph(" in said(lambda: ao.anchor_energy(igraph.Graph.Ring(4), SQUARE))
    assert "anchorot.from_mesh(" in said(lambda: ao.anchor_energy(trimesh.creation.box(), SQUARE))


def test_pairwise_says_what_to_make_of_collections_and_graphs(collection):
    assert ".spaces()" in said(lambda: ao.pairwise(collection))
    told = said(lambda: ao.pairwise(collection.graphs))
    assert told.startswith("spaces[0]: ")
    assert "anchorot.from_graph(" in told
    assert "values()" in said(lambda: ao.pairwise({"square": SQUARE}))
    np.testing.assert_array_equal(ao.pairwise(collection.spaces()).shape, (2, 2))


def test_match_of_spaces_says_that_a_plan_is_needed():
    assert "match(align(x, y))" in said(lambda: ao.match(SQUARE, SQUARE))
    assert "match(align(x, y))" in said(lambda: ao.match(SQUARE))
    matched = ao.match(ao.anchor_wasserstein(SQUARE, SQUARE, epsilon=0))
    assert sorted(matched.tolist()) == [0, 1, 2, 3]
