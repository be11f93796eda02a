"""Units and offsets of costs change results by rounding only."""

import numpy as np
import pytest
import trimesh

import anchorot as ao
from tests.messages import said

RNG = np.random.default_rng(0)


POINTS = RNG.normal(size=(12, 3))


BALL = trimesh.creation.icosphere(1)


MESH = np.asarray(BALL.vertices), np.asarray(BALL.faces)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation"])
@pytest.mark.parametrize("scale", [2.0**-600, 2.0**-490, 2.0**490, 2.0**600])
def test_the_unit_of_points_is_the_unit_of_costs_or_one_line(metric, scale):
    degree = {"sqeuclidean": 2, "cosine": 0, "correlation": 0}.get(metric, 1)
    if degree == 2 and abs(np.log2(scale)) > 500:
        assert "outside the range of float64" in said(ao.from_points, scale * POINTS, metric)
    else:
        found = ao.from_points(scale * POINTS, metric).cost
        np.testing.assert_array_equal(found, ao.from_points(POINTS, metric).cost * scale**degree)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_distances_that_float32_cannot_hold_are_one_line(scale):
    assert "outside the range of float32" in said(ao.from_points, scale * POINTS, dtype="float32")
    assert ao.from_points(np.zeros((3, 2)), dtype="float32").cost.max() == 0


@pytest.mark.parametrize("geodesic", ["heat", "edge", "exact"])
@pytest.mark.parametrize("scale", [2.0**-490, 2.0**-66, 2.0**66, 2.0**490])
def test_the_unit_of_a_mesh_is_the_unit_of_its_costs(geodesic, scale):
    found = ao.from_mesh((scale * MESH[0], MESH[1]), geodesic=geodesic).cost
    np.testing.assert_array_equal(found, scale * ao.from_mesh(MESH, geodesic=geodesic).cost)
    row = None if geodesic == "exact" else ao.distances.MeshDistances((scale * MESH[0], MESH[1]), geodesic).row(1)
    assert row is None or np.array_equal(row, scale * ao.distances.MeshDistances(MESH, geodesic).row(1))


@pytest.mark.parametrize("offset", [1e9, 1e15])
def test_an_offset_of_points_costs_no_more_than_their_digits(offset):
    moved = offset + POINTS
    assert np.array_equal(ao.from_points(moved).cost, ao.from_points(moved - offset).cost)
