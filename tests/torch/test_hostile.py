"""Every distance between tensors on numbers that are hard on arithmetic, and beside that of arrays."""

from dataclasses import replace

import numpy as np
import pytest

import anchorot as ao
from tests.io import hostile
from tests.io.hostile import Distance

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import anchorot.torch as aot  # noqa: E402
from anchorot.barycenter import barycenter_loss  # noqa: E402

CUDA = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]
device = pytest.fixture(params=DEVICES, name="device")(lambda request: request.param)


def tensors(x, y, device, wanted=""):
    """Costs and weights of both, costs of one precision; None for uniform weights; `wanted` gradients are asked for."""
    kind = np.result_type(x.cost, y.cost)
    costs = [torch.tensor(side.cost.astype(kind), device=device) for side in (x, y)]
    weights = [None if side.is_uniform else torch.tensor(side.weights, device=device) for side in (x, y)]
    for tensor in {"costs": costs, "weights": weights}.get(wanted, ()):
        if tensor is not None:
            tensor.requires_grad_()
    return *costs, *weights


def attributes_of(x, y, attributes):
    if attributes == "types":
        return {"types": tuple(torch.tensor([ord(kind) for kind in side.types]) for side in (x, y))}
    return {"features": tuple(torch.tensor(side.features) for side in (x, y))} if attributes else {}


def energy(p=1, *, max_costs=False, attributes=None, wanted="", **given):
    """Anchor Energy of tensors: with attributes, up to max_cost, and with the gradients that are wanted."""

    def of(x, y, max_cost, device="cpu"):
        local = {"max_cost": max_cost} if max_costs else {}
        found = aot.anchor_energy(
            *tensors(x, y, device, wanted), p, **attributes_of(x, y, attributes), **local, **given
        )
        return float(found.detach())

    return of


def transport(p, epsilon=None):
    return lambda x, y, _, device="cpu": float(aot.anchor_wasserstein(*tensors(x, y, device), p, epsilon).cost)


def plan(x, y, _, device="cpu"):
    found = aot.anchor_energy_plan(*tensors(x, y, device)).cpu().double().numpy()
    return found[np.ix_(x.weights > 0, y.weights > 0)]


def ranks(x, y, _, device="cpu"):
    cost, _, weights, _ = tensors(x, y, device)
    return aot.ranks(cost, weights).cpu().double().numpy()[np.ix_(x.weights > 0, x.weights > 0)]


def loss(metric, p=1, **attributes):
    """Of points on a line, as a barycenter of both spaces that is looked for."""

    def of(x, y, max_cost, device="cpu"):
        points = torch.tensor([[0.0], [1.0], [3.0], [4.0]], dtype=torch.float64, device=device)
        attribute_rule = (
            ao.anchors.attributes.attribute_rule_of((x, y), max_cost=max_cost, **attributes) if attributes else None
        )
        types = tuple("abca") if attributes.get("attributes") else None
        return float(
            barycenter_loss([x, y], np.array([0.3, 0.7]), metric, p, 0.1, attribute_rule, types, device)(points)
        )

    return of


