"""Cells of AnnData files, clouds along their neighbours, neurons along their trees."""

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

import anchorot as ao
import anchorot.io.cells

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(3.0, size=(30, 8)).astype(np.float32)
PCA = RNG.normal(size=(30, 4))
NAMES = [f"cell{i}" for i in range(30)]


def cells(values=COUNTS):
    return anndata.AnnData(values, obs=pd.DataFrame(index=NAMES), obsm={"X_pca": PCA})


@pytest.fixture(params=["dense", "csr", "csc"])
def file(request, tmp_path):
    make = {"dense": np.array, "csr": sp.csr_matrix, "csc": sp.csc_matrix}[request.param]
    cells(make(COUNTS)).write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.mark.parametrize("metric", ["euclidean", "correlation"])
def test_cells(file, metric):
    for x in (ao.read(file, point_metric=metric), ao.from_cells(cells(), metric=metric)):
        np.testing.assert_allclose(x.cost, cdist(COUNTS.astype(float), COUNTS.astype(float), metric), atol=1e-12)
        assert x.labels == tuple(NAMES)
    for x in (ao.read(file, point_metric=metric, obsm="X_pca"), ao.from_cells(cells(), "X_pca", metric)):
        np.testing.assert_allclose(x.cost, cdist(PCA, PCA, metric), atol=1e-12)


def test_a_sample_of_cells(file):
    part = ao.read(file, n_points=7, rng=1)
    chosen = [NAMES.index(name) for name in part.labels]
    assert len(set(chosen)) == 7
    np.testing.assert_allclose(part.cost, ao.read(file).cost[np.ix_(chosen, chosen)])


@pytest.mark.parametrize("rows", [None, slice(5, 25)], ids=["all", "view"])
@pytest.mark.parametrize("options", [{}, {"n_points": 9, "rng": 1}, {"n_neighbors": 6}], ids=str)
def test_an_object_in_backed_mode_gives_the_same_space_as_in_memory(file, rows, options):
    backed = anndata.read_h5ad(file, backed="r")
    cells = backed if rows is None else backed[rows]
    expected, found = ao.from_cells(cells.to_memory(), **options), ao.from_cells(cells, **options)
    np.testing.assert_array_equal(found.cost, expected.cost)
    assert found.labels == expected.labels
    backed.file.close()


def test_cells_along_their_neighbours(file):
    expected = ao.from_neighbors(PCA, 4, "euclidean").cost
    np.testing.assert_array_equal(ao.read(file, obsm="X_pca", n_neighbors=4).cost, expected)
    np.testing.assert_array_equal(ao.from_cells(cells(), "X_pca", n_neighbors=4).cost, expected)


def test_a_missing_array_lists_the_available_ones(file, tmp_path):
    with pytest.raises(ao.InputError, match=r"cells\.h5ad: there is no 'X_umap' in obsm; it has: X_pca"):
        ao.read(file, obsm="X_umap")
    with pytest.raises(ao.InputError, match="there is no 'X_umap' in obsm; it has: X_pca"):
        ao.from_cells(cells(), "X_umap")
    cells(None).write_h5ad(tmp_path / "empty.h5ad")
    with pytest.raises(ao.InputError, match="there is no X; name an array of obsm, which has: X_pca"):
        ao.read(tmp_path / "empty.h5ad")


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("obs/_index", "there is no '_index' in obs"),
        ("obs", "there is no 'obs' in the file"),
        ("X/indices", "there is no 'indices' in X"),
        ("obs/kind/codes", "there is no 'codes' in obs/kind"),
    ],
)
def test_a_part_that_an_h5ad_file_lacks_is_named(lost, message, tmp_path):
    import h5py

    path = tmp_path / "cells.h5ad"
    made = cells(sp.csr_matrix(COUNTS))
    made.obs["kind"] = pd.Categorical(["T", "B"] * 15)
    made.write_h5ad(path)
    with h5py.File(path, "a") as handle:
        del handle[lost]
    with pytest.raises(ao.InputError) as caught:
        ao.read(path, types="kind")
    assert str(caught.value) == f"cells.h5ad: {message}"


