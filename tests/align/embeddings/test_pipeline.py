"""A map between two embeddings: what rotations, orders, scales, dimensions and missing points must not change."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.align.embeddings import pairs, refine
from anchorot.align.embeddings.candidates import Map
from anchorot.align.embeddings.pairs import DensePairs, SparsePairs, nearest, shares_of, squared_distances
from anchorot.align.embeddings.refine import cut_between
from anchorot.align.embeddings.score import held_out
from anchorot.align.embeddings.sides import Side, Sides
from tests.reference import naive_csls, naive_held_out_shares
from tests.strategies import examples

METRICS = ("auto", "cosine", "euclidean")


def cloud(n=120, d=5, seed=0):
    """Points in clumps of their own sizes, longer in some directions: no rotation leaves them as they are."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(6, d)) * 2
    kinds = rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    return (centres[kinds] + rng.normal(size=(n, d)) * rng.uniform(0.2, 1, 6)[kinds, None]) * np.linspace(2, 0.7, d)


def turn(d, e=None, seed=1):
    """Semi-orthogonal (d, e)."""
    e = d if e is None else e
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(max(d, e), max(d, e))))[0][:d, :e]


POINTS = cloud()
ORDER = np.random.default_rng(2).permutation(len(POINTS))
TRUTH = np.argsort(ORDER)


# -- copies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_a_rotated_shuffled_copy_is_found_exactly_with_its_rotation(metric):
    rotation = turn(5)
    found = ao.align_embeddings(POINTS, 3 * POINTS[ORDER] @ rotation, metric=metric, rng=0)
    np.testing.assert_array_equal(found.matches, TRUTH)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-9)
    assert found.scale == pytest.approx(1 if metric == "cosine" else 3)
    assert found.objective == pytest.approx(0, abs=1e-12)
    assert found.converged
    assert found.runner_up is None
    assert (found.confidence > 0.9).all()


@examples(6)
@given(st.integers(0, 2**31), st.floats(1e-3, 1e3), st.sampled_from(METRICS))
def test_shuffling_rotating_and_scaling_either_side_carry_through(seed, factor, metric):
    rng = np.random.default_rng(seed)
    first, second = POINTS, POINTS[ORDER] @ turn(5) + 0.05 * np.random.default_rng(3).normal(size=POINTS.shape)
    plain = ao.align_embeddings(first, second, metric=metric, rng=0)
    own, other, left, right = rng.permutation(120), rng.permutation(120), turn(5, seed=seed), turn(5, seed=seed + 1)
    moved = ao.align_embeddings(factor * first[own] @ left, second[other] @ right / factor, metric=metric, rng=0)
    np.testing.assert_array_equal(other[moved.matches], plain.matches[own])
    np.testing.assert_allclose(left @ moved.rotation @ right.T, plain.rotation, atol=1e-6)
    np.testing.assert_allclose(moved.confidence, plain.confidence[own], atol=1e-6)
    assert moved.scale == pytest.approx(plain.scale / (1 if metric == "cosine" else factor**2))


def test_a_shift_of_either_side_changes_no_match_of_positions():
    second = POINTS[ORDER] @ turn(5)
    found = ao.align_embeddings(POINTS + 100, second - 7, metric="euclidean", rng=0)
    np.testing.assert_array_equal(found.matches, TRUTH)
    np.testing.assert_allclose(found.transform(POINTS + 100), (second - 7)[TRUTH], atol=1e-8)


