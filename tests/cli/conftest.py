import numpy as np
import pytest

from tests.command_line import write_inputs


@pytest.fixture
def inputs(tmp_path):
    return write_inputs(tmp_path)


@pytest.fixture
def meshes(tmp_path):
    """Two bumpy balls of 2 562 vertices, the second the first with other numbers; and which vertex is which."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(4)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 3))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    height = np.exp(-8 * (1 - ball.vertices @ centres.T)) @ rng.uniform(0.3, 1.2, 5)
    vertices, order = ball.vertices * (1 + height)[:, None], rng.permutation(2562)
    trimesh.Trimesh(vertices, ball.faces, process=False).export(tmp_path / "a.off")
    truth = np.argsort(order)
    trimesh.Trimesh(vertices[order], truth[ball.faces], process=False).export(tmp_path / "b.off")
    return tmp_path, truth


@pytest.fixture
def small_meshes(tmp_path):
    """Two bumpy balls of 162 vertices, the second the first with other numbers; and which vertex is which."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2)
    rng = np.random.default_rng(0)
    bumps = 1 + 0.5 * np.exp(-6 * (1 - ball.vertices @ np.linalg.qr(rng.normal(size=(3, 3)))[0])) @ (1, 0.7, 0.4)
    vertices, order = ball.vertices * bumps[:, None], rng.permutation(162)
    trimesh.Trimesh(vertices, ball.faces, process=False).export(tmp_path / "a.off")
    truth = np.argsort(order)
    trimesh.Trimesh(vertices[order], truth[ball.faces], process=False).export(tmp_path / "b.off")
    return tmp_path, truth
