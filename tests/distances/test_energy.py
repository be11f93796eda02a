"""Anchor Energy: agreement with the naive reference, and its properties."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import anchorot as ao
from tests import reference
from tests.strategies import FAR, scale_of, shifted, spaces, spaces_of_eighths, with_a_light_point

POWERS = st.integers(1, 5)


def close(value, expected, scale, p=1):
    return value == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale**p)


# -- agreement -----------------------------------------------------------------------------------------------------


@given(spaces(), spaces(), POWERS)
def test_agrees_with_the_naive_triple_loop(x, y, p):
    ref = reference.anchor_energy(x.cost.tolist(), y.cost.tolist(), x.weights.tolist(), y.weights.tolist(), p)
    assert close(ao.anchor_energy(x, y, p), ref, scale_of(x, y), p)


@given(spaces(), spaces(), POWERS)
def test_expected_cost_agrees_with_the_naive_triple_loop(x, y, p):
    ref = reference.expected_cost(x.cost.tolist(), y.cost.tolist(), x.weights.tolist(), y.weights.tolist(), p)
    assert close(ao.distances.expected_cost(x, y, p), ref, scale_of(x, y), p)


@given(spaces(uniform=True), spaces(uniform=True), POWERS)
def test_sort_and_sweep_agree_on_uniform_spaces(x, y, p):
    sort = ao.anchor_energy(x, y, p, method="sort")
    assert close(ao.anchor_energy(x, y, p, method="sweep"), sort, scale_of(x, y), p)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "m"), [(150, 150), (90, 131)])
def test_all_methods_agree_on_point_clouds(n, m, weighted):
    rng = np.random.default_rng(3)
    weights = [rng.dirichlet(np.ones(k)) if weighted else None for k in (n, m)]
    x = ao.from_points(rng.normal(size=(n, 3)), weights=weights[0])
    y = ao.from_points(rng.normal(size=(m, 2)), weights=weights[1])
    methods = ["auto", "sweep"] + ["sort"] * (not weighted)
    values = [ao.anchor_energy(x, y, method=method) for method in methods]
    assert values == pytest.approx([values[0]] * len(values), rel=1e-10)


def test_rows_that_are_all_alike():
    # Ties, and CDFs so close that each event passes many others.
    rng = np.random.default_rng(5)
    n = 30
    x, y = (
        ao.Space(rng.uniform(size=(n, n)).round(2) + shift * np.arange(n), rng.dirichlet(np.ones(n)))
        for shift in (1e-7, 2e-7)
    )
    arguments = [part.tolist() for part in (x.cost, y.cost, x.weights, y.weights)]
    assert ao.anchor_energy(x, y) == pytest.approx(reference.anchor_energy(*arguments), rel=1e-10)


# -- properties -----------------------------------------------------------------------------------------------------


@given(spaces(), st.sampled_from([1, 2]))
def test_distance_to_itself_is_zero_and_never_negative(x, p):
    assert 0 <= ao.anchor_energy(x, x, p) <= 1e-13 * scale_of(x) ** p


@given(spaces(), spaces(), st.sampled_from([1, 2]))
def test_never_negative(x, y, p):
    assert ao.anchor_energy(x, y, p) >= 0


@given(spaces(), spaces(), POWERS)
def test_symmetry(x, y, p):
    assert close(ao.anchor_energy(x, y, p), ao.anchor_energy(y, x, p), scale_of(x, y), p)


@given(spaces(), spaces(), POWERS, st.randoms())
def test_relabelling_points_changes_nothing(x, y, p, random):
    order = list(range(x.n))
    random.shuffle(order)
    moved = ao.Space(x.cost[np.ix_(order, order)], x.weights[order])
    assert close(ao.anchor_energy(moved, y, p), ao.anchor_energy(x, y, p), scale_of(x, y), p)


@given(spaces(), spaces(), POWERS, st.floats(0.1, 0.9))
def test_splitting_an_atom_changes_nothing(x, y, p, share):
    twice = np.append(np.arange(x.n), 0)
    weights = x.weights[twice] * np.where(twice == 0, np.where(np.arange(x.n + 1) == 0, share, 1 - share), 1)
    split = ao.Space(x.cost[np.ix_(twice, twice)], weights)
    assert close(ao.anchor_energy(split, y, p), ao.anchor_energy(x, y, p), scale_of(x, y), p)


@given(spaces(), spaces(), POWERS, st.floats(-1e3, 1e3), st.booleans())
def test_a_point_of_weight_zero_changes_nothing(x, y, p, cost, robust):
    extended = with_a_light_point(x, 0, cost)
    assert close(ao.anchor_energy(extended, y, p, robust), ao.anchor_energy(x, y, p, robust), scale_of(x, y), p)


@given(spaces(), spaces(), POWERS, st.floats(-1e3, 1e3), st.booleans(), st.sampled_from([1e-20, 1e-300]))
def test_a_weight_that_no_height_can_show_is_zero(x, y, p, cost, robust, weight):
    light, weightless = (with_a_light_point(x, w, cost) for w in (weight, 0))
    for function in (ao.anchor_energy, ao.distances.expected_cost):
        assert function(light, y, p, robust) == function(weightless, y, p, robust)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("share", [1e-16, 1e-17, 1e-18])
@pytest.mark.parametrize("others", [[8, 4, 4, 6, 8, 7, 4, 7, 7], [5, 5, 4, 5, 5, 5, 2, 3, 5]])
def test_a_point_of_next_to_no_weight_changes_next_to_nothing(p, share, others):
    """The rounded weights of the other points sum to more than one."""
    cost = np.full((10, 10), 9.0)
    cost[:9, :9] = np.arange(81).reshape(9, 9) % 7
    heavy = np.array(others) / sum(others)
    light, weightless = (ao.Space(cost, np.append(heavy, w)) for w in (share, 0))
    for function in (ao.anchor_energy, ao.distances.expected_cost):
        assert function(light, np.eye(3), p) == pytest.approx(function(weightless, np.eye(3), p), rel=1e-12)


@given(spaces(), spaces(), POWERS, st.floats(1e-3, 1e3))
def test_scaling_costs_scales_the_energy(x, y, p, factor):
    scaled = [ao.Space(factor * s.cost, s.weights) for s in (x, y)]
    value = ao.anchor_energy(x, y, p) * factor**p
    assert close(ao.anchor_energy(*scaled, p), value, factor * scale_of(x, y), p)


@given(spaces(), spaces(), POWERS, st.integers(-1000, 1000))
def test_shifting_all_costs_changes_nothing(x, y, p, shift):
    shifted = [ao.Space(s.cost + shift, s.weights) for s in (x, y)]
    scale = scale_of(x, y) + abs(shift)
    assert close(ao.anchor_energy(*shifted, p), ao.anchor_energy(x, y, p), scale, p)


@given(spaces_of_eighths(), spaces_of_eighths(), st.integers(1, 4), FAR, st.sampled_from(["auto", "sweep"]))
def test_an_exact_shift_of_all_costs_changes_nothing(x, y, p, shift, method):
    moved = [shifted(s, shift) for s in (x, y)]
    for function in (ao.anchor_energy, ao.distances.expected_cost):
        assert close(function(*moved, p, method=method), function(x, y, p, method=method), scale_of(x, y), p)


def test_costs_far_from_zero_keep_all_the_digits_that_they_have():
    rng = np.random.default_rng(4)
    cost_x, cost_y = 1e15 + rng.normal(size=(40, 40)), 1e15 + 3 * rng.normal(size=(30, 30))
    for weights in ((None, None), (rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(30)))):
        for p in (1, 2, 3, 4):
            far, near = (
                ao.anchor_energy(ao.Space(cost_x - c, weights[0]), ao.Space(cost_y - c, weights[1]), p)
                for c in (0.0, 1e15)
            )
            assert far == pytest.approx(near, rel=1e-12)


@given(spaces(), spaces(), spaces(), st.sampled_from([1, 2]))
def test_triangle_inequality_of_the_root(x, y, z, p):
    xy, yz, xz = (np.sqrt(ao.anchor_energy(a, b, p)) for a, b in ((x, y), (y, z), (x, z)))
    assert xz <= xy + yz + 1e-6 * scale_of(x, y, z) ** (p / 2)


@given(spaces(), spaces(), POWERS)
def test_robust_energy_ignores_increasing_maps(x, y, p):
    mapped = ao.Space(np.arctan(x.cost / 2e3) * 7 - 2, x.weights)
    assume(len(np.unique(mapped.cost)) == len(np.unique(x.cost)))
    assert ao.anchor_energy(mapped, y, p, robust=True) == ao.anchor_energy(x, y, p, robust=True)


@given(spaces(), spaces(), POWERS)
def test_robust_is_the_energy_of_ranked_spaces(x, y, p):
    assert ao.anchor_energy(x, y, p, robust=True) == ao.anchor_energy(x.ranked(), y.ranked(), p)


def test_asymmetric_costs_are_read_by_rows():
    # Columns as anchors would give another value.
    x = np.array([[0.0, 1.0, 1.0], [5.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    y = np.eye(3)
    uniform = [1 / 3] * 3
    ref = reference.anchor_energy(x.tolist(), y.tolist(), uniform, uniform)
    transposed = reference.anchor_energy(x.T.tolist(), y.tolist(), uniform, uniform)
    assert ao.anchor_energy(x, y) == pytest.approx(ref, rel=1e-12)
    assert abs(ref - transposed) > 0.1


def test_power_of_three_and_more_may_be_negative():
    # |x|^p is conditionally negative definite for p <= 2 only; the docs say so.
    assert ao.anchor_energy([[0.0]], [[-1.0, 1.0], [-1.0, 1.0]], p=1) > 0
    values = [ao.anchor_energy(*np.random.default_rng(s).normal(size=(2, 3, 3)), p=5) for s in range(200)]
    assert min(values) < 0 < max(values)


# -- exactness far from one ----------------------------------------------------------------------------------------


def two_components(inner, far, order):
    """Costs of a graph of two parts with `far` between them, its points in the given order."""
    cost = np.full((6, 6), far)
    cost[:3, :3], cost[3:, 3:] = inner, inner + 1
    return cost[np.ix_(order, order)]


@pytest.mark.parametrize(
    "weights",
    [
        [Fraction(1, 6)] * 6,
        [Fraction(k, 32) for k in (1, 2, 3, 5, 8, 13)],
        [Fraction(k, 21) for k in (1, 2, 3, 4, 5, 6)],
    ],
    ids=["uniform", "dyadic", "any"],
)
@pytest.mark.parametrize("far", [1e6, 1e18])
def test_large_finite_costs_stay_exact(weights, far):
    inner = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    order = [4, 0, 5, 2, 1, 3]
    cost_x, cost_y = two_components(inner, far, range(6)), two_components(inner**2, far, order)
    weights_y = [weights[i] for i in order]
    exact = [[[Fraction(c) for c in row] for row in cost] for cost in (cost_x, cost_y)]
    ref = float(reference.anchor_energy(*exact, weights, weights_y))
    x, y = ao.Space(cost_x, [float(w) for w in weights]), ao.Space(cost_y, [float(w) for w in weights_y])
    for method in ("auto", "sweep"):
        assert ao.anchor_energy(x, y, method=method) == pytest.approx(ref, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_tiny_and_huge_costs(factor):
    rng = np.random.default_rng(0)
    cost_x, cost_y = rng.uniform(size=(2, 5, 5))
    weights = rng.dirichlet(np.ones(5))
    for w in (None, weights):
        plain = ao.anchor_energy(ao.Space(cost_x, w), ao.Space(cost_y, w))
        scaled = ao.anchor_energy(ao.Space(cost_x * factor, w), ao.Space(cost_y * factor, w))
        assert scaled / factor == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize(("factor", "p"), [(1.5e308, 1), (1e200, 2), (1e300, 3), (1e300, 4), (1e100, 5)])
@pytest.mark.parametrize("weights", [None, [0.25, 0.75]])
@pytest.mark.parametrize("method", ["auto", "sweep"])
def test_overflow_is_one_clear_line(factor, p, weights, method):
    x, y = (ao.Space(sign * factor * np.array([[1.0, 1.0], [1.0, 0.9]]), weights) for sign in (-1, 1))
    power = "differences of costs" if p == 1 else f"costs to the power p={p}"
    for function in (ao.anchor_energy, ao.distances.expected_cost):
        with pytest.raises(ao.InputError, match=power) as caught:
            function(x, y, p, method=method)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_costs_whose_powers_fit_are_numbers(p):
    factor = 1e306 ** (1 / p)
    cost = np.array([[-1.0, 1.0], [1.0, 0.5]])
    huge, unit = (
        ao.anchor_energy(ao.Space(scale * cost), ao.Space(-scale * cost, [0.25, 0.75]), p) for scale in (factor, 1)
    )
    assert huge / 1e306 == pytest.approx(unit, rel=1e-9)


# -- options -------------------------------------------------------------------------------------------------------


def test_float32_costs_are_used_as_they_are():
    rng = np.random.default_rng(1)
    x, y = (ao.Space(rng.uniform(size=(33, 33)).astype(np.float32)) for _ in range(2))
    assert ao.AnchorFeatures.of(x).levels.dtype == np.float32
    wide = [ao.Space(s.cost.astype(np.float64)) for s in (x, y)]
    assert ao.anchor_energy(x, y) == pytest.approx(ao.anchor_energy(*wide), rel=1e-12)
    assert ao.anchor_energy(x, wide[1]) == pytest.approx(ao.anchor_energy(*wide), rel=1e-12)
    for p in (1, 2, 3):
        assert ao.distances.expected_cost(x, y, p) == pytest.approx(ao.distances.expected_cost(*wide, p), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 0}, "p must be an integer >= 1, but got 0"),
        ({"p": 1.5}, "p must be an integer >= 1, but got 1.5"),
        ({"p": "2"}, "p must be an integer >= 1, but got '2'"),
        ({"method": "fast"}, "method must be one of 'auto', 'sort', 'sweep', but got 'fast'"),
        ({"threads": 0}, "threads must be an integer >= 1"),
    ],
)
def test_bad_options_get_one_clear_line(options, message):
    with pytest.raises(ao.InputError, match=message.replace("'", ".")):
        ao.anchor_energy(np.eye(2), np.eye(2), **options)


def test_sort_refuses_weights():
    x = ao.Space(np.eye(2), [0.3, 0.7])
    for p in (1, 2, 3):
        with pytest.raises(ao.InputError, match="method='sort' needs uniform weights"):
            ao.anchor_energy(x, x, p, method="sort")


def test_whole_float_powers_pass():
    assert ao.anchor_energy(np.eye(2), np.ones((2, 2)), p=2.0) == ao.anchor_energy(np.eye(2), np.ones((2, 2)), p=2)
