"""The heat method: against potpourri3d and exact distances, and independent of the order of work."""

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import Delaunay

import anchorot as ao
from anchorot._rescale import unit_of
from anchorot.io.geodesics import heat_geodesics, heat_rows
from anchorot.io.heat_method import MIN_COTANGENTS, _cotangents, make_delaunay, tufted, twice_area
from tests.strategies import examples

SEEDS = st.integers(0, 2**32)


def ball():
    mesh = trimesh.creation.icosphere(3)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def sheet(side, stretch=1.0):
    """A plane with a boundary; its faces are thin if it is stretched."""
    rng = np.random.default_rng(3)
    points = np.stack(np.meshgrid(np.arange(float(side)), np.arange(float(side))), -1).reshape(-1, 2)
    points += rng.uniform(-0.3, 0.3, points.shape)
    return np.column_stack([points * [1, stretch], np.zeros(side**2)]), Delaunay(points).simplices.astype(np.int64)


def fins():
    """Two balls and a sheet that meet in edges of three and four faces."""
    vertices, faces = ball()
    chosen = faces[:40]
    outer = np.concatenate([vertices, vertices[np.unique(chosen)] * 1.3])
    places = np.zeros(len(vertices), np.int64)
    places[np.unique(chosen)] = len(vertices) + np.arange(len(np.unique(chosen)))
    walls = np.column_stack([chosen[:, :2], places[chosen[:, 0]]])
    return outer, np.concatenate([faces, places[chosen], walls])


@pytest.mark.parametrize("mesh", [ball(), sheet(15), sheet(15, 40.0), fins()], ids=["ball", "sheet", "thin", "fins"])
def test_distances_are_those_of_potpourri3d(mesh, monkeypatch):
    """It adds 1e-6 to the diagonal, which makes long distances too short; so do we here."""
    monkeypatch.setattr("anchorot.io.heat_method._grounded", lambda diagonal: diagonal + 1e-6)
    potpourri3d = pytest.importorskip("potpourri3d")
    vertices, faces = mesh
    unit = unit_of(float(np.ptp(vertices, axis=0).max()))
    solver = potpourri3d.MeshHeatMethodDistanceSolver(vertices / unit, faces)
    index = np.arange(0, len(vertices), 37)
    theirs = unit * np.stack([solver.compute_distance(int(source))[index] for source in index])
    np.testing.assert_allclose(
        heat_geodesics(vertices, faces, index), (theirs + theirs.T) / 2, rtol=0, atol=1e-9 * theirs.max()
    )


@pytest.mark.parametrize("mesh", [ball(), sheet(15, 6.0)], ids=["ball", "sheet"])
def test_rows_do_not_depend_on_blocks_or_other_sources(mesh, monkeypatch):
    index = np.random.default_rng(0).permutation(len(mesh[0]))[:37]
    alone = heat_rows(*mesh)
    expected = np.stack([alone(int(source))[index] for source in index])
    expected = (expected + expected.T) / 2
    np.testing.assert_array_equal(heat_geodesics(*mesh, index), expected)
    np.testing.assert_array_equal(heat_geodesics(*mesh, index[::-1])[::-1, ::-1], expected)
    monkeypatch.setattr("anchorot.io.heat_method.BLOCK_SOURCES", 5)
    np.testing.assert_array_equal(heat_geodesics(*mesh, index), expected)


@pytest.mark.parametrize("stretch", [1.0, 8.0, 100.0])
def test_distances_on_a_plane_are_straight_however_thin_its_faces(stretch):
    vertices, faces = sheet(24, stretch)
    index = np.arange(0, len(vertices), 17)
    truth = np.linalg.norm(vertices[index, None] - vertices[None, index], axis=2)
    apart = ~np.eye(len(index), dtype=bool)
    error = np.abs(heat_geodesics(vertices, faces, index) - truth)[apart] / truth[apart]
    assert error.mean() < 0.025


def strip(n):
    """Two rows of n vertices, a unit apart."""
    vertices = np.column_stack([np.arange(2 * n) // 2, np.arange(2 * n) % 2, np.zeros(2 * n)])
    return vertices, np.concatenate([2 * np.arange(n - 1)[:, None] + np.array(own) for own in ([0, 2, 1], [1, 2, 3])])


def test_heat_is_not_lost_along_a_long_strip():
    x = ao.from_mesh(strip(1200), points=[0, 2398])
    assert x.cost[0, 1] == pytest.approx(1199, rel=0.001)


def test_heat_that_is_lost_is_one_clear_line():
    with pytest.raises(
        ao.InputError, match=r"the heat method fails on this mesh \(too fine for its size\?\); try geod"
    ):
        ao.from_mesh(strip(4000), points=[0, 7998])


@pytest.mark.parametrize("scale", [1.4, 1e-9, 3e200])
def test_scaling_a_mesh_scales_its_distances(scale):
    vertices, faces = sheet(20, 5.0)
    index = np.arange(0, len(vertices), 29)
    expected = scale * heat_geodesics(vertices, faces, index)
    np.testing.assert_allclose(heat_geodesics(scale * vertices, faces, index), expected, rtol=1e-9)


@examples(60)
@given(st.integers(3, 20), st.integers(1, 40), st.sampled_from([1.0, 1e-9, 0.0]), SEEDS)
def test_edges_are_exchanged_until_the_surface_is_delaunay_and_as_large_as_before(n, count, flatness, seed):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(n, 3)) * [1, 1, flatness]
    sides = tufted(vertices, rng.integers(0, n, (count, 3)))
    area = twice_area(*sides.length.reshape(-1, 3).T).sum()
    make_delaunay(sides)
    number = np.arange(len(sides.twin))
    np.testing.assert_array_equal(sides.twin[sides.twin], number)
    after = sides.corner.reshape(-1, 3)[:, [1, 2, 0]].ravel()
    np.testing.assert_array_equal(sides.corner[sides.twin], after)  # they run against each other
    np.testing.assert_array_equal(sides.length[sides.twin], sides.length)
    assert twice_area(*sides.length.reshape(-1, 3).T).sum() == pytest.approx(area, rel=1e-6)
    total = _cotangents(sides.length, number) + _cotangents(sides.length, sides.twin)
    assert (total[number // 3 != sides.twin // 3] >= MIN_COTANGENTS).all()


@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
@examples(60)
@given(st.integers(2, 20), st.integers(1, 40), st.sampled_from([1.0, 1e-200, 1e150]), st.integers(0, 3), SEEDS)
def test_any_faces_give_finite_distances(n, count, size, flat, seed):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(n, 3)) * size
    vertices[:, 3 - flat :] = 0
    try:
        x = ao.from_mesh((vertices, rng.integers(0, n, (count, 3))))
    except ao.InputError as error:
        assert "no face" in str(error) or "vertices coincide" in str(error)  # noqa: PT017
        return
    assert np.isfinite(x.cost).all()
    assert (np.diag(x.cost) == 0).all()
