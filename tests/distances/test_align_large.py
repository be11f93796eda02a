"""Alignments of many points: landmarks' answer is one of the starts, and only what promises something is sharpened."""

import sys

import networkx as nx
import numpy as np
import pytest

import anchorot as ao

solver = sys.modules["anchorot.distances.solver"]


@pytest.fixture
def few_are_many(monkeypatch):
    """Take 40 points for many, so that laws take no time."""
    for name, number in (("MANY_POINTS", 30), ("LANDMARKS", 20), ("RESOLVED_POINTS", 20)):
        monkeypatch.setattr(solver, name, number)


def cloud(n, seed, dim=3, weighted=False):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n, 3.0)) if weighted else None
    return ao.from_points(rng.normal(size=(n, dim)), weights=weights)


@pytest.mark.usefixtures("few_are_many")
def test_a_start_that_promises_nothing_is_given_up_and_is_no_runner_up():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    found = ao.align(ao.from_points(points), ao.from_points(points + 0.3 * rng.normal(size=(40, 3))))
    given_up = [start for start in found.starts if not start.converged]
    assert given_up
    assert all(start.objective > found.objective for start in given_up)
    assert found.runner_up is None


@pytest.mark.slow
def test_a_tree_of_many_points_is_matched_with_its_shuffled_copy_up_to_automorphism():
    check_tree(810)


@pytest.mark.usefixtures("few_are_many")
def test_a_tree_is_matched_with_its_shuffled_copy_up_to_automorphism():
    check_tree(120)


def check_tree(n):
    x = ao.from_graph(nx.random_labeled_tree(n, seed=0))
    order = np.random.default_rng(0).permutation(x.n)
    found = ao.align(x, x.take(order), rng=0)
    image = order[found.matches]
    assert found.value == 0
    assert sorted(image) == list(range(x.n))
    assert np.array_equal(x.cost, x.cost[np.ix_(image, image)])
    assert "landmarks" in [start.name for start in found.starts]


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_cloud_is_matched_with_its_shuffled_copy(seed, weighted):
    pytest.importorskip("ot")
    x = cloud(40, seed, weighted=weighted)
    order = np.random.default_rng(seed).permutation(40)
    found = ao.align(x, x.take(order))
    assert (order[found.matches] == np.arange(40)).all()
    assert found.value == pytest.approx(0, abs=1e-12)


@pytest.mark.usefixtures("few_are_many")
def test_relabelling_either_side_permutes_the_answer():
    x, y = cloud(40, 1), cloud(40, 2)
    rng = np.random.default_rng(0)
    p, q = rng.permutation(40), rng.permutation(40)
    found, moved = ao.align(x, y), ao.align(x.take(p), y.take(q))
    np.testing.assert_allclose(moved.plan, found.plan[np.ix_(p, q)], atol=1e-12)
    assert moved.value == pytest.approx(found.value, rel=1e-12)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(("n", "m", "weighted"), [(40, 40, False), (40, 25, False), (35, 40, True)])
def test_the_value_is_between_the_bound_and_that_of_every_start_and_marginals_hold(n, m, weighted):
    pytest.importorskip("ot")
    x, y = cloud(n, 1, weighted=weighted), cloud(m, 2, 2, weighted)
    found = ao.align(x, y)
    assert found.bound <= found.value
    assert all(found.objective <= start.objective for start in found.starts)
    np.testing.assert_allclose(found.plan.sum(axis=1), x.weights, atol=1e-9)
    np.testing.assert_allclose(found.plan.sum(axis=0), y.weights, atol=1e-9)


@pytest.mark.usefixtures("few_are_many")
def test_a_part_of_many_points_is_matched_and_features_join_in():
    pytest.importorskip("ot")
    x = cloud(40, 7)
    kept = np.random.default_rng(0).permutation(np.argsort(x.geometry.positions[:, 0])[:32])
    found = ao.align(x, x.take(kept), mass=1.0)
    expected = np.full(40, -1)
    expected[kept] = np.arange(32)
    assert (found.matches == expected).all()
    ring, labels = ao.from_graph(nx.cycle_graph(36)), np.zeros((36, 1))
    labels[[0, 5]] = 1.0
    order = np.random.default_rng(0).permutation(36)
    image = order[ao.align(ring, ring.take(order), features=(labels, labels[order]), rng=0).matches]
    assert np.array_equal(labels[image], labels)


@pytest.mark.usefixtures("few_are_many")
def test_costs_of_any_sign_and_direction_have_landmarks_too():
    rng = np.random.default_rng(0)
    cost, order = rng.normal(size=(40, 40)), rng.permutation(40)
    found = ao.align(cost, cost[np.ix_(order, order)])
    assert (order[found.matches] == np.arange(40)).all()