# -- the map -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("d", "e"), [(5, 5), (5, 9), (9, 5)])
def test_transform_of_a_matched_point_is_near_its_partner_in_any_dimensions(metric, d, e):
    rng = np.random.default_rng(0)
    first, second = POINTS @ turn(5, d), POINTS[ORDER] @ turn(5, e, seed=5)
    first, second = (side + 0.02 * rng.normal(size=side.shape) for side in (first, second))
    found = ao.align_embeddings(first, second, metric=metric, rng=0)
    assert found.rotation.shape == (d, e)
    thin = found.rotation if d >= e else found.rotation.T
    np.testing.assert_allclose(thin.T @ thin, np.eye(min(d, e)), atol=1e-9)
    assert np.mean(found.matches == TRUTH) > 0.95
    goal = second[found.matches]
    goal = goal / np.linalg.norm(goal, axis=1, keepdims=True) if metric == "cosine" else goal
    assert np.square(found.transform(first) - goal).sum() < 0.02 * np.square(goal).sum()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("d", "e"), [(5, 5), (5, 7), (7, 5)])
def test_inverse_transform_after_transform_projects(metric, d, e):
    found = ao.align_embeddings(POINTS @ turn(5, d), POINTS[ORDER] @ turn(5, e), metric=metric, rng=0)
    new = np.random.default_rng(9).normal(size=(20, d))
    once = found.inverse_transform(found.transform(new))
    if metric == "euclidean":
        np.testing.assert_allclose(found.inverse_transform(found.transform(once)), once, atol=1e-9)
    if d <= e:
        lengths = np.linalg.norm(new, axis=1, keepdims=True) if metric == "cosine" else 1
        np.testing.assert_allclose(once, new / lengths, atol=1e-9)


def test_the_map_is_right_for_points_that_were_not_aligned():
    noise = 0.05 * np.random.default_rng(4).normal(size=(400, 5))
    points = cloud(400)
    other = points @ turn(5) + noise
    found = ao.align_embeddings(points[:200], other[:200][::-1], rng=0)
    new = other[200:] / np.linalg.norm(other[200:], axis=1, keepdims=True)
    near = squared_distances(found.transform(points[200:]), new).argmin(axis=1)
    assert np.mean(near == np.arange(200)) > 0.8


def test_the_map_is_found_where_no_object_is_common():
    points = cloud(600)
    other = points @ turn(5)
    found = ao.align_embeddings(points[:300], other[300:], rng=0)
    rows = other / np.linalg.norm(other, axis=1, keepdims=True)
    near = squared_distances(found.transform(points), rows).argmin(axis=1)
    assert np.mean(near == np.arange(600)) > 0.5
    assert found.confidence.mean() < 0.5


# -- points without a partner ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(120, 80), (80, 120)])
def test_sizes_may_differ_and_matches_stay_one_to_one(n, m):
    found = ao.align_embeddings(POINTS[:n], POINTS[:m] @ turn(5), metric="euclidean", rng=0)
    assert found.shape == (n, m)
    used = found.matches[found.matches >= 0]
    assert len(used) == len(set(used.tolist())) == 80
    assert np.mean(found.matches[:80] == np.arange(80)) > 0.9
    assert (found.confidence[found.matches < 0] == 0).all()
    assert found.soft().shape == (n, m)
    assert found.soft().sum(axis=0).max() < 1.01
    assert found.soft().sum(axis=1).max() < 1.01


def test_points_without_a_partner_are_left_out_where_partners_fit_closely():
    points = cloud(200)
    noise = 1e-3 * np.random.default_rng(0).normal(size=(150, 5))
    found = ao.align_embeddings(points[:150], points[50:] @ turn(5) + noise, metric="euclidean", rng=0)
    assert (found.matches[:50] == -1).mean() > 0.9
    assert (found.matches[50:] == np.arange(100)).mean() > 0.95


@given(st.lists(st.floats(0.5, 2), min_size=8, max_size=40), st.integers(8, 40))
def test_residuals_are_cut_in_two_only_if_they_lie_far_apart(near, count):
    assert cut_between(np.array(near)) == np.inf
    both = np.concatenate([np.full(count, 1e-6), 1e-6 * np.array(near), np.array(near)])
    assert 2e-6 < cut_between(both) < 0.5


# -- how sure ------------------------------------------------------------------------------------------------------


