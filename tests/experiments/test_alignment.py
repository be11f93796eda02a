"""How alike two drawings look: turning and mirroring change nothing, and the reference agrees."""

import numpy as np
import pytest


@pytest.fixture
def alignment():
    from experiments.barycenters import alignment

    return alignment


def turn(points, degrees, *, mirrored=False):
    angle = np.deg2rad(degrees)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return points * ((-1, 1) if mirrored else (1, 1)) @ rotation.T


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_turned_moved_and_mirrored_cloud_looks_the_same(alignment, mirrored):
    points = np.random.default_rng(0).normal(size=(20, 2))
    moved = turn(points, 35, mirrored=mirrored) + np.array([3, -7])
    assert alignment.aligned_distance(points, moved) == pytest.approx(0, abs=1e-12)
    there = alignment.upright(points, [moved])
    np.testing.assert_allclose(there, moved - moved.mean(axis=0), atol=1e-12)


def test_aligned_distance_is_symmetric(alignment):
    one, two = np.random.default_rng(1).normal(size=(2, 15, 2)) * (3, 1)
    assert alignment.aligned_distance(one, two) == pytest.approx(alignment.aligned_distance(two, one))


def test_distance_is_the_mean_way_to_the_nearest_point_both_ways(alignment):
    short, long = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    # both points of the short one are 1 from the middle; the long one's are 2, 1 and 2 away
    assert alignment.aligned_distance(short, long) == pytest.approx(1 + 5 / 3)
