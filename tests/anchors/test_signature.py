"""Signatures: averages of the doubly sorted matrix, and the distance that they bound."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from tests.strategies import clouds, scale_of, spaces, with_a_light_point

SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))


def averages(x, shape):
    return ao.signature(x, shape) * math.sqrt(math.prod(shape))


@given(spaces(uniform=True), SHAPES)
def test_cells_hold_averages_of_the_sorted_matrix(x, shape):
    ordered = np.sort(np.sort(x.cost.astype(float), axis=1).T, axis=1)  # levels by anchors
    fine = np.repeat(np.repeat(ordered, shape[0], 0), shape[1], 1)
    wanted = fine.reshape(shape[0], x.n, shape[1], x.n).mean(axis=(1, 3))
    np.testing.assert_allclose(averages(x, shape), wanted, rtol=1e-12, atol=1e-12 * scale_of(x))


@given(spaces(), SHAPES)
def test_both_sets_of_kernels_agree_on_any_weights(x, shape):
    features = ao.AnchorFeatures.of(x)
    moves, mass = features.level_moves, features.events.mass
    found = kernels.quantile_averages(moves, mass, shape)
    np.testing.assert_allclose(
        found, numpy_kernels.quantile_averages(moves, mass, shape), rtol=1e-11, atol=1e-12 * scale_of(x)
    )
    if features.levels is not None:
        np.testing.assert_allclose(found, averages(x, shape), rtol=1e-11, atol=1e-12 * scale_of(x))


@given(spaces(), spaces(), SHAPES)
def test_their_distance_is_at_most_saw(x, y, shape):
    gap = averages(x, shape) - averages(y, shape)
    slack = 1e-11 * scale_of(x, y)
    assert np.linalg.norm(gap) / math.sqrt(gap.size) <= ao.sliced_anchor_wasserstein(x, y, 2) + slack
    assert np.abs(gap).mean() <= ao.sliced_anchor_wasserstein(x, y, 1) + slack


@given(st.integers(1, 8), st.data(), st.integers(1, 3))
def test_at_full_resolution_it_is_saw(n, data, times):
    x, y = data.draw(spaces(n, uniform=True)), data.draw(spaces(n, uniform=True))
    gap = ao.signature(x, (n * times, n)) - ao.signature(y, (n * times, n))
    wanted = ao.sliced_anchor_wasserstein(x, y, 2)
    assert np.linalg.norm(gap) == pytest.approx(wanted, rel=1e-12, abs=1e-12 * scale_of(x, y))


@given(spaces(), SHAPES)
def test_they_rise_along_levels_and_shares(x, shape):
    found, slack = averages(x, shape), 1e-12 * scale_of(x)
    assert (np.diff(found, axis=0) >= -slack).all()
    assert (np.diff(found, axis=1) >= -slack).all()


@given(spaces(), SHAPES, st.data())
def test_relabelling_splitting_and_light_points_change_nothing(x, shape, data):
    wanted, slack = averages(x, shape), 1e-11 * scale_of(x)
    order = data.draw(st.permutations(range(x.n)))
    places = [*range(x.n), 0]
    weights = x.weights[places].copy()
    weights[[0, -1]] /= 2
    halved = ao.Space(x.cost[np.ix_(places, places)], weights)
    for same in (x.take(order), halved, with_a_light_point(x, 0.0, 1e6)):
        np.testing.assert_allclose(averages(same, shape), wanted, atol=slack)


def test_ranks_and_largest_costs():
    x = clouds((12,), weighted=True)[0]
    np.testing.assert_array_equal(
        ao.signature(x, robust=True), ao.signature(ao.Space(x.cost**3, x.weights), robust=True)
    )
    cut = ao.Space(np.minimum(x.cost, 0.7), x.weights)
    np.testing.assert_allclose(ao.signature(x, max_cost=0.7), ao.signature(cut), atol=1e-12)
    assert ao.signature(ao.AnchorFeatures.of(x, max_cost=0.7)).shape == (64, 64)


@pytest.mark.parametrize(
    ("shape", "message"), [(8, "shape must be two numbers"), ((8, 0), r"shape\[1\] must be"), ((1, 2, 3), "shape must")]
)
def test_bad_shapes_are_refused(shape, message):
    with pytest.raises(ao.InputError, match=message):
        ao.signature([[0]], shape)


def test_features_that_lack_costs_are_refused():
    typed = ao.AnchorFeatures.of(ao.Space([[0, 1], [1, 0]], types=["a", "b"]), attributes="types", max_cost=2)
    with pytest.raises(ao.InputError, match="signatures see costs alone"):
        ao.signature(typed)
    with pytest.raises(ao.InputError, match="a signature needs all anchors"):
        ao.signature(ao.AnchorFeatures.of([[0, 1], [1, 0]], mean_only=True))
