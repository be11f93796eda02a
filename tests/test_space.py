"""Spaces: what is accepted, what is refused and how it is said."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import eye_array
from scipy.spatial.distance import cdist, pdist, squareform

import anchorot as ao
from anchorot._kernels.records import to_heights
from tests import reference
from tests.strategies import spaces, with_a_light_point

# -- what is accepted ----------------------------------------------------------------------------------------------


def test_uniform_weights_by_default():
    x = ao.Space(np.zeros((4, 4)))
    assert x.n == 4
    assert x.weights.tolist() == [0.25] * 4
    assert x.is_uniform
    assert x.labels is None


@pytest.mark.parametrize(
    ("given_type", "kept"), [("f8", "f8"), ("f4", "f4"), ("i8", "f8"), ("bool", "f8"), ("f2", "f8")]
)
def test_costs_keep_float_types_and_widen_others(given_type, kept):
    assert ao.Space(np.eye(3).astype(given_type)).cost.dtype == kept


def test_weights_of_float32_are_renormalised():
    weights = np.full(7, 1 / 7, dtype=np.float32)
    assert ao.Space(np.eye(7), weights).weights.sum() == pytest.approx(1, abs=1e-15)


def test_a_space_is_frozen():
    cost = np.eye(3)
    x = ao.Space(cost)
    cost[0, 0] = 9
    assert x.cost[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        x.cost[0, 0] = 2
    with pytest.raises(ValueError, match="read-only"):
        x.weights[0] = 2
    with pytest.raises(AttributeError):
        x.cost = cost


def test_without_copy_memory_is_shared_but_stays_writeable_outside():
    cost = np.eye(3)
    assert np.shares_memory(ao.Space(cost, copy=False).cost, cost)
    assert not np.shares_memory(ao.Space(cost).cost, cost)
    assert cost.flags.writeable


def test_fortran_order_and_views_are_fine():
    cost = np.random.default_rng(0).uniform(size=(12, 12))
    for view in (np.asfortranarray(cost[::2, ::2]), cost[::2, ::2]):
        assert ao.Space(view).cost.flags.c_contiguous
        np.testing.assert_array_equal(ao.Space(view).cost, cost[::2, ::2])


def test_repr_says_what_it_is():
    assert repr(ao.Space(np.eye(3))) == "Space(n=3, uniform, float64)"
    assert repr(ao.Space(np.eye(2), [0.1, 0.9])) == "Space(n=2, weighted, float64)"


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.zeros((2, 3)), r"cost has shape \(2, 3\), but a square matrix \(n, n\) is needed"),
        (np.zeros(4), r"cost has shape \(4,\), but a square"),
        (np.zeros((0, 0)), r"a space needs at least one point"),
        ([[0, np.nan], [1, 0]], r"cost must be finite, but 1 entries are not, the first nan at \(0, 1\)$"),
        ([[0, np.inf], [np.inf, 0]], r"the first inf at \(0, 1\); give unreachable pairs of a disconnected graph"),
        (np.array([[0, 1j], [1, 0]]), "cost has dtype complex128, but real numbers are needed"),
        (np.array([[0, None], [1, 0]]), "cost has dtype object, but real numbers are needed"),
        ([["a", "b"], ["c", "d"]], "cost has dtype <U1, but real numbers are needed"),
        ([[0, 1], [1]], "cost is not an array of numbers"),
        (eye_array(3), "a sparse matrix"),
    ],
)
def test_bad_costs_get_one_clear_line(cost, message):
    with pytest.raises(ValueError, match=message) as caught:
        ao.Space(cost)
    assert isinstance(caught.value, ao.InputError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.5], r"weights has shape \(2,\), but the cost matrix has 3 points"),
        ([0.5, 0.75, -0.25], r"weights must not be negative, but weights\[2\] is -0.25"),
        ([0, 0, 0], "weights must sum to 1, but they sum to 0"),
        ([1, 1, 1], "weights must sum to 1, but they sum to 3; divide them by their sum"),
        ([1e308, 1e308, 1e308], "weights must sum to 1, but they sum to inf"),
        ([0.5, np.nan, 0.5], "weights must be finite"),
        ([0.5, 0.5, 1j], "weights has dtype complex128"),
        ([0.3, 0.3, 0.39999], "weights must sum to 1, but they sum to 0.99999"),
    ],
)
def test_bad_weights_get_one_clear_line(weights, message):
    with pytest.raises(ao.InputError, match=message):
        ao.Space(np.zeros((3, 3)), weights)


def test_weights_may_miss_one_by_a_millionth():
    x = ao.Space(np.zeros((2, 2)), [0.5, 0.5 + 9e-7])
    assert x.weights.sum() == pytest.approx(1, abs=1e-15)


def test_labels_must_be_as_many_as_points():
    assert ao.Space(np.eye(2), labels=["a", "b"]).labels == ("a", "b")
    with pytest.raises(ao.InputError, match="labels has 1 entries, but the cost matrix has 2 points"):
        ao.Space(np.eye(2), labels=["a"])


# -- ranks and samples ---------------------------------------------------------------------------------------------


@given(spaces())
def test_ranks_agree_with_the_formula(x):
    np.testing.assert_array_equal(x.ranked().cost, reference.ranks(x.cost.tolist(), x.weights))
    np.testing.assert_array_equal(x.ranked().weights, x.weights)


@given(spaces(), st.floats(-1e3, 1e3))
def test_a_point_of_weight_zero_leaves_the_ranks_of_the_others(x, cost):
    ranks = with_a_light_point(x, 0, cost).ranked().cost
    np.testing.assert_array_equal(ranks[:-1, :-1], x.ranked().cost)


def test_ranks_of_float32_costs():
    cost = np.random.default_rng(0).normal(size=(9, 9)).astype(np.float32)
    np.testing.assert_array_equal(ao.Space(cost).ranked().cost, reference.ranks(cost.tolist(), [1] * 9))


@pytest.mark.parametrize("by", ["mean", "median", "max"])
@given(spaces(n=6), st.floats(1e-3, 1e3))
def test_the_scaled_form_does_not_see_size(by, x, factor):
    cost = np.abs(x.cost) + 1
    scaled, larger = (ao.Space(c, x.weights).scaled(by) for c in (cost, factor * cost))
    np.testing.assert_allclose(scaled.cost, larger.cost, rtol=1e-12)
    np.testing.assert_array_equal(scaled.weights, x.weights)
    heavy = x.take(np.flatnonzero(x.weights))
    own = ao.Space(np.abs(heavy.cost) + 1, heavy.weights).scaled(by)
    np.testing.assert_allclose(scaled.take(np.flatnonzero(x.weights)).cost, own.cost, rtol=1e-12)


def test_the_scale_is_that_of_pairs_by_weights():
    x = ao.Space([[0, 1, 9], [1, 0, 4], [9, 4, 0]], [0.5, 0.25, 0.25])
    mean = 2 * (0.125 * 1 + 0.125 * 9 + 0.0625 * 4)
    np.testing.assert_allclose(x.scaled().cost, x.cost / mean)
    np.testing.assert_allclose(x.scaled("median").cost, x.cost / 1)  # 0.375 of all pairs are 0, then 1 up to 0.625
    np.testing.assert_allclose(x.scaled("max").cost, x.cost / 9)
    huge = np.full((3, 3), 1e308)
    np.testing.assert_allclose(ao.Space(huge).scaled().cost, 1.0)


def test_a_scale_that_costs_do_not_have_is_refused():
    with pytest.raises(ao.InputError, match="the mean of the costs is 0, but a scale to divide by must be positive"):
        ao.Space(np.zeros((2, 2))).scaled()
    with pytest.raises(ao.InputError, match="by"):
        ao.Space(np.eye(2)).scaled("mode")


@given(spaces(n=6), st.integers(0, 99))
def test_a_sample_is_a_subspace(x, seed):
    k = int((x.weights > 0).sum())
    named = ao.Space(x.cost, x.weights, labels=range(6))
    sample = named.sample(k, rng=seed)
    np.testing.assert_array_equal(sample.cost, x.cost[np.ix_(sample.labels, sample.labels)])
    assert len(set(sample.labels)) == k
    assert sample.weights == pytest.approx(x.weights[list(sample.labels)])


def test_samples_are_reproducible():
    x = ao.from_points(np.random.default_rng(0).normal(size=(50, 2)))
    np.testing.assert_array_equal(x.sample(9, rng=1).cost, x.sample(9, rng=np.random.default_rng(1)).cost)
    assert not np.array_equal(x.sample(9, rng=1).cost, x.sample(9, rng=2).cost)


def test_a_sample_cannot_be_larger_than_the_space():
    with pytest.raises(ao.InputError, match="cannot sample 3 points: only 1 points have positive weight"):
        ao.Space(np.eye(2), [1, 0]).sample(3)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0.5], "points must be a list of integers"),
        ([True, False, True], "points must be a list of integers"),
        ([[0, 1]], "points must be a list of integers"),
        ([0, 3], "points has entries from 0 to 3, but there are 3 points"),
        ([-4], "points has entries from -4 to -4, but there are 3 points"),
    ],
)
def test_bad_points_to_take_get_one_clear_line(points, message):
    with pytest.raises(ao.InputError, match=message):
        ao.Space(np.eye(3), labels="abc").take(points)


def test_points_may_be_counted_from_the_end():
    assert ao.Space(np.eye(3), labels="abc").take([-1, 0]).labels == ("c", "a")


def test_weights_that_no_height_can_show_are_zero():
    """CDF heights are counted in units of 2**-62: half a unit is rounded away, any more is not."""
    light = [2.0**-63, np.nextafter(2.0**-63, 1)]
    weights = ao.Space(np.eye(4), [0.5, 0.5, *light]).weights
    np.testing.assert_array_equal(weights > 0, to_heights(weights) > 0)
    assert weights[2:].tolist() == [0, light[1]]
    np.testing.assert_array_equal(to_heights(np.array(light)), [0, 1])


def test_taking_only_weightless_points_is_refused():
    with pytest.raises(ao.InputError, match="total weight 0"):
        ao.Space(np.eye(2), [1, 0]).take([1])


# -- points --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "options"),
    [("euclidean", {}), ("cityblock", {}), ("minkowski", {"p": 3}), ("seuclidean", {}), ("mahalanobis", {})],
)
def test_points_in_blocks_agree_with_scipy(metric, options, monkeypatch):
    monkeypatch.setattr("anchorot.io.points.BLOCK_BYTES", 8 * 40 * 7)  # seven rows at a time
    points = np.random.default_rng(0).normal(size=(40, 3))
    expected = squareform(pdist(points, metric, **options))
    np.testing.assert_allclose(ao.from_points(points, metric, **options).cost, expected, rtol=1e-12, atol=1e-12)


def test_points_with_a_metric_of_ones_own():
    points = np.arange(5.0)[:, None]
    cost = ao.from_points(points, lambda a, b: 2 * abs(a[0] - b[0])).cost
    np.testing.assert_array_equal(cost, 2 * cdist(points, points))


def test_points_in_float32():
    x = ao.from_points(np.random.default_rng(0).normal(size=(6, 2)), dtype=np.float32)
    assert x.cost.dtype == np.float32


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (np.zeros(3), {}, r"points has shape \(3,\), but \(n, d\)"),
        (np.zeros((0, 3)), {}, "n >= 1 is needed"),
        ([[0.0], [np.inf]], {}, "points must be finite"),
        (np.zeros((3, 2)), {"metric": "eucliden"}, "metric 'eucliden' does not work"),
        (np.zeros((3, 2)), {"dtype": np.int32}, "dtype must be float64 or float32, but got int32"),
        (np.zeros((3, 2)), {"metric": "cosine"}, "not defined for point 0, whose coordinates are all zero"),
    ],
)
def test_bad_points_get_one_clear_line(points, options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.from_points(points, **options)


def test_types_and_features_go_with_their_points():
    x = ao.Space(np.arange(9.0).reshape(3, 3), types=["C", "H", "H"], features=[1, 2, 3])
    assert x.types == ("C", "H", "H")
    assert x.features.tolist() == [[1], [2], [3]]
    assert not x.features.flags.writeable
    assert x.take([2, 0]).types == ("H", "C")
    assert x.take([2, 0]).features.tolist() == [[3], [1]]
    assert x.ranked().types == x.types
    assert x.ranked().features.tolist() == x.features.tolist()
    assert x.reaching(4).types == x.types
    drawn = x.sample(2, rng=0)
    assert drawn.types == tuple(x.types[int(cost) // 4] for cost in np.diag(drawn.cost))
    assert repr(x) == "Space(n=3, uniform, float64, types=2, features=1)"


def test_types_are_python_objects_whatever_array_holds_them():
    x = ao.Space(np.zeros((2, 2)), types=np.array([1, 2]))
    assert [type(kind) for kind in x.types] == [int, int]
    assert ao.Space(np.zeros((2, 2)), types=np.array(["a", "b"])).types == ("a", "b")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"types": ["a"]}, "types has 1 entries, but the cost matrix has 2 points"),
        ({"types": "ab"}, "one hashable object per point"),
        ({"types": [[1], [2]]}, r"types\[0\] is \[1\], but a type must be hashable"),
        ({"types": ["a", float("nan")]}, r"types\[1\] is nan, which does not equal itself"),
        ({"features": [[1, 2]]}, r"features has shape \(1, 2\), but \(2, d\)"),
        ({"features": np.zeros((2, 0))}, r"features has shape \(2, 0\)"),
        ({"features": [1, np.inf]}, "features must be finite"),
        ({"features": ["a", "b"]}, "real numbers are needed"),
    ],
)
def test_bad_types_and_features_are_one_clear_line(options, said):
    with pytest.raises(ao.InputError, match=said):
        ao.Space(np.zeros((2, 2)), **options)


def test_a_space_that_was_pickled_is_as_frozen_as_before():
    x = pickle.loads(pickle.dumps(ao.Space([[0, 1], [1, 0]], labels="ab")))
    with pytest.raises(ValueError, match="read-only"):
        x.cost[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        x.weights[0] = 1
    assert x.labels == ("a", "b")
