"""Welch's statistic of several groups."""

import numpy as np
import pytest
from scipy import stats

import anchorot as ao


def numbers(seed, sizes, spreads):
    rng = np.random.default_rng(seed)
    values = np.concatenate([spread * rng.normal(size=n) for n, spread in zip(sizes, spreads, strict=True)])
    return values, np.repeat(np.arange(len(sizes)), sizes)


def squared(values):
    return (values[:, None] - values) ** 2


def test_two_groups_of_numbers_give_the_square_of_welchs_t():
    values, label = numbers(0, (6, 9), (1, 4))
    found = ao.group_test(squared(values), label, welch=True, rng=0, post_hoc=False)
    expected = stats.ttest_ind(values[label == 0], values[label == 1], equal_var=False).statistic
    assert found.statistic == pytest.approx(expected**2)


def test_several_groups_of_numbers_give_welchs_f():
    """Welch (1951), by the formula for numbers."""
    values, label = numbers(1, (6, 9, 5), (1, 4, 2))
    own = [values[label == k] for k in range(3)]
    weight = np.array([len(x) / x.var(ddof=1) for x in own])
    means = np.array([x.mean() for x in own])
    centre = weight @ means / weight.sum()
    lost = sum((1 - w / weight.sum()) ** 2 / (len(x) - 1) for w, x in zip(weight, own, strict=True))
    expected = (weight @ (means - centre) ** 2 / 2) / (1 + 2 * 1 / 8 * lost)
    found = ao.group_test(squared(values), label, welch=True, rng=0, post_hoc=False)
    assert found.statistic == pytest.approx(expected)


def test_a_small_group_with_a_large_spread_is_rejected_less_often_than_by_the_plain_statistic():
    rejected = np.zeros(2, int)
    for seed in range(150):
        values, label = numbers(seed, (5, 20), (5, 1))
        for k, welch in enumerate((False, True)):
            found = ao.group_test(squared(values), label, welch=welch, n_resamples=99, rng=seed, post_hoc=False)
            rejected[k] += found.pvalue <= 0.05
    assert rejected[0] > 20 > rejected[1]


@pytest.mark.parametrize("options", [{"subjects": [0, 1] * 4, "within": True}, {"weight_items": True}])
def test_welch_compares_independent_subjects(options):
    with pytest.raises(ao.InputError, match="welch=True compares independent subjects"):
        ao.group_test(squared(np.arange(8.0)), [0, 0, 1, 1] * 2, welch=True, **options)


def test_welch_needs_two_units_in_every_group():
    with pytest.raises(ao.InputError, match="at least two units in every group, but a group has 1"):
        ao.group_test(squared(np.arange(4.0)), [0, 0, 0, 1], welch=True, rng=0)


def test_equal_items_have_p_one():
    found = ao.group_test(np.zeros((6, 6)), [0, 0, 0, 1, 1, 1], welch=True, rng=0)
    assert (found.statistic, found.pvalue) == (0, 1)
