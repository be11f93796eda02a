"""Meshes from files of every format, and what is refused."""

import numpy as np
import pytest
import scipy.io
import trimesh

import anchorot as ao
from anchorot._layout import drawable
from tests.io.expected import SQUARE, icosphere


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
    for read in (ao.read, ao.from_mesh, ao.distances.MeshDistances, drawable):
        with pytest.raises(ao.InputError, match=message) as caught:
            read(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert str(caught.value).count(name) == 1


def test_bad_matlab_files_get_one_clear_line(tmp_path):
    vertices, faces = SQUARE
    for change, message in (
        ({"TRIV": faces * 1.0}, "face 0 names the vertex -1, but vertices go from 0 to 3"),
        ({"TRIV": faces + 1.5}, "faces must be integers"),
        ({"X": np.zeros(3)}, "X, Y and Z have 3, 4 and 4 numbers"),
        ({"X": "text"}, "X holds <U4, but numbers are needed"),
        ({"X": {"inside": 1.0}}, "X holds .*, but numbers are needed"),
    ):
        with pytest.raises(ao.InputError, match=f"m.mat: {message}"):
            ao.read(matlab(tmp_path / "m.mat", vertices, faces, **change))
    scipy.io.savemat(tmp_path / "m.mat", {"other": 1})
    with pytest.raises(ao.InputError, match="a struct 'surface' of X, Y, Z and TRIV is needed, but the file holds o"):
        ao.read(tmp_path / "m.mat")


@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
@pytest.mark.parametrize("geodesic", ["edge", "heat", "exact"])
@pytest.mark.parametrize("faces", [[[1, 1, 1]], [[0, 0, 0]], [[0, 0, 1]], [[0, 1, 2], [2, 2, 2]]])
def test_faces_of_one_or_two_vertices_are_no_crash(geodesic, faces):
    try:
        x = ao.from_mesh((SQUARE[0][:3], faces), geodesic=geodesic)
    except ao.InputError:
        return
    assert np.isfinite(x.cost).all()
