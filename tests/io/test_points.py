"""Spaces from clouds of points in files."""

import numpy as np
import pytest

import anchorot as ao
import anchorot.io.points


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.npz"])
def test_points(tmp_path, name):
    points = np.array([[0.0, 0.0], [3.0, 4.0]])
    path = tmp_path / name
    if name.endswith("npy"):
        np.save(path, points)
    elif name.endswith("npz"):
        np.savez(path, points=points)
    else:
        np.savetxt(path, points, delimiter=",")
    assert ao.read(path, kind="points").cost.tolist() == [[0, 5], [5, 0]]
    assert ao.read(path, kind="points", point_metric="cityblock").cost.tolist() == [[0, 7], [7, 0]]


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 2}], ids=str)
def test_what_write_has_written_can_be_read_as_points(tmp_path, options):
    rows = ao.from_points([[0.0, 1.0], [2.0, 0.0], [3.0, 3.0]], labels=["a", "b", "c"], types=["x", "y", "z"])
    ao.write(rows, tmp_path / "x.npz")  # with a geometry
    ao.write(ao.read(tmp_path / "x.npz"), tmp_path / "y.npz")  # and an origin
    found = ao.read(tmp_path / "y.npz", kind="points", **options)
    assert (found.labels, found.types) == (rows.labels, rows.types)
    if not options:
        np.testing.assert_array_equal(found.cost, ao.from_points(rows.cost).cost)


def test_a_sample_of_points(tmp_path):
    whole = ao.Space(ao.from_points(np.random.default_rng(0).normal(size=(20, 2))).cost, labels=range(20))
    ao.write(whole, tmp_path / "x.npz")
    part = ao.read(tmp_path / "x.npz", n_points=6, rng=2)
    chosen = [int(label) for label in part.labels]
    assert len(set(chosen)) == 6
    np.testing.assert_array_equal(part.cost, whole.cost[np.ix_(chosen, chosen)])
    assert ao.read(tmp_path / "x.npz", n_points=99).n == 20


LINE = np.outer(np.arange(6.0), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("make", [ao.from_points, lambda points, metric: ao.from_neighbors(points, 2, metric)])
@pytest.mark.parametrize(
    ("points", "metric", "message"),
    [
        (LINE, "mahalanobis", "needs points that vary in all 3 dimensions, not in 1; use fewer dimensions"),
        (LINE + 1e8, "mahalanobis", "needs points that vary in all 3 dimensions, not in 1; use fewer dimensions"),
        (np.ones((6, 2)), "seuclidean", "is not defined between points"),
    ],
)
def test_metrics_that_need_points_in_general_position(make, points, metric, message):
    with pytest.raises(ao.InputError, match=message):
        make(points, metric)


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_one_point_does_not_vary(metric):
    with pytest.raises(ao.InputError, match=f"metric '{metric}' needs at least two points, to estimate their variance"):
        ao.from_points([[1.0, 2.0]], metric)


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_blocks_of_points_change_no_neighbours(monkeypatch, metric):
    points = np.random.default_rng(0).normal(size=(40, 3)) * [1, 10, 100]
    whole = ao.from_neighbors(points, 6, metric, mode="distance").cost
    monkeypatch.setattr(anchorot.io.points, "BLOCK_BYTES", 1)
    np.testing.assert_array_equal(ao.from_neighbors(points, 6, metric, mode="distance").cost, whole)
