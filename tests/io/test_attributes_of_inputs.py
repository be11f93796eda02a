"""Types and features follow their points and are requested by name."""

import anndata
import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

import anchorot as ao

RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(24, 3))
KINDS = [f"kind{i % 5}" for i in range(24)]
VALUES = np.stack([np.arange(24.0), np.arange(24.0) ** 2], axis=1)
SEED = st.integers(0, 2**16)


def assert_attributes(space, numbers, kinds=KINDS, values=VALUES):
    """The points of a space have the types and features that the things of these numbers have."""
    assert space.types == tuple(kinds[i] for i in numbers)
    np.testing.assert_array_equal(space.features, np.asarray(values)[numbers])


def assert_same_but_for_attributes(plain, other):
    np.testing.assert_array_equal(plain.cost, other.cost)
    np.testing.assert_array_equal(plain.weights, other.weights)
    assert plain.labels == other.labels
    assert plain.types is None
    assert plain.features is None


def cells():
    frame = pd.DataFrame({"kind": pd.Categorical(KINDS), "depth": VALUES[:, 0], "area": VALUES[:, 1]})
    frame.index = [f"cell{i}" for i in range(24)]
    return anndata.AnnData(POINTS, obs=frame, obsm={"both": VALUES})


def attributed(relabel=None):
    """A graph in two parts, of 16 and 8 nodes."""
    graph = nx.disjoint_union(nx.cycle_graph(16), nx.path_graph(8))
    for i in graph:
        graph.nodes[i].update(kind=KINDS[i], depth=VALUES[i, 0], area=VALUES[i, 1], both=tuple(VALUES[i]))
    return graph if relabel is None else nx.relabel_nodes(graph, relabel)


BALL = trimesh.creation.icosphere(1)
CORNERS = [f"corner{i % 7}" for i in range(42)]
HEIGHTS = np.asarray(BALL.vertices)[:, 2]


@settings(max_examples=10, deadline=None)
@given(SEED)
def test_attributes_follow_the_sampled_points(seed):
    plain = {"n_points": 7, "rng": seed}
    attributes = {"types": KINDS, "features": VALUES}
    number = list(range(24))
    for make in (
        lambda **more: ao.from_points(POINTS, labels=number, **more),
        lambda **more: ao.from_neighbors(POINTS, 5, "euclidean", 9.0, labels=number, **more),
        lambda **more: ao.from_graph(attributed(), disconnected=9.0, **more),
    ):
        found = make(**plain, **attributes)
        assert_attributes(found, list(found.labels))
        assert_same_but_for_attributes(make(**plain), found)
    named = ao.from_cells(cells(), types="kind", features=["depth", "area"], **plain)
    assert_attributes(named, [int(label[4:]) for label in named.labels])
    assert_same_but_for_attributes(ao.from_cells(cells(), **plain), named)
    walked = ao.from_cells(cells(), n_neighbors=4, disconnected=9.0, types="kind", features="both", **plain)
    assert_attributes(walked, [int(label[4:]) for label in walked.labels])
    for sampling in ("uniform", "farthest"):
        mesh = ao.from_mesh(BALL, 9, "edge", seed, sampling=sampling, types=CORNERS, features=HEIGHTS)
        assert_attributes(mesh, list(mesh.labels), CORNERS, HEIGHTS[:, None])
        assert_same_but_for_attributes(ao.from_mesh(BALL, 9, "edge", seed, sampling=sampling), mesh)


@pytest.mark.filterwarnings("ignore:the graph is not connected:anchorot.InputWarning")
def test_attributes_follow_the_components_of_a_graph():
    options = {"types": "kind", "features": ["depth", "area"]}
    largest = ao.from_graph(attributed(), disconnected="largest", **options)
    assert_attributes(largest, range(16))
    for part in ao.from_graph(attributed(), disconnected="split", n_points=5, rng=1, **options):
        assert_attributes(part, list(part.labels))


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(24)))
def test_attributes_follow_relabelled_nodes(order):
    graph = attributed(dict(enumerate(order)))
    back = {name: i for i, name in enumerate(order)}
    found = ao.from_graph(graph, disconnected=9.0, types="kind", features="both")
    assert_attributes(found, [back[label] for label in found.labels])
    mapped = ao.from_graph(
        list(graph.edges),
        disconnected=9.0,
        types={name: KINDS[i] for name, i in back.items()},
        features={name: VALUES[i] for name, i in back.items()},
    )
    assert_attributes(mapped, [back[label] for label in mapped.labels])