GIVEN = {"is_zero_for_equals": False, "sees_offset": True, "power": 0}  # points have sizes and places
ENTROPIC = {"is_zero_for_equals": False, "tolerance": 1e-5}
DISTANCES = {
    **{f"AE_{p}": Distance(energy(p), p) for p in (1, 2, 3)},
    **{f"AE_{p} with gradients": Distance(energy(p, wanted="costs"), p) for p in (1, 2, 3)},
    "AE by W2": Distance(energy(ground="w2")),
    "AE of types": Distance(energy(attributes="types")),
    "AE of features": Distance(energy(attributes="features")),
    "local AE": Distance(energy(max_costs=True)),
    "local AE with gradients": Distance(energy(max_costs=True, wanted="costs")),
    "local AE of types": Distance(energy(max_costs=True, attributes="types")),
    "local AE of features": Distance(energy(max_costs=True, attributes="features")),
    **{f"AW_{p}": Distance(transport(p), p, **ENTROPIC) for p in (1, 2)},
    **{f"AW_{p}, exact": Distance(transport(p, 0), p) for p in (1, 2)},
    "plan": Distance(plan, 0, is_zero_for_equals=False),
    "ranks": Distance(ranks, 0, is_zero_for_equals=False),
    "barycenter by AE": Distance(loss("ae"), **GIVEN),
    "barycenter by AE of types": Distance(loss("ae", attributes="types"), **GIVEN),
    "barycenter by AW": Distance(loss("aw"), **GIVEN),
}
OF_ARRAYS = {
    **{f"AE_{p}": lambda x, y, _, p=p: ao.anchor_energy(x, y, p) for p in (1, 2, 3)},
    "AE by W2": lambda x, y, _: ao.anchor_energy(x, y, ground="w2"),
    "AE of types": lambda x, y, _: ao.anchor_energy(x, y, attributes="types"),
    "AE of features": lambda x, y, _: ao.anchor_energy(x, y, attributes=ao.anchors.LinearMap(1)),
    "local AE": lambda x, y, max_cost: ao.anchor_energy(x, y, max_cost=max_cost),
    "local AE of types": lambda x, y, max_cost: ao.anchor_energy(x, y, max_cost=max_cost, attributes="types"),
    "local AE of features": lambda x, y, max_cost: ao.anchor_energy(
        x, y, max_cost=max_cost, attributes=ao.anchors.LinearMap(1)
    ),
    **{f"AW_{p}": lambda x, y, _, p=p: ao.anchor_wasserstein(x, y, p).cost for p in (1, 2)},
    **{f"AW_{p}, exact": lambda x, y, _, p=p: ao.anchor_wasserstein(x, y, p, 0).cost for p in (1, 2)},
    "plan": lambda x, y, _: ao.anchor_energy_plan(x, y),
}
EVERY = pytest.mark.parametrize("name", DISTANCES)


def on(device, name):
    """The distance, computed there. On CUDA nothing waits for checks: a value that is not finite is the refusal."""
    found = DISTANCES[name]

    def of(*arguments):
        value = found.of(*arguments, device=device)
        if device == "cuda" and not np.all(np.isfinite(value)):
            raise ao.InputError("exceeds the range of float64")
        return value

    return replace(found, of=of)


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_tensors_are_as_far_apart_as_arrays(device, name):
    distance = on(device, name)
    for x, y in hostile.pairs():
        for side in (x, hostile.with_a_point_of_no_weight(x, 1e3)):
            wanted = OF_ARRAYS[name](x, y, hostile.REACH)
            hostile.assert_close(distance.of(side, y, hostile.REACH), wanted, distance.tolerance)


@EVERY
def test_single_precision_costs_are_the_numbers_that_they_are(device, name):
    distance = on(device, name)
    hostile.check_single_precision(replace(distance, tolerance=max(distance.tolerance, 1e-6)))


@EVERY
def test_a_point_of_no_weight_changes_nothing(device, name):
    hostile.check_points_of_no_weight(on(device, name))


@pytest.mark.parametrize("wanted", ["costs", "weights"])
@pytest.mark.parametrize("attributes", [None, "types", "features", "w2"])
def test_a_point_of_no_weight_changes_no_gradient(attributes, wanted):
    for x, y in hostile.pairs():
        larger = hostile.with_a_point_of_no_weight(x, 1e3)
        found = []
        for side in (x, larger):
            cost, other, weights, others = tensors(side, y, "cpu", wanted)
            weights = torch.tensor(side.weights, requires_grad=wanted == "weights")
            given = {"ground": "w2"} if attributes == "w2" else attributes_of(side, y, attributes)
            value = aot.anchor_energy(cost, other, weights, others, **given)
            gradient = torch.autograd.grad(value, cost if wanted == "costs" else weights)[0].numpy()
            heavy = np.flatnonzero(side.weights)
            heavy_part = gradient[np.ix_(heavy, heavy)] if wanted == "costs" else gradient[heavy]
            found.append((value.detach().numpy(), heavy_part))
        for part, alone in zip(*reversed(found), strict=True):
            hostile.assert_close(part, alone, 1e-9)


