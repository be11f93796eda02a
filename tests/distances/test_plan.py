"""The Anchor Energy Plan and the matches read off it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests import reference
from tests.strategies import scale_of, spaces, with_a_light_point

TIES = st.sampled_from(["split", "index"])


def naive(x, y, ties="split"):
    arguments = (x.cost.tolist(), y.cost.tolist(), x.weights.tolist(), y.weights.tolist())
    return np.array(reference.anchor_energy_plan(*arguments, ties))


@given(spaces(), spaces(), TIES)
def test_agrees_with_the_naive_sum_over_all_pairs_of_rows(x, y, ties):
    np.testing.assert_allclose(ao.anchor_energy_plan(x, y, ties=ties), naive(x, y, ties), atol=1e-12)


@given(spaces(), spaces(), TIES)
def test_marginals_are_the_weights(x, y, ties):
    plan = ao.anchor_energy_plan(x, y, ties=ties)
    np.testing.assert_allclose(plan.sum(axis=1), x.weights, atol=1e-13)
    np.testing.assert_allclose(plan.sum(axis=0), y.weights, atol=1e-13)
    assert (plan >= -1e-16).all()


@given(spaces(), spaces(), st.integers(1, 3))
def test_local_plans_are_optimal(x, y, p):
    # What is averaged really is a minimiser, for every pair of rows and every p.
    a, b = x.weights.tolist(), y.weights.tolist()
    for ties in ("split", "index"):
        local = np.array(reference.local_plan(x.cost[0].tolist(), y.cost[0].tolist(), a, b, ties))
        cost = np.sum(local * np.abs(x.cost[0][:, None] - y.cost[0]) ** p)
        optimum = ao.anchors.ot_1d(x.cost[0], y.cost[0], a, b, p)
        assert cost == pytest.approx(optimum, rel=1e-9, abs=1e-12 * scale_of(x, y) ** p)


@given(spaces(), spaces(), st.randoms())
def test_relabelling_points_relabels_the_plan(x, y, random):
    order_x, order_y = list(range(x.n)), list(range(y.n))
    random.shuffle(order_x)
    random.shuffle(order_y)
    permuted = [ao.Space(s.cost[np.ix_(o, o)], s.weights[o]) for s, o in ((x, order_x), (y, order_y))]
    moved = ao.anchor_energy_plan(*permuted)
    np.testing.assert_allclose(moved, ao.anchor_energy_plan(x, y)[np.ix_(order_x, order_y)], atol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_equivariance_on_graph_distances_full_of_ties(weighted):
    from anchorot.datasets.shapes import scale_free, tree

    rng = np.random.default_rng(0)
    x, y = ao.from_graph(scale_free(60, rng)), ao.from_graph(tree(45, rng))
    if weighted:
        x, y = (ao.Space(s.cost, rng.dirichlet(np.ones(s.n))) for s in (x, y))
    order_x, order_y = rng.permutation(x.n), rng.permutation(y.n)
    permuted = [ao.Space(s.cost[np.ix_(o, o)], s.weights[o]) for s, o in ((x, order_x), (y, order_y))]
    plan, moved = ao.anchor_energy_plan(x, y), ao.anchor_energy_plan(*permuted)
    np.testing.assert_allclose(moved, plan[np.ix_(order_x, order_y)], atol=1e-15, rtol=1e-10)
    by_index = [ao.anchor_energy_plan(*pair, ties="index") for pair in ((x, y), permuted)]
    assert not np.allclose(by_index[1], by_index[0][np.ix_(order_x, order_y)], atol=1e-6)


@given(spaces(), spaces(), TIES, st.data())
def test_some_rows_are_those_of_the_whole(x, y, ties, data):
    rows = data.draw(st.lists(st.integers(-x.n, x.n - 1), max_size=3))
    whole = ao.anchor_energy_plan(x, y, ties=ties)
    np.testing.assert_allclose(ao.anchor_energy_plan(x, y, rows=rows, ties=ties), whole[rows], atol=1e-14)


def test_one_row_of_a_larger_plan():
    rng = np.random.default_rng(1)
    x, y = ao.Space(rng.integers(0, 9, size=(120, 120))), ao.Space(rng.integers(0, 9, size=(90, 90)))
    np.testing.assert_allclose(
        ao.anchor_energy_plan(x, y, rows=[5]), ao.anchor_energy_plan(x, y)[[5]], rtol=1e-10, atol=1e-15
    )


@given(spaces(), spaces(), TIES)
def test_the_robust_plan_is_that_of_ranked_spaces_and_of_the_costs(x, y, ties):
    ranked = ao.anchor_energy_plan(x.ranked(), y.ranked(), ties=ties)
    for robust in (False, True):
        np.testing.assert_allclose(ao.anchor_energy_plan(x, y, robust, ties=ties), ranked, atol=1e-14)


@given(spaces(), spaces(), TIES, st.floats(-1e3, 1e3), st.sampled_from([1e-17, 1e-20, 1e-300]))
def test_a_point_of_next_to_no_weight_changes_next_to_nothing(x, y, ties, cost, weight):
    light, weightless = (with_a_light_point(x, w, cost) for w in (weight, 0))
    for pair in ((light, weightless), (y, y)), ((y, y), (light, weightless)):
        plans = [ao.anchor_energy_plan(first, second, ties=ties) for first, second in zip(*pair, strict=True)]
        np.testing.assert_allclose(*plans, atol=1e-14)


@given(spaces(), spaces(), TIES)
def test_the_other_way_round_is_the_transpose(x, y, ties):
    plan = ao.anchor_energy_plan(x, y, ties=ties)
    np.testing.assert_allclose(ao.anchor_energy_plan(y, x, ties=ties), plan.T, atol=1e-13)


def test_a_moved_cloud_finds_itself():
    points = np.random.default_rng(2).normal(size=(40, 3)) * (1, 2, 4)
    order = np.random.default_rng(3).permutation(40)
    plan = ao.anchor_energy_plan(ao.from_points(points), ao.from_points(points[order] + 5))
    one_to_one = ao.match(plan, "assignment")
    assert np.mean(order[one_to_one] == np.arange(40)) > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [0.5]}, "rows must be a list of integers"),
        ({"rows": [2]}, "rows has entries from 2 to 2, but there are 2 points"),
        ({"ties": "random"}, "ties must be one of 'split', 'index', but got 'random'"),
    ],
)
def test_bad_options_get_one_clear_line(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.anchor_energy_plan(np.eye(2), np.eye(2), **options)


# -- matches -------------------------------------------------------------------------------------------------------


def test_argmax_takes_the_first_of_equals():
    assert ao.match([[1, 1 + 1e-12, 0], [0, 0.5, 0.7]]).tolist() == [0, 2]


def test_random_choice_among_equals_is_fair_and_reproducible():
    plan = np.array([[1.0, 1.0, 0.0]] * 2000)
    found = ao.match(plan, ties="random", rng=0)
    assert 900 < np.sum(found == 0) < 1100
    assert set(found) == {0, 1}
    np.testing.assert_array_equal(found, ao.match(plan, ties="random", rng=0))


def test_assignment_is_one_to_one():
    plan = np.random.default_rng(0).uniform(size=(5, 7))
    assert len(set(ao.match(plan, "assignment"))) == 5
    tall = ao.match(plan.T, "assignment")
    assert sorted(tall)[:2] == [-1, -1]
    assert sorted(tall)[2:] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (np.ones(3), r"plan has shape \(3,\)"),
        ([[np.nan]], "plan must be finite"),
        (np.ones((0, 2)), "n, m >= 1"),
        ([[-3.0, -1.0], [1.0, 0.0]], r"plan must not be negative, but plan\[0, 0\] is -3"),
    ],
)
def test_bad_plans_get_one_clear_line(plan, message):
    with pytest.raises(ao.InputError, match=message):
        ao.match(plan)


def test_what_rounding_leaves_below_zero_is_no_mass():
    assert ao.match([[-1e-18, -1e-17], [0.4, 0.6]]).tolist() == [0, 1]


def test_a_transport_stands_for_its_plan():
    found = ao.anchor_wasserstein([[0, 1], [1, 0]], [[0, 3], [3, 0]], epsilon=0)
    assert ao.match(found).tolist() == ao.match(found.plan).tolist()


def test_matches_of_an_alignment_or_a_transport_are_those_of_its_plan():
    pytest.importorskip("ot")
    cloud = np.random.default_rng(0).normal(size=(12, 3))
    x, y = ao.from_points(cloud), ao.from_points(cloud[:9])
    transport, partial = ao.anchor_wasserstein(x, y), ao.align(x, y, mass=1.0)
    np.testing.assert_array_equal(ao.match(transport), ao.match(transport.plan))
    assert (partial.matches == -1).sum() == 3
    for method in ("argmax", "assignment"):
        np.testing.assert_array_equal(ao.match(partial, method), partial.matches)
