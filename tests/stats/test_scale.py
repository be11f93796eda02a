"""At which distance groups differ: properties of the test, its level and its power."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import anchorot as ao
from tests.strategies import relabelled_copies

METHODS = [(metric, attributes) for metric in ("ae", "saw") for attributes in (None, "types")]


def lines(seed, gap=None, n=20, count=6):
    """Points on a line; with a gap every point has another one that far away."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        points = rng.random(n) if gap is None else np.repeat(rng.random(n // 2), 2) + np.tile([0, gap], n // 2)
        found.append(np.abs(np.subtract.outer(points, points)))
    return found


def tissue(rng, arrangement, n=60):
    """Points of two types anywhere in a square: mixed, on two sides, or type 1 in clumps of a radius."""
    points = rng.random((n, 2))
    types = np.zeros(n, int)
    if arrangement == "mixed":
        types[rng.permutation(n)[: n // 2]] = 1
    elif arrangement == "segregated":
        types[np.argsort(points @ rng.normal(size=2))[: n // 2]] = 1
    else:
        while (missing := n // 2 - types.sum()) > 0:
            near = np.linalg.norm(points - rng.random(2), axis=1) < arrangement
            types[np.flatnonzero(near & (types == 0))[:missing]] = 1
    return ao.Space(ao.from_points(points).cost, types=types)


def tissues(seed, *arrangements, count=8, n=60):
    rng = np.random.default_rng(seed)
    return [tissue(rng, kind, n) for kind in arrangements for _ in range(count)]


def energies(spaces, **options):
    features = [ao.AnchorFeatures.of(space, **options) for space in spaces]
    upper = np.array(
        [[x.energy_to(y) if i < j else 0.0 for j, y in enumerate(features)] for i, x in enumerate(features)]
    )
    return upper + upper.T


def two(count):
    return np.repeat(["a", "b"], count)


@pytest.mark.parametrize("metric", ["ae", "saw"])
@pytest.mark.parametrize("attributes", [None, "types"])
def test_every_band_is_a_group_test_of_its_part_of_the_distance(attributes, metric):
    spaces = tissues(0, "mixed", "segregated", count=4, n=20)
    max_costs = np.array([0.2, 0.5, 0.9])
    found = ao.scale_test(spaces, two(4), max_costs, metric=metric, attributes=attributes, n_resamples=9, rng=0)
    below = 0.0
    for k, max_cost in enumerate(max_costs):
        upto = ao.pairwise(spaces, metric=metric, attributes=attributes, max_cost=max_cost, progress=False)
        band = ao.group_test(upto - below, two(4), n_resamples=9, rng=0, post_hoc=False)
        below = upto
        f = np.append(band.statistic, band.null)
        shares = f / (f + 8 - 2)  # F = (R² / (K - 1)) / ((1 - R²) / (N - K)), solved for R²
        assert found.share[k] == pytest.approx(shares[0], rel=1e-6)
        assert found.expected[k] == pytest.approx(shares.mean(), rel=1e-6)
        assert found.spread[k] == pytest.approx(shares.std(), rel=1e-6)
        assert found.pvalues[k] == band.pvalue


def test_one_band_is_a_group_test():
    spaces = tissues(1, "mixed", "segregated", count=5, n=20)
    far = max(float(x.cost.max()) for x in spaces)
    found = ao.scale_test(spaces, two(5), [far], attributes="types", n_resamples=99, rng=3)
    whole = ao.group_test(
        energies(spaces, attributes="types", max_cost=far), two(5), n_resamples=99, rng=3, post_hoc=False
    )
    assert found.pvalue == whole.pvalue == found.pvalues[0] == found.adjusted_pvalues[0]


def test_adjusted_pvalues_count_the_largest_of_all_bands():
    spaces = lines(0) + lines(1, 0.1)
    found = ao.scale_test(spaces, two(6), n_resamples=99, rng=0)
    scores = (found.share - found.expected) / found.spread
    assert found.statistic == pytest.approx(scores.max())
    for score, adjusted, alone in zip(scores, found.adjusted_pvalues, found.pvalues, strict=True):
        assert adjusted == (np.count_nonzero(found.null >= score - 1e-9) + 1) / 100
        assert adjusted >= alone
    assert found.pvalue == found.adjusted_pvalues.min()


@pytest.mark.parametrize("level", [0.01, 0.05, 0.3])
def test_a_share_beyond_the_limit_is_a_band_where_groups_differ(level):
    found = ao.scale_test(lines(0) + lines(1, 0.1), two(6), n_resamples=199, rng=0)
    beyond = found.share > found.limit(level)
    assert np.array_equal(beyond, found.adjusted_pvalues <= level)
    bands = found.where(level)
    inside = [any(low <= edge < high for low, high in bands) for edge in found.edges[:-1]]
    assert np.array_equal(inside, beyond)
    assert (found.limit(0.001) == np.inf).all()


@pytest.mark.parametrize("metric", ["ae", "saw"])
@pytest.mark.parametrize("gap", [0.01, 0.03])
def test_the_distance_of_pairs_is_found(gap, metric):
    found = ao.scale_test(lines(2, n=40, count=10) + lines(3, gap, n=40, count=10), two(10), metric=metric, rng=0)
    assert found.pvalue <= 0.05
    low, high = found.band
    assert gap == pytest.approx(low, rel=0.25)
    assert found.max_cost == high
    assert found.where()[0][0] == pytest.approx(gap)


@pytest.mark.parametrize("radius", [0.1, 0.25])
def test_clumps_of_a_type_are_found_at_their_scale(radius):
    """Anywhere the same positions; neighbours of one's own type are more, up to about the width of a clump."""
    spaces = tissues(4, "mixed", radius)
    found = ao.scale_test(spaces, two(8), attributes="types", rng=0)
    assert found.pvalue <= 0.05
    assert radius / 3 <= found.max_cost <= 2 * radius
    assert max(high for _, high in found.where()) <= 4 * radius
    assert ao.scale_test(spaces, two(8), rng=0).pvalue > 0.05


def test_far_distances_alone_are_found_too():
    """Two halves of a line that are moved apart: what is within half of them stays as it was."""
    rng = np.random.default_rng(5)
    spaces = []
    for shift in [0.0] * 6 + [0.4] * 6:
        points = np.sort(rng.random(40))
        points[20:] += shift
        spaces.append(np.abs(np.subtract.outer(points, points)))
    found = ao.scale_test(spaces, two(6), [0.05, 0.1, 0.9, 1.4], rng=0)
    assert found.pvalue <= 0.05
    assert found.where()[-1][1] >= 0.9
    assert found.adjusted_pvalues[0] > 0.05


def test_attributes_distinguish_mixed_from_segregated_tissue_where_costs_cannot():
    rejected = {None: 0, "types": 0}
    for seed in range(10):
        spaces = tissues(seed, "mixed", "segregated", count=8, n=24)
        for attributes in rejected:
            d = energies(spaces, attributes=attributes, max_cost=1.5)
            rejected[attributes] += ao.group_test(d, two(8), n_resamples=99, rng=seed, post_hoc=False).pvalue <= 0.05
    assert rejected["types"] >= 9
    assert rejected[None] <= 3


def level_of(pvalue, repetitions):
    rejected = sum(pvalue(seed) <= 0.05 for seed in range(repetitions))
    low, high = stats.binom.ppf([0.0005, 0.9995], repetitions, 0.05)
    assert low <= rejected <= high


@pytest.mark.parametrize(("test", "attributes"), [("scale", None), ("scale", "types"), ("groups", "types")])
def test_level(test, attributes):
    def pvalue(seed):
        spaces = [ao.Space(cost, types=list("aaabbb")) for cost in lines(seed, n=6, count=8)]
        if test == "scale":
            found = ao.scale_test(spaces, two(4), [0.1, 0.3, 0.6, 1.0], attributes=attributes, n_resamples=19, rng=seed)
        else:
            d = energies(spaces, attributes=attributes, max_cost=1.0)
            found = ao.group_test(d, two(4), n_resamples=19, rng=seed, post_hoc=False)
        return found.pvalue

    level_of(pvalue, 400)


@pytest.mark.parametrize("attributes", [None, "types"])
@pytest.mark.parametrize("metric", ["ae", "saw"])
def test_of_all_labellings_no_more_than_their_share_reach_a_p_value(metric, attributes):
    """Exchangeable spaces: every labelling of six is as likely, and each is tested against all 20 of them."""
    spaces = [ao.Space(cost, types=list("aabbb")) for cost in lines(3, n=5, count=6)]
    labellings = [[k in chosen for k in range(6)] for chosen in combinations(range(6), 3)]
    options = {"metric": metric, "attributes": attributes, "progress": False}
    found = [ao.scale_test(spaces, labels, [0.2, 0.5, 1.0], **options) for labels in labellings]
    for test in found:
        assert test.n_assignments == 20 / 2  # naming the groups the other way round is the same
    for level in np.arange(1, 11) / 10:
        assert np.mean([test.pvalue <= level + 1e-12 for test in found]) <= level + 1e-12
        for k in range(3):
            assert np.mean([test.pvalues[k] <= level + 1e-12 for test in found]) <= level + 1e-12


@pytest.mark.parametrize("attributes", ["features", ao.anchors.LinearMap(1)])
def test_saw_takes_types_alone(attributes):
    spaces = [ao.Space(cost, features=np.arange(20.0)) for cost in lines(0, count=4)]
    with pytest.raises(ao.InputError, match="takes attributes='types' with p=1, or none"):
        ao.scale_test(spaces, two(2), [0.5], metric="saw", attributes=attributes)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["scale", "groups"])
def test_level_with_attributes(test):
    def pvalue(seed):
        spaces = tissues(seed, "mixed", count=12, n=30)
        if test == "scale":
            return ao.scale_test(spaces, two(6), attributes="types", n_resamples=199, rng=seed).pvalue
        d = energies(spaces, attributes="types", max_cost=1.5)
        return ao.group_test(d, two(6), n_resamples=199, rng=seed, post_hoc=False).pvalue

    level_of(pvalue, 400)


def test_the_order_of_spaces_changes_no_share():
    spaces, labels = (
        lines(0, count=4) + lines(1, 0.1, count=5) + lines(2, 0.2, count=3),
        np.repeat(list("abc"), [4, 5, 3]),
    )
    order = np.random.default_rng(0).permutation(12)
    found, shuffled = (
        ao.scale_test([spaces[i] for i in own], labels[own], n_resamples=9, rng=0) for own in (np.arange(12), order)
    )
    assert shuffled.share == pytest.approx(found.share)
    assert (shuffled.groups, shuffled.sizes) == (found.groups, found.sizes) == (("a", "b", "c"), (4, 5, 3))


def test_threads_change_nothing():
    spaces = tissues(6, "mixed", "segregated", count=4, n=20)
    one, three = (ao.scale_test(spaces, two(4), attributes="types", n_resamples=9, rng=0, threads=k) for k in (1, 3))
    assert np.array_equal(one.share, three.share)
    assert np.array_equal(one.null, three.null)


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**1000, 2.0**1023])
def test_the_unit_of_costs_changes_nothing_but_reaches(factor):
    spaces = lines(0) + lines(1, 0.1)
    plain, scaled = (ao.scale_test([f * x for x in spaces], two(6), n_resamples=19, rng=0) for f in (1, factor))
    assert scaled.edges == pytest.approx(plain.edges * factor)
    assert scaled.share == pytest.approx(plain.share)
    assert scaled.pvalue == plain.pvalue


def test_ranks_have_reaches_of_their_own():
    spaces = lines(0) + lines(1, 0.1)
    found, squared = (
        ao.scale_test(own, two(6), robust=True, n_resamples=19, rng=0) for own in (spaces, np.square(spaces))
    )
    assert found.edges[-1] <= 1
    assert found.share == pytest.approx(squared.share)


def test_few_different_costs_are_all_reaches():
    path = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    ring = np.minimum(path, 5 - path)
    found = ao.scale_test([path, path, ring, ring], [0, 0, 1, 1], rng=0, n_resamples=9)
    assert found.edges.tolist() == [0, 1, 2, 3, 4]
    assert found.share == pytest.approx([0, 1, 1, 1])  # below 1 a point sees itself alone


def test_spaces_that_are_all_alike_differ_nowhere():
    found = ao.scale_test([np.ones((3, 3))] * 4, [0, 0, 1, 1], rng=0)
    assert found.pvalue == 1
    assert found.where() == []
    assert (found.adjusted_pvalues == 1).all()
    one_point = ao.scale_test([[[0.0]]] * 4, [0, 0, 1, 1], rng=0)
    assert one_point.pvalue == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("metric", "attributes"), [*METHODS, ("ae", ao.anchors.LinearMap(2))])
def test_the_order_of_points_is_no_difference(weighted, metric, attributes):
    """Distances between relabelled copies are what rounding leaves, from which no test may conclude."""
    options = {"metric": metric, "attributes": attributes, "rng": 0, "n_resamples": 99}
    found = ao.scale_test(relabelled_copies(weighted), two(4), [1.0, 2.0, 8.0], **options)
    assert found.pvalue == 1
    assert found.where() == []


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("metric", "attributes"), [*METHODS, ("ae", ao.anchors.LinearMap(1))])
def test_a_larger_last_max_cost_changes_no_band_before_it(metric, attributes, weighted):
    rng = np.random.default_rng(0)
    spaces = [
        ao.Space(x.cost, rng.dirichlet(np.full(x.n, 9.0)) if weighted else None, types=x.types, features=x.types)
        for x in tissues(0, "mixed", "segregated", count=4, n=20)
    ]
    near = [0.2, 0.5, 1.5]
    options = {"metric": metric, "attributes": attributes, "n_resamples": 9, "rng": 0}
    found = ao.scale_test(spaces, two(4), near, **options)
    assert (found.share > 0).all()
    for far in (1e6, 1e12, 1e14, 1e100):
        farther = ao.scale_test(spaces, two(4), [*near, far], **options)
        assert farther.share[:3] == pytest.approx(found.share, rel=1e-12)
        assert farther.pvalues[:3].tolist() == found.pvalues.tolist()


