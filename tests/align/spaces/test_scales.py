"""Alignments of numbers of every size: offsets, scales, precisions, weights and masses change no match."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests.strategies import examples, spaces, weight_vectors

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

solver = sys.modules["anchorot.distances.solver"]
OFFSETS = [1e6, 1e9, -1e12, 1e15]


def grid(n, seed, dim=3):
    """A space whose costs are multiples of an eighth, so that they stay exact 1e15 away from zero."""
    points = np.random.default_rng(seed).normal(size=(n, dim)) * 10
    return np.round(8 * ao.from_points(points).cost) / 8


def shuffled(cost, seed):
    order = np.random.default_rng(seed).permutation(len(cost))
    return cost[np.ix_(order, order)], order


# -- offsets and scales --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_common_offset_of_the_costs_changes_no_match(offset):
    cost = grid(40, 0)
    copy, order = shuffled(cost, 1)
    found = ao.align(cost + offset, copy + offset)
    assert (order[found.matches] == np.arange(40)).all()
    assert found.value == 0
    x, y = grid(20, 2), grid(24, 3)
    plain, moved = ao.align(x, y), ao.align(x + offset, y + offset)
    np.testing.assert_array_equal(moved.plan, plain.plan)
    assert (moved.value, moved.objective) == (plain.value, plain.objective)
    assert moved.bound == pytest.approx(plain.bound, rel=1e-9)


@pytest.mark.parametrize("mass", [0.7, "free"])
def test_a_common_offset_changes_no_match_of_a_part_of_the_mass(mass):
    pytest.importorskip("ot")
    x, y = grid(20, 2), grid(16, 3)
    np.testing.assert_array_equal(
        ao.align(x + 1e9, y + 1e9, mass=mass).plan,
        ao.align(x, y, mass=mass).plan,
    )


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_common_offset_changes_no_dense_match(offset):
    cost = grid(150, 4)
    copy, order = shuffled(cost, 5)
    plain, moved = (ao.align(cost + c, copy + c, n_landmarks=40, rng=0) for c in (0, offset))
    np.testing.assert_array_equal(moved.matches, plain.matches)
    assert (order[moved.matches] == np.arange(150)).mean() > 0.99
    assert moved.objective == pytest.approx(plain.objective, abs=1e-6)


@pytest.mark.parametrize("scale", [2.0**-498, 2.0**498])
@pytest.mark.parametrize("options", [{}, {"mass": 0.8}, {"mass": "free"}, {"n_landmarks": 10}])
def test_scaling_all_costs_changes_no_match(scale, options):
    pytest.importorskip("ot")
    x, y = grid(20, 2), grid(16, 3)
    np.testing.assert_array_equal(ao.align(x * scale, y * scale, **options).matches, ao.align(x, y, **options).matches)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
@pytest.mark.parametrize("options", [{}, {"mass": 0.8}, {"n_landmarks": 10}])
def test_costs_of_sizes_that_cannot_be_compared_are_noted(scale, options):
    pytest.importorskip("ot")
    x, y = grid(20, 2), grid(16, 3)
    for pair in ((x * scale, y), (x, y * scale)):
        with pytest.warns(ao.InputWarning, match="the costs of x vary .* times as much as those of y"):
            ao.align(*pair, **options)
    plain, ranked = (ao.align(cost, y, robust=True) for cost in (x, x * scale))
    np.testing.assert_array_equal(ranked.matches, plain.matches)


def test_costs_that_are_all_alike_can_be_compared_with_any():
    assert ao.align(np.zeros((5, 5)), grid(5, 1)).plan.sum() == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_unit_of_costs_changes_no_gromov_wasserstein_plan(scale, epsilon):
    x, y = grid(12, 2), grid(12, 3)
    plain = ao.gromov_wasserstein(x, y, epsilon=epsilon)
    scaled = ao.gromov_wasserstein(x * scale, y * scale, epsilon=epsilon * scale**2)
    np.testing.assert_allclose(scaled.plan, plain.plan, atol=1e-9)
    assert scaled.value / scale**2 == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_of_costs_of_two_sizes_the_gromov_wasserstein_loss_is_that_of_the_larger_ones(scale):
    x, y = grid(12, 2), grid(12, 3)
    larger = np.square(x * scale if scale > 1 else y).mean()
    assert ao.gromov_wasserstein(x * scale, y).value == pytest.approx(larger, rel=1e-12)


@pytest.mark.parametrize("mass", [1e-320, 1e300, 1e308])
def test_the_mass_of_a_starting_plan_does_not_matter(mass):
    x, y = grid(12, 2), grid(12, 3)
    begun = np.random.default_rng(0).uniform(0.1, 1, size=(12, 12))
    start, scaled = (ao.align(x, y, start=size * np.round(10 * begun)) for size in (1.0, mass / 10))
    np.testing.assert_allclose(scaled.plan, start.plan, atol=1e-12)


@pytest.mark.filterwarnings("ignore:the costs of x vary")
def test_costs_of_single_and_of_double_precision_may_be_of_any_two_sizes():
    x, y = grid(12, 0), grid(12, 1)
    for small, large in ((x.astype(np.float32), y * 1e200), (x.astype(np.float32) * 1e30, y * 1e-200)):
        found = ao.align(small, large)
        np.testing.assert_array_equal(found.plan, ao.align(small.astype(np.float64), large).plan)
        assert ao.lower_bounds(small, large) == ao.lower_bounds(small.astype(np.float64), large)


def test_the_value_of_costs_in_single_precision_is_that_of_the_same_numbers_in_double():
    x, y = (ao.from_points(np.random.default_rng(k).normal(size=(30, 3))).cost.astype(np.float32) for k in (0, 1))
    single, double = ao.align(x, y), ao.align(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_array_equal(single.plan, double.plan)
    assert (single.value, single.bound) == (double.value, double.bound)
    plan = single.plan
    loss = np.einsum("ijkl,ik,jl->", (x[:, :, None, None] - y.astype(np.float64)) ** 2, plan, plan)
    assert single.value == pytest.approx(loss, rel=1e-12)


# -- features ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.6e-19, 1e77, 1e160, 1e300])
def test_scaling_all_features_changes_no_match(scale):
    x, y = grid(15, 1), grid(15, 2)
    u, v = (np.round(np.random.default_rng(k).normal(size=(15, 2)) * 64) / 64 for k in (3, 4))
    plain, scaled = ao.align(x, y, features=(u, v)), ao.align(x, y, features=(u * scale, v * scale))
    np.testing.assert_array_equal(scaled.matches, plain.matches)
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-9)
    assert (plain.matches != ao.align(x, y).matches).any()


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_common_offset_of_the_features_changes_no_match(offset):
    x, y = grid(15, 1), grid(12, 2)
    u, v = (np.round(np.random.default_rng(k).normal(size=(n, 2)) * 8) / 8 for k, n in ((3, 15), (4, 12)))
    plain, moved = ao.align(x, y, features=(u, v)), ao.align(x, y, features=(u + offset, v + offset))
    np.testing.assert_array_equal(moved.plan, plain.plan)
    assert moved.feature_scale == pytest.approx(plain.feature_scale, rel=1e-9)


def test_features_that_are_all_alike_on_either_side_change_no_match():
    x, y = grid(15, 1), grid(15, 2)
    found = ao.align(x, y, features=(np.ones((15, 1)), np.full((15, 1), 3.0)))
    np.testing.assert_array_equal(found.matches, ao.align(x, y).matches)


def test_features_of_a_point_of_weight_zero_play_no_part():
    x, y = grid(12, 1), grid(12, 2)
    u, v = (np.random.default_rng(k).normal(size=(12, 2)) for k in (3, 4))
    padded = ao.Space(np.pad(x, ((0, 1), (0, 1)), constant_values=7.0), np.append(np.full(12, 1 / 12), 0.0))
    found = ao.align(padded, y, features=(np.vstack([u, [1e9, -1e9]]), v))
    plain = ao.align(x, y, features=(u, v))
    np.testing.assert_array_equal(found.plan[:-1], plain.plan)
    assert found.feature_scale == plain.feature_scale


# -- parts of the mass ---------------------------------------------------------------------------------------------


def check_numbers(found):
    """Whatever was asked, an alignment is made of numbers, and matches something."""
    assert np.isfinite(found.plan).all()
    assert np.isfinite(found.soft()).all()
    assert found.plan.min() >= 0
    assert found.plan.sum() > 0
    assert 0 <= found.bound <= found.value < np.inf
    assert np.isfinite(found.objective)


def test_trimming_stops_at_the_last_round_that_leaves_something():
    pytest.importorskip("ot")
    x = ao.Space([[0, 2.6], [2.6, 0]], [0.234, 0.766])
    y = ao.Space([[0, 0.2, 2.4], [0.2, 0, 2.3], [2.4, 2.3, 0]], [0.019, 0.109, 0.872])
    check_numbers(ao.align(x, y, features=([-0.6, -1.1], [0.2, 0.3, 1.3]), mass="free"))


@examples(40)
@given(st.data())
def test_every_alignment_is_made_of_numbers(data):
    pytest.importorskip("ot")
    x, y = data.draw(spaces()), data.draw(spaces())
    options = {"mass": data.draw(st.sampled_from([None, 1e-9, 0.1, 0.75, 1.0, "free"]))}
    if data.draw(st.booleans()):
        options["features"] = tuple(np.random.default_rng(n).normal(size=(n, 2)) for n in (x.n, y.n))
        options["alpha"] = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    start = data.draw(st.sampled_from(["anchors", "near", "middle", "aw", "aep", "product"]))
    check_numbers(ao.align(x, y, robust=data.draw(st.booleans()), start=start, rng=0, **options))


# -- one clear line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": 1e-20}, "mass must be a share of the mass from 1e-09 to 1, or 'free', but got 1e-20"),
        ({"mass": np.array([0.5, 0.5])}, "mass must be a share of the mass from 1e-09 to 1, or 'free', but got"),
        ({"features": (np.ones(3),) * 3}, r"features must be a pair of arrays, features=\(U, V\), but got 3 of them"),
        ({"features": np.ones((3, 2))}, "features must be a pair of arrays, .*, but got ndarray"),
        ({"features": 3}, "features must be a pair of arrays, .*, but got int"),
    ],
)
def test_bad_masses_and_features_are_one_clear_line(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.align(grid(3, 0), grid(4, 1), **options)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_points_of_any_unit_are_matched_by_landmarks(unit):
    points = np.random.default_rng(0).normal(size=(30, 3))
    found = ao.align(points * unit, points[::-1] * unit, n_landmarks=10)
    np.testing.assert_array_equal(found.matches, np.arange(30)[::-1])


def test_distances_beyond_the_range_of_floats_are_one_clear_line():
    points = np.random.default_rng(0).uniform(-1, 1, size=(30, 3)) * 1.7e308
    with pytest.raises(ao.InputError, match="distances between points are outside the range of float64"):
        ao.align(points, points, n_landmarks=10)


@pytest.mark.parametrize("options", [{}, {"mass": 1.0}, {"mass": "free"}, {"n_landmarks": 3}])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5), (5, 1)])
def test_a_single_point_is_matched(n, m, options):
    pytest.importorskip("ot")
    found = ao.align(grid(n, 0), grid(m, 1), **options)
    assert (found.matches >= 0).any()
    assert found.matches.max() < m


@given(weight_vectors(6))
def test_points_of_weight_zero_have_no_match_and_others_have_one(weights):
    pytest.importorskip("ot")
    found = ao.align(ao.Space(grid(6, 0), weights), grid(6, 1))
    np.testing.assert_array_equal(found.matches >= 0, weights > 0)
