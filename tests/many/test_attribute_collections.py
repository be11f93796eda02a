"""Attributes and max_cost wherever many spaces are compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.svm import SVC

import anchorot as ao
from anchorot.estimators import AnchorEmbedding, AnchorKernel, AnchorNeighborsClassifier, AnchorProcessKernel
from tests.anchors.test_attribute_features import largest, typed_spaces

FEW = settings(max_examples=15)
COLLECTIONS = st.lists(typed_spaces(kinds="abcd"), min_size=2, max_size=4)


def tissue(rng, mixed, n=30):
    """Positions in a square; two types, mixed or left and right."""
    points = rng.uniform(size=(n, 2))
    types = rng.permutation(n) % 2 if mixed else (points[:, 0] > np.median(points[:, 0])).astype(int)
    return ao.Space(ao.from_points(points).cost, types=np.array(["T", "B"])[types], features=points)


def tissues(count=6, seed=0):
    rng = np.random.default_rng(seed)
    return [tissue(rng, mixed) for mixed in [True] * count + [False] * count]


@FEW
@given(COLLECTIONS, st.sampled_from(["types", "features", None]), st.booleans())
def test_pairwise_values_are_those_of_each_pair(found, attributes, robust):
    max_cost = 1.0 if robust else largest(*found)
    phi = ao.anchors.feature_map(found) if attributes == "features" else attributes
    values = ao.pairwise(
        found, attributes=attributes, max_cost=None if attributes else max_cost, robust=robust, n_jobs=1
    )
    if attributes and robust:
        max_cost = max(float(x.ranked().cost[np.ix_(x.weights > 0, x.weights > 0)].max()) for x in found)
    for i, x in enumerate(found):
        for j, y in enumerate(found[i:], i):
            alone = ao.anchor_energy(x, y, robust=robust, attributes=phi, max_cost=max_cost)
            assert values[i, j] == values[j, i]
            assert alone == pytest.approx(values[i, j], rel=0, abs=1e-12 * max_cost if i == j else 0)


@FEW
@given(COLLECTIONS, st.sampled_from(["types", "features", None]))
def test_embedding_bounds_the_energy_from_below(found, attributes):
    max_cost = largest(*found)
    vectors = ao.embed(found, (3, 4), attributes=attributes, max_cost=max_cost).astype(np.float64)
    energies = ao.pairwise(found, attributes=attributes, max_cost=max_cost, n_jobs=1)
    bounds = 2 * ((vectors[:, None] - vectors) ** 2).sum(axis=2)
    size = max(1.0, float(np.abs(vectors).max()) ** 2)
    assert (bounds <= energies * (1 + 1e-6) + 1e-5 * size).all()  # float32 rounds either


def test_finer_grids_come_near_the_energy():
    found = tissues(2)
    for attributes in ("types", "features"):
        energies = ao.pairwise(found, attributes=attributes)
        vectors = ao.embed(found, (64, 64), attributes=attributes).astype(np.float64)
        bounds = 2 * ((vectors[:, None] - vectors) ** 2).sum(axis=2)
        assert (bounds >= 0.9 * energies - 1e-5).all()


def test_files_processes_and_checkpoints_support_attributes(tmp_path):
    found = tissues(2)
    paths = [tmp_path / f"{k}.npz" for k in range(len(found))]
    for space, path in zip(found, paths, strict=True):
        ao.write(space, path)
    values = ao.pairwise(found, attributes="types")
    again = ao.pairwise(paths, attributes="types", backend="processes", n_jobs=2, checkpoint=tmp_path / "tiles")
    np.testing.assert_allclose(again, values, rtol=1e-12)
    assert (ao.pairwise(paths, attributes="types", checkpoint=tmp_path / "tiles") == again).all()
    with pytest.raises(ao.InputError, match=r"another run: max_cost is .* there and 0\.5 here"):
        ao.pairwise(paths, attributes="types", max_cost=0.5, checkpoint=tmp_path / "tiles")


def test_a_space_without_types_is_named():
    found = [*tissues(1), ao.Space([[0, 1], [1, 0]])]
    for call in (
        lambda: ao.pairwise(found, attributes="types"),
        lambda: ao.pairwise(found, attributes="types", max_cost=1),
        lambda: ao.embed(found, attributes="types"),
    ):
        with pytest.raises(
            ao.InputError, match=r"spaces\[2\].* has no types, but attributes='types' needs one for each"
        ):
            call()
    values = None
    with pytest.warns(ao.InputWarning, match="1 of 3 spaces cannot be used"):
        values = ao.pairwise(found, attributes="types", errors="skip")
    assert np.isfinite(values[:2, :2]).all()


@pytest.mark.parametrize("metric", ["aw", "gw", "slb"])
def test_other_metrics_refuse_attributes(metric):
    with pytest.raises(ao.InputError, match="attributes and max_cost work with metrics 'ae' and 'saw'"):
        ao.pairwise(tissues(1), metric=metric, attributes="types")


@pytest.mark.parametrize("attributes", ["types", "features"])
def test_estimators_learn_attributes_from_their_training_spaces(attributes):
    found = tissues()
    train, test = found[::2], found[1::2]
    labels = np.repeat(["mixed", "apart"], 3)
    energies = ao.pairwise(train, attributes=attributes)
    kernel = AnchorKernel(attributes=attributes)
    np.testing.assert_allclose(kernel.fit_transform(train), np.exp(-kernel.gamma_ * energies))
    assert clone(kernel).attributes == attributes
    attribute_rule = kernel.attribute_rule_
    expected = np.exp(-kernel.gamma_ * ao.pairwise(test, train, attributes=attribute_rule))
    np.testing.assert_allclose(kernel.transform(test), expected)
    model = SVC(kernel="precomputed").fit(kernel.transform(train), labels)
    neighbours = AnchorNeighborsClassifier(attributes=attributes).fit(train, labels)
    assert (neighbours.predict(train) == labels).all()
    assert neighbours.kneighbors()[0].shape == (6, 1)
    if attributes == "types":
        assert (model.predict(kernel.transform(test)) == labels).all()
        assert (neighbours.predict(test) == labels).all()
    vectors = AnchorEmbedding((4, 4), attributes=attributes).fit(train)
    assert vectors.transform(test).shape == (6, len(vectors.get_feature_names_out()))


def test_types_that_training_lacks_are_left_out_of_vectors():
    found = tissues(1)
    embedding = AnchorEmbedding((4, 4), attributes="types").fit(found)
    odd = ao.Space(found[0].cost, types=["new"] * found[0].n)
    assert not embedding.transform([odd]).any()


def test_process_kernels_support_fixed_attributes():
    found = tissues(1)
    values = AnchorProcessKernel(attributes="types", max_cost=1.5)(found)
    np.testing.assert_allclose(values, np.exp(-ao.pairwise(found, attributes="types", max_cost=1.5)))
    with pytest.raises(ao.InputError, match="needs a fixed max_cost"):
        AnchorProcessKernel(attributes="types")(found)
