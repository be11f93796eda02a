"""Arrangement: agrees with its definition, and sees neither composition nor density nor the field of view."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.arrangement import ArrangementFeatures, ArrangementRule, arrangement_rule_of
from tests import reference
from tests.strategies import examples


def field(seed, n_a=6, n_b=6, side=1.0, close=False, metric="euclidean"):
    """Points of two types in a square; each B beside an A if they are close."""
    rng = np.random.default_rng(seed)
    a, b = side * rng.random((n_a, 2)), side * rng.random((n_b, 2))
    if close:
        b = a[rng.integers(n_a, size=n_b)] + 0.02 * rng.normal(size=(n_b, 2))
    return ao.from_points(np.r_[a, b], metric, types=["A"] * n_a + ["B"] * n_b, area=side**2)


def as_reference(space):
    return space.cost.tolist(), list(space.types), space.area


@examples(15)
@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=3),
    st.sampled_from([0.3, 0.7, 5.0]),
)
def test_energies_are_their_definition(seed, counts, max_cost):
    spaces = [field([seed, k], *both, side=1 + k / 2) for k, both in enumerate(counts)]
    rule = arrangement_rule_of(spaces, max_cost)
    features = [ArrangementFeatures.of_space(space, rule) for space in spaces]
    expected = reference.arrangement_energy(*map(as_reference, spaces[:2]), dict(rule.intensities), max_cost)
    assert features[0].energy_to(features[1]) == pytest.approx(expected, abs=1e-12)


def test_least_intensities_are_those_of_all_spaces():
    spaces = [field(0, 6, 4), field(1, 3, 8), field(2, 9, 9, side=2.0)]
    assert arrangement_rule_of(spaces).intensities == (("A", 9 / 4), ("B", 9 / 4))
    assert arrangement_rule_of(spaces[:2]).intensities == (("A", 3.0), ("B", 4.0))


def test_all_pairs_are_compared_by_one_rule():
    spaces = [field(k, 5 + k, 9 - k) for k in range(4)]
    d = ao.pairwise(spaces, metric="arrangement", max_cost=0.4)
    rule = arrangement_rule_of(spaces, 0.4)
    features = [ArrangementFeatures.of_space(space, rule) for space in spaces]
    for i in range(4):
        for j in range(i + 1, 4):
            assert d[i, j] == features[i].energy_to(features[j])
    assert np.array_equal(d, ao.pairwise(spaces, metric="arrangement", max_cost=0.4, attributes="types", n_jobs=2))
    assert d[0, 1] != ao.pairwise(spaces[:2], metric="arrangement", max_cost=0.4)[0, 1]


def test_parts_add_up_to_the_whole():
    x, y = field(0, 7, 5), field(1, 5, 8)
    rule = arrangement_rule_of([x, y], 0.5)
    fx, fy = (ArrangementFeatures.of_space(space, rule) for space in (x, y))
    ends = np.array([0.1, 0.3, 0.5])
    profile = fx.profile_to(fy, ends)
    assert profile[-1] == pytest.approx(fx.energy_to(fy))
    assert (np.diff(profile) >= 0).all()
    assert np.sum([curve for _, curve in fx.pair_curves(fy, ends)], axis=0) == pytest.approx(profile)


def test_the_unit_of_costs_and_the_order_of_points_change_nothing():
    x, y = field(0, 7, 5), field(1, 5, 8)
    energy = ao.distances.arrangement_energy(x, y, 0.5)
    order = np.random.default_rng(0).permutation(x.n)
    assert ao.distances.arrangement_energy(x.take(order), y, 0.5) == pytest.approx(energy)
    assert ao.distances.arrangement_energy(x, x, 0.5) == pytest.approx(0, abs=1e-15)
    far = [ao.Space(8 * space.cost, types=space.types, area=64 * space.area) for space in (x, y)]
    assert ao.distances.arrangement_energy(*far, 4.0) == pytest.approx(8 * energy)


def test_thinned_points_are_expected_to_be_where_all_of_them_are():
    """The mean over random halves of the dense field of what they see is what its thinned types see."""
    dense = field(3, 40, 40)
    rng = np.random.default_rng(0)
    kinds = np.array(dense.types)
    halves = [
        dense.take(np.sort(np.concatenate([rng.permutation(np.flatnonzero(kinds == k))[:20] for k in "AB"])))
        for _ in range(300)
    ]
    seen = np.mean([[_reached(half, x, k) for x in (0.1, 0.2) for k in (1, 2)] for half in halves], axis=0)
    rule = ArrangementRule("types", 0.3, intensities=(("A", 20.0), ("B", 20.0)))
    block = ArrangementFeatures.of_space(dense, rule).blocks[1]  # A sees B
    expected = [block.vectors[block.anchor[0][block.levels[0] <= x], k - 1].sum() for x in (0.1, 0.2) for k in (1, 2)]
    assert seen == pytest.approx(expected, abs=0.02)


def _reached(space, x, k):
    """Share of the points of A with at least k points of B within x."""
    kinds = np.array(space.types)
    return ((space.cost[np.ix_(kinds == "A", kinds == "B")] <= x).sum(axis=1) >= k).mean()


def test_composition_and_density_are_not_seen_but_arrangement_is():
    labels = np.repeat([0, 1], 8)
    sparse = [field([k, 1], 30, 30) for k in range(8)]
    dense = [field([k, 2], 40, 80) for k in range(8)]
    close = [field([k, 3], 40, 80, close=True) for k in range(8)]
    for others, are_close in ((dense, False), (close, True)):
        spaces = sparse + others
        options = {"rng": 0, "n_resamples": 499}
        plain = ao.group_test(ao.pairwise(spaces, attributes="types"), labels, **options)
        thinned = ao.group_test(ao.pairwise(spaces, metric="arrangement"), labels, **options)
        assert plain.pvalue <= 0.01
        assert (thinned.pvalue <= 0.01) == are_close


def test_rare_types_are_left_out_with_a_warning():
    x, y = field(0), field(1)
    other = ao.from_points(np.random.default_rng(2).random((6, 2)), types=list("AABBCD"), area=1.0)
    with pytest.warns(ao.InputWarning, match="leaves out 2 of 4 types, since some spaces lack them: 'C', 'D'"):
        rule = arrangement_rule_of([x, y, other], 0.5)
    assert [kind for kind, _ in rule.intensities] == ["A", "B"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"types": None}, r"spaces\[1\] has no types, but arrangement needs one for each point"),
        ({"area": None}, r"spaces\[1\] has no area, but arrangement needs that of the field of view"),
        ({"types": list("CCCC")}, "no type occurs in all spaces"),
        ({"weights": [0.4, 0.2, 0.2, 0.2]}, r"spaces\[1\].* has weights, but arrangement counts points"),
    ],
)
def test_spaces_that_cannot_be_compared_are_refused(change, message):
    good = {"types": list("AABB"), "area": 1.0}
    cost = field(0, 2, 2).cost
    with pytest.raises(ao.InputError, match=message):
        ao.pairwise([ao.Space(cost, **good), ao.Space(cost, **{**good, **change})], metric="arrangement")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"robust": True}, "goes with p=1 and robust=False"),
        ({"p": 2}, "goes with p=1 and robust=False"),
        ({"attributes": "features"}, "compares types, but got attributes='features'"),
        ({"max_cost": np.nan}, "max_cost"),
    ],
)
def test_options_that_do_not_apply_are_refused(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.pairwise([field(0), field(1)], metric="arrangement", **options)


def test_a_checkpoint_is_of_one_rule(tmp_path):
    spaces = [field(k) for k in range(3)]
    d = ao.pairwise(spaces, metric="arrangement", checkpoint=tmp_path)
    assert np.array_equal(d, ao.pairwise(spaces, metric="arrangement", checkpoint=tmp_path))
    with pytest.raises(ao.AnchorotError, match="is of another run"):
        ao.pairwise([*spaces[:2], field(3, 3, 3)], metric="arrangement", checkpoint=tmp_path)


def test_without_neighbours_there_is_no_energy():
    assert ao.pairwise([field(k, 2, 1) for k in range(2)], metric="arrangement", max_cost=0.0).tolist() == [[0, 0]] * 2
