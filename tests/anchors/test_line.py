"""Optimal transport on the line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests import reference
from tests.strategies import COSTS, weight_vectors


@st.composite
def samples(draw):
    values = draw(st.lists(COSTS, min_size=1, max_size=8))
    return values, draw(weight_vectors(len(values)))


@given(samples(), samples(), st.integers(1, 4))
def test_agrees_with_the_north_west_corner(one, two, p):
    (x, wx), (y, wy) = one, two
    ref = reference.ot_1d(x, y, wx.tolist(), wy.tolist(), p)
    scale = np.ptp([*x, *y])
    assert ao.anchors.ot_1d(x, y, wx, wy, p) == pytest.approx(ref, rel=1e-10, abs=1e-13 * scale**p)


@given(samples())
def test_distance_to_itself_is_zero(one):
    x, w = one
    assert ao.anchors.ot_1d(x, x, w, w) == 0


def test_a_shift_costs_its_power():
    x = np.random.default_rng(0).normal(size=10)
    assert ao.anchors.ot_1d(x, x + 2, p=3) == pytest.approx(8)


def test_values_of_weight_zero_change_nothing():
    assert ao.anchors.ot_1d([1e300, 1, 2], [3, 5], [0, 0.5, 0.5], p=3) == ao.anchors.ot_1d([1, 2], [3, 5], p=3)


@pytest.mark.parametrize(("factor", "p"), [(1.5e308, 1), (1e200, 2), (1e110, 3)])
def test_overflow_is_one_clear_line(factor, p):
    with pytest.raises(ao.InputError, match="exceed the range of float64; divide all costs by their largest first"):
        ao.anchors.ot_1d([-factor], [factor], p=p)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [1]), r"x has shape \(0,\), but"),
        (([1], [[1]]), r"y has shape \(1, 1\), but"),
        (([np.nan], [1]), "x must be finite"),
        (([1, 2], [1], [0.5]), r"weights has shape \(1,\), but x has 2 points"),
    ],
)
def test_bad_samples_get_one_clear_line(arguments, message):
    with pytest.raises(ao.InputError, match=message):
        ao.anchors.ot_1d(*arguments)
