"""Sliced Anchor Wasserstein: properties, and what it bounds."""

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels
from tests import reference
from tests.strategies import (
    FAR,
    clouds,
    costs,
    examples,
    relabelled_copies,
    scale_of,
    shifted,
    spaces,
    spaces_of_eighths,
    with_a_light_point,
)

POWERS = st.sampled_from([1, 2])
SMALL = st.integers(1, 4)
saw = ao.sliced_anchor_wasserstein


def tolerance(p, *spaces):
    """SAW_2 is the root of an integral that is exact to rounding."""
    return (1e-12 if p == 1 else 3e-7) * scale_of(*spaces)


def exactly(space):
    """Costs and weights as fractions."""
    weights = [Fraction(w).limit_denominator(100) for w in space.weights]
    return [[Fraction(float(c)) for c in row] for row in space.cost], weights


def sweeps(set_of_kernels, x, y, p):
    """SAW_p by a sweep, which takes any weights."""
    if p == 1:
        return set_of_kernels.sweep_transport(x.events, y.events, 1)
    return set_of_kernels.level_sweep_transport(x.level_moves, x.events.mass, y.level_moves, y.events.mass)


# -- against the definition ----------------------------------------------------------------------------------------


@given(SMALL.flatmap(spaces), SMALL.flatmap(spaces), POWERS)
def test_every_kernel_agrees_with_the_definition(x, y, p):
    (cost_x, a), (cost_y, b) = exactly(x), exactly(y)
    wanted = float(reference.sliced_power(cost_x, cost_y, a, b, p)) ** (1 / p)
    close = pytest.approx(wanted, abs=tolerance(p, x, y))
    assert saw(x, y, p) == close
    fx, fy = ao.AnchorFeatures.of(x), ao.AnchorFeatures.of(y)
    for set_of_kernels in (kernels, numpy_kernels):
        assert sweeps(set_of_kernels, fx, fy, p) == close
        if fx.levels is not None and fy.levels is not None:
            assert set_of_kernels.level_transport(fx.levels, fy.levels, p, 1) == close


