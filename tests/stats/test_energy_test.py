"""Energy distances between collections, and the tests built on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import anchorot as ao
from anchorot._kernels import kernels
from anchorot.stats import pooled
from anchorot.stats.exchangeability import exchange_of
from anchorot.stats.permutation import permutation_test
from anchorot.stats.pooled import PooledMeasures
from tests import reference
from tests.strategies import COSTS, clouds, relabelled_copies, samples, spaces, with_a_light_point


@st.composite
def collections(draw, weighted=None):
    """Some measures of different sizes and, perhaps, their weights."""
    rows = draw(st.lists(st.lists(COSTS, min_size=1, max_size=6).map(np.array), min_size=1, max_size=5))
    if not (draw(st.booleans()) if weighted is None else weighted):
        return rows, None
    raw = [draw(st.lists(st.integers(0, 4), min_size=len(r), max_size=len(r)).filter(any)) for r in rows]
    return rows, [np.array(w) / sum(w) for w in raw]


def uniform(rows):
    return [np.full(len(row), 1 / len(row)) for row in rows]


def naive(rows_x, weights_x, rows_y, weights_y):
    return reference.ragged_energy(
        rows_x,
        rows_y,
        weights_x or uniform(rows_x),
        weights_y or uniform(rows_y),
        np.full(len(rows_x), 1 / len(rows_x)),
        np.full(len(rows_y), 1 / len(rows_y)),
    )


def range_of(*collections):
    values = np.concatenate([np.ravel(row) for rows in collections for row in rows])
    return np.ptp(values) or 1.0


@given(collections(), collections())
def test_energy_distance_is_the_quadratic_formula(x, y):
    expected = naive(*x, *y)
    found = ao.energy_distance(x[0], y[0], x[1], y[1])
    assert found >= 0
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * range_of(x[0], y[0]))


@given(collections(), collections())
def test_both_directions_of_the_sweep_agree(x, y):
    pool = PooledMeasures.of(x[0], x[1], "x") + PooledMeasures.of(y[0], y[1], "y")
    labels = np.array([[1] * len(x[0]) + [0] * len(y[0])], np.uint8)
    over_positions, over_levels = (
        kernels.labelled_energies(moves, pool.items, labels, 1)[0]
        for moves in (pool._over_positions(), pool._over_levels())
    )
    assert over_positions == pytest.approx(over_levels, rel=1e-9, abs=1e-12 * range_of(x[0], y[0]))


@pytest.mark.parametrize("kind", ["few values", "any values", "equal sizes", "weights", "far apart"])
def test_large_collections_agree_with_anchor_features(kind):
    """Hundreds of measures, so that every way through the kernel is taken, over several stretches."""
    rng = np.random.default_rng(5)
    sizes = np.full(900, 40) if kind == "equal sizes" else rng.integers(1, 90, size=900)
    rows = [rng.poisson(3, n) if kind == "few values" else rng.normal(size=n) for n in sizes]
    if kind == "far apart":
        rows = [np.where(rng.random(len(row)) < 0.01, 1e18, row) for row in rows]
    weights = [rng.dirichlet(np.ones(n)) for n in sizes] if kind == "weights" else None
    x, y = rows[:300], rows[300:]
    weights_x, weights_y = (None, None) if weights is None else (weights[:300], weights[300:])
    features = ao.AnchorFeatures.of_rows(x, weights_x), ao.AnchorFeatures.of_rows(y, weights_y)
    expected = features[0].sweep_energy_to(features[1])
    assert ao.energy_distance(x, y, weights_x, weights_y) == pytest.approx(expected, rel=1e-9)


def test_what_rounding_leaves_does_not_meet_a_large_gap():
    """A twentieth of every measure lies far away, so the way there counts for nothing, however long it is."""
    rng = np.random.default_rng(8)
    rows = [rng.normal(size=20 * n) for n in rng.integers(1, 6, size=300)]
    labels = rng.permuted(np.repeat(np.repeat(np.array([[1, 0]], np.uint8), 150, axis=1), 20, axis=0), axis=1)

    def energies(far):
        moved = [np.concatenate([row[: len(row) * 19 // 20], np.full(len(row) // 20, far)]) for row in rows]
        pool = PooledMeasures.of(moved, None, "rows")
        return kernels.labelled_energies(pool._over_positions(), pool.items, labels, 1)

    assert energies(1e18) == pytest.approx(energies(10.0), rel=1e-9)


@given(spaces(), spaces())
def test_two_single_spaces_are_at_their_anchor_energy(x, y):
    expected = ao.anchor_energy(x, y)
    found = ao.energy_distance([x], [y], pooled=True)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-11 * range_of(x.cost, y.cost))
    assert ao.energy_distance([x], [y]) == pytest.approx(2 * expected**0.5, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_energy_test_by_saw_compares_sliced_distances(weighted):
    x, y = clouds([9] * 6, 0, weighted=weighted), clouds([9] * 5, 1, weighted=weighted)
    found = ao.energy_test(x, y, metric="saw", n_resamples=99, rng=0)
    distances = [
        [[ao.sliced_anchor_wasserstein(a, b) for b in right] for a in left] for left in (x, y) for right in (x, y)
    ]
    of_x, between, _, of_y = map(np.mean, distances)
    assert found.statistic == pytest.approx(2 * between - of_x - of_y, rel=1e-12)
    assert ao.energy_test(x, x, metric="saw", n_resamples=99, rng=0).pvalue == 1


def test_equal_samples_of_degrees_against_scipy():
    """Measures of one atom each: the energy distance of plain numbers, which SciPy has as its root."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=40), rng.normal(size=30) + 0.5
    found = ao.energy_distance([[v] for v in x], [[v] for v in y])
    assert found == pytest.approx(stats.energy_distance(x, y) ** 2)


