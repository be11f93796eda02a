"""Many point clouds as one sequence: each the space of its points, to the last bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import anchorot as ao
from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from tests import reference
from tests.strategies import assert_same, examples

COORDINATES = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3))
EXTREME = st.sampled_from([1e-300, 1e-130, 1e-40, 1.0, 1e30, 1e39, 1e130])  # 1e39 exceeds float32


@st.composite
def stacks(draw, elements=COORDINATES):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(0, 5)))
    return draw(hnp.arrays(np.float64, shape, elements=elements))


def costs_together(clouds):
    return clouds.plain_costs(range(len(clouds)), 100)


@given(stacks(), EXTREME, st.sampled_from([np.float64, np.float32]))
def test_costs_computed_together_are_those_of_each(points, unit, dtype):
    clouds = ao.io.PointClouds(points * unit, dtype=dtype)
    for k, cost in enumerate(costs_together(clouds)):
        if cost is not None:
            assert_same(cost, ao.from_points(points[k] * unit, dtype=dtype).cost)
        else:  # squares, or distances, are near the ends of a range
            largest = np.abs(points[k] * unit).max(initial=0)
            assert not 1e-36 < largest < 1e36 or dtype == np.float32


@given(stacks(), st.integers(1, 3))
@examples(50)
def test_distances_are_added_up_in_order(points, threads):
    costs, ordinary = kernels.cloud_costs(list(points), np.float64, threads)
    theirs, also_ordinary = numpy_kernels.cloud_costs(list(points), np.float64, threads)
    assert ordinary.tolist() == also_ordinary.tolist()
    for x, cost, other, good in zip(points, costs, theirs, ordinary, strict=True):
        if good:
            np.testing.assert_allclose(cost, reference.distances(x.tolist()), rtol=1e-15)
            np.testing.assert_allclose(other, cost, rtol=1e-15)
            np.testing.assert_array_equal(cost, kernels.euclidean(x, x))


def test_a_sequence_of_spaces():
    points = np.random.default_rng(0).normal(size=(6, 5, 2))
    clouds = ao.io.PointClouds(points, "cityblock", dtype="float32")
    assert len(clouds) == 6
    assert_same(list(clouds), [ao.from_points(x, "cityblock", dtype="float32") for x in points])
    assert_same(list(clouds[1:3]), list(clouds)[1:3])
    assert_same(clouds[-1], clouds[5])
    assert_same(pickle.loads(pickle.dumps(clouds))[2], clouds[2])
    assert repr(clouds) == "PointClouds(6 clouds, 5 to 5 points each, 'cityblock', float32)"
    assert costs_together(clouds) == [None] * 6  # one by one, by SciPy
    with pytest.raises(IndexError):
        clouds[6]


def test_clouds_of_any_sizes_and_of_any_numbers():
    clouds = ao.io.PointClouds([[[0, 0], [3, 4]], np.zeros((1, 3), np.float32), [[1], [2], [4]]])
    assert [x.n for x in clouds] == [2, 1, 3]
    assert clouds[0].cost.tolist() == [[0, 5], [5, 0]]
    assert_same([x.cost for x in clouds], costs_together(clouds))


def test_points_cannot_be_changed_through_the_clouds():
    points = np.zeros((2, 3, 2))
    clouds = ao.io.PointClouds(points)
    with pytest.raises(ValueError, match="read-only"):
        clouds._points[0][0] = 1
    points[0] = 1  # the caller's own stays as it was


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (
            [[[0.0]], [[np.nan]]],
            r"^points\[1\]: points must be finite, but 1 entries are not, the first nan at \(0, 0\)$",
        ),
        (np.full((2, 3, 1), np.inf), r"^points\[0\]: points must be finite, but 3 entries"),
        (np.zeros((2, 3)), r"^points\[0\]: points has shape \(3,\), but \(n, d\) with n >= 1 is needed"),
        (np.zeros((2, 0, 3)), r"^points\[0\]: points has shape \(0, 3\)"),
        ([np.zeros((2, 2)), "x"], r"^points\[1\]: points has dtype "),
        (np.zeros((0, 3, 2)), r"^points is empty, but at least one cloud is needed$"),
        (7, r"^points must be a list of point clouds, each of shape \(n, d\), but got 7$"),
    ],
)
def test_what_are_no_clouds_is_refused_in_one_line(points, message):
    with pytest.raises(ao.InputError, match=message):
        ao.io.PointClouds(points)


def test_a_stack_given_as_one_cloud_is_told_what_takes_it():
    with pytest.raises(ao.InputError, match=r"points has shape \(2, 3, 4\), .*; many clouds: anchorot.io.PointClouds"):
        ao.from_points(np.zeros((2, 3, 4)))


def test_a_type_that_costs_cannot_have_is_refused():
    with pytest.raises(ao.InputError, match="dtype must be float64 or float32, but got int64"):
        ao.io.PointClouds(np.zeros((1, 2, 2)), dtype="int64")


def test_a_cloud_out_of_range_is_named_by_what_uses_it():
    clouds = ao.io.PointClouds([np.zeros((2, 1)), [[-1.7e308], [1.7e308]]])
    with pytest.raises(ao.InputError, match=r"^spaces\[1\]: distances between points are outside the range of float64"):
        ao.pairwise(clouds)
