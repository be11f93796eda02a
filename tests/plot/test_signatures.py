"""Pictures of signatures."""

import numpy as np
import pytest

import anchorot as ao
from tests.plot.fresh import drawn, plot
from tests.strategies import clouds

[X] = clouds((12,), weighted=True)


def test_a_picture_shows_the_averages():
    ax = drawn(plot.signature(ao.signature(X, (6, 5)), label="cm"))
    np.testing.assert_allclose(ax.images[0].get_array(), ao.signature(X, (6, 5)) * np.sqrt(30))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("share of the points s", "level t")


def test_differences_have_zero_in_the_middle():
    smaller = ao.signature(ao.Space(0.5 * X.cost, X.weights))
    ax = drawn(plot.signature(smaller - ao.signature(X)))
    low, high = ax.images[0].get_clim()
    assert low == -high < 0


def test_vectors_are_refused():
    with pytest.raises(ao.InputError, match=r"values has shape \(4096,\)"):
        plot.signature(ao.signature(X).ravel())
