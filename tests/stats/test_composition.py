"""Tests of compositions: shares of types, and nothing else."""

import numpy as np
import pytest

import anchorot as ao

QUIET = {"rng": 0, "progress": False}


def tissue(rng, share, n=40, clump=1.0):
    types = np.where(rng.random(n) < share, "T", "B")
    return ao.from_points(clump * rng.random((n, 2)), types=types.tolist())


def tissues(shares, seed=0, **options):
    rng = np.random.default_rng(seed)
    return [tissue(rng, share, **options) for share in shares]


def test_distances_are_squared_hellinger_distances():
    spaces = tissues([0.2] * 4 + [0.6] * 4)
    labels = np.repeat([0, 1], 4)
    roots = np.sqrt([[space.types.count(kind) / 40 for kind in "BT"] for space in spaces])
    d = ((roots[:, None] - roots) ** 2).sum(axis=2)
    found, by_hand = ao.composition_test(spaces, labels, **QUIET), ao.group_test(d, labels, **QUIET)
    assert (found.statistic, found.pvalue) == pytest.approx((by_hand.statistic, by_hand.pvalue))
    assert found.types == ("B", "T")
    assert found.shares == pytest.approx(np.array([(roots[labels == k] ** 2).mean(axis=0) for k in (0, 1)]))
    assert found.to_dict()["shares"].shape == (2, 2)


def test_where_points_are_and_how_many_changes_nothing():
    shares = [0.25] * 3 + [0.5] * 3
    rng = np.random.default_rng(0)
    found = []
    for count in (8, 40):
        spaces = [
            ao.from_points(rng.random((count, 2)), types=["T"] * round(s * count) + ["B"] * round((1 - s) * count))
            for s in shares
        ]
        found.append(ao.composition_test(spaces, list("aaabbb"), **QUIET))
    assert found[0].shares == pytest.approx(found[1].shares)
    assert found[0].pvalue == found[1].pvalue == 0.1


def test_subjects_weigh_equally_in_shares_and_are_permuted():
    spaces = tissues([0.2, 0.2, 0.2, 0.9] + [0.5] * 4)
    found = ao.composition_test(spaces, [0] * 4 + [1] * 4, subjects=[0, 0, 0, 1, 2, 2, 3, 3], **QUIET)
    assert (found.unit, found.n_assignments) == ("subjects", 3)
    own = [space.types.count("T") / 40 for space in spaces]
    assert found.shares[0, 1] == pytest.approx((np.mean(own[:3]) + own[3]) / 2)
    assert len(repr(found).splitlines()) <= 6


def test_weights_of_points_count():
    space = ao.Space(np.zeros((3, 3)), [0.5, 0.25, 0.25], types=list("ABB"))
    other = ao.Space(np.zeros((2, 2)), types=list("AB"))
    found = ao.composition_test([space, space, other], [0, 0, 1], **QUIET)
    assert found.shares == pytest.approx(0.5)
    assert found.pvalue == 1


def test_level():
    rejected = sum(
        ao.composition_test(
            tissues([0.3] * 8, seed), [0] * 4 + [1] * 4, n_resamples=19, rng=seed, progress=False, post_hoc=False
        ).pvalue
        <= 0.05
        for seed in range(150)
    )
    assert rejected <= 0.05 * 150 + 3 * np.sqrt(150 * 0.05 * 0.95)


@pytest.mark.parametrize(
    ("spaces", "options", "message"),
    [
        ([ao.Space(np.zeros((2, 2)))] * 4, {}, r"spaces\[0\] has no types"),
        (tissues([0.5] * 4), {"attributes": "types"}, "leave attributes out"),
        (tissues([0.5] * 4), {"subjects": [1, 2]}, "subjects has 2 values, but there are 4 items"),
    ],
)
def test_bad_input_is_one_clear_line(spaces, options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.composition_test(spaces, [0, 0, 1, 1], **QUIET, **options)
