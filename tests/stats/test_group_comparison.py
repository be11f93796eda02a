"""Groups compared on a matrix of distances: options, memory, and what a result says."""

import tracemalloc

import numpy as np
import pytest

import anchorot as ao
from anchorot.stats import groups as groups_module
from anchorot.stats.dispersion import Units
from anchorot.stats.group_comparison import within_ratios
from tests.stats.designs import points_and_groups


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power": 0}, "power must be positive, but got 0"),
        ({"power": -1}, "power must"),
        ({"welch": True, "within": True}, "welch=True compares independent subjects"),
        ({"rng": "x"}, "rng"),
    ],
)
def test_options_are_checked_before_distances_are_computed(monkeypatch, options, message):
    monkeypatch.setattr(groups_module, "pairwise", lambda *_, **__: pytest.fail("distances were computed"))
    spaces = tuple(ao.Space([[0.0, k], [k, 0.0]]) for k in range(1, 5))
    cohort = ao.Cohort(spaces, tuple("abcd"), {})
    with pytest.raises(ao.InputError, match=message):
        ao.group_test(cohort, list("xxyy"), **options)


def test_many_groups_need_no_more_memory_than_labels_allow():
    """More than 255 groups: their numbers no longer fit a byte."""
    labels = np.repeat(np.arange(300), 2)
    distances = 1.0 - np.equal.outer(labels, labels)
    found = ao.group_test(distances, labels, n_resamples=9, rng=0, post_hoc=False)
    assert found.statistic == np.inf
    assert within_ratios(Units.of(distances, np.arange(600)).sums(), labels[None])[0] == 0


@pytest.mark.parametrize("options", [{}, {"welch": True}, {"power": 0.5}], ids=["plain", "welch", "power"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_a_test_needs_24_bytes_per_distance(options, is_nested):
    """The copy that is checked, and at most two matrices of units."""
    count = 2000
    labels = np.arange(count) // (count // 2)
    distances = (labels[:, None] != labels) + 1.0
    subjects = np.where(np.arange(count) < 1800, np.arange(count), 1800 + np.arange(count) // 3) if is_nested else None
    labels = labels if subjects is None else (subjects >= 900).astype(int)
    tracemalloc.start()
    ao.group_test(distances, labels, subjects=subjects, n_resamples=9, rng=0, progress=False, **options)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most <= 24 * count**2


@pytest.mark.parametrize("subjects", [None, [1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 12, 13, 14, 15, 16, 17]])
def test_a_result_fits_on_six_lines(subjects):
    distances, labels = points_and_groups(2, shifts=(0.0, 0.0, 3.0))
    labels = labels if subjects is None else np.array(subjects) % 3
    shown = repr(ao.group_test(distances, labels, subjects=subjects, rng=0)).splitlines()
    assert len(shown) <= 6
    assert all(len(line) <= 120 for line in shown)
    assert "p = " in shown[0]
    assert any("95 % interval" in line for line in shown)
    assert any(("items" if subjects is None else "subjects") in line for line in shown)