def test_a_symmetric_pair_has_a_runner_up_and_one_half_each():
    half = np.abs(cloud(60, 3)) + 0.2
    points = np.concatenate([half, half * (1, 1, -1)])
    found = ao.align_embeddings(points, points @ turn(3), metric="euclidean", rng=0)
    assert found.runner_up is not None
    assert found.runner_up.differs > 0.9
    assert found.runner_up.objective == pytest.approx(found.objective, abs=1e-9)
    np.testing.assert_allclose(found.confidence, 0.5, atol=0.03)


def test_twins_share_their_confidence():
    points = np.concatenate([POINTS, POINTS[:10]])
    found = ao.align_embeddings(points, points @ turn(5), metric="euclidean", rng=0)
    np.testing.assert_allclose(found.confidence[:10], found.confidence[10:120].mean() / 2, atol=0.03)
    np.testing.assert_allclose(found.confidence[120:], found.confidence[:10], atol=0.03)


def test_confidence_tells_right_matches_from_wrong_ones():
    rng = np.random.default_rng(0)
    points = cloud(400, 8)
    noise = 0.35 * rng.normal(size=points.shape) * np.where(np.arange(400) % 2, 1.0, 0.05)[:, None]
    found = ao.align_embeddings(points, points @ turn(8) + noise, metric="euclidean", rng=0)
    right = found.matches == np.arange(400)
    assert 0.3 < right.mean() < 0.97
    ranks = np.argsort(np.argsort(found.confidence))
    wrong = int((~right).sum())
    area = (ranks[right].sum() - right.sum() * (right.sum() - 1) / 2) / (right.sum() * wrong)
    assert area > 0.85
    assert abs(found.confidence.mean() - right.mean()) < 0.15


def test_unrelated_clouds_are_unreliable_and_warn_once():
    with pytest.warns(ao.ConvergenceWarning, match="known pairs") as caught:
        found = ao.align_embeddings(POINTS, cloud(seed=8), rng=0)
    assert len(caught) == 1
    assert found.reliable < 0.5
    assert found.verdict()[1]


def test_where_a_map_is_not_reliable_labels_are_not_either():
    rng = np.random.default_rng(0)
    with pytest.warns(ao.ConvergenceWarning):
        found = ao.align_embeddings(rng.normal(size=(150, 6)), rng.normal(size=(150, 6)), rng=0)
    kinds = rng.choice(["a", "b", "c"], 150)
    assert len(found._voting) > 1
    for onto in ("first", "second"):
        assert found.transfer(kinds, onto=onto)[1].max() < 0.8


def test_held_out_confidence_is_that_of_the_reference():
    x, y = POINTS, POINTS[ORDER] @ turn(5) + 0.4 * np.random.default_rng(3).normal(size=POINTS.shape)
    sides = Sides("raw", Side.of(x), Side.of(y))
    found = refine.finish((sides,), Map.of_matches(sides.x.points, sides.y.points, TRUTH), None, None)
    fold = np.empty(120, int)
    fold[sides.x.order] = np.arange(120) % 5
    naive = naive_held_out_shares(sides.x.points, sides.y.points, found.matches, fold, found.floor)
    np.testing.assert_allclose(held_out(found).shares(), naive, atol=1e-2)  # where scalings of rows and columns end


# -- rows of length 1, and rows as they are -----------------------------------------------------------------------


def noisy(seed=3):
    return POINTS[ORDER] @ turn(5) + 0.05 * np.random.default_rng(seed).normal(size=POINTS.shape)


