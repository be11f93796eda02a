"""All pairs of many spaces: the same numbers as one by one, whoever computes them."""

import threading
import warnings
import weakref
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.anchors.features import as_features
from anchorot.many import job, metrics
from anchorot.many.metrics import FIELD_METRICS, METRICS
from tests.strategies import assert_same, clouds, examples, public_value, spaces

POWERS = {"ae": [1, 2, 3], "aw": [1, 2, 3], "slb": [1, 2], "tlb": [1, 2]}  # of others their own alone
EPSILONS = {"aw": [0.0, 0.5], "gw": [None, 0.5]}


@st.composite
def options_of(draw, name):
    epsilon = draw(st.sampled_from(EPSILONS.get(name, [None])))
    robust = bool(epsilon) or draw(st.booleans())  # ranks have a scale that epsilon can be of
    return {"p": draw(st.sampled_from(POWERS.get(name, [METRICS[name].power]))), "robust": robust, "epsilon": epsilon}


# -- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METRICS)
@given(data=st.data())
@examples(20)
def test_values_are_those_of_the_public_function(name, data):
    if name != "ae":
        pytest.importorskip("ot")
    options = data.draw(options_of(name))
    some = st.lists(spaces(), min_size=1, max_size=2 if name == "gw" else 3)
    many, others = data.draw(some), data.draw(st.none() | some)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)
        found = ao.pairwise(many, others, name, **options, n_jobs=1, tile=data.draw(st.integers(1, 3)))
        if others is not None:
            expected = [[public_value(name, x, y, **options) for y in others] for x in many]
        else:
            pairs = [(i, j) for j in range(len(many)) for i in range(j + 1)]
            values = {pair: public_value(name, *(many[k] for k in pair), **options) for pair in pairs}
            expected = [[values[min(i, j), max(i, j)] for j in range(len(many))] for i in range(len(many))]
            if zero_to_itself := not options["epsilon"]:
                np.fill_diagonal(expected := np.array(expected), 0)  # where the public function may round
            assert (np.diag(found) == 0).all() or not zero_to_itself
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", METRICS)
def test_defaults_are_those_of_the_public_function(name):
    pytest.importorskip("ot")
    x, y = clouds(2)
    assert ao.pairwise([x], [y], name, n_jobs=1).tolist() == [[public_value(name, x, y)]]


@pytest.mark.parametrize("name", METRICS)
def test_symmetric_whatever_the_solver_does(name):
    if name != "ae":
        pytest.importorskip("ot")
    found = ao.pairwise(clouds(7), metric=name, n_jobs=1, tile=3)
    np.testing.assert_array_equal(found, found.T)
    assert (found[~np.eye(7, dtype=bool)] > 0).all()


def test_a_space_is_not_at_zero_from_itself_with_entropy():
    x = clouds(1)[0]
    found = ao.pairwise([x], metric="aw", epsilon=0.3)
    assert found[0, 0] == ao.anchor_wasserstein(x, x, epsilon=0.3).cost > 0


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"n_jobs": 3, "tile": 2}, {"tile": 1}, {"memory": 1}])
def test_neither_threads_nor_tiles_nor_memory_change_a_bit(options):
    many, others = clouds(11), clouds(5, seed=1)
    for second in (None, others):
        expected = ao.pairwise(many, second, n_jobs=1, tile=100)
        np.testing.assert_array_equal(ao.pairwise(many, second, **options), expected)


def test_no_pair_is_compared_twice(monkeypatch):
    compared = []
    real = ao.AnchorFeatures.energy_to
    monkeypatch.setattr(
        ao.AnchorFeatures, "energy_to", lambda *args, **options: compared.append(1) or real(*args, **options)
    )
    together = metrics.kernels.level_energies

    def counted(xs, ys, counts):
        compared.extend([1] * sum(counts))
        return together(xs, ys, counts)

    monkeypatch.setattr(metrics.kernels, "level_energies", counted)
    ao.pairwise(uniform(10), tile=4)
    assert len(compared) == 45


def test_spaces_that_are_compared_in_one_call_have_the_bits_of_one_by_one(monkeypatch):
    many = [*uniform(8), *(ao.Space(x.cost.astype(np.float32)) for x in uniform(3)), *clouds(8)]
    found = ao.pairwise(many, tile=5)
    monkeypatch.setattr(metrics, "_energies", lambda *given: None)
    assert_same(found, ao.pairwise(many, tile=5))


