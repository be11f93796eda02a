"""Nearest neighbours as a classifier."""

import numpy as np
import pytest

import anchorot as ao
from anchorot.estimators import AnchorNeighborsClassifier
from tests.estimators.clouds import ENERGIES, MORE, MORE_Y, X, Y

# -- neighbours ----------------------------------------------------------------------------------------------------


def test_neighbours_are_those_of_pairwise():
    model = AnchorNeighborsClassifier(3, robust=True).fit(X, Y)
    values, numbers = model.kneighbors(MORE)
    energies = ao.pairwise(MORE, X, robust=True, progress=False)
    np.testing.assert_array_equal(numbers, np.argsort(energies, axis=1)[:, :3])
    np.testing.assert_array_equal(values, np.sort(energies, axis=1)[:, :3])
    assert model.kneighbors(MORE, 5)[1].shape == (10, 5)
    votes = (Y[numbers][:, :, None] == model.classes_).mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(MORE), votes)
    assert (model.predict(MORE) == model.classes_[votes.argmax(axis=1)]).all()
    assert model.score(MORE, MORE_Y) == (model.predict(MORE) == MORE_Y).mean()


@pytest.mark.parametrize("metric", ["ae", "precomputed"])
def test_training_spaces_are_not_their_own_neighbours(metric):
    model = AnchorNeighborsClassifier(2, metric=metric).fit(X if metric == "ae" else ENERGIES, Y)
    others = ENERGIES + np.diag(np.full(len(X), np.inf))
    values, numbers = model.kneighbors()
    np.testing.assert_array_equal(numbers, np.argsort(others, axis=1)[:, :2])
    np.testing.assert_array_equal(values, np.sort(others, axis=1)[:, :2])
    assert model.kneighbors(n_neighbors=4)[0].shape == (len(X), 4)


@pytest.mark.parametrize(("metric", "options"), [("aw", {"epsilon": 0.1}), ("gw", {}), ("slb", {"p": 1}), ("tlb", {})])
def test_all_metrics_find_neighbours(metric, options):
    if metric in ("gw", "tlb"):
        pytest.importorskip("ot")
    model = AnchorNeighborsClassifier(metric=metric, n_jobs=1, **options).fit(X[:4], Y[:4])
    expected = ao.pairwise(MORE[:2], X[:4], metric, n_jobs=1, progress=False, **options).min(axis=1)
    np.testing.assert_array_equal(model.kneighbors(MORE[:2])[0][:, 0], expected)


def test_distance_weights_let_the_nearer_win():
    near, far = X[0], X[1]
    queries, labels = [near], ["near", "far", "far"]
    training = [ao.Space(near.cost * 1.01), far, far]
    assert AnchorNeighborsClassifier(3).fit(training, labels).predict(queries) == ["far"]
    assert AnchorNeighborsClassifier(3, "distance").fit(training, labels).predict(queries) == ["near"]
