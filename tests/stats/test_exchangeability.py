"""Exchangeability: subjects, strata, labels within subjects; properties of the labellings and levels of the tests."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import anchorot as ao
from anchorot.stats.dispersion import Units
from anchorot.stats.exchangeability import exchange_of
from tests.stats.designs import distances, nested
from tests.strategies import samples


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


def test_pairs_within_subjects_are_permuted_like_signs():
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
    assert (found.unit, found.n_assignments) == ("conditions within subjects", 2**4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"subjects": [0] * 4 + [1] * 7},
            "the subject 1 is in several groups, as are 1 of 2, but others, such as 0, are in one: are these the same",
        ),
        (
            {"subjects": [0] * 11},
            "the subject 0 is in several groups, as are all 1: are these the same persons.*; only if every person",
        ),
        ({"subjects": [0] * 5 + [1] * 6, "within": True}, "constant within all subjects; drop within=True"),
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


# -- visits and blocks -------------------------------------------------------------------------------------------------


def visits(seed, subjects=4, images=3, visit=0.0, shift=0.0):
    """Images of two visits of every subject: distances, labels, subjects."""
    rng = np.random.default_rng(seed)
    subject, label = np.repeat(np.arange(subjects), 2 * images), np.tile(np.repeat([0, 1], images), subjects)
    own = 2 * rng.normal(size=subjects)[subject] + visit * rng.normal(size=(subjects, 2))[subject, label]
    return distances(own + 0.3 * rng.normal(size=len(label)) + shift * label) ** 2, label, subject


def mean_blocks(d, unit):
    count = unit.max() + 1
    return np.array([[d[np.ix_(unit == a, unit == b)].mean() for b in range(count)] for a in range(count)])


@given(st.integers(0, 2**32), st.integers(3, 5), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_visits_are_swapped_whole_in_every_pattern_of_signs(seed, subjects, images):
    """The p-value is that of all 2^n patterns of signs, with the statistic over pairs of different subjects."""
    d, label, subject = visits(seed, subjects, images, visit=0.5)
    found = ao.group_test(d, label, subjects=subject, within=True, rng=0, post_hoc=False)
    b = mean_blocks(d, 2 * subject + label)
    before, after = b[::2], b[1::2]
    g = (before[:, 1::2] + after[:, ::2] - before[:, ::2] - after[:, 1::2]) / 2
    values = [np.array(e) @ (g - np.diag(np.diag(g))) @ np.array(e) for e in product([1, -1], repeat=subjects)]
    assert found.n_assignments == 2 ** (subjects - 1)
    assert found.pvalue == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-9))
    assert found.unit == ("conditions within subjects" if images > 1 else "items within subjects")


@given(st.integers(0, 2**32), st.sampled_from([(2, 1, 3, 2), (1, 2, 2, 1, 2), (3, 3, 2)]))
@settings(max_examples=20, deadline=None)
def test_subjects_are_permuted_in_every_order(seed, counts):
    """The p-value is that of all orders of the subjects' labels, with F from embedded subject means and weights."""
    rng = np.random.default_rng(seed)
    subject, own = np.repeat(np.arange(len(counts)), counts), np.arange(len(counts)) % 2
    points = rng.normal(size=(len(subject), 2)) + rng.normal(size=(len(counts), 2))[subject]
    d = distances(points) ** 2
    weights = Units.of(d, subject).weights()
    means = np.array([points[subject == a].mean(axis=0) for a in range(len(counts))])

    def within(labels):
        total = 0.0
        for k in (0, 1):
            w, x = weights[labels == k], means[labels == k]
            total += (w[:, None] * (x - w @ x / w.sum()) ** 2).sum()
        return total

    values = np.array([within(np.array(order)) for order in permutations(own.tolist())])
    found = ao.group_test(d, own[subject], subjects=subject, rng=0, post_hoc=False)
    assert found.pvalue == pytest.approx(np.mean(values <= values[0] * (1 + 1e-9)))