@pytest.mark.parametrize("is_uniform", [True, False])
def test_a_tile_is_one_call_without_the_gil(is_uniform, monkeypatch):
    calls = []
    real = metrics._energies
    monkeypatch.setattr(metrics, "_energies", lambda *given: calls.append(1) or real(*given))
    one_by_one = []
    monkeypatch.setattr(ao.AnchorFeatures, "energy_to", lambda *given, **options: one_by_one.append(1) or 0.0)
    many = [x for x in (*uniform(8), *clouds(24)) if x.is_uniform == is_uniform][:8]
    ao.pairwise(many, tile=4, n_jobs=2)
    assert len(calls) == 3
    assert not one_by_one


def test_spaces_of_many_costs_are_compared_in_several_calls(monkeypatch):
    many = uniform(8)
    expected = ao.pairwise(many, tile=8)
    monkeypatch.setattr(job, "BYTES_TOGETHER", 1)
    assert_same(ao.pairwise(many, tile=8), expected)


def test_two_spaces_whose_costs_are_too_large_are_named_among_many():
    many = [*uniform(3), ao.Space(1e308 * (1 - np.eye(3)))]
    with pytest.raises(ao.InputError, match=r"^spaces\[0\] and spaces\[3\]: costs to the power p=3 exceed"):
        ao.pairwise(many, p=3)


def test_arrays_features_files_and_spaces_are_the_same(tmp_path):
    many = clouds(6)[:2]
    many = [ao.Space(x.cost) for x in many]
    ao.write(many[0], tmp_path / "x.npz")
    np.save(tmp_path / "y.npy", many[1].cost)
    expected = ao.pairwise(many)
    for same in (
        [x.cost for x in many],
        [ao.AnchorFeatures.of(x) for x in many],
        [tmp_path / "x.npz", str(tmp_path / "y.npy")],
        (many[0].cost.tolist(), tmp_path / "y.npy"),
        [lambda: many[0], partial(ao.read, tmp_path / "y.npy")],
    ):
        np.testing.assert_array_equal(ao.pairwise(same), expected)
    stacked = np.stack([many[0].cost, many[0].cost * 2])
    assert ao.pairwise(stacked)[0, 1] == ao.anchor_energy(*stacked)


def test_result_goes_where_it_is_wanted(tmp_path):
    many = clouds(5)
    out = np.lib.format.open_memmap(tmp_path / "d.npy", mode="w+", shape=(5, 5))
    assert ao.pairwise(many, out=out) is out
    out.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), ao.pairwise(many))


def test_solvers_that_stop_early_are_counted_once(monkeypatch):
    real = metrics.anchor_transport
    monkeypatch.setattr(metrics, "anchor_transport", lambda *args, **options: real(*args, **options, max_iter=1))
    with pytest.warns(ao.ConvergenceWarning, match="did not converge for 3 pairs") as caught:
        ao.pairwise(clouds(3), metric="aw", epsilon=1e-5)
    assert len(caught) == 1


SEVEN = (5, 8, 12, 9, 5, 8, 12)  # points; three pairs have equally many


@pytest.fixture
def equal_sizes_fail(monkeypatch):
    """Let a metric have no value for spaces of equal sizes: three pairs of `SEVEN`."""
    real = ao.AnchorFeatures.energy_to

    def energy_to(self, other, p, **options):
        n, m = self.levels.shape[1], other.levels.shape[1]
        return real(self, other, p, **options) if n != m else np.inf if n == 12 else np.nan

    monkeypatch.setattr(ao.AnchorFeatures, "energy_to", energy_to)
    monkeypatch.setattr(metrics, "_energies", lambda *given: None)  # so that it is asked