@pytest.mark.parametrize("metric", ["ae", "saw"])
def test_a_far_last_reach_sees_what_a_near_one_sees(metric):
    """The last band ends beyond all costs: how far beyond makes no difference."""
    spaces = lines(0) + lines(1, 0.1)
    options = {"metric": metric, "n_resamples": 99, "rng": 0}
    near, far = (ao.scale_test(spaces, two(6), [0.1, end], **options) for end in (1.2, 1e14))
    assert far.share == pytest.approx(near.share, rel=1e-12)
    assert far.pvalue == near.pvalue < 1


@pytest.mark.parametrize("metric", ["ae", "saw"])
def test_a_share_is_between_0_and_1_where_some_energies_are_near_rounding(metric):
    """A band is kept or dropped as a whole: without the small ones, energies are no squared distances."""
    for noise in 10.0 ** np.arange(-13, -10, 0.25):
        rng = np.random.default_rng(0)
        points = rng.random((12, 2))
        spaces = [ao.from_points(points + noise * rng.random((12, 2))) for _ in range(8)]
        found = ao.scale_test(spaces, two(4), [0.5, 1.0, 4.0], metric=metric, n_resamples=9, rng=0)
        assert ((found.share >= 0) & (found.share <= 1)).all()


def test_one_far_cost_does_not_join_the_reaches_of_all_others():
    """Parts of a disconnected graph that are far apart, as disconnected=1e12 puts them."""
    path = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    parts = np.where(np.eye(2, dtype=bool).repeat(5, 0).repeat(5, 1), np.tile(path, (2, 2)), 1e12)
    found = ao.scale_test([parts, parts, parts + 0.0, np.minimum(parts, 3.0)], [0, 0, 1, 1], rng=0)
    assert found.edges.tolist() == [0, 1, 2, 3, 4, 1e12]


