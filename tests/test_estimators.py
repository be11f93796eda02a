"""Estimators: scikit-learn's rules on lists of spaces, and kernels that are positive definite."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import anchorot as ao
from anchorot.estimators import AnchorEmbedding, AnchorKernel, AnchorNeighborsClassifier, AnchorProcessKernel
from anchorot.estimators import kernels as kernels_module
from anchorot.estimators import training as training_module
from tests.strategies import scale_of, spaces

KERNELS = [AnchorKernel("rbf"), AnchorKernel("distance"), AnchorKernel("distance", reference=1)]
TAKE_SPACES = [AnchorEmbedding(grid=(4, 4)), *KERNELS, AnchorNeighborsClassifier()]
TAKE_MATRICES = [
    AnchorKernel("rbf", metric="precomputed"),
    AnchorKernel("distance", metric="precomputed"),
    AnchorNeighborsClassifier(metric="precomputed"),
    AnchorNeighborsClassifier(3, "distance", metric="precomputed"),
]


def flat_and_round(count=24, seed=0):
    """Flat and round clouds of points in turns, of many sizes."""
    rng = np.random.default_rng(seed)
    points = [rng.normal(size=(rng.integers(15, 30), 2)) * (1, 0.05 if k % 2 else 1) for k in range(count)]
    return [ao.from_points(x / x.std()) for x in points], np.where(np.arange(count) % 2, "flat", "round")


X, Y = flat_and_round()
MORE, MORE_Y = flat_and_round(10, seed=1)
ENERGIES = ao.pairwise(X, progress=False)


def smallest_eigenvalue(matrix):
    np.testing.assert_array_equal(matrix, matrix.T)
    return np.linalg.eigvalsh(matrix)[0]


# -- kernels -------------------------------------------------------------------------------------------------------


@given(st.lists(spaces(), min_size=2, max_size=6), st.sampled_from([1, 2]), st.booleans(), st.floats(1e-3, 1e3))
def test_the_gaussian_kernel_is_positive_definite(some, p, robust, gamma):
    matrix = AnchorKernel(gamma=gamma, p=p, robust=robust, n_jobs=1).fit_transform(some)
    assert (matrix.diagonal() == 1).all()
    # energies are off by 1e-12 of the costs (p = 2: of their squares), and gamma multiplies that
    scale = 1.0 if robust else scale_of(*some) ** p
    assert smallest_eigenvalue(matrix) >= -1e-12 * (1 + gamma * scale)


@given(st.lists(spaces(), min_size=2, max_size=6), st.sampled_from([1, 2]), st.sampled_from(["mean", 0, 1]))
def test_the_distance_kernel_is_positive_definite_and_has_the_energies(some, p, reference):
    kernel = AnchorKernel("distance", reference=reference, p=p, n_jobs=1)
    matrix = kernel.fit_transform(some)
    tolerance = 1e-10 * scale_of(*some) ** p
    assert smallest_eigenvalue(matrix) >= -tolerance
    norms = matrix.diagonal()
    energies = ao.pairwise(some, p=p, n_jobs=1, progress=False)
    np.testing.assert_allclose(norms[:, None] + norms - 2 * matrix, energies, atol=tolerance)
    np.testing.assert_allclose(norms, kernel.to_reference_, atol=tolerance)


def test_from_a_mean_kernels_are_those_of_centred_vectors():
    matrix = AnchorKernel("distance").fit_transform(X)
    np.testing.assert_allclose(matrix.sum(axis=0), 0, atol=1e-12)


def test_from_a_training_space_kernels_with_it_are_zero():
    kernel = AnchorKernel("distance", reference=3).fit(X)
    assert (kernel.transform(MORE)[:, 3] == 0).all()
    np.testing.assert_allclose(kernel.transform([X[3]]), 0, atol=1e-12)


def test_kernels_are_those_of_pairwise():
    np.testing.assert_array_equal(AnchorKernel(gamma=2.5).fit_transform(X), np.exp(-2.5 * ENERGIES))
    to_training = ao.pairwise(MORE, X, robust=True, p=2, progress=False)
    kernel = AnchorKernel(gamma=2.5, robust=True, p=2).fit(X)
    np.testing.assert_array_equal(kernel.transform(MORE), np.exp(-2.5 * to_training))
    induced = AnchorKernel("distance", reference=2).fit(X).transform(MORE)
    to_training = ao.pairwise(MORE, X, progress=False)
    expected = (to_training[:, [2]] + ENERGIES[2] - to_training) / 2
    np.testing.assert_allclose(induced, expected, atol=1e-14)


def test_scale_is_one_over_the_median_energy_of_pairs():
    pairs = [ENERGIES[i, j] for i in range(len(X)) for j in range(i)]
    assert AnchorKernel().fit(X).gamma_ == pytest.approx(1 / np.median(pairs))


def test_scale_where_most_spaces_are_alike():
    assert AnchorKernel().fit([X[0]] * 3).gamma_ == 1
    assert AnchorKernel().fit([X[0]]).gamma_ == 1
    mostly = [X[0]] * 6 + [X[1]]
    assert AnchorKernel().fit(mostly).gamma_ == pytest.approx(21 / (6 * ENERGIES[0, 1]))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_transforming_the_training_spaces_gives_their_matrix(kernel):
    together = clone(kernel).fit_transform(X)
    np.testing.assert_allclose(clone(kernel).fit(X).transform(X), together, atol=1e-12)


def counting(monkeypatch, module):
    """Let the module's comparisons of many spaces be counted."""
    calls, compare = [], module.compare
    monkeypatch.setattr(module, "compare", lambda *args, **options: calls.append(args) or compare(*args, **options))
    return calls


