"""Anchor Wasserstein: its costs, its exact and its entropic solution."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import anchorot as ao
from anchorot.anchors.rows import row_costs
from anchorot.distances import sinkhorn
from anchorot.distances.sinkhorn import entropic_plan, marginal_error
from tests import reference
from tests.strategies import clouds, examples, scale_of, spaces, with_a_light_point

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
        assert costs[i, j] == pytest.approx(ao.ot_1d(x.cost[i], y.cost[j], x.weights, y.weights, p), rel=1e-10)
    np.testing.assert_array_equal(row_costs(x, y, p, 3), costs)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_rows_that_are_equal_cost_nothing(p):
    x = ao.from_points(np.random.default_rng(0).normal(size=(50, 3)))
    assert (np.diag(row_costs(x, x, p, 1)) == 0).all()


def test_squared_costs_of_near_rows_keep_their_digits():
    x = ao.from_points(np.random.default_rng(0).normal(size=(50, 3)))
    y = ao.Space(np.ldexp(np.round(np.ldexp(x.cost, 40)), -40))  # apart by about 1e-13
    for i, found in enumerate(np.diag(row_costs(x, y, 2, 1))):
        assert found == pytest.approx(ao.ot_1d(x.cost[i], y.cost[i], p=2), rel=1e-3, abs=0)


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


@given(spaces())
def test_exact_distance_to_itself_is_zero(x):
    assert ao.anchor_wasserstein(x, x, epsilon=0).value <= 1e-12 * scale_of(x)


@given(spaces(), spaces())
def test_the_best_plan_costs_no_more_than_the_product_of_the_weights(x, y):
    exact = ao.anchor_wasserstein(x, y, epsilon=0).value
    assert 0 <= exact <= ao.expected_cost(x, y) + 1e-10 * scale_of(x, y)


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


def test_an_early_stop_is_told():
    rng = np.random.default_rng(4)
    x, y = (ao.from_points(rng.normal(size=(40, 3))) for _ in range(2))
    with pytest.warns(ao.ConvergenceWarning, match="Sinkhorn did not converge in 5 iterations at epsilon=1e-05"):
        found = ao.anchor_wasserstein(x, y, epsilon=1e-5, max_iter=5)
    assert not found.converged
    assert np.isfinite(found.plan).all()
    assert "NOT converged" in repr(found)


EXTREMES = {
    "constant": (np.ones((4, 4)), np.ones((3, 3))),
    "single points": (np.zeros((1, 1)), np.full((1, 1), 3.0)),
    "one and many": (np.zeros((1, 1)), np.eye(5)),
    "duplicates": (np.zeros((4, 4)), np.repeat(np.repeat(np.eye(2), 2, 0), 2, 1)),
    "tiny": (1e-300 * np.eye(4), 1e-300 * np.ones((3, 3))),
    "huge": (1e300 * np.eye(4), 1e300 * np.ones((3, 3))),
    "huge and square": (1e300 * np.eye(4), 1e300 * np.ones((4, 4))),
}


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


def test_powers_beyond_the_range_of_floats_are_refused():
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float64"):
        ao.anchor_wasserstein(*EXTREMES["huge"], p=2)


def test_robust_is_of_ranked_spaces():
    rng = np.random.default_rng(5)
    x, y = (ao.Space(rng.normal(size=(k, k))) for k in (7, 5))
    robust = ao.anchor_wasserstein(x, y, epsilon=0.01, robust=True)
    assert robust.value == ao.anchor_wasserstein(x.ranked(), y.ranked(), epsilon=0.01).value


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
