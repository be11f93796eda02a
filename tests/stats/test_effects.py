"""Effects: energies between groups, and their intervals."""

import numpy as np
import pytest

import anchorot as ao
from anchorot.stats.dispersion import Units
from anchorot.stats.effects import Effect, effect_between
from tests.stats.test_dispersion import distances, nested


def naive_interval(x, y, t, *, paired=False):
    """The interval of |delta|² from embedded subjects, with covariance matrices."""
    if paired:
        differences = x - y
        return interval_of(differences.mean(axis=0), np.atleast_2d(np.cov(differences.T)) / len(x), t)
    covariance = np.atleast_2d(np.cov(x.T)) / len(x) + np.atleast_2d(np.cov(y.T)) / len(y)
    return interval_of(x.mean(axis=0) - y.mean(axis=0), covariance, t)


def interval_of(delta, covariance, t):
    theta = delta @ delta - np.trace(covariance)
    u = delta / np.linalg.norm(delta)
    s = np.sqrt(u @ covariance @ u)
    q = max(theta + s**2, 0)
    omega = np.sqrt(2 * max(np.trace(covariance @ covariance) - s**4, 0))
    low = max(0, q - np.sqrt((q - max(0, np.sqrt(q) - t * s) ** 2) ** 2 + t**2 * omega**2))
    high = q + np.sqrt(((np.sqrt(q) + t * s) ** 2 - q) ** 2 + t**2 * omega**2)
    return 2 * theta, 2 * low, 2 * high


def student(effect):
    from scipy import stats

    return stats.t.ppf(0.975, effect.freedom)


@pytest.mark.parametrize("shift", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_intervals_from_distances_are_those_from_covariances(seed, shift):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(6, 3)) * [3, 1, 1] + shift, rng.normal(size=(9, 3))
    points, labels = np.concatenate([x, y]), np.repeat([0, 1], [6, 9])
    effect = effect_between(Units.of(distances(points) ** 2, np.arange(15)), labels)
    energy, low, high = naive_interval(x, y, student(effect))
    assert effect.energy == pytest.approx(energy)
    assert effect.interval(0.95) == pytest.approx((low, high))
    assert 5 <= effect.freedom <= 13


@pytest.mark.parametrize("seed", range(3))
def test_intervals_within_subjects_are_those_of_differences(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(7, 2)) * 5
    y = x + rng.normal(size=(7, 2)) + seed
    labels, owner = np.repeat([0, 1], 7), np.tile(np.arange(7), 2)
    effect = effect_between(Units.of(distances(np.concatenate([x, y])) ** 2, np.arange(14)), labels, owner)
    energy, low, high = naive_interval(x, y, student(effect), paired=True)
    assert effect.freedom == 6
    assert effect.energy == pytest.approx(energy)
    assert effect.interval(0.95) == pytest.approx((low, high))


@pytest.mark.parametrize("seed", range(3))
def test_intervals_in_strata_are_those_of_differences_within_them(seed):
    """Strata weigh n m / (n + m); their own positions, and those with one group only, do not matter."""
    rng = np.random.default_rng(seed)
    counts = [(5, 3), (2, 6), (0, 4)]
    layers = np.repeat([0, 1, 2], [8, 8, 4])
    labels = np.concatenate([np.repeat([0, 1], both) for both in counts])
    points = rng.normal(size=(20, 2)) + [4, 0] * layers[:, None] + [0, 1.5] * labels[:, None]
    effect = effect_between(Units.of(distances(points) ** 2, np.arange(20)), labels, layers=layers)
    weights = np.array([n * m / (n + m) for n, m in counts[:2]])
    weights /= weights.sum()
    cells = [[points[(layers == s) & (labels == k)] for k in (0, 1)] for s in (0, 1)]
    delta = sum(w * (x.mean(axis=0) - y.mean(axis=0)) for w, (x, y) in zip(weights, cells, strict=True))
    covariance = sum(
        w**2 * sum(np.cov(own.T) / len(own) for own in both) for w, both in zip(weights, cells, strict=True)
    )
    energy, low, high = interval_of(delta, covariance, student(effect))
    assert effect.energy == pytest.approx(energy)
    assert effect.interval(0.95) == pytest.approx((low, high))


def test_matched_sets_are_compared_like_pairs():
    rng = np.random.default_rng(0)
    layers, labels = np.repeat(np.arange(6), 2), np.tile([0, 1], 6)
    units = Units.of(distances(rng.normal(size=(12, 2)) + 5 * layers[:, None] + labels[:, None]) ** 2, np.arange(12))
    assert effect_between(units, labels, layers=layers) == effect_between(units, labels, layers)