@given(st.data(), POWERS)
def test_two_sorted_matrices_of_one_size_differ_by_their_mean_difference(data, p):
    n = data.draw(st.integers(1, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, y = rng.normal(size=(2, n, n))
    one, two = (np.sort(np.sort(cost, axis=1), axis=0) for cost in (x, y))
    assert saw(x, y, p) == pytest.approx(np.mean(np.abs(one - two) ** p) ** (1 / p), rel=1e-12)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [(True, True), (True, False), (False, False)])
def test_kernels_agree_on_larger_spaces(weighted, p):
    x, y = (clouds((n,), k, weighted=w)[0] for k, (n, w) in enumerate(zip((60, 45), weighted, strict=True)))
    fx, fy = ao.AnchorFeatures.of(x), ao.AnchorFeatures.of(y)
    value = saw(fx, fy, p)
    assert value == pytest.approx(sweeps(kernels, fx, fy, p), rel=1e-11)
    assert value == pytest.approx(sweeps(numpy_kernels, fx, fy, p), rel=1e-11)


@given(SMALL.flatmap(spaces), SMALL.flatmap(spaces), st.data())
def test_types_against_the_definition(x, y, data):
    x, y = (
        ao.Space(s.cost, s.weights, types=data.draw(st.lists(st.sampled_from("HOC"), min_size=s.n, max_size=s.n)))
        for s in (x, y)
    )
    limit = 1.0 + max(float(x.cost.max()), float(y.cost.max()))
    sides = [(*exactly(s), s.types) for s in (x, y)]
    wanted = float(reference.typed_sliced(*sides, Fraction(limit)))
    found = saw(x, y, attributes="types", max_cost=limit)
    assert found == pytest.approx(wanted, abs=1e-10 * (limit - min(x.cost.min(), y.cost.min())))


# -- a distance ----------------------------------------------------------------------------------------------------


@given(spaces(), spaces(), spaces(), POWERS)
def test_it_is_a_metric_without_a_root(x, y, z, p):
    slack = tolerance(p, x, y, z)
    assert saw(x, x, p) == pytest.approx(0, abs=slack)
    assert saw(x, y, p) == pytest.approx(saw(y, x, p), abs=slack)
    assert saw(x, z, p) <= saw(x, y, p) + saw(y, z, p) + slack


@given(spaces(), spaces(), POWERS, st.sampled_from([0.25, 3.0, 1e-150, 1e150]))
def test_costs_times_a_number_multiply_it(x, y, p, factor):
    larger = [ao.Space(factor * side.cost, side.weights) for side in (x, y)]
    assert saw(*larger, p) == pytest.approx(factor * saw(x, y, p), rel=1e-9, abs=factor * tolerance(p, x, y))


@given(spaces(), POWERS, st.floats(0, 100))
def test_a_shift_of_all_costs_is_its_distance(x, p, d):
    assert saw(x, ao.Space(x.cost + d, x.weights), p) == pytest.approx(d, abs=1e-11 * (scale_of(x) + 1e3), rel=1e-9)


@given(spaces_of_eighths(), spaces_of_eighths(), POWERS, FAR)
def test_far_from_zero_nothing_is_lost(x, y, p, far):
    assert saw(shifted(x, far), shifted(y, far), p) == pytest.approx(saw(x, y, p), rel=1e-12, abs=tolerance(p, x, y))


@given(st.integers(1, 6), st.data(), spaces(), POWERS)
def test_relabelling_changes_nothing(n, data, y, p):
    x = data.draw(spaces(n))
    order = data.draw(st.permutations(range(n)))
    assert saw(x.take(order), y, p) == pytest.approx(saw(x, y, p), abs=tolerance(p, x, y))


def test_relabelling_points_with_types_changes_nothing():
    x, *others = relabelled_copies(weighted=False)
    assert all(saw(x, y, attributes="types") == pytest.approx(0, abs=1e-14) for y in others)


@given(spaces(), spaces(), POWERS, st.data())
def test_splitting_a_point_changes_nothing(x, y, p, data):
    k = data.draw(st.integers(0, x.n - 1))
    places = [*range(x.n), k]
    weights = x.weights[places].copy()
    weights[[k, -1]] /= 2
    halved = ao.Space(x.cost[np.ix_(places, places)], weights)
    assert saw(halved, y, p) == pytest.approx(saw(x, y, p), abs=tolerance(p, x, y))


@given(spaces(), spaces(), POWERS)
def test_a_point_of_weight_zero_changes_nothing(x, y, p):
    larger = with_a_light_point(x, 0.0, 1e6)
    assert saw(larger, y, p) == pytest.approx(saw(x, y, p), abs=tolerance(p, x, y))


@given(SMALL.flatmap(lambda n: spaces(n, uniform=True)), SMALL.flatmap(lambda n: spaces(n, uniform=True)), POWERS)
def test_sizes_meet_in_a_common_refinement(x, y, p):
    size = np.lcm(x.n, y.n)
    fine = [ao.Space(np.repeat(np.repeat(s.cost, size // s.n, 0), size // s.n, 1)) for s in (x, y)]
    assert saw(x, y, p) == pytest.approx(saw(*fine, p), abs=tolerance(p, x, y))


@pytest.mark.parametrize("p", [1, 2])
def test_distances_are_of_negative_type(p):
    many = clouds(14, seed=3)
    matrix = np.array([[saw(x, y, p) for y in many] for x in many]) ** p
    centring = np.eye(len(many)) - 1 / len(many)
    assert np.linalg.eigvalsh(-centring @ matrix @ centring).min() > -1e-12


def test_groups_are_compared_by_it():
    near, far = clouds((9,) * 8, seed=5), [ao.Space(2 * s.cost, s.weights) for s in clouds((9,) * 8, seed=6)]
    matrix = ao.pairwise([*near, *far], metric="saw", progress=False, n_jobs=1)
    labels = ["near"] * 8 + ["far"] * 8
    found = ao.group_test(matrix, labels, n_resamples=199, rng=0)
    assert found.pvalue <= 0.02
    assert found.null.min() >= 0  # as for every distance of negative type


@pytest.mark.parametrize("p", [1, 2])
def test_ranks_ignore_scale(p):
    x, y = clouds((9, 12), weighted=True)
    assert saw(x, y, p, robust=True) == pytest.approx(saw(x.ranked(), y.ranked(), p), abs=1e-12)
    assert saw(ao.Space(x.cost**3, x.weights), y, p, robust=True) == saw(x, y, p, robust=True)


@given(spaces(), spaces(), POWERS, st.floats(-5, 5))
def test_costs_beyond_the_largest_count_as_it(x, y, p, limit):
    cut = [ao.Space(np.minimum(s.cost, limit), s.weights) for s in (x, y)]
    assert saw(x, y, p, max_cost=limit) == pytest.approx(saw(*cut, p), abs=tolerance(p, x, y))


# -- bounds --------------------------------------------------------------------------------------------------------


@given(spaces(), spaces(), POWERS)
def test_it_lies_between_half_of_anchor_energy_and_anchor_wasserstein(x, y, p):
    pytest.importorskip("ot", reason="exact transport with weights needs POT")
    slack = tolerance(2, x, y)
    assert ao.anchor_energy(x, y) / 2 <= saw(x, y) + slack
    assert saw(x, y, p) <= ao.anchor_wasserstein(x, y, p, epsilon=0).cost ** (1 / p) + slack
    assert saw(x, y) <= saw(x, y, 2) + slack


@given(spaces(), spaces())
def test_anchor_energy_and_the_range_of_costs_bound_it_from_above(x, y):
    ends = [end for side in (x, y) for end in ao.AnchorFeatures.of(side).span]
    most = np.sqrt((max(ends) - min(ends)) * ao.anchor_energy(x, y) / 2)
    assert saw(x, y) <= most * (1 + 1e-9) + 1e-6 * scale_of(x, y)


@given(spaces(), spaces())
def test_half_of_it_lies_between_the_second_and_the_third_lower_bound(x, y):
    pytest.importorskip("ot", reason="exact transport with weights needs POT")
    for p in (1, 2):
        bounds = ao.lower_bounds(x, y, p=p)
        assert bounds.slb <= bounds.saw + tolerance(2, x, y)
        assert bounds.saw <= bounds.tlb + tolerance(2, x, y)


@examples(50)
@given(st.integers(1, 5).flatmap(lambda n: st.tuples(costs(n), costs(n))))
def test_it_lies_below_every_matching_of_points(pair):
    x, y = pair
    n = len(x)
    least = min(np.abs(x - y[np.ix_(order, order)]).mean() for order in map(list, permutations(range(n))))
    assert saw(x, y) <= least + 1e-12 * scale_of(ao.Space(x), ao.Space(y))  # 2 GW_1 is at most that


def test_it_lies_below_gromov_wasserstein_by_brute_force():
    """2 GW_1 of uniform spaces of n points is at least the value of the best vertex; here n = 6, all 720 of them."""
    x, y = (space.cost for space in clouds((6, 6), weighted=False))
    vertices = (np.abs(x - y[np.ix_(order, order)]).mean() for order in map(list, permutations(range(6))))
    chain = [ao.anchor_energy(x, y) / 2, saw(x, y), ao.anchor_wasserstein(x, y, epsilon=0).cost, min(vertices)]
    assert all(low <= high * (1 + 1e-12) for low, high in pairwise(chain))


# -- equal bits, and messages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(p, dtype):
    rng = np.random.default_rng(0)
    x, y = (ao.AnchorFeatures.of(rng.normal(size=(n, n)).astype(dtype)) for n in (150, 150))
    z = ao.AnchorFeatures.of(rng.normal(size=(97, 97)).astype(dtype))
    for other in (y, z):
        assert len({saw(x, other, p, threads=threads) for threads in (1, 2, 7)}) == 1


@pytest.mark.parametrize("p", [1, 2])
def test_all_pairs_have_the_bits_of_one(p):
    rng = np.random.default_rng(1)
    levels = [ao.AnchorFeatures.of(rng.normal(size=(70, 70))).levels for _ in range(5)]
    together = kernels.level_transports(levels[:3], levels[3:], np.array([3, 2]), p)
    alone = [[kernels.level_transport(x, y, p, 1) for y in levels[3:]] for x in levels[:3]]
    alone[2][1] = np.nan
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [False, None])
def test_every_executor_gives_the_bits_of_the_function(p, weighted, tmp_path):
    many = clouds((9, 9, 12, 30, 9, 7, 30), seed=2, weighted=weighted)
    wanted = np.array(
        [[saw(x, y, p) if i < j else saw(y, x, p) for j, y in enumerate(many)] for i, x in enumerate(many)]
    )
    np.fill_diagonal(wanted, 0)
    for options in (
        {"n_jobs": 1},
        {"n_jobs": 2, "backend": "threads", "tile": 3},
        {"n_jobs": 2, "backend": "processes", "tile": 2},
        {"n_jobs": 1, "tile": 2, "checkpoint": tmp_path},
        {"n_jobs": 1, "tile": 2, "checkpoint": tmp_path},  # again, from the checkpoint
        {"n_jobs": 1, "memory": 20_000},
    ):
        found = ao.pairwise(many, metric="saw", p=p, progress=False, **options)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 3}, "p must be one of '1', '2'"),
        ({"attributes": "features"}, "takes attributes='types' with p=1, or none"),
        ({"attributes": "types", "p": 2}, "takes attributes='types' with p=1, or none"),
    ],
)
def test_what_it_does_not_take_is_refused(options, message):
    x = ao.Space([[0, 1], [1, 0]], types=["a", "b"], features=[[1.0], [2.0]])
    with pytest.raises(ao.InputError, match=message):
        saw(x, x, **options)


def test_features_of_means_alone_are_refused():
    mean = ao.AnchorFeatures.of([[0, 1], [1, 0]], mean_only=True)
    with pytest.raises(ao.InputError, match="which is enough for Anchor Energy with p=2 only"):
        saw(mean, mean, 2)


@pytest.mark.parametrize("p", [1, 2])
def test_costs_beyond_the_range_of_floats_are_refused(p):
    with pytest.raises(ao.InputError, match="exceed the range of float64"):
        saw([[1e308]], [[-1e308]], p)
    assert saw([[1e200]], [[3e200]], p) == 2e200
    assert saw([[1e-200]], [[3e-200]], p) == pytest.approx(2e-200)
