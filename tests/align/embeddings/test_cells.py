"""The other faces of an alignment of embeddings: AnnData objects, an estimator, tensors."""

import pickle

import numpy as np
import pytest
import torch
from anndata import AnnData, read_h5ad
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import anchorot as ao
import anchorot.torch as aot
from anchorot.estimators import EmbeddingAligner
from tests.align.embeddings.test_pipeline import ORDER, POINTS, TRUTH, turn

KINDS = np.where(POINTS[:, 0] > 0, "T", "B")


def assays():
    """Two assays of the same cells, the first with types."""
    first, second = AnnData(np.zeros((120, 2))), AnnData(np.zeros((120, 3)))
    first.obsm["X_pca"], second.obsm["X_lsi"] = POINTS, POINTS[ORDER] @ turn(5)
    first.obs["cell_type"] = KINDS
    first.obs["batch"] = 1
    return first, second


# -- cells ---------------------------------------------------------------------------------------------------------


def test_cells_get_labels_and_common_coordinates_and_nothing_else_changes():
    first, second = assays()
    before = [side.copy() for side in (first, second)]
    found = ao.align_cells(first, second, labels="cell_type", rng=0)
    np.testing.assert_array_equal(found.matches, TRUTH)
    assert np.mean(second.obs["transferred"].to_numpy() == KINDS[ORDER]) > 0.9
    assert second.obs["transferred_confidence"].between(0, 1).all()
    np.testing.assert_allclose(first.obsm["X_aligned"], second.obsm["X_aligned"][TRUTH], atol=1e-9)
    np.testing.assert_array_equal(first.obs["match_confidence"], found.confidence)
    np.testing.assert_array_equal(second.obs["match_confidence"], found.confidence[found.backward()])
    assert set(first.obs) == {"cell_type", "batch", "match_confidence"}
    assert set(second.obs) == {"transferred", "transferred_confidence", "match_confidence"}
    for side, old in zip((first, second), before, strict=True):
        assert set(side.obsm) - set(old.obsm) == {"X_aligned"}
        assert side.uns["reliable"] == found.reliable > 0.9
        assert set(side.uns) - set(old.uns) == {"reliable"}
        assert set(side.layers) == set(old.layers)
        np.testing.assert_array_equal(side.X, old.X)
        for key in old.obsm:
            np.testing.assert_array_equal(side.obsm[key], old.obsm[key])


def test_labels_that_both_sides_have_go_both_ways():
    first, second = assays()
    second.obs["cell_type"] = KINDS[ORDER]
    ao.align_cells(first, second, labels="cell_type", rng=0)
    assert np.mean(first.obs["transferred"].to_numpy() == KINDS) > 0.9
    assert np.mean(second.obs["transferred"].to_numpy() == KINDS[ORDER]) > 0.9


def graphs(scales=(1, 1)):
    """Two assays of the same cells that have graphs of neighbours alone."""
    costs = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    graph = np.exp(-np.square(costs) / 8)
    sides = AnnData(np.zeros((120, 2))), AnnData(np.zeros((120, 3)))
    for side, order, scale in zip(sides, (np.arange(120), ORDER), scales, strict=True):
        side.obsp["connectivities"] = csr_matrix(graph[np.ix_(order, order)] * scale)
    return sides


SCALES = [(1e150, 1e150), (1e150, 1), (1, 1e-150)]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("scales", SCALES)
def test_the_units_of_coordinates_change_no_match_of_cells(scales, metric):
    first, second = assays()
    first.obsm["X_pca"], second.obsm["X_lsi"] = POINTS * scales[0], POINTS[ORDER] @ turn(5) * scales[1]
    np.testing.assert_array_equal(ao.align_cells(first, second, metric=metric, rng=0).matches, TRUTH)


@pytest.mark.parametrize("scales", [*SCALES, (1e-300, 1e300), (1e-310, 1e308)])
def test_the_units_of_graphs_of_neighbours_change_no_match_of_cells(scales):
    found, plain = (ao.align_cells(*graphs(own), rng=0) for own in (scales, (1, 1)))
    assert np.mean(found.matches == TRUTH) > 0.9
    np.testing.assert_allclose(found.confidence, plain.confidence, atol=1e-3)


