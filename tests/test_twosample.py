"""Energy distances between collections, and the tests built on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import anchorot as ao
from anchorot import twosample
from anchorot._kernels import kernels
from anchorot.groups import f_statistics, holm
from anchorot.permutation import permutation_test
from anchorot.pool import Pool

import reference
from strategies import COSTS, spaces


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
    pool = Pool.of(x[0], x[1], "x") + Pool.of(y[0], y[1], "y")
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
        pool = Pool.of(moved, None, "rows")
        return kernels.labelled_energies(pool._over_positions(), pool.items, labels, 1)

    assert energies(1e18) == pytest.approx(energies(10.0), rel=1e-9)


@given(spaces(), spaces())
def test_two_single_spaces_are_at_their_anchor_energy(x, y):
    expected = ao.anchor_energy(x, y)
    assert ao.energy_distance([x], [y]) == pytest.approx(expected, rel=1e-9, abs=1e-11 * range_of(x.cost, y.cost))


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


def samples(seed, s=25, t=30, shift=0.0, sizes=(3, 12)):
    rng = np.random.default_rng(seed)
    x = [rng.normal(size=n) for n in rng.integers(*sizes, size=s)]
    y = [rng.normal(size=n) + shift for n in rng.integers(*sizes, size=t)]
    return x, y


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


def test_threads_and_batches_change_nothing(monkeypatch):
    x, y = samples(2)
    alone = ao.energy_test(x, y, n_resamples=300, rng=3, method="sweep")
    together = ao.energy_test(x, y, n_resamples=300, rng=3, method="sweep", threads=2)
    assert np.array_equal(alone.null, together.null)
    monkeypatch.setattr("anchorot.permutation.BATCH", 7)
    assert ao.energy_test(x, y, n_resamples=300, rng=3, method="sweep").null == pytest.approx(alone.null, rel=1e-12)


def test_spaces_change_sides_as_a_whole():
    rng = np.random.default_rng(0)
    x = [ao.from_points(rng.normal(size=(n, 2))) for n in (4, 6, 5)]
    y = [ao.from_points(rng.normal(size=(n, 2))) for n in (7, 3)]
    found = ao.energy_test(x, y, n_resamples=15, rng=1)
    drawn = np.random.default_rng(1)
    pooled = x + y
    for value in found.null:
        z = np.array([1, 1, 1, 0, 0])[drawn.permutation(5)]
        chosen = [[s for s, side in zip(pooled, z, strict=True) if side == one] for one in (1, 0)]
        assert value == pytest.approx(ao.energy_distance(*chosen))


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
    """Two measures of two kinds: half of all labellings give the observed value, the others 0."""
    found = ao.energy_test([[0.0], [0.0]], [[1.0], [1.0]], n_resamples=500, rng=0)
    ties = np.count_nonzero(found.null == found.statistic)
    assert 0 < ties < 300  # a third on average
    assert found.pvalue == (ties + 1) / 501


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
    assert not twosample._use_matrix(Pool.of(few_values, None, "x"), 999, "auto")
    assert twosample._use_matrix(Pool.of(any_values, None, "x"), 999, "auto")
    one_long = [*any_values, rng.normal(size=200_000)]
    assert not twosample._use_matrix(Pool.of(one_long, None, "x"), 999, "auto")
    many = [rng.normal(size=n) for n in rng.integers(1, 3, 5000)]
    assert not twosample._use_matrix(Pool.of(many, None, "x"), 999, "auto")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [[1.0]]), "rows_x is empty, but at least one item is needed"),
        (([[1.0], []], [[1.0]]), r"rows_x\[1\] has shape \(0,\), but values \(k,\) with k >= 1 are needed"),
        (([[1.0]], [[np.nan]]), r"rows_y\[0\] must be finite"),
        (([[1.0]], [[1.0]], [[0.5], [0.5]]), "there are 2 weights for rows_x, but 1 items in it"),
        (([[1.0, 2.0]], [[1.0]], [[0.5, 0.6]]), "weights must sum to 1"),
        (([ao.Space([[0.0]]), [1.0]], [[1.0]]), r"rows_x mixes spaces with others: rows_x\[1\] is a list"),
        (([ao.Space([[0.0]])], [ao.Space([[0.0]])], [[1.0]]), "spaces bring their own weights"),
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


def test_spaces_have_no_matrix():
    one = ao.Space([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ao.InputError, match="spaces need method='sweep'"):
        ao.energy_test([one], [one], method="matrix")


# -- groups ------------------------------------------------------------------------------------------------------------


def naive_f(powers, labels):
    """F from its definition, by loops."""
    count, groups = len(powers), sorted(set(labels))
    total = sum(powers[i][j] for i in range(count) for j in range(count)) / (2 * count)
    within = 0.0
    for group in groups:
        members = [i for i in range(count) if labels[i] == group]
        within += sum(powers[i][j] for i in members for j in members) / (2 * len(members))
    return ((total - within) / (len(groups) - 1)) / (within / (count - len(groups)))


def points_and_groups(seed, sizes=(6, 7, 8), shifts=(0.0, 0.0, 0.0)):
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.normal(size=(n, 2)) + shift for n, shift in zip(sizes, shifts, strict=True)])
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return distances, np.repeat(list("abc")[: len(sizes)], sizes)


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5])
def test_group_statistic_is_its_definition(power):
    distances, labels = points_and_groups(0)
    found = ao.group_test(distances, labels, power=power, n_resamples=9, rng=0)
    assert found.statistic == pytest.approx(naive_f(distances**power, list(labels)))
    drawn = np.random.default_rng(0)
    for value in found.null:
        assert value == pytest.approx(naive_f(distances**power, list(labels[drawn.permutation(len(labels))])))


def test_squared_distances_of_numbers_give_the_f_of_analysis_of_variance():
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=n) + n / 10 for n in (8, 11, 6)]
    values = np.concatenate(groups)
    labels = np.repeat([0, 1, 2], [8, 11, 6])
    found = ao.group_test((values[:, None] - values) ** 2, labels, rng=0, post_hoc=False)
    expected = stats.f_oneway(*groups)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.05)


def test_two_groups_of_distances_rank_labellings_as_their_energy_distance_does():
    """DISCO of two groups is the energy test: the same p-value from the same permutations."""
    x, y = samples(6, s=9, t=12, shift=0.3)
    steps = (Pool.of(x, None, "x") + Pool.of(y, None, "y")).steps()
    distances = kernels.step_costs(steps, steps, 1, 1)
    by_groups = ao.group_test(distances, ["x"] * 9 + ["y"] * 12, n_resamples=299, rng=5)
    assert by_groups.pvalue == ao.energy_test(x, y, n_resamples=299, rng=5).pvalue


def test_group_test_finds_the_group_that_differs():
    distances, labels = points_and_groups(2, shifts=(0.0, 0.0, 3.0))
    found = ao.group_test(distances, labels, rng=0)
    assert found.pvalue == 0.001
    adjusted = {(pair.first, pair.second): pair.adjusted_pvalue for pair in found.pairs}
    assert adjusted["a", "c"] <= 0.01
    assert adjusted["b", "c"] <= 0.01
    assert adjusted["a", "b"] > 0.05
    assert (found.groups, found.sizes) == (("a", "b", "c"), (6, 7, 8))


def test_group_test_level():
    rejected = sum(
        ao.group_test(*points_and_groups(seed), n_resamples=99, rng=seed, post_hoc=False).pvalue <= 0.05
        for seed in range(400)
    )
    low, high = stats.binom.ppf([0.0005, 0.9995], 400, 0.05)
    assert low <= rejected <= high


def test_holm_against_its_textbook_example():
    """Sorted p-values 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]


