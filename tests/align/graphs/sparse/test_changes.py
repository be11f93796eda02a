"""Exchanges of two nodes' matches, computed from the pairs that edges reach, against those of all pairs."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from anchorot.align.graphs import refine
from anchorot.align.graphs.problem import Problem
from anchorot.align.graphs.score import dense_margins_and_ties, sparse_margins_and_ties
from anchorot.align.graphs.sparse import changes
from anchorot.align.graphs.sparse.refine import best_exchanges
from tests.align.graphs.networks import problem


def tasks():
    for options in ({}, {"directed": True}, {"weighted": True}, {"directed": True, "weighted": True}):
        for sizes, share in (((20, 20), 0.3), ((25, 40), 0.08), ((30, 30), 0.02), ((3, 9), 0.5)):
            plain = problem(3, sizes, share=share, **options)
            rng = np.random.default_rng(1)
            yield plain, rng.permutation(sizes[1])[: sizes[0]]
            kinds = tuple(np.arange(size) % 3 for size in sizes)
            yield Problem(plain.first, plain.second, None, kinds, plain.is_directed), np.arange(sizes[0])


@pytest.mark.parametrize("block", [1, 50, changes.BLOCK_ENTRIES])
def test_margins_and_ties_are_those_of_all_pairs(block, monkeypatch):
    monkeypatch.setattr(changes, "BLOCK_ENTRIES", block)
    for task, matches in tasks():
        common = task.common(matches)
        margin, ties = sparse_margins_and_ties(task, matches, common)
        wanted, same = dense_margins_and_ties(task, matches, common)
        np.testing.assert_allclose(margin, wanted, atol=1e-5)
        np.testing.assert_array_equal(ties, same)


def test_the_best_exchanges_are_those_of_all_pairs():
    for task, matches in tasks():
        gain, wanted = best_exchanges(task, matches)[1], refine.best_exchanges(task, matches)[1]
        np.testing.assert_allclose(gain, wanted, atol=1e-5)


def test_loops_count_in_exchanges():
    rng = np.random.default_rng(2)
    sides = [task.toarray() for task in (problem(4).first, problem(4).second)]
    for side in sides:
        np.fill_diagonal(side, rng.random(20))
    task = Problem(*(csr_array(side) for side in sides))
    target, gain = best_exchanges(task, np.arange(20))
    for i in np.flatnonzero(gain > 0):
        moved = np.arange(20)
        moved[[i, target[i]]] = target[i], i
        assert task.value(moved) - task.value(np.arange(20)) == pytest.approx(gain[i], rel=1e-4, abs=1e-4)
