"""Searches that bounds shorten: the nearest are those of all pairs, to the last bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.many.metrics import METRICS, metric_of
from anchorot.many.sliced_bounds import with_bounds
from tests.strategies import examples, spaces

pytest.importorskip("ot", reason="exact transport with weights needs POT")

BOUNDED = [
    ("saw", {"p": 1}),
    ("saw", {"p": 2}),
    ("aw", {"p": 1, "epsilon": 0}),
    ("aw", {"p": 2, "epsilon": 0}),
    ("tlb", {"p": 1}),
    ("tlb", {"p": 2}),
    ("gw", {}),
]
CASES = pytest.mark.parametrize(("name", "options"), BOUNDED)


def collection(count, seed=0):
    """Clouds of several sizes, every fifth with weights; two of them are equal."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(count):
        n = int(rng.integers(6, 12))
        weights = rng.dirichlet(np.ones(n)) if k % 5 == 0 else None
        made.append(ao.from_points(rng.normal(size=(n, 2)) * (1, rng.random()), weights=weights))
    return [*made[:-1], made[1]]


def quiet(*args, **options):
    return ao.pairwise(*args, progress=False, n_jobs=1, **options)


def nearest(matrix, k):
    index = np.argsort(matrix, axis=1, kind="stable")[:, :k]
    return index, np.take_along_axis(matrix, index, axis=1)


@CASES
def test_the_nearest_are_those_of_all_pairs_to_the_last_bit(name, options):
    many = collection(10 if name == "gw" else 30)
    matrix = quiet(many, metric=name, **options)
    np.fill_diagonal(matrix, np.inf)
    found = quiet(many, metric=name, k=2, **options)
    index, value = nearest(matrix, 2)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_array_equal(found.value, value)
    assert found.n_exact < matrix.size
    few = quiet(many, metric=name, k=2, memory=5000, **options)  # most spaces are prepared again
    np.testing.assert_array_equal(few.index, index)
    assert few.n_exact == found.n_exact


@CASES
def test_others_are_searched_alike(name, options):
    many = collection(12)
    matrix = quiet(many[:3], many[3:], metric=name, **options)
    found = quiet(many[:3], many[3:], metric=name, k=3, **options)
    np.testing.assert_array_equal(found.index, nearest(matrix, 3)[0])
    np.testing.assert_array_equal(found.value, nearest(matrix, 3)[1])


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_workers_find_the_same(backend, tmp_path):
    many = collection(20)
    options = {"metric": "aw", "epsilon": 0, "k": 2, "progress": False}
    wanted = ao.pairwise(many, n_jobs=1, **options)
    found = ao.pairwise(many, n_jobs=2, backend=backend, checkpoint=tmp_path, tile=6, **options)
    np.testing.assert_array_equal(found.value, wanted.value)
    again = ao.pairwise(many, n_jobs=1, checkpoint=tmp_path, **options)
    assert again.n_exact == found.n_exact == wanted.n_exact


def test_bad_spaces_are_left_out():
    many = [*collection(8), [[np.nan]]]
    with pytest.warns(ao.InputWarning, match="1 of 9 spaces cannot be used"):
        found = quiet(many, metric="aw", epsilon=0, k=2, errors="skip")
    np.testing.assert_array_equal(found.index[:8], quiet(many[:8], metric="aw", epsilon=0, k=2).index)
    assert (found.index[8] == -1).all()


@CASES
@examples(20)
@given(x=spaces(), y=spaces(), far=st.sampled_from([0.0, 1e6]), robust=st.booleans())
def test_no_bound_exceeds_the_value(name, options, x, y, far, robust):
    x, y = (ao.Space(np.abs(s.cost + s.cost.T) + far, s.weights) for s in (x, y))
    metric = pickle.loads(pickle.dumps(metric_of(name, robust=robust, **options)))
    value = metric.compare(metric.prepare(x), metric.prepare(y)).value
    below = [metric.bound.prepare(s) for s in (x, y)]
    assert metric.bound.compare_many(below[:1], below[1:])[0, 0] <= value
    if metric.bound.closer is not None:
        assert metric.bound.closer(*below) <= value


def test_only_what_is_bounded_takes_bounds():
    assert {name for name in METRICS if metric_of(name).bound is not None} == {"saw", "gw", "tlb"}
    assert metric_of("aw", epsilon=0).bound is not None
    for metric in (metric_of("aw", p=3, epsilon=0), metric_of("aw", epsilon=0.1), metric_of("gw", epsilon=0.1)):
        assert metric.bound is None
        assert with_bounds(metric) is metric