@pytest.mark.parametrize("design", ["visits", "subjects", "items", "strata", "slides"])
def test_drawn_pvalues_agree_with_enumerated_ones(design):
    d, label, subject = visits(1, subjects=6, visit=0.5)
    slide = np.arange(24) // 2
    labels, options = {
        "visits": (label, {"subjects": subject, "within": True}),
        "subjects": (subject % 2, {"subjects": subject}),
        "items": (np.arange(8) % 2, {}),
        "strata": (np.arange(8) % 2, {"strata": np.arange(8) // 4}),
        "slides": (slide % 2, {"subjects": slide // 4, "within": True, "blocks": slide}),
    }[design]
    label, d, options = labels, d[: len(labels), : len(labels)], options | {"post_hoc": False, "progress": False}
    exact = ao.group_test(d, label, rng=0, **options)
    few = exact.n_assignments - 1  # so that these are drawn, and not enumerated
    drawn = [ao.group_test(d, label, n_resamples=few, rng=seed, **options).pvalue for seed in range(300)]
    share = (np.mean(drawn) * (few + 1) - 1) / few
    assert share == pytest.approx(exact.pvalue, abs=4 * np.sqrt(0.25 / (300 * few)))
    assert len({round(p, 9) for p in drawn}) > 3


def test_slides_within_patients_are_permuted_as_blocks():
    subject = np.repeat(np.arange(3), 8)
    slide = np.tile(np.repeat([0, 1, 2, 3], 2), 3)
    label = np.tile(np.repeat([0, 0, 1, 1], 2), 3)
    d = distances(np.random.default_rng(0).normal(size=24))
    found = ao.group_test(d, label, subjects=subject, within=True, blocks=slide, rng=0)
    assert (found.unit, found.n_assignments) == ("blocks within subjects", 6**3 / 2)
    assert ao.group_test(d, label, subjects=subject, within=True, rng=0).n_assignments == 2**2
    items = ao.group_test(d, label, subjects=subject, within=True, blocks=np.arange(24), n_resamples=9, rng=0)
    assert items.unit == "items within subjects"


@pytest.mark.parametrize("test", TESTS)
def test_all_tests_permute_blocks(test):
    owners, slides = [0, 0, 1, 1, 2, 0, 0, 1, 1, 2, 2], list("aabbcddeeff")
    found = TESTS[test](subjects=whose(test, owners), within=True, blocks=whose(test, slides), rng=0, progress=False)
    assert (found.unit, found.n_assignments) == ("blocks within subjects", 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blocks": list("aabbccddeef")}, "blocks are units within subjects, but no subjects are given"),
        (
            {"blocks": list("aabbccddeef"), "subjects": [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3]},
            "drop blocks to permute whole",
        ),
        (
            {"blocks": ["a"] * 11, "subjects": [0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1], "within": True},
            "the block 'a' of the subject .* is in several groups",
        ),
        (
            {"subjects": [0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1], "within": True, "strata": [0, 1] * 5 + [0]},
            "a condition of the subject .* is in several strata",
        ),
    ],
)
@pytest.mark.parametrize("test", ["group_test", "scale_test", "energy_test"])
def test_bad_blocks_are_one_clear_line(test, options, message):
    given = {name: value if name == "within" else whose(test, value) for name, value in options.items()}
    with pytest.raises(ao.InputError, match=message) as caught:
        TESTS[test](**given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("visit", [0.5, 1.0])
def test_the_level_holds_where_images_of_a_visit_are_alike(visit):
    rejected = sum(
        ao.group_test(d, label, subjects=subject, within=True, n_resamples=99, rng=seed, post_hoc=False).pvalue <= 0.05
        for seed in range(200)
        for d, label, subject in [visits(seed, subjects=8, images=4, visit=visit)]
    )
    assert rejected <= stats.binom.ppf(0.9995, 200, 0.05)


def test_two_cohorts_that_both_count_their_patients_are_not_called_paired():
    """The message asks first; it does not recommend within=True, which makes false alarms here."""
    with pytest.raises(ao.InputError) as caught:
        ao.group_test(distances(np.arange(12)), [0] * 6 + [1] * 6, subjects=[1, 1, 2, 2, 3, 3] * 2)
    text = str(caught.value)
    assert "are these the same persons?" in text
    assert text.index("same persons") < text.index("make names unique") < text.index("within=True")
    assert "only if every person was measured in several groups" in text


@pytest.mark.parametrize("rows", [("x", None), (None, "y")])
def test_subjects_on_one_side_only_are_refused(rows):
    sides = [
        ao.Cohort(tuple(CLOUDS[5 * k :][:5]), tuple(range(5)), {}, own and tuple("aabbc")) for k, own in enumerate(rows)
    ]
    with pytest.raises(ao.InputError, match=r"has subjects, but rows_[xy] has none"):
        ao.energy_test(*sides, progress=False)