def test_training_pairs_are_compared_once_and_by_neighbours_never(monkeypatch):
    calls = counting(monkeypatch, training_module)
    AnchorKernel().fit_transform(X)
    assert len(calls) == 1
    AnchorNeighborsClassifier().fit(X, Y)
    assert len(calls) == 1


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_precomputed_energies_give_what_spaces_give(kernel):
    given = clone(kernel).set_params(metric="precomputed")
    np.testing.assert_array_equal(given.fit_transform(ENERGIES), clone(kernel).fit_transform(X))
    to_training = ao.pairwise(MORE, X, progress=False)
    np.testing.assert_array_equal(given.transform(to_training), clone(kernel).fit(X).transform(MORE))
    assert given.n_features_in_ == len(X)


def test_training_spaces_are_sorted_once_and_no_jobs_are_one_job():
    kernel = AnchorKernel(n_jobs=None).fit(X)
    assert all(isinstance(x, ao.AnchorFeatures) for x in kernel.spaces_)
    np.testing.assert_array_equal(kernel.transform(MORE), AnchorKernel().fit(X).transform(MORE))


# -- embedding -----------------------------------------------------------------------------------------------------


def test_vectors_are_those_of_embed_over_the_training_range():
    embedding = AnchorEmbedding(grid=(5, 6)).fit(X)
    grid = ao.Grid.around(X, (5, 6))
    assert embedding.grid_ == grid
    found = embedding.transform(MORE)
    np.testing.assert_array_equal(found, ao.embed(MORE, grid))
    assert found.dtype == np.float32
    assert embedding.get_feature_names_out()[[0, -1]].tolist() == ["anchorembedding0", "anchorembedding29"]


def test_ends_of_the_range_can_be_given():
    assert AnchorEmbedding(low=-1.0, high=9.0).fit(X).grid_ == ao.Grid((32, 32), -1.0, 9.0)
    assert AnchorEmbedding(high=9.0).fit(X).grid_ == ao.Grid((32, 32), 0.0, 9.0)
    robust = AnchorEmbedding(robust=True).fit(X)
    assert robust.grid_ == ao.Grid((32, 32), 0.0, 1.0)
    np.testing.assert_array_equal(robust.transform(MORE), ao.embed(MORE, robust=True))


# -- neighbours ----------------------------------------------------------------------------------------------------


def test_neighbours_are_those_of_pairwise():
    model = AnchorNeighborsClassifier(3, robust=True).fit(X, Y)
    values, numbers = model.kneighbors(MORE)
    energies = ao.pairwise(MORE, X, robust=True, progress=False)
    np.testing.assert_array_equal(numbers, np.argsort(energies, axis=1)[:, :3])
    np.testing.assert_array_equal(values, np.sort(energies, axis=1)[:, :3])
    assert model.kneighbors(MORE, 5)[1].shape == (10, 5)
    votes = (Y[numbers][:, :, None] == model.classes_).mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(MORE), votes)
    assert (model.predict(MORE) == model.classes_[votes.argmax(axis=1)]).all()
    assert model.score(MORE, MORE_Y) == (model.predict(MORE) == MORE_Y).mean()


