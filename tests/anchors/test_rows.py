"""Costs between every anchor of one space and every anchor of another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.rows import row_costs
from tests import reference
from tests.strategies import scale_of, spaces

POWERS = st.integers(1, 4)


def naive_costs(x, y, p):
    return np.array(
        reference.row_costs(x.cost.tolist(), y.cost.tolist(), x.weights.tolist(), y.weights.tolist(), p), float
    )


# -- costs between anchors -----------------------------------------------------------------------------------------


@given(spaces(), spaces(), POWERS)
def test_costs_agree_with_the_naive_loop(x, y, p):
    np.testing.assert_allclose(
        row_costs(x, y, p, 1), naive_costs(x, y, p), rtol=1e-10, atol=1e-12 * scale_of(x, y) ** p
    )


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (16, 16), (33, 33), (130, 130), (40, 25), (130, 33)])
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_in_tiles_agree_with_single_pairs(n, m, p, weighted):
    rng = np.random.default_rng(n)
    x, y = (ao.Space(rng.normal(size=(k, k)), rng.dirichlet(np.ones(k)) if weighted else None) for k in (n, m))
    costs = row_costs(x, y, p, 1)
    for i, j in [(0, 0), (n - 1, m - 1), (n // 2, m // 3)]:
        assert costs[i, j] == pytest.approx(ao.anchors.ot_1d(x.cost[i], y.cost[j], x.weights, y.weights, p), rel=1e-10)
    np.testing.assert_array_equal(row_costs(x, y, p, 3), costs)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_rows_that_are_equal_cost_nothing(p):
    x = ao.from_points(np.random.default_rng(0).normal(size=(50, 3)))
    assert (np.diag(row_costs(x, x, p, 1)) == 0).all()


def test_squared_costs_of_near_rows_keep_their_digits():
    x = ao.from_points(np.random.default_rng(0).normal(size=(50, 3)))
    y = ao.Space(np.ldexp(np.round(np.ldexp(x.cost, 40)), -40))  # apart by about 1e-13
    for i, found in enumerate(np.diag(row_costs(x, y, 2, 1))):
        assert found == pytest.approx(ao.anchors.ot_1d(x.cost[i], y.cost[i], p=2), rel=1e-3, abs=0)
