"""Groups, subjects and effects: how far items spread within and between groups."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import anchorot as ao
from anchorot.stats.dispersion import Units
from tests.stats.designs import distances, nested

CLOUDS = [ao.from_points(np.random.default_rng(seed).normal(size=(8, 2)) * (1 + (seed > 4))) for seed in range(11)]


TWO = np.repeat([0, 1], [5, 6])


# -- units -------------------------------------------------------------------------------------------------------------


def unequal(seed, shift=0.0, counts=(4, 1, 3, 2, 1, 5, 2, 3), groups=2):
    """Points in the plane of subjects with unequal numbers of images: squared distances, labels, subjects, points."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(len(counts)), counts)
    label = subject % groups
    points = rng.normal(size=(len(counts), 2))[subject] + rng.normal(size=(len(subject), 2)) + shift * label[:, None]
    return distances(points) ** 2, label, subject, points


def test_energies_between_units_are_squared_distances_between_their_means():
    d, _, subject, points = unequal(0)
    means = np.array([points[subject == own].mean(axis=0) for own in range(8)])
    units = Units.of(d, subject)
    assert units.energies == pytest.approx(distances(means) ** 2)
    assert (units.weights() > 0).all()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_weights_follow_the_variances_between_and_within_subjects(correlation):
    """With n images weights are inverse variances of subject means, n / (1 + (n - 1) rho), up to a factor."""
    rng = np.random.default_rng(1)
    counts = np.tile([1, 2, 5, 20], 100)
    subject = np.repeat(np.arange(400), counts)
    points = np.sqrt(correlation) * rng.normal(size=400)[subject]
    points += np.sqrt(1 - correlation) * rng.normal(size=len(subject))
    weights = Units.of(distances(points) ** 2, subject).weights()
    expected = counts / (1 + (counts - 1) * correlation)
    assert weights == pytest.approx(expected / expected.max(), rel=0.2)


def test_labels_do_not_enter_the_weights():
    """So all assignments of a test use one set of weights, and its p-value does not depend on which is given."""
    d, label, subject, _ = unequal(2)
    first = ao.group_test(d, label, subjects=subject, rng=0, post_hoc=False)
    other = ao.group_test(d, np.array([1, 0, 0, 1, 1, 0, 1, 0])[subject], subjects=subject, rng=0, post_hoc=False)
    assert sorted([first.statistic, *first.null]) == pytest.approx(sorted([other.statistic, *other.null]))


def test_subjects_with_equal_numbers_of_images_weigh_equally():
    d, _, subject = nested(0)
    assert Units.of(d, subject).weights().tolist() == [1.0] * 8


def test_one_subject_with_many_images_does_not_outweigh_others():
    d, _, subject, _ = unequal(3, counts=(60, 1, 1, 1, 1, 1, 1, 1))
    weights = Units.of(d, subject).weights()
    assert weights[0] == 1
    assert weights[1:].min() > 1 / 20  # of 1 / 60 by images


def test_subject_means_give_the_f_of_analysis_of_variance():
    """For squared distances of numbers, and subjects that weigh equally."""
    rng = np.random.default_rng(5)
    subject = np.repeat(np.arange(9), 4)
    label, values = subject % 3, rng.normal(size=9)[subject] + rng.normal(size=36)
    found = ao.group_test(distances(values) ** 2, label, subjects=subject, rng=0, post_hoc=False)
    means = np.array([values[subject == own].mean() for own in range(9)])
    assert found.statistic == pytest.approx(stats.f_oneway(*(means[k::3] for k in range(3))).statistic)


def test_items_are_weighed_on_request():
    d, label, subject, points = unequal(4)
    found = ao.group_test(d, label, subjects=subject, weight_items=True, rng=0, post_hoc=False)
    both = [points[label == k] for k in (0, 1)]
    centre = points.mean(axis=0)
    within = sum(((own - own.mean(axis=0)) ** 2).sum() for own in both)
    total = ((points - centre) ** 2).sum()
    assert found.statistic == pytest.approx((total - within) / within * (len(d) - 2))
    assert found.unit == "subjects"


# -- cohorts -----------------------------------------------------------------------------------------------------------


def table(images=3, subjects=8):
    rng = np.random.default_rng(0)
    rows = {name: [] for name in ("image", "patient", "stage", "slide", "x", "y", "kind")}
    for patient, image in product(range(subjects), range(images)):
        for _ in range(12):
            values = (
                f"{patient}-{image}",
                patient,
                "ab"[patient % 2],
                patient // 4,
                *rng.random(2),
                "TB"[rng.integers(2)],
            )
            for name, value in zip(rows, values, strict=True):
                rows[name].append(value)
    return rows


def cohort(**options):
    return ao.from_cohort(table(), sample="image", points=["x", "y"], types="kind", **options)


def test_a_cohort_brings_its_subjects():
    own = cohort(subject="patient")
    assert own.subjects == tuple(np.repeat(np.arange(8), 3))
    assert own[3:6].subjects == (1, 1, 1)
    assert repr(own).startswith("Cohort(24 samples from 8 subjects of 12")
    options = {"rng": 0, "progress": False}
    found = ao.group_test(own, "stage", attributes="types", max_cost=0.5, **options)
    by_hand = ao.group_test(
        ao.pairwise(own, attributes="types", max_cost=0.5),
        own.metadata["stage"],
        subjects=own.metadata["patient"],
        **options,
    )
    assert (found.unit, found.n_assignments) == ("subjects", 35)
    assert (found.pvalue, found.statistic) == (by_hand.pvalue, by_hand.statistic)
    assert ao.group_test(own, "stage", strata="slide", **options).n_assignments == 18
    assert ao.scale_test(own, "stage", [0.2, 0.5], **options).unit == "subjects"
    a, b = (ao.Cohort(own.spaces[k:][:3], own.samples[k:][:3], {}, own.subjects[k:][:3]) for k in (0, 3))
    assert ao.energy_test(a, b, **options).n_assignments == 1


