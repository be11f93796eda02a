"""Costs between nodes: heat and resistance against slow references, and what is refused."""

import networkx as nx
import numpy as np
import pytest

import anchorot as ao


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
def test_heat_ignores_the_unit_of_weights_and_resistance_has_its_inverse(unit):
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


def test_disconnected_graphs_are_refused_or_given_a_cost_but_heat_needs_neither():
    parts = [(0, 1), (2, 3)]
    assert ao.from_graph(parts, cost="heat").n == 4
    with pytest.raises(ao.InputError, match="2 components"):
        ao.from_graph(parts, cost="resistance")
    assert ao.from_graph(parts, cost="resistance", disconnected=9).cost.tolist()[0] == [0, 1, 9, 9]
    with pytest.warns(ao.InputWarning, match="2 of 4 nodes"):
        assert ao.from_graph(parts, cost="heat", disconnected="largest").n == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": "walks"}, "cost must be"),
        ({"time": 2.0}, "time is for cost='heat'"),
        ({"cost": "heat", "time": 0}, "time must be a positive number"),
        ({"cost": "heat", "time": float("nan")}, "time"),
        ({"cost": "heat", "directed": True}, "needs an undirected graph"),
    ],
)
def test_invalid_costs_are_refused_in_one_line(options, message):
    with pytest.raises(ao.InputError, match=message):
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
    np.testing.assert_array_equal(ao.io.read_tu(tmp_path).spaces(cost="heat", time=2)[0].cost, expected)
