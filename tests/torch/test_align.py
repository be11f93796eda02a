"""Alignments of tensors: one result whatever the device, the type, the batch and the library."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import anchorot as ao  # noqa: E402
import anchorot.torch as aot  # noqa: E402
from anchorot.distances.descent import COOL_TEMPERATURES, anneal  # noqa: E402
from anchorot.distances.quadratic import Quadratic  # noqa: E402
from anchorot.torch import _matching  # noqa: E402

module = sys.modules["anchorot.torch.align"]  # whose name its function has taken

cuda = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=cuda)]


def noisy_pairs(n, count=1, noise=0.05, dim=4, seed=0, dtype=torch.float64, device="cpu"):
    """Costs of clouds and of their noisy, shuffled copies, (count, n, n) each, and the true matches."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(count, n, dim, generator=generator, dtype=torch.float64)
    order = torch.stack([torch.randperm(n, generator=generator) for _ in range(count)])
    moved = points + noise * torch.randn(points.shape, generator=generator, dtype=torch.float64)
    moved = moved.gather(1, order[..., None].expand(points.shape))
    costs = (aot.from_points(cloud).to(device, dtype) for cloud in (points, moved))
    return *costs, order.argsort(1).to(device)


@pytest.fixture(params=["few points", "many points"])
def either_way(request, monkeypatch):
    """Matched on the CPU, or on the device, as if points were many."""
    if request.param == "many points":
        monkeypatch.setattr(_matching, "MAX_HOST_POINTS", 2)
        monkeypatch.setattr(_matching, "HOST_REST_POINTS", 5)


# -- one result ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_and_arrays_give_the_same_matches_and_value(device, dtype, either_way):
    x, y, _ = noisy_pairs(60, dtype=dtype, device=device)
    expected = ao.align(x[0].cpu().double().numpy(), y[0].cpu().double().numpy())
    found = aot.align(x[0], y[0])
    assert found.converged
    assert found.matches.tolist() == expected.matches.tolist()
    assert float(found.value) == pytest.approx(expected.value, rel=1e-6)
    np.testing.assert_allclose(found.plan.cpu(), expected.plan, atol=1e-15)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_shuffled_copy_is_matched_perfectly_at_value_zero(device, dtype, either_way):
    x, y, truth = noisy_pairs(50, noise=0.0, dtype=dtype, device=device)
    found = aot.align(x, y)
    assert found.matches.equal(truth)
    assert found.value.tolist() == found.objective.tolist() == [0.0]


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_gives_what_its_entries_give_one_by_one(device, either_way):
    x, y, _ = noisy_pairs(40, count=4, noise=0.1, device=device)
    together = aot.align(x, y)
    assert together.matches.shape == (4, 40)
    assert together.value.shape == (4,)
    for i in range(4):
        alone = aot.align(x[i], y[i])
        assert alone.matches.equal(together.matches[i])
        assert float(alone.value) == pytest.approx(float(together.value[i]), rel=1e-9)


def test_single_precision_finds_the_matches_of_double(either_way):
    x, y, _ = noisy_pairs(60, noise=0.1)
    assert aot.align(x, y).matches.equal(aot.align(x.float(), y.float()).matches)


def test_leading_dimensions_broadcast():
    x, y, _ = noisy_pairs(12, count=6)
    found = aot.align(x[0], y.view(2, 3, 12, 12))
    assert found.matches.shape == (2, 3, 12)
    assert found.plan.shape == (2, 3, 12, 12)
    assert found.value.shape == found.candidates[0].objective.shape == (2, 3)
    assert found.matches[0, 0].equal(aot.align(x[0], y[0]).matches)


@pytest.mark.parametrize("device", DEVICES)
def test_the_value_is_that_of_the_plan_and_never_above_that_of_any_start(device, either_way):
    x, y, truth = noisy_pairs(50, count=2, noise=0.3, device=device)
    found = aot.align(x, y)
    for i in range(2):
        expected = float(Quadratic(x[i], y[i]).value(found.plan[i]))
        assert float(found.value[i]) == pytest.approx(expected, rel=1e-9)
        assert float(found.value[i]) <= Quadratic(x[i], y[i]).value_of_matches(truth[i].cpu().numpy()) * (1 + 1e-9)
    for candidate in found.candidates:
        assert (found.objective <= candidate.objective).all()