@examples(8)
@given(st.integers(0, 2**31), st.floats(-50, 50), st.sampled_from(METRICS))
def test_an_offset_a_constant_column_and_lossless_dimensions_change_no_match(seed, offset, metric):
    shift = 0.0 if metric == "cosine" else offset  # which sees directions from the origin
    plain = ao.align_embeddings(POINTS, noisy(), metric=metric, rng=0)
    column = np.full((120, 1), 0.0 if metric == "cosine" else 3.0)
    wide = np.concatenate([POINTS @ turn(5, 9, seed=seed), column], axis=1) + shift
    moved = ao.align_embeddings(wide, noisy() - shift, metric=metric, rng=0)
    np.testing.assert_array_equal(moved.matches, plain.matches)
    np.testing.assert_allclose(moved.confidence, plain.confidence, atol=1e-6)
    assert moved.reliable == pytest.approx(plain.reliable, abs=1e-6)


def test_lengths_that_say_who_is_who_are_used_and_others_are_not():
    rng = np.random.default_rng(0)
    directions = cloud(200, 4)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    length = np.exp(rng.normal(size=(200, 1)))
    noise = 0.25 * rng.normal(size=(200, 4))
    telling = ao.align_embeddings(directions * length, ((directions + noise) * length) @ turn(4), rng=0)
    assert telling.rows == "raw"
    other = np.exp(rng.normal(size=(200, 1)))
    centred = cloud(200, 4) - cloud(200, 4).mean(axis=0)
    misleading = ao.align_embeddings(centred, centred * other @ turn(4), metric="auto", rng=0)
    assert misleading.rows == "unit"
    assert misleading.hits(np.arange(200)) > 0.6  # their mean moves with the lengths


@pytest.mark.parametrize("seed", range(3))
def test_few_points_in_many_directions_keep_the_searchs_map(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 60)) * np.arange(1, 61) ** -0.8
    other = points + 0.1 * rng.normal(size=points.shape) * np.arange(1, 61) ** -0.8
    found = ao.align_embeddings(points, other[::-1] @ turn(60), rng=0)
    assert found.hits(np.arange(29, -1, -1)) >= 0.9
    assert found.reliable > 0.5


# -- known pairs ---------------------------------------------------------------------------------------------------


def test_known_pairs_find_the_map_of_noisy_sides_of_no_shape():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 20))
    y = (x + 0.5 * rng.normal(size=x.shape)) @ turn(20)
    found = ao.align_embeddings(x, y, seeds=[(i, i) for i in range(20)], rng=0)
    assert found.hits(np.arange(300)) > 0.9
    assert found.reliable > 0.5
    assert (found.confidence[:20] == 1).all()


def test_a_map_of_known_pairs_of_few_points_is_as_reliable_as_held_out_points_say():
    rng = np.random.default_rng(0)
    spectrum = np.arange(1, 81) ** -1.0
    x = rng.normal(size=(120, 80)) * spectrum
    y = (x + 0.5 * rng.normal(size=x.shape) * spectrum) @ turn(80)
    found = ao.align_embeddings(x, y, seeds=[(i, i) for i in range(5)], rng=0)
    assert found.hits(np.arange(120)) < 0.8
    assert found.reliable < found.confidence[5:].mean() + 0.05


def test_known_pairs_stay_matched_even_if_they_are_wrong():
    given = dict(enumerate(TRUTH[:20].tolist())) | {0: int(TRUTH[1]), 1: int(TRUTH[0])}
    found = ao.align_embeddings(POINTS, noisy(), seeds=given, rng=0)
    assert found.matches[:20].tolist() == list(given.values())
    assert found.hits(TRUTH) > 0.9
    assert len(set(found.matches.tolist())) == 120


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (3, "seeds must be pairs of points, one of each side, but got 3"),
        ([(0, 120)], "seeds has the point 120, which the second side does not have"),
        ([(0, 1), (0, 2)], "seeds has the point 0 of the first side in several pairs, but it can have one match"),
    ],
)
def test_bad_seeds_are_one_clear_line(seeds, message):
    with pytest.raises(ao.InputError, match=message):
        ao.align_embeddings(POINTS, POINTS, seeds=seeds)


