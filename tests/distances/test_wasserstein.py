"""Anchor Wasserstein: its costs, its exact and its entropic solution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import anchorot as ao
from anchorot.anchors.rows import AnchorRows, row_costs
from anchorot.distances.wasserstein import _level_potentials
from tests import reference
from tests.distances.extremes import EXTREMES
from tests.strategies import clouds, scale_of, spaces, with_a_light_point

POWERS = st.integers(1, 4)


def naive_costs(x, y, p):
    return np.array(
        reference.row_costs(x.cost.tolist(), y.cost.tolist(), x.weights.tolist(), y.weights.tolist(), p), float
    )


def linear_program(costs, a, b):
    """Smallest transport cost, by SciPy's general solver."""
    n, m = costs.shape
    marginals = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    return linprog(costs.ravel(), A_eq=marginals, b_eq=np.concatenate([a, b])).fun


def test_a_space_is_at_no_bound_from_itself():
    x = ao.from_points(np.random.default_rng(0).normal(size=(50, 3)))
    bounds = ao.lower_bounds(x, x)
    assert (bounds.flb, bounds.slb, bounds.tlb) == (0, 0, 0)


# -- exact ---------------------------------------------------------------------------------------------------------


@given(spaces(), spaces(), POWERS)
def test_exact_value_agrees_with_linear_programming(x, y, p):
    found = ao.anchor_wasserstein(x, y, p, epsilon=0)
    expected = linear_program(naive_costs(x, y, p), x.weights, y.weights)
    assert found.value == pytest.approx(expected, rel=1e-8, abs=1e-8 * scale_of(x, y) ** p)
    assert found.value == found.cost
    assert found.converged
    assert found.marginal_error < 1e-12


@given(spaces(), spaces(), POWERS)
def test_exact_potentials_prove_the_optimum(x, y, p):
    found = ao.anchor_wasserstein(x, y, p, epsilon=0)
    f, g = found.potentials
    slack = 1e-9 * scale_of(x, y) ** p
    heavy = np.ix_(x.weights > 0, y.weights > 0)
    assert (f[:, None] + g <= row_costs(x, y, p, 1) + slack)[heavy].all()
    assert f @ x.weights + g @ y.weights == pytest.approx(found.cost, rel=1e-9, abs=slack)


@pytest.mark.parametrize("n", [2, 30, 200])
def test_potentials_of_an_assignment(n):
    rng = np.random.default_rng(n)
    x, y = (ao.from_points(rng.normal(size=(n, 3))) for _ in range(2))
    found = ao.anchor_wasserstein(x, y, epsilon=0)
    f, g = found.potentials
    assert (f[:, None] + g <= row_costs(x, y, 1, 1) + 1e-12).all()
    assert f @ x.weights + g @ y.weights == pytest.approx(found.cost, rel=1e-12)


@given(spaces(), spaces(), POWERS)
def test_potentials_of_many_points_change_no_result(x, y, p):
    few = ao.anchor_wasserstein(x, y, p, epsilon=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anchorot.distances.wasserstein.MANY_POINTS", 0)
        many = ao.anchor_wasserstein(x, y, p, epsilon=0)
    assert many.cost == pytest.approx(few.cost, rel=1e-9, abs=1e-12 * scale_of(x, y) ** p)
    f, g = many.potentials
    assert f @ x.weights + g @ y.weights == pytest.approx(many.cost, rel=1e-9, abs=1e-9 * scale_of(x, y) ** p)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(spaces(n, uniform=True), spaces(n, uniform=True))))
def test_potentials_of_all_levels_are_worth_the_sliced_distance(pair):
    x, y = pair
    rows = [AnchorRows.of(space, 1) for space in pair]
    f, g = _level_potentials(rows[1], rows[0]), _level_potentials(*rows)
    slack = 1e-12 * scale_of(x, y)
    assert (f[:, None] + g <= row_costs(x, y, 1, 1) + slack).all()
    assert f.mean() + g.mean() == pytest.approx(ao.sliced_anchor_wasserstein(x, y), rel=1e-9, abs=slack)


@given(spaces())
def test_exact_distance_to_itself_is_zero(x):
    assert ao.anchor_wasserstein(x, x, epsilon=0).value <= 1e-12 * scale_of(x)


@given(spaces(), spaces())
def test_the_best_plan_costs_no_more_than_the_product_of_the_weights(x, y):
    exact = ao.anchor_wasserstein(x, y, epsilon=0).value
    assert 0 <= exact <= ao.distances.expected_cost(x, y) + 1e-10 * scale_of(x, y)


