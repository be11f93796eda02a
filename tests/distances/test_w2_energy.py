"""Energy distances with W_2 between anchors: the naive reference, properties, and what W_1 cannot see."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.distances import w2_energy
from tests import reference
from tests.strategies import clouds, examples, scale_of, six_nodes, spaces, with_a_light_point

# The root of a cost makes 1e-8 of the 1e-16 that a cumulated weight is rounded by; n equal weights are not rounded.
ROUNDED = 1e-7


EXACT = 1e-12


def energy(x, y, **options):
    return ao.anchor_energy(x, y, ground="w2", **options)


def rounding(*spaces):
    return (EXACT if all(space.is_uniform for space in spaces) else ROUNDED) * scale_of(*spaces)


def naive(x, y):
    a, b = ([Fraction(w).limit_denominator(1000) for w in s.weights.tolist()] for s in (x, y))
    rows = x.cost.tolist(), y.cost.tolist()
    return reference.ragged_energy(*rows, [a] * x.n, [b] * y.n, x.weights, y.weights, reference.w2_1d)


# -- agreement -----------------------------------------------------------------------------------------------------


@examples(50)
@given(spaces(), spaces())
def test_agrees_with_the_naive_triple_loop(x, y):
    assert energy(x, y) == pytest.approx(naive(x, y), rel=1e-10, abs=rounding(x, y))


@examples(30)
@given(spaces(uniform=True), spaces(uniform=True))
def test_common_levels_and_merges_agree(x, y):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(w2_energy, "MOST_LEVELS", 0)
        merged = energy(x, y)
    assert merged == pytest.approx(energy(x, y), rel=1e-10, abs=ROUNDED * scale_of(x, y))


def test_merges_in_blocks_are_those_of_all_at_once(monkeypatch):
    x, y = clouds([20, 25], weighted=True)
    whole = energy(x, y)
    monkeypatch.setattr(w2_energy, "ROWS", 7)
    assert energy(x, y) == pytest.approx(whole, rel=1e-14)


# -- properties -------------------------------------------------------------------------------------------------------


@given(spaces(), st.randoms())
def test_a_space_is_at_zero_from_itself_relabelled(x, random):
    order = list(range(x.n))
    random.shuffle(order)
    moved = ao.Space(x.cost[np.ix_(order, order)], x.weights[order])
    assert str(energy(x, x)) == "0.0"  # and not -0.0
    assert 0 <= energy(x, moved) <= 1e-15 * scale_of(x)


@given(spaces(), spaces())
def test_symmetry(x, y):
    assert energy(x, y) == pytest.approx(energy(y, x), rel=1e-10, abs=rounding(x, y))


@examples(50)
@given(spaces(), spaces(), spaces())
def test_triangle_inequality_of_the_root(x, y, z):
    xy, yz, xz = (np.sqrt(energy(a, b)) for a, b in ((x, y), (y, z), (x, z)))
    assert xz <= xy + yz + 1e-3 * np.sqrt(scale_of(x, y, z))


@given(spaces(), spaces(), st.sampled_from([0.25, 0.5]))
def test_splitting_an_atom_changes_nothing(x, y, share):
    twice = np.append(np.arange(x.n), 0)
    weights = x.weights[twice] * np.where(twice == 0, np.where(np.arange(x.n + 1) == 0, share, 1 - share), 1)
    split = ao.Space(x.cost[np.ix_(twice, twice)], weights)
    assert energy(split, y) == pytest.approx(energy(x, y), abs=ROUNDED * scale_of(x, y))


@given(spaces(uniform=True), spaces(uniform=True))
def test_splitting_all_points_changes_nothing(x, y):
    twice = np.repeat(np.arange(x.n), 2)
    split = ao.Space(x.cost[np.ix_(twice, twice)])
    assert energy(split, y) == pytest.approx(energy(x, y), rel=1e-10, abs=EXACT * scale_of(x, y))


@given(spaces(), spaces(), st.floats(-1e3, 1e3), st.booleans())
def test_a_point_of_weight_zero_changes_nothing(x, y, cost, robust):
    expected = energy(x, y, robust=robust)
    assert energy(with_a_light_point(x, 0, cost), y, robust=robust) == pytest.approx(expected, abs=rounding(x, y))


@given(spaces(), spaces(), st.integers(-900, 900))
def test_scaling_costs_scales_the_energy(x, y, exponent):
    """By powers of two to the last bit, however large or small."""
    x, y = (ao.Space(np.round(s.cost), s.weights) for s in (x, y))
    scaled = (ao.Space(2.0**exponent * s.cost, s.weights) for s in (x, y))
    assert energy(*scaled) == 2.0**exponent * energy(x, y)


def test_costs_far_from_zero_keep_all_the_digits_that_they_have():
    rng = np.random.default_rng(4)
    cost_x, cost_y = 1e15 + rng.normal(size=(40, 40)), 1e15 + 3 * rng.normal(size=(30, 30))
    for weights in ((None, None), (rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(30)))):
        far, near = (energy(ao.Space(cost_x - c, weights[0]), ao.Space(cost_y - c, weights[1])) for c in (0.0, 1e15))
        assert far == pytest.approx(near, rel=1e-11)


@given(spaces(), spaces())
def test_robust_is_the_energy_of_ranked_spaces(x, y):
    assert energy(x, y, robust=True) == energy(x.ranked(), y.ranked())


def test_threads_change_nothing():
    x, y = clouds([30, 40], weighted=True)
    assert energy(x, y, threads=3) == energy(x, y)


# -- what W_1 does not see -----------------------------------------------------------------------------------------


def test_graphs_of_five_nodes_with_equal_anchors_differ_for_align_alone():
    """K(2, 3) and a square with a triangle on it: the smallest connected graphs, not isomorphic, with equal anchors."""
    x = ao.from_graph([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)])
    y = ao.from_graph([(0, 1), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4)])
    assert [ao.anchor_energy(x, y, **how) for how in ({}, {"robust": True}, {"ground": "w2"})] == [0, 0, 0]
    assert ao.anchor_wasserstein(x, y, epsilon=0).value == 0
    assert ao.align(x, y).value > 0.1


def test_two_graphs_of_six_nodes_are_distinguished_by_w2_only():
    x, y = six_nodes()
    assert ao.anchor_energy(x, y) == ao.anchor_energy(x, y, robust=True) == 0
    assert ao.anchor_wasserstein(x, y, epsilon=0).value == pytest.approx(1 / 18)
    assert energy(x, y) == pytest.approx(naive(x, y), rel=1e-10)
    assert energy(x, y) > 0.02
    assert energy(x, y, robust=True) > 0.005


# -- bounds --------------------------------------------------------------------------------------------------------


@examples(50)
@given(spaces(uniform=True, n=5), spaces(uniform=True, n=5), st.permutations(range(5)))
def test_energy_is_at_most_twice_anchor_wasserstein_and_that_at_most_any_gromov_loss(x, y, order):
    """The loss has no half: it is at least 2 GW_1 in Mémoli's scale."""
    transported = ao.anchor_wasserstein(x, y, epsilon=0).value
    loss = reference.gromov_loss(x.cost.tolist(), y.cost.tolist(), (np.eye(5)[list(order)] / 5).tolist(), 1)
    tolerance = 1e-12 * scale_of(x, y)
    assert ao.anchor_energy(x, y) <= 2 * transported + tolerance
    assert transported <= loss + tolerance


