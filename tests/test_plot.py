"""Pictures and the map."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import anchorot as ao
from anchorot.mds import classical_mds, stress_layout
from anchorot.scene import scene


def test_the_map_keeps_distances_that_lie_in_a_plane():
    distances = squareform(pdist(np.random.default_rng(0).normal(size=(7, 2))))
    placed = classical_mds(distances**2)
    np.testing.assert_allclose(squareform(pdist(placed)), distances, atol=1e-10)


@pytest.mark.parametrize("count", [1, 2])
def test_the_map_of_very_few_spaces(count):
    assert classical_mds(np.zeros((count, count))).shape == (count, 2)


def test_plots_draw_on_the_axes_given_and_return_it():
    pytest.importorskip("matplotlib")
    from anchorot.plot import distance_map, distance_matrix, new_figure

    distances = squareform(pdist(np.random.default_rng(0).normal(size=(5, 3))))
    groups = ["a", "a", "b", "b", "c"]
    left, right = new_figure(6, 3).subplots(1, 2)
    assert distance_matrix(distances, groups, ax=left) is left
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", "b", "c"]
    assert distance_map(distances, groups, ax=right) is right
    assert len(right.collections) == 3


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


@pytest.mark.parametrize("n", [1, 2, 5])
def test_points_on_one_spot_can_be_laid_out(n):
    assert np.isfinite(stress_layout(np.zeros((n, n)))).all()
    both = np.kron(1 - np.eye(2), np.ones((n, n)))
    assert np.isfinite(stress_layout(both)).all()


def test_a_scene_keeps_the_positions_a_space_came_with():
    points = np.random.default_rng(0).normal(size=(6, 3))
    drawn = scene(ao.from_points(points).take([3, 5]))
    assert drawn.positions.tolist() == points.tolist()
    assert drawn.index.tolist() == [3, 5]
    assert scene(ao.Space(ao.from_points(points).cost)).positions.shape == (6, 2)
