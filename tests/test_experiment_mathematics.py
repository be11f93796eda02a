"""The mathematics that experiments do on their own: queries made from shapes, and scores of alignments."""

from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.kernel_free

SIDE = 40


@pytest.fixture(autouse=True)
def checkout(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1])


@pytest.fixture
def mesh():
    from experiments.robustness.shapes import Mesh

    return Mesh(np.random.default_rng(0).uniform(size=(SIDE**2, 3)), np.array([[0, 1, 2]]))


def test_query_of_scale_is_the_shape_in_another_size(mesh):
    from experiments.robustness.shapes import query

    found = query(mesh, 5, "scale", np.random.default_rng(0))
    assert found.diagonal == pytest.approx(0.5 * mesh.diagonal)
    np.testing.assert_allclose(found.vertices, 0.5 * mesh.vertices)


def test_noise_of_a_query_is_a_share_of_its_size(mesh):
    from experiments.robustness.shapes import SCALES, query

    for level in (1, 5):
        found = query(mesh, level, "scale + noise", np.random.default_rng(0))
        moved = found.vertices - SCALES[level] * mesh.vertices
        sigma = 3.43e-4 * (3 * level + 1) * SCALES[level] * mesh.diagonal
        assert moved.std() == pytest.approx(sigma, rel=0.05)


def test_perfect_alignment_has_nothing_closer_than_the_true_match():
    from experiments.beyond.cells import foscttm

    points = np.random.default_rng(0).normal(size=(20, 3))
    assert (foscttm(points, points) == 0).all()


def test_closer_cells_are_counted_in_both_directions():
    from experiments.beyond.cells import foscttm

    # nothing is closer to 0 than its match 2, but 1.9 is closer to 2; to 1.9 the 2 is closer than its match 2.1
    found = foscttm(np.array([[0.0], [1.9], [5.0]]), np.array([[2.0], [2.1], [5.0]]))
    np.testing.assert_allclose(found, [1 / 4, 1 / 4, 0])


def test_nearest_other_is_never_the_neuron_itself():
    from experiments.beyond.neurons import leave_one_out

    matrix = np.array([[0, 1, 9], [1, 0, 9], [9, 8, 0.0]])
    assert leave_one_out(matrix, np.array(["a", "a", "b"])).tolist() == [1, 1, 0]