@pytest.mark.parametrize("options", [{"tile": 2}, {"n_jobs": 2, "tile": 3}, {"n_jobs": 1, "memory": 1}])
def test_pairs_without_a_value_are_nan_and_counted_once(equal_sizes_fail, tmp_path, options):
    many = [*(ao.Space(x.cost) for x in clouds(SEVEN)), tmp_path / "missing.npy"]
    for _ in range(2):  # computed, then read
        with pytest.warns(match="cannot be used|have no value") as caught:
            found = ao.pairwise(many, errors="skip", checkpoint=tmp_path / "run", **options)
        assert [warning.category for warning in caught] == [ao.InputWarning, ao.ConvergenceWarning]
        assert str(caught[1].message).startswith("3 pairs have no value and are NaN")
        assert caught[1].filename == __file__
        failed = np.zeros((7, 7), bool)
        failed[[0, 1, 2, 4, 5, 6], [4, 5, 6, 0, 1, 2]] = True
        np.testing.assert_array_equal(np.isnan(found[:7, :7]), failed)
        assert np.isfinite(found[:7, :7][~failed]).all()


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"metric": "wasserstein"},
            f"metric must be one of {', '.join(map(repr, (*METRICS, *FIELD_METRICS)))}, but .*'wasserstein'",
        ),
        ({"epsilon": 0.1}, "metric 'ae' has no epsilon"),
        ({"metric": "gw", "p": 1}, "metric 'gw' has the square loss, p=2, but .*p=1"),
        ({"metric": "gw", "epsilon": -1}, "epsilon must be a finite number >= 0, but got -1"),
        ({"metric": "tlb", "p": 3}, "p must be one of '1', '2'"),
        ({"p": 0}, "p must be an integer >= 1"),
        ({"n_jobs": 0}, "n_jobs must be an integer >= 1"),
        ({"backend": "fibres"}, "backend must be one of"),
        ({"errors": "ignore"}, "errors must be one of 'raise', 'skip'"),
        ({"memory": "lots"}, "memory must be a number of bytes or a text such as '2GB'"),
        ({"memory": "1.2.3GB"}, "memory must be a number of bytes"),
        ({"memory": 0}, "memory must be a number of bytes"),
        ({"tile": 0}, "tile must be an integer >= 1"),
        ({"client": "localhost"}, "client must be a dask.distributed.Client"),
        ({"out": np.empty((3, 3))}, r"out has shape \(3, 3\) and dtype float64, but float64 of shape \(2, 2\)"),
        ({"out": np.empty((2, 2), int)}, "but float64 of shape"),
        ({"others": []}, "others is empty"),
        ({"others": iter([])}, "others must be a sequence of spaces, arrays or paths, but got a list_iterator"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ao.InputError, match=message):
        ao.pairwise([np.eye(2), np.eye(3)], **arguments)


@pytest.mark.parametrize("one", [ao.Space(np.eye(2)), "x.npz", ao.AnchorFeatures.of(np.eye(2))])
def test_one_space_is_no_sequence(one):
    with pytest.raises(ao.InputError, match="spaces must be a sequence"):
        ao.pairwise(one)


@pytest.mark.parametrize(("metric", "p", "features", "message"), [
    ("tlb", 1, {}, r"spaces\[0\]: AnchorFeatures are enough for metrics 'ae' and 'saw' only"),
    ("ae", 1, {"robust": True}, r"spaces\[0\]: the features were made with robust=True"),
    ("ae", 1, {"mean_only": True}, r"spaces\[0\]: .*mean_only=True, which is enough for p=2 only"),
])  # fmt: skip
def test_features_of_another_kind_are_refused(metric, p, features, message):
    with pytest.raises(ao.InputError, match=message):
        ao.pairwise([ao.AnchorFeatures.of(np.eye(2), **features)], metric=metric, p=p)


def test_a_pair_that_cannot_be_compared_is_named():
    with pytest.raises(ao.InputError, match=r"spaces\[0\] and spaces\[1\]: costs to the power p=3 exceed the range"):
        ao.pairwise([1e200 * np.eye(2), np.eye(2)], metric="aw", p=3)


# -- bad spaces ----------------------------------------------------------------------------------------------------


def with_bad_ones(folder):
    many = clouds(8)
    (folder / "broken.npz").write_text("no archive")
    many[3], many[6] = folder / "broken.npz", folder / "missing.npy"
    return many


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_bad_space_is_named(tmp_path, n_jobs):
    many = with_bad_ones(tmp_path)
    with pytest.raises(ao.InputError, match=r"spaces\[3\] \(.*broken.npz\): .*not an .npz archive"):
        ao.pairwise(many, n_jobs=n_jobs)
    with pytest.raises(ao.InputError, match=r"others\[1\] \(.*missing.npy\): No such file or directory"):
        ao.pairwise(many[:2], [many[0], many[6]], n_jobs=n_jobs)
    with pytest.raises(ao.InputError, match=r"spaces\[1\]: cost has shape \(2, 3\)"):
        ao.pairwise([np.eye(2), np.ones((2, 3))], n_jobs=n_jobs)


@pytest.mark.parametrize("options", [{}, {"tile": 3}, {"metric": "aw", "epsilon": 0.5}])
def test_bad_spaces_can_be_skipped(tmp_path, options):
    many = with_bad_ones(tmp_path)
    good = [i for i in range(8) if i not in (3, 6)]
    with pytest.warns(
        ao.InputWarning, match=r"2 of 8 spaces cannot be used .*spaces\[3\] \(.*\(and 1 more\)"
    ) as caught:
        found = ao.pairwise(many, errors="skip", **options)
    assert caught[0].filename == __file__
    assert np.isnan(found[[3, 6]]).all()
    assert np.isnan(found[:, [3, 6]]).all()
    np.testing.assert_array_equal(found[np.ix_(good, good)], ao.pairwise([many[i] for i in good], **options))


