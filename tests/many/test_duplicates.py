"""Groups of duplicates: what all values say, by either linkage, with as few comparisons as bounds allow."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import anchorot as ao
from tests.strategies import examples

KINDS = ("C", "N")


def crowd(seed, groups=4, typed=False):
    """Spaces and rows of any weights in groups: copies of a few, moved a little."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(groups):
        n = int(rng.integers(2, 6))
        points, weights = rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n))
        types = rng.choice(KINDS, n).tolist()
        for _ in range(rng.integers(1, 5)):
            moved = points + rng.normal(size=points.shape) * rng.choice([0, 1e-3, 0.05])
            space = ao.from_points(moved, weights=weights if rng.random() < 0.5 else None, types=types)
            as_rows = ao.Rows(space.cost, space.weights, types=types, column_types=types)
            made.append(as_rows if rng.random() < 0.3 and (space.is_uniform or not typed) else space)
    return [made[i] for i in rng.permutation(len(made))]


def partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(np.asarray(labels).tolist())}


METRICS = {
    "saw": {},
    "saw2": {"metric": "saw", "p": 2},
    "ae": {"metric": "ae"},
    "aw": {"metric": "aw", "epsilon": 0},
    "linf": {"metric": "aw", "epsilon": 0, "row_metric": "linf"},
    "robust": {"robust": True},
    "typed": {"attributes": "types"},
    "typed ae": {"metric": "ae", "attributes": "types"},
    "near": {"metric": "ae", "max_cost": 0.8},
    "slb": {"metric": "slb"},
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("kind", ["single", "complete"])
@examples(8)
@given(st.integers(0, 10**6))
def test_groups_are_those_of_all_values(name, kind, seed):
    pytest.importorskip("ot")
    how = METRICS[name]
    many = crowd(seed, typed="typed" in name)
    if name in ("slb",):
        many = [x for x in many if isinstance(x, ao.Space)]
    if len(many) < 2:
        return
    given = {"progress": False, "n_jobs": 1, **how}
    values = ao.pairwise(many, metric=given.pop("metric", "saw"), **given)
    known = np.sort(squareform(values, checks=False))
    threshold = float(known[len(known) // 5] + 1e-9)
    found = ao.duplicates(many, threshold, how.get("metric", "saw"), kind, **given)
    if kind == "single":
        wanted = fcluster(linkage(squareform(values, checks=False), "single"), threshold, "distance")
        assert partition(found.labels) == partition(wanted)
    else:  # ties may be broken either way: what the rule says
        for group in found.groups:
            assert all(values[i, j] <= threshold for i, j in combinations(group, 2))
        for one, two in combinations(partition(found.labels), 2):
            assert max(values[i, j] for i in one for j in two) > threshold
        if len(set(known.tolist())) == len(known):
            wanted = fcluster(linkage(squareform(values, checks=False), "complete"), threshold, "distance")
            assert partition(found.labels) == partition(wanted)
    assert found.n_exact <= len(many) * (len(many) - 1) // 2


def test_bounds_leave_few_pairs_and_chains_are_not_compared_twice():
    rng = np.random.default_rng(0)
    many = [ao.Rows(rng.gamma(3, size=(6, 20)), rng.dirichlet(np.ones(6))) for _ in range(60)]
    copies = [ao.Rows(x.values + 1e-5, x.weights) for x in many for _ in range(4)]
    found = ao.duplicates([*many, *copies], 1e-3, progress=False)
    assert len(found.groups) == 60
    assert all(len(group) == 5 for group in found.groups)
    assert found.representatives == list(range(60))
    assert found.n_exact <= 300  # of 300 * 299 / 2
    np.testing.assert_array_equal(found.labels[:60], range(60))
    np.testing.assert_array_equal(found.labels[60:], np.repeat(range(60), 4))


def test_identical_spaces_are_duplicates_at_threshold_zero():
    x, y = (ao.from_points(np.random.default_rng(seed).normal(size=(5, 2))) for seed in range(2))
    for metric in ("saw", "ae"):
        assert ao.duplicates([x, y, x], 0, metric, progress=False).groups == ((0, 2),)


def test_a_little_memory_and_more_workers_change_nothing():
    many = crowd(3, groups=10)
    plain = ao.duplicates(many, 0.05, progress=False, n_jobs=1)
    for how in ({"memory": 1000}, {"n_jobs": 2}):
        np.testing.assert_array_equal(ao.duplicates(many, 0.05, progress=False, **how).labels, plain.labels)


def test_results_say_what_they_are():
    found = ao.duplicates([ao.Rows([[1.0]])] * 3, 0.5, progress=False)
    assert found.facts() == {
        "duplicates": "3 of 3 spaces in 1 groups",
        "different": str(len(found.representatives)),
        "rule": "saw <= 0.5, single linkage",
        "pairs compared": str(found.n_exact),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[[0.0]]], -1), "threshold must be a finite number >= 0"),
        (([[[0.0]]], 1, "saw", "average"), "linkage must be one of"),
        (([], 1), "spaces is empty"),
        (([[[0.0]]], 1, "nearest"), "metric must be one of"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ao.InputError, match=message):
        ao.duplicates(*arguments, progress=False)