@given(collections(weighted=False), st.integers(0, 2**32))
def test_splitting_a_value_in_two_halves_changes_nothing(x, seed):
    rows = x[0]
    other = [np.random.default_rng(seed).normal(size=3)]
    doubled = [np.repeat(row, 2) for row in rows]
    assert ao.energy_distance(rows, other) == pytest.approx(ao.energy_distance(doubled, other), abs=1e-10)


@pytest.mark.parametrize("round_to", [None, 0])
def test_every_permuted_statistic_is_the_energy_distance_of_the_permuted_collections(round_to):
    x, y = samples(1)
    if round_to is not None:
        x, y = ([row.round(round_to) for row in rows] for rows in (x, y))
    pooled = x + y
    drawn = np.random.default_rng(7)
    permuted = [np.array([1] * 25 + [0] * 30)[drawn.permutation(55)] for _ in range(20)]
    expected = [
        naive(
            [r for r, z in zip(pooled, z, strict=True) if z],
            None,
            [r for r, z in zip(pooled, z, strict=True) if not z],
            None,
        )
        for z in permuted
    ]
    for method in ("sweep", "matrix"):
        found = ao.energy_test(x, y, n_resamples=20, rng=7, method=method)
        assert found.null == pytest.approx(expected, rel=1e-9)
        assert found.statistic == pytest.approx(naive(x, None, y, None), rel=1e-9)


def test_batches_change_nothing(monkeypatch):
    x, y = samples(2)
    alone = ao.energy_test(x, y, n_resamples=300, rng=3, method="sweep")
    monkeypatch.setattr("anchorot.stats.permutation.BATCH", 7)
    assert ao.energy_test(x, y, n_resamples=300, rng=3, method="sweep").null == pytest.approx(alone.null, rel=1e-12)


@pytest.mark.parametrize("pooled", [False, True])
def test_spaces_change_sides_as_a_whole(pooled):
    rng = np.random.default_rng(0)
    x = [ao.from_points(rng.normal(size=(n, 2))) for n in (4, 6, 5)]
    y = [ao.from_points(rng.normal(size=(n, 2))) for n in (7, 3)]
    found = ao.energy_test(x, y, pooled=pooled, n_resamples=9, rng=1)
    drawn = np.random.default_rng(1)
    for value in found.null:
        z = np.array([1, 1, 1, 0, 0])[drawn.permutation(5)]
        chosen = [[s for s, side in zip(x + y, z, strict=True) if side == one] for one in (1, 0)]
        assert value == pytest.approx(ao.energy_distance(*chosen, pooled=pooled))


@pytest.mark.parametrize("method", ["sweep", "matrix"])
@pytest.mark.parametrize("values", ["few", "any"])
def test_identical_samples_have_p_one(method, values):
    x, _ = samples(3)
    if values == "few":
        x = [row.round() for row in x]
    found = ao.energy_test(x, x, n_resamples=199, rng=0, method=method)
    assert found.pvalue == 1
    assert found.statistic == pytest.approx(0, abs=1e-15)


def test_pvalue_counts_ties_and_the_observed_statistic():
    """Eight measures of two kinds: two of 70 labellings give the observed value."""
    found = ao.energy_test([[0.0]] * 4, [[1.0]] * 4, n_resamples=34, rng=0)
    ties = np.count_nonzero(found.null == found.statistic)
    assert 0 < ties < 5  # one on average
    assert found.pvalue == (ties + 1) / 35


