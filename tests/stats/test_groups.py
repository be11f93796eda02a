"""Tests of several groups, from the distances between all their members."""

import numpy as np
import pytest
from scipy import stats

import anchorot as ao
from anchorot._kernels import kernels
from anchorot.stats.dispersion import holm
from anchorot.stats.pooled import PooledMeasures
from tests.stats.designs import points_and_groups
from tests.strategies import samples


def naive_f(powers, labels):
    """F from its definition, by loops."""
    count, groups = len(powers), sorted(set(labels))
    total = sum(powers[i][j] for i in range(count) for j in range(count)) / (2 * count)
    within = 0.0
    for group in groups:
        members = [i for i in range(count) if labels[i] == group]
        within += sum(powers[i][j] for i in members for j in members) / (2 * len(members))
    return ((total - within) / (len(groups) - 1)) / (within / (count - len(groups)))


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5])
def test_group_statistic_is_its_definition(power):
    distances, labels = points_and_groups(0)
    found = ao.group_test(distances, labels, power=power, n_resamples=9, rng=0)
    assert found.statistic == pytest.approx(naive_f(distances**power, list(labels)))
    drawn = np.random.default_rng(0)
    for value in found.null:
        assert value == pytest.approx(naive_f(distances**power, list(labels[drawn.permutation(len(labels))])))


def test_squared_distances_of_numbers_give_the_f_of_analysis_of_variance():
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=n) + n / 10 for n in (8, 11, 6)]
    values = np.concatenate(groups)
    labels = np.repeat([0, 1, 2], [8, 11, 6])
    found = ao.group_test((values[:, None] - values) ** 2, labels, rng=0, post_hoc=False)
    expected = stats.f_oneway(*groups)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.05)


def test_two_groups_of_distances_rank_labellings_as_their_energy_distance_does():
    """DISCO of two groups is the energy test: the same p-value from the same permutations."""
    x, y = samples(6, s=9, t=12, shift=0.3)
    steps = (PooledMeasures.of(x, None, "x") + PooledMeasures.of(y, None, "y")).steps()
    distances = kernels.step_costs(steps, steps, 1, 1)
    by_groups = ao.group_test(distances, ["x"] * 9 + ["y"] * 12, n_resamples=299, rng=5)
    assert by_groups.pvalue == ao.energy_test(x, y, n_resamples=299, rng=5).pvalue


def test_group_test_finds_the_group_that_differs():
    distances, labels = points_and_groups(2, shifts=(0.0, 0.0, 3.0))
    found = ao.group_test(distances, labels, rng=0)
    assert found.pvalue == 0.001
    adjusted = {(pair.first, pair.second): pair.adjusted_pvalue for pair in found.pairs}
    assert adjusted["a", "c"] <= 0.01
    assert adjusted["b", "c"] <= 0.01
    assert adjusted["a", "b"] > 0.05
    assert (found.groups, found.sizes) == (("a", "b", "c"), (6, 7, 8))


def test_group_test_level():
    rejected = sum(
        ao.group_test(*points_and_groups(seed), n_resamples=99, rng=seed, post_hoc=False).pvalue <= 0.05
        for seed in range(400)
    )
    low, high = stats.binom.ppf([0.0005, 0.9995], 400, 0.05)
    assert low <= rejected <= high


def test_holm_against_its_textbook_example():
    """Sorted p-values 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]


def test_groups_without_dispersion_differ_infinitely():
    distances = np.array([[0.0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]])
    found = ao.group_test(distances, [0, 0, 1, 1], n_resamples=300, rng=0)
    assert found.statistic == np.inf
    assert (found.pvalue, len(found.null)) == (1 / 3, 2)
    assert np.isfinite(found.null).all()


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_labelling_that_fits_perfectly_changes_no_ties(is_inside):
    """Two clusters of four: of 35 divisions one fits, whose F is infinite, and 16 differ from it by one exchange."""
    here = np.repeat([0.0, 1.0], 4)
    distances = np.abs(here[:, None] - here)
    noise = 1e-15 * np.triu(np.random.default_rng(0).random((8, 8)), 1)
    distances += np.where(is_inside, 1 - distances, distances) * (noise + noise.T)
    exchanged = ao.group_test(distances, list("aaabbbba"), rng=0, post_hoc=False)
    assert exchanged.pvalue == 17 / 35
    assert ao.group_test(distances, list("aaaabbbb"), rng=0, post_hoc=False).pvalue == 1 / 35


def test_all_spaces_alike_have_p_one():
    found = ao.group_test(np.zeros((4, 4)), [0, 0, 1, 1], rng=0)
    assert (found.statistic, found.pvalue) == (0, 1)


def test_the_diagonal_is_not_looked_at():
    """Entropic distances of a space to itself are not zero."""
    distances, labels = points_and_groups(4)
    plain, other = (
        ao.group_test(d, labels, rng=0, post_hoc=False) for d in (distances, distances + np.eye(len(labels)))
    )
    assert np.array_equal(plain.null, other.null)


def test_labels_may_be_of_any_kind_and_order():
    distances, labels = points_and_groups(3)
    mixed = [{"a": 1, "b": "one", "c": None}[label] for label in labels]
    plain, other = (ao.group_test(distances, own, rng=0, post_hoc=False) for own in (labels, mixed))
    assert plain.statistic == pytest.approx(other.statistic)
    assert set(other.groups) == {1, "one", None}


@pytest.mark.parametrize(
    ("distances", "labels", "message"),
    [
        (np.zeros((2, 3)), [0, 1], r"distances has shape \(2, 3\)"),
        (np.zeros((3, 3)), [0, 1], "got 2 labels, but distances between 3 spaces"),
        (np.zeros((2, 2)), ["a", "a"], "all labels are 'a', but at least two groups are needed"),
        (np.zeros((2, 2)), ["a", "b"], "every group has one member"),
        (-np.ones((3, 3)), [0, 0, 1], "distances must not be negative"),
        (np.triu(np.ones((3, 3))), [0, 0, 1], "distances must be symmetric"),
        (np.full((3, 3), np.nan), [0, 0, 1], "leave out|must be finite"),
        (np.zeros((0, 0)), [], "at least two groups"),
        (np.zeros((4, 4)), ["a", "b", float("nan"), float("nan")], r"labels\[2\] is NaN, .*leave it out"),
        (np.zeros((3, 3)), np.array([0, np.nan, 1]), r"labels\[1\] is NaN"),
        (np.zeros((3, 3)), [[0], [0], [1]], r"labels must be .*: unhashable type"),
    ],
)
def test_bad_groups_are_refused(distances, labels, message):
    with pytest.raises(ao.InputError, match=message):
        ao.group_test(distances, labels)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 7.0])
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_the_scale_of_the_distances_changes_nothing(factor, power):
    """Neither the statistic nor its powers and sums on the way leave the range of floats."""
    distances, labels = points_and_groups(5)
    plain, scaled = (
        ao.group_test(scale * distances / distances.max(), labels, power=power, n_resamples=99, rng=0)
        for scale in (1, factor)
    )
    assert scaled.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert scaled.null == pytest.approx(plain.null, rel=1e-9)
    assert scaled.pvalue == plain.pvalue
