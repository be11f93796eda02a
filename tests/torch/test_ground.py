"""W_2 as the ground of energies between tensors: the CPU's values, exact gradients, and projections."""

import numpy as np
import pytest

import anchorot as ao
from tests.strategies import clouds

torch = pytest.importorskip("torch")

import anchorot.torch as aot  # noqa: E402


def tensors(space):
    return torch.tensor(space.cost), torch.tensor(space.weights)


def pair(weighted, sizes=(7, 9)):
    (cost_x, a), (cost_y, b) = (tensors(space) for space in clouds(list(sizes), weighted=weighted))
    return (cost_x, cost_y, a, b) if weighted else (cost_x, cost_y, None, None)


@pytest.mark.parametrize("weighted", [False, True])
def test_energy_is_that_of_spaces(weighted):
    cost_x, cost_y, a, b = pair(weighted)
    x, y = (ao.Space(c.numpy(), None if w is None else w.numpy()) for c, w in ((cost_x, a), (cost_y, b)))
    found = aot.anchor_energy(cost_x, cost_y, a, b, ground="w2")
    assert found.item() == pytest.approx(ao.anchor_energy(x, y, ground="w2"), rel=1e-9)


def test_batches_are_their_entries():
    stack = torch.rand(3, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = aot.anchor_energy(stack, stack[:1], ground="w2")
    assert found.shape == (3,)
    assert found[0] == 0
    assert found[2] == pytest.approx(aot.anchor_energy(stack[2], stack[0], ground="w2").item())


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_those_of_finite_differences(weighted):
    cost_x, cost_y, a, b = (None if t is None else t.requires_grad_() for t in pair(weighted, (4, 5)))
    inputs = [t for t in (cost_x, cost_y, a, b) if t is not None]

    def energy(*given):
        return aot.anchor_energy(given[0], given[1], *(w / w.sum() for w in given[2:]), ground="w2")

    assert torch.autograd.gradcheck(energy, inputs, eps=1e-7, atol=1e-6)


def test_gradients_of_weights_are_finite_where_all_levels_tie():
    cost_x, cost_y, _, _ = pair(False, (4, 4))
    a = torch.full((4,), 0.25, dtype=torch.float64, requires_grad=True)
    aot.anchor_energy(cost_x, cost_y, a, ground="w2").backward()
    assert torch.isfinite(a.grad).all()


def test_equal_anchors_have_no_slope():
    """The root of 0 has no derivative; a space and itself are at the least energy there is."""
    cost = pair(False)[0].requires_grad_()
    aot.anchor_energy(cost, cost.detach(), ground="w2").backward()
    assert torch.isfinite(cost.grad).all()


def test_near_anchors_keep_their_digits():
    rng = np.random.default_rng(0)
    x, y = (1 + 2.0**-30 * rng.integers(0, 9, (6, 6)) / 8 for _ in "xy")
    x[0, 0] = y[0, 0] = 9
    expected = ao.anchor_energy(x, y, ground="w2")
    assert aot.anchor_energy(torch.tensor(x), torch.tensor(y), ground="w2").item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_projections_and_their_gradients_are_right_on_average(weighted):
    cost_x, cost_y, a, b = pair(weighted)
    cost_x.requires_grad_()
    exact = aot.anchor_energy(cost_x, cost_y, a, b, ground="w2")
    (slope,) = torch.autograd.grad(exact, cost_x)
    found = aot.projected_energy(cost_x, cost_y, a, b, n_projections=4000, rng=1)
    assert abs(found.value - exact) < 4 * found.standard_error < 0.2 * exact
    (about,) = torch.autograd.grad(found.value, cost_x)
    assert (about - slope).norm() < 0.15 * slope.norm()


def test_a_seed_draws_what_its_generator_draws():
    cost_x, cost_y, a, b = pair(True)
    seeded, drawn, other = (
        aot.projected_energy(cost_x, cost_y, a, b, n_projections=5, rng=rng).value
        for rng in (7, torch.Generator().manual_seed(7), 8)
    )
    assert seeded == drawn != other
    with pytest.raises(ao.InputError, match="rng must be an integer >= 0, but got 'seven'"):
        aot.projected_energy(cost_x, cost_y, rng="seven")


def test_projections_of_batches_have_a_value_each():
    stack = torch.rand(2, 5, 5, generator=torch.Generator().manual_seed(0))
    found = aot.projected_energy(stack, stack[0], n_projections=3)
    assert found.value.shape == found.standard_error.shape == (2,)
    assert (found.value[0], found.value.dtype) == (0, torch.float32)


def test_what_does_not_go_with_w2_is_refused():
    with pytest.raises(ao.InputError, match="ground='w2' goes with p=1"):
        aot.anchor_energy(torch.eye(3), torch.eye(3), p=2, ground="w2")
    with pytest.raises(ao.InputError, match="neither attributes nor max_cost"):
        aot.anchor_energy(torch.eye(3), torch.eye(3), max_cost=1.0, ground="w2")
