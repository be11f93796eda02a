"""Alignments: which point is which, by properties that hold whatever the solver does."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.distances.descent import COOL_TEMPERATURES, anneal, cheapest_plan, plan_of, round_to_marginals, sharpen
from anchorot.distances.quadratic import Quadratic, plan_loss
from anchorot.distances.starts import STARTS
from tests.strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

GRAPHS = {
    "path": nx.path_graph(15),
    "ring": nx.cycle_graph(12),
    "star": nx.star_graph(9),
    "complete": nx.complete_graph(8),
    "grid": nx.grid_2d_graph(5, 4),
    "petersen": nx.petersen_graph(),
    "hypercube": nx.hypercube_graph(4),
    "binary tree": nx.balanced_tree(2, 4),
    "random tree": nx.random_labeled_tree(40, seed=3),
    "scale-free": nx.barabasi_albert_graph(50, 2, seed=1),
}


def cloud(n, seed, dim=3, weighted=False):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n, 3.0)) if weighted else None
    return ao.from_points(rng.normal(size=(n, dim)), weights=weights)


def naive_loss(c, d, plan):
    """Σ (C_ij - D_kl)² T_ik T_jl, term by term."""
    differences = c[:, :, None, None] - d[None, None]
    return float(np.einsum("ijkl,ik,jl->", differences**2, plan, plan))


# -- the objective -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("alpha", [None, 0.3])
def test_the_objective_and_its_gradient_are_those_of_the_formula(symmetric, alpha):
    rng = np.random.default_rng(0)
    c, d, features = rng.normal(size=(6, 6)), rng.normal(size=(4, 4)), rng.normal(size=(6, 4))
    if symmetric:
        c, d = c + c.T, d + d.T
    plan, way = rng.uniform(size=(6, 4)), rng.normal(size=(6, 4))
    problem = Quadratic(c, d) if alpha is None else Quadratic(c, d, features, alpha)
    loss = naive_loss(c, d, plan)
    expected = loss if alpha is None else alpha * loss + (1 - alpha) * (features * plan).sum()
    assert problem.value(plan) == pytest.approx(expected, rel=1e-12)
    assert plan_loss(c, d, plan) == pytest.approx(loss, rel=1e-12)
    rise = (problem.value(plan + 1e-5 * way) - problem.value(plan - 1e-5 * way)) / 2e-5
    assert (problem.slope(plan) * way).sum() == pytest.approx(rise, rel=1e-7)


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_gain_of_every_swap_is_what_carrying_it_out_gives(symmetric):
    rng = np.random.default_rng(1)
    c, d, features = (rng.normal(size=(7, 7)) for _ in range(3))
    if symmetric:
        c, d = c + c.T, d + d.T
    problem, matches = Quadratic(c, d, features, 0.4), rng.permutation(7)
    assert problem.value_of_matches(matches) == pytest.approx(problem.value(plan_of(matches)), rel=1e-12)
    np.testing.assert_allclose(problem.slope_of_matches(matches), problem.slope(plan_of(matches)), atol=1e-12)
    for i in range(7):
        for j in range(7):
            swapped = matches.copy()
            swapped[[i, j]] = matches[[j, i]]
            change = problem.value_of_matches(swapped) - problem.value_of_matches(matches)
            assert problem.changes_by_swap(matches)[i, j] == pytest.approx(change, abs=1e-12)


def test_the_loss_of_a_matching_of_exact_copies_is_exactly_zero():
    x = cloud(40, 0)
    order = np.random.default_rng(1).permutation(40)
    assert plan_loss(x.cost, x.take(order).cost, plan_of(np.argsort(order))) == 0


# -- the solver ----------------------------------------------------------------------------------------------------


@examples(25)
@given(st.integers(2, 30), st.integers(2, 30), st.booleans(), st.integers(0, 1000))
def test_sharpening_keeps_the_marginals_and_never_raises_the_objective(n, m, weighted, seed):
    pytest.importorskip("ot")
    x, y = cloud(n, seed, weighted=weighted), cloud(m, seed + 1, 2, weighted)
    problem = Quadratic(x.cost, y.cost)
    start = round_to_marginals(np.random.default_rng(seed).uniform(size=(n, m)) / (n * m), x.weights, y.weights)
    sharp = sharpen(problem, start, x.weights, y.weights)
    np.testing.assert_allclose(sharp.plan.sum(axis=1), x.weights, atol=1e-12)
    np.testing.assert_allclose(sharp.plan.sum(axis=0), y.weights, atol=1e-12)
    if n != m or weighted:  # a matching need not be better than a plan that is none
        assert sharp.objective <= problem.value(start) + 1e-12
    vertex = cheapest_plan(problem.slope(sharp.plan), x.weights, y.weights)
    assert (problem.slope(sharp.plan) * (vertex - sharp.plan)).sum() > -1e-6  # no direction leads down


def test_annealing_ends_in_one_plan_from_any_start_if_it_is_warm():
    x, y = cloud(40, 3), cloud(40, 3).take(np.random.default_rng(0).permutation(40))
    problem = Quadratic(x.cost, y.cost)
    a, b = x.weights, y.weights
    random = round_to_marginals(np.random.default_rng(1).uniform(size=(40, 40)), a, b)
    plans = [
        anneal(problem, start, a, b, (1.0, 0.5, 0.25, *COOL_TEMPERATURES)).plan for start in (np.outer(a, b), random)
    ]
    assert np.abs(plans[0] - plans[1]).sum() < 0.05


# -- align ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_matched_with_its_shuffled_copy_up_to_automorphism(name):
    x = ao.from_graph(GRAPHS[name])
    order = np.random.default_rng(5).permutation(x.n)
    found = ao.align(x, x.take(order), rng=0)
    image = order[found.matches]
    assert found.value == 0
    assert sorted(image) == list(range(x.n))
    assert np.array_equal(x.cost, x.cost[np.ix_(image, image)])


@examples(15)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 1000))
def test_a_cloud_is_matched_with_its_shuffled_copy(n, dim, seed):
    x = cloud(n, seed, dim)
    order = np.random.default_rng(seed).permutation(n)
    found = ao.align(x, x.take(order))
    assert found.value == pytest.approx(0, abs=1e-12)
    if n > 3 and dim > 1:  # three points and clouds on the line have mirror images
        assert (order[found.matches] == np.arange(n)).all()
    assert found.bound == pytest.approx(0, abs=1e-12)
    assert found.converged


def test_relabelling_either_side_permutes_the_answer():
    x, y = cloud(25, 1), cloud(25, 2)
    rng = np.random.default_rng(0)
    p, q = rng.permutation(25), rng.permutation(25)
    found, moved = ao.align(x, y), ao.align(x.take(p), y.take(q))
    np.testing.assert_allclose(moved.plan, found.plan[np.ix_(p, q)], atol=1e-12)
    assert moved.value == pytest.approx(found.value, rel=1e-12)
    assert (q[moved.matches] == found.matches[p]).all()


@pytest.mark.parametrize(("n", "m", "weighted"), [(12, 12, False), (12, 17, False), (14, 14, True), (1, 6, True)])
def test_the_value_is_between_the_bound_and_that_of_every_start(n, m, weighted):
    pytest.importorskip("ot")
    x, y = cloud(n, 1, weighted=weighted), cloud(m, 2, 2, weighted)
    found = ao.align(x, y)
    assert found.bound <= found.value
    assert found.value == pytest.approx(naive_loss(x.cost, y.cost, found.plan), rel=1e-9)
    assert all(found.objective <= start.objective for start in found.candidates)
    for name in ("near", "near_annealed", "middle", "product"):
        assert found.value <= ao.align(x, y, start=name).value * (1 + 1e-9)
    np.testing.assert_allclose(found.plan.sum(axis=1), x.weights, atol=1e-9)
    np.testing.assert_allclose(found.plan.sum(axis=0), y.weights, atol=1e-9)


def test_points_of_weight_zero_take_no_part():
    x, y = cloud(10, 1), cloud(10, 2)
    rng = np.random.default_rng(0)
    padded = np.pad(x.cost, ((0, 1), (0, 1)), constant_values=7.0)
    extra = ao.Space(padded, np.append(x.weights, 0.0))
    found, plain = ao.align(extra, y, rng=rng), ao.align(x, y)
    assert found.matches[-1] == -1
    np.testing.assert_allclose(found.plan[:-1], plain.plan, atol=1e-12)


def test_robust_is_the_alignment_of_ranks():
    x, y = cloud(20, 1), cloud(20, 2)
    assert np.array_equal(ao.align(x, y, robust=True).plan, ao.align(x.ranked(), y.ranked()).plan)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_no_scale_of_the_costs_changes_the_matches(scale):
    x, y = cloud(15, 1), cloud(15, 2)
    found = ao.align(x.cost * scale, y.cost * scale)
    assert np.isfinite(found.plan).all()
    assert (found.matches == ao.align(x, y).matches).all()
    assert not np.isnan(found.value)
    assert not np.isnan(found.bound)


@pytest.mark.parametrize("cost", [np.zeros((1, 1)), np.ones((5, 5)), np.zeros((4, 4)), 1e300 * np.eye(3)])
def test_spaces_without_structure_are_aligned_somehow(cost):
    found = ao.align(cost, cost)
    assert found.value == 0
    assert sorted(found.matches) == list(range(len(cost)))


def test_costs_that_are_not_symmetric_are_aligned_too():
    rng = np.random.default_rng(0)
    cost, order = rng.normal(size=(15, 15)), rng.permutation(15)
    found = ao.align(cost, cost[np.ix_(order, order)])
    assert (order[found.matches] == np.arange(15)).all()


# -- features ------------------------------------------------------------------------------------------------------


def test_features_break_a_symmetry():
    ring = ao.from_graph(nx.cycle_graph(10))
    labels = np.zeros((10, 1))
    labels[[0, 3]] = 1.0
    order = np.random.default_rng(0).permutation(10)
    found = ao.align(ring, ring.take(order), features=(labels, labels[order]), rng=0)
    image = order[found.matches]
    assert found.value == 0
    assert np.array_equal(labels[image], labels)


def test_alpha_goes_from_features_alone_to_structure_alone():
    x, y = cloud(15, 1), cloud(15, 2)
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(15, 2)), rng.normal(size=(15, 2))
    costs = ((u[:, None] - v) ** 2).sum(axis=2)
    by_features = ao.align(x, y, features=(u, v), alpha=0.0)
    assert (costs * by_features.plan).sum() == pytest.approx((costs * cheapest_plan(costs, x.weights, y.weights)).sum())
    assert np.array_equal(ao.align(x, y, features=(u, v), alpha=1.0).plan, ao.align(x, y).plan)
    assert ao.align(x, y, features=(1000 * u, 1000 * v)).plan == pytest.approx(ao.align(x, y, features=(u, v)).plan)


# -- partial alignments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mass", [0.01, 0.1, 0.3, 0.75, 1.0])
def test_a_part_of_the_mass_is_matched_and_no_point_with_more_than_its_own(mass):
    pytest.importorskip("ot")
    found = ao.align(cloud(20, 1), cloud(16, 2), mass=mass)
    assert found.plan.sum() == pytest.approx(mass * 16 / 20, rel=1e-6)
    assert (found.plan.sum(axis=1) <= 1 / 20 + 1e-12).all()
    assert (found.plan.sum(axis=0) <= 1 / 20 + 1e-12).all()
    assert found.bound == 0


def test_a_missing_part_stays_unmatched():
    pytest.importorskip("ot")
    x = cloud(40, 7)
    kept = np.flatnonzero(x.geometry.positions[:, 0] < np.quantile(x.geometry.positions[:, 0], 0.8))
    order = np.random.default_rng(0).permutation(kept)
    found = ao.align(x, x.take(order), mass=1.0)
    expected = np.full(40, -1)
    expected[order] = np.arange(len(order))
    assert (found.matches == expected).all()


def test_few_points_are_matched_into_many():
    pytest.importorskip("ot")
    x = cloud(60, 7)
    few = np.random.default_rng(0).choice(60, 20, replace=False)
    found = ao.align(x.take(few), x, mass=1.0)
    assert (found.matches >= 0).all()
    assert (found.matches == few).mean() > 0.9


def test_outliers_are_left_out_if_the_mass_is_free():
    pytest.importorskip("ot")
    rng = np.random.default_rng(3)
    points = rng.normal(size=(40, 3))
    moved = points.copy()
    moved[:4] += rng.normal(size=(4, 3)) * 6
    order = rng.permutation(40)
    found = ao.align(ao.from_points(points), ao.from_points(moved[order]), mass="free")
    assert (found.matches[:4] == -1).all()
    assert (order[found.matches[4:]] == np.arange(4, 40)).mean() > 0.9


# -- what can be done with it --------------------------------------------------------------------------------------


def test_projection_carries_values_over_and_back():
    x = cloud(20, 1)
    order = np.random.default_rng(0).permutation(20)
    values = np.arange(20.0)
    found = ao.align(x, x.take(order))
    np.testing.assert_allclose(found.project(values[order], soft=False), values)
    np.testing.assert_allclose(found.project(values, onto="second", soft=False), values[order])
    assert np.corrcoef(found.project(values[order]), values)[0, 1] > 0.5
    assert (found.spread >= 1 - 1e-9).all()


def test_procrustes_through_the_plan_undoes_a_rotation():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 4))
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    order = rng.permutation(30)
    moved = (points @ rotation + 3.0)[order]
    found = ao.align(ao.from_points(points), ao.from_points(moved))
    np.testing.assert_allclose(found.transform(points, moved)(points)[order], moved, atol=1e-9)


def test_a_symmetric_shape_has_a_runner_up():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(15, 2)) + np.array([4.0, 0.0])
    both = np.concatenate([half, half * [-1, 1]])
    found = ao.align(ao.from_points(both), ao.from_points(both), rng=0)
    assert found.runner_up is not None
    assert found.runner_up.differs > 0.5
    assert found.runner_up.objective == pytest.approx(0, abs=1e-12)


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "somewhere"}, "start must be one of 'anchors'"),
        ({"start": np.ones((2, 2))}, r"start has shape \(2, 2\), but a plan \(3, 4\)"),
        ({"mass": 0}, "mass must be a share of the mass from 1e-09 to 1"),
        ({"mass": "some"}, "mass must be a share of the mass from 1e-09 to 1"),
        ({"mass": 1.5}, "mass must be a share of the mass from 1e-09 to 1, or 'free', but got 1.5"),
        ({"alpha": 2, "features": (np.ones((3, 1)), np.ones((4, 1)))}, "alpha must be a number from 0 to 1"),
        ({"features": (np.ones((3, 1)), np.ones((3, 1)))}, r"features of shapes \(3, 1\) and \(3, 1\)"),
    ],
)
def test_bad_options_are_one_clear_line(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.align(cloud(3, 0), cloud(4, 1), **options)


def test_files_are_read(tmp_path):
    x = cloud(12, 0)
    np.save(tmp_path / "a.npy", x.cost)
    ao.write(x.take(np.arange(12)[::-1]), tmp_path / "b.npz")
    for options in ({}, {"n_landmarks": 6}):
        found = ao.align(tmp_path / "a.npy", str(tmp_path / "b.npz"), **options)
        assert found.matches.tolist() == list(range(11, -1, -1))
        (tmp_path / "c.docx").touch()
        with pytest.raises(ao.InputError, match=r"c\.docx: unknown ending '\.docx'"):
            ao.align(tmp_path / "a.npy", tmp_path / "c.docx", **options)


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        ((np.eye(3), [[0, 1, 2]]), "pair .vertices, faces."),
        (ao.distances.PointDistances(np.eye(3)), "PointDistances"),
    ],
)
def test_what_needs_landmarks_says_so(thing, kind):
    with pytest.raises(ao.InputError, match=f"got a {kind}, but a Space is needed; .*, or give n_landmarks"):
        ao.align(thing, thing)


# -- scores --------------------------------------------------------------------------------------------------------


def test_scores_of_the_truth_are_perfect_and_of_its_mirror_up_to_symmetry():
    x = cloud(20, 1)
    order = np.random.default_rng(0).permutation(20)
    y, truth = x.take(order), np.argsort(order)
    found = ao.align(x, y)
    labels = np.arange(20) % 3
    scores = ao.alignment_scores(found, truth, y.cost, (labels, labels[order]), soft=False)
    assert (scores.hits, scores.top_k, scores.error, scores.foscttm, scores.label_transfer) == (1, 1, 0, 0, 1)
    mirror = np.random.default_rng(1).permutation(20)
    mirrored = ao.alignment_scores(mirror[truth], truth, y.cost, symmetry=mirror)
    assert mirrored.error > 0
    assert mirrored.hits < 1
    assert (mirrored.hits_up_to_symmetry, mirrored.error_up_to_symmetry, mirrored.is_mirrored) == (1, 0, True)
    plain = ao.alignment_scores(truth, truth, y.cost, symmetry=mirror)
    assert (plain.hits_up_to_symmetry, plain.error_up_to_symmetry, plain.is_mirrored) == (1, 0, False)


def test_what_is_mirrored_in_part_is_not_right_up_to_symmetry():
    """On a line of 6 points, two exchanged: a third is as in the mirror image, the rest as in the truth."""
    places = np.arange(6.0)
    cost, mirror = np.abs(places[:, None] - places), np.arange(6)[::-1]
    matches = np.array([0, 4, 2, 3, 1, 5])
    scores = ao.alignment_scores(matches, np.arange(6), cost, symmetry=mirror)
    assert not scores.is_mirrored
    assert scores.hits_up_to_symmetry == scores.hits == pytest.approx(4 / 6)
    assert scores.error_up_to_symmetry == scores.error == pytest.approx(1)
    by_hits = ao.alignment_scores(mirror[matches], np.arange(6), symmetry=mirror)
    assert (by_hits.is_mirrored, by_hits.error_up_to_symmetry) == (True, None)
    assert by_hits.hits_up_to_symmetry == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symmetry": [0, 1, 2]}, "got symmetry without truth"),
        (
            {"symmetry": [0, 1], "truth": [0, 1, 2]},
            "symmetry has shape .2,. and dtype int64, but 3 integers are needed",
        ),
    ],
)
def test_a_symmetry_that_says_nothing_is_refused_in_one_line(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.alignment_scores([0, 1, 2], **options)


def test_unmatched_points_and_points_without_a_truth_count_as_said():
    cost = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    scores = ao.alignment_scores([0, -1, 2], truth=[0, 1, -1], cost=cost)
    assert scores.hits == 0.5
    assert scores.error == pytest.approx(cost.mean() / 2)
    assert scores.n_matched == 2


def test_true_features_are_those_that_the_spaces_have():
    ring = ao.from_points([[np.cos(t), np.sin(t)] for t in np.arange(9) / 9 * 2 * np.pi])
    order, own = np.random.default_rng(0).permutation(9), np.arange(9.0)[:, None]
    x, y = ao.Space(ring.cost, features=own), ao.Space(ring.take(order).cost, features=own[order])
    found, given = ao.align(x, y, features=True, rng=0), ao.align(x, y, features=(own, own[order]), rng=0)
    assert order[found.matches].tolist() == list(range(9))
    np.testing.assert_array_equal(found.plan, given.plan)
    assert found.feature_scale == given.feature_scale > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": True}, "y has no features, but features=True needs some for each point"),
        ({"features": False}, "features must be a pair of arrays, .*, but got bool"),
        ({"features": True, "n_landmarks": 2}, "n_landmarks is for costs alone"),
    ],
)
def test_features_that_are_missing_are_refused(options, message):
    x = ao.Space(1 - np.eye(3), features=np.zeros((3, 1)))
    with pytest.raises(ao.InputError, match=message):
        ao.align(x, 1 - np.eye(3), **options)


def test_every_name_of_a_start_is_documented():
    assert not [name for name in ("anchors", *STARTS) if f'"{name}"' not in ao.align.__doc__]