def test_samples_of_an_unnamed_subject_are_noted():
    plain = cohort()
    for test in (ao.group_test, lambda *a, **o: ao.scale_test(*a, [0.3, 0.6], **o)):
        with pytest.warns(
            ao.InputWarning,
            match=r"24 samples .* 'patient' has only 8 values; pass from_cohort\(..., subject='patient'",
        ):
            assert test(plain, "stage", rng=0, progress=False).unit == "items"
    named = ao.group_test(plain, "stage", subjects="patient", rng=0, progress=False)
    assert named.unit == "subjects"


def test_bad_columns_of_subjects_are_one_clear_line():
    with pytest.raises(ao.InputError, match="'kind' has several values in one sample"):
        ao.from_cohort(table(), sample="image", points=["x", "y"], subject="kind")
    with pytest.raises(ao.InputError, match="is called 'nobody'"):
        cohort(subject="nobody")
    with pytest.raises(ao.InputError, match="labels='nothing' is not a column of the cohort's metadata"):
        ao.group_test(cohort(subject="patient"), "nothing")


# -- type pairs --------------------------------------------------------------------------------------------------------


def typed(seed, count=12, close=False):
    """Cells of three types at random; B beside A if they are close."""
    rng = np.random.default_rng(seed)
    points = rng.random((3 * count, 2))
    if close:
        points[count : 2 * count] = points[:count] + 0.03 * rng.normal(size=(count, 2))
    return ao.Space(ao.from_points(points).cost, types=list("A" * count + "B" * count + "C" * count))


def test_type_pairs_sum_up_to_the_whole_band():
    spaces = [typed(seed, close=seed > 4) for seed in range(9)]
    found = ao.scale_test(
        spaces, [0] * 5 + [1] * 4, [0.1, 0.4, 1.0], attributes="types", type_pairs=True, n_resamples=49, rng=0
    )
    plain = ao.scale_test(spaces, [0] * 5 + [1] * 4, [0.1, 0.4, 1.0], attributes="types", n_resamples=49, rng=0)
    assert np.array_equal(found.share, plain.share)
    assert found.pairs == (("A", "A"), ("A", "B"), ("A", "C"), ("B", "B"), ("B", "C"), ("C", "C"))
    assert found.pair_effects.shape == found.pair_pvalues.shape == found.pair_adjusted_pvalues.shape == (6, 3)
    assert (found.pair_pvalues >= 1 / 50).all()
    from anchorot.anchors.attribute_features import attribute_features, cost_profile, pair_profiles
    from anchorot.anchors.attributes import attribute_rule_of

    attribute_rule = attribute_rule_of(spaces, "types", 1.0)
    weighted = ao.Space(spaces[0].cost, np.random.default_rng(0).dirichlet(np.full(36, 9.0)), types=spaces[0].types)
    fewer = ao.Space(spaces[1].cost[:20, :20], types=spaces[1].types[:20])
    features = [
        attribute_features(space, attribute_rule, robust=False) for space in (spaces[0], spaces[8], weighted, fewer)
    ]
    max_costs = np.array([0.1, 0.4, 1.0])
    for x, y in ((0, 1), (0, 2), (2, 3), (3, 0)):
        parts = pair_profiles(features[x], features[y], max_costs, tuple("ABC"))
        assert parts.sum(axis=0) == pytest.approx(cost_profile(features[x], features[y], max_costs))


def test_the_types_that_are_close_are_named():
    spaces = [typed(seed, close=seed > 7) for seed in range(16)]
    found = ao.scale_test(
        spaces, np.repeat([0, 1], 8), [0.05, 0.1, 0.3, 0.8], attributes="types", type_pairs=True, rng=0
    )
    assert (found.which()[0].first, found.which()[0].second) == ("A", "B")
    assert found.which()[0].low < 0.1
    assert {(band.first, band.second) for band in found.which()} == {("A", "B")}
    assert found.which(1e-9) == []


def test_type_pairs_need_types():
    with pytest.raises(ao.InputError, match="type_pairs=True needs attributes='types'"):
        ao.scale_test(CLOUDS, TWO, [1.0], type_pairs=True)


def test_the_error_of_a_share_is_that_of_leaving_out_subjects():
    subjects = np.array([0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6])
    found = ao.scale_test(CLOUDS, TWO, [0.5, 1, 2, 4], subjects=subjects, weight_items=True, rng=0)
    left = np.array(
        [
            ao.scale_test(
                [x for x, s in zip(CLOUDS, subjects, strict=True) if s != own], TWO[subjects != own], [0.5, 1, 2, 4],
                n_resamples=1, subjects=subjects[subjects != own], weight_items=True, rng=0,
            ).share
            for own in range(7)
        ]
    )  # fmt: skip
    assert found.error == pytest.approx(np.sqrt(6 * left.var(axis=0)))
    alone = ao.scale_test(CLOUDS, [0, *[1] * 10], [1.0], rng=0)
    assert np.isnan(alone.error).all()