def test_a_table_of_cells_as_old_files_have_it_is_one_clear_line(tmp_path):
    import h5py

    path = tmp_path / "cells.h5ad"
    cells().write_h5ad(path)
    with h5py.File(path, "a") as handle:
        del handle["obs"]
        handle["obs"] = np.array([(b"cell0", 1.0)], dtype=[("index", "S5"), ("depth", "f8")])
    with pytest.raises(ao.InputError, match=r"cells\.h5ad: obs is an array, but a group is needed; anndata 0\.7"):
        ao.read(path)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ("cells.h5ad", "got a str, but an AnnData object is needed; anchorot.read reads .h5ad files"),
        (PCA, "got an ndarray, but an AnnData object is needed"),
        (None, "got a NoneType, but an AnnData object is needed"),
    ],
)
def test_objects_that_are_not_cells_are_one_clear_line(thing, message):
    with pytest.raises(ao.InputError) as caught:
        ao.from_cells(thing)
    assert str(caught.value) == message


def test_a_header_that_promises_gigabytes_is_refused(tmp_path):
    import h5py

    cells().write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as handle:
        del handle["X"]
        made = handle.create_dataset("X", shape=(100_000, 100_000), dtype="f8", chunks=(100, 100))
        made.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    with pytest.raises(ao.InputError, match=r"x\.h5ad: its header promises 80 GB of X, but no more than 2\.15 GB"):
        ao.read(tmp_path / "x.h5ad")


def test_a_missing_h5py_names_the_extra(file, monkeypatch):
    monkeypatch.setattr(anchorot.io.cells, "find_spec", lambda name: None)
    with pytest.raises(ao.MissingExtraError, match=r"anchorot\[cells\]"):
        ao.read(file)


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "correlation"])
def test_neighbours_agree_with_the_naive_version(mode, metric):
    distances = cdist(PCA, PCA, metric)
    adjacency = np.zeros((30, 30))
    for i in range(30):
        for j in [j for j in np.argsort(distances[i], kind="stable") if j != i][:3]:
            adjacency[i, j] = adjacency[j, i] = 1 if mode == "connectivity" else distances[i, j]
    expected = shortest_path(adjacency, directed=False)
    expected[np.isinf(expected)] = 77
    found = ao.from_neighbors(PCA, 3, metric, 77, mode=mode, labels=NAMES)
    np.testing.assert_allclose(found.cost, expected)
    assert found.labels == tuple(NAMES)


