"""Pictures and the map."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from anchorot.mds import classical_mds


def test_the_map_keeps_distances_that_lie_in_a_plane():
    distances = squareform(pdist(np.random.default_rng(0).normal(size=(7, 2))))
    placed = classical_mds(distances**2)
    np.testing.assert_allclose(squareform(pdist(placed)), distances, atol=1e-10)


@pytest.mark.parametrize("count", [1, 2])
def test_the_map_of_very_few_spaces(count):
    assert classical_mds(np.zeros((count, count))).shape == (count, 2)


def test_plots_draw_on_the_axes_given_and_return_it():
    pytest.importorskip("matplotlib")
    from anchorot.plot import distance_map, distance_matrix, new_figure

    distances = squareform(pdist(np.random.default_rng(0).normal(size=(5, 3))))
    groups = ["a", "a", "b", "b", "c"]
    left, right = new_figure(6, 3).subplots(1, 2)
    assert distance_matrix(distances, groups, ax=left) is left
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", "b", "c"]
    assert distance_map(distances, groups, ax=right) is right
    assert len(right.collections) == 3