# -- weights, sizes, features --------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
def test_plans_between_other_sizes_and_weights_have_the_marginals(device, weighted):
    pytest.importorskip("ot")
    x, _, _ = noisy_pairs(14, count=2, device=device)
    _, y, _ = noisy_pairs(11, count=2, seed=1, device=device)
    a, b = (torch.full((2, k), 1 / k, dtype=torch.float64, device=device) for k in (14, 11))
    if weighted:
        a, b = (torch.rand_like(w) + 0.1 for w in (a, b))
        a, b = a / a.sum(-1, keepdim=True), b / b.sum(-1, keepdim=True)
    found = aot.align(x, y, a, b) if weighted else aot.align(x, y)
    assert (found.plan >= 0).all()
    torch.testing.assert_close(found.plan.sum(-1), a, atol=1e-12, rtol=0)
    torch.testing.assert_close(found.plan.sum(-2), b, atol=1e-12, rtol=0)
    for i in range(2):
        assert float(Quadratic(x[i], y[i]).value(found.plan[i])) == pytest.approx(float(found.value[i]), rel=1e-9)


def test_points_of_weight_zero_have_no_match_and_change_nothing():
    pytest.importorskip("ot")
    x, y, truth = noisy_pairs(20)
    weights = torch.ones(20, dtype=torch.float64)
    weights[[3, 7]] = 0
    other = torch.zeros_like(weights).scatter(0, truth[0], weights)
    found = aot.align(x[0], y[0], weights / 18, other / 18)
    kept = torch.nonzero(weights)[:, 0]
    assert found.matches[[3, 7]].tolist() == [-1, -1]
    assert found.matches[kept].equal(truth[0][kept])
    torch.testing.assert_close(found.plan.sum(-1), weights / 18, atol=1e-12, rtol=0)