def test_groups_without_dispersion_differ_infinitely():
    distances = np.array([[0.0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]])
    found = ao.group_test(distances, [0, 0, 1, 1], n_resamples=300, rng=0)
    assert found.statistic == np.inf
    assert found.pvalue == (np.count_nonzero(np.isinf(found.null)) + 1) / 301
    assert np.isfinite(found.null).any()


def test_all_spaces_alike_have_p_one():
    found = ao.group_test(np.zeros((4, 4)), [0, 0, 1, 1], rng=0)
    assert (found.statistic, found.pvalue) == (0, 1)


def test_the_diagonal_is_not_looked_at():
    """Entropic distances of a space to itself are not zero."""
    distances, labels = points_and_groups(4)
    plain, other = (
        ao.group_test(d, labels, rng=0, post_hoc=False) for d in (distances, distances + np.eye(len(labels)))
    )
    assert np.array_equal(plain.null, other.null)


def test_labels_may_be_of_any_kind_and_order():
    distances, labels = points_and_groups(3)
    mixed = [{"a": 1, "b": "one", "c": None}[label] for label in labels]
    plain, other = (ao.group_test(distances, own, rng=0, post_hoc=False) for own in (labels, mixed))
    assert plain.statistic == pytest.approx(other.statistic)
    assert set(other.groups) == {1, "one", None}


@pytest.mark.parametrize(
    ("distances", "labels", "message"),
    [
        (np.zeros((2, 3)), [0, 1], r"distances has shape \(2, 3\)"),
        (np.zeros((3, 3)), [0, 1], "there are 2 labels, but distances between 3 spaces"),
        (np.zeros((2, 2)), ["a", "a"], "all labels are 'a', but at least two groups are needed"),
        (np.zeros((2, 2)), ["a", "b"], "every group has one member"),
        (-np.ones((3, 3)), [0, 0, 1], "distances must not be negative"),
        (np.triu(np.ones((3, 3))), [0, 0, 1], "distances must be symmetric"),
        (np.full((3, 3), np.nan), [0, 0, 1], "leave out|must be finite"),
        (np.zeros((0, 0)), [], "at least two groups"),
    ],
)
def test_bad_groups_are_refused(distances, labels, message):
    with pytest.raises(ao.InputError, match=message):
        ao.group_test(distances, labels)


