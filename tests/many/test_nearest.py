"""The nearest of every space: what the sorted matrix of all pairs says, whoever finds it and whatever is left out."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import anchorot as ao
from anchorot.anchors import encoder as encoders
from anchorot.many import nearest
from anchorot.many.tiles import Checkpoint
from tests.many.long_runs import start, tiles_of, wait_until
from tests.strategies import clouds, examples, spaces

SMALL = {"CELLS": (2, 2), "MORE_CANDIDATES": 1, "STRIP_ROWS": 3, "BOUND_COLUMNS": 4, "TILE_COLUMNS": 2, "TOGETHER": 3}


@pytest.fixture
def small(monkeypatch):
    """So that few spaces, too, have bounds, and take every way there is."""
    make_small(monkeypatch)


def make_small(patch):
    patch.setattr(encoders, "MIN_LEARNED", 1)
    for name, value in SMALL.items():
        patch.setattr(nearest, name, value)


def sorted_matrix(distances, k, has_others=False):
    """The k least of every row, equal ones by column; NaN is never among them, nor is a space its own neighbour."""
    values = np.where(np.isnan(distances), np.inf, distances)
    if not has_others:
        np.fill_diagonal(values, np.inf)
    index = np.argsort(values, axis=1, kind="stable")[:, :k]
    value = np.take_along_axis(values, index, 1)
    return np.where(np.isinf(value), -1, index), np.where(np.isinf(value), np.nan, value)


def assert_nearest(found, distances, has_others=False):
    index, value = sorted_matrix(distances, found.index.shape[1], has_others)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_array_equal(found.value, value)
    assert found.exact
    assert found.n_spaces == distances.shape[1]


def assert_same_neighbors(found, wanted):
    np.testing.assert_array_equal(found.index, wanted.index)
    np.testing.assert_array_equal(found.value, wanted.value)


# -- values --------------------------------------------------------------------------------------------------------


@examples(60)
@given(st.data())
def test_neighbours_are_those_of_the_sorted_matrix(data):
    some = data.draw(st.lists(spaces(), min_size=2, max_size=6))
    many = [*some, *data.draw(st.lists(st.sampled_from(some), max_size=6))]  # ties
    others = data.draw(st.none() | st.just(some))
    options = {"p": data.draw(st.sampled_from([1, 1, 2, 3])), "robust": data.draw(st.booleans())}
    k = data.draw(st.integers(1, len(many) - 1 if others is None else len(some)))
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        found = ao.pairwise(many, others, k=k, **options, n_jobs=1, tile=data.draw(st.none() | st.integers(1, 5)))
    assert_nearest(found, ao.pairwise(many, others, **options, n_jobs=1), others is not None)


def test_of_two_weighted_spaces_the_earlier_one_comes_first(monkeypatch):
    make_small(monkeypatch)
    rng = np.random.default_rng(0)
    many = [ao.Space(rng.uniform(size=(n, n)), rng.dirichlet(np.ones(n))) for n in rng.integers(2, 9, size=40)]
    assert_nearest(ao.pairwise(many, k=39, n_jobs=1), ao.pairwise(many, n_jobs=1))


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "aw"},
        {"metric": "aw", "epsilon": 0.1},
        {"metric": "slb"},
        {"metric": "tlb"},
        {"max_cost": 1.0},
        {"ground": "w2"},
        {"attributes": "types"},
    ],
    ids=str,
)
@pytest.mark.usefixtures("small")
def test_every_metric_has_neighbours(options):
    if options.get("metric") in ("aw", "tlb"):
        pytest.importorskip("ot")
    many = [ao.Space(x.cost, x.weights, types=np.arange(x.n) % 2) for x in clouds(7)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)
        assert_nearest(ao.pairwise(many, k=3, n_jobs=1, tile=2, **options), ao.pairwise(many, n_jobs=1, **options))


def test_bounds_rule_out_most_pairs_and_change_no_bit():
    many = clouds(270)
    found = ao.pairwise(many, k=4, n_jobs=1)
    assert_nearest(found, ao.pairwise(many, n_jobs=1))
    assert found.n_exact < len(many) ** 2 / 4


@pytest.mark.usefixtures("small")
def test_arrays_and_sequences_that_make_spaces_have_neighbours_too():
    stack = np.stack([x.cost for x in clouds((5,) * 9, weighted=False)])

    class Made:
        def __len__(self):
            return len(stack)

        def __getitem__(self, i):
            return stack[i].tolist()

    wanted = ao.pairwise(list(stack[:4]), list(stack), k=3, n_jobs=1)
    for others in (stack, Made()):
        assert_same_neighbors(ao.pairwise(stack[:4], others, k=3, n_jobs=1), wanted)


@examples(50)
@given(spaces(uniform=True), spaces(uniform=True), st.sampled_from([1, 3]))
def test_the_order_of_two_uniform_spaces_changes_no_bit(x, y, p):
    """On which comparing one with many in one call relies."""
    assert ao.anchor_energy(x, y, p) == ao.anchor_energy(y, x, p)


@examples(30)
@given(st.lists(spaces(), min_size=2, max_size=6), st.floats(-3, 3))
def test_no_gap_exceeds_what_its_energy_allows(many, low):
    features = [ao.AnchorFeatures.of(x) for x in many]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "MIN_LEARNED", 1)
        encoder = encoders.Encoder.learn(ao.anchors.Grid((2, 2), low, low + 2), features.__getitem__, len(features))
    sketches = encoders.Sketches.of([*map(encoder.encode, features), None], encoder.scale)
    gaps = sketches.gaps(sketches)
    assert (gaps[:, -1] == np.inf).all()
    for j, y in enumerate(features):
        energies = np.array([x.energy_to(y) for x in features] + [0.0])
        assert (gaps[:-1, j] <= sketches.largest_gaps(energies, float(sketches.radii.max()))[:-1]).all()


@examples(30)
@given(st.lists(hnp.arrays(float, (4, 4), elements=st.integers(0, 4)), min_size=2, max_size=5))
def test_gaps_are_sharp_where_cells_see_all(many):
    """Costs and levels lie on the edges of cells, so that vectors are as far apart as the spaces."""
    features, encoder = [ao.AnchorFeatures.of(x) for x in many], encoders.Encoder(ao.anchors.Grid((4, 4), 0, 4))
    sketches = encoders.Sketches.of(list(map(encoder.encode, features)), encoder.scale)
    gaps, radius = sketches.gaps(sketches), float(sketches.radii.max())
    for j, y in enumerate(features):
        energies = np.array([x.energy_to(y) for x in features])
        assert (gaps[:, j] <= sketches.largest_gaps(energies, radius)).all()
        assert (gaps[:, j] > sketches.largest_gaps(0.99 * energies, radius))[energies > 0.01].all()


# -- who does it ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "options", [{"n_jobs": 3}, {"tile": 1}, {"memory": 1}, {"n_jobs": 2, "memory": 10_000}], ids=str
)
@pytest.mark.parametrize("p", [1, 2])
def test_neither_threads_nor_strips_nor_memory_change_a_bit(p, options):
    many = clouds(20)
    assert_same_neighbors(ao.pairwise(many, k=3, p=p, **options), ao.pairwise(many, k=3, p=p, n_jobs=1))


@pytest.mark.system
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("p", [1, 3])
def test_processes_change_no_bit(p):
    many = clouds(20)
    found = ao.pairwise(many, k=3, p=p, n_jobs=2, backend="processes")
    assert_same_neighbors(found, ao.pairwise(many, k=3, p=p, n_jobs=1))


@pytest.mark.system
@pytest.mark.xdist_group("cluster")
@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_changes_no_bit(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    many, bad = clouds(20), np.zeros((2, 3))
    with distributed.Client(processes=False, dashboard_address=None, n_workers=2, threads_per_worker=1) as client:
        for options in (
            {},
            {"p": 2},
            {"tile": 3},
            {"tile": 3, "p": 2, "others": many[:7]},
            {"tile": 4, "others": many},
        ):
            wanted = ao.pairwise(many, k=3, n_jobs=1, **options)
            assert_same_neighbors(ao.pairwise(many, k=3, client=client, **options), wanted)
        with pytest.warns(ao.InputWarning):
            found = ao.pairwise([*many, bad], k=3, client=client, errors="skip", checkpoint=tmp_path / "run", tile=4)
    assert_same_neighbors(found, bad_last(ao.pairwise(many, k=3, n_jobs=1)))


def bad_last(found):
    """The same with a space that cannot be used after the last."""
    index, value = (
        np.vstack([each, np.full(each.shape[1], none)]) for each, none in ((found.index, -1), (found.value, np.nan))
    )
    return ao.Neighbors(index, value, None, found.n_exact, True, found.n_spaces + 1)


@pytest.mark.system
@pytest.mark.parametrize(("p", "count"), [(1, 800), (3, 600)])
def test_there_is_never_a_matrix_of_all_pairs(p, count, monkeypatch):
    for name, value in (("CELLS", (2, 2)), ("BOUND_COLUMNS", 128), ("STRIP_ROWS", 32), ("TILE_COLUMNS", 128)):
        monkeypatch.setattr(nearest, name, value)
    rng = np.random.default_rng(0)
    many = [ao.AnchorFeatures.of_rows(rng.normal(size=(2, 2)) + rng.uniform(0, 9)) for _ in range(count)]
    ao.pairwise(many[:4], k=2, p=p, n_jobs=1, progress=False)  # imports what it needs
    tracemalloc.start()
    try:
        ao.pairwise(many, k=2, p=p, n_jobs=1, progress=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.75 * 8 * count**2, peak


# -- checkpoints ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("p", [1, 2])
def test_a_broken_run_goes_on_from_its_strips(tmp_path, monkeypatch, p):
    many, write = clouds(12), Checkpoint.write
    wanted = ao.pairwise(many, k=3, p=p, n_jobs=1)
    done = []

    def break_off(store, tile, found):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(tile)
        write(store, tile, found)

    monkeypatch.setattr(Checkpoint, "write", break_off)
    with pytest.raises(KeyboardInterrupt):
        ao.pairwise(many, k=3, p=p, n_jobs=1, tile=3, checkpoint=tmp_path)
    first = {path.name: path.stat().st_mtime_ns for path in tiles_of(tmp_path)}
    monkeypatch.setattr(Checkpoint, "write", write)
    found = ao.pairwise(many, k=3, p=p, n_jobs=2, checkpoint=tmp_path)
    assert_same_neighbors(found, wanted)
    assert found.n_exact == wanted.n_exact or p == 1
    now = {path.name: path.stat().st_mtime_ns for path in tiles_of(tmp_path)}
    assert len(first) == 2
    assert first.items() <= now.items()
    assert len(now) == 4
    with pytest.raises(ao.InputError, match="k is 3 there and 2 here"):
        ao.pairwise(many, k=2, p=p, checkpoint=tmp_path)
    with pytest.raises(ao.InputError, match="k is 3 there and None here"):
        ao.pairwise(many, p=p, checkpoint=tmp_path)


PROGRAM = """
import sys
import numpy as np
import anchorot as ao

