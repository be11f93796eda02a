"""Meshes: geodesics against known ones, files of every format, and what is refused."""

import numpy as np
import pytest

import anchorot as ao
from tests.io.expected import SQUARE, arcs, icosphere


@pytest.mark.parametrize("geodesic", ["edge", "heat", "exact"])
def test_a_sample_keeps_the_costs_of_the_whole(geodesic):
    mesh = icosphere(2)
    whole, part = ao.from_mesh(mesh, geodesic=geodesic), ao.from_mesh(mesh, 9, geodesic, rng=1)
    np.testing.assert_allclose(part.cost, whole.cost[np.ix_(part.labels, part.labels)], atol=1e-9)
    assert part.geometry.index.tolist() == list(part.labels)
    assert part.geometry.positions.shape == (162, 3)


def test_farthest_points_cover_evenly():
    mesh = icosphere(3)

    def radius(space):
        return arcs(mesh[0])[:, list(space.labels)].min(axis=1).max()

    even = ao.from_mesh(mesh, 30, "edge", rng=0, sampling="farthest")
    assert len(set(even.labels)) == 30
    assert radius(even) < 0.75 * radius(ao.from_mesh(mesh, 30, "edge", rng=0, sampling="uniform"))


def test_meshes_are_covered_evenly_by_default(tmp_path):
    vertices, faces = icosphere(2)
    np.savez(tmp_path / "m.npz", V=vertices, F=faces)
    even, other = (ao.from_mesh((vertices, faces), 20, "edge", 3, sampling=s) for s in ("farthest", "uniform"))
    assert ao.from_mesh((vertices, faces), 20, "edge", 3).labels == even.labels != other.labels
    assert ao.read(tmp_path / "m.npz", n_points=20, geodesic="edge", rng=3).labels == even.labels


def test_farthest_points_are_the_farthest():
    x = ao.from_mesh(icosphere(2), geodesic="edge")
    chosen = ao.from_mesh(icosphere(2), 20, "edge", rng=5, sampling="farthest").labels
    for k in range(1, 20):
        max_cost = x.cost[list(chosen[:k])].min(axis=0)
        assert max_cost[chosen[k]] == pytest.approx(max_cost.max())


def test_vertices_on_one_spot_are_taken_once():
    vertices = np.concatenate([SQUARE[0], SQUARE[0]])
    faces = np.concatenate([SQUARE[1], [[0, 4, 1], [5, 6, 7], [1, 5, 2]]])
    x = ao.from_mesh((vertices, faces), 7, "edge", rng=0, sampling="farthest")
    assert len(set(x.labels)) == 7


def test_the_largest_component_is_kept_with_a_note():
    vertices, faces = icosphere(1)
    both = np.concatenate([SQUARE[0] + 9, vertices]), np.concatenate([SQUARE[1], faces + 4])
    with pytest.warns(ao.InputWarning, match="the mesh has 2 components; the largest is kept, 42 of 46 vertices"):
        x = ao.from_mesh(both, geodesic="edge")
    assert x.labels == tuple(range(4, 46))
    np.testing.assert_array_equal(x.cost, ao.from_mesh((vertices, faces), geodesic="edge").cost)


@pytest.mark.parametrize("sampling", ["farthest", "uniform"])
@pytest.mark.parametrize("n_points", [None, 4, 99])
def test_as_many_points_as_vertices_gives_all_in_order(n_points, sampling):
    assert ao.from_mesh(SQUARE, n_points, "edge", rng=1, sampling=sampling).labels == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("mesh", "options", "message"),
    [
        (SQUARE, {"geodesic": "fast"}, "geodesic must be one of"),
        (SQUARE, {"sampling": "best"}, "sampling must be one of"),
        (SQUARE, {"n_points": 0}, "n_points must be an integer >= 1"),
        ((SQUARE[0][:, :2], SQUARE[1]), {}, r"vertices has shape \(4, 2\)"),
        ((SQUARE[0], SQUARE[1][:0]), {}, r"faces has shape \(0, 3\)"),
        ((SQUARE[0], SQUARE[1] + 1), {}, "face 1 names the vertex 4, but vertices go from 0 to 3"),
        (SQUARE[0], {}, "got a ndarray, but a file, a trimesh or a pair"),
        ("m.docx", {}, "m.docx: unknown mesh format; known endings"),
    ],
)
def test_bad_arguments_get_one_clear_line(mesh, options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.from_mesh(mesh, **options)


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pygeodesic.geodesic", None)
    with pytest.raises(ao.MissingExtraError, match=r"pygeodesic is not installed.*anchorot\[exact\]"):
        ao.from_mesh(SQUARE, geodesic="exact")


def test_too_many_vertices_for_the_machine():
    flat = np.zeros((400_000, 3))
    strip = np.stack([np.arange(399_998), np.arange(1, 399_999), np.arange(2, 400_000)], axis=1)
    with pytest.raises(
        ao.InputError,
        match=r"costs between 400000 points take 1.19e\+03 GiB, but .* are free; keep fewer points \(n_points\)",
    ):
        ao.from_mesh((flat, strip), geodesic="edge")


def test_tosca_shapes(data):
    folder = data / "tosca_nonrigid3d"
    x = ao.read(folder / "cat0.mat", n_points=50, rng=0)
    assert x.n == 50
    assert x.geometry.n_sites == 3400
    with pytest.warns(ao.InputWarning, match=r"gorilla0\.mat has 24 components; the largest is kept, 1910 of 2046"):
        ao.read(folder / "gorilla0.mat", n_points=10)
    with pytest.raises(ao.InputError, match=r"michael0\.mat: exact geodesics need a surface, but 2 edges"):
        ao.read(folder / "michael0.mat", n_points=10, geodesic="exact")


@pytest.mark.system
def test_a_large_scan(data):
    x = ao.read(data / "shrec11_robust" / "0001.null.0.npz", n_points=12, rng=0)
    assert x.geometry.positions.shape == (52565, 3)
    y = ao.read(data / "shrec11_robust" / "0001.scaling.5.npz", n_points=12, rng=0)
    assert area(y.geometry) == pytest.approx(0.25 * area(x.geometry), rel=0.03)  # level 5 is half the size


def area(geometry):
    a, b, c = (geometry.positions[geometry.faces[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