@pytest.mark.parametrize("metric", ["ae", "precomputed"])
def test_training_spaces_are_not_their_own_neighbours(metric):
    model = AnchorNeighborsClassifier(2, metric=metric).fit(X if metric == "ae" else ENERGIES, Y)
    others = ENERGIES + np.diag(np.full(len(X), np.inf))
    values, numbers = model.kneighbors()
    np.testing.assert_array_equal(numbers, np.argsort(others, axis=1)[:, :2])
    np.testing.assert_array_equal(values, np.sort(others, axis=1)[:, :2])
    assert model.kneighbors(n_neighbors=4)[0].shape == (len(X), 4)


@pytest.mark.parametrize(("metric", "options"), [("aw", {"epsilon": 0.1}), ("gw", {}), ("slb", {"p": 1}), ("tlb", {})])
def test_all_metrics_find_neighbours(metric, options):
    if metric in ("gw", "tlb"):
        pytest.importorskip("ot")
    model = AnchorNeighborsClassifier(metric=metric, n_jobs=1, **options).fit(X[:4], Y[:4])
    expected = ao.pairwise(MORE[:2], X[:4], metric, n_jobs=1, progress=False, **options).min(axis=1)
    np.testing.assert_array_equal(model.kneighbors(MORE[:2])[0][:, 0], expected)


def test_distance_weights_let_the_nearer_win():
    near, far = X[0], X[1]
    queries, labels = [near], ["near", "far", "far"]
    training = [ao.Space(near.cost * 1.01), far, far]
    assert AnchorNeighborsClassifier(3).fit(training, labels).predict(queries) == ["far"]
    assert AnchorNeighborsClassifier(3, "distance").fit(training, labels).predict(queries) == ["near"]


