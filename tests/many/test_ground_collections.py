"""Collections of measures, with W_2 between them: energy distances and tests."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import anchorot as ao
from tests import reference
from tests.strategies import clouds, examples, scale_of, spaces

ROUNDED = 1e-7  # the root makes 1e-8 of the 1e-16 that a cumulated weight is rounded by
CROSSED = [[0, 10], [1, 11]], [[0, 11], [1, 10]]


def test_collections_of_any_sizes_and_weights_agree_with_the_formula():
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 5, rng.integers(1, 7)).tolist() for _ in range(9)]
    raw = [rng.integers(1, 4, len(row)).tolist() for row in rows]
    weights = [[Fraction(w, sum(some)) for w in some] for some in raw]
    mass = [Fraction(1, 4)] * 4, [Fraction(1, 5)] * 5
    expected = reference.ragged_energy(rows[:4], rows[4:], weights[:4], weights[4:], *mass, reference.w2_1d)
    floats = [[float(w) for w in some] for some in weights]
    found = ao.energy_distance(rows[:4], rows[4:], floats[:4], floats[4:], ground="w2")
    assert found == pytest.approx(expected, abs=ROUNDED)


@pytest.mark.parametrize("apart", [2.0**-10, 2.0**-20, 2.0**-30])
def test_near_anchors_keep_their_digits(apart):
    """All anchors within `apart` of each other, beside one that is far: differences of squared norms would be noise."""
    rng = np.random.default_rng(0)
    x, y = ([*(1 + apart * rng.integers(0, 9, (5, 4)) / 8), [0, 0, 0, 9]] for _ in range(2))
    even = [[Fraction(1, 4)] * 4] * 6
    mass = [Fraction(1, 6)] * 6
    expected = reference.ragged_energy(x, y, even, even, mass, mass, reference.w2_1d)
    assert ao.energy_distance(x, y, ground="w2") == pytest.approx(expected, rel=1e-5, abs=0)


@examples(30)
@given(spaces(), spaces())
def test_two_single_spaces_are_at_their_anchor_energy(x, y):
    found = ao.energy_distance([x], [y], ground="w2", pooled=True)
    assert found == pytest.approx(ao.anchor_energy(x, y, ground="w2"), rel=1e-10, abs=ROUNDED * scale_of(x, y))


def test_measures_crossed_between_levels_are_distinguished_by_w2_only():
    assert ao.energy_distance(*CROSSED) == 0
    # all distances are 1, 1 / sqrt(2) across and 1 within
    assert ao.energy_distance(*CROSSED, ground="w2") == pytest.approx(2**0.5 - 1, rel=1e-12)


def crossed_samples(rng, sign, count=30):
    """Pairs of values z below and 10 ± z above, z symmetric: distributed alike at every level, whatever the sign."""
    return [[z, 10 + sign * z] for z in rng.normal(size=count)]


def test_power_against_a_difference_that_levels_do_not_show():
    rng = np.random.default_rng(5)
    pvalues = {"w1": [], "w2": []}
    for _ in range(200):
        x, y = crossed_samples(rng, 1), crossed_samples(rng, -1)
        for name, found in pvalues.items():
            found.append(ao.energy_test(x, y, ground=name, n_resamples=99, rng=0).pvalue)
    assert np.mean(np.array(pvalues["w2"]) <= 0.05) == 1
    assert np.mean(np.array(pvalues["w1"]) <= 0.05) <= 0.1  # the level, 5 %, and three deviations


def test_level_on_one_distribution():
    rng = np.random.default_rng(6)
    pvalues = [
        ao.energy_test(*(crossed_samples(rng, 1, 15) for _ in "xy"), ground="w2", n_resamples=99, rng=0).pvalue
        for _ in range(100)
    ]
    assert 0 < np.mean(np.array(pvalues) <= 0.1) <= 0.22


def test_every_permuted_statistic_is_the_energy_distance_of_the_permuted_collections():
    rng = np.random.default_rng(2)
    items = [rng.integers(0, 6, rng.integers(1, 6)) for _ in range(7)]
    found = ao.energy_test(items[:3], items[3:], ground="w2", n_resamples=20, rng=0)
    values = set()
    for k in range(2**7):
        chosen = [k >> i & 1 for i in range(7)]
        if sum(chosen) == 3:
            sides = ([item for item, c in zip(items, chosen, strict=True) if c == side] for side in (1, 0))
            values.add(ao.energy_distance(*sides, ground="w2"))
    assert found.statistic == pytest.approx(ao.energy_distance(items[:3], items[3:], ground="w2"), rel=1e-12)
    assert all(min(abs(value - one) for value in values) < 1e-12 for one in found.null)


@pytest.mark.parametrize("pooled", [False, True])
def test_spaces_change_sides_as_a_whole(pooled):
    kinds = clouds([6, 7, 8, 9], seed=3)
    found = ao.energy_test(kinds[:2], kinds[2:], ground="w2", pooled=pooled, n_resamples=10, rng=0)
    expected = ao.energy_distance(kinds[:2], kinds[2:], ground="w2", pooled=pooled)
    assert found.statistic == pytest.approx(expected, rel=1e-10)


def test_unknown_grounds_and_sweeps_are_refused():
    with pytest.raises(ao.InputError, match="ground must be one of 'w1', 'w2', but got 'W2'"):
        ao.energy_distance(*CROSSED, ground="W2")
    with pytest.raises(ao.InputError, match="ground='w2' needs method='matrix' or 'auto', but got method='sweep'"):
        ao.energy_test(*CROSSED, ground="w2", method="sweep")


def test_pooled_anchors_hide_which_space_each_is_of_and_distances_between_spaces_do_not():
    """Two kinds of spaces against spaces that mix both have the same anchors: neither ground sees whose each is."""
    one, three = (ao.Space(np.full((4, 4), cost)) for cost in (1.0, 3.0))
    both = ao.Space(np.repeat([1.0, 3.0], 2)[:, None] * np.ones(4))
    for ground in ("w1", "w2"):
        assert ao.energy_distance([one, three], [both, both], ground=ground, pooled=True) == 0
        assert ao.energy_distance([one, three], [both, both], ground=ground) > 0.5
        sides, options = ([one, three] * 6, [both] * 12), {"ground": ground, "rng": 0, "progress": False}
        assert ao.energy_test(*sides, pooled=True, n_resamples=99, **options).pvalue == 1
        assert ao.energy_test(*sides, n_resamples=199, **options).pvalue < 0.05
    distances = ao.pairwise([one, three] * 6 + [both] * 12, progress=False)
    assert ao.group_test(distances, [0] * 12 + [1] * 12, power=0.5, rng=0, progress=False).pvalue < 0.01
