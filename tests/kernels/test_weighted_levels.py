"""Levels with weights: native and NumPy kernels agree, with each other and with sweeps; and what is at the edges."""

import numpy as np
import pytest

from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from anchorot._kernels.records import WeightedLevels, to_heights
from anchorot.anchors.features import AnchorFeatures, events_of_levels

SHAPES = [(1, 1), (1, 5), (3, 1), (4, 7), (9, 100), (17, 33)]  # anchors, levels


def made(shape, seed, total=1.0, ties=False):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape[::-1])
    values = np.sort(np.round(values) if ties else values, axis=0)
    order = np.argsort(values, axis=1, kind="stable")
    heights = to_heights(total * rng.dirichlet(np.ones(shape[0])))
    heights[0] += to_heights(np.array(total)) - heights.sum()
    return WeightedLevels(np.take_along_axis(values, order, axis=1), order.astype(np.uint32), heights)


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("second", SHAPES)
def test_both_kernels_agree_with_sweeps(first, second):
    x, y = made(first, 0), made(second, 1, ties=True)
    one, two = events_of_levels(x), events_of_levels(y)
    swept = kernels.sweep_energy(one, two, 1) / 2, kernels.sweep_transport(one, two, 1)
    moves = [AnchorFeatures(events=events).level_moves for events in (one, two)]
    root = kernels.level_sweep_transport(moves[0], one.mass, moves[1], two.mass)
    for each in (kernels, numpy_kernels):
        assert each.weighted_gaps(x, y, 2, 0.0, 1) == pytest.approx(swept[0], abs=1e-13)
        assert each.weighted_gaps(x, y, 1, 0.0, 1) == pytest.approx(swept[1], abs=1e-13)
        assert each.weighted_transport(x, y, 1) == pytest.approx(root, abs=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_what_a_side_lacks_of_mass_counts_up_to_the_limit(power):
    x, y = made((6, 9), 0, total=0.7), made((4, 3), 1, total=0.25)
    empty = WeightedLevels(np.empty((1, 0)), np.empty((1, 0), np.uint32), np.empty(0, np.int64))
    for each in (kernels, numpy_kernels):
        near, far = (each.weighted_gaps(x, y, power, limit, 1) for limit in (5.0, 15.0))
        assert far - near == pytest.approx(10 * 0.45**power, rel=1e-9)
        alone = each.weighted_gaps(x, empty, power, 15.0, 1)
        assert alone == each.weighted_gaps(empty, x, power, 15.0, 1)
        assert alone > 0
        assert each.weighted_gaps(empty, empty, power, 15.0, 1) == 0
    assert near == pytest.approx(kernels.weighted_gaps(x, y, power, 5.0, 1), rel=1e-12)


def test_the_same_masses_in_another_order_are_the_same():
    x = made((8, 5), 3)
    order = np.random.default_rng(0).permutation(8)
    y = WeightedLevels(x.levels, np.argsort(order).astype(np.uint32)[x.anchor], x.height[order])
    for each in (kernels, numpy_kernels):
        assert each.weighted_gaps(x, y, 1, 0.0, 1) == each.weighted_gaps(x, y, 2, 0.0, 1) == 0
        assert each.weighted_transport(x, y, 1) == 0


@pytest.mark.usefixtures("native_only")
def test_threads_change_no_bit():
    x, y = made((40, 300), 0), made((50, 170), 1)
    for function in (lambda t: kernels.weighted_gaps(x, y, 1, 0.0, t), lambda t: kernels.weighted_transport(x, y, t)):
        assert function(1) == function(2) == function(7)


def test_ranges_beyond_floats_are_infinite_and_extreme_squares_are_not():
    far = WeightedLevels(np.array([[-1.7e308], [1.7e308]]), np.zeros((2, 1), np.uint32), to_heights(np.ones(1)))
    x, y = made((3, 2), 0), made((2, 2), 1)
    for each in (kernels, numpy_kernels):
        assert each.weighted_gaps(far, x, 1, 0.0, 1) == each.weighted_transport(far, x, 1) == np.inf
        for unit in (2.0**900, 2.0**-900):
            scaled = [side._replace(levels=side.levels * unit) for side in (x, y)]
            wanted = each.weighted_transport(x, y, 1) * unit
            assert each.weighted_transport(*scaled, 1) == pytest.approx(wanted, rel=1e-12)