# -- scikit-learn's ways -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", TAKE_MATRICES, ids=str)
def test_on_matrices_all_of_scikit_learns_checks_pass(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    # array_api asks for an environment variable, and is about arrays of other libraries
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {"check_array_api_input"}
    assert len(results) > 40


@pytest.mark.filterwarnings("ignore:Can't test estimator")
@pytest.mark.parametrize("estimator", TAKE_SPACES, ids=str)
def test_on_lists_the_checks_that_need_no_matrix_pass(estimator):
    results = check_estimator(estimator, on_skip=None)  # the others take arrays of numbers only
    assert {r["status"] for r in results} == {"passed"}


@pytest.mark.parametrize("estimator", TAKE_SPACES, ids=str)
def test_unfitted_estimators_say_so_and_clones_are_unfitted(estimator):
    fitted = clone(estimator).fit(X, Y)
    copy = clone(fitted)
    assert copy.get_params() == estimator.get_params()
    method = "predict" if hasattr(copy, "predict") else "transform"
    with pytest.raises(NotFittedError):
        getattr(copy, method)(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(getattr(again, method)(MORE), getattr(fitted, method)(MORE))


@pytest.mark.parametrize("estimator", TAKE_SPACES, ids=str)
def test_lists_arrays_features_and_files_are_the_same_to_all(estimator, tmp_path):
    paths = [tmp_path / f"{k}.npz" for k in range(len(MORE))]
    for space, path in zip(MORE, paths, strict=True):
        ao.write(space, path)
    fitted = clone(estimator).fit(MORE, MORE_Y)
    apply = "predict_proba" if hasattr(fitted, "predict") else "transform"
    expected = getattr(fitted, apply)(X)
    as_objects = np.empty(len(MORE), dtype=object)
    as_objects[:] = MORE
    features = [ao.AnchorFeatures.of(x) for x in MORE]
    for kind in (tuple(MORE), as_objects, features, [x.cost for x in MORE], paths):
        np.testing.assert_array_equal(getattr(clone(estimator).fit(kind, MORE_Y), apply)(X), expected)
        assert len(getattr(fitted, apply)(kind)) == len(MORE)


def test_transformers_work_in_pipelines():
    vectors = make_pipeline(AnchorEmbedding(grid=(8, 8)), StandardScaler(), LogisticRegression())
    kernel = make_pipeline(AnchorKernel(), SVC(kernel="precomputed"))
    for model in (vectors, kernel):
        assert model.fit(X, Y).score(MORE, MORE_Y) == 1


def test_grids_of_parameters_are_searched():
    model = make_pipeline(AnchorKernel(n_jobs=1), SVC(kernel="precomputed"))
    candidates = {"anchorkernel__gamma": ["scale", 1e-9], "anchorkernel__robust": [False, True], "svc__C": [1e-3, 10]}
    search = GridSearchCV(model, candidates, cv=3, error_score="raise").fit(X, Y)
    assert search.best_score_ == 1
    assert search.best_params_["anchorkernel__gamma"] == "scale"
    assert search.predict(MORE).tolist() == MORE_Y.tolist()


@pytest.mark.parametrize(
    "model",
    [
        AnchorNeighborsClassifier(2, "distance"),
        make_pipeline(AnchorKernel("distance"), SVC(kernel="precomputed", C=0.1)),
    ],
    ids=["neighbours", "kernel"],
)
def test_cross_validation_cuts_rows_and_columns_of_a_matrix(model):
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    labels = np.roll(Y, 3) == np.where(np.arange(len(Y)) < 12, "flat", "round")  # hard ones: mistakes must agree too
    name = "metric" if isinstance(model, AnchorNeighborsClassifier) else "anchorkernel__metric"
    given = clone(model).set_params(**{name: "precomputed"})
    expected = cross_val_predict(model, X, labels, cv=folds)
    np.testing.assert_array_equal(cross_val_predict(given, ENERGIES, labels, cv=folds), expected)
    assert 0 < (expected == labels).mean() < 1
    assert cross_val_score(given, ENERGIES, Y, cv=folds).mean() > 0.9


CROSS_VALIDATION = """
import numpy as np
import anchorot as ao
from anchorot.estimators import AnchorNeighborsClassifier
from sklearn.model_selection import cross_val_score

rng = np.random.default_rng(0)
spaces = [ao.from_points(rng.normal(size=(8, 2)) * (1, 0.1 if k % 2 else 1)) for k in range(8)]
for n_jobs in (1, 2):
    model = AnchorNeighborsClassifier(metric="gw", n_jobs=n_jobs)
    print(cross_val_score(model, spaces, np.arange(8) % 2, cv=2, n_jobs=n_jobs, error_score="raise"))
"""


@pytest.mark.system
def test_cross_validation_in_processes_gives_the_same_and_needs_no_guard(tmp_path):
    pytest.importorskip("ot")
    (tmp_path / "script.py").write_text(CROSS_VALIDATION)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    alone, together = done.stdout.splitlines()
    assert alone == together


@pytest.mark.parametrize(("n_jobs", "nested"), [(-1, 1), (None, 1), (3, 3)])
def test_inside_joblib_all_cores_are_one(monkeypatch, n_jobs, nested):
    asked, compare = [], training_module.pairwise
    monkeypatch.setattr(
        training_module,
        "pairwise",
        lambda *args, **options: asked.append(options["n_jobs"]) or compare(*args, **options),
    )
    AnchorKernel(n_jobs=n_jobs).fit(X[:4])
    Parallel(2, backend="threading")(delayed(AnchorKernel(n_jobs=n_jobs).fit)(X[:4]) for _ in range(2))
    assert asked == [n_jobs or 1, nested, nested]


# -- Gaussian processes --------------------------------------------------------------------------------------------


def test_the_process_kernel_has_its_derivative():
    theta, step = np.log(0.7), 1e-6
    values, gradient = AnchorProcessKernel(0.7)(X, eval_gradient=True)
    np.testing.assert_allclose(values, np.exp(-0.7 * ENERGIES), rtol=1e-14)
    above, below = (AnchorProcessKernel(np.exp(theta + sign * step))(X) for sign in (1, -1))
    np.testing.assert_allclose(gradient[:, :, 0], (above - below) / (2 * step), atol=1e-8)
    assert AnchorProcessKernel(0.7, "fixed")(X, eval_gradient=True)[1].shape == (len(X), len(X), 0)
    assert (AnchorProcessKernel().diag(X) == 1).all()
    np.testing.assert_allclose(AnchorProcessKernel(0.7)(MORE, X), AnchorKernel(gamma=0.7).fit(X).transform(MORE))


def test_processes_classify_spaces():
    model = GaussianProcessClassifier(ConstantKernel() * AnchorProcessKernel()).fit(X, Y)
    assert model.score(MORE, MORE_Y) == 1
    assert model.kernel_.k2.gamma != 1


def test_processes_learn_numbers_and_compare_the_training_spaces_once(monkeypatch):
    calls = counting(monkeypatch, kernels_module)
    lengths = np.linspace(1, 3, 9)
    lines = [ao.from_points(np.linspace(0, length, 15)[:, None]) for length in lengths]
    model = GaussianProcessRegressor(AnchorProcessKernel() + WhiteKernel(1e-3, "fixed"), normalize_y=True)
    model.fit(lines, lengths)
    assert len(calls) == 1
    np.testing.assert_allclose(model.predict(lines), lengths, atol=0.05)
    assert "AnchorProcessKernel(gamma=" in repr(model.kernel_)


def test_the_process_kernel_forgets_other_spaces_and_options():
    kernel = AnchorProcessKernel()
    kernel(X)
    np.testing.assert_array_equal(kernel(MORE), AnchorProcessKernel()(MORE))
    kernel.set_params(robust=True)
    np.testing.assert_array_equal(kernel(MORE), AnchorProcessKernel(robust=True)(MORE))


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "given", "message"),
    [
        (AnchorKernel(p=3), X, r"got p=3, but the Anchor Energy is the square of a distance for p=1 and p=2 only"),
        (AnchorNeighborsClassifier(p=3), X, r"got p=3"),
        (AnchorKernel("cosine"), X, r"kind must be one of 'rbf', 'distance', but .*'cosine'"),
        (AnchorKernel(metric="gw"), X, r"metric must be one of 'ae', 'precomputed', but .*'gw'"),
        (AnchorKernel(gamma=-1.0), X, r"gamma must be a finite number >= 0, but .*-1.0"),
        (AnchorKernel(gamma="auto"), X, r"gamma must be a finite number >= 0, but .*'auto'"),
        (AnchorKernel("distance", reference=24), X, r"reference is 24, but there are 24 training spaces"),
        (AnchorKernel("distance", reference="median"), X, r"reference, unless it is 'mean', must be an integer >= 0"),
        (AnchorKernel(), ENERGIES, r"got a matrix of shape \(24, 24\).*goes with metric='precomputed'"),
        (AnchorKernel(metric="precomputed"), np.exp(-ENERGIES), r"not symmetric with a diagonal of zeros"),
        (AnchorKernel(metric="precomputed"), np.triu(ENERGIES), r"not symmetric with a diagonal of zeros"),
        (AnchorKernel(metric="precomputed"), ENERGIES[:, :5], r"has shape \(24, 5\), but metric='precomputed' needs"),
        (AnchorKernel(), X[0], r"spaces must be a sequence of spaces.*make it a list"),
        (AnchorKernel(), [X[0], np.ones((2, 3))], r"spaces\[1\]: cost has shape \(2, 3\)"),
        (AnchorKernel(robust=True), [ao.AnchorFeatures.of(X[0])], r"made with robust=False"),
        (AnchorEmbedding(), [], r"spaces is empty"),
        (AnchorEmbedding(grid=(0, 3)), X, r"grid\[0\] must be an integer >= 1"),
        (AnchorEmbedding(low=5.0, high=2.0), X, r"low=5.0 to high=2.0"),
        (AnchorNeighborsClassifier(metric="l2"), X, r"metric must be one of 'ae', 'aw', 'gw', 'slb', 'tlb', 'precomp"),
    ],
)
def test_bad_input_is_refused_in_one_line(estimator, given, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        estimator.fit(given, Y)
    assert "\n" not in str(caught.value)


def test_a_process_kernel_refuses_powers_that_make_no_kernel():
    with pytest.raises(ao.InputError, match=r"got p=3"):
        AnchorProcessKernel(p=3)(X)


def test_without_scikit_learn_the_extra_is_named():
    program = "import sys; sys.modules['sklearn'] = None; import anchorot.estimators"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "scikit-learn is not installed; get it with: pip install 'anchorot[learn]'" in done.stderr.splitlines()[-1]
    assert "MissingExtraError" in done.stderr.splitlines()[-1]
