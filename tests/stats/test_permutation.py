"""The permutation test, whatever its statistic."""

import numpy as np

from anchorot.stats.exchange import exchange_of
from anchorot.stats.permutation import permutation_test


def test_values_equal_but_for_rounding_are_ties():
    rng = np.random.default_rng(0)
    found = permutation_test(
        exchange_of(np.repeat(np.array([0, 1], np.uint8), [9, 9])),
        lambda drawn: np.ones(1) if len(drawn) == 1 else 1 - 1e-15 * rng.uniform(size=len(drawn)),
        n_resamples=99,
        rng=0,
        stop_after=None,
        progress=False,
    )
    assert (found.null < found.statistic).any()
    assert found.pvalue == 1
