"""Warnings where groups differ in fields of view, densities or compositions."""

import warnings

import numpy as np
import pytest
from scipy import stats

import anchorot as ao
from anchorot.anchors.fields import Field
from anchorot.stats.exchangeability import exchange_of
from anchorot.stats.field_views import difference_pvalue, note_unlike_fields


def noted(fields, exchange, metric="ae", has_types=True):
    """The warning, or an empty text."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        note_unlike_fields(fields, exchange, ("ill", "well"), metric, has_types=has_types)
    assert len(found) <= 1
    return str(found[0].message) if found else ""


LABELS = np.repeat([0, 1], 12)
SUBJECTS = np.arange(24) // 3


def fields_of(rng, areas=1.0, density=100.0, share=0.3):
    areas = np.broadcast_to(areas, 24) * np.exp(0.05 * rng.normal(size=24))
    numbers = np.round(areas * density * np.exp(0.05 * rng.normal(size=24))).astype(int)
    first = rng.binomial(numbers, share)
    return [Field(a, np.nan, {"A": int(k), "B": int(n - k)}) for a, n, k in zip(areas, numbers, first, strict=True)]


def test_tests_are_those_of_textbooks():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=9), np.repeat([0, 1], [4, 5])
    plain = exchange_of(labels)
    assert difference_pvalue(values, plain) == pytest.approx(stats.ttest_ind(values[:4], values[4:]).pvalue)
    pairs = exchange_of(np.tile([0, 1], 6), subjects=np.repeat(np.arange(6), 2), within=True)
    both = rng.normal(size=12)
    assert difference_pvalue(both, pairs) == pytest.approx(stats.ttest_rel(both[::2], both[1::2]).pvalue)
    three = exchange_of(np.repeat([0, 1, 2], 4))
    assert difference_pvalue(both, three) == pytest.approx(stats.f_oneway(*both.reshape(3, 4)).pvalue)
    assert difference_pvalue(np.ones(12), three) == 1
    assert difference_pvalue(np.arange(2.0), exchange_of(np.array([0, 1]))) == 1  # nothing is left to estimate from
    assert difference_pvalue(np.repeat([1.0, 2.0], 3), exchange_of(np.repeat([0, 1], 3))) == 0


def test_subjects_with_unequal_numbers_of_visits_are_compared_by_a_linear_model():
    """An F-test of nested models, with a column for each subject and one for the group."""
    counts = (2, 3, 4, 2, 3)
    subject, labels = np.repeat(np.arange(5), counts), np.concatenate([np.arange(n) % 2 for n in counts])
    exchange = exchange_of(labels, subjects=subject, within=True, blocks=np.arange(14))
    values = np.random.default_rng(1).normal(size=14)
    small = (subject[:, None] == np.arange(5)).astype(float)
    large = np.column_stack([small, labels])
    left = [np.linalg.lstsq(design, values, rcond=None)[1][0] for design in (small, large)]
    expected = stats.f.sf((left[0] - left[1]) / (left[1] / 8), 1, 8)
    assert difference_pvalue(values, exchange) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"areas": np.where(LABELS, 1.5, 1.0)}, "fields of view (1.5"),
        ({"density": np.where(LABELS, 100, 150)}, "densities (1.5"),
        ({"share": np.where(LABELS, 0.3, 0.5)}, "composition ('A' "),
    ],
)
def test_what_differs_is_named(change, says):
    exchange = exchange_of(LABELS, subjects=SUBJECTS)
    fields = fields_of(np.random.default_rng(1), **change)
    text = noted(fields, exchange)
    assert says.split()[0] in text
    assert "'well'" in text
    assert "'ill'" in text
    assert "metric='arrangement' compares arrangement alone" in text
    assert noted(fields_of(np.random.default_rng(1)), exchange) == ""
    by_arrangement = noted(fields, exchange, "arrangement")
    assert bool(by_arrangement) == ("areas" in change)


def test_types_are_looked_at_only_if_they_are_compared():
    exchange = exchange_of(LABELS, subjects=SUBJECTS)
    assert noted(fields_of(np.random.default_rng(1), share=np.where(LABELS, 0.3, 0.5)), exchange, has_types=False) == ""


def test_spaces_without_areas_are_not_looked_at():
    exchange = exchange_of(LABELS, subjects=SUBJECTS)
    assert noted([None, *fields_of(np.random.default_rng(1), areas=np.where(LABELS, 2, 1))[1:]], exchange) == ""


def test_false_alarms_are_as_rare_as_the_level_of_each_check_says():
    exchange = exchange_of(LABELS, subjects=SUBJECTS)
    rng = np.random.default_rng(2)
    alarms = np.zeros(3)
    for _ in range(300):
        own = np.exp(0.2 * rng.normal(size=(3, 8)))[:, SUBJECTS]
        text = noted(fields_of(rng, own[0], 100 * own[1], np.clip(0.3 * own[2], 0, 1)), exchange)
        alarms += [name in text for name in ("fields of view (", "densities (", "composition (")]
    assert (alarms / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)).all()


def test_tests_of_groups_warn():
    rng = np.random.default_rng(3)
    spaces = [
        ao.from_points(side * rng.random((20, 2)), types=["A", "B"] * 10, area=side**2)
        for side in [1.0] * 6 + [2.0] * 6
    ]
    labels, options = [0] * 6 + [1] * 6, {"rng": 0, "progress": False}
    for call in (
        lambda: ao.scale_test(spaces, labels, [0.1, 0.3], attributes="types", **options),
        lambda: ao.energy_test(spaces[:6], spaces[6:], **options),
    ):
        with pytest.warns(ao.InputWarning, match=r"groups differ in fields of view \(4 times as large in"):
            call()