def test_retrieval_is_that_of_csls():
    found = ao.align_embeddings(POINTS, noisy(), rng=0)
    x = found._map.map_first(found._sides.x.points)
    y = found._map.map_second(found._sides.y.points)
    np.testing.assert_array_equal(found.retrieve(POINTS, 4), naive_csls(x, y)[:, :4])
    assert np.mean(found.retrieve(POINTS)[:, 0] == TRUTH) > 0.9
    assert found.retrieve(POINTS[:3], 500).shape == (3, 120)


# -- what it carries -----------------------------------------------------------------------------------------------


def test_labels_numbers_and_candidates_are_carried_over():
    found = ao.align_embeddings(POINTS, POINTS[ORDER] @ turn(5), rng=0)
    kinds = np.where(POINTS[:, 0] > 0, "right", "left")
    labels, share = found.transfer(kinds[ORDER], soft=False)
    assert labels.tolist() == kinds.tolist()
    np.testing.assert_allclose(share, 1, atol=1e-3)
    assert np.mean(found.transfer(kinds[ORDER])[0] == kinds) > 0.9
    np.testing.assert_allclose(found.project(POINTS[ORDER], soft=False), POINTS)
    top = found.top_k(3)
    assert top.shape == (120, 3)
    np.testing.assert_array_equal(top[:, 0], found.matches)
    assert all(len(set(row)) == 3 for row in top.tolist())
    assert (found.top_k(500)[:, 120:] == -1).all()
    assert "120 and 120, all matched" in repr(found)
    assert "<table>" in found._repr_html_()


# -- odd inputs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_points_are_aligned(metric, count):
    found = ao.align_embeddings(POINTS[:count], POINTS[:count] @ turn(5), metric=metric, rng=0)
    assert sorted(found.matches.tolist()) == list(range(count))
    assert np.isfinite(found.confidence).all()
    assert np.isfinite(found.transform(POINTS)).all()
    assert ao.align_embeddings(POINTS[:1], POINTS, metric=metric, rng=0).shape == (1, 120)


@pytest.mark.parametrize("metric", METRICS)
def test_constant_points_are_matched_in_some_way_that_is_not_sure(metric):
    with pytest.warns(ao.ConvergenceWarning, match=r"no alignment was found that can be trusted \(reliable=0.083\)"):
        found = ao.align_embeddings(np.ones((12, 3)), np.full((12, 4), 2.0), metric=metric, rng=0)
    assert sorted(found.matches.tolist()) == list(range(12))
    assert (found.confidence <= 1 / 12 + 1e-6).all()
    np.testing.assert_allclose(found.transform(np.ones((1, 3))), [[0.5] * 4 if metric == "cosine" else [2.0] * 4])