def spaces():
    rng = np.random.default_rng(0)
    return [rng.uniform(size=(60, 60)) * rng.uniform(0.5, 2) for _ in range(400)]

if __name__ == "__main__":
    folder, backend = sys.argv[1:]
    found = ao.pairwise(spaces(), k=5, checkpoint=folder, backend=backend, n_jobs=2, tile=4)
    np.savez(folder + ".npz", index=found.index, value=found.value)
"""


@pytest.mark.system
@pytest.mark.xdist_group("long runs")
def test_killed_at_any_moment_it_goes_on_to_the_same_neighbours(tmp_path):
    program, folder, names = tmp_path / "program.py", tmp_path / "run", {"__name__": "imported"}
    program.write_text(PROGRAM)
    exec(PROGRAM, names)
    for count in (1, 20):
        process = start(program, folder)
        wait_until(lambda: process.poll() is not None or len(tiles_of(folder)) > count)  # noqa: B023
        process.kill()
        process.communicate()
    process = start(program, folder)
    assert process.communicate()[1] == ""
    assert len(tiles_of(folder)) == 100
    wanted = ao.pairwise(names["spaces"](), k=5, n_jobs=1)
    with np.load(tmp_path / "run.npz") as found:
        np.testing.assert_array_equal(found["index"], wanted.index)
        np.testing.assert_array_equal(found["value"], wanted.value)


# -- bad spaces and arguments --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("p", [1, 2])
def test_bad_spaces_have_no_neighbours_and_are_nobodys(p):
    many = [*clouds(5), np.zeros((2, 3))]
    with pytest.warns(ao.InputWarning, match="1 of 6 spaces"):
        distances = ao.pairwise(many, p=p, errors="skip")
    with pytest.warns(ao.InputWarning, match="1 of 6 spaces"):
        found = ao.pairwise(many, k=5, p=p, errors="skip", tile=4)
    assert_nearest(found, distances)
    assert (found.index[-1] == -1).all()
    assert (found.index[:-1, -1] == -1).all()
    assert found.to_sparse().nnz == 20
    with pytest.raises(ao.InputError, match=r"spaces\[5\]"):
        ao.pairwise(many, k=2, p=p)


def test_solvers_that_fail_are_counted_once_for_every_pair(monkeypatch):
    from anchorot.many import metrics

    def fail(x, y, p):
        return metrics.Outcome(np.inf if len(x.value) == len(y.value) else 1.0, len(x.value) > len(y.value))

    monkeypatch.setattr(metrics, "_second_bound", fail)
    many = clouds((3, 4, 3, 5), weighted=False)
    with pytest.warns(ao.ConvergenceWarning) as said:
        distances = ao.pairwise(many, metric="slb", n_jobs=1)
    with pytest.warns(ao.ConvergenceWarning) as found_said:
        found = ao.pairwise(many, metric="slb", k=3, n_jobs=1, tile=2)
    assert [str(each.message) for each in found_said] == [str(each.message) for each in said]
    assert_nearest(found, distances)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 4}, "k=4 nearest spaces are asked for, but a space has only 3 others here"),
        ({"k": 3, "others": clouds(2)}, "k=3 nearest spaces are asked for, but there are only 2 others"),
        ({"k": 0}, "k must be an integer >= 1, but got 0"),
        ({"k": 2, "out": np.empty((4, 4))}, "out is for the matrix of all pairs"),
    ],
    ids=["too many", "too many of others", "none", "out"],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.pairwise(clouds(4), **options)


def test_costs_beyond_what_vectors_hold_have_neighbours_too(small):
    huge = [ao.Space(x.cost.astype(float) * 1e75) for x in clouds(5)]
    assert_nearest(ao.pairwise(huge, k=2, n_jobs=1), ao.pairwise(huge, n_jobs=1))


# -- graphs --------------------------------------------------------------------------------------------------------


def test_a_graph_holds_the_matrix_at_the_neighbours(small):
    many = [*clouds(6), clouds(6)[2]]
    distances, found = ao.pairwise(many), ao.pairwise(many, k=3)
    graph = found.to_sparse()
    assert graph.shape == (7, 7)
    assert graph.nnz == 21  # the zeros of equal spaces are stored
    assert graph.indices.reshape(7, 3).tolist() == found.index.tolist()
    dense, wanted = graph.toarray(), np.zeros((7, 7))
    np.put_along_axis(wanted, found.index, np.take_along_axis(distances, found.index, 1), 1)
    np.testing.assert_array_equal(dense, wanted)
    np.testing.assert_array_equal(graph.sqrt().toarray(), np.sqrt(wanted))
    assert ao.pairwise(many[:2], many, k=1).to_sparse().shape == (2, 7)


@pytest.mark.system
def test_a_graph_is_what_anndata_and_scikit_learn_take(small):
    anndata, cluster = pytest.importorskip("anndata"), pytest.importorskip("sklearn.cluster")
    rng = np.random.default_rng(0)
    many = [ao.from_points(size * rng.normal(size=(8, 2))) for size in (1, 1, 1, 1, 50, 50, 50, 50)]
    graph = ao.pairwise(many, k=3).to_sparse().sqrt()
    adata = anndata.AnnData(np.zeros((8, 1), np.float32), obsp={"distances": graph})
    assert (adata.obsp["distances"] != graph).nnz == 0
    assert adata.obsp["distances"].diagonal().tolist() == [0.0] * 8
    labels = cluster.DBSCAN(eps=10, min_samples=2, metric="precomputed").fit(graph).labels_
    assert labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_the_result_of_one_query_is_a_graph_of_one_row():
    pytest.importorskip("faiss")
    many = clouds(6)
    row = ao.SearchIndex.build(many).query(many[1], k=2).to_sparse()
    np.testing.assert_array_equal(row.toarray(), ao.pairwise([many[1]], many, k=2).to_sparse().toarray())
