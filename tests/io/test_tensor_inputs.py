"""PyTorch tensors and PyTorch Geometric's graphs are accepted wherever arrays are."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from tests.strategies import assert_same

torch = pytest.importorskip("torch")

COST = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]])
POINTS = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
EDGES = np.array([[7, 2], [2, 5], [5, 9], [9, 7]])
LENGTHS = np.array([1.5, 2.0, 0.25, 4.0])
WEIGHTS = np.array([0.5, 0.25, 0.25])
VERTICES = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
FACES = np.array([[0, 1, 2], [0, 2, 3]])


def numbers(tensor):
    """Nested lists of tensors without dimensions."""
    return [numbers(row) for row in tensor] if tensor.ndim else tensor


FORMS = {"tensor": lambda tensor: tensor, "rows": list, "numbers": numbers}
ENTRY_POINTS = {  # every argument of every constructor that is an array
    "cost": (COST, ao.Space),
    "weights": (WEIGHTS, lambda given: ao.Space(COST, given)),
    "types": (np.array([3, 1, 3]), lambda given: ao.Space(COST, types=given)),
    "labels": (np.array([3, 1, 2]), lambda given: ao.Space(COST, labels=given)),
    "features": (POINTS, lambda given: ao.Space(COST, features=given)),
    "take": (np.array([2, 0]), lambda given: ao.Space(COST).take(given)),
    "points": (POINTS, ao.from_points),
    "weights of points": (WEIGHTS, lambda given: ao.from_points(POINTS, weights=given)),
    "types of points": (np.array([3, 1, 3]), lambda given: ao.from_points(POINTS, types=given)),
    "labels of points": (np.array([3, 1, 2]), lambda given: ao.from_points(POINTS, labels=given)),
    "neighbours": (POINTS, lambda given: ao.from_neighbors(given, 1, "euclidean")),
    "labels of neighbours": (
        np.array([3, 1, 2]),
        lambda given: ao.from_neighbors(POINTS, 1, "euclidean", labels=given),
    ),
    "edges": (EDGES, ao.from_graph),
    "triples": (
        np.column_stack([EDGES, LENGTHS]),
        lambda given: ao.from_graph(given, weight=True),
    ),
    "weights of nodes": (np.full(4, 0.25), lambda given: ao.from_graph(EDGES, weights=given)),
    "types of nodes": (np.arange(4), lambda given: ao.from_graph(EDGES, types=given)),
    "features of nodes": (VERTICES, lambda given: ao.from_graph(EDGES, features=given)),
    "features by name": (
        VERTICES,
        lambda given: ao.from_graph(EDGES, features=dict(zip([2, 5, 7, 9], given, strict=True))),
    ),
    "types by name": (
        np.arange(4),
        lambda given: ao.from_graph(EDGES, types=dict(zip([2, 5, 7, 9], given, strict=True))),
    ),
    "vertices": (VERTICES, lambda given: ao.from_mesh((given, FACES), geodesic="edge")),
    "faces": (FACES, lambda given: ao.from_mesh((VERTICES, given), geodesic="edge")),
    "points of a mesh": (
        np.array([3, 1]),
        lambda given: ao.from_mesh((VERTICES, FACES), geodesic="edge", points=given),
    ),
    "types of vertices": (np.arange(4), lambda given: ao.from_mesh((VERTICES, FACES), geodesic="edge", types=given)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_a_tensor_is_read_as_the_array_that_it_holds(entry_point, form):
    array, make = ENTRY_POINTS[entry_point]
    assert_same(make(FORMS[form](torch.tensor(array))), make(array))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "entry_point", [entry_point for entry_point, (array, _) in ENTRY_POINTS.items() if array.dtype == float]
)
def test_a_gradient_is_never_dropped_silently(entry_point, form):
    array, make = ENTRY_POINTS[entry_point]
    with pytest.raises(ao.InputError, match=r"^[^\n]*needs a gradient[^\n]*detach[^\n]*$"):
        make(FORMS[form](torch.tensor(array, requires_grad=True)))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.bool])
def test_every_kind_of_number_is_read(kind):
    made = torch.tensor([[0, 1], [1, 0]]).to(kind)
    assert ao.Space(made).cost.tolist() == [[0, 1], [1, 0]]


def test_tensors_on_devices_are_copied_to_the_host():
    copied = []

    class Distant:  # as a tensor on a device: the host has no array of it
        def detach(self):
            return self

        def cpu(self):
            copied.append("cpu")
            return torch.tensor(COST)

        def __array__(self, *_, **__):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")

    assert_same(ao.Space(Distant()), ao.Space(COST))
    assert copied


@pytest.mark.parametrize("make", [ao.Space, ao.from_points, ao.from_graph], ids=lambda make: make.__name__)
def test_a_sparse_tensor_is_refused_in_one_line(make):
    with pytest.raises(ao.InputError, match=r"^[^\n]*[Ss]parse[^\n]*$"):
        make(torch.tensor(COST).to_sparse())


def test_attributes_may_be_tensors():
    graph = nx.path_graph(3)
    for node in graph:
        graph.nodes[node].update(kind=torch.tensor(node % 2), place=torch.tensor(POINTS[node]))
    found = ao.from_graph(graph, types="kind", features="place")
    assert found.types == (0, 1, 0)
    np.testing.assert_array_equal(found.features, POINTS)


def test_groups_may_be_tensors():
    distances, groups = np.abs(np.subtract.outer(range(6), range(6))), [0, 0, 0, 1, 1, 1]
    wanted = ao.group_test(distances, groups, n_resamples=9, rng=0)
    for given in (torch.tensor(groups), [torch.tensor(group) for group in groups]):
        found = ao.group_test(torch.tensor(distances), given, n_resamples=9, rng=0)
        assert (found.groups, found.pvalue) == (wanted.groups, wanted.pvalue)


def test_a_barycenter_may_start_at_a_tensor():
    found = [ao.barycenter([COST], 3, dim=2, start=start, max_iter=2) for start in (POINTS, torch.tensor(POINTS))]
    np.testing.assert_array_equal(found[0].points, found[1].points)


def test_columns_of_a_cohort_may_be_tensors():
    table = {"sample": torch.tensor([0, 1, 0, 1]), "x": torch.tensor(LENGTHS), "kind": torch.tensor([1, 1, 2, 2])}
    found = ao.from_cohort(table, sample="sample", points="x", types="kind")
    assert (found.samples, found[0].types) == ((0, 1), (1, 2))
    assert found[0].cost[0, 1] == 1.25


def data(**parts):
    return SimpleNamespace(edge_index=torch.tensor(EDGES.T), **parts)


def test_a_graph_of_pytorch_geometric_is_read_by_its_edge_index():
    for own in (data(num_nodes=11), data(num_nodes=11, edge_attr=None), data(num_nodes=11, edge_attr=torch.ones(4, 3))):
        found = ao.from_graph(own, disconnected="split")
        assert [part.n for part in found] == [4, *[1] * 7]
        assert found[0].labels == (2, 5, 7, 9)
        np.testing.assert_array_equal(found[0].cost, ao.from_graph(EDGES).cost)
    assert ao.from_graph(SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 2]]))).n == 3


def test_lengths_of_pytorch_geometric_are_read_on_request():
    wanted = ao.from_graph(np.column_stack([EDGES, LENGTHS]), weight=True).cost
    weights, column = torch.tensor(LENGTHS), torch.tensor(LENGTHS[:, None])
    for own, weight in (
        (data(edge_weight=weights), True),
        (data(edge_attr=column), True),
        (data(edge_attr=torch.ones(4, 3), edge_weight=weights), True),
        (data(edge_attr=column), "edge_attr"),
        (data(cable=weights), "cable"),
    ):
        (found, *_) = ao.from_graph(own, weight, disconnected="split")
        np.testing.assert_array_equal(found.cost, wanted)


def test_directions_of_pytorch_geometric_count_on_request():
    assert ao.from_graph(data(), disconnected="split")[0].n == 4
    ring = SimpleNamespace(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)
    assert ao.from_graph(ring, directed=True).cost.tolist() == [[0, 1, 2], [2, 0, 1], [1, 2, 0]]


@pytest.mark.parametrize(
    ("own", "weight", "message"),
    [
        (data(num_nodes=5), None, "an edge names the node 7, but nodes go from 0 to 4"),
        (
            SimpleNamespace(edge_index=torch.tensor(EDGES)),
            None,
            r"edge_index has shape \(4, 2\) and dtype int64, but integers",
        ),
        (
            SimpleNamespace(edge_index=torch.rand(2, 4)),
            None,
            r"edge_index has shape \(2, 4\) and dtype float32, but int",
        ),
        (data(), True, "lengths of edges are requested, but the graph has no edge_attr"),
        (data(edge_attr=torch.ones(4, 3)), True, r"edge_attr has shape \(4, 3\), but a length for each of 4 edges"),
        (data(), "cable", "lengths of edges are requested, but the graph has no cable"),
    ],
)
def test_a_bad_edge_index_is_one_line(own, weight, message):
    with pytest.raises(ao.InputError, match=f"^{message}[^\n]*$"):
        ao.from_graph(own, weight)


def test_a_bare_edge_index_raises_an_error_that_says_to_transpose_it():
    with pytest.raises(ao.InputError, match=r"edge_index\.T"):
        ao.from_graph(torch.tensor(EDGES.T))
