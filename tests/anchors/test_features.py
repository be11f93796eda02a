"""Features: computed once, compared many times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.rows import row_costs
from tests import reference
from tests.strategies import (
    COSTS,
    FAR,
    scale_of,
    shifted,
    spaces,
    spaces_of_eighths,
    weight_vectors,
)


@given(spaces(), spaces(), st.integers(1, 4), st.booleans())
def test_features_stand_for_their_space(x, y, p, robust):
    fx, fy = (ao.AnchorFeatures.of(s, robust=robust) for s in (x, y))
    value = ao.anchor_energy(x, y, p, robust)
    assert ao.anchor_energy(fx, fy, p, robust) == pytest.approx(value, rel=1e-10, abs=1e-12 * scale_of(x, y) ** p)
    assert ao.anchor_energy(fx, y, p, robust) == pytest.approx(value, rel=1e-10, abs=1e-12 * scale_of(x, y) ** p)


@given(spaces(uniform=True))
def test_levels_are_sorted_both_ways(x):
    levels = ao.AnchorFeatures.of(x).levels
    assert (np.diff(levels, axis=0) >= 0).all()
    assert (np.diff(levels, axis=1) >= 0).all()
    np.testing.assert_array_equal(np.sort(levels.ravel()), np.sort(x.cost.ravel()))


@given(spaces(), st.integers(1, 4))
def test_self_cost_is_the_mean_cost_between_own_anchors(x, p):
    ref = reference.expected_cost(x.cost.tolist(), x.cost.tolist(), x.weights.tolist(), x.weights.tolist(), p)
    assert ao.AnchorFeatures.of(x).self_cost(p) == pytest.approx(ref, rel=1e-10, abs=1e-12 * scale_of(x) ** p)


@given(spaces_of_eighths(), st.integers(1, 4), FAR)
def test_an_exact_shift_of_all_costs_leaves_the_self_cost(x, p, shift):
    near, far = (ao.AnchorFeatures.of(space).self_cost(p) for space in (x, shifted(x, shift)))
    assert far == pytest.approx(near, rel=1e-10, abs=1e-12 * scale_of(x) ** p)


@given(spaces(), spaces())
def test_the_mean_alone_serves_p_two(x, y):
    fx, fy = (ao.AnchorFeatures.of(s, mean_only=True) for s in (x, y))
    assert ao.anchor_energy(fx, fy, p=2) == ao.anchor_energy(x, y, p=2)
    with pytest.raises(ao.InputError, match="mean_only=True, which is enough for Anchor Energy with p=2 only"):
        ao.anchor_energy(fx, fy, p=1)


def test_features_remember_whether_they_are_robust():
    features = ao.AnchorFeatures.of(np.eye(2), robust=True)
    with pytest.raises(ao.InputError, match="made with robust=True, but robust=False is asked for"):
        ao.anchor_energy(features, features)


@pytest.mark.parametrize("options", [{}, {"mean_only": True}])
def test_repr_says_what_is_kept(options):
    kept = "mean only" if options else "levels of 2 anchors"
    assert repr(ao.AnchorFeatures.of(np.eye(2), **options)) == f"AnchorFeatures({kept}, robust=False)"
    weighted = ao.AnchorFeatures.of(ao.Space(np.eye(2), [0.2, 0.8]), **options)
    assert repr(weighted) == f"AnchorFeatures({kept.replace('levels', 'events')}, robust=False)"


# -- costs between anchors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize(("n", "m"), [(7, 7), (5, 3), (1, 6)])
def test_an_exact_shift_changes_no_cost_between_anchors(n, m, p, weighted):
    rng = np.random.default_rng(n)
    x, y = (
        ao.Space(rng.integers(-16, 24, (k, k)) / 8, rng.dirichlet(np.ones(k)) if weighted else None) for k in (n, m)
    )
    near, far = (row_costs(*pair, p, threads=1) for pair in ((x, y), (shifted(x, 2.0**49), shifted(y, 2.0**49))))
    np.testing.assert_allclose(far, near, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("weight", [0, 1e-20, 1e-300])
@pytest.mark.parametrize("cost", [-1e15, 1e15])
def test_a_weightless_point_changes_no_cost_between_the_other_anchors(weight, cost):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = ao.Space(rng.normal(size=(4, 4)))
        heavy, larger = rng.dirichlet(np.ones(9)), np.full((10, 10), cost)
        larger[:9, :9] = rng.normal(size=(9, 9))
        without, extended = ao.Space(larger[:9, :9], heavy), ao.Space(larger, np.append(heavy, weight))
        for p in (1, 2, 3):
            expected = row_costs(without, y, p, threads=1)
            np.testing.assert_allclose(row_costs(extended, y, p, threads=1)[:-1], expected, rtol=1e-12)


@pytest.mark.parametrize("weights", [None, [0.25, 0.75]])
@pytest.mark.parametrize(("factor", "p"), [(1.5e308, 1), (1.5e308, 2), (1.5e308, 3), (1e200, 2)])
def test_costs_between_anchors_that_overflow_are_refused(factor, p, weights):
    x, y = (ao.Space(sign * factor * np.array([[1.0, 1.0], [1.0, 0.9]]), weights) for sign in (-1, 1))
    with pytest.raises(ao.InputError, match="exceed the range of float64; divide all costs by their largest first"):
        ao.anchor_wasserstein(x, y, p)


# -- ragged collections --------------------------------------------------------------------------------------------


@st.composite
def collections(draw):
    rows = draw(st.lists(st.lists(COSTS, min_size=1, max_size=5), min_size=1, max_size=5))
    return rows, [draw(weight_vectors(len(row))) for row in rows], draw(weight_vectors(len(rows)))


@given(collections(), collections())
def test_ragged_collections_agree_with_the_naive_sum(one, two):
    (rows_x, weights_x, a), (rows_y, weights_y, b) = one, two
    ref = reference.ragged_energy(rows_x, rows_y, weights_x, weights_y, a.tolist(), b.tolist())
    fx, fy = ao.AnchorFeatures.of_rows(rows_x, weights_x, a), ao.AnchorFeatures.of_rows(rows_y, weights_y, b)
    scale = np.ptp(np.concatenate([*map(np.array, rows_x), *map(np.array, rows_y)])) or 1.0
    assert ao.anchor_energy(fx, fy) == pytest.approx(ref, rel=1e-10, abs=1e-12 * scale)


@given(collections(), collections(), st.integers(1, 4))
def test_measures_and_values_of_weight_zero_are_as_good_as_left_out(one, two, p):
    (rows, weights, a), other = one, ao.AnchorFeatures.of_rows(*two)
    kept = [(np.array(row)[w > 0], w[w > 0]) for row, w, mass in zip(rows, weights, a, strict=True) if mass > 0]
    alone = ao.AnchorFeatures.of_rows([row for row, _ in kept], [w for _, w in kept], a[a > 0])
    scale = np.ptp(np.concatenate([*rows, *two[0]])) or 1.0
    expected = ao.anchor_energy(alone, other, p)
    found = ao.anchor_energy(ao.AnchorFeatures.of_rows(rows, weights, a), other, p)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale**p)


def test_a_measure_of_weight_zero_does_not_spoil_digits_far_from_zero():
    rng = np.random.default_rng(3)
    rows, other = ([rng.integers(0, 80, n) / 8 for n in sizes] for sizes in ((3, 5, 2, 4), (2, 6, 3)))
    mass = np.array([0.5, 0.25, 0, 0.25])
    for p in (1, 2, 3, 4):
        near, far = (
            ao.anchor_energy(
                ao.AnchorFeatures.of_rows([row + shift for row in rows], weights=mass),
                ao.AnchorFeatures.of_rows([row + shift for row in other]),
                p,
            )
            for shift in (0, 2.0**49)
        )
        assert far == pytest.approx(near, rel=1e-12)


@pytest.mark.parametrize("lengths", [(3, 3, 3, 3), (1, 4, 2)])
def test_equally_weighted_collections(lengths):
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=k) for k in lengths]
    other = [rng.normal(size=5) for _ in range(2)]
    weights = [[1 / len(r)] * len(r) for r in rows], [[0.2] * 5] * 2
    ref = reference.ragged_energy(rows, other, *weights, [1 / len(rows)] * len(rows), [0.5] * 2)
    assert ao.anchor_energy(*map(ao.AnchorFeatures.of_rows, (rows, other))) == pytest.approx(ref, rel=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "rows is empty"),
        (([[1], []],), r"rows\[1\] has shape \(0,\)"),
        (([[1], [np.nan]],), r"rows\[1\] must be finite"),
        (([[1], [2]], [[1]]), "got 1 arrays of weights for the 2 measures of rows"),
        (([[1], [2]], None, [1]), r"weights has shape \(1,\), but rows has 2 points"),
    ],
)
def test_bad_collections_get_one_clear_line(arguments, message):
    with pytest.raises(ao.InputError, match=message):
        ao.AnchorFeatures.of_rows(*arguments)
