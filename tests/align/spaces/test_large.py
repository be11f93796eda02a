"""Alignments of many points: the landmarks' result is one of the starts, and only promising starts are sharpened."""

import sys

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from anchorot.distances.descent import COOL_TEMPERATURES, Assignments, entropic_step
from anchorot.distances.quadratic import LARGE_ERROR, SMALL_ERROR, Approximations, Quadratic, factors_of
from anchorot.distances.starts import StartingPlan, anchor_costs

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

solver = sys.modules["anchorot.distances.solver"]


@pytest.fixture
def few_are_many(monkeypatch):
    """Treat 40 points as many, so that tests are fast."""
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
    given_up = [start for start in found.candidates if not start.details["converged"]]
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
    assert "landmarks" in [start.name for start in found.candidates]


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
    assert all(found.objective <= start.objective for start in found.candidates)
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


@pytest.mark.usefixtures("few_are_many")
def test_starts_that_lead_to_one_plan_are_sharpened_once(monkeypatch):
    sharpened, inner = [], solver.sharpen
    monkeypatch.setattr(solver, "sharpen", lambda *given: sharpened.append(len(given[2])) or inner(*given))
    x = cloud(40, 3)
    found = ao.align(x, x.take(np.random.default_rng(0).permutation(40)))
    alike = [start for start in found.candidates if start.objective == found.objective]
    assert len(alike) > 1
    assert sharpened.count(40) == 1


def soft_plans(*kinds):
    """Softs of these names, objectives and twins."""
    return [
        solver.Soft(StartingPlan(name, np.eye(2), COOL_TEMPERATURES), np.eye(2), objective=value, twin=twin)
        for name, value, twin in kinds
    ]


def test_two_results_of_the_same_landmarks_confirm_nothing():
    landmarks = ("landmarks", 1.0, None), ("landmarks, otherwise", 1.0, 0)
    assert not solver._agree(soft_plans(*landmarks, ("near_annealed", 2.0, None)))
    assert solver._agree(soft_plans(*landmarks, ("near_annealed", 1.0, 1)))


def test_a_plan_found_twice_confirms_nothing_if_another_is_better():
    worse = ("landmarks", 2.0, None), ("near_annealed", 2.0, 0)
    assert solver._agree(soft_plans(*worse))
    assert not solver._agree(soft_plans(*worse, ("landmarks, otherwise", 1.0, None)))


def paths(n, seed):
    """Costs of no low rank: lengths of paths in a random graph."""
    graph = nx.connected_watts_strogatz_graph(n, 6, 0.3, seed=seed)
    return np.asarray(ao.from_graph(graph).cost, np.float32)


def test_factors_miss_what_they_say():
    cost = paths(200, 0)
    factors = factors_of(cost, SMALL_ERROR)
    for error in (0.5, 0.4):
        own = factors.truncate(error)
        missed = np.linalg.norm(cost - (own.vectors * own.values) @ own.vectors.T) / np.linalg.norm(cost - cost.mean())
        assert missed == pytest.approx(own.missed[-1], rel=1e-2)
        assert missed <= error * 1.01


def test_corrected_factors_are_right_at_their_plan_and_nearly_so_around():
    x, y = paths(200, 0), paths(200, 1)
    rng = np.random.default_rng(0)
    whole, rough = Quadratic(x, y), Approximations(x, y, None, 1.0).at(SMALL_ERROR)
    plan, other = (rng.dirichlet(np.ones(200), 200).astype(np.float32) / 200 for _ in range(2))
    right = rough.corrected(plan, SMALL_ERROR)
    np.testing.assert_allclose(right.slope(plan), whole.slope(plan), atol=1e-5 * np.abs(whole.slope(plan)).max())
    near = 0.9 * plan + 0.1 * other
    missed, left = (np.linalg.norm(one.slope(near) - whole.slope(near)) for one in (rough, right))
    assert left < 0.2 * missed


def test_factors_that_are_accurate_need_no_correction():
    points = np.random.default_rng(0).normal(size=(200, 2))
    cost = np.square(points[:, None] - points).sum(-1).astype(np.float32)
    problem = Approximations(cost, cost, None, 1.0).at(LARGE_ERROR)
    assert problem.corrected(np.full((200, 200), 1 / 200**2, np.float32), LARGE_ERROR) is problem


@pytest.mark.parametrize("seed", range(3))
def test_potentials_kept_from_other_costs_change_no_assignment(seed):
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(seed)
    a = np.full(60, 1 / 60)
    assign = Assignments(a, a)
    for scale in (1.0, 1e-3, 1e3):
        costs = scale * rng.gamma(0.5, size=(60, 60))
        assert (assign(costs) == linear_sum_assignment(costs)[1]).all()


def test_entropic_steps_make_no_denormal_numbers():
    costs = np.random.default_rng(0).uniform(0, 200, size=(90, 80)).astype(np.float32)
    a, b = (np.full(n, 1 / n, np.float32) for n in costs.shape)
    plan, *_ = entropic_step(costs, np.ones((1, 1), np.float32), a, b, 0 * b)
    assert plan.min() >= np.finfo(np.float32).tiny  # some processors take a hundred times as long for what is below


def test_anchors_of_many_weighted_points_are_compared_by_some_of_their_quantiles(monkeypatch):
    x, y = cloud(90, 0, weighted=True), cloud(80, 1, weighted=True)
    exact = anchor_costs(x, y, 0.5, 1)
    monkeypatch.setattr("anchorot.distances.starts.LEVELS", 64)
    np.testing.assert_allclose(anchor_costs(x, y, 0.5, 1), exact, atol=0.05 * exact.max())


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_that_of_the_best_lower_bound(weighted):
    pytest.importorskip("ot")
    x, y = cloud(30, 1, weighted=weighted), cloud(30, 2, 2, weighted)
    found, bounds = ao.align(x, y), ao.lower_bounds(x, y)
    assert found.bound == pytest.approx((2 * bounds.tlb) ** 2, rel=1e-9)