def test_features_break_a_symmetry_as_with_arrays():
    ring = torch.arange(12)
    gaps = (ring[:, None] - ring).abs()
    cost = torch.minimum(gaps, 12 - gaps).double()
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    colours = torch.randn(12, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    pair = cost, cost[order][:, order]
    found = aot.align(*pair, features=(colours, colours[order]))
    expected = ao.align(*(t.numpy() for t in pair), features=(colours.numpy(), colours[order].numpy()))
    assert order[found.matches].equal(ring)
    assert float(found.objective) == pytest.approx(0, abs=1e-12)
    assert float(found.feature_scale) == pytest.approx(expected.feature_scale, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("device", DEVICES)
def test_no_scale_of_the_costs_changes_the_matches(scale, dtype, device):
    x, y, _ = noisy_pairs(30, dtype=dtype, device=device)
    plain, found = aot.align(x, y), aot.align(scale * x, scale * y)
    assert found.matches.equal(plain.matches)
    assert float(found.value) == pytest.approx(float(plain.value) * scale**2, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_costs_whose_squares_double_cannot_hold_are_matched_all_the_same(scale):
    x, y, truth = noisy_pairs(30)
    found = aot.align(scale * x, scale * y)
    assert found.matches.equal(truth)
    assert float(found.value) == (0 if scale < 1 else torch.inf)
    assert float(aot.align(scale * x, scale * x).value) == 0


def eighths(x):
    """Costs that stay exact 1e15 away from zero."""
    return (80 * x).round() / 8


@pytest.mark.parametrize("offset", [1e9, -1e12, 1e15])
def test_a_common_offset_of_the_costs_changes_no_match(offset, either_way):
    x, y, truth = noisy_pairs(30, count=2, noise=0.0)
    x, y = eighths(x), eighths(y)
    found = aot.align(x + offset, y + offset)
    assert found.matches.equal(truth)
    assert found.value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [2.0**-100, 1.6e-19, 2.0**100])
def test_scaling_all_features_changes_no_match(scale, dtype):
    x, y, _ = noisy_pairs(15, noise=0.5, dtype=dtype)
    u, v = (torch.randn(15, 2, generator=torch.Generator().manual_seed(k), dtype=dtype) for k in (1, 2))
    plain, scaled = aot.align(x, y, features=(u, v)), aot.align(x, y, features=(u * scale, v * scale))
    assert scaled.matches.equal(plain.matches)
    assert float(scaled.objective) == pytest.approx(float(plain.objective), rel=1e-5)
    assert plain.matches.ne(aot.align(x, y).matches).any()


def test_costs_and_features_of_points_of_weight_zero_play_no_part():
    pytest.importorskip("ot")
    x, y, _ = noisy_pairs(12, noise=0.5)
    u, v = (torch.randn(12, 2, generator=torch.Generator().manual_seed(k), dtype=torch.float64) for k in (1, 2))
    padded = torch.nn.functional.pad(x[0], (0, 1, 0, 1), value=1e30)
    weights = torch.nn.functional.pad(torch.full((12,), 1 / 12, dtype=torch.float64), (0, 1))
    far = torch.tensor([[1e9, -1e9]], dtype=torch.float64)
    for features, wide in ((None, None), ((u, v), (torch.cat([u, far]), v))):
        plain, found = aot.align(x[0], y[0], features=features), aot.align(padded, y[0], weights, features=wide)
        assert found.matches[:-1].equal(plain.matches)
        assert float(found.value) == float(plain.value)
        assert float(found.feature_scale) == pytest.approx(float(plain.feature_scale), rel=1e-12)


def test_the_value_of_costs_in_single_precision_is_that_of_the_same_numbers_in_double(either_way):
    x, y, _ = noisy_pairs(20, noise=1.0, dtype=torch.float32)
    single, double = aot.align(x, y), aot.align(x.double(), y.double())
    assert single.matches.equal(double.matches)
    assert float(single.value) == pytest.approx(float(double.value), rel=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_is_not_taken_for_asymmetry_which_doubles_the_work(dtype, monkeypatch):
    x, y, truth = noisy_pairs(40, dtype=dtype)
    rough = torch.finfo(dtype).eps * torch.randn(40, 40, generator=torch.Generator().manual_seed(0), dtype=dtype)
    made, inner = [], module.Quadratic
    for where in (module, _matching):
        monkeypatch.setattr(where, "Quadratic", lambda *given: made.append(inner(*given)) or made[-1])
    found = aot.align(x * (1 + rough), y * (1 + rough))
    assert found.matches.equal(truth)
    assert not any(problem._is_skew for problem in made)
    assert (x * (1 + rough)).mT.ne(x * (1 + rough)).any()


def test_asymmetric_costs_are_aligned_as_with_arrays():
    x, y, truth = noisy_pairs(30, noise=0.02)
    tilt = torch.randn(30, 30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    tilted = torch.zeros_like(tilt)
    tilted[truth[0][:, None], truth[0]] = tilt
    pair = x[0] + 0.3 * tilt, y[0] + 0.3 * tilted
    found, expected = aot.align(*pair), ao.align(*(cost.numpy() for cost in pair))
    assert found.matches.tolist() == expected.matches.tolist() == truth[0].tolist()
    assert float(found.value) == pytest.approx(expected.value, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_constant_costs_are_aligned_at_value_zero(n, level, either_way):
    cost = torch.full((n, n), level)
    found = aot.align(cost, cost)
    assert float(found.value) == 0
    assert sorted(found.matches.tolist()) == list(range(n))


# -- the pieces ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_is_annealed_as_arrays_are(device):
    x, y, _ = noisy_pairs(25, count=3, noise=0.2, device=device)
    a = torch.full((3, 25), 1 / 25, dtype=torch.float64, device=device)
    start = aot.anchor_energy_plan(x, y)
    found = anneal(Quadratic(x, y), start, a, a, COOL_TEMPERATURES)
    for i in range(3):
        arrays = (t[i].cpu().numpy() for t in (x, y))
        weights = a[i].cpu().numpy()
        alone = anneal(Quadratic(*arrays), start[i].cpu().numpy(), weights, weights, COOL_TEMPERATURES)
        assert np.abs(found.plan[i].cpu().numpy() - alone.plan).sum() < 0.05


def test_a_device_is_seldom_waited_for_which_changes_the_plan_little(monkeypatch):
    x, y, _ = noisy_pairs(25, noise=0.2)
    a = torch.full((1, 25), 1 / 25, dtype=torch.float64)
    look, looks = torch.Tensor.__float__, []
    monkeypatch.setattr(torch.Tensor, "__float__", lambda tensor: looks.append(1) or look(tensor))
    plans, counts = [], []
    for is_on_host in (True, False):
        monkeypatch.setattr("anchorot.distances.descent.is_on_host", lambda _, result=is_on_host: result)
        looks.clear()
        plans.append(anneal(Quadratic(x, y), aot.anchor_energy_plan(x, y), a, a, COOL_TEMPERATURES).plan)
        counts.append(len(looks))
    assert counts[1] < counts[0] / 2
    assert (plans[0] - plans[1]).abs().sum() < 0.01


def test_anchors_cost_what_they_cost_as_arrays_exactly_or_nearly():
    from anchorot.distances.starts import anchor_costs

    x, y, _ = noisy_pairs(40)
    a = torch.full((1, 40), 1 / 40, dtype=torch.float64)
    for share in (0.1, 1.0):
        expected = anchor_costs(ao.Space(x[0].numpy()), ao.Space(y[0].numpy()), share, 1)
        exact = _matching.Anchors(x, y, a, a, is_uniform=True)._costs(share)[0]
        nearly = _matching.Anchors(x, y, a, a, is_uniform=False)._costs(share)[0]
        np.testing.assert_allclose(exact, expected, rtol=1e-12)
        np.testing.assert_allclose(nearly, expected, atol=0.02 * expected.max())


@pytest.mark.parametrize("few", [2, 1000])
def test_assignment_from_potentials_finds_the_cheapest_matching(few, monkeypatch):
    from scipy.optimize import linear_sum_assignment

    monkeypatch.setattr(_matching, "HOST_REST_POINTS", few)
    costs = torch.rand(80, 80, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matches = _matching.Assignment(80, costs)(costs)
    assert sorted(matches) == list(range(80))
    least = costs.numpy()[linear_sum_assignment(costs.numpy())].sum()
    assert costs.numpy()[np.arange(80), matches].sum() <= least * 1.001


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": "aep"}, "start"),
        ({"alpha": 2.0}, "alpha must be a number from 0 to 1"),
        ({"weights_x": torch.ones(5)}, "weights_x must sum to 1"),
        ({"cost_y": torch.eye(5).double()}, "cost_x is torch.float32"),
        ({"cost_x": torch.full((5, 5), torch.nan)}, "cost_x must be finite"),
        ({"features": (torch.zeros(5, 2), torch.zeros(4, 2))}, "features of shapes"),
        ({"features": (torch.zeros(5, 2), torch.zeros(5, 3))}, "features of shapes"),
    ],
)
def test_what_cannot_be_aligned_is_refused_in_one_line(change, message):
    arguments = {"cost_x": torch.eye(5), "cost_y": torch.eye(5)} | change
    with pytest.raises(ao.InputError, match=message) as caught:
        aot.align(**arguments)
    assert "\n" not in str(caught.value)


def test_a_result_names_its_candidates_and_facts_as_arrays_do():
    x, y, _ = noisy_pairs(12, count=6)
    one, batch = aot.align(x[0], y[0]), aot.align(x, y)
    plain = ao.align(x[0].numpy(), y[0].numpy(), rng=0)
    assert one.shape == plain.shape == (12, 12)
    assert one.facts()["points"] == "12 and 12"
    assert batch.facts()["batch"] == "6"
    assert "solver: converged, best of 4" in repr(one)
    best = one.candidates[0]
    assert isinstance(best, ao.Candidate)
    assert set(best.details) <= set(plain.candidates[0].details)
    assert best.objective == one.objective
    assert best.matches.equal(one.matches)
    assert float(best.differs) == 0
    means = [float(each.objective.mean()) for each in one.candidates]
    assert means == sorted(means)
    assert batch.candidates[0].differs.shape == (6,)
