"""The grid of cells over which anchors are averaged."""

import numpy as np
import pytest

import anchorot as ao


def bound(e, f):
    return 2 * float(((e.astype(float) - f.astype(float)) ** 2).sum())


def test_a_grid_that_meets_all_steps_has_the_energy_itself():
    line, triangle = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert bound(*ao.embed([line, triangle], (2, 3))) == pytest.approx(8 / 27, rel=1e-6)


def test_x_runs_along_the_first_axis():
    low, high = np.zeros((1, 1)), np.ones((1, 1))
    e, f = ao.embed([low, high], ao.anchors.Grid((2, 3), 0.0, 2.0)).reshape(2, 2, 3)
    assert (e > 0).all()
    assert (f[0] == 0).all()
    assert (f[1] == e[1]).all()


def test_spaces_all_alike_have_a_grid_too():
    grid = ao.anchors.Grid.around([np.full((2, 2), 5.0)])
    assert grid.low < grid.high
    assert np.isfinite(ao.embed([np.full((2, 2), 5.0)])).all()
