"""Entropic transport at every epsilon: its form, its limits and how it converges."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.rows import row_costs
from anchorot.distances import sinkhorn
from anchorot.distances.sinkhorn import entropic_plan, marginal_error
from tests.distances.extremes import EXTREMES
from tests.strategies import examples, scale_of, spaces

# -- entropic ------------------------------------------------------------------------------------------------------


@given(spaces(), spaces(), st.sampled_from([1.0, 0.1, 1e-2, 1e-3, 1e-5]))
def test_entropic_plan_has_its_marginals_and_its_form(x, y, relative):
    epsilon = relative * scale_of(x, y)
    found = ao.anchor_wasserstein(x, y, epsilon=epsilon)
    assert found.converged
    np.testing.assert_allclose(found.plan.sum(axis=1), x.weights, atol=2e-6)
    np.testing.assert_allclose(found.plan.sum(axis=0), y.weights, atol=2e-6)
    assert (found.plan >= 0).all()
    assert found.cost >= 0
    f, g = found.potentials
    with np.errstate(invalid="ignore"):
        form = np.exp((f[:, None] + g - row_costs(x, y, 1, 1)) / epsilon)
    np.testing.assert_allclose(found.plan, form, rtol=1e-6, atol=1e-12)


@given(spaces(), spaces())
def test_small_epsilon_comes_to_the_exact_value(x, y):
    exact = ao.anchor_wasserstein(x, y, epsilon=0)
    scale = scale_of(x, y)
    for relative in (1e-2, 1e-4, 1e-6):
        found = ao.anchor_wasserstein(x, y, epsilon=relative * scale)
        # 0 <= cost - exact <= eps log(n m), the entropy that can be gained
        assert found.cost >= exact.cost - 1e-5 * scale
        assert found.cost <= exact.cost + relative * scale * np.log(x.n * y.n + 1) + 1e-5 * scale


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("relative", [1.0, 0.1, 0.03])
def test_entropic_value_agrees_with_pot(weighted, relative):
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(2)
    x, y = (
        ao.from_points(rng.normal(size=(k, 3)), weights=rng.dirichlet(np.full(k, 3.0)) if weighted else None)
        for k in (20, 30)
    )
    costs = row_costs(x, y, 1, 1)
    epsilon = relative * costs.mean()
    plan = ot.bregman.sinkhorn_log(x.weights, y.weights, costs, epsilon, stopThr=1e-13, numItermax=100_000)
    found = ao.anchor_wasserstein(x, y, epsilon=epsilon, tolerance=1e-11)
    np.testing.assert_allclose(found.plan, plan, atol=1e-9)
    assert found.cost == pytest.approx(np.sum(plan * costs), rel=1e-8)
    assert found.value == pytest.approx(np.sum(plan * costs) + epsilon * np.sum(plan * (np.log(plan) - 1)), rel=1e-8)


@pytest.mark.parametrize(("epsilon", "factor", "robust"), [(1e-8, 1.0, True), (1e-5, 200.0, False)])
@pytest.mark.parametrize("sizes", [(60, 60), (60, 45)])
def test_converges_at_epsilons_far_below_the_costs(epsilon, factor, robust, sizes):
    rng = np.random.default_rng(3)
    x, y = (ao.from_points(factor * rng.normal(size=(k, 3))) for k in sizes)
    found = ao.anchor_wasserstein(x, y, epsilon=epsilon, robust=robust)
    exact = ao.anchor_wasserstein(x, y, epsilon=0, robust=robust)
    assert found.converged
    assert found.marginal_error <= 1e-6
    assert found.cost == pytest.approx(exact.cost, rel=1e-5)


COSTS = {
    "any": lambda rng, n, m: rng.uniform(size=(n, m)),
    "ties": lambda rng, n, m: rng.integers(0, 5, size=(n, m)).astype(float),
    "offset": lambda rng, n, m: 1e6 + rng.integers(0, 100, size=(n, m)),
    "uneven": lambda rng, n, m: rng.uniform(size=(n, m)) ** 6,
    "line": lambda rng, n, m: np.abs(np.sort(rng.normal(size=n))[:, None] - np.sort(rng.normal(size=m))),
}


WEIGHTS = {
    "uniform": lambda rng, n: np.ones(n),
    "any": lambda rng, n: rng.dirichlet(np.ones(n)),
    "few": lambda rng, n: rng.integers(1, 6, size=n),
    "light": lambda rng, n: rng.dirichlet(np.ones(n)) * rng.choice([1.0, 1e-9, 1e-18], size=n) + 1e-18,
}


@examples(60)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from(sorted(COSTS)),
    st.sampled_from(sorted(WEIGHTS)),
    st.sampled_from(sorted(WEIGHTS)),
    st.floats(-13, 0),
    st.sampled_from([1e-3, 1e-6, 1e-9]),
    st.integers(0, 2**32),
)
def test_it_converges_from_the_smallest_epsilon_on_and_keeps_its_word(sizes, cost, a, b, exponent, tolerance, seed):
    rng = np.random.default_rng(seed)
    costs = COSTS[cost](rng, *sizes)
    a, b = (w / w.sum() for w in (WEIGHTS[kind](rng, n) for kind, n in zip((a, b), sizes, strict=True)))
    found = entropic_plan(costs, a, b, 10**exponent * (float(np.ptp(costs)) or 1.0), 10_000, tolerance)
    assert found.converged
    assert marginal_error(found.plan, a, b) <= tolerance
    following = found.plan * (a / found.plan.sum(axis=1))[:, None]  # the next iteration's plan: rows, then columns
    following *= b / following.sum(axis=0)
    assert np.linalg.norm(following - found.plan) <= tolerance * np.linalg.norm(found.plan) + 1e-15


@pytest.mark.parametrize("relative", [1e-13, 1e-14, 1e-100])
def test_below_the_smallest_epsilon_the_exact_problem_is_solved(relative):
    rng = np.random.default_rng(8)
    x, y = (ao.from_points(rng.normal(size=(k, 2)), weights=rng.dirichlet(np.ones(k))) for k in (7, 9))
    found = ao.anchor_wasserstein(x, y, epsilon=relative * float(np.ptp(row_costs(x, y, 1, 1))))
    exact = ao.anchor_wasserstein(x, y, epsilon=0)
    assert found.epsilon == 0
    assert found.value == found.cost == exact.value


def test_graphs_full_of_ties_converge():
    ring = np.abs(np.arange(24)[:, None] - np.arange(24))
    x, y = ao.Space(np.minimum(ring, 24 - ring)), ao.Space(ring)
    for epsilon in (1.0, 1e-3, 1e-6):
        found = ao.anchor_wasserstein(x, y, epsilon=epsilon)
        assert found.converged
        assert np.isfinite(found.value)


def test_an_early_stop_is_reported():
    rng = np.random.default_rng(4)
    x, y = (ao.from_points(rng.normal(size=(40, 3))) for _ in range(2))
    with pytest.warns(ao.ConvergenceWarning, match="Sinkhorn did not converge in 5 iterations at epsilon=1e-05"):
        found = ao.anchor_wasserstein(x, y, epsilon=1e-5, max_iter=5)
    assert not found.converged
    assert np.isfinite(found.plan).all()
    assert "NOT converged" in repr(found)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("epsilon", [0, 1e-8, 1e-3, 10.0])
def test_nothing_becomes_nan(name, epsilon):
    x, y = EXTREMES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ao.InputWarning)  # some look like similarities
        found = ao.anchor_wasserstein(x, y, epsilon=epsilon)
    assert found.converged
    assert np.isfinite([found.value, found.cost]).all()
    assert np.isfinite(found.plan).all()
    assert found.marginal_error <= 1e-6


def test_newton_finishes_what_sinkhorn_cannot(monkeypatch):
    x, y = (ao.from_points(np.random.default_rng(seed).normal(size=(40, 3))) for seed in (6, 7))
    costs = row_costs(x, y, 1, 1)
    problem = (costs, x.weights, y.weights, 1e-3 * costs.mean(), 10_000, 1e-6)
    assert entropic_plan(*problem).converged
    monkeypatch.setattr("anchorot.distances.sinkhorn._newton", lambda *_: None)
    assert not entropic_plan(*problem).converged


def test_two_points_have_a_closed_form():
    # The masses along and across stand in the ratio exp(gap / (2 eps)).
    gap, epsilon = 1e-4, 1e-5
    costs = np.array([[0.0, 1.0], [1.0, 2.0 - gap]])
    half = np.array([0.5, 0.5])
    found = entropic_plan(costs, half, half, epsilon, max_iter=1000, tolerance=1e-9)
    assert found.converged
    along = 0.5 / (1 + np.exp(-gap / (2 * epsilon)))
    np.testing.assert_allclose(found.plan, [[along, 0.5 - along], [0.5 - along, along]], rtol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.01])
@pytest.mark.parametrize("far", [30, 60, 200])
def test_newton_steps_link_parts_that_hardly_share_mass(far, share):
    """Two points each, whose neighbours weigh too little: the rest has to go a long way, over an entry of exp(-far)."""
    costs, a, b = np.array([[[0.0, far], [far, 0.0]]]), np.array([[0.5, 0.5]]), np.array([[0.5 - share, 0.5 + share]])
    state = sinkhorn._State(costs, a, b)
    with np.errstate(all="ignore"):
        sinkhorn._newton(state, sinkhorn.Stage(1.0, 1e-9), 1000)
    assert marginal_error(state.plan(1.0)[0], a[0], b[0]) < 1e-9
    assert state.n_iter <= 15


@pytest.mark.parametrize("sizes", [(2, 40), (8, 20), (40, 5), (40, 8)])
def test_long_newton_steps_reach_points_that_weigh_next_to_nothing(sizes):
    rng = np.random.default_rng(7)
    costs = COSTS["any"](rng, *sizes)
    a, b = (w / w.sum() for w in (WEIGHTS[kind](rng, n) for kind, n in zip(("few", "light"), sizes, strict=True)))
    found = entropic_plan(costs, a, b, 1e-8 * float(np.ptp(costs)), 3000, 1e-3)
    assert found.converged
