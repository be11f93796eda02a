"""Where points are drawn: maps of distances, layouts, and the scene of a space."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import anchorot as ao
from anchorot._layout import classical_mds, scene, stress_layout


def test_the_map_keeps_distances_that_lie_in_a_plane():
    distances = squareform(pdist(np.random.default_rng(0).normal(size=(7, 2))))
    placed = classical_mds(distances**2)
    np.testing.assert_allclose(squareform(pdist(placed)), distances, atol=1e-10)


@pytest.mark.parametrize("count", [1, 2])
def test_the_map_of_very_few_spaces(count):
    assert classical_mds(np.zeros((count, count))).shape == (count, 2)


def test_stress_layout_spreads_a_ring_as_a_ring():
    n = 12
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    placed = stress_layout(np.minimum(steps, n - steps).astype(float))
    radii = np.linalg.norm(placed - placed.mean(axis=0), axis=1)
    assert np.ptp(radii) < 0.01 * radii.mean()


def test_stress_layout_of_a_cloud_in_the_plane_is_the_cloud():
    points = np.random.default_rng(0).normal(size=(20, 2))
    distances = ao.from_points(points).cost
    np.testing.assert_allclose(ao.from_points(stress_layout(distances)).cost, distances, atol=0.02)


def test_many_points_are_laid_out_as_few_are():
    points = np.random.default_rng(0).normal(size=(700, 2))
    distances = ao.from_points(points).cost
    np.testing.assert_allclose(ao.from_points(stress_layout(distances)).cost, distances, atol=0.05)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_points_on_one_spot_can_be_laid_out(n):
    assert np.isfinite(stress_layout(np.zeros((n, n)))).all()
    both = np.kron(1 - np.eye(2), np.ones((n, n)))
    assert np.isfinite(stress_layout(both)).all()


def test_a_scene_joins_the_right_points():
    path = ao.from_graph([(0, 1), (1, 2), (2, 3), (3, 4)]).take([3, 0, 4, 2, 1])
    drawn = scene(path)
    ends = drawn.positions[drawn.edges]
    np.testing.assert_allclose(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1), 1, atol=0.01)
    np.testing.assert_allclose(ao.from_points(drawn.positions[drawn.index]).cost, path.cost, atol=0.01)


def test_a_scene_keeps_the_positions_a_space_came_with():
    points = np.random.default_rng(0).normal(size=(6, 3))
    drawn = scene(ao.from_points(points).take([3, 5]))
    assert drawn.positions.tolist() == points.tolist()
    assert drawn.index.tolist() == [3, 5]
    assert scene(ao.Space(ao.from_points(points).cost)).positions.shape == (6, 2)


@pytest.mark.parametrize("offset", [1e9, -1e12, 1e15])
def test_a_common_offset_of_the_costs_changes_no_drawing(offset):
    cost = np.round(8 * ao.from_points(np.random.default_rng(0).normal(size=(9, 2)) * 10).cost) / 8
    np.testing.assert_array_equal(scene(ao.Space(cost + offset)).positions, scene(ao.Space(cost)).positions)


def test_extreme_costs_can_be_laid_out():
    points = np.random.default_rng(0).normal(size=(20, 2))
    distances = ao.from_points(points).cost.copy()
    for scale in (1e-300, 1e300):
        assert np.isfinite(stress_layout(scale * distances)).all()
    distances[0, 1:] = distances[1:, 0] = 1e18
    distances[2, 3] = distances[3, 2] = 1e-12
    assert np.isfinite(stress_layout(distances)).all()
