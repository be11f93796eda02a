"""Distances of a cohort know whose they are, through all that keeps rows and columns."""

import copy
import pickle

import numpy as np
import pytest

import anchorot as ao
from anchorot.many.cohort_distances import CohortDistances


def cohort(subject="patient", samples=12):
    rng = np.random.default_rng(0)
    rows = {name: [] for name in ("image", "patient", "stage", "slide", "x", "y")}
    for image in range(samples):
        for _ in range(8):
            values = (image, f"p{image // 2}", "ab"[image // 2 % 2], image // 6, *rng.random(2))
            for name, value in zip(rows, values, strict=True):
                rows[name].append(value)
    return ao.from_cohort(rows, sample="image", points=["x", "y"], subject=subject)


QUIET = {"rng": 0, "progress": False}


def test_all_pairs_of_a_cohort_carry_its_samples():
    own = cohort()
    d = ao.pairwise(own, progress=False)
    assert isinstance(d, CohortDistances)
    assert isinstance(d, np.ndarray)
    assert np.array_equal(np.asarray(d), ao.pairwise(list(own), progress=False))
    assert (d.samples, d.subjects, d.metadata) == (own.samples, own.subjects, own.metadata)
    assert type(ao.pairwise(list(own), progress=False)) is np.ndarray
    assert type(ao.pairwise(own, own, progress=False)) is np.ndarray


def test_tests_of_groups_use_what_is_carried():
    own = cohort()
    d = ao.pairwise(own, progress=False)
    found = ao.group_test(d, "stage", **QUIET)
    assert (found.unit, found.n_assignments) == ("subjects", 10)
    assert found.pvalue == ao.group_test(own, "stage", **QUIET).pvalue
    assert ao.group_test(d, "stage", strata="slide", **QUIET).unit == "subjects within strata"
    assert ao.group_test(d, "stage", subjects=range(12), **QUIET).n_assignments == 462
    with pytest.raises(ao.InputError, match="'sex' is not a column of the cohort's metadata"):
        ao.group_test(d, "sex", **QUIET)


KEPT = np.array([0, 1, 4, 5, 6, 7, 11])


@pytest.mark.parametrize(
    "select",
    [
        lambda d: d[np.ix_(KEPT, KEPT)],
        lambda d: d[KEPT][:, KEPT],
        lambda d: d[:, KEPT][KEPT],
        lambda d: d[np.isin(np.arange(12), KEPT)][:, KEPT.tolist()],
        lambda d: d[np.ix_(np.isin(np.arange(12), KEPT), KEPT)],
        lambda d: copy.deepcopy(d)[KEPT][:, KEPT].copy(),
        lambda d: pickle.loads(pickle.dumps(d[KEPT]))[:, KEPT],
        lambda d: np.sqrt(d[np.ix_(KEPT, KEPT)]) ** 2,
        lambda d: (2 * d + d.T - d)[np.ix_(KEPT, KEPT)] / 2,
        lambda d: np.round(d, 15)[KEPT][:, KEPT].round(15),
    ],
)
def test_selections_keep_their_samples(select):
    d = ao.pairwise(cohort(), progress=False)
    part = select(d)
    assert np.asarray(part) == pytest.approx(np.asarray(d)[np.ix_(KEPT, KEPT)])
    assert part.samples == tuple(KEPT.tolist())
    assert part.subjects == tuple(f"p{image // 2}" for image in KEPT)
    assert part.metadata["stage"] == ["ab"[image // 2 % 2] for image in KEPT]


def test_another_order_is_another_order_of_samples():
    d = ao.pairwise(cohort(), progress=False)
    back = d[::-1, ::-1]
    assert back.samples == tuple(range(11, -1, -1))
    assert d[::-1].samples == ()  # rows and columns are of different samples
    assert ao.group_test(back, "stage", **QUIET).pvalue == ao.group_test(d, "stage", **QUIET).pvalue


@pytest.mark.parametrize(
    "lose",
    [
        lambda d: d.reshape(12, 12),
        lambda d: np.roll(d, (2, 2), (0, 1)),
        lambda d: np.where(d > 0, d, 0),
        lambda d: d.T,
        lambda d: np.round(d.T, 15),
    ],
)
def test_subjects_that_are_lost_are_noted(lose):
    lost = lose(ao.pairwise(cohort(), progress=False))
    labels = np.repeat([0, 1], 6)
    with pytest.warns(ao.InputWarning, match="whose subjects an operation dropped.* pass subjects="):
        assert ao.group_test(lost, labels, **QUIET).unit == "items"
    assert ao.group_test(lost, labels, subjects=np.arange(12) // 2, **QUIET).unit == "subjects"


def test_what_is_no_matrix_is_a_plain_array():
    d = ao.pairwise(cohort(), progress=False)
    assert {type(part) for part in (d[0], d[d > 0], d[KEPT, KEPT], d.sum(axis=0), d < 1)} == {np.ndarray}
    assert isinstance(d[0, 1], float)
    assert isinstance(d.max(), float)


def test_in_place_work_keeps_the_samples():
    d = ao.pairwise(cohort(), progress=False)
    twin = d.copy()
    twin += 1
    np.fill_diagonal(twin, 0)
    assert twin.subjects == d.subjects
    assert twin[0, 1] == d[0, 1] + 1


def test_the_largest_cost_that_was_compared_is_known_and_printed():
    d = ao.pairwise(cohort(), max_cost=0.25, progress=False)
    found = ao.group_test(d[2:, 2:], "stage", **QUIET)
    assert d.max_cost == found.max_cost == found.to_dict()["max_cost"] == 0.25
    assert "of costs up to 0.25" in repr(found)
    plain = ao.group_test(ao.pairwise(cohort(), progress=False), "stage", **QUIET)
    assert plain.max_cost is None
    assert "max_cost" not in plain.to_dict()


def test_a_given_array_is_filled_and_knows_the_samples():
    out = np.empty((12, 12))
    d = ao.pairwise(cohort(), out=out, progress=False)
    assert d.subjects is not None
    assert np.shares_memory(d, out)


def test_a_cohort_without_subjects_is_noted_as_before():
    d = ao.pairwise(cohort(subject=None), progress=False)
    with pytest.warns(ao.InputWarning, match="12 samples .* 'patient' has only 6 values"):
        assert ao.group_test(d, "stage", **QUIET).unit == "items"
