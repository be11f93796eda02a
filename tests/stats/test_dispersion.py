"""Groups, subjects and effects: how far items spread within and between groups."""

from itertools import product

import numpy as np
import pytest

import anchorot as ao
from anchorot.stats.dispersion import effect_between


def distances(points):
    points = np.asarray(points, float).reshape(len(points), -1)
    return np.linalg.norm(points[:, None] - points, axis=-1)


def nested(seed, groups=2, subjects=4, images=5, correlation=0.7, shift=0.0):
    """Numbers of images of subjects in groups: distances, labels, subjects."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(groups), subjects * images)
    subject = np.repeat(np.arange(groups * subjects), images)
    own = rng.normal(size=groups * subjects) * np.sqrt(correlation)
    return (
        distances(own[subject] + rng.normal(size=len(label)) * np.sqrt(1 - correlation) + shift * label),
        label,
        subject,
    )


CLOUDS = [ao.from_points(np.random.default_rng(seed).normal(size=(8, 2)) * (1 + (seed > 4))) for seed in range(11)]


TWO = np.repeat([0, 1], [5, 6])


# -- effects -----------------------------------------------------------------------------------------------------------


def test_the_energy_between_groups_is_its_definition_over_different_subjects():
    d, label, subject = nested(3, subjects=3, images=2)
    value = effect_between(d, label, subject, (0, 1), np.random.default_rng(0), False)[0]

    def mean(a, b):
        pairs = [(i, j) for i in np.flatnonzero(label == a) for j in np.flatnonzero(label == b)]
        return np.mean([d[i, j] for i, j in pairs if subject[i] != subject[j]])

    assert value == pytest.approx(2 * mean(0, 1) - mean(0, 0) - mean(1, 1))


def test_effects_measure_how_far_groups_are_apart():
    d, label, subject = nested(5, groups=3, subjects=5, shift=0.0)
    d = distances(np.random.default_rng(0).normal(size=75) * 0.1 + 3 * (label == 2))
    found = ao.group_test(d, label, subjects=subject, rng=0)
    near, far = found.pairs[0], found.pairs[1]
    assert near.low <= near.energy <= near.high
    assert near.low < 0.05 < far.low < far.energy < far.high
    assert far.energy == pytest.approx(6, rel=0.1)
    assert near.share < 0.2 < 0.9 < far.share <= 1
    assert found.share == pytest.approx(1 - 1 / (1 + found.statistic * 2 / (75 - 3)))


def test_effects_do_not_change_the_permutations():
    d, label, subject = nested(2, subjects=8)
    one, two = (ao.group_test(d, label, subjects=subject, rng=1, post_hoc=own) for own in (False, True))
    assert np.array_equal(one.null, two.null)
    few = ao.group_test(*nested(0, subjects=2)[:2], subjects=nested(0, subjects=2)[2], rng=0).pairs[0]
    assert np.isfinite(few.energy)
    assert np.isnan(few.low)


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
    assert found.pair_shares.shape == found.pair_pvalues.shape == (6, 3)
    assert (found.pair_pvalues >= 1 / 50).all()
    from anchorot.anchors.attribute_features import attribute_features, energy_profile, pair_profiles
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
        assert parts.sum(axis=0) == pytest.approx(energy_profile(features[x], features[y], max_costs))


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
    found = ao.scale_test(CLOUDS, TWO, [0.5, 1, 2, 4], subjects=subjects, rng=0)
    left = np.array(
        [
            ao.scale_test(
                [x for x, s in zip(CLOUDS, subjects, strict=True) if s != own], TWO[subjects != own], [0.5, 1, 2, 4],
                n_resamples=1, subjects=subjects[subjects != own], rng=0,
            ).share
            for own in range(7)
        ]
    )  # fmt: skip
    assert found.error == pytest.approx(np.sqrt(6 * left.var(axis=0)))
    alone = ao.scale_test(CLOUDS, [0, *[1] * 10], [1.0], rng=0)
    assert np.isnan(alone.error).all()