def test_notes_of_skipped_files_arrive_whatever_threads_read_them(tmp_path):
    for number in range(20):
        ao.write(ao.Space(np.eye(3)), tmp_path / f"{number:02d}.npz")
        (tmp_path / f"{number:02d}.graphml").write_text("<graphml")
    before = list(warnings.filters)
    for _ in range(6):
        with pytest.warns(ao.InputWarning, match="20 of 40 spaces cannot be used"):
            ao.pairwise(sorted(tmp_path.iterdir()), errors="skip", n_jobs=4, tile=1)
    assert warnings.filters == before


def test_pairwise_leaves_the_filters_of_warnings_alone():
    class Watching(Lazy):
        seen = ()

        def __getitem__(self, index):
            self.seen = (*self.seen, warnings.filters)
            return super().__getitem__(index)

    watching, before = Watching(uniform(12)), warnings.filters
    ao.pairwise(watching, n_jobs=3, tile=1, memory=1)
    assert len(watching.seen) > 12
    assert all(filters is before for filters in (*watching.seen, warnings.filters))


def test_a_bad_other_can_be_skipped(tmp_path):
    many = with_bad_ones(tmp_path)
    with pytest.warns(ao.InputWarning, match=r"1 of 5 spaces cannot be used .*others\[1\]"):
        found = ao.pairwise(many[:3], many[2:4], errors="skip")
    assert np.isnan(found[:, 1]).all()
    assert np.isfinite(found[:, 0]).all()


# -- lazy sequences and memory -------------------------------------------------------------------------------------


class Lazy:
    """Spaces that are made when asked for, and count how often."""

    def __init__(self, many):
        self.many = many
        self.loads = []

    def __len__(self):
        return len(self.many)

    def __getitem__(self, index):
        self.loads.append(index)
        return self.many[index].cost


@pytest.fixture
def live(monkeypatch):
    """How many prepared spaces there are, now and at most."""
    lock, counts = threading.Lock(), {"now": 0, "most": 0}

    def gone():
        counts["now"] -= 1

    def counted(*args, **options):
        features = as_features(*args, **options)
        with lock:
            counts["now"] += 1
            counts["most"] = max(counts.values())
        weakref.finalize(features, gone)
        return features

    monkeypatch.setattr(metrics, "as_features", counted)
    return counts


def uniform(count, n=8, seed=0):
    rng = np.random.default_rng(seed)
    return [ao.Space(rng.uniform(size=(n, n))) for _ in range(count)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_space_is_loaded_once_if_all_fit(n_jobs, live):
    lazy = Lazy(uniform(20))
    found = ao.pairwise(lazy, n_jobs=n_jobs, tile=3)
    assert sorted(lazy.loads) == list(range(20))
    np.testing.assert_array_equal(found, ao.pairwise(lazy.many))


@pytest.mark.parametrize("others", [None, 6])
def test_memory_is_kept_and_loads_are_few(others, live):
    lazy = Lazy(uniform(24))
    columns = None if others is None else Lazy(uniform(others, seed=1))
    item = 8 * 8 * 8
    found = ao.pairwise(lazy, columns, n_jobs=1, tile=2, memory=16 * item)
    assert live["most"] <= 16 + 1  # the one that is being made
    # a survey, then bands of 4 rows: each loads the columns that pass by, and the rows if they are not among those
    if columns is None:
        assert len(lazy.loads) <= 24 + sum(range(4, 25, 4))
    else:
        assert len(lazy.loads) <= 24 + 24
        assert len(columns.loads) <= 6 + 6 * 6
    np.testing.assert_array_equal(found, ao.pairwise(lazy.many, None if columns is None else columns.many))


def test_less_memory_than_one_space_is_slow_but_right(live):
    lazy = Lazy(uniform(6))
    found = ao.pairwise(lazy, n_jobs=1, memory=1)
    assert live["most"] <= 4  # a row in hand, a column, the one that is kept and the one that is being made
    np.testing.assert_array_equal(found, ao.pairwise(lazy.many))


def test_a_space_that_fails_later_is_an_error_even_if_bad_ones_are_skipped():
    class Fading(Lazy):
        def __getitem__(self, index):
            if len(self.loads) > 8:
                raise OSError("the disk is gone")
            return super().__getitem__(index)

    with pytest.raises(ao.InputError, match=r"the disk is gone.*it was fine when the run began"):
        ao.pairwise(Fading(uniform(6)), n_jobs=1, memory=1, errors="skip")
