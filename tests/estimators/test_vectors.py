"""Spaces as vectors for scikit-learn."""

import numpy as np

import anchorot as ao
from anchorot.estimators import AnchorEmbedding, AnchorSignature
from tests.estimators.clouds import MORE, X

# -- embedding -----------------------------------------------------------------------------------------------------


def test_vectors_are_those_of_embed_over_the_training_range():
    embedding = AnchorEmbedding(grid=(5, 6)).fit(X)
    grid = ao.anchors.Grid.around(X, (5, 6))
    assert embedding.grid_ == grid
    found = embedding.transform(MORE)
    np.testing.assert_array_equal(found, ao.embed(MORE, grid))
    assert found.dtype == np.float32
    assert embedding.get_feature_names_out()[[0, -1]].tolist() == ["anchorembedding0", "anchorembedding29"]


def test_ends_of_the_range_can_be_given():
    assert AnchorEmbedding(low=-1.0, high=9.0).fit(X).grid_ == ao.anchors.Grid((32, 32), -1.0, 9.0)
    assert AnchorEmbedding(high=9.0).fit(X).grid_ == ao.anchors.Grid((32, 32), 0.0, 9.0)
    robust = AnchorEmbedding(robust=True).fit(X)
    assert robust.grid_ == ao.anchors.Grid((32, 32), 0.0, 1.0)
    np.testing.assert_array_equal(robust.transform(MORE), ao.embed(MORE, robust=True))


# -- signatures ----------------------------------------------------------------------------------------------------


def test_signatures_are_those_of_the_function():
    model = AnchorSignature(shape=(5, 6), max_cost=2.0).fit(X)
    found = model.transform(MORE)
    np.testing.assert_array_equal(found, [ao.signature(x, (5, 6), max_cost=2.0).ravel() for x in MORE])
    assert model.get_feature_names_out()[[0, -1]].tolist() == ["anchorsignature0", "anchorsignature29"]
