"""What is written twice, on arrays and on tensors, agrees: in values, plans, verdicts and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.rows import row_costs
from tests.strategies import FAR, examples, scale_of, shifted, spaces, spaces_of_eighths

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("ot", reason="POT, which solves exactly, is not installed")

import anchorot.torch as aot  # noqa: E402

POWERS = st.integers(1, 3)
LIGHT = st.sampled_from([0.0, 1e-300, 1e-20, 1e-17])
EPSILONS = st.sampled_from([0, 1e-15, 3e-13, 1e-11, 1e-8, 1e-5, 1e-3, 0.1, 1.0, 100.0])  # of the range of costs
SEEDS = st.integers(0, 2**32)


def tensors(*spaces):
    """Costs of all spaces, then their weights."""
    return *(torch.tensor(s.cost) for s in spaces), *(torch.tensor(s.weights) for s in spaces)


def as_tensors(*parts):
    return [torch.tensor(part) for part in parts]


def random_parts(rng, n, light):
    """Costs with or without ties, of any size and offset; weights equal, or not, some of them next to nothing."""
    cost = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-4, 5)
    if rng.random() < 0.3:
        cost = np.round(rng.uniform(size=(n, n)) * 4) + rng.choice([0.0, 1e6])
    if rng.random() < 0.4:
        return cost, np.full(n, 1 / n)
    weights = rng.dirichlet(np.ones(n))
    weights[1:][rng.random(n - 1) < 0.2] = light
    return cost, weights / weights.sum()


def with_a_light_point(space, weight, cost):
    """Costs and weights of the space and one more point of the given weight, at one cost from and to all."""
    larger = np.full((space.n + 1, space.n + 1), cost)
    larger[:-1, :-1] = space.cost
    return larger, np.append(space.weights, weight)


def range_of_costs(x, y, p):
    heavy = np.ix_(x.weights > 0, y.weights > 0)
    return float(np.ptp(row_costs(x, y, p, 1)[heavy])) or 1.0


# -- Anchor Wasserstein --------------------------------------------------------------------------------------------


@examples(150)
@given(st.integers(1, 14), st.integers(1, 14), POWERS, EPSILONS, LIGHT, SEEDS)
def test_transport_of_tensors_is_that_of_arrays(n, m, p, relative, light, seed):
    rng = np.random.default_rng(seed)
    parts = random_parts(rng, n, light), random_parts(rng, m, light)
    x, y = (ao.Space(*each) for each in parts)
    scale = range_of_costs(x, y, p)
    options = {"p": p, "epsilon": relative * scale, "tolerance": 1e-10}
    theirs = ao.anchor_wasserstein(x, y, **options)
    ours = aot.anchor_wasserstein(*as_tensors(*(part for pair in zip(*parts, strict=True) for part in pair)), **options)
    assert (ours.converged, ours.epsilon) == (theirs.converged, theirs.epsilon) == (True, ours.epsilon)
    assert max(float(ours.marginal_error), theirs.marginal_error) <= 1e-10
    assert float(ours.cost) == pytest.approx(theirs.cost, rel=1e-9, abs=1e-7 * scale)
    assert float(ours.value) == pytest.approx(theirs.value, rel=1e-9, abs=1e-9 * scale)
    rounding = 1e-14 * float(row_costs(x, y, p, 1).max()) / (theirs.epsilon or 1.0)  # of costs, in units of epsilon
    if theirs.epsilon and rounding < 1e-2:  # else plans of nearly the same value may be several
        np.testing.assert_allclose(ours.plan, theirs.plan, atol=1e-6 + rounding)


def test_an_epsilon_too_small_for_floats_is_zero_to_both():
    x, y = (ao.from_points(np.random.default_rng(k).normal(size=(9, 2))) for k in range(2))
    tiny = 1e-14 * range_of_costs(x, y, 1)
    exact = ao.anchor_wasserstein(x, y, epsilon=0)
    for found in (ao.anchor_wasserstein(x, y, epsilon=tiny), aot.anchor_wasserstein(*tensors(x, y), epsilon=tiny)):
        assert (found.epsilon, found.n_iter, found.converged) == (0, 1, True)
        assert float(found.value) == float(found.cost) == pytest.approx(exact.value, rel=1e-12)


@pytest.mark.parametrize("max_iter", [1, 5, 40, 200])
def test_both_stop_early_after_the_same_work_and_warn(max_iter):
    x, y = (ao.from_points(np.random.default_rng(k).normal(size=(30, 3))) for k in range(2))
    options = {"epsilon": 1e-5, "max_iter": max_iter, "tolerance": 1e-9}
    with pytest.warns(ao.ConvergenceWarning, match=f"in {max_iter} iterations at epsilon=1e-05: its marginals") as one:
        theirs = ao.anchor_wasserstein(x, y, **options)
    with pytest.warns(ao.ConvergenceWarning, match=f"in {max_iter} iterations at epsilon=1e-05: its marginals") as two:
        ours = aot.anchor_wasserstein(*tensors(x, y), **options)
    assert str(one[0].message) == str(two[0].message)
    assert not ours.converged
    assert not theirs.converged
    assert ours.n_iter == theirs.n_iter == max_iter
    assert float(ours.marginal_error) == pytest.approx(theirs.marginal_error, rel=1e-6)
    np.testing.assert_allclose(ours.plan, theirs.plan, atol=1e-7)
    np.testing.assert_allclose(theirs.plan.sum(axis=0), y.weights, rtol=1e-9)


def test_a_batch_of_easy_hard_and_exact_problems_is_its_entries():
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.uniform(size=(12, 12)))
    y = torch.stack([torch.tensor(rng.uniform(size=(10, 10))) * factor for factor in (1e-3, 1.0, 1e12, 1e3)])
    options = {"epsilon": 1e-2, "tolerance": 1e-10}
    together = aot.anchor_wasserstein(x, y, **options)
    assert together.converged
    for i in range(4):
        alone = aot.anchor_wasserstein(x, y[i], **options)
        theirs = ao.anchor_wasserstein(x.numpy(), y[i].numpy(), **options)
        for other in (alone, theirs):
            assert float(together.value[i]) == pytest.approx(float(other.value), rel=1e-9)
            np.testing.assert_allclose(together.plan[i], other.plan, atol=1e-6)


# -- Anchor Energy, plans, ranks -----------------------------------------------------------------------------------


@examples(100)
@given(spaces(), spaces(), POWERS, LIGHT, st.sampled_from([-1e3, 0.5, 1e3]), st.booleans())
def test_a_point_of_next_to_no_weight_changes_next_to_nothing(x, y, p, weight, cost, with_gradient):
    larger, weights = with_a_light_point(x, weight, cost)
    inputs = [t.requires_grad_(with_gradient) for t in as_tensors(larger, y.cost, weights, y.weights)]
    value = aot.anchor_energy(*inputs, p=p)
    expected = float(aot.anchor_energy(*tensors(x, y), p=p))
    scale = scale_of(ao.Space(larger), y) ** p
    assert float(value.detach()) == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale)
    if with_gradient:
        assert all(torch.isfinite(g).all() for g in torch.autograd.grad(value, inputs))


@examples(60)
@given(spaces(), spaces(), LIGHT, st.sampled_from([-1e9, 0.5, 1e9]))
def test_plans_and_ranks_take_points_of_next_to_no_weight(x, y, weight, cost):
    larger, weights = with_a_light_point(x, weight, cost)
    plan = aot.anchor_energy_plan(*as_tensors(larger, y.cost, weights, y.weights))
    np.testing.assert_allclose(plan[:-1], aot.anchor_energy_plan(*tensors(x, y)), atol=1e-12)
    np.testing.assert_allclose(plan[-1], 0, atol=1e-12)
    np.testing.assert_array_equal(aot.ranks(*as_tensors(larger, weights)), ao.Space(larger, weights).ranked().cost)


@examples(60)
@given(spaces(), spaces(), POWERS, LIGHT, st.sampled_from([-1e3, 0.5, 1e3]), st.sampled_from([0, 0.1]))
def test_transport_takes_points_of_next_to_no_weight(x, y, p, weight, cost, relative):
    larger, weights = with_a_light_point(x, weight, cost)
    scale = scale_of(ao.Space(larger), y) ** p
    for function, one, two in (
        (ao.anchor_wasserstein, (ao.Space(larger, weights), y), (x, y)),
        (aot.anchor_wasserstein, as_tensors(larger, y.cost, weights, y.weights), tensors(x, y)),
    ):
        found, expected = (function(*inputs, p=p, epsilon=relative * scale, tolerance=1e-9) for inputs in (one, two))
        assert found.converged
        assert float(found.value) == pytest.approx(float(expected.value), abs=1e-8 * scale)
        if relative:  # else plans of the same cost may be several
            np.testing.assert_allclose(found.plan[:-1], expected.plan, atol=1e-6)


@examples(60)
@given(spaces(), spaces(), POWERS, st.sampled_from([0.0, 1e-300]), st.sampled_from([-1e9, 1e9]))
def test_no_cost_of_a_point_without_weight_counts(x, y, p, weight, cost):
    larger, weights = with_a_light_point(x, weight, cost)
    far, near = as_tensors(larger, y.cost, weights, y.weights), tensors(x, y)
    found, expected = (float(aot.anchor_wasserstein(*inputs, p=p, epsilon=0).value) for inputs in (far, near))
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10 * scale_of(x, y) ** p)


# -- far from zero -------------------------------------------------------------------------------------------------


@examples(60)
@given(spaces_of_eighths(), spaces_of_eighths(), POWERS, FAR, st.booleans())
def test_an_exact_shift_of_all_costs_changes_no_value_and_no_gradient(x, y, p, shift, weighted):
    def energy(*spaces):
        inputs = [t.requires_grad_() for t in tensors(*spaces)[: 4 if weighted else 2]]
        value = aot.anchor_energy(*inputs, p=p)
        return float(value.detach()), torch.autograd.grad(value, inputs)

    (near, slopes_near), (far, slopes_far) = energy(x, y), energy(shifted(x, shift), shifted(y, shift))
    scale = scale_of(x, y)
    assert far == pytest.approx(near, rel=1e-12, abs=1e-12 * scale**p)
    for one, two in zip(slopes_far, slopes_near, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-11 * max(scale, 1) ** p)


@examples(60)
@given(spaces_of_eighths(), spaces_of_eighths(), POWERS, FAR, st.booleans())
def test_an_exact_shift_of_all_costs_changes_no_transport(x, y, p, shift, weighted):
    near, far = (
        float(aot.anchor_wasserstein(*tensors(*pair)[: 4 if weighted else 2], p=p, epsilon=0).value)
        for pair in ((x, y), (shifted(x, shift), shifted(y, shift)))
    )
    assert far == pytest.approx(near, rel=1e-12, abs=1e-12 * scale_of(x, y) ** p)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_costs_of_1e15_keep_the_digits_that_they_have(p, weighted):
    rng = np.random.default_rng(4)
    costs = [1e15 + scale * rng.normal(size=(k, k)) for k, scale in ((40, 1), (30, 3))]
    weights = [torch.tensor(rng.dirichlet(np.ones(k)), requires_grad=True) for k in (40, 30)] if weighted else []
    far, near = (
        float(
            aot.anchor_energy(*(torch.tensor(cost - c, requires_grad=True) for cost in costs), *weights, p=p).detach()
        )
        for c in (0.0, 1e15)
    )
    assert far == pytest.approx(near, rel=1e-12)


# -- beyond the largest float --------------------------------------------------------------------------------------

TOO_LARGE = [(1, 1.7e308), (2, 1e300), (3, 1e300), (3, 1e110)]
UNEVEN = np.array([0.25, 0.75])


@pytest.mark.parametrize(("weights", "with_gradient"), [(None, False), (None, True), (UNEVEN, True)])
@pytest.mark.parametrize(("p", "size"), TOO_LARGE)
def test_an_energy_beyond_the_range_of_floats_is_refused(p, size, weights, with_gradient):
    x, y = (torch.full((2, 2), cost, dtype=torch.float64) for cost in (size, -size))
    x.requires_grad_(with_gradient)
    a = None if weights is None else torch.tensor(weights)
    with pytest.raises(ao.InputError, match="exceed the range of float64"):
        aot.anchor_energy(x, y, a, p=p)


@pytest.mark.parametrize("epsilon", [0, 1e-3])
@pytest.mark.parametrize("weights", [None, UNEVEN])
@pytest.mark.parametrize(("p", "size"), TOO_LARGE)
def test_both_refuse_transport_beyond_the_range_of_floats_in_the_same_words(p, size, weights, epsilon):
    x, y = (ao.Space(np.full((2, 2), cost), weights) for cost in (size, -size))
    with pytest.raises(ao.InputError) as theirs:
        ao.anchor_wasserstein(x, y, p=p, epsilon=epsilon)
    with pytest.raises(ao.InputError, match="exceed the range of float64") as ours:
        aot.anchor_wasserstein(*tensors(x, y)[: 4 if weights is not None else 2], p=p, epsilon=epsilon)
    assert str(ours.value) == str(theirs.value)


def test_single_precision_is_refused_beyond_its_own_range():
    with pytest.raises(ao.InputError, match="costs to the power p=2 exceed the range of float32"):
        aot.anchor_energy(1e30 * torch.eye(2), torch.zeros(2, 2), p=2)
