"""Meshes: geodesics against known ones, files of every format, and what is refused."""

import numpy as np
import pytest
import scipy.io
import trimesh
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot._layout import drawable
from anchorot.io.geodesics import mesh_edges

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])


def icosphere(level):
    mesh = trimesh.creation.icosphere(level)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def arcs(points):
    """Distances between points of the unit sphere, along it."""
    return np.arccos(np.clip(points @ points.T, -1, 1))


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
def test_a_sample_keeps_the_costs_of_the_whole(geodesic):
    mesh = icosphere(2)
    whole, part = ao.from_mesh(mesh, geodesic=geodesic), ao.from_mesh(mesh, 9, geodesic, rng=1)
    np.testing.assert_allclose(part.cost, whole.cost[np.ix_(part.labels, part.labels)], atol=1e-9)
    assert part.geometry.index.tolist() == list(part.labels)
    assert part.geometry.positions.shape == (162, 3)


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


def test_farthest_points_cover_evenly():
    mesh = icosphere(3)

    def radius(space):
        return arcs(mesh[0])[:, list(space.labels)].min(axis=1).max()

    even = ao.from_mesh(mesh, 30, "edge", rng=0, sampling="farthest")
    assert len(set(even.labels)) == 30
    assert radius(even) < 0.75 * radius(ao.from_mesh(mesh, 30, "edge", rng=0, sampling="uniform"))


def test_meshes_are_covered_evenly_unless_told_otherwise(tmp_path):
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


@pytest.mark.parametrize("ending", ["off", "ply", "obj", "stl"])
def test_formats_of_trimesh(tmp_path, ending):
    mesh = trimesh.creation.icosphere(2)
    path = tmp_path / f"ball.{ending.upper()}"
    mesh.export(path, file_type=ending)
    x = ao.read(path, geodesic="edge")
    assert x.n == 162
    expected = np.sort(ao.from_mesh(mesh, geodesic="edge").cost.ravel())
    np.testing.assert_allclose(np.sort(x.cost.ravel()), expected, atol=1e-5)
    assert ao.from_mesh(path, 5, "edge").n == 5


def matlab(path, vertices, faces, **change):
    surface = {"X": vertices[:, [0]], "Y": vertices[:, [1]], "Z": vertices[:, [2]], "TRIV": faces + 1.0} | change
    scipy.io.savemat(path, {"surface": surface})
    return path


def test_matlab_and_npz(tmp_path):
    mesh = icosphere(1)
    np.savez(tmp_path / "m.npz", V=mesh[0], F=mesh[1])
    expected = ao.from_mesh(mesh, geodesic="edge").cost
    for path in (tmp_path / "m.npz", matlab(tmp_path / "m.mat", *mesh)):
        np.testing.assert_array_equal(ao.read(path, geodesic="edge").cost, expected)