def test_powers_beyond_the_range_of_floats_are_refused():
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float64"):
        ao.anchor_wasserstein(*EXTREMES["huge"], p=2)


def test_robust_is_of_ranked_spaces():
    rng = np.random.default_rng(5)
    x, y = (ao.Space(rng.normal(size=(k, k))) for k in (7, 5))
    robust = ao.anchor_wasserstein(x, y, epsilon=0.01, robust=True)
    assert robust.value == ao.anchor_wasserstein(x.ranked(), y.ranked(), epsilon=0.01).value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -1}, "epsilon must be a finite number >= 0, but got -1"),
        ({"epsilon": np.nan}, "epsilon must be a finite number >= 0, but got nan"),
        ({"epsilon": "small"}, "epsilon must be a finite number >= 0, but got 'small'"),
        ({"p": 0}, "p must be an integer >= 1"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
    ],
)
def test_bad_options_get_one_clear_line(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.anchor_wasserstein(np.eye(2), np.eye(2), **options)


def test_without_pot_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    weighted = ao.Space(np.eye(3), [0.2, 0.3, 0.5])
    with pytest.raises(ao.MissingExtraError, match=r"POT is not installed; get it with: pip install 'anchorot\[pot\]'"):
        ao.anchor_wasserstein(weighted, np.eye(2), epsilon=0)
    with pytest.raises(ao.MissingExtraError, match="POT"):
        ao.gromov_wasserstein(np.eye(2), np.eye(2), start="product")
    with pytest.raises(ao.MissingExtraError, match="POT"):
        ao.gromov_wasserstein(weighted, np.eye(2))
    assert ao.gromov_wasserstein(np.eye(2), np.eye(2)).value == 0
    assert ao.anchor_wasserstein(np.eye(3), np.eye(3), epsilon=0).value == 0


# -- epsilon by default --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_the_scale_of_the_costs_leaves_the_default_plan(scale):
    x, y = clouds((9, 7), 1, weighted=True)
    plain, scaled = (
        ao.anchor_wasserstein(x, y),
        ao.anchor_wasserstein(*(ao.Space(scale * s.cost, s.weights) for s in (x, y))),
    )
    np.testing.assert_allclose(scaled.plan, plain.plan, atol=1e-6)
    assert scaled.cost == pytest.approx(scale * plain.cost, rel=1e-6)
    assert scaled.epsilon == pytest.approx(scale * plain.epsilon, rel=1e-9)


def test_the_default_epsilon_is_a_share_of_the_mean_cost():
    x, y = clouds((9, 7), 2, weighted=False)
    mean = ao.anchor_wasserstein(x, y, epsilon=1e9).cost  # of the product plan
    found = ao.anchor_wasserstein(x, y)
    assert found.epsilon == pytest.approx(1e-3 * mean, rel=1e-5)
    np.testing.assert_array_equal(found.plan, ao.anchor_wasserstein(x, y, epsilon=found.epsilon).plan)


@pytest.mark.parametrize("far", [1e9, 1e200])
def test_weightless_points_leave_the_default_epsilon(far):
    x, y = clouds((9, 7), 3, weighted=True)
    assert ao.anchor_wasserstein(with_a_light_point(x, 0, far), y).epsilon == ao.anchor_wasserstein(x, y).epsilon


def test_rounding_makes_no_matches_of_points_that_are_all_alike():
    ring = ao.from_points([[np.cos(t), np.sin(t)] for t in 2 * np.pi * np.arange(7) / 7])
    np.testing.assert_allclose(ao.anchor_wasserstein(ring, ring).plan, 1 / 49, rtol=0.05)
    np.testing.assert_allclose(ao.anchor_wasserstein(np.zeros((3, 3)), np.zeros((3, 3))).plan, 1 / 9)


def test_tensors_have_the_same_default_epsilon_each_of_a_batch():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    import anchorot.torch as aot

    x, y = clouds((8, 6), 4, weighted=False)
    costs = [torch.as_tensor(np.stack([space.cost, 50 * space.cost, 0 * space.cost])) for space in (x, y)]
    found = aot.anchor_wasserstein(*costs)
    for k, scale in enumerate((1, 50, 0)):
        alone = ao.anchor_wasserstein(scale * x.cost, scale * y.cost)
        np.testing.assert_allclose(found.plan[k], alone.plan, atol=1e-6)
        assert float(found.value[k]) == pytest.approx(alone.value, rel=1e-6)