def test_reaches_below_all_costs_show_nothing():
    found = ao.scale_test([np.ones((3, 3)), np.eye(3), np.ones((2, 2)), np.eye(2)], [0, 0, 1, 1], [-2.0, -1.0], rng=0)
    assert found.edges.tolist() == [-2, -2, -1]
    assert found.pvalue == 1


def test_energies_beyond_floats_are_one_clear_line():
    far = [np.array([[0.0, big], [big, 0.0]]) for big in (-1.7e308, 1.7e308, -1.7e308, 1.7e308)]
    for max_costs in (None, [1e307, 1.7e308]):
        with pytest.raises(ao.InputError, match="exceed the range of float64"):
            ao.scale_test(far, [0, 0, 1, 1], max_costs, rng=0)


def test_weights_and_features_are_taken():
    rng = np.random.default_rng(7)
    spaces = []
    for shift in [0.0] * 5 + [5.0] * 5:
        points = rng.random((12, 2))
        features = rng.normal(size=12) + shift * (points[:, 0] > 0.5)
        weights = rng.dirichlet(np.full(12, 5.0))
        spaces.append(ao.Space(ao.from_points(points).cost, weights, features=features))
    found = ao.scale_test(
        spaces, two(5), [0.5, 1.0], attributes=ao.anchors.feature_map(spaces, size=8), rng=0, n_resamples=99
    )
    assert found.pvalue <= 0.05


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_costs": [1.0, 1.0]}, "max_costs must be strictly ascending"),
        ({"max_costs": []}, r"max_costs has shape \(0,\)"),
        ({"max_costs": [1.0, np.nan]}, "max_costs must be finite"),
        ({"labels": [0, 1]}, "got 2 labels, but 12 spaces"),
        ({"labels": ["a"] * 12}, "all labels are 'a'"),
        ({"attributes": "types"}, r"spaces\[0\] has no types"),
        ({"n_resamples": 0}, "n_resamples must be"),
    ],
)
def test_bad_scales_are_one_clear_line(change, said):
    arguments = {"labels": two(6)} | change
    with pytest.raises(ao.InputError, match=said):
        ao.scale_test(lines(0, count=12), **arguments)


