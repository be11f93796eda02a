"""Geodesics: errors against known distances, symmetry and units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.io.geodesics import mesh_edges
from tests.io.expected import SQUARE, arcs, icosphere


def mean_error(space, vertices):
    truth = arcs(vertices[list(space.labels)])
    apart = ~np.eye(space.n, dtype=bool)
    return float((np.abs(space.cost - truth)[apart] / truth[apart]).mean())


def test_errors_on_a_sphere_are_as_documented():
    mesh = icosphere(4)  # 2562 vertices
    errors = {
        name: mean_error(ao.from_mesh(mesh, n, name, rng=0), mesh[0])
        for name, n in (("edge", 60), ("heat", 60), ("exact", 15))
    }
    assert errors["edge"] == pytest.approx(0.067, abs=0.01)
    assert errors["heat"] == pytest.approx(0.010, abs=0.004)
    assert errors["exact"] == pytest.approx(0.0006, abs=0.0002)


@pytest.mark.parametrize("geodesic", ["edge", "heat", "exact"])
def test_costs_are_symmetric_with_zero_diagonals(geodesic):
    x = ao.from_mesh(icosphere(2), geodesic=geodesic)
    assert (x.cost == x.cost.T).all()
    assert np.abs(np.diag(x.cost)).max() < 1e-9
    assert x.n == 162


@pytest.mark.parametrize("geodesic", ["edge", "heat", "exact"])
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
def test_the_unit_of_a_mesh_is_that_of_its_costs(geodesic, scale):
    vertices, faces = icosphere(1)
    vertices = vertices + np.random.default_rng(0).normal(scale=0.1, size=vertices.shape)  # no ties in distances
    plain, scaled = (ao.from_mesh((vertices * size, faces), 20, geodesic, rng=0) for size in (1.0, scale))
    assert scaled.labels == plain.labels
    np.testing.assert_allclose(scaled.cost / scale, plain.cost, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("geodesic", ["edge", "heat", "exact"])
@pytest.mark.parametrize("size", [1.7e308, 8e307])
def test_distances_beyond_the_range_of_floats_are_one_clear_line(geodesic, size):
    vertices, faces = icosphere(2)
    with pytest.raises(ao.InputError, match="distances along the mesh are outside the range of float64; choose"):
        ao.from_mesh((vertices * size, faces), geodesic=geodesic)


def test_exact_crosses_faces():
    bent = ao.from_mesh(SQUARE, geodesic="exact")
    assert bent.cost[1, 3] == pytest.approx(np.sqrt(2))
    assert ao.from_mesh(SQUARE, geodesic="edge").cost[1, 3] == 2


def test_exact_refuses_meshes_that_would_crash_it():
    vertices, faces = SQUARE
    fan = np.concatenate([vertices, [[0, 0, 1.0]]]), np.concatenate([faces, [[0, 2, 4]]])
    with pytest.raises(ao.InputError, match="1 edges have more than two faces; try geodesic='heat' or 'edge'"):
        ao.from_mesh(fan, geodesic="exact")
    flat = np.concatenate([vertices, [[2.0, 0, 0]]]), np.concatenate([faces, [[0, 1, 4]]])
    with pytest.raises(ao.InputError, match="1 of this mesh have none; try geodesic='edge'"):
        ao.from_mesh(flat, geodesic="exact")
    assert ao.from_mesh(fan, geodesic="edge").n == ao.from_mesh(fan, geodesic="heat").n == 5


def test_heat_is_nearer_to_exact_than_edges_on_a_real_shape(data):
    path = data / "tosca_nonrigid3d" / "cat0.mat"
    edge, heat, exact = (ao.read(path, n_points=12, rng=0, geodesic=g).cost for g in ("edge", "heat", "exact"))
    apart = ~np.eye(12, dtype=bool)

    def error(cost):
        return (np.abs(cost - exact)[apart] / exact[apart]).mean()

    assert error(heat) < 0.5 * error(edge) < 0.05


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=12))
def test_edges_are_the_sides_of_the_faces_once_each_and_in_order(faces):
    sides = {tuple(sorted(side)) for a, b, c in faces for side in ((a, b), (b, c), (c, a))}
    assert mesh_edges(np.array(faces, np.int64).reshape(-1, 3)).tolist() == [list(side) for side in sorted(sides)]
