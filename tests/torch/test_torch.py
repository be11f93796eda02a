"""The distances on tensors agree with those on arrays, and their gradients with finite differences."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests.strategies import examples, scale_of, spaces

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import anchorot.torch as aot  # noqa: E402
from anchorot.torch import _weighted, points  # noqa: E402

POWERS = st.integers(1, 4)
SIZES = [(6, 6), (5, 7), (1, 1), (1, 3)]
cuda = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=cuda)]


def tensors(*spaces, dtype=torch.float64, device="cpu"):
    """Costs of all spaces, then their weights."""
    costs = [torch.tensor(space.cost, dtype=dtype, device=device) for space in spaces]
    return *costs, *(torch.tensor(space.weights, dtype=dtype, device=device) for space in spaces)


def cloud(n, seed, dimension=3):
    return torch.tensor(np.random.default_rng(seed).normal(size=(n, dimension)))


def random_costs(n, m, *, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.normal(size=(*batch, k, k)), requires_grad=True) for k in (n, m)]


def random_logits(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.normal(size=k), requires_grad=True) for k in (n, m)]


# -- Anchor Energy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@examples(60)
@given(spaces(uniform=True), spaces(uniform=True), POWERS)
def test_energies_of_uniform_spaces_are_those_of_arrays(device, x, y, p):
    value = aot.anchor_energy(*tensors(x, y, device=device)[:2], p=p)
    scale = scale_of(x, y) ** p
    assert float(value) == pytest.approx(ao.anchor_energy(x, y, p), rel=1e-10, abs=1e-12 * scale)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("with_gradient", [False, True])
@examples(40)
@given(spaces(), spaces(), POWERS)
def test_energies_of_weighted_spaces_are_those_of_arrays(device, with_gradient, x, y, p):
    values = tensors(x, y, device=device)
    if with_gradient:
        values[2].requires_grad_()
    value = aot.anchor_energy(*values, p=p).detach()
    scale = scale_of(x, y) ** p
    assert float(value) == pytest.approx(ao.anchor_energy(x, y, p), rel=1e-10, abs=1e-12 * scale)


@pytest.mark.parametrize("device", DEVICES)
@examples(30)
@given(spaces(), spaces(), POWERS)
def test_single_precision_keeps_four_digits(device, x, y, p):
    value = aot.anchor_energy(*tensors(x, y, dtype=torch.float32, device=device), p=p)
    assert value.dtype == torch.float32
    largest = max(np.abs(x.cost).max(), np.abs(y.cost).max()) or 1.0
    smallest = float(np.finfo(np.float32).tiny)
    assert float(value) == pytest.approx(ao.anchor_energy(x, y, p), rel=1e-4, abs=1e-4 * largest**p + smallest)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_a_batch_is_its_entries(device, n, m, p, weighted):
    x, y = (t.detach().to(device).requires_grad_() for t in random_costs(n, m, batch=(2, 3)))
    a, b = (w.to(device).softmax(0) for w in random_logits(n, m)) if weighted else (None, None)
    together = aot.anchor_energy(x, y[0, 0], a, b, p=p)
    assert together.shape == (2, 3)
    gradient = torch.autograd.grad(together.sum(), x, retain_graph=True)[0]
    for i, j in np.ndindex(2, 3):
        own = x[i, j].detach().requires_grad_()
        alone = aot.anchor_energy(own, y[0, 0].detach(), None if a is None else a.detach(), b, p=p)
        assert float(together[i, j].detach()) == pytest.approx(float(alone.detach()), rel=1e-12, abs=1e-15)
        torch.testing.assert_close(torch.autograd.grad(alone, own)[0], gradient[i, j], rtol=1e-9, atol=1e-12)


def test_plain_blocks_of_levels_change_nothing(monkeypatch):
    x, y = random_costs(30, 20)
    whole = aot.anchor_energy(x, y)
    gradients = torch.autograd.grad(whole, (x, y))
    monkeypatch.setitem(aot.energy.level_energy.__globals__["BLOCK_NUMBERS"], "cpu", 120)
    parts = aot.anchor_energy(x, y)
    assert float(parts.detach()) == pytest.approx(float(whole.detach()), rel=1e-13)
    for one, two in zip(torch.autograd.grad(parts, (x, y)), gradients, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("size", [1, 3, 200])
def test_blocks_of_events_change_nothing(monkeypatch, size):
    x, y = random_costs(9, 7)
    logits = random_logits(9, 7)
    inputs = (x, y, *logits)

    def energy():
        value = aot.anchor_energy(x, y, *(w.softmax(0) for w in logits))
        return float(value.detach()), torch.autograd.grad(value, inputs)

    value, gradients = energy()
    monkeypatch.setattr(_weighted, "_block_size", lambda rows: size)
    monkeypatch.setitem(_weighted.BLOCK_NUMBERS, "cpu", 500)
    other_value, other_gradients = energy()
    assert other_value == pytest.approx(value, rel=1e-13)
    for one, two in zip(gradients, other_gradients, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("device", DEVICES)
def test_far_costs_stay_exact_with_weights_and_gradients(device):
    """Between the near costs and a far one all CDFs are at one height: nothing may be left for the gap to multiply."""
    rng = np.random.default_rng(0)
    weights = torch.tensor(rng.dirichlet(np.ones(12)), device=device)
    x, y = (torch.tensor(rng.uniform(size=(12, 12)), device=device) for _ in range(2))
    for t in (x, y):
        t[:, 5] = 1e18
    expected = ao.anchor_energy(*(ao.Space(t.cpu().numpy(), weights.cpu().numpy()) for t in (x, y)))
    assert expected < 1
    value = aot.anchor_energy(x.requires_grad_(), y, weights, weights).detach()
    assert float(value) == pytest.approx(expected, rel=1e-10)


def test_a_space_is_at_distance_zero_from_itself():
    x = aot.from_points(cloud(40, 0))
    shuffled = x[torch.randperm(40)][:, torch.randperm(40)]
    assert aot.anchor_energy(x, x) == 0
    assert aot.anchor_energy(x, shuffled) == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_gradients_in_costs_are_right(device, n, m, p):
    x, y = (t.detach().to(device).requires_grad_() for t in random_costs(n, m, batch=(2,)))
    assert torch.autograd.gradcheck(lambda *costs: aot.anchor_energy(*costs, p=p), (x, y), atol=1e-7)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_gradients_in_costs_and_weights_are_right(device, n, m, p):
    inputs = (t.detach().to(device).requires_grad_() for t in (*random_costs(n, m), *random_logits(n, m)))
    assert torch.autograd.gradcheck(
        lambda x, y, a, b: aot.anchor_energy(x, y, a.softmax(0), b.softmax(0), p=p), tuple(inputs), fast_mode=True
    )


def test_the_gradient_in_uniform_weights_is_the_middle_of_its_sides():
    """AE has a kink there: derivatives from the two sides differ, and their mean is what comes."""
    x, y = (t.detach() for t in random_costs(5, 5))
    uniform = torch.full((5,), 0.2, dtype=torch.float64)
    a = uniform.clone().requires_grad_()
    gradient = torch.autograd.grad(aot.anchor_energy(x, y, a), a)[0]
    direction = torch.tensor([1.0, -1, 0, 0, 0], dtype=torch.float64)
    step = 1e-7
    values = [float(aot.anchor_energy(x, y, uniform + s * direction)) for s in (-step, 0, step)]
    below, above = np.diff(values) / step
    assert abs(above - below) > 1e-3
    assert float(gradient @ direction) == pytest.approx((below + above) / 2, abs=1e-6)


def test_explicit_uniform_weights_are_no_weights():
    x, y = random_costs(6, 4)
    weights = [torch.full((k,), 1 / k, dtype=torch.float64) for k in (6, 4)]
    one, two = aot.anchor_energy(x, y, *weights), aot.anchor_energy(x, y)
    assert torch.equal(one, two)


def test_points_at_ties_have_a_gradient_that_leads_down():
    points = cloud(30, 0, 2).requires_grad_()
    goal = aot.from_points(cloud(30, 1, 2) * 2)
    value = aot.anchor_energy(aot.from_points(points), goal)
    gradient = torch.autograd.grad(value, points)[0]
    step = 1e-4
    moved = aot.anchor_energy(aot.from_points(points.detach() - step * gradient), goal)
    assert float(moved - value.detach()) == pytest.approx(-step * float(gradient.square().sum()), rel=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_backward_pass_keeps_two_gradients_and_no_more(weighted):
    n = 40
    x, y = random_costs(n, n)
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    a = random_logits(n, n)[0].softmax(0).detach() if weighted else None
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        aot.anchor_energy(x, y, a)
    assert sum(tensor.numel() for tensor in kept) == 2 * n * n


def test_only_wanted_gradients_are_made():
    x, y = random_costs(5, 5)
    value = aot.anchor_energy(x, y.detach())
    assert [t is None for t in value.grad_fn.next_functions[0][0].saved_tensors] == [False, True]


def test_second_derivatives_are_refused():
    x, y = random_costs(4, 4)
    gradient = torch.autograd.grad(aot.anchor_energy(x, y) ** 2, x, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


# -- points, ranks, plans ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_distances_are_those_of_scipy_and_differentiable(device, dimension):
    points = cloud(12, 0, dimension)
    ours = points.clone().to(device).requires_grad_()
    np.testing.assert_allclose(aot.from_points(ours).detach().cpu(), ao.from_points(points.numpy()).cost, rtol=1e-12)
    assert torch.autograd.gradcheck(aot.from_points, ours, atol=1e-6)


def test_coincident_points_have_finite_gradients():
    points = torch.zeros(2, 5, 3, dtype=torch.float64, requires_grad=True)
    aot.from_points(points).sum().backward()
    assert (points.grad == 0).all()


@given(spaces(), st.booleans())
def test_ranks_are_those_of_arrays(x, weighted):
    cost, weights = tensors(x)
    space = x if weighted else ao.Space(x.cost)
    found = aot.ranks(cost.requires_grad_(), weights if weighted else None)
    assert not found.requires_grad
    np.testing.assert_array_equal(found, space.ranked().cost)


@pytest.mark.parametrize("device", DEVICES)
@examples(50)
@given(spaces(), spaces())
def test_plans_are_those_of_arrays(device, x, y):
    plan = aot.anchor_energy_plan(*tensors(x, y, device=device))
    np.testing.assert_allclose(plan.cpu(), ao.anchor_energy_plan(x, y), atol=1e-12)


def test_plans_of_batches_are_those_of_their_entries():
    x, y = random_costs(6, 4, batch=(3,))
    together = aot.anchor_energy_plan(x, y)
    assert not together.requires_grad
    for i in range(3):
        np.testing.assert_allclose(together[i], ao.anchor_energy_plan(x[i].detach(), y[i].detach()), atol=1e-14)


# -- Anchor Wasserstein --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize(("n", "m"), [(6, 6), (5, 8)])
def test_transport_is_that_of_arrays(device, n, m, epsilon, p, weighted):
    if epsilon == 0 and (weighted or n != m):
        pytest.importorskip("ot", reason="POT, which solves this exactly, is not installed")
    rng = np.random.default_rng(p)
    x, y = (ao.Space(rng.uniform(size=(k, k)), rng.dirichlet(np.ones(k)) if weighted else None) for k in (n, m))
    values = tensors(x, y, device=device)
    ours = aot.anchor_wasserstein(*values[: 4 if weighted else 2], p=p, epsilon=epsilon, tolerance=1e-9)
    theirs = ao.anchor_wasserstein(x, y, p=p, epsilon=epsilon, tolerance=1e-9)
    assert ours.converged
    assert float(ours.value) == pytest.approx(theirs.value, abs=1e-8)
    assert float(ours.cost) == pytest.approx(theirs.cost, abs=1e-8)
    np.testing.assert_allclose(ours.plan.cpu(), theirs.plan, atol=1e-8)


def test_transport_of_points_without_weight_is_none():
    x, y = (t.detach() for t in random_costs(4, 3))
    a = torch.tensor([0.5, 0.0, 0.2, 0.3], dtype=torch.float64)
    found = aot.anchor_wasserstein(x, y, a, epsilon=0.5)
    assert found.plan[1].tolist() == [0, 0, 0]
    assert torch.isfinite(found.value)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize(("n", "m"), [(5, 5), (4, 6)])
def test_gradients_of_transport_are_right(n, m, p):
    def value(x, y, *logits):
        weights = (w.softmax(0) for w in logits)
        return aot.anchor_wasserstein(x, y, *weights, p=p, epsilon=0.5, tolerance=1e-12).value

    x, y = random_costs(n, m)
    logits = random_logits(n, m)
    assert torch.autograd.gradcheck(value, (x, y), atol=1e-6)
    assert torch.autograd.gradcheck(value, (x, y, *logits), atol=1e-6, fast_mode=True)


def test_batches_of_transport_are_their_entries():
    x, y = random_costs(5, 4, batch=(3,))
    together = aot.anchor_wasserstein(x, y, epsilon=0.4, tolerance=1e-10)
    assert together.plan.shape == (3, 5, 4)
    for i in range(3):
        alone = aot.anchor_wasserstein(x[i], y[i], epsilon=0.4, tolerance=1e-10)
        assert float(together.value[i].detach()) == pytest.approx(float(alone.value.detach()), abs=1e-9)


def test_transport_that_does_not_converge_says_so():
    x, y = random_costs(6, 6)
    with pytest.warns(ao.ConvergenceWarning, match="did not converge in 5 iterations at epsilon=0.001"):
        found = aot.anchor_wasserstein(x, y, epsilon=1e-3, max_iter=5)
    assert not found.converged


def test_transport_converges_at_small_epsilon():
    x, y = aot.from_points(cloud(30, 0)), aot.from_points(cloud(30, 1))
    batch = torch.stack([y, 2 * y])
    found = aot.anchor_wasserstein(x, batch, epsilon=1e-4)
    assert found.converged
    for i in range(2):
        expected = ao.anchor_wasserstein(x.numpy(), batch[i].numpy(), epsilon=1e-4).value
        assert float(found.value[i]) == pytest.approx(expected, rel=1e-5)


# -- beyond memory -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("n", "m"), [(40, 40), (45, 30), (1, 5)])
@pytest.mark.parametrize("options", [{}, {"block": 7}, {"memory": 9000.0}, {"memory": 1.0, "block": 16}])
def test_blocks_of_points_give_the_energy_of_the_whole(monkeypatch, device, n, m, options):
    monkeypatch.setitem(points.ROW_NUMBERS, device, 300)
    x, y = cloud(n, 0), cloud(m, 1, 2)
    expected = ao.anchor_energy(ao.from_points(x.numpy()), ao.from_points(y.numpy()))
    found = aot.anchor_energy_of_points(x.to(device), y.to(device), **options)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert (found.error, found.levels) == (0, None)
    assert (found.passes > 1) == (8 * (n * n + m * m) > options.get("memory", 1e9))


@examples(30)
@given(st.integers(10, 80), st.integers(10, 80), st.booleans(), st.sampled_from([3, 10, 30]), st.integers(0, 2**32))
def test_the_error_of_few_levels_is_honest(n, m, same, levels, seed):
    x, y = cloud(n, seed), cloud(n if same else m, seed + 1, 2)
    exact = aot.anchor_energy_of_points(x, y).value
    few = aot.anchor_energy_of_points(x, y, levels)
    assert abs(few.value - exact) <= 2 * few.error  # an estimate: between the levels it looks at, g may swing
    assert few.levels == levels


def test_more_levels_bring_a_smaller_error_and_a_better_value():
    x, y = cloud(300, 0), cloud(300, 1, 2)
    exact = aot.anchor_energy_of_points(x, y).value
    few, many = (aot.anchor_energy_of_points(x, y, levels) for levels in (10, 100))
    assert many.error < few.error / 5
    assert abs(many.value - exact) < 0.02 * exact
    assert aot.anchor_energy_of_points(x, y, 300).value == pytest.approx(exact, rel=1e-12)


def test_few_levels_in_passes_are_the_same():
    x, y = cloud(50, 0), cloud(60, 1)
    whole, parts = (aot.anchor_energy_of_points(x, y, 20, memory=memory) for memory in (1e9, 5000))
    assert parts.passes > 1
    assert (parts.value, parts.error) == pytest.approx((whole.value, whole.error), rel=1e-12)


# -- bad input -----------------------------------------------------------------------------------------------------

EYE = torch.eye(2)
HALVES = torch.tensor([0.5, 0.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(2), EYE), "cost_x is an ndarray, but a tensor"),
        ((EYE, EYE.long()), "cost_y has dtype torch.int64, but"),
        ((EYE, EYE.double()), "cost_x is torch.float32 on cpu and cost_y is torch.float64 on cpu"),
        ((torch.ones(2, 3), EYE), r"cost_x has shape \(2, 3\), but"),
        ((torch.ones(0, 0), EYE), r"cost_x has shape \(0, 0\), but"),
        ((EYE * torch.inf, EYE), "cost_x must be finite"),
        ((EYE.expand(2, 2, 2), EYE.expand(3, 2, 2)), "batches do not broadcast"),
        ((EYE, EYE, torch.ones(3) / 3), r"weights_x has shape \(3,\), but cost_x has 2 points"),
        ((EYE, EYE, None, torch.ones(2)), "weights_y must sum to 1, but sums to 2"),
        (
            (EYE, EYE, torch.tensor([1.5, -0.5])),
            "weights_x must be finite and not negative, but its smallest",
        ),
        ((EYE, EYE, torch.tensor([torch.nan, 0.5])), "weights_x must be finite and not negative"),
        ((EYE, EYE, HALVES.expand(3, 2)), "batches do not broadcast"),
        ((EYE, EYE, None, None, 0), "p must be an integer >= 1"),
    ],
)
def test_bad_input_gets_one_clear_line(arguments, message):
    for function in (aot.anchor_energy, aot.anchor_wasserstein):
        with pytest.raises(ao.InputError, match=message) as caught:
            function(*arguments)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [aot.align, aot.anchor_energy, aot.anchor_energy_plan, aot.anchor_wasserstein, aot.projected_energy],
)
def test_all_functions_of_two_spaces_call_them_alike(function):
    names = ["cost_x", "cost_y", "weights_x", "weights_y"]
    assert list(inspect.signature(function).parameters)[:4] == names
    with pytest.raises(ao.InputError, match="weights_y must sum to 1, but sums to 2"):
        function(**dict(zip(names, (EYE, EYE, HALVES, 2 * HALVES), strict=True)))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((EYE, EYE.expand(1, 2, 2)), {}, "but two clouds"),
        ((EYE, EYE), {"levels": 1}, "levels must be an integer >= 2"),
        ((EYE, EYE), {"memory": 0}, "memory must be a positive number"),
        ((EYE, EYE), {"block": 0}, "block must be an integer >= 1"),
        ((EYE, torch.ones(0, 2)), {}, r"Y has shape \(0, 2\)"),
    ],
)
def test_bad_points_get_one_clear_line(arguments, options, message):
    with pytest.raises(ao.InputError, match=message):
        aot.anchor_energy_of_points(*arguments, **options)


@pytest.mark.parametrize(("factor", "kind"), [(1e25, "float32"), (1e200, "float64")])
@pytest.mark.parametrize(
    "function",
    [
        aot.from_points,
        lambda points: aot.anchor_energy_of_points(points, 2 * points),
        lambda points: aot.anchor_energy_of_points(points, 2 * points, levels=3),
    ],
)
def test_points_too_far_apart_are_one_clear_line(function, factor, kind):
    points = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], dtype=getattr(torch, kind)) * factor
    with pytest.raises(ao.InputError, match=f"distances between points exceed the range of {kind}"):
        function(points)
