"""Indexes for each metric: the results of all pairs, with few exact comparisons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.bounded import BoundedMetric
from anchorot.anchors.encoder import Directions, Encoder, details, vector_length
from anchorot.anchors.grid import Grid
from anchorot.search.comparison import comparison_of
from anchorot.search.query import AbsoluteVectorIndex
from tests.search.expected import pairs
from tests.search.index_fuzz import Parts
from tests.strategies import clouds, examples, spaces

pytest.importorskip("ot", reason="exact transport with weights needs POT")

SLICED = [("saw", 1), ("saw", 2), ("aw", 1), ("aw", 2)]
EACH = pytest.mark.parametrize(("metric", "p"), [("ae", 1), *SLICED])
EACH_SLICED = pytest.mark.parametrize(("metric", "p"), SLICED)


def of_all(queries, many, metric, p, k, **options):
    """The nearest by comparing all."""
    exact = {"epsilon": 0} if metric == "aw" else {}
    matrix = ao.pairwise(queries, many, metric=metric, p=p, progress=False, n_jobs=1, **exact, **options)
    return [sorted(zip(row.tolist(), range(len(many)), strict=True))[:k] for row in matrix]


@EACH
@examples(25)
@given(many=st.lists(spaces(), min_size=1, max_size=9), x=spaces(), data=st.data())
def test_the_results_are_those_of_all_pairs(metric, p, many, x, data):
    many = [s.support() for s in many + many[:2]]  # ties
    k = data.draw(st.integers(1, len(many)))
    robust = data.draw(st.booleans())
    index = ao.SearchIndex.build(many, metric=metric, p=p, grid=(2, 3), robust=robust)
    result = index.query(x.support(), k)
    [right] = of_all([x.support()], many, metric, p, len(many), robust=robust)
    assert result.value.tolist() == [value for value, _ in right[:k]]
    assert set(pairs(result)) <= set(right)
    assert k <= result.n_exact <= len(many)


@EACH
def test_many_are_ruled_out(metric, p, few_at_first, tmp_path):
    many, queries = clouds((12, 9, 14) * 50), clouds((11, 13), seed=1)
    index = ao.SearchIndex.build(many, metric=metric, p=p, path=tmp_path / "x")
    assert (index.metric, index.p) == (metric, p)
    assert f"metric={metric!r}, p={p}" in repr(index)
    again = ao.SearchIndex.load(tmp_path / "x")
    for x, right in zip(queries, of_all(queries, many, metric, p, 4), strict=True):
        assert pairs(index.query(x, 4)) == pairs(again.query(x, 4)) == right
        assert index.query(x, 4).n_exact < 0.5 * len(many)
        assert not index.query(x, 4, exact=False, candidates=6).exact


@pytest.mark.parametrize("p", [1, 2])
def test_sliced_bounds_leave_few_transports(p):
    many = clouds((20,) * 120)
    found = [ao.SearchIndex.build(many, metric="aw", p=p).query(x, 3) for x in clouds((20,) * 5, seed=1)]
    bound = comparison_of(BoundedMetric("saw", p)).value
    features = [ao.AnchorFeatures.of(y) for y in many]
    for x, result in zip(clouds((20,) * 5, seed=1), found, strict=True):
        own = ao.AnchorFeatures.of(x)
        possible = sum(bound(own, y) ** p <= result.value[-1] * (1 + 1e-6) for y in features)
        assert result.n_exact <= possible + 1


@EACH_SLICED
def test_an_index_changes_and_stays_exact(metric, p, tmp_path):
    many, x = clouds((8, 11) * 20), clouds((9,), seed=1)[0]
    index = ao.SearchIndex.build(many[:30], metric=metric, p=p, path=tmp_path / "x")
    index.add(many[30:])
    index.remove([3, 17])
    index.compact()
    index.save(tmp_path / "copy")
    left = [k for k in range(40) if k not in (3, 17)]
    [right] = of_all([x], [many[k] for k in left], metric, p, 5)
    for each in (index, ao.SearchIndex.load(tmp_path / "copy")):
        assert pairs(each.query(x, 5)) == [(value, left[k]) for value, k in right]


def test_types_are_compared_by_saw():
    rng = np.random.default_rng(0)

    def typed(n):
        return ao.from_points(rng.normal(size=(n, 2)), types=rng.choice(list("abc"), n).tolist())

    many, queries = [typed(n) for n in (9, 12, 15) * 10], [typed(10), typed(7)]
    index = ao.SearchIndex.build(many, metric="saw", attributes="types", max_cost=3.0, grid=(4, 4))
    right = of_all(queries, many, "saw", 1, 5, attributes="types", max_cost=3.0)
    for x, wanted in zip(queries, right, strict=True):
        found = index.query(x, 5)
        np.testing.assert_allclose(found.value, [value for value, _ in wanted], rtol=1e-10)
        assert found.index.tolist() == [k for _, k in wanted]
    odd = ao.Space(many[0].cost, types=["new", *many[0].types[1:]])
    found = index.query(odd, 1)
    limited = {"attributes": "types", "max_cost": 3.0}
    wanted = ao.sliced_anchor_wasserstein(odd, many[found.index[0]], **limited)
    assert found.value[0] == pytest.approx(wanted, rel=1e-10)
    cut = ao.SearchIndex.build(many, metric="saw", p=2, max_cost=1.0)
    assert pairs(cut.query(queries[0], 3)) == of_all(queries[:1], many, "saw", 2, 3, max_cost=1.0)[0]


# -- bounds --------------------------------------------------------------------------------------------------------


@EACH_SLICED
@examples(40)
@given(x=spaces(), y=spaces(), data=st.data())
def test_no_bound_exceeds_the_value(metric, p, x, y, data):
    bounded = BoundedMetric(metric, p)
    far = data.draw(st.sampled_from([0.0, 1e6]))
    x, y = (ao.Space(s.cost + far, s.weights).support() for s in (x, y))
    low, width = data.draw(st.floats(-4, 4)) + far, data.draw(st.floats(0.5, 20))
    grid = Grid((2, 3), low, low + width)
    sides = x, y
    if metric == "saw":
        sides = tuple(map(ao.AnchorFeatures.of, (x, y)))
    comparison = comparison_of(bounded)
    value = comparison.value(*map(comparison.prepare, sides))
    features = [ao.AnchorFeatures.of(s) for s in (x, y)]
    encoders = [Encoder(grid, bounded=bounded)]
    if not bounded.is_absolute:
        sample = np.array([details(f, grid, bounded) for f in features])
        encoders.append(Encoder(grid, Directions.learn(sample, vector_length(grid) - 1), bounded))
    for encoder in encoders:
        (a, r), (b, s) = map(encoder.encode, features)
        gap = a.astype(float) - b
        distance = np.abs(gap).sum() if bounded.is_absolute else np.linalg.norm(gap)
        assert encoder.bounds(distance - r - s) <= value
        assert np.linalg.norm(a) <= 1 + 1e-6
        assert encoder.gap(value) >= distance - r - s


def test_no_vector_within_reach_is_missed():
    rng = np.random.default_rng(0)
    array = (rng.random((5001, 64)) / 64).astype(np.float32)
    vectors = AbsoluteVectorIndex(*array[1:].shape)
    vectors.array[:] = array[1:]
    distances = np.abs(array[1:].astype(float) - array[0]).sum(axis=1)
    np.testing.assert_allclose(vectors.distances(array[0], np.arange(5000)), distances, rtol=1e-12)
    for alive in (np.ones(5000, np.bool_), np.arange(5000) % 2 == 0):
        for rank in (5, 500):
            most = np.sort(distances[alive])[rank]
            wanted = set(np.flatnonzero(alive & (distances <= most)).tolist())
            found = set(vectors.within(array[0], most, alive).tolist())
            assert wanted <= found <= set(np.flatnonzero(alive).tolist())
            places, others = vectors.nearest(array[0], rank, alive)
            assert len(places) == rank
            assert alive[places].all()
            assert distances[np.setdiff1d(np.flatnonzero(alive), places)].min() >= others
        assert vectors.nearest(array[0], 5000, alive)[1] == np.inf


# -- files and messages --------------------------------------------------------------------------------------------


def version_of(file):
    return int.from_bytes(file.read_bytes()[60:64])


def test_what_earlier_versions_would_take_for_energies_has_another_version(tmp_path):
    for metric, version in (("ae", 1), ("saw", 2), ("aw", 2)):
        ao.SearchIndex.build(clouds(3), metric=metric, path=tmp_path / metric)
        assert version_of(tmp_path / metric) == version


def test_files_that_name_no_metric_are_of_energies(tmp_path):
    file = tmp_path / "x"
    many = clouds(3)
    right = pairs(ao.SearchIndex.build(many, grid=(2, 2), path=file).query(many[0], 3))
    parts = Parts.of(file)
    parts.names = [None] * 3
    del parts.about["metric"], parts.about["p"]
    parts.write(file)
    index = ao.SearchIndex.load(file)
    assert index.metric == "ae"
    assert pairs(index.query(many[0], 3)) == right


@pytest.mark.parametrize("header", [{"metric": "gw"}, {"p": 3}, {"p": 2}, {"metric": None}, {"p": "x"}, {"p": [1]}])
def test_a_header_without_a_metric_is_refused(header, tmp_path):
    ao.SearchIndex.build(clouds(3), path=tmp_path / "x")
    Parts.of(tmp_path / "x").write(tmp_path / "x", **header)
    with pytest.raises(ao.InputError, match="its header says metric="):
        ao.SearchIndex.load(tmp_path / "x")


@pytest.mark.parametrize(("place", "value"), [(0, np.nan), (0, -0.5), (0, 0.0), (2, np.inf)])
def test_spaces_that_cannot_be_are_refused(place, value, tmp_path):
    file = tmp_path / "x"
    x, other = clouds((2, 3), weighted=True)
    ao.SearchIndex.build([x], metric="aw", path=file)  # two weights, then the costs
    parts = Parts.of(file)
    np.frombuffer(parts.features[0], "<f8")[place] = value
    parts.write(file)
    with pytest.raises(ao.InputError, match="the features of id 0 are not costs of points whose weights have the sum"):
        ao.SearchIndex.load(file).query(other, 1)


@pytest.mark.parametrize(("field", "value"), [("anchors", 3), ("anchors", 2**32 - 1), ("item_bytes", 0)])
def test_spaces_of_another_size_are_refused(field, value, tmp_path):
    file = tmp_path / "x"
    ao.SearchIndex.build(clouds((4,), weighted=True), metric="aw", path=file)
    parts = Parts.of(file)
    parts.entries[field][0] = value
    parts.write(file)
    with pytest.raises(ao.InputError, match=r"it has spaces with impossible (numbers of anchors|kinds of numbers)"):
        ao.SearchIndex.load(file)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metric": "gw"}, "metric must be one of 'ae', 'saw', 'aw', but got 'gw'"),
        ({"p": 2}, "an index of metric 'ae' takes p=1, but got p=2"),
        ({"metric": "saw", "p": 3}, "p must be one of '1', '2'"),
        ({"metric": "aw", "max_cost": 1.0}, "attributes and max_cost work with metrics 'ae' and 'saw'"),
        ({"metric": "saw", "p": 2, "attributes": "types"}, "takes attributes='types' with p=1"),
    ],
)
def test_what_an_index_does_not_take_is_refused(options, said):
    with pytest.raises(ao.InputError, match=said):
        ao.SearchIndex.build([ao.Space([[0, 1], [1, 0]], types=["a", "b"])], **options)


def test_features_lack_what_anchor_wasserstein_needs():
    features = ao.AnchorFeatures.of(clouds(1)[0])
    with pytest.raises(ao.InputError, match=r"spaces\[0\]: an index of metric 'aw' takes spaces, but got AnchorFeat"):
        ao.SearchIndex.build([features], metric="aw")
    index = ao.SearchIndex.build([features], metric="saw")
    assert index.query(features, 1).value[0] == pytest.approx(0, abs=1e-14)
