"""Lower bounds of Gromov-Wasserstein."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import anchorot as ao
from tests import reference
from tests.distances.extremes import EXTREMES
from tests.strategies import clouds, scale_of, shifted, spaces, with_a_light_point

pytest.importorskip("ot", reason="Gromov-Wasserstein needs POT (the extra 'pot')")


@st.composite
def symmetric_spaces(draw):
    x = draw(spaces())
    return ao.Space(np.abs(x.cost + x.cost.T), x.weights)


# -- bounds --------------------------------------------------------------------------------------------------------


@given(symmetric_spaces(), symmetric_spaces())
def test_bounds_lie_below_gromov_wasserstein(x, y):
    bounds = ao.lower_bounds(x, y, p=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)  # any plan's loss lies above the bounds
        loss = ao.gromov_wasserstein(x, y, start="quick", max_iter=200).value
    slack = 1e-7 * scale_of(x, y) ** 2
    for bound in (bounds.flb, bounds.slb, bounds.saw, bounds.tlb):
        assert (2 * bound) ** 2 <= loss + slack
    assert bounds.loss() <= loss + slack


@given(symmetric_spaces(), symmetric_spaces())
def test_bounds_of_p_one_lie_below_every_plan(x, y):
    bounds = ao.lower_bounds(x, y, p=1)
    plans = [np.outer(x.weights, y.weights), ao.anchor_wasserstein(x, y, epsilon=0).plan]
    for plan in plans:
        loss = reference.gromov_loss(x.cost.tolist(), y.cost.tolist(), plan.tolist(), p=1)
        assert 2 * max(bounds.flb, bounds.slb, bounds.saw, bounds.tlb) <= loss + 1e-9 * scale_of(x, y)


@given(spaces(), spaces(), st.sampled_from([1, 2]))
def test_the_third_bound_is_the_best(x, y, p):
    bounds = ao.lower_bounds(x, y, p)
    slack = 1e-6 * scale_of(x, y)
    assert bounds.flb <= bounds.tlb + slack
    assert bounds.slb <= bounds.saw + slack
    assert bounds.saw <= bounds.tlb + slack
    assert bounds.saw == pytest.approx(0.5 * ao.sliced_anchor_wasserstein(x, y, p), abs=slack)
    assert bounds.tlb == pytest.approx(0.5 * ao.anchor_wasserstein(x, y, p, epsilon=0).value ** (1 / p), abs=slack)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_on_random_clouds(seed):
    x, y = clouds((25, 20), seed, dim=3)
    bounds = ao.lower_bounds(x, y)
    assert 0 < bounds.loss() <= ao.gromov_wasserstein(x, y).value


def test_first_and_second_bound_against_scipy():
    x, y = clouds((9, 7), weighted=False)
    bounds = ao.lower_bounds(x, y, p=1)
    assert bounds.flb == pytest.approx(0.5 * wasserstein_distance(x.cost.mean(axis=1), y.cost.mean(axis=1)))
    assert bounds.slb == pytest.approx(0.5 * wasserstein_distance(x.cost.ravel(), y.cost.ravel()))


def test_robust_bounds_are_of_ranked_spaces():
    x, y = clouds((12, 12))
    assert ao.lower_bounds(x, y, robust=True) == ao.lower_bounds(x.ranked(), y.ranked())


def test_other_powers_are_refused():
    with pytest.raises(ao.InputError, match="p must be one of '1', '2'"):
        ao.lower_bounds(np.eye(2), np.eye(2), p=3)


@pytest.mark.parametrize("weight", [0, 1e-20, 1e-300])
@pytest.mark.parametrize("far", [1e9, 1e200])
@pytest.mark.parametrize("p", [1, 2])
def test_weightless_points_change_no_bound(weight, far, p):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = (ao.Space(s.cost, rng.dirichlet(np.ones(s.n))) for s in clouds((9, 7), seed))
        plain, extended = (ao.lower_bounds(space, y, p) for space in (x, with_a_light_point(x, weight, far)))
        wanted = [plain.flb, plain.slb, plain.saw, plain.tlb]
        assert [extended.flb, extended.slb, extended.saw, extended.tlb] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_an_exact_shift_of_all_costs_leaves_the_bounds(p):
    """But for the first at p = 2: sizes of costs are not their differences."""
    rng = np.random.default_rng(2)
    for weights in ((None, None), (rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(6)))):
        x, y = (ao.Space(rng.integers(0, 80, (n, n)) / 8, w) for n, w in zip((8, 6), weights, strict=True))
        near, far = (ao.lower_bounds(*pair, p) for pair in ((x, y), (shifted(x, 2.0**49), shifted(y, 2.0**49))))
        assert far.slb == pytest.approx(near.slb, rel=1e-12)
        assert far.saw == pytest.approx(near.saw, rel=1e-12)
        assert far.tlb == pytest.approx(near.tlb, rel=1e-12)
        assert far.flb == pytest.approx(near.flb, rel=1e-12) if p == 1 else far.flb <= far.tlb * (1 + 1e-12)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("p", [1, 2])
def test_bounds_of_extreme_costs_are_numbers(name, p):
    x, y = EXTREMES[name]
    bounds = ao.lower_bounds(x, y, p)
    assert np.isfinite([bounds.flb, bounds.slb, bounds.saw, bounds.tlb]).all()
    assert np.isfinite(ao.anchor_energy_plan(x, y)).all()
    if name in ("tiny", "huge"):
        unit = [cost / cost.max() for cost in (x, y)]
        assert bounds.tlb / x.max() == pytest.approx(ao.lower_bounds(*unit, p).tlb, rel=1e-12)
