"""Candidates: the nearest by looks, their ranks, and limits."""

import numpy as np
import pytest

from anchorot.align.graphs.sparse import pairs
from anchorot.align.graphs.sparse.pairs import nearest, nearest_of_kind, ranks


@pytest.mark.parametrize(("n", "m", "count"), [(7, 5, 3), (40, 300, 6), (30, 1000, 30), (1, 1, 4), (50, 50, 50)])
def test_the_nearest_are_those_of_all_distances(n, m, count, monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK_NUMBERS", 4000)
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(n, 3)).astype(np.float32), rng.normal(size=(m, 3)).astype(np.float32)
    distance = np.square(x[:, None].astype(float) - y).sum(axis=2)
    found = nearest(x, y, count)
    assert found.shape == (n, min(count, m))
    wanted = np.sort(distance, axis=1)[:, : min(count, m)]
    np.testing.assert_allclose(np.take_along_axis(distance, found, axis=1), wanted, rtol=1e-4, atol=1e-5)


def test_the_nearest_of_a_kind_are_of_that_kind_and_named_once():
    rng = np.random.default_rng(0)
    points = tuple(rng.normal(size=(size, 4)).astype(np.float32) for size in (30, 40))
    kinds = tuple(rng.integers(0, 4, size) for size in (30, 40))
    names, rank = nearest_of_kind(points, kinds, 3, 40)
    i, j = names // 40, names % 40
    assert np.all(kinds[0][i] == kinds[1][j])
    assert np.all(np.diff(names) > 0)
    distance = np.square(points[0][:, None] - points[1]).sum(axis=2)
    distance[kinds[0][:, None] != kinds[1]] = np.inf
    by_row, by_column = (np.argsort(np.argsort(distance, axis=axis), axis=axis) for axis in (1, 0))
    np.testing.assert_array_equal(rank, np.minimum(by_row, by_column)[i, j])
    is_near = (np.minimum(by_row, by_column) < 3) & np.isfinite(distance)
    np.testing.assert_array_equal(names, np.flatnonzero(is_near))


def test_ranks_begin_anew_in_every_group():
    group, worth = np.array([2, 0, 2, 2, 0]), np.array([1, 5, 3, 3, 7], np.float32)
    assert ranks(group, worth, np.array([0, 1, 4, 3, 4])).tolist() == [2, 1, 1, 0, 0]