@examples(20)
@given(spaces(), spaces())
def test_energy_is_at_most_twice_anchor_wasserstein_with_weights(x, y):
    pytest.importorskip("ot")
    bound = 2 * ao.anchor_wasserstein(x, y, epsilon=0).value
    assert ao.anchor_energy(x, y) <= bound + 1e-9 * scale_of(x, y)


# -- projections ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_projections_are_right_on_average(weighted):
    x, y = clouds([12, 15], seed=1, weighted=weighted)
    found = ao.distances.projected_energy(x, y, n_projections=4000, rng=0)
    assert found.value == pytest.approx(energy(x, y), abs=4 * found.standard_error)
    assert found.standard_error < 0.05 * found.value
    assert found.n_projections == 4000


def test_the_standard_error_is_the_deviation_over_draws():
    x, y = six_nodes()
    draws = [ao.distances.projected_energy(x, y, n_projections=50, rng=seed) for seed in range(200)]
    deviation = np.std([one.value for one in draws])
    assert np.mean([one.standard_error for one in draws]) == pytest.approx(deviation, rel=0.2)


@examples(30)
@given(spaces(), st.randoms())
def test_projections_of_a_space_and_itself_relabelled_are_at_zero(x, random):
    order = list(range(x.n))
    random.shuffle(order)
    moved = ao.Space(x.cost[np.ix_(order, order)], x.weights[order])
    assert ao.distances.projected_energy(x, moved, n_projections=3, rng=0).value <= 1e-15 * scale_of(x)


def test_robust_projections_are_those_of_ranks():
    x, y = clouds([8, 9])
    found = ao.distances.projected_energy(x, y, robust=True, rng=0)
    assert found == ao.distances.projected_energy(x.ranked(), y.ranked(), rng=0)


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 2}, "ground='w2' goes with p=1 and method='auto' only, and with neither attributes nor max_cost"),
        ({"method": "sweep"}, "ground='w2' goes with p=1 and method='auto' only"),
        ({"attributes": "types"}, "with neither attributes nor max_cost"),
        ({"max_cost": 1.0}, "with neither attributes nor max_cost"),
    ],
)
def test_options_that_do_not_go_with_w2_get_one_clear_line(options, message):
    with pytest.raises(ao.InputError, match=message):
        energy(np.eye(3), np.eye(4), **options)


def test_features_that_hold_levels_alone_are_refused():
    with pytest.raises(ao.InputError, match="W2 needs spaces: AnchorFeatures sort every level separately"):
        energy(ao.AnchorFeatures.of(np.eye(3)), np.eye(3))


def test_unknown_grounds_are_refused():
    with pytest.raises(ao.InputError, match="ground must be one of 'w1', 'w2', but got 'w3'"):
        ao.anchor_energy(np.eye(3), np.eye(3), ground="w3")


@pytest.mark.parametrize("weights", [None, [0.3, 0.7]])
def test_the_largest_floats_are_compared_or_refused_in_one_line(weights):
    x, y, unit = (ao.Space([[0.0, far], [far, 0.0]], weights) for far in (1.7e308, -1.7e308, 1.0))
    with pytest.raises(ao.InputError, match="exceed the range of float64"):
        energy(x, y)
    half, nothing = ao.Space(x.cost / 2, weights), ao.Space(np.zeros((2, 2)), weights)
    assert energy(half, nothing) == pytest.approx(0.85e308 * energy(unit, nothing))