def test_many_groups_need_no_more_memory_than_labels_allow():
    """More than 255 groups: their numbers no longer fit a byte."""
    labels = np.repeat(np.arange(300), 2)
    distances = 1.0 - np.equal.outer(labels, labels)
    found = ao.group_test(distances, labels, n_resamples=9, rng=0, post_hoc=False)
    assert found.statistic == np.inf
    assert f_statistics(distances, labels[None])[0] == np.inf


def test_permutations_are_those_of_the_generator():
    labels = np.arange(5, dtype=np.uint8)
    seen = []

    def statistics(drawn):
        seen.extend(drawn.tolist())
        return np.zeros(len(drawn))

    permutation_test(labels, statistics, n_resamples=3, rng=11)
    drawn = np.random.default_rng(11)
    assert seen == [[0, 1, 2, 3, 4], *(drawn.permutation(5).tolist() for _ in range(3))]


# -- graphs ------------------------------------------------------------------------------------------------------------


def test_graph_statistics_are_those_of_networkx():
    import networkx as nx

    from anchorot.graph_statistics import clustering, degrees, tables_of

    graphs = [nx.gnp_random_graph(n, 0.4, seed=n) for n in (1, 2, 9, 15)] + [nx.star_graph(5), nx.complete_graph(4)]
    tables = tables_of(graphs, "graphs")
    for graph, own_degrees, own_clustering in zip(graphs, degrees(tables), clustering(tables), strict=True):
        assert own_degrees.tolist() == [d for _, d in graph.degree()]
        assert own_clustering.tolist() == pytest.approx(list(nx.clustering(graph).values()))


def test_directions_loops_and_parallel_edges_do_not_count():
    plain = [[(0, 1), (1, 2)]]
    odd = [[(1, 0), (1, 2), (2, 1), (1, 1)]]
    assert ao.graph_model_test(plain, odd, n_resamples=1).statistic == 0


@pytest.mark.parametrize("statistic", ["degree", "clustering", "anchors"])
def test_graph_model_test_tells_models_apart_and_not_a_model_from_itself(statistic):
    import networkx as nx

    rng = np.random.default_rng(1)
    rings = [nx.connected_watts_strogatz_graph(20, 4, 0.1, seed=int(rng.integers(1000))) for _ in range(40)]
    trees = [nx.barabasi_albert_graph(20, 1, seed=int(rng.integers(1000))) for _ in range(20)]
    assert ao.graph_model_test(rings[:20], trees, statistic, rng=0).pvalue == 0.001
    assert ao.graph_model_test(rings[:20], rings[20:], statistic, rng=0).pvalue > 0.01


def test_graph_model_test_takes_graphs_of_all_makes():
    import igraph
    import networkx as nx
    from scipy.sparse import csr_array

    edges = [(0, 1), (1, 2), (2, 0), (2, 3)]
    dense = np.zeros((4, 4))
    dense[tuple(np.transpose(edges))] = 1
    makes = [edges, nx.Graph(edges), igraph.Graph(edges=edges), csr_array(dense)]
    for statistic in ("degree", "clustering", "anchors"):
        found = ao.graph_model_test(makes, [edges], statistic, n_resamples=1)
        assert found.statistic == pytest.approx(0, abs=1e-15)


def test_bad_graphs_are_named():
    with pytest.raises(ao.InputError, match=r"graphs_b\[1\]: the graph has no nodes"):
        ao.graph_model_test([[(0, 1)]], [[(0, 1)], []])
    with pytest.raises(ao.InputError, match=r"graphs_a\[0\]: the graph has 2 components .* disconnected='largest'"):
        ao.graph_model_test([[(0, 1), (2, 3)]], [[(0, 1)]], "anchors")
    with pytest.raises(ao.InputError, match="graphs_a is empty"):
        ao.graph_model_test([], [[(0, 1)]])
    with pytest.raises(ao.InputError, match="statistic must be one of 'degree', 'clustering', 'anchors'"):
        ao.graph_model_test([[(0, 1)]], [[(0, 1)]], "colour")


def test_enzymes_halves_are_alike(data):
    graphs = ao.read_tu(data / "tu" / "ENZYMES")
    order = np.random.default_rng(0).permutation(600)
    halves = [[graphs.graphs[i] for i in part] for part in (order[:300], order[300:])]
    for statistic in ("degree", "clustering"):
        assert ao.graph_model_test(*halves, statistic, rng=0).pvalue > 0.01
    mutag = ao.read_tu(data / "tu" / "MUTAG")
    assert ao.graph_model_test(graphs, mutag, rng=0).pvalue == 0.001