def test_attributes_are_read_from_every_graph_library():
    graph = attributed()
    other = igraph.Graph(24, list(graph.edges), vertex_attrs={"kind": KINDS, "depth": VALUES[:, 0].tolist()})
    found = ao.from_graph(other, disconnected=9, types="kind", features="depth")
    assert_attributes(found, range(24), values=VALUES[:, :1])
    matrix = sp.csr_array(nx.to_scipy_sparse_array(graph))
    for same in (matrix, list(graph.edges)):
        assert_attributes(ao.from_graph(same, disconnected=9, types=KINDS, features=VALUES), range(24))


def test_attributes_follow_the_component_and_the_chosen_vertices():
    two = trimesh.util.concatenate([trimesh.creation.box(), BALL])
    kinds = [f"v{i}" for i in range(50)]
    with pytest.warns(ao.InputWarning):
        found = ao.from_mesh(two, geodesic="edge", points=[49, 8, 20], types=kinds, features=np.arange(50))
    assert found.types == ("v49", "v8", "v20")
    assert found.features.ravel().tolist() == [49, 8, 20]


def test_values_of_a_trimesh_have_names():
    mesh = BALL.copy()
    mesh.vertex_attributes["height"] = HEIGHTS
    mesh.visual.vertex_colors = np.tile([[7, 8, 9, 255]], (42, 1))
    found = ao.from_mesh(mesh, geodesic="edge", types="color", features="height")
    np.testing.assert_array_equal(found.features[:, 0], HEIGHTS)
    assert set(found.types) == {(7, 8, 9)}


PATH = nx.path_graph(3)
nx.set_node_attributes(PATH, {0: "C", 1: "O"}, "atom")
nx.set_node_attributes(PATH, {0: "C", 1: "O", 2: "C"}, "element")
nx.set_node_attributes(PATH, {0: (1, 2), 1: (1,), 2: (3, 4)}, "ragged")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ao.from_graph(PATH, types="atm"),
            "no node attribute is called 'atm'; there are: atom, element, ragged",
        ),
        (lambda: ao.from_graph(PATH, types="atom"), "'atom' has no value at 2"),
        (
            lambda: ao.from_graph(PATH, features="element"),
            "'element' holds texts, such as 'C', but numbers are needed",
        ),
        (lambda: ao.from_graph(PATH, features="ragged"), "'ragged' holds vectors of several lengths"),
        (lambda: ao.from_graph([(0, 1)], types="atom"), "no node attribute is called 'atom'; there are none"),
        (lambda: ao.from_graph([(0, 1)], types={0: "C"}), "types has no entry for 1, but every point needs one"),
        (lambda: ao.from_graph([(0, 1)], features={0: 1.0}), "features has no entry for 1"),
        (lambda: ao.from_graph([(0, 1)], types=["C"]), "types has 1 entries, but the graph has 2 points"),
        (lambda: ao.from_points(POINTS, types=KINDS[1:]), "types has 23 entries, but points has 24 points"),
        (lambda: ao.from_points(POINTS, types="kind"), "types must be one hashable object per point"),
        (lambda: ao.from_points(POINTS, types=[pd.NA] * 24), r"types\[0\] is <NA>, which does not equal itself"),
        (lambda: ao.from_points(POINTS, features=VALUES[1:]), r"features has shape \(23, 2\), but \(24, d\)"),
        (
            lambda: ao.from_cells(cells(), types="kin"),
            "no column of obs or array of obsm is called 'kin'; there are: k",
        ),
        (
            lambda: ao.from_cells(cells(), features="kind"),
            "'kind' holds texts, such as 'kind0', but numbers are needed",
        ),
        (lambda: ao.from_mesh(BALL, types="quality"), "no value of the vertices is called 'quality'"),
        (lambda: ao.from_mesh(BALL, types=KINDS), "types has 24 entries, but the mesh has 42 points"),
    ],
)
def test_missing_attributes_raise_one_clear_line(make, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_missing_value_is_not_a_type():
    adata = cells()
    adata.obs["kind"] = pd.Categorical([None, *KINDS[1:]])
    with pytest.raises(ao.InputError, match="'kind' has no value at 'cell0'; give it one, or leave that point out"):
        ao.from_cells(adata, types="kind")
    adata.obs["depth"] = [np.nan, *VALUES[1:, 0]]
    with pytest.raises(ao.InputError, match="'depth' has no value at 'cell0'"):
        ao.from_cells(adata, features="depth")