def test_neighbours_of_two_clusters():
    points = np.concatenate([PCA, PCA + 100])
    with pytest.raises(ao.InputError, match=r"2 components \(of 30, 30 nodes\)"):
        ao.from_neighbors(points, 5, "euclidean")
    assert [x.n for x in ao.from_neighbors(points, 5, "euclidean", "split")] == [30, 30]


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (PCA, {"n_neighbors": 30}, "n_neighbors must be below the number of points, but got 30 for 30 points"),
        (PCA, {"n_neighbors": 0}, "n_neighbors must be an integer >= 1"),
        (PCA, {"mode": "hops"}, "mode must be one of"),
        (np.ones((9, 3)), {}, "'correlation' is not defined for point 0, whose coordinates are all equal"),
        (PCA, {"labels": ["one"]}, "labels has 1 entries, but there are 30 points"),
        (PCA[0], {}, r"points has shape \(4,\)"),
    ],
)
def test_bad_neighbours_get_one_clear_line(points, options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.from_neighbors(points, **options)


SWC = """# id, type, x, y, z, radius, parent
1 1 0 0 0 2 -1
2 3 3 4 0 1 1
7 3 3 4 2 1 2
4 3 -1 0 0 1 1
"""


def test_samples_of_a_neuron_come_in_any_order(tmp_path):
    lines = SWC.splitlines()
    (tmp_path / "n.swc").write_text("\n".join(["9 3 3 4 5 1 7", *lines[:0:-1]]))
    x = ao.read(tmp_path / "n.swc")
    assert x.labels == (9, 4, 7, 2, 1)
    assert x.cost[0].tolist() == [0, 11, 3, 5, 10]


def test_a_neuron(tmp_path):
    (tmp_path / "n.swc").write_text(SWC)
    x = ao.read(tmp_path / "n.swc")
    assert x.cost.tolist() == [[0, 5, 7, 1], [5, 0, 2, 6], [7, 2, 0, 8], [1, 6, 8, 0]]
    assert x.labels == (1, 2, 7, 4)
    assert x.geometry.positions[2].tolist() == [3, 4, 2]
    assert x.geometry.edges.tolist() == [[1, 0], [2, 1], [3, 0]]
    assert ao.read(tmp_path / "n.swc", n_points=2).n == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SWC.replace("\n4 3", "\n2 3"), "two samples have the identifier 2"),
        (SWC.replace("1 1\n", "1 9\n"), "sample 2 has the parent 9, which is not in the file"),
        (SWC.replace("3 4 2", "3 nan 2"), "identifiers must be integers and positions must be finite"),
        (SWC.replace(" -1", ""), "line 2 of numbers has 7 of them, but line 1 has 6"),
        ("1 2 3\n", "lines of 3 numbers, but SWC needs 7"),
        ("# nothing\n", "the file is empty"),
        (SWC + "9 1 0 0 0 1 -1\n", r"2 components \(of 4, 1 nodes\)"),
    ],
)
def test_bad_neurons_get_one_clear_line(tmp_path, text, message):
    (tmp_path / "n.swc").write_text(text)
    with pytest.raises(ao.InputError, match=rf"n\.swc: .*{message}"):
        ao.read(tmp_path / "n.swc")


def test_real_neurons(data):
    paths = sorted((data / "neurons" / "swc").glob("*.swc"))
    assert len(paths) == 8
    for path in paths:
        x = ao.read(path, n_points=40, rng=0)
        straight = ao.from_points(x.geometry.positions[x.geometry.index]).cost
        assert (x.cost >= straight - 1e-9).all()  # no path is shorter than the straight line


def test_real_cells(data):
    folder = data / "singlecell"
    genes = ao.read(folder / "scGEM" / "scGEM_expression.csv", kind="points", point_metric="correlation")
    with pytest.raises(ao.InputError, match=r"methylation\.csv: metric 'correlation' is not defined for point 120"):
        ao.read(folder / "scGEM" / "scGEM_methylation.csv", kind="points", point_metric="correlation")
    sites = ao.read(folder / "scGEM" / "scGEM_methylation.csv", kind="points")
    assert genes.n == sites.n == 177
    assert ao.anchor_energy(genes, sites, robust=True) > 0
    walked = ao.read(
        folder / "SNARE" / "SNAREseq_rna_feat.npy",
        kind="points",
        n_neighbors=50,
        point_metric="correlation",
        n_points=50,
    )
    assert walked.n == 50
    assert (walked.cost == np.floor(walked.cost)).all()


@pytest.mark.parametrize(
    ("parents", "sample"),
    [((-1, 1, 4, 3), 3), ((2, 1, 1, 1), 1), ((-1, 1, 3, 1), 3), ((1, 1, 1, 1), 1), ((2, 3, 2, -1), 2)],
)
def test_a_neuron_with_a_cycle_is_refused(tmp_path, parents, sample):
    lines = [f"{i} 3 {i} 0 0 1 {parent}" for i, parent in enumerate(parents, start=1)]
    (tmp_path / "x.swc").write_text("\n".join(lines))
    with pytest.raises(ao.InputError, match=rf"x\.swc: sample {sample} is among its own ancestors"):
        ao.read(tmp_path / "x.swc", disconnected=9.0)
