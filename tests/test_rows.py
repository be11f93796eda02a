"""Rows without a square matrix: they compare as the definition says, and as the spaces that they stand for."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import anchorot as ao
from anchorot.many.metrics import METRICS
from tests import reference
from tests.strategies import COSTS, examples, public_value, weight_vectors

SMALL = st.integers(1, 5)
SEEDS = st.integers(0, 10**6)
KINDS = ("C", "N", "O")


@st.composite
def rows(draw, uniform=False):
    n, k = draw(SMALL), draw(SMALL)
    values = draw(st.lists(st.lists(COSTS, min_size=k, max_size=k), min_size=n, max_size=n))
    return ao.Rows(values, None if uniform else draw(weight_vectors(n)))


def near(wanted, *sides):
    low, high = min(s.values.min() for s in sides), max(s.values.max() for s in sides)
    return pytest.approx(wanted, rel=1e-9, abs=1e-12 * ((high - low) or 1.0))


def made(seed, n=None, k=None, *, weighted=True, typed=False):
    """Rows drawn at random, with ties; types of points and of columns, not all of which occur."""
    rng = np.random.default_rng(seed)
    n, k = n or int(rng.integers(1, 9)), k or int(rng.integers(1, 9))
    values = np.round(rng.gamma(2, size=(n, k)), int(rng.integers(1, 8)))
    types = {} if not typed else {"types": rng.choice(KINDS, n).tolist(), "column_types": rng.choice(KINDS, k).tolist()}
    return ao.Rows(values, rng.dirichlet(np.ones(n)) if weighted else None, **types)


# -- against definitions -----------------------------------------------------------------------------------------------


@examples(60)
@given(rows(), rows(), st.sampled_from([1, 2, 3]))
def test_energy_is_that_of_the_definition(x, y, p):
    shares = [np.full((len(s), s.k), 1 / s.k) for s in (x, y)]

    def ground(row, other, own, others):
        return reference.ot_1d(row, other, own, others, p)

    wanted = reference.ragged_energy(x.values, y.values, *shares, x.weights, y.weights, ground)
    scale = float(max(np.abs(x.values).max(), np.abs(y.values).max(), 1.0)) ** p
    assert ao.anchor_energy(x, y, p) == pytest.approx(wanted, rel=1e-9, abs=1e-11 * scale)


@examples(60)
@given(rows(), rows(), st.sampled_from([1, 2]))
def test_sliced_transport_is_that_of_the_definition(x, y, p):
    wanted = reference.sliced_rows(x.values.tolist(), y.values.tolist(), x.weights, y.weights, p) ** (1 / p)
    found = ao.sliced_anchor_wasserstein(x, y, p)
    scale = float(max(np.abs(x.values).max(), np.abs(y.values).max(), 1.0))
    assert found == pytest.approx(wanted, rel=1e-9, abs=(1e-12 if p == 1 else 3e-7) * scale)


@examples(30)
@given(SEEDS)
def test_largest_differences_are_transported_as_a_linear_program_says(seed):
    pytest.importorskip("ot")
    x, y = made(seed, k=6), made(seed + 1, k=int(np.random.default_rng(seed).choice([6, 4])))
    k, l, _ = (np.array(part) for part in zip(*reference.common_levels(x.k, y.k), strict=True))
    costs = cdist(np.sort(x.values)[:, k], np.sort(y.values)[:, l], "chebyshev")
    sums = np.concatenate([np.kron(np.eye(len(x)), np.ones(len(y))), np.kron(np.ones(len(x)), np.eye(len(y)))])
    masses = np.concatenate([x.weights, y.weights])
    wanted = linprog(costs.ravel(), A_eq=sums, b_eq=masses, options={"primal_feasibility_tolerance": 1e-10}).fun
    found = ao.anchor_wasserstein(x, y, epsilon=0, row_metric="linf")
    assert found.value == pytest.approx(wanted, abs=1e-12)
    assert found.value >= ao.anchor_wasserstein(x, y, epsilon=0).value - 1e-12


def test_largest_differences_of_weighted_spaces_are_those_of_their_quantiles():
    pytest.importorskip("ot")
    x = ao.Space([[0, 1], [1, 0]], [0.25, 0.75])
    y = ao.Space([[0, 3], [3, 0]], [0.5, 0.5])
    # anchors of x: 0 up to level 1/4, then 1; 1 up to 3/4 (of the second), then 0 sorted first
    costs = np.array([[2.0, 2.0], [3.0, 3.0]])  # of rows (0 | 1 1 1) and (0 0 0 | 1) to (0 0 | 3 3)
    assert ao.anchor_wasserstein(x, y, epsilon=0, row_metric="linf").value == pytest.approx(
        float(x.weights @ costs @ y.weights)
    )


# -- as good as the spaces that they stand for -----------------------------------------------------------------------


@examples(30)
@given(SEEDS, st.sampled_from([1, 2, 3]), st.booleans())
def test_rows_of_a_uniform_space_compare_as_the_space(seed, p, robust):
    rng = np.random.default_rng(seed)
    spaces = [ao.Space(np.round(rng.uniform(size=(n, n)), 2)) for n in rng.integers(1, 8, 2)]
    as_rows = [ao.Rows(space.cost) for space in spaces]
    assert ao.anchor_energy(*as_rows, p, robust) == ao.anchor_energy(*spaces, p, robust)
    assert ao.anchor_energy(as_rows[0], spaces[1], p, robust) == ao.anchor_energy(*spaces, p, robust)
    if p < 3:
        assert ao.sliced_anchor_wasserstein(*as_rows, p, robust) == ao.sliced_anchor_wasserstein(*spaces, p, robust)
    np.testing.assert_array_equal(ao.signature(as_rows[0], (4, 3)), ao.signature(spaces[0], (4, 3)))


@examples(30)
@given(SEEDS, st.sampled_from([None, 0.7]))
def test_typed_rows_of_a_uniform_space_compare_as_the_space(seed, max_cost):
    rng = np.random.default_rng(seed)
    spaces = [ao.Space(rng.uniform(size=(n, n)), types=rng.choice(KINDS, n)) for n in rng.integers(1, 8, 2)]
    as_rows = [ao.Rows(space.cost, types=space.types, column_types=space.types) for space in spaces]
    for function in (ao.anchor_energy, ao.sliced_anchor_wasserstein):
        how = {"attributes": "types", "max_cost": max_cost}
        assert function(*as_rows, **how) == pytest.approx(function(*spaces, **how), abs=1e-13)


@examples(30)
@given(SEEDS, st.booleans(), st.booleans())
def test_levels_by_type_agree_with_sweeps(seed, first, second):
    x, y = made(seed, weighted=first, typed=True), made(seed + 1, weighted=second, typed=True)
    how = {"attributes": "types", "max_cost": 4.0}
    fx, fy = (ao.AnchorFeatures.of(side, **how) for side in (x, y))
    swept = fx.sweep_energy_to(fy)
    assert ao.anchor_energy(fx, fy) == pytest.approx(swept, abs=1e-12)
    assert ao.anchor_energy(x, y, **how) == pytest.approx(swept, abs=1e-12)
    gaps = super(type(fx), fx).sliced_to(fy)  # by events
    assert ao.sliced_anchor_wasserstein(x, y, **how) == pytest.approx(gaps, abs=1e-12)


def test_equal_rows_are_merged_beside_others_of_the_same_sum():
    merged = ao.Rows([[1, 4], [2, 3], [1, 4], [2, 3]]).merged()
    assert sorted(merged.values.tolist()) == [[1, 4], [2, 3]]


@examples(30)
@given(SEEDS, st.sampled_from(["ae", "saw", "typed", "w2", "p3"]))
def test_splitting_and_reordering_rows_changes_nothing(seed, kind):
    typed = kind == "typed"
    x, y = made(seed, typed=typed), made(seed + 1, typed=typed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.repeat(np.arange(len(x)), 2))
    split = ao.Rows(
        x.values[order] if typed else rng.permuted(x.values[order], axis=1),
        x.weights[order] / 2,
        types=[x.types[i] for i in order] if typed else None,
        column_types=x.column_types,
    )
    function = {
        "ae": ao.anchor_energy,
        "saw": ao.sliced_anchor_wasserstein,
        "typed": lambda *sides: ao.sliced_anchor_wasserstein(*sides, attributes="types", max_cost=9.0),
        "w2": lambda *sides: ao.anchor_energy(*sides, ground="w2"),
        "p3": lambda *sides: ao.anchor_energy(*sides, 3),
    }[kind]
    assert function(split, y) == near(function(x, y), x, y)
    assert function(split, x) == near(0.0, x, y)
    again = split.merged()
    assert len(again) <= len(x)
    assert function(again, y) == near(function(x, y), x, y)


@examples(30)
@given(rows(), rows())
def test_rows_of_no_weight_change_nothing(x, y):
    with_more = ao.Rows(np.vstack([x.values, np.full(x.k, 1e6)]), np.append(x.weights, 0.0))
    for function in (ao.anchor_energy, ao.sliced_anchor_wasserstein, lambda *sides: ao.anchor_energy(*sides, 2)):
        assert function(with_more, y) == near(function(x, y), x, y)


def test_ranks_count_by_weight_and_ignore_increasing_maps():
    x, y = made(0), made(1)
    assert ao.anchor_energy(ao.Rows(x.values**3, x.weights), y, robust=True) == ao.anchor_energy(x, y, robust=True)
    split = ao.Rows(np.repeat(x.values, 3, axis=0), np.repeat(x.weights, 3) / 3)
    np.testing.assert_allclose(split.ranked().values[::3], x.ranked().values, atol=1e-15)


def test_merging_keeps_types_apart_and_moves_distances_by_the_tolerance_at_most():
    x = ao.Rows([[1, 2], [1, 2], [2, 1]], types=list("CCN"), column_types=list("CN"))
    assert len(x.merged()) == 2
    rng = np.random.default_rng(0)
    noisy = ao.Rows(np.repeat(rng.uniform(size=(3, 5)), 4, axis=0) + rng.uniform(-1e-4, 1e-4, size=(12, 5)))
    merged = noisy.merged(3e-4)
    assert len(merged) == 3
    assert ao.sliced_anchor_wasserstein(noisy, merged) <= 3e-4


# -- points -----------------------------------------------------------------------------------------------------------


@examples(30)
@given(SEEDS, st.sampled_from(["euclidean", "cityblock", "chebyshev"]))
def test_all_others_are_the_square_without_its_diagonal(seed, metric):
    rng = np.random.default_rng(seed)
    points = np.round(rng.normal(size=(rng.integers(2, 30), 3)), rng.integers(0, 5))  # some at one place
    square = ao.from_points(points, metric).cost
    n = len(square)
    wanted = np.sort(square[~np.eye(n, dtype=bool)].reshape(n, n - 1))
    np.testing.assert_allclose(ao.Rows.from_points(points, n - 1, metric).values, wanted, atol=1e-12)
    k = int(rng.integers(1, n))
    np.testing.assert_allclose(ao.Rows.from_points(points, k, metric).values, wanted[:, :k], atol=1e-12)


def test_points_with_types_see_the_nearest_of_each():
    rng = np.random.default_rng(0)
    points, types = rng.normal(size=(20, 2)), np.repeat(["a", "b"], [8, 12])
    found = ao.Rows.from_points(points, 5, types=types)
    assert found.column_types == ("a",) * 5 + ("b",) * 5
    square = ao.from_points(points).cost
    np.fill_diagonal(square := square.copy(), np.inf)
    for place, kind in enumerate("ab"):
        wanted = np.sort(square[:, types == kind])[:, :5]
        np.testing.assert_allclose(found.values[:, 5 * place : 5 * place + 5], wanted, atol=1e-12)


def test_threads_and_single_precision_change_what_they_say():
    points = np.random.default_rng(0).normal(size=(500, 3))
    double, single = (ao.Rows.from_points(points, 10, dtype=dtype) for dtype in ("float64", "float32"))
    np.testing.assert_array_equal(ao.Rows.from_points(points, 10, threads=2).values, double.values)
    np.testing.assert_array_equal(single.values, double.values.astype(np.float32))


# -- where they go -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ae", "saw", "aw"])
def test_all_pairs_have_the_bits_of_the_function(name):
    pytest.importorskip("ot")
    many = [made(seed, weighted=seed % 3 > 0) for seed in range(7)]
    many += [ao.Space(np.random.default_rng(0).uniform(size=(5, 5))), many[0]]
    values = ao.pairwise(many, metric=name, progress=False)
    for i, j in ((0, 1), (0, 3), (2, 4), (1, 7), (0, 7)):
        assert values[i, j] == public_value(name, many[i], many[j])
    some = ao.pairwise(many, metric=name, k=3, progress=False, **({"epsilon": 0} if name == "aw" else {}))
    values = ao.pairwise(many, metric=name, progress=False, **({"epsilon": 0} if name == "aw" else {}))
    np.fill_diagonal(values, np.inf)
    np.testing.assert_array_equal(some.value, np.sort(values)[:, :3])


def test_largest_differences_are_an_option_of_all_pairs_and_their_neighbours():
    pytest.importorskip("ot")
    many = [made(seed, k=5) for seed in range(8)]
    how = {"metric": "aw", "epsilon": 0, "row_metric": "linf", "progress": False}
    values = ao.pairwise(many, **how)
    assert values[1, 2] == ao.anchor_wasserstein(many[1], many[2], epsilon=0, row_metric="linf").cost
    np.fill_diagonal(values, np.inf)
    np.testing.assert_array_equal(ao.pairwise(many, k=2, **how).value, np.sort(values)[:, :2])
    with pytest.raises(ao.InputError, match="'linf' goes with p=1"):
        ao.pairwise(many, **how, p=2)


def test_types_are_compared_in_collections():
    many = [made(seed, typed=True, weighted=seed % 2 > 0) for seed in range(5)]
    how = {"attributes": "types", "max_cost": 9.0}
    values = ao.pairwise(many, metric="saw", progress=False, **how)
    assert values[0, 3] == ao.sliced_anchor_wasserstein(many[0], many[3], **how)
    assert ao.pairwise(many, metric="saw", attributes="types", progress=False)[0, 1] > 0  # max_cost of all


def test_checkpoints_tell_rows_apart(tmp_path):
    many = [made(seed) for seed in range(4)]
    first = ao.pairwise(many, checkpoint=tmp_path, progress=False)
    np.testing.assert_array_equal(ao.pairwise(many, checkpoint=tmp_path, progress=False), first)
    many[2] = ao.Rows(many[2].values + 1, many[2].weights)
    with pytest.raises(ao.InputError):
        ao.pairwise(many, checkpoint=tmp_path, progress=False)


def test_two_samples_of_rows_are_tested():
    x, y = ([made(seed + shift, k=6) for seed in range(8)] for shift in (0, 100))
    far = [ao.Rows(side.values + 3, side.weights) for side in y]
    assert ao.energy_test(x, far, n_resamples=99, rng=0).pvalue <= 0.02
    assert ao.energy_test(x, x, n_resamples=99, rng=0).pvalue > 0.5


def test_estimators_take_rows():
    pytest.importorskip("sklearn")
    from anchorot.estimators import AnchorNeighborsClassifier

    x = [made(seed, k=6) for seed in range(8)] + [ao.Rows(made(seed, k=6).values + 3) for seed in range(8)]
    labels = np.repeat([0, 1], 8)
    for metric in ("ae", "saw", "aw"):
        pytest.importorskip("ot")
        assert (AnchorNeighborsClassifier(metric=metric).fit(x, labels).predict(x) == labels).all()


def test_rows_survive_pickling_and_cannot_be_changed():
    x = made(0, typed=True)
    y = pickle.loads(pickle.dumps(x))
    for side in (x, y):
        assert not side.values.flags.writeable
        assert not side.weights.flags.writeable
        with pytest.raises(AttributeError):
            side.values = 0
    np.testing.assert_array_equal(x.values, y.values)
    assert (x.types, x.column_types, repr(x)) == (y.types, y.column_types, repr(y))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ao.Rows([1, 2]), r"values has shape \(2,\), but rows \(n, k\)"),
        (lambda: ao.Rows(np.zeros((2, 0))), r"shape \(2, 0\)"),
        (lambda: ao.Rows([[1, np.nan]]), "values must be finite"),
        (lambda: ao.Rows([[1, 2]], [0.5, 0.5]), "weights has shape"),
        (lambda: ao.Rows([[1, 2]], types=["C"], column_types=["C"]), "column_types has 1 entries, but values has 2"),
        (lambda: ao.Rows([[1, 2]], types=["C", "C"]), "types has 2 entries, but values has 1 points"),
        (lambda: ao.Rows([[1, 2]]).merged(0), "tolerance must be a positive number"),
        (lambda: ao.Rows.from_points(np.zeros((3, 2)), 3), "k must be below the number of points, but got k=3 for 3"),
        (lambda: ao.Rows.from_points(np.zeros((3, 2)), 1, types=list("aab")), "below the number of points of one type"),
        (lambda: ao.Rows.from_points(np.zeros((3, 2)), 1, "cosine"), "metric must be one of"),
        (lambda: ao.Rows.from_points([1, 2], 1), r"points has shape \(2,\)"),
        (lambda: ao.gromov_wasserstein(made(0), made(1)), "got Rows, but a Space .* is needed; rows lack the square"),
        (lambda: ao.pairwise([made(0), made(1)], metric="gw"), "rows lack the square"),
        (lambda: ao.pairwise(made(0)), "spaces must be a sequence"),
        (lambda: ao.anchor_energy(made(0), made(1), attributes="types"), "have no types, but attributes='types' needs"),
        (lambda: ao.anchor_energy(made(0), made(1), attributes="features"), "features"),
        (lambda: ao.anchor_wasserstein(made(0), made(1), row_metric="l2"), "row_metric must be one of"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_metrics_that_take_rows_are_those_of_the_message():
    taken = []
    for name in METRICS:
        try:
            ao.pairwise([made(0), made(1)], metric=name, progress=False)
            taken.append(name)
        except ao.InputError:
            continue
    assert {"ae", "saw", "aw"} <= set(taken) <= {"ae", "saw", "aw", "tlb"}


@pytest.mark.parametrize("how", [{}, {"metric": "saw"}, {"attributes": "types"}])
def test_an_index_finds_the_nearest_rows_and_keeps_them_in_its_file(how, tmp_path):
    pytest.importorskip("faiss")
    many = [made(seed, k=6, weighted=seed % 2 > 0, typed="attributes" in how) for seed in range(40)]
    index = ao.SearchIndex.build(many, path=tmp_path / "rows.index", **how)
    given = {"metric": "ae", **how, **({"max_cost": 30.0} if "attributes" in how else {})}
    for again in (index, ao.SearchIndex.load(tmp_path / "rows.index")):
        found = again.query(many[7], k=5)
        if "attributes" in how:
            assert found.index[0] == 7
            continue
        values = ao.pairwise([many[7]], many, progress=False, **given)[0]
        np.testing.assert_allclose(found.value, np.sort(values)[:5], atol=1e-12)


def test_rows_are_embedded_below_their_energies():
    many = [made(seed, weighted=seed % 2 > 0) for seed in range(6)]
    vectors = ao.embed(many, (16, 16), progress=False)
    energies = ao.pairwise(many, progress=False)
    bounds = 2 * cdist(vectors, vectors, "sqeuclidean")
    assert (bounds <= energies + 1e-5).all()


@pytest.mark.parametrize("pooled", [True, False])
def test_pooled_tests_and_arrangements_refuse_rows(pooled):
    many = [made(seed) for seed in range(4)]
    if pooled:
        with pytest.raises(ao.InputError, match="rows_x has Rows"):
            ao.energy_test(many, many, pooled=True)
    else:
        with pytest.raises(ao.InputError, match=r"spaces\[0\] has no area"):
            ao.pairwise([ao.Rows([[1.0]], types=["C"], column_types=["C"])] * 2, metric="arrangement", progress=False)
