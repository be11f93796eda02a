"""Synthetic shapes: closed surfaces with known areas and distances."""

from collections import Counter

import numpy as np
import pytest

from anchorot import datasets
from anchorot.datasets.shapes import KINDS, _skin, surface_of


@pytest.mark.parametrize("kind", KINDS)
def test_the_skin_of_a_figure_is_closed_in_one_piece_and_faces_outwards(kind):
    vertices, faces, shares = _skin(KINDS[kind])
    directed = Counter(tuple(face[[i, (i + 1) % 3]]) for face in faces for i in range(3))
    assert set(directed.values()) == {1}
    assert all((b, a) in directed for a, b in directed)
    assert len(vertices) - len(directed) // 2 + len(faces) == 2  # no handles
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    assert np.einsum("fi,fi->f", a, np.cross(b, c)).sum() > 0  # six times the volume
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_a_sphere_on_a_grid_has_the_area_and_volume_of_a_sphere():
    axis = np.linspace(-1.5, 1.5, 61)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    vertices, faces = surface_of(1 - np.linalg.norm(grid, axis=-1), np.full(3, -1.5), 0.05)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    assert areas.sum() == pytest.approx(4 * np.pi, rel=0.01)
    assert np.einsum("fi,fi->f", a, np.cross(b, c)).sum() / 6 == pytest.approx(4 * np.pi / 3, rel=0.01)


def test_poses_keep_distances_along_the_skin():
    straight, bent = datasets.figures(["dog"], 2, 60)
    assert straight.labels == bent.labels
    change = np.abs(straight.cost - bent.cost)
    assert 0 < change.mean() < 0.05 * straight.cost.mean()
