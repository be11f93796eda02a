"""Spaces as arrays: written and read back to the last bit; impossible ones are refused."""

import numpy as np
import pytest
from hypothesis import given

import anchorot as ao
import anchorot.io.points
from tests.strategies import assert_same, spaces

COST = np.array([[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


@given(spaces())
def test_writing_and_reading_changes_no_bit(tmp_path_factory, x):
    path = tmp_path_factory.mktemp("io") / "space.npz"
    ao.write(x, path)
    assert_same(ao.read(path), x)


@pytest.mark.parametrize("n", [3, 49, 98, 103, 196])
def test_checking_weights_twice_changes_nothing(n):
    weights = np.random.default_rng(n).random(n)
    for once in (ao.Space(np.eye(n)), ao.Space(np.eye(n), weights / weights.sum())):
        assert ao.Space(np.eye(n), once.weights).weights.tobytes() == once.weights.tobytes()


def test_a_mesh_a_graph_and_a_cloud_are_written_with_their_geometry(tmp_path):
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]], [[0, 1, 2], [0, 2, 3]]
    mesh = ao.from_mesh(square, 3, "edge", rng=0)
    for x in (mesh, ao.from_graph([(0, 1), (1, 2), (2, 3)]), ao.from_points([[0.0, 1], [2, 3], [4, 5]])):
        ao.write(x, tmp_path / "x.npz")
        assert_same(ao.read(tmp_path / "x.npz"), x)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"geometry_index": np.array([0, 1, 9])}, "geometry_index names sites 0 to 9, but there are 4"),
        ({"geometry_index": np.array(0)}, r"geometry_index has shape \(\) and dtype int64"),
        ({"geometry_faces": np.array([[0, 1, -1]])}, "geometry_faces names sites -1 to 1"),
        ({"geometry_faces": np.array([[0.0, 1, 2]])}, "geometry_faces has shape .* dtype float64"),
        ({"geometry_edges": np.array([[0, 1, 2]])}, r"geometry_edges has shape \(1, 3\)"),
        ({"geometry_positions": np.full((4, 2), np.nan)}, "numbers that are not finite"),
        ({"geometry_positions": np.zeros((3, 2))}, "geometry_n_sites is 4, which does not fit"),
        ({"geometry_n_sites": np.array(1 << 40)}, "geometry_n_sites is 1099511627776"),
    ],
)
def test_a_file_with_an_impossible_geometry_is_refused(tmp_path, wrong, message):
    good = {"cost": COST, "geometry_index": np.arange(3), "geometry_n_sites": np.array(4)}
    np.savez(tmp_path / "x.npz", **good)
    assert ao.read(tmp_path / "x.npz").geometry.n_sites == 4
    np.savez(tmp_path / "x.npz", **good | wrong)
    with pytest.raises(ao.InputError, match=rf"x\.npz: .*{message}"):
        ao.read(tmp_path / "x.npz")


@pytest.mark.parametrize("types", [["H", "C", "H"], [6, 1, -2], [True, False, True], [0.5, 1.0, 0.5], ["ç", "", "x"]])
def test_types_and_features_are_kept(tmp_path, types):
    x = ao.Space(COST, types=types, features=[[1, 2], [3, 4], [5, 6]])
    ao.write(x, tmp_path / "x.npz")
    again = ao.read(tmp_path / "x.npz")
    assert again.types == tuple(types)
    assert [type(kind) for kind in again.types] == [type(kind) for kind in types]
    np.testing.assert_array_equal(again.features, x.features)


@pytest.mark.parametrize("types", [["H", 1, "H"], [(1, 2), (1, 3), (1, 2)], [2**70, 1, 1], ["a\0", "b", "c"]])
def test_types_that_would_change_are_not_written(tmp_path, types):
    with pytest.raises(ao.InputError, match="cannot be written; make all of them texts, or all integers"):
        ao.write(ao.Space(COST, types=types), tmp_path / "x.npz")
    assert not list(tmp_path.iterdir())


def test_labels_and_number_types_are_kept(tmp_path):
    x = ao.Space(COST.astype(np.float32), [0.5, 0.25, 0.25], labels=["a", "b", "ç"])
    ao.write(x, tmp_path / "x.npz")
    again = ao.read(tmp_path / "x.npz")
    assert again.labels == ("a", "b", "ç")
    assert again.cost.dtype == np.float32