def test_cells_are_aligned_by_their_graphs_of_neighbours_where_there_is_no_array():
    first, second = graphs()
    found = ao.align_cells(first, second, rng=0)
    assert np.mean(found.matches == TRUTH) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "kind"}, "neither side has 'kind' in obs; they have: cell_type, batch; nothing"),
        ({"obsm": "X_umap"}, "x has no 'X_umap' in obsm; it has: X_pca"),
        ({"obsm": ("X_pca", "X_umap")}, "y has no 'X_umap' in obsm; it has: X_lsi"),
        ({"obsm": ("X_pca",)}, "obsm must be a name or a pair of names, but got ('X_pca',)"),
        ({"obsm": ["X_pca", "X_umap"]}, "y has no 'X_umap' in obsm; it has: X_lsi"),
        ({"obsm": 3}, "obsm must be a name or a pair of names, but got 3"),
        ({"labels": ["cell_type"]}, "labels must be the name of a column of obs, but got ['cell_type']"),
    ],
)
def test_what_cells_lack_is_one_clear_line(options, message):
    first, second = assays()
    with pytest.raises(ao.InputError) as caught:
        ao.align_cells(first, second, **options)
    assert str(caught.value) == message
    assert "X_aligned" not in first.obsm


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.full((9, 9), np.nan), "obsp['connectivities'] of x must be finite and not negative"),
        (-np.ones((9, 9)), "obsp['connectivities'] of x must be finite and not negative"),
        (np.zeros((9, 9)), "obsp['connectivities'] of x has no neighbours for cell 0"),
        (np.diag([1.0] * 8 + [0.0]), "obsp['connectivities'] of x has no neighbours for cell 8"),
        (np.ones((2, 2)), "obsp['connectivities'] of x is of 2 cells, but at least 3 are needed"),
    ],
)
def test_graphs_of_neighbours_that_lead_nowhere_are_one_clear_line(graph, message):
    first = AnnData(np.zeros((len(graph), 1)))
    first.obsp["connectivities"] = csr_matrix(graph)
    with pytest.raises(ao.InputError) as caught:
        ao.align_cells(first, assays()[1])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("place", [0, 1])
def test_a_view_of_a_backed_object_is_refused_before_anything_is_written(place, tmp_path):
    assays()[place].write_h5ad(tmp_path / "side.h5ad")
    backed = read_h5ad(tmp_path / "side.h5ad", backed="r")
    sides = list(assays())
    sides[place] = backed[:100]
    with pytest.raises(ao.InputError, match=r"is a view of an AnnData object in backed mode.*\.to_memory\(\)"):
        ao.align_cells(*sides, rng=0)
    assert "X_aligned" not in sides[1 - place].obsm
    sides[place] = sides[place].to_memory()
    ao.align_cells(*sides, rng=0)
    assert all("X_aligned" in side.obsm for side in sides)
    backed.file.close()


def test_objects_that_are_not_cells_are_one_clear_line():
    with pytest.raises(ao.InputError, match="y is a ndarray, but an AnnData object is needed"):
        ao.align_cells(assays()[0], POINTS)
    bare = AnnData(np.zeros((5, 2)))
    with pytest.raises(ao.InputError, match="x has none of X_pca, X_lsi, X_spectral in obsm and no 'connectivities'"):
        ao.align_cells(bare, bare)


# -- the estimator -------------------------------------------------------------------------------------------------


def test_the_estimator_carries_what_the_alignment_carries():
    second = POINTS[ORDER] @ turn(5, 7)
    aligner = EmbeddingAligner("euclidean").fit(POINTS, second)
    found = ao.align_embeddings(POINTS, second, metric="euclidean", rng=0)
    np.testing.assert_array_equal(aligner.alignment_.matches, found.matches)
    np.testing.assert_array_equal(aligner.transform(POINTS[:9]), found.transform(POINTS[:9]))
    np.testing.assert_allclose(aligner.inverse_transform(aligner.transform(POINTS)), POINTS, atol=1e-9)
    assert aligner.n_features_in_ == 5
    assert list(aligner.get_feature_names_out())[:2] == ["embeddingaligner0", "embeddingaligner1"]
    assert len(aligner.get_feature_names_out()) == 7


def test_the_estimator_keeps_scikit_learns_rules():
    aligner = EmbeddingAligner("euclidean", n_landmarks=50, rng=3)
    assert clone(aligner).get_params() == aligner.get_params()
    with pytest.raises(NotFittedError):
        aligner.transform(POINTS)
    assert aligner.fit(POINTS, POINTS[ORDER]) is aligner
    with pytest.raises(ValueError, match="5 features"):
        aligner.transform(POINTS[:, :4])
    again = pickle.loads(pickle.dumps(aligner))
    np.testing.assert_array_equal(again.transform(POINTS), aligner.transform(POINTS))
    pipe = make_pipeline(StandardScaler(), EmbeddingAligner("euclidean")).fit(POINTS, POINTS[ORDER])
    assert pipe.transform(POINTS[:3]).shape == (3, 5)


# -- tensors -------------------------------------------------------------------------------------------------------


def test_tensors_are_aligned_as_arrays_are_and_the_map_has_gradients():
    second = POINTS[ORDER] @ turn(5, 7)
    found = aot.align_embeddings(torch.tensor(POINTS), torch.tensor(second), rng=0)
    plain = ao.align_embeddings(POINTS, second, rng=0)
    np.testing.assert_array_equal(found.matches.numpy(), plain.matches)
    np.testing.assert_allclose(found.rotation.numpy(), plain.rotation)
    np.testing.assert_allclose(found.confidence.numpy(), plain.confidence)
    np.testing.assert_array_equal(found.top_k(3).numpy(), plain.top_k(3))
    np.testing.assert_array_equal(found.retrieve(torch.tensor(POINTS[:9]), 2).numpy(), plain.retrieve(POINTS[:9], 2))
    new = torch.tensor(POINTS[:4], requires_grad=True)
    moved = found.transform(new)
    np.testing.assert_allclose(moved.detach().numpy(), plain.transform(POINTS[:4]))
    found.inverse_transform(moved).sum().backward()
    assert torch.isfinite(new.grad).all()
    np.testing.assert_array_equal(ao.align_embeddings(torch.tensor(POINTS), second, rng=0).matches, plain.matches)