OFF = "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.off", OFF[:30], "m.off: line 4 of its vertices has 1 numbers, but 3 are needed"),
        ("m.off", "", "m.off: not a mesh"),
        ("m.off", OFF.replace("3 0 2 3", "3 0 2 7"), "m.off: .*(face index outside the range|vertex 7)"),
        ("m.off", OFF.replace("1 1 0", "nan 1 0"), "m.off: vertices must be finite"),
        ("m.off", OFF.replace("4 2 0", "900000000 2 0"), "m.off: its header promises 900000000 vertices or faces"),
        ("m.ply", "ply\nformat ascii 1.0\nelement vertex 99999999999\n", "m.ply: its header promises 99999999999"),
        ("m.ply", "ply\nformat ascii 1.0\nelement vertex 1" + "0" * 30 + "\n", "m.ply: its header promises"),
        ("m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "m.obj: "),
        ("m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "m.obj: "),
        ("m.stl", "solid nothing\nendsolid nothing\n", "m.stl: "),
        ("m.mat", "nothing", r"m.mat: not a MATLAB file that can be read"),
    ],
)
def test_bad_meshes_get_one_clear_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    for read in (ao.read, ao.from_mesh, ao.MeshDistances, drawable):
        with pytest.raises(ao.InputError, match=message) as caught:
            read(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert str(caught.value).count(name) == 1


def test_bad_matlab_files_get_one_clear_line(tmp_path):
    vertices, faces = SQUARE
    for change, message in (
        ({"TRIV": faces * 1.0}, "face 0 names the vertex -1, but vertices go from 0 to 3"),
        ({"TRIV": faces + 1.5}, "faces must be whole numbers"),
        ({"X": np.zeros(3)}, "X, Y and Z have 3, 4 and 4 numbers"),
        ({"X": "text"}, "X holds <U4, but numbers are needed"),
        ({"X": {"inside": 1.0}}, "X holds .*, but numbers are needed"),
    ):
        with pytest.raises(ao.InputError, match=f"m.mat: {message}"):
            ao.read(matlab(tmp_path / "m.mat", vertices, faces, **change))
    scipy.io.savemat(tmp_path / "m.mat", {"other": 1})
    with pytest.raises(ao.InputError, match="a struct 'surface' of X, Y, Z and TRIV is needed, but the file holds o"):
        ao.read(tmp_path / "m.mat")


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
        ("m.docx", {}, "m.docx: not a mesh by its ending"),
    ],
)
def test_bad_arguments_get_one_clear_line(mesh, options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.from_mesh(mesh, **options)


def test_exact_refuses_what_would_crash_it():
    vertices, faces = SQUARE
    fan = np.concatenate([vertices, [[0, 0, 1.0]]]), np.concatenate([faces, [[0, 2, 4]]])
    with pytest.raises(ao.InputError, match="1 edges have more than two faces; try geodesic='heat' or 'edge'"):
        ao.from_mesh(fan, geodesic="exact")
    flat = np.concatenate([vertices, [[2.0, 0, 0]]]), np.concatenate([faces, [[0, 1, 4]]])
    with pytest.raises(ao.InputError, match="1 of this mesh have none; try geodesic='edge'"):
        ao.from_mesh(flat, geodesic="exact")
    assert ao.from_mesh(fan, geodesic="edge").n == ao.from_mesh(fan, geodesic="heat").n == 5


@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
@pytest.mark.parametrize("geodesic", ["edge", "heat", "exact"])
@pytest.mark.parametrize("faces", [[[1, 1, 1]], [[0, 0, 0]], [[0, 0, 1]], [[0, 1, 2], [2, 2, 2]]])
def test_faces_of_one_or_two_vertices_are_no_crash(geodesic, faces):
    try:
        x = ao.from_mesh((SQUARE[0][:3], faces), geodesic=geodesic)
    except ao.InputError:
        return
    assert np.isfinite(x.cost).all()


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


def test_heat_is_nearer_to_exact_than_edges_on_a_real_shape(data):
    path = data / "tosca_nonrigid3d" / "cat0.mat"
    edge, heat, exact = (ao.read(path, n_points=12, rng=0, geodesic=g).cost for g in ("edge", "heat", "exact"))
    apart = ~np.eye(12, dtype=bool)

    def error(cost):
        return (np.abs(cost - exact)[apart] / exact[apart]).mean()

    assert error(heat) < 0.5 * error(edge) < 0.05


@pytest.mark.system
def test_a_large_scan(data):
    x = ao.read(data / "shrec11_robust" / "0001.null.0.npz", n_points=12, rng=0)
    assert x.geometry.positions.shape == (52565, 3)
    y = ao.read(data / "shrec11_robust" / "0001.scaling.5.npz", n_points=12, rng=0)
    assert area(y.geometry) == pytest.approx(0.25 * area(x.geometry), rel=0.03)  # level 5 is half the size


def area(geometry):
    a, b, c = (geometry.positions[geometry.faces[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=12))
def test_edges_are_the_sides_of_the_faces_once_each_and_in_order(faces):
    sides = {tuple(sorted(side)) for a, b, c in faces for side in ((a, b), (b, c), (c, a))}
    assert mesh_edges(np.array(faces, np.int64).reshape(-1, 3)).tolist() == [list(side) for side in sorted(sides)]