@EVERY
def test_an_offset_of_all_costs_changes_nothing(device, name):
    hostile.check_offset(on(device, name))


@EVERY
def test_the_unit_of_costs_is_that_of_the_answer(device, name):
    hostile.check_unit(on(device, name))


@EVERY
def test_equal_spaces_are_not_apart(device, name):
    hostile.check_equal_spaces(on(device, name))


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_single_points_are_spaces(device, name):
    hostile.check_single_points(on(device, name))


# -- tensors given to the functions of arrays ------------------------------------------------------------------------

MATRIX = [[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 1.0], [3.0, 2.0, 1.0, 0.0]]
QUARTERS = [0.25] * 4
TAKE_ARRAYS = {
    "Space": ao.Space,
    "weights": lambda t: ao.Space(MATRIX, t[0]),
    "features": lambda t: ao.Space(MATRIX, features=t),
    "take": lambda t: ao.Space(MATRIX).take(t[0]),
    "a list": lambda t: ao.Space(list(t)),
    "AE": lambda t: ao.anchor_energy(MATRIX, t),
    "AE by W2": lambda t: ao.anchor_energy(t, MATRIX, ground="w2"),
    "estimate": lambda t: ao.anchor_energy_estimate(t, MATRIX),
    "projected": lambda t: ao.distances.projected_energy(t, MATRIX),
    "expected cost": lambda t: ao.distances.expected_cost(t, MATRIX),
    "AW": lambda t: ao.anchor_wasserstein(t, MATRIX),
    "GW": lambda t: ao.gromov_wasserstein(t, MATRIX),
    "GW from a plan": lambda t: ao.gromov_wasserstein(MATRIX, MATRIX, start=t),
    "bounds": lambda t: ao.lower_bounds(t, MATRIX),
    "plan": lambda t: ao.anchor_energy_plan(t, MATRIX),
    "rows of a plan": lambda t: ao.anchor_energy_plan(MATRIX, MATRIX, rows=t[0]),
    "match": ao.match,
    "ot_1d": lambda t: ao.anchors.ot_1d(t[0], t[1]),
    "features of rows": ao.AnchorFeatures.of_rows,
    "energy distance": lambda t: ao.energy_distance(t, t),
    "energy test": lambda t: ao.energy_test(t, t),
    "group test": lambda t: ao.group_test(t, [0, 0, 1, 1]),
    "scale test": lambda t: ao.scale_test([t] * 4, [0, 0, 1, 1]),
    "max_costs": lambda t: ao.scale_test([MATRIX] * 4, [0, 0, 1, 1], t[0]),
    "barycenter": lambda t: ao.barycenter([t], 3),
    "start of a barycenter": lambda t: ao.barycenter([MATRIX], 4, 4, start=t),
    "embed": lambda t: ao.embed([t]),
    "embedded energy": lambda t: ao.search.embedded_energy(t[0], t[1], 2),
    "search index": lambda t: ao.SearchIndex.build([t]),
    "search": lambda t: ao.SearchIndex.build([MATRIX]).query(t, 1),
}


@pytest.mark.parametrize("name", TAKE_ARRAYS)
def test_a_tensor_that_needs_a_gradient_is_one_clear_line(name):
    tensor = torch.tensor(MATRIX, requires_grad=True)
    with pytest.raises(ao.InputError, match=r"needs a gradient.*\.detach\(\).*anchorot\.torch") as caught:
        TAKE_ARRAYS[name](tensor)
    assert "\n" not in str(caught.value)


def test_types_and_groups_of_a_tensor_are_its_numbers():
    """Tensors are keys by what they are, not by what they hold."""
    codes = torch.tensor([0, 1, 1, 0])
    for given in (codes, list(codes)):
        assert ao.Space(MATRIX, types=given).types == (0, 1, 1, 0)
        assert ao.group_test(MATRIX, given, rng=0, n_resamples=9, progress=False).groups == (0, 1)


def test_a_feature_map_is_of_spaces():
    with pytest.raises(ao.InputError, match=r"spaces\[0\] is a Tensor, but a Space with features is needed"):
        ao.anchors.feature_map([torch.tensor(MATRIX)])