def test_what_is_found_says_where():
    found = ao.scale_test(lines(2, n=40) + lines(3, 0.01, n=40), two(6), rng=0)
    low, high = found.band
    first, second, *_ = repr(found).splitlines()
    assert first.startswith(f"ScaleTest: the groups differ (p = {found.pvalue:.4g}) at distances ")
    assert second.strip().startswith(f"most at {low:.4g} to {high:.4g}: ")
    alike = ao.scale_test(lines(2, count=12), two(6), rng=0)
    assert repr(alike).splitlines()[0] == f"ScaleTest: no difference found (p = {alike.pvalue:.4g})"


def test_the_table_of_type_pairs_has_every_band_whether_significant_or_not():
    spaces = tissues(0, "mixed", "mixed", count=4, n=20)
    found = ao.scale_test(spaces, two(4), [0.2, 0.5, 0.9], attributes="types", type_pairs=True, rng=0)
    table = found.table()
    assert [row[:4] for row in table[:4]] == [(0, 0, 0.0, 0.2), (0, 0, 0.2, 0.5), (0, 0, 0.5, 0.9), (0, 1, 0.0, 0.2)]
    assert len(table) == 3 * 3
    assert all(row.pvalue <= row.adjusted_pvalue for row in table)
    assert [row.effect for row in table] == found.pair_effects.ravel().tolist()
    assert len(repr(found).splitlines()) <= 6


