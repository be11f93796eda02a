"""The permutation test, whatever its statistic."""

import numpy as np

from anchorot.stats.exchangeability import exchange_of
from anchorot.stats.permutation import permutation_test


def test_values_equal_but_for_rounding_are_ties():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.array([0, 1], np.uint8), [9, 9])
    found = permutation_test(
        exchange_of(labels),
        lambda drawn: np.where((drawn == labels).all(axis=1), 1.0, 1 - 1e-15 * rng.uniform(size=len(drawn))),
        n_resamples=99,
        rng=0,
        stop_after=None,
        progress=False,
    )
    assert (found.null < found.statistic).any()
    assert found.pvalue == 1


def test_a_large_statistic_makes_no_others_equal():
    labels = np.repeat(np.array([0, 1], np.uint8), [4, 4])
    values = np.array([3.0, 1e14, 2.0, *[1.0] * 32])  # of all 35 divisions
    found = permutation_test(exchange_of(labels), lambda drawn: values, n_resamples=99, rng=0, progress=False)
    assert found.pvalue == 2 / 35


def test_the_labels_given_are_asked_for_once_and_with_the_first_draws():
    asked = []
    labels = np.repeat(np.array([0, 1], np.uint8), [9, 9])
    found = permutation_test(
        exchange_of(labels),
        lambda drawn: asked.append(drawn) or np.arange(len(drawn), dtype=float),
        n_resamples=600,
        rng=0,
        progress=False,
    )
    assert [len(drawn) for drawn in asked] == [256, 256, 89]
    assert (asked[0][0] == labels).all()
    in_one_go = exchange_of(labels).draw(600, np.random.default_rng(0))
    np.testing.assert_array_equal(np.concatenate(asked)[1:], in_one_go)
    assert found.statistic == 0
    assert len(found.null) == 600


def test_labels_with_a_single_permutation_keep_their_statistic():
    exchange = exchange_of(np.array([0, 1], np.uint8), strata=["a", "b"])
    found = permutation_test(exchange, lambda drawn: np.full(len(drawn), 3.0), n_resamples=9, rng=0, progress=False)
    assert (found.statistic, found.pvalue, len(found.null)) == (3.0, 1.0, 0)
