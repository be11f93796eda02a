"""Sliced Anchor Wasserstein on tensors: values are those of arrays, gradients those of finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests.strategies import clouds, examples, scale_of, spaces

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import anchorot.torch as aot  # noqa: E402

POWERS = st.sampled_from([1, 2])


def random_sides(seed, n, m, batch=()):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.uniform(0.5, 2, (*batch, k, k)), requires_grad=True) for k in (n, m)]


def random_weights(seed, *sizes):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.dirichlet(np.full(n, 5.0)), requires_grad=True) for n in sizes]


def normalised(distance):
    """The same function of weights that are not of sum 1."""
    return lambda x, y, a, b: distance(x, y, a / a.sum(), b / b.sum())


@examples(50)
@given(spaces(), spaces(), POWERS)
def test_values_are_those_of_arrays(x, y, p):
    sides = torch.tensor(x.cost), torch.tensor(y.cost), torch.tensor(x.weights), torch.tensor(y.weights)
    close = pytest.approx(ao.sliced_anchor_wasserstein(x, y, p), abs=(1e-12 if p == 1 else 1e-6) * scale_of(x, y))
    assert float(aot.sliced_anchor_wasserstein(*sides, p)) == close
    sides[0].requires_grad_()  # the way of gradients is another one
    assert float(aot.sliced_anchor_wasserstein(*sides, p).detach()) == close


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("sizes", [(5, 5), (4, 6), (1, 3)])
def test_gradients_in_costs(p, sizes):
    sides = random_sides(0, *sizes)
    assert torch.autograd.gradcheck(lambda x, y: aot.sliced_anchor_wasserstein(x, y, p=p), sides, eps=1e-7, atol=1e-6)


@pytest.mark.parametrize("p", [1, 2])
def test_gradients_in_costs_and_weights(p):
    sides = [*random_sides(1, 4, 5), *random_weights(2, 4, 5)]

    def distance(x, y, a, b):
        return aot.sliced_anchor_wasserstein(x, y, a, b, p)

    assert torch.autograd.gradcheck(normalised(distance), sides, eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
def test_a_batch_is_its_entries(p):
    x, y = random_sides(3, 6, 4, batch=(3,))
    together = aot.sliced_anchor_wasserstein(x, y, p=p)
    together.sum().backward()
    for k in range(3):
        one, two = (t[k].detach().clone().requires_grad_() for t in (x, y))
        alone = aot.sliced_anchor_wasserstein(one, two, p=p)
        alone.backward()
        assert float(alone.detach()) == pytest.approx(float(together[k].detach()), rel=1e-14)
        torch.testing.assert_close(one.grad, x.grad[k])
        torch.testing.assert_close(two.grad, y.grad[k])


@pytest.mark.parametrize("p", [1, 2])
def test_the_gradient_at_zero_is_zero(p):
    x = random_sides(4, 5, 5)[0]
    aot.sliced_anchor_wasserstein(x, x.detach(), p=p).backward()
    assert not x.grad.any()


def test_types_are_those_of_arrays():
    rng = np.random.default_rng(5)
    costs, types = [rng.uniform(size=(n, n)) for n in (6, 8)], [rng.integers(0, 3, n) for n in (6, 8)]
    wanted = ao.sliced_anchor_wasserstein(
        *(ao.Space(c, types=t) for c, t in zip(costs, types, strict=True)), attributes="types", max_cost=0.9
    )
    tensors = [torch.tensor(c, requires_grad=True) for c in costs]
    found = aot.sliced_anchor_wasserstein(*tensors, types=tuple(map(torch.tensor, types)), max_cost=0.9)
    assert float(found.detach()) == pytest.approx(wanted, rel=1e-12)
    found.backward()
    assert all(side.grad.abs().sum() > 0 for side in tensors)


def test_costs_up_to_a_limit_are_those_of_arrays():
    x, y = clouds((7, 9), weighted=True)
    sides = torch.tensor(x.cost), torch.tensor(y.cost), torch.tensor(x.weights), torch.tensor(y.weights)
    found = aot.sliced_anchor_wasserstein(*sides, max_cost=1.0)
    assert float(found) == pytest.approx(ao.sliced_anchor_wasserstein(x, y, max_cost=1.0), rel=1e-12)


def test_types_with_weights_are_refused():
    x, a = torch.rand(3, 3), torch.tensor([0.2, 0.3, 0.5])
    with pytest.raises(ao.InputError, match="types need p=1 and uniform weights on tensors"):
        aot.sliced_anchor_wasserstein(x, x, a, a, types=(torch.arange(3), torch.arange(3)))
