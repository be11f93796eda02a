"""Real data that ship with the package or an extra."""

import sys

import numpy as np
import pytest

import anchorot as ao
from anchorot import datasets


def test_a_digit_weighs_as_much_as_its_ink():
    sklearn = pytest.importorskip("sklearn.datasets")
    (space,), (name,) = (datasets.digits([7], 1)).spaces, datasets.digits([7], 1).names
    image = sklearn.load_digits().images[int(name.split()[-1])]
    assert space.n == (image > 0).sum()
    np.testing.assert_allclose(np.sort(space.weights), np.sort(image[image > 0]) / image.sum())


def test_more_digits_than_there_are_is_one_line():
    pytest.importorskip("sklearn")
    with pytest.raises(ao.InputError, match="there are 178 images of the digit 0, but 999 are requested"):
        datasets.digits([0], 999)


@pytest.mark.parametrize(
    ("load", "package", "extra"), [("social_networks", "networkx", "graph"), ("digits", "sklearn.datasets", "learn")]
)
def test_a_missing_extra_names_itself(monkeypatch, load, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ao.MissingExtraError, match=rf"pip install 'anchorot\[{extra}\]'"):
        getattr(datasets, load)()


def test_trees_of_neurons_are_measured_along_their_branches():
    for space in (*datasets.neurons(60), *datasets.grown_neurons(1, 60)):
        geometry = space.geometry
        straight = np.linalg.norm(
            geometry.positions[geometry.index][:, None] - geometry.positions[geometry.index], axis=2
        )
        assert (space.cost >= straight - 1e-6).all()
        assert len(geometry.edges) == geometry.n_sites - 1
