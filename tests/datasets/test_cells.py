"""Synthetic tissues and assays."""

from collections import Counter

import numpy as np

import anchorot as ao
from anchorot import datasets


def test_tissues_differ_only_in_which_cells_are_near_each_other():
    data = datasets.tissues(4, 90)
    assert all(Counter(space.types)["immune"] == 30 for space in data)
    energies = ao.pairwise(data, attributes="types", max_cost=0.1, progress=False)
    assert ao.group_test(energies, data.labels, rng=0).pvalue < 0.05
    assert ao.group_test(ao.pairwise(data, progress=False), data.labels, rng=0).pvalue > 0.05


def test_both_assays_see_the_same_cells():
    data = datasets.two_assays(60, noise=0.0)
    x, y = ao.from_points(data.first), ao.from_points(data.second)
    assert np.corrcoef(x.cost.ravel(), y.cost.ravel())[0, 1] > 0.9
    assert set(data.branch.tolist()) == {0, 1, 2}
