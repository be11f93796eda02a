"""The parts of the comparison of graph models: the split, the orders, the generators."""

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from experiments.common.clock import one_core  # noqa: E402
from experiments.graph_models.generators import fit, links_per_node  # noqa: E402
from experiments.graph_models.graph_files import (  # noqa: E402
    largest_component,
    load_graphs,
    read_graphs,
    save_graphs,
    split,
)
from experiments.graph_models.graphrnn import (  # noqa: E402
    GraphRNN,
    bandwidth,
    breadth_first,
    decode,
    encode,
    stack,
)
from experiments.graph_models.graphrnn_steps import training  # noqa: E402

pytestmark = pytest.mark.system


def adjacency_of(graph):
    return nx.to_numpy_array(graph, dtype=bool)


def random_generator(seed=0):
    return torch.Generator().manual_seed(seed)


@st.composite
def connected_graphs(draw):
    """A random tree with further edges."""
    n = draw(st.integers(2, 9))
    adjacency = np.zeros((n, n), dtype=bool)
    for node in range(1, n):
        adjacency[node, draw(st.integers(0, node - 1))] = True
    extra = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] > e[1])))
    for edge in extra:
        adjacency[edge] = True
    return adjacency | adjacency.T


@given(st.lists(connected_graphs(), min_size=1, max_size=4), st.integers(0, 99))
def test_breadth_first_orders_are_breadth_first_and_keep_the_graph(graphs, seed):
    ordered = breadth_first(*stack(graphs), random_generator(seed)).numpy()
    for graph, renumbered in zip(graphs, ordered, strict=True):
        n = len(graph)
        found = nx.from_numpy_array(renumbered[:n, :n])
        assert not renumbered[n:].any()
        assert not renumbered[:, n:].any()
        assert nx.is_isomorphic(nx.from_numpy_array(graph), found)
        first_links = [min(found[node]) for node in range(1, n)]
        assert all(link < node for node, link in enumerate(first_links, 1))
        assert first_links == sorted(first_links)  # children queue up in the order of their parents


@given(st.lists(connected_graphs(), min_size=1, max_size=4), st.integers(0, 99))
def test_rows_as_wide_as_the_order_needs_give_the_graphs_back(graphs, seed):
    ordered = breadth_first(*stack(graphs), random_generator(seed))
    rows = encode(ordered, int(bandwidth(ordered).max()))
    for graph, before, after in zip(graphs, ordered.numpy(), decode(rows), strict=True):
        np.testing.assert_array_equal(after, before[: len(graph), : len(graph)])


def test_rows_too_narrow_lose_the_farthest_links():
    star = adjacency_of(nx.star_graph(4))  # node 0 in the middle
    rows = encode(torch.as_tensor(star)[None], 2)
    np.testing.assert_array_equal(rows[0], [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]])


@pytest.mark.system
@pytest.mark.parametrize("dependent", [True, False])
def test_a_model_that_saw_one_graph_alone_generates_it(dependent):
    torch.manual_seed(0)
    generator = random_generator()
    cycle = nx.cycle_graph(5)
    model = GraphRNN(2, dependent=dependent, hidden=32, embedding=16)
    with one_core():  # threads would only wait for each other
        losses = list(training(model, [adjacency_of(cycle)], 6, generator, batch=4))
    assert losses[-1] < losses[0] / 10
    sampled = [nx.from_numpy_array(graph) for graph in model.sample(200, 12, generator)]
    assert np.mean([nx.is_isomorphic(graph, cycle) for graph in sampled]) > 0.9


@pytest.mark.parametrize("dependent", [True, False])
def test_rows_of_padding_do_not_count(dependent):
    torch.manual_seed(0)
    model = GraphRNN(3, dependent=dependent, hidden=8, embedding=8)
    adjacency, sizes = stack([adjacency_of(nx.path_graph(4)), adjacency_of(nx.cycle_graph(3))])
    rows = encode(adjacency, 3)
    padded = torch.nn.functional.pad(rows, (0, 0, 0, 5), value=1.0)
    torch.testing.assert_close(model.loss(rows, sizes), model.loss(padded, sizes))
    by_graph = [model.loss(rows[k : k + 1, :n], sizes[k : k + 1]) for k, n in enumerate((4, 3))]
    n_edges = torch.tensor([1 + 2 + 3 + 3, 1 + 2 + 3])  # that rows may have: no more than there are nodes before
    torch.testing.assert_close(model.loss(rows, sizes), (torch.stack(by_graph) * n_edges).sum() / n_edges.sum())