def test_results_fit_into_a_file_of_cells(tmp_path):
    anndata = pytest.importorskip("anndata")
    spaces = tissues(0, "mixed", "mixed", count=4, n=20)
    found = ao.scale_test(spaces, two(4), [0.2, 0.9], attributes="types", type_pairs=True, rng=0)
    groups = ao.group_test(ao.pairwise(spaces, attributes="types"), two(4), rng=0)
    shares = ao.composition_test(spaces, two(4), rng=0)
    results = {"scale": found.to_dict(), "groups": groups.to_dict(), "composition": shares.to_dict()}
    cells = anndata.AnnData(np.zeros((3, 1)), uns=results)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    stored = anndata.read_h5ad(tmp_path / "cells.h5ad").uns
    assert stored["scale"]["pvalue"] == found.pvalue
    assert stored["scale"]["table"]["adjusted_pvalue"].tolist() == [row.adjusted_pvalue for row in found.table()]
    assert stored["groups"]["groups"].tolist() == ["a", "b"]
    assert stored["groups"]["pairs"]["energy"].tolist() == [groups.pairs[0].energy]
    assert stored["composition"]["shares"].tolist() == shares.shares.tolist()


# -- arrangement -------------------------------------------------------------------------------------------------------


def fields(*counts, close=0):
    """Fields of view with so many points of A and B; in the last `close` each B is beside an A."""
    found = []
    for k, (n_a, n_b) in enumerate(counts):
        rng = np.random.default_rng([k, 7])
        a, b = rng.random((n_a, 2)), rng.random((n_b, 2))
        if k >= len(counts) - close:
            b = a[rng.integers(n_a, size=n_b)] + 0.03 * rng.normal(size=(n_b, 2))
        found.append(ao.from_points(np.r_[a, b], types=["A"] * n_a + ["B"] * n_b, area=1.0))
    return found