def test_rejection_rate_on_one_distribution_is_the_level():
    """Over 400 repetitions within the central 99.9 % of the binomial distribution."""
    rates = {"sweep": 0, "stopped": 0}
    for seed in range(400):
        x, y = samples(seed, s=12, t=14)
        rates["sweep"] += ao.energy_test(x, y, n_resamples=199, rng=seed).pvalue <= 0.05
        rates["stopped"] += ao.energy_test(x, y, n_resamples=199, rng=seed, stop_after=20).pvalue <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], 400, 0.05)
    assert low <= rates["sweep"] <= high
    assert low <= rates["stopped"] <= high


def test_power_grows_to_one_with_the_shift():
    rejected = [
        np.mean(
            [ao.energy_test(*samples(seed, shift=shift), n_resamples=99, rng=seed).pvalue <= 0.05 for seed in range(40)]
        )
        for shift in (0.1, 0.3, 0.8)
    ]
    assert rejected[0] < rejected[1] < rejected[2]
    assert rejected[2] == 1


def test_power_against_a_difference_that_means_do_not_show():
    """Graphs of two kinds against graphs that are all alike, with the same mean degree."""
    rng = np.random.default_rng(0)
    mixed = [rng.poisson(rng.choice([1, 5]), size=40) for _ in range(40)]
    alike = [rng.poisson(3, size=40) for _ in range(40)]
    assert ao.energy_test(mixed, alike, rng=0).pvalue == 0.001


def test_early_stop_is_the_full_test_cut_short():
    x, y = samples(4)
    full = ao.energy_test(x, y, n_resamples=999, rng=0)
    early = ao.energy_test(x, y, n_resamples=999, rng=0, stop_after=10)
    assert early.stopped_early
    assert np.array_equal(early.null, full.null[: len(early.null)])
    reached = full.null >= full.statistic
    assert np.count_nonzero(reached[: len(early.null)]) == 10
    assert reached[len(early.null) - 1]
    assert early.pvalue == 10 / len(early.null)


def test_early_stop_that_never_comes_is_the_full_test():
    x, y = samples(4, shift=3.0)
    early = ao.energy_test(x, y, n_resamples=199, rng=0, stop_after=10)
    assert (early.stopped_early, early.pvalue, len(early.null)) == (False, 1 / 200, 199)


def test_method_is_chosen_by_size():
    rng = np.random.default_rng(0)
    few_values = [rng.poisson(3, 30) for _ in range(1500)]
    any_values = [rng.normal(size=n) for n in rng.integers(20, 60, 100)]
    assert not pooled._use_matrix(PooledMeasures.of(few_values, None, "x"), 999, "auto")
    assert pooled._use_matrix(PooledMeasures.of(any_values, None, "x"), 999, "auto")
    one_long = [*any_values, rng.normal(size=200_000)]
    assert not pooled._use_matrix(PooledMeasures.of(one_long, None, "x"), 999, "auto")
    many = [rng.normal(size=n) for n in rng.integers(1, 3, 5000)]
    assert not pooled._use_matrix(PooledMeasures.of(many, None, "x"), 999, "auto")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [[1.0]]), "rows_x is empty, but at least one measure is needed"),
        (([[1.0], []], [[1.0]]), r"rows_x\[1\] has shape \(0,\), but \(k,\) with k >= 1 is needed"),
        (([[1.0]], [[np.nan]]), r"rows_y\[0\] must be finite"),
        (([[1.0]], [[1.0]], [[0.5], [0.5]]), "got 2 arrays of weights for the 1 measures of rows_x"),
        (([[1.0, 2.0]], [[1.0]], [[0.5, 0.6]]), "weights must sum to 1"),
        (([ao.Space([[0.0]]), [1.0]], [[1.0]]), r"rows_x must be all spaces or none: rows_x\[1\] is a list"),
        (([ao.Space([[0.0]])], [ao.Space([[0.0]])], [[1.0]]), "spaces have their own weights"),
        ((3, [[1.0]]), "rows_x must be a list of measures or spaces, but got 3"),
        (([[1.0]], {"a": [1.0]}), "rows_y must be a list of measures or spaces, but got {'a': "),
    ],
)
def test_bad_collections_are_refused_in_one_line(arguments, message):
    for function in (ao.energy_distance, ao.energy_test):
        with pytest.raises(ao.InputError, match=message) as caught:
            function(*arguments)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, "n_resamples must be an integer >= 1"),
        ({"stop_after": 0}, "stop_after must be an integer >= 1"),
        ({"method": "magic"}, "method must be one of 'auto', 'sweep', 'matrix'"),
        ({"threads": 0}, "threads must be an integer >= 1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.energy_test([[1.0]], [[2.0]], **options)


OVERFLOW = "differences of costs exceed the range of float64; divide all costs by their largest first"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["sweep", "matrix"])
def test_overflow_is_one_clear_line(method, weighted):
    far = [[-1.5e308, -1.4e308], [-1.5e308, -1.3e308, -1e308]], [[1.5e308, 1.4e308], [1.5e308, 1.3e308]]
    weights = ([[0.25, 0.75], [0.5, 0.25, 0.25]], [[0.5, 0.5]] * 2) if weighted else (None, None)
    with pytest.raises(ao.InputError, match=OVERFLOW):
        ao.energy_test(*far, *weights, method=method, n_resamples=9)
    with pytest.raises(ao.InputError, match=OVERFLOW):
        ao.energy_distance(*far, *weights)


