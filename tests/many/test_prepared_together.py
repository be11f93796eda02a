"""Spaces that are prepared in one call: `pairwise` and `embed` give what they give one by one, to the last bit."""

import warnings

import numpy as np
import pytest

import anchorot as ao
from anchorot.many import job, metrics
from anchorot.many.spaces import ItemCache
from tests.strategies import assert_same, clouds

WITH_BATCHES = ["ae", "saw"]


def points(count=40, n=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, n, 2)) * rng.uniform(0.3, 2, (count, 1, 2))


def stack(count=40, n=9, seed=0):
    return np.array([ao.from_points(x).cost for x in points(count, n, seed)])


class OnDemand:
    """A sequence of which nothing is known before an entry is asked for."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        return self.values[place]


def collections():
    many, others = stack(), [*clouds(11), *stack(6, 5, 1), *stack(3).astype(np.float32)]
    return {
        "stack": many,
        "list of arrays": list(many),
        "mixed": [*others, ao.Space(many[0]), many[1].tolist(), many[2].astype(int)],
        "point clouds": ao.io.PointClouds(points()),
        "float32 clouds": ao.io.PointClouds(points(), dtype="float32"),
    }


@pytest.mark.parametrize("name", collections())
@pytest.mark.parametrize("metric", WITH_BATCHES)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_all_pairs_have_the_bits_of_spaces_prepared_one_by_one(name, metric, n_jobs):
    many = collections()[name]
    found = ao.pairwise(many, metric=metric, n_jobs=n_jobs)
    assert_same(found, ao.pairwise(OnDemand(many), metric=metric, n_jobs=1))
    found = ao.pairwise(many[:7], many, metric=metric, n_jobs=n_jobs)
    assert_same(found, ao.pairwise(OnDemand(many[:7]), OnDemand(many), metric=metric, n_jobs=1))


@pytest.mark.parametrize(
    "options", [{}, {"robust": True}, {"p": 2}, {"p": 3}, {"max_cost": 1.0}, {"memory": 1}], ids=str
)
@pytest.mark.parametrize("many", [stack(), ao.io.PointClouds(points())], ids=["stack", "clouds"])
def test_options_change_values_in_the_same_way(many, options):
    assert_same(ao.pairwise(many, **options), ao.pairwise(OnDemand(many), **options))


@pytest.mark.parametrize("name", ["stack", "mixed", "point clouds"])
def test_the_nearest_and_what_they_took_are_the_same(name):
    many = collections()[name] if name == "mixed" else None
    many = many * 15 if many else stack(300) if name == "stack" else ao.io.PointClouds(points(300))
    found, expected = ao.pairwise(many, k=3, n_jobs=2), ao.pairwise(OnDemand(many), k=3, n_jobs=1)
    assert_same((found.index, found.value, found.n_exact), (expected.index, expected.value, expected.n_exact))


@pytest.mark.parametrize("name", collections())
@pytest.mark.parametrize("grid", [(8, 8), ao.anchors.Grid((3, 5), 0.0, 2.0)], ids=["shape", "grid"])
def test_vectors_have_the_bits_of_spaces_embedded_one_by_one(name, grid):
    many = collections()[name]
    assert_same(ao.embed(many, grid), ao.embed(OnDemand(many), grid, n_jobs=1))


@pytest.mark.parametrize("many", [stack(), ao.io.PointClouds(points())], ids=["stack", "clouds"])
@pytest.mark.parametrize("k", [None, 2])
def test_no_space_of_a_stack_is_prepared_alone(many, k, monkeypatch):
    alone = []
    real = job.Preparation.__call__
    monkeypatch.setattr(job.Preparation, "__call__", lambda *given: alone.append(1) or real(*given))
    ao.pairwise(many, k=k)
    assert not alone


@pytest.mark.parametrize("errors", ["raise", "skip"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_bad_spaces_are_named_and_left_out_as_ever(bad, errors):
    many = stack(20)
    many[[4, 11], 1, 2] = bad

    def outcome(spaces):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = ao.pairwise(spaces, errors=errors, n_jobs=1)
            except ao.InputError as error:
                found = np.array(str(error))
        return found.tobytes(), sorted(str(warning.message) for warning in caught)

    assert outcome(many) == outcome(OnDemand(many))
    if errors == "raise" and bad != -1:
        with pytest.raises(ao.InputError, match=r"^spaces\[4\]: cost must be finite"):
            ao.pairwise(many)


def test_a_checkpoint_goes_on_whichever_way_spaces_are_prepared(tmp_path):
    made = points()
    forms = [np.array([ao.from_points(x).cost for x in made]), ao.io.PointClouds(made), [*map(ao.from_points, made)]]
    expected = ao.pairwise(forms[0], checkpoint=tmp_path, tile=20)
    for many in (*forms, OnDemand(forms[0])):
        assert_same(ao.pairwise(many, checkpoint=tmp_path), expected)


def test_metrics_without_a_call_for_many_prepare_each(monkeypatch):
    monkeypatch.setattr(metrics, "features_together", None)
    assert_same(ao.pairwise(stack(4), metric="slb"), ao.pairwise(OnDemand(stack(4)), metric="slb"))


def test_what_was_made_elsewhere_stays_within_the_limit():
    def make(index):
        made.append(index)
        return np.zeros(10)

    made = []
    cache = ItemCache(make, 3 * 80)
    cache.keep({k: np.full(10, float(k)) for k in range(5)})
    assert [cache.get(k)[0] for k in (2, 3, 4)] == [2, 3, 4]
    assert not made
    cache.get(0)
    assert made == [0]
    cache.keep({0: np.ones(10)})  # what is there stays
    assert cache.get(0)[0] == 0


def test_clouds_are_sent_to_workers_one_by_one():
    inputs = job.Inputs.of(ao.io.PointClouds(points()), None).only([3])
    assert list(inputs.spaces) == [3]
    assert_same(inputs.load(3), ao.from_points(points()[3]))
