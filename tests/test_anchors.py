"""Features: computed once, compared many times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao

import reference
from strategies import COSTS, scale_of, spaces, weight_vectors


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


@given(spaces(), spaces())
def test_the_mean_alone_serves_p_two(x, y):
    fx, fy = (ao.AnchorFeatures.of(s, mean_only=True) for s in (x, y))
    assert ao.anchor_energy(fx, fy, p=2) == ao.anchor_energy(x, y, p=2)
    with pytest.raises(ao.InputError, match="mean_only=True, which serves p=2 only"):
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
        (([[1], [2]], [[1]]), "row_weights has 1 entries, but there are 2 rows"),
        (([[1], [2]], None, [1]), r"weights has shape \(1,\), but rows has 2 points"),
    ],
)
def test_bad_collections_get_one_clear_line(arguments, message):
    with pytest.raises(ao.InputError, match=message):
        ao.AnchorFeatures.of_rows(*arguments)