def test_strata_that_differ_are_no_effect():
    """Three quarters of a group are in one batch: groups differ by batch, but not within batches."""
    rng = np.random.default_rng(0)
    batch, label = np.repeat([0, 1], 8), np.concatenate([np.arange(8) >= 6, np.arange(8) >= 2]).astype(int)
    d = distances(rng.normal(size=16) + 8 * batch) ** 2
    pairs = [ao.group_test(d, label, strata=strata, rng=0, progress=False).pairs[0] for strata in (None, batch)]
    assert pairs[0].interval()[0] > 0
    assert pairs[1].interval()[0] == 0


def test_the_energy_between_groups_is_its_definition_over_different_subjects():
    d, label, subject = nested(3, subjects=3, images=2)
    pair = ao.group_test(d, label, subjects=subject, rng=0).pairs[0]

    def mean(a, b):
        pairs = [(i, j) for i in np.flatnonzero(label == a) for j in np.flatnonzero(label == b)]
        return np.mean([d[i, j] for i, j in pairs if subject[i] != subject[j]])

    assert pair.energy == pytest.approx(2 * mean(0, 1) - mean(0, 0) - mean(1, 1))


def test_the_energy_within_subjects_leaves_out_what_they_have_in_common():
    rng = np.random.default_rng(0)
    subject, label = np.repeat(np.arange(5), 4), np.tile([0, 0, 1, 1], 5)
    values = 100.0 * rng.normal(size=5)[subject] + label + 0.01 * rng.normal(size=20)
    pair = ao.group_test(distances(values) ** 2, label, subjects=subject, within=True, rng=0).pairs[0]
    low, high = pair.interval()
    assert low < 2 < high
    assert pair.energy == pytest.approx(2, rel=0.05)


def test_effects_measure_how_far_groups_are_apart():
    _, label, subject = nested(5, groups=3, subjects=5)
    d = distances(np.random.default_rng(0).normal(size=75) * 0.1 + 3 * (label == 2))
    found = ao.group_test(d, label, subjects=subject, rng=0)
    near, far = found.pairs[0], found.pairs[1]
    assert near.interval()[0] == 0
    assert near.interval()[1] < 0.1 < far.interval()[0] < far.energy < far.interval()[1]
    assert far.energy == pytest.approx(6, rel=0.1)
    assert near.share < 0.3 < 0.9 < far.share <= 1
    assert found.share == pytest.approx(1 - 1 / (1 + found.statistic * 2 / (15 - 3)))


def test_effects_do_not_change_the_permutations():
    d, label, subject = nested(2, subjects=8)
    one, two = (ao.group_test(d, label, subjects=subject, rng=1, post_hoc=own) for own in (False, True))
    assert np.array_equal(one.null, two.null)
    few = ao.group_test(*nested(0, subjects=2)[:2], subjects=nested(0, subjects=2)[2], rng=0).pairs[0]
    assert np.isfinite(few.energy)
    assert np.isnan(few.interval()).all()


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_intervals_have_the_units_of_the_distances(power):
    d, label, subject = nested(2, subjects=6)
    one, two = (ao.group_test(unit * d, label, subjects=subject, power=power, rng=1).pairs[0] for unit in (1.0, 1000.0))
    assert np.array(two.interval()) == pytest.approx(1000.0**power * np.array(one.interval()))


def test_a_higher_level_gives_a_wider_interval():
    effect = Effect(1.0, 0.3, 0.1, 8.0)
    (a, b), (c, d) = effect.interval(0.5), effect.interval(0.99)
    assert c < a < 1 < b < d
    with pytest.raises(ao.InputError, match="level must be a number between 0 and 1, but got 95"):
        effect.interval(95)


@pytest.mark.parametrize("within", [False, True])
def test_intervals_contain_the_true_energy_of_small_groups(within):
    """Four subjects a side, three images each: the share is above 0.88 with an error of about 0.015."""
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        subject, label = np.repeat(np.arange(8), 3), np.repeat([0, 1], 12)
        if within:
            subject, label = np.repeat(np.arange(4), 6), np.tile(np.repeat([0, 1], 3), 4)
        points = rng.normal(size=(8, 2))[subject] + rng.normal(size=(24, 2)) / 2 + 1.5 * label[:, None] * [1, 0]
        found = ao.group_test(distances(points) ** 2, label, subjects=subject, within=within, n_resamples=1, rng=0)
        low, high = found.pairs[0].interval()
        held += low <= 2 * 1.5**2 <= high
    assert held / 200 > 0.88
