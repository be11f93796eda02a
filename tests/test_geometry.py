"""The geometry of a space: what it was made from, for drawing."""

import numpy as np
import pytest

import anchorot as ao


def test_geometry_follows_the_points():
    x = ao.from_points(np.arange(12.0).reshape(6, 2))
    assert x.geometry.positions.tolist() == np.arange(12.0).reshape(6, 2).tolist()
    part = x.take([4, 1]).ranked()
    assert part.geometry.index.tolist() == [4, 1]
    assert part.geometry.n_sites == 6
    assert x.take([4, 1, 0]).take([2, 0]).geometry.index.tolist() == [0, 4]
    assert ao.Space(x.cost).geometry is None
    with pytest.raises(ao.InputError, match="geometry has 2 points, but the cost matrix has 6"):
        ao.Space(x.cost, geometry=part.geometry)


def test_a_draw_of_points_keeps_their_names_and_places():
    points = np.random.default_rng(0).normal(size=(30, 3))
    x = ao.from_points(points, n_points=8, rng=1, labels=range(30), weights=np.arange(1, 31) / 465)
    chosen = list(x.labels)
    assert len(set(chosen)) == 8 < max(chosen)
    assert x.geometry.positions.tolist() == points.tolist()  # the others are drawn too
    assert x.geometry.index.tolist() == chosen
    np.testing.assert_allclose(x.cost, ao.from_points(points[chosen]).cost)
    np.testing.assert_allclose(x.weights, (np.array(chosen) + 1) / (sum(chosen) + 8))


def test_points_of_many_dimensions_have_no_geometry():
    assert ao.from_points(np.eye(5)).geometry is None
    assert ao.from_points(np.eye(5)[:, :1]).geometry.positions.shape == (5, 2)