def test_more_tries_leave_fewer_rows_empty():
    torch.manual_seed(0)
    model = GraphRNN(3, dependent=False, hidden=8, embedding=8)
    sizes = [np.mean([len(g) for g in model.sample(300, 40, random_generator(), tries)]) for tries in (1, 3)]
    assert sizes[1] > 1.5 * sizes[0]


def test_a_seed_fixes_what_is_sampled():
    torch.manual_seed(0)
    model = GraphRNN(3, hidden=8, embedding=8)
    first, second, other = (model.sample(20, 9, random_generator(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_split_is_disjoint_and_fixed_by_its_seed():
    graphs = [np.zeros((n, n), dtype=bool) for n in range(50)]
    training_graphs, test_graphs = split(graphs)
    assert (len(training_graphs), len(test_graphs)) == (40, 10)
    assert sorted(len(graph) for graph in training_graphs + test_graphs) == list(range(50))
    expected = list(range(50))
    random.seed(123)  # as GraphRNN's authors do it
    random.shuffle(expected)
    assert [len(graph) for graph in training_graphs + test_graphs] == expected
    assert [len(graph) for graph in split(graphs, seed=1)[1]] != [len(graph) for graph in test_graphs]


def test_enzymes_are_read_as_networkx_would(data):
    edges = np.loadtxt(data / "tu" / "ENZYMES" / "ENZYMES_A.txt", delimiter=",", dtype=int)
    indicator = np.loadtxt(data / "tu" / "ENZYMES" / "ENZYMES_graph_indicator.txt", dtype=int)
    everything = nx.Graph(edges.tolist())
    expected = []
    for number in range(1, indicator.max() + 1):
        part = everything.subgraph(np.flatnonzero(indicator == number) + 1)
        if len(part) >= 10:
            components = sorted(nx.connected_components(part), key=min)
            expected.append(part.subgraph(max(components, key=len)))
    found = read_graphs(data / "tu" / "ENZYMES")
    assert len(found) == len(expected)
    for adjacency, graph in zip(found, expected, strict=True):
        np.testing.assert_array_equal(adjacency, nx.to_numpy_array(graph, sorted(graph), dtype=bool))


def test_largest_component_of_connected_graph_is_the_graph():
    adjacency = adjacency_of(nx.petersen_graph())
    np.testing.assert_array_equal(largest_component(adjacency), adjacency)
    apart = adjacency_of(nx.disjoint_union(nx.path_graph(3), nx.petersen_graph()))
    np.testing.assert_array_equal(largest_component(apart), adjacency)


def test_graphs_survive_their_file(tmp_path):
    graphs = [adjacency_of(graph) for graph in (nx.path_graph(2), nx.complete_graph(9), nx.star_graph(200))]
    save_graphs(tmp_path / "graphs.npz", graphs, seed=3)
    for before, after in zip(graphs, load_graphs(tmp_path / "graphs.npz"), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["Erdős-Rényi", "Barabási-Albert"])
def test_generators_have_the_sizes_and_the_edges_of_what_they_were_fitted_to(name):
    rng = np.random.default_rng(0)
    # Links are whole numbers: seen are graphs whose edges a whole number gives.
    seen = [nx.barabasi_albert_graph(n, 3, seed=n) for n in (30, 40, 40)]
    model = fit(name, seen)
    drawn = model.sample(400, rng)
    assert abs(np.mean([len(graph) for graph in drawn]) - 110 / 3) < 0.6
    for n in (30, 40):
        edges = [graph.number_of_edges() for graph in drawn if len(graph) == n]
        assert abs(np.mean(edges) - 3 * (n - 3)) < 2


def test_rule_of_links_inverts_the_number_of_edges():
    for n, links in ((10, 1), (10, 5), (50, 2), (50, 7)):
        assert links_per_node(n, nx.barabasi_albert_graph(n, links, seed=0).number_of_edges()) == pytest.approx(links)
    assert links_per_node(4, 6) == 2  # a complete graph has more edges than the model can


def test_generated_graphs_are_connected_and_fixed_by_the_seed():
    model = fit("Erdős-Rényi", [nx.cycle_graph(30)])
    first, second = (model.sample(10, np.random.default_rng(4)) for _ in range(2))
    assert all(nx.is_connected(graph) for graph in first)
    assert all(nx.utils.graphs_equal(a, b) for a, b in zip(first, second, strict=True))