def test_tensors_return_the_class_of_arrays_with_all_its_methods(tmp_path):
    second = POINTS[ORDER] @ turn(5, 7)
    found = aot.align_embeddings(torch.tensor(POINTS), torch.tensor(second), rng=0)
    plain = ao.align_embeddings(POINTS, second, rng=0)
    assert isinstance(found, ao.EmbeddingAlignment)
    assert {type(value) for value in (found.matches, found.confidence, found.rotation)} == {torch.Tensor}
    assert found.shape == plain.shape
    assert found.facts(full=True) == plain.facts(full=True)
    assert repr(found) == "Tensor" + repr(plain)
    assert found._repr_html_()
    assert found.hits(found.matches) == found.hits(plain.matches) == 1
    assert found.verdict() == plain.verdict()
    np.testing.assert_array_equal(found.backward().numpy(), plain.backward())
    np.testing.assert_allclose(found.soft(), plain.soft())
    np.testing.assert_allclose(found.masses(False).toarray(), plain.masses(False).toarray())
    np.testing.assert_allclose(found.project(torch.tensor(second)).numpy(), plain.project(second))
    labels = [f"kind {i % 3}" for i in range(len(second))]
    for own, other in zip(found.transfer(labels), plain.transfer(labels), strict=True):
        np.testing.assert_array_equal(own, other)
    found.write(tmp_path / "map.txt")
    np.testing.assert_array_equal(ao.read_matches(tmp_path / "map.txt"), plain.matches)
    np.testing.assert_array_equal(ao.match(found), plain.matches)


def test_tensors_of_other_shapes_are_one_clear_line():
    with pytest.raises(ao.InputError, match=r"x and y have shapes \(1, 4, 2\) and \(4, 2\), but \(n, d\) and \(m, e\)"):
        aot.align_embeddings(torch.ones(1, 4, 2), torch.ones(4, 2))
    with pytest.raises(ao.InputError, match="x is a list, but a tensor"):
        aot.align_embeddings([[1.0]], torch.ones(4, 2))


def test_the_map_of_tensors_refuses_what_that_of_arrays_refuses():
    other = torch.tensor(POINTS[ORDER] @ turn(5))
    found = aot.align_embeddings(torch.tensor(POINTS), other, metric="cosine", rng=0)
    with pytest.raises(ao.InputError, match="x has a row without a direction, of zeros or NaN"):
        found.transform(torch.zeros(2, 5, dtype=torch.float64))
    with pytest.raises(ao.InputError, match="x has 4 columns, but the points that were aligned have 5"):
        found.transform(torch.ones(2, 4, dtype=torch.float64))
    with pytest.raises(ao.InputError, match="y has 3 columns, but the points that were aligned have 5"):
        found.inverse_transform(torch.ones(2, 3, dtype=torch.float64))
    for factor in (1e-200, 1e200):
        np.testing.assert_allclose(found.transform(factor * torch.tensor(POINTS)), found.numpy().transform(POINTS))


# -- real assays ---------------------------------------------------------------------------------------------------


def stages(data, name):
    folder = data / "singlecell" / "scNMT"
    return np.loadtxt(folder / f"{name}_30.txt"), np.array((folder / f"{name}_stage.txt").read_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["auto", "cosine"])
@pytest.mark.parametrize("other", ["acc", "met"])
def test_assays_that_no_rotation_brings_together_warn_and_give_no_sure_labels(data, other, metric):
    (x, kinds), (y, truth) = stages(data, "rna"), stages(data, other)
    with pytest.warns(ao.ConvergenceWarning, match="no alignment was found that can be trusted"):
        found = ao.align_embeddings(x, y, metric=metric, rng=0)
    given, share = found.transfer(kinds, onto="second")
    sure = share >= 0.9
    assert not sure.any() or np.mean(given[sure] == truth[sure]) >= 0.85


@pytest.mark.slow
def test_cells_of_snare_seq_get_their_types_without_a_warning(data):
    folder = data / "singlecell" / "SNARE"
    x, y = (np.load(folder / f"SNAREseq_{name}_feat.npy") for name in ("rna", "atac"))
    kinds = np.loadtxt(folder / "SNAREseq_rna_types.txt")
    found = ao.align_embeddings(x, y, rng=0)
    assert all(np.mean(found.transfer(kinds, onto=onto)[0] == kinds) >= 0.94 for onto in ("first", "second"))