@pytest.mark.parametrize("method", ["sweep", "matrix"])
def test_no_statistic_is_negative(method):
    """Labellings that split pairs of equals have an energy distance of 0, but for rounding."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = [rng.normal(size=n) for n in rng.integers(1, 8, rng.integers(2, 9))]
        found = ao.energy_test(x, x[::-1], n_resamples=60, rng=seed, method=method)
        assert found.statistic >= 0
        assert found.null.min() >= 0


@pytest.mark.parametrize("weight", [1e-17, 1e-20, 1e-300])
def test_values_of_next_to_no_weight_change_next_to_nothing(weight):
    rng = np.random.default_rng(1)
    rows = [np.append(rng.normal(size=n), 3.0) for n in (9, 4, 6)]
    other = [rng.normal(size=5)]
    heavy = [rng.integers(1, 9, len(row) - 1) for row in rows]
    light, none = ([np.append(w / w.sum(), last) for w in heavy] for last in (weight, 0))
    expected = ao.energy_distance(rows, other, none)
    assert ao.energy_distance(rows, other, light) == pytest.approx(expected, rel=1e-12)
    for method in ("sweep", "matrix"):
        found, plain = (ao.energy_test(rows, other, w, method=method, n_resamples=20, rng=0) for w in (light, none))
        assert found.null == pytest.approx(plain.null, rel=1e-12)


@given(spaces(), spaces(), st.sampled_from([0, 1e-20, 1e-300]), st.sampled_from([-1e12, 1e300]))
def test_weightless_points_of_spaces_change_nothing(x, y, weight, far):
    light = with_a_light_point(x, weight, far)
    assert ao.energy_distance([light], [y], pooled=True) == pytest.approx(
        ao.energy_distance([x], [y], pooled=True), rel=1e-12, abs=1e-13 * range_of(x.cost, y.cost)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ground", ["w1", "w2"])
@pytest.mark.parametrize("pooled", [False, True])
def test_the_order_of_points_is_no_difference(weighted, ground, pooled):
    """Statistics of relabelled copies are what rounding leaves, from which no test may conclude."""
    copies = relabelled_copies(weighted)
    found = ao.energy_test(copies[:4], copies[4:], ground=ground, pooled=pooled, n_resamples=199, rng=0, progress=False)
    assert found.pvalue == 1


@pytest.mark.parametrize("far", [1e6, 1e14])
def test_one_far_space_makes_no_labellings_equal(far):
    """The energy test of weighted spaces is DISCO of the roots, however large the costs of one space are."""

    def space(seed, scale):
        rng = np.random.default_rng(seed)
        return ao.Space(scale * ao.from_points(rng.normal(size=(8, 2))).cost, rng.dirichlet(np.full(8, 9.0)))

    x, y = [space(k, 1.0) for k in range(4)], [*(space(10 + k, 1.3) for k in range(3)), space(99, far)]
    by_groups = ao.group_test(np.sqrt(ao.pairwise(x + y)), [0] * 4 + [1] * 4, rng=0, post_hoc=False)
    assert ao.energy_test(x, y, rng=0).pvalue == by_groups.pvalue < 1


def test_pooled_anchors_have_no_matrix_and_distances_between_spaces_no_sweep():
    one = ao.Space([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ao.InputError, match="use method='sweep'"):
        ao.energy_test([one], [one], pooled=True, method="matrix")
    with pytest.raises(ao.InputError, match="needs pooled=True"):
        ao.energy_test([one], [one], method="sweep")
    with pytest.raises(ao.InputError, match="pooled=True is for collections of spaces"):
        ao.energy_test([[1.0]], [[2.0]], pooled=True)


def test_permutations_are_those_of_the_generator():
    labels = exchange_of(np.arange(5, dtype=np.uint8) // 2)
    seen = []

    def statistics(drawn):
        seen.extend(drawn.tolist())
        return np.zeros(len(drawn))

    permutation_test(labels, statistics, n_resamples=3, rng=11)
    drawn = np.random.default_rng(11)
    assert seen == [[0, 0, 1, 1, 2], *((drawn.permutation(5) // 2).tolist() for _ in range(3))]
