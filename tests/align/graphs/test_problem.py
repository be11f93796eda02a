"""Two networks, and what a matching of them is worth."""

import itertools

import numpy as np
import pytest

from anchorot.align.graphs.problem import Problem
from tests.align.graphs.networks import problem


@pytest.mark.parametrize("options", [{}, {"directed": True}, {"weighted": True}])
@pytest.mark.parametrize("sizes", [(8, 8), (6, 9)])
def test_changes_by_exchange_are_those_of_the_value(options, sizes):
    rng = np.random.default_rng(0)
    task = problem(2, sizes, share=0.4, **options)
    linear = rng.random(sizes).astype(np.float32)
    kinds = tuple(np.arange(size) % 2 for size in sizes)
    for one in (task, Problem(task.first, task.second, linear, kinds, task.is_directed)):
        matches = np.arange(sizes[0]) if one.kinds else rng.permutation(sizes[1])[: sizes[0]]
        change = one.changes_by_swap(matches)
        for i, j in itertools.product(*map(range, sizes)):
            moved = matches.copy()
            if j in matches:
                moved[list(matches).index(j)] = matches[i]
            moved[i] = j
            is_forbidden = one.forbidden is not None and one.forbidden[np.arange(sizes[0]), moved].any()
            gain = -np.inf if is_forbidden else one.value(moved) - one.value(matches)
            assert change[i, j] == pytest.approx(gain, abs=2e-4)