@pytest.mark.parametrize("factor", [1e-200, 1e200, 1.7e308 / np.abs(POINTS).max()])
def test_numbers_of_any_size_are_aligned(factor):
    found = ao.align_embeddings(factor * POINTS, POINTS[ORDER] @ turn(5), metric="euclidean", rng=0)
    np.testing.assert_array_equal(found.matches, TRUTH)


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        (np.zeros((0, 3)), POINTS, {}, r"x has shape \(0, 3\), but \(n, d\) is needed: one row for each point"),
        (POINTS[0], POINTS, {}, r"x has shape \(5,\), but \(n, d\) is needed"),
        (POINTS, POINTS[None], {}, r"y has shape \(1, 120, 5\), but"),
        (np.where(np.eye(5), np.nan, 1.0), POINTS, {}, r"x must be finite, but 5 entries are not"),
        (
            POINTS,
            np.zeros((3, 2)),
            {"metric": "cosine"},
            r"y\[0\] is zero and has no direction; leave it out, or take metric='euclidean'",
        ),
        ([["a"]], POINTS, {}, r"x has dtype .*, but real numbers are needed"),
        (POINTS, POINTS, {"metric": "l1"}, r"metric must be one of 'auto', 'cosine', 'euclidean', but got 'l1'"),
        (POINTS, POINTS, {"n_landmarks": 1}, r"n_landmarks must be an integer >= 2, but got 1"),
        (POINTS, POINTS, {"device": "tpu"}, r"device must be"),
        (
            np.sign(POINTS) * 5e-324,
            POINTS,
            {"metric": "euclidean"},
            "x and y differ in size by more than float64 can hold; multiply one of them by a constant",
        ),
    ],
)
def test_what_cannot_be_aligned_is_one_clear_line(first, second, options, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.align_embeddings(first, second, **options)
    assert "\n" not in str(caught.value)


def test_new_points_of_another_width_are_one_clear_line():
    found = ao.align_embeddings(POINTS, POINTS @ turn(5, 7), rng=0)
    with pytest.raises(ao.InputError, match="x has 4 columns, but the points that were aligned have 5"):
        found.transform(POINTS[:, :4])
    with pytest.raises(ao.InputError, match="y has 5 columns, but the points that were aligned have 7"):
        found.inverse_transform(POINTS)
    with pytest.raises(ao.InputError, match="k must be an integer >= 1"):
        found.top_k(0)


# -- many points ---------------------------------------------------------------------------------------------------


def test_nearest_points_are_those_of_all_distances():
    first, second = POINTS, cloud(70, seed=5)
    index, costs = nearest(first, second, 4, None)
    every = squared_distances(first, second)
    np.testing.assert_array_equal(index, np.argsort(every, axis=1)[:, :4])
    np.testing.assert_allclose(costs, np.sort(every, axis=1)[:, :4], atol=1e-4)


def test_sparse_pairs_agree_with_dense_ones(monkeypatch):
    monkeypatch.setattr(pairs, "CANDIDATES", 120)
    rng = np.random.default_rng(0)
    first, second = POINTS, POINTS[ORDER] + 0.2 * rng.normal(size=POINTS.shape)
    dense, sparse = DensePairs(first, second), SparsePairs(first, second, None)
    np.testing.assert_array_equal(dense.assign(), sparse.assign())
    matches = dense.assign(0.3)
    np.testing.assert_array_equal(matches, sparse.assign(0.3))
    assert (matches == -1).any()
    np.testing.assert_allclose(shares_of(sparse.costs, 0.5).toarray(), shares_of(dense.costs, 0.5), atol=1e-3)
    for mine, other in zip(sparse.others(matches), dense.others(matches), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)


def test_many_points_are_matched_by_their_nearest(monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_POINTS", 200)
    monkeypatch.setattr(refine, "DENSE_POINTS", 200)
    points = cloud(500)
    order = np.random.default_rng(0).permutation(500)
    found = ao.align_embeddings(points, points[order] @ turn(5), rng=0)
    np.testing.assert_array_equal(order[found.matches], np.arange(500))
    assert found.soft().nnz < 500 * 60
    np.testing.assert_array_equal(found.top_k(2)[:, 0], found.matches)


def test_a_map_of_matches_is_the_best_rotation():
    from scipy.linalg import orthogonal_procrustes

    x, y = Side.of(POINTS), Side.of(POINTS @ turn(5) + 0.1 * cloud(seed=3))
    found = Map.of_matches(x.points, y.points, np.arange(120))
    np.testing.assert_allclose(found.left @ found.right.T, orthogonal_procrustes(x.points, y.points)[0], atol=1e-9)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_device_finds_what_the_cpu_finds(monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_POINTS", 200)
    monkeypatch.setattr(refine, "DENSE_POINTS", 200)
    points = cloud(500)
    other = points[::-1] @ turn(5) + 0.05 * cloud(500, seed=7)
    here, there = (ao.align_embeddings(points, other, rng=0, device=device) for device in (None, "cuda"))
    np.testing.assert_array_equal(here.matches, there.matches)
    np.testing.assert_allclose(here.rotation, there.rotation, atol=1e-5)
    np.testing.assert_allclose(here.confidence, there.confidence, atol=1e-3)
