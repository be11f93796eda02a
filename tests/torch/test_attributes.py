"""Attributes and max_cost on tensors: the same numbers as without, and gradients."""

import numpy as np
import pytest
import torch

import anchorot as ao
import anchorot.torch as aot

CUDA = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]


def attribute_spaces(weighted, seed=0, sizes=(7, 9), kinds=3):
    rng = np.random.default_rng(seed)
    made = []
    for n in sizes:
        points = rng.normal(size=(n, 2))
        weights = rng.dirichlet(np.ones(n)) if weighted else None
        types = rng.integers(0, kinds, n)
        made.append(ao.Space(ao.from_points(points).cost, weights, types=types, features=rng.normal(size=(n, 3))))
    return made


def tensors(x, device="cpu"):
    cost, weights = torch.tensor(x.cost, device=device), torch.tensor(x.weights, device=device)
    return cost, weights, torch.tensor(x.types, device=device), torch.tensor(x.features, device=device)


def torch_energy(x, y, attributes, max_cost, device="cpu"):
    (cx, a, tx, fx), (cy, b, ty, fy) = tensors(x, device), tensors(y, device)
    given = {"types": (tx, ty)} if attributes == "types" else {"features": (fx, fy)} if attributes == "features" else {}
    return aot.anchor_energy(cx, cy, a, b, **given, max_cost=max_cost)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("attributes", ["types", "features", None])
@pytest.mark.parametrize("max_cost", [1.3, 20.0])
def test_tensors_agree_with_spaces(device, weighted, attributes, max_cost):
    for kinds in (1, 3, 5):
        x, y = attribute_spaces(weighted, kinds, kinds=kinds)
        phi = ao.anchors.LinearMap(3) if attributes == "features" else attributes
        expected = ao.anchor_energy(x, y, attributes=phi, max_cost=max_cost)
        assert float(torch_energy(x, y, attributes, max_cost, device)) == pytest.approx(expected, rel=1e-10, abs=1e-13)
        assert float(torch_energy(x, x, attributes, max_cost, device)) == pytest.approx(0, abs=1e-12)


def test_the_reach_of_marks_is_the_largest_cost_by_default():
    x, y = attribute_spaces(weighted=False)
    expected = ao.anchor_energy(x, y, attributes="types")
    assert float(torch_energy(x, y, "types", None)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_are_their_entries(weighted):
    pairs = [attribute_spaces(weighted, seed) for seed in range(3)]
    sides = [[tensors(pair[side]) for pair in pairs] for side in (0, 1)]
    (cx, a, tx, _), (cy, b, ty, _) = (tuple(torch.stack(part) for part in zip(*side, strict=True)) for side in sides)
    together = aot.anchor_energy(cx, cy, a, b, types=(tx, ty), max_cost=2.0)
    each = [float(torch_energy(*pair, "types", 2.0)) for pair in pairs]
    assert together.tolist() == pytest.approx(each, rel=1e-12)
    shared = aot.anchor_energy(cx, cy, a, b, types=(tx[0], ty[0]), max_cost=2.0)
    assert float(shared[0]) == pytest.approx(each[0], rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("attributes", ["types", "features", None])
def test_gradients_agree_with_finite_differences(weighted, attributes):
    x, y = attribute_spaces(weighted, sizes=(3, 4), kinds=2)
    (cx, a, tx, fx), (cy, b, ty, fy) = tensors(x), tensors(y)

    def energy(cx, cy, a, fx):
        given = (
            {"types": (tx, ty)} if attributes == "types" else {"features": (fx, fy)} if attributes == "features" else {}
        )
        weights = (a / a.sum(), b) if weighted else (None, None)
        return aot.anchor_energy(cx, cy, *weights, **given, max_cost=2.1)

    torch.manual_seed(0)  # costs without ties, where there is a gradient
    inputs = [(2.5 * torch.rand_like(cost)).requires_grad_() for cost in (cx, cy)]
    inputs += [a.clone().requires_grad_(weighted), fx.clone().requires_grad_(attributes == "features")]
    assert torch.autograd.gradcheck(energy, inputs, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"p": 2, "max_cost": 1.0}, "types, features and max_cost need p=1, but got p=2"),
        ({"types": torch.zeros(3)}, "types must be two tensors"),
        (
            {"types": (torch.zeros(3), torch.zeros(3))},
            "types of cost_x have dtype torch.float32, but integers",
        ),
        ({"types": (torch.zeros(2).int(), torch.zeros(3).int())}, r"types of cost_x have shape \(2,\)"),
        ({"features": (torch.zeros(3, 2), torch.zeros(3, 4))}, "features have lengths 2 and 4"),
        (
            {"types": (torch.zeros(3).int(),) * 2, "features": (torch.zeros(3, 2),) * 2},
            "got types and features, but points are distinguished by one of them",
        ),
        ({"max_cost": float("nan")}, "max_cost must be a finite number"),
    ],
)
def test_bad_marks_are_one_clear_line(options, said):
    cost = torch.rand(3, 3)
    with pytest.raises(ao.InputError, match=said):
        aot.anchor_energy(cost, cost, **options)
