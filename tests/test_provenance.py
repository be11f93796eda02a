"""A space knows its file and how it was read."""

import pickle

import numpy as np
import pytest

import anchorot as ao
import anchorot.io.points

COST = np.array([[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


# -- where a space came from ------------------------------------------------------------------------------------------


def cloud_file(folder):
    np.savetxt(folder / "x.csv", np.random.default_rng(0).normal(size=(9, 2)), delimiter=",")
    return folder / "x.csv"


def test_a_space_knows_its_file_and_how_it_was_read(tmp_path):
    path = cloud_file(tmp_path)
    x = ao.read(path, kind="points", n_points=5, rng=np.int64(2), point_metric="euclidean", cache=True, max_bytes="1GB")
    assert x.origin == ao.io.Origin(str(path), {"kind": "points", "n_points": 5, "rng": 2})
    assert str(x.origin) == "x.csv, kind='points', n_points=5, rng=2"
    assert repr(x) == "Space(n=5, uniform, float64, from x.csv)"
    assert x.take([0, 1]).origin == x.sample(2, 0).origin == x.ranked().origin == x.origin
    assert pickle.loads(pickle.dumps(x)).origin == x.origin
    assert ao.Space(COST).origin is None


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)], ids=["none", "generator"])
def test_a_draw_without_a_seed_says_so(tmp_path, rng):
    assert ao.read(cloud_file(tmp_path), kind="points", n_points=5, rng=rng).origin.options["rng"] is None


def test_an_unused_seed_is_not_recorded(tmp_path):
    assert ao.read(cloud_file(tmp_path), kind="points", rng=7).origin.options == {"kind": "points"}


def test_a_long_name_leaves_the_repr_short(tmp_path):
    path = cloud_file(tmp_path).rename(tmp_path / f"{'x' * 90}.csv")
    assert repr(ao.read(path, kind="points")) == "Space(n=9, uniform, float64)"


def test_a_written_space_names_its_source_without_the_folder(tmp_path):
    x = ao.read(cloud_file(tmp_path), kind="points", n_points=5, rng=2)
    ao.write(x, tmp_path / "y.npz")
    y = ao.read(tmp_path / "y.npz", n_points=3, rng=1)
    options = {"kind": "points", "n_points": 5, "rng": 2}
    assert y.origin.source == ao.io.Origin("x.csv", options, version=ao.__version__)
    assert y.origin.reading == {"kind": "points", "n_points": 3, "rng": 1}
    assert str(tmp_path) not in str(np.load(tmp_path / "y.npz")["origin"])
    ao.write(y, tmp_path / "z.npz")
    again = ao.read(tmp_path / "z.npz")
    assert (
        str(again.origin)
        == "z.npz; originally y.npz, n_points=3, rng=1; originally x.csv, kind='points', n_points=5, rng=2"
    )


@pytest.mark.parametrize(
    "said",
    [
        *(
            "no JSON",
            "[]",
            "{}",
            '{"path": 3}',
            '{"path": "x", "options": 3}',
            '{"path": "x", "source": 1}',
            "[" * 9999,
        ),
        *('{"path": "x", "version": []}', '{"path": "' + "x" * 70_000 + '"}'),
    ],
    ids=range(9),
)
def test_a_file_with_an_impossible_origin_is_refused(tmp_path, said):
    np.savez(tmp_path / "x.npz", cost=COST, origin=np.array(said))
    with pytest.raises(ao.InputError, match=r"x\.npz: its origin cannot be read"):
        ao.read(tmp_path / "x.npz")
