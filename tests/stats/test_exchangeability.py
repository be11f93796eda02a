"""Who is exchangeable: subjects, strata, labels within subjects; laws of the labellings and levels of the tests."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import anchorot as ao
from anchorot.stats.dispersion import effect_between
from anchorot.stats.exchangeability import exchange_of
from tests.strategies import samples


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


def division(labels):
    """Which items are together, whatever the groups are called."""
    return frozenset(frozenset(np.flatnonzero(np.asarray(labels) == group).tolist()) for group in set(labels))


# -- the labellings ----------------------------------------------------------------------------------------------------


@st.composite
def designs(draw):
    n = draw(st.integers(2, 6))
    labels = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(lambda own: len(set(own)) > 1))
    codes = np.unique(labels, return_inverse=True)[1]
    strata = draw(st.none() | st.lists(st.sampled_from("pq"), min_size=n, max_size=n))
    return codes, strata


@settings(max_examples=60, deadline=None)
@given(designs())
def test_enumeration_equals_brute_force(design):
    codes, strata = design
    exchange = exchange_of(codes, strata=strata)
    layer = np.zeros(len(codes)) if strata is None else np.array(strata)
    expected = set()
    for order in permutations(range(len(codes))):
        if all(layer[i] == layer[j] for i, j in enumerate(order)):
            expected.add(division(codes[list(order)].tolist()))
    found = [division(row) for row in [codes.tolist(), *exchange.others().tolist()]]
    assert len(found) == len(set(found)) == exchange.n_assignments
    assert set(found) == expected


@settings(max_examples=40, deadline=None)
@given(designs(), st.integers(0, 2**32))
def test_draws_keep_how_many_of_each_group_a_stratum_has(design, seed):
    codes, strata = design
    exchange = exchange_of(codes, strata=strata)
    layer = np.zeros(len(codes), int) if strata is None else np.array(strata)
    for row in exchange.draw(20, np.random.default_rng(seed)):
        for own in set(layer.tolist()):
            assert sorted(row[layer == own]) == sorted(codes[layer == own])


def test_four_against_four_have_35_assignments():
    found = ao.group_test(*nested(0)[:2], subjects=nested(0)[2], rng=0)
    assert (found.unit, found.n_assignments, len(found.null)) == ("subjects", 35, 34)
    assert found.min_pvalue == 1 / 35
    assert round(found.pvalue * 35) == pytest.approx(found.pvalue * 35)
    assert found.n_subjects == (4, 4)


def test_one_against_many_needs_no_deep_recursion():
    exchange = exchange_of(np.repeat([0, 1], [1, 1100]))
    assert exchange.n_assignments == 1101 == len(exchange.others()) + 1


@given(st.lists(st.integers(1, 4), min_size=4, max_size=6), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_how_many_samples_a_subject_has_changes_nothing_in_the_set_of_assignments(sizes, seed):
    codes = np.arange(len(sizes)) % 2
    plain = exchange_of(codes)
    several = exchange_of(np.repeat(codes, sizes), subjects=np.repeat(np.arange(len(sizes)), sizes))
    assert several.n_assignments == plain.n_assignments
    assert np.array_equal(several.others(), plain.others())
    draws = (exchange.draw(9, np.random.default_rng(seed)) for exchange in (plain, several))
    assert np.array_equal(*draws)


def test_pairs_within_subjects_are_dealt_like_signs():
    exchange = exchange_of(np.tile([0, 1], 4), subjects=np.repeat(list("abcd"), 2), within=True)
    assert exchange.n_assignments == 2**4 / 2
    rows = [[0, 1, 0, 1, 0, 1, 0, 1], *exchange.others().tolist()]
    signs = {sign for row in rows for sign in (tuple(row[::2]), tuple(1 - x for x in row[::2]))}
    assert signs == set(product([0, 1], repeat=4))


# -- all tests ---------------------------------------------------------------------------------------------------------

SIDES = samples(1, s=9, t=11)
CLOUDS = [ao.from_points(np.random.default_rng(seed).normal(size=(8, 2)) * (1 + (seed > 4))) for seed in range(11)]
GRAPHS = [[(i, (i + 1 + k % 3) % 12) for i in range(12)] for k in range(9)]
TWO = np.repeat([0, 1], [5, 6])

TESTS = {
    "group_test": lambda **o: ao.group_test(distances(np.arange(11) ** 2), TWO, **o),
    "scale_test": lambda **o: ao.scale_test(CLOUDS, TWO, [0.5, 1, 2, 4], **o),
    "energy_test": lambda **o: ao.energy_test(SIDES[0][:5], SIDES[1][:6], **o),
    "energy_test of spaces": lambda **o: ao.energy_test(CLOUDS[:5], CLOUDS[5:], **o),
    "energy_test, pooled": lambda **o: ao.energy_test(CLOUDS[:5], CLOUDS[5:], pooled=True, **o),
    "graph_model_test": lambda **o: ao.graph_model_test(GRAPHS[:5], GRAPHS[3:], **o),
}


def whose(test, values):
    """Values of all items as the test takes them: all, or those of either side."""
    return list(values) if test in ("group_test", "scale_test") else (list(values[:5]), list(values[5:]))


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n_resamples", [99, 999])
def test_subjects_that_are_all_different_are_no_subjects(test, n_resamples):
    """To the bit, whether assignments are drawn or enumerated; 462 are possible."""
    options = {"n_resamples": n_resamples, "rng": 3, "progress": False}
    plain, named = TESTS[test](**options), TESTS[test](subjects=whose(test, "abcdefghijk"), **options)
    assert (named.statistic, named.pvalue) == (plain.statistic, plain.pvalue)
    assert np.array_equal(named.null, plain.null)
    assert (plain.unit, named.unit) == ("items", "subjects")
    assert plain.n_assignments == named.n_assignments == 462
    assert len(plain.null) == min(n_resamples, 461)


@pytest.mark.parametrize("test", TESTS)
def test_subjects_of_unequal_sizes_are_permuted_as_a_whole(test):
    subjects = [0, 0, 0, 1, 2, 3, 3, 4, 5, 5, 5]
    found = TESTS[test](subjects=whose(test, subjects), rng=0, progress=False)
    assert (found.unit, found.n_assignments, len(found.null)) == ("subjects", 10, 9)
    assert found.min_pvalue == 0.1


@pytest.mark.parametrize("test", TESTS)
def test_the_names_and_the_order_of_subjects_change_no_pvalue(test):
    """All assignments are gone through, so that only the set of them matters."""
    subjects = np.array([0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6])
    names = dict(enumerate("gfedcba"))
    one, two = (
        TESTS[test](subjects=whose(test, own), rng=rng, progress=False)
        for rng, own in ((0, subjects), (7, [names[k] for k in subjects]))
    )
    assert one.pvalue == two.pvalue
    assert sorted(one.null) == pytest.approx(sorted(two.null))


@pytest.mark.parametrize("test", TESTS)
def test_strata_and_pairs_leave_fewer_assignments(test):
    strata = [0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1]
    found = TESTS[test](strata=whose(test, strata), rng=0, progress=False)
    assert (found.unit, found.n_assignments) == ("items within strata", 10 * 15)
    owners = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 4]
    found = TESTS[test](subjects=whose(test, owners), within=True, rng=0, progress=False)
    assert (found.unit, found.n_assignments) == ("items within subjects", 2**4 * 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"subjects": [0] * 4 + [1] * 7},
            "labels vary within 1 of 2 subjects and are constant within the others, such as 0",
        ),
        ({"subjects": [0] * 11}, "labels vary within subjects, such as 0, .*use within=True"),
        ({"subjects": [0] * 5 + [1] * 6, "within": True}, "constant within all subjects; leave out within=True"),
        ({"within": True}, "within=True permutes labels within subjects, but no subjects are given"),
        (
            {"subjects": [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3], "strata": [0, 1, *[0] * 9]},
            "the subject 0 is in several strata",
        ),
        ({"subjects": [0, 0, None, 1, 1, 2, 2, 2, 3, 3, 3]}, r"subjects\[2\] is missing"),
        ({"subjects": [0, 1]}, "subjects has .* values"),
    ],
)
@pytest.mark.parametrize("test", ["group_test", "scale_test", "energy_test"])
def test_mixtures_and_bad_sizes_are_one_clear_line(test, options, message):
    given = {name: value if name == "within" else whose(test, value) for name, value in options.items()}
    with pytest.raises(ao.InputError, match=message) as caught:
        TESTS[test](**given)
    assert "\n" not in str(caught.value)


def test_the_level_holds_for_several_images_of_a_subject_and_not_without_subjects():
    rejected = {"subjects": 0, "images": 0}
    for seed in range(200):
        d, label, subject = nested(seed, subjects=6)
        options = {"n_resamples": 99, "rng": seed, "post_hoc": False, "progress": False}
        rejected["subjects"] += ao.group_test(d, label, subjects=subject, **options).pvalue <= 0.05
        rejected["images"] += ao.group_test(d, label, **options).pvalue <= 0.05
    assert rejected["subjects"] <= stats.binom.ppf(0.9995, 200, 0.05)
    assert rejected["images"] >= 60


@pytest.mark.parametrize("kind", ["strata", "paired"])
def test_the_level_holds_in_strata_and_pairs_and_power_is_gained(kind):
    """What strata or subjects have in common neither makes a false alarm nor hides a difference."""
    rejected = np.zeros(2, int)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        common, label = np.repeat(rng.normal(size=6) * 3, 2), np.tile([0, 1], 6)
        named = (
            {"strata": np.repeat(np.arange(6), 2)}
            if kind == "strata"
            else {"subjects": np.repeat(np.arange(6), 2), "within": True}
        )
        for k, shift in enumerate((0.0, 2.0)):
            d = distances(common + 0.5 * rng.normal(size=12) + shift * label) ** 2
            rejected[k] += ao.group_test(d, label, **named, rng=seed, post_hoc=False, progress=False).pvalue <= 0.05
    assert rejected[0] <= stats.binom.ppf(0.9995, 150, 0.05)
    assert rejected[1] >= 140
    assert ao.group_test(d, label, rng=0, post_hoc=False, progress=False).pvalue > 0.05


# -- effects -----------------------------------------------------------------------------------------------------------


def test_the_energy_between_groups_is_its_definition_over_different_subjects():
    d, label, subject = nested(3, subjects=3, images=2)
    value = effect_between(d, label, subject, (0, 1), np.random.default_rng(0), False)[0]

    def mean(a, b):
        pairs = [(i, j) for i in np.flatnonzero(label == a) for j in np.flatnonzero(label == b)]
        return np.mean([d[i, j] for i, j in pairs if subject[i] != subject[j]])

    assert value == pytest.approx(2 * mean(0, 1) - mean(0, 0) - mean(1, 1))


def test_effects_say_how_far_groups_are_apart():
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


def test_samples_of_one_subject_that_nobody_named_are_noted():
    plain = cohort()
    for test in (ao.group_test, lambda *a, **o: ao.scale_test(*a, [0.3, 0.6], **o)):
        with pytest.warns(
            ao.InputWarning, match=r"24 samples .* 'patient' has 8 values; give from_cohort\(..., subject='patient'"
        ):
            assert test(plain, "stage", rng=0, progress=False).unit == "items"
    named = ao.group_test(plain, "stage", subjects="patient", rng=0, progress=False)
    assert named.unit == "subjects"


def test_bad_columns_of_subjects_are_one_clear_line():
    with pytest.raises(ao.InputError, match="'kind' has several values in one sample"):
        ao.from_cohort(table(), sample="image", points=["x", "y"], subject="kind")
    with pytest.raises(ao.InputError, match="is called 'nobody'"):
        cohort(subject="nobody")
    with pytest.raises(ao.InputError, match="labels='nothing' is no column of the cohort's metadata"):
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