FIELDS = fields(*[(20, 20)] * 5, *[(20, 20)] * 5, close=5)


def test_bands_of_arrangement_are_parts_of_its_energy():
    ends, labels = [0.1, 0.25], np.repeat([0, 1], 5)
    options = {"metric": "arrangement", "rng": 0, "progress": False}
    found = ao.scale_test(FIELDS, labels, ends, type_pairs=True, **options)
    d = [ao.pairwise(FIELDS, metric="arrangement", max_cost=end, progress=False) for end in ends]
    for band, part in enumerate((d[0], d[1] - d[0])):
        share = ao.group_test(np.maximum(part, 0), labels, rng=0, progress=False).share
        assert found.share[band] == pytest.approx(share)
    assert found.pvalue <= 0.02
    assert found.pairs == (("A", "A"), ("A", "B"), ("B", "B"))
    best = found.which()[0]
    assert (best.first, best.second) == ("A", "B")


def test_arrangement_is_looked_at_up_to_a_quarter_of_the_smallest_field():
    found = ao.scale_test(FIELDS, np.repeat([0, 1], 5), metric="arrangement", n_resamples=9, rng=0, progress=False)
    assert 0.2 < found.edges[-1] / min(space.cost.max() for space in FIELDS) <= 0.25


@pytest.mark.parametrize("options", [{"robust": True}, {"attributes": "features"}])
def test_arrangement_takes_no_ranks_or_features(options):
    with pytest.raises(ao.InputError, match="leave robust and attributes out"):
        ao.scale_test(FIELDS, np.repeat([0, 1], 5), [0.1], metric="arrangement", **options)


def test_the_energy_test_of_arrangement_is_that_of_its_distances():
    options = {"rng": 0, "progress": False}
    found = ao.energy_test(FIELDS[:5], FIELDS[5:], metric="arrangement", max_cost=0.2, **options)
    d = ao.pairwise(FIELDS, metric="arrangement", max_cost=0.2, progress=False)
    assert found.pvalue == ao.group_test(d, np.repeat([0, 1], 5), power=0.5, **options).pvalue
    assert found.statistic == pytest.approx(
        ao.energy_test(FIELDS[5:], FIELDS[:5], metric="arrangement", max_cost=0.2, **options).statistic
    )
    with pytest.raises(ao.InputError, match="metric and max_cost are for collections of spaces that are not pooled"):
        ao.energy_test(FIELDS[:5], FIELDS[5:], metric="arrangement", pooled=True, **options)
