"""What all estimators share: scikit-learn's rules on lists of spaces, and comparisons with the training spaces."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import anchorot as ao
from anchorot.estimators import AnchorEmbedding, AnchorKernel, AnchorNeighborsClassifier, AnchorSignature
from anchorot.estimators import training as training_module
from anchorot.many.metrics import METRICS
from tests.estimators.clouds import ENERGIES, MORE, MORE_Y, X, Y

KERNELS = [AnchorKernel("rbf"), AnchorKernel("distance"), AnchorKernel("distance", reference=1)]


TAKE_SPACES = [AnchorEmbedding(grid=(4, 4)), AnchorSignature(shape=(4, 4)), *KERNELS, AnchorNeighborsClassifier()]


TAKE_MATRICES = [
    AnchorKernel("rbf", metric="precomputed"),
    AnchorKernel("distance", metric="precomputed"),
    AnchorNeighborsClassifier(metric="precomputed"),
    AnchorNeighborsClassifier(3, "distance", metric="precomputed"),
]


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
def test_unfitted_estimators_raise_and_clones_are_unfitted(estimator):
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


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "given", "message"),
    [
        (AnchorKernel(p=3), X, r"got p=3, but values are squared distances, as kernels need, only for p=1 and p=2"),
        (AnchorNeighborsClassifier(p=3), X, r"got p=3"),
        (AnchorKernel("cosine"), X, r"kind must be one of 'rbf', 'distance', but .*'cosine'"),
        (AnchorKernel(metric="gw"), X, r"metric must be one of 'ae', 'saw', 'precomputed', but .*'gw'"),
        (AnchorKernel(gamma=-1.0), X, r"gamma must be a finite number >= 0, but .*-1.0"),
        (AnchorKernel(gamma="auto"), X, r"gamma must be a finite number >= 0, but .*'auto'"),
        (AnchorKernel("distance", reference=24), X, r"reference is 24, but there are 24 training spaces"),
        (AnchorKernel("distance", reference="median"), X, r"reference, unless it is 'mean', must be an integer >= 0"),
        (AnchorKernel(), ENERGIES, r"got a matrix of shape \(24, 24\).*use metric='precomputed'"),
        (AnchorKernel(metric="precomputed"), np.exp(-ENERGIES), r"not symmetric with a diagonal of zeros"),
        (AnchorKernel(metric="precomputed"), np.triu(ENERGIES), r"not symmetric with a diagonal of zeros"),
        (AnchorKernel(metric="precomputed"), ENERGIES[:, :5], r"has shape \(24, 5\), but metric='precomputed' needs"),
        (AnchorKernel(), X[0], r"spaces must be a sequence of spaces.*make it a list"),
        (AnchorKernel(), [X[0], np.ones((2, 3))], r"spaces\[1\]: cost has shape \(2, 3\)"),
        (AnchorKernel(robust=True), [ao.AnchorFeatures.of(X[0])], r"made with robust=False"),
        (AnchorEmbedding(), [], r"spaces is empty"),
        (AnchorEmbedding(grid=(0, 3)), X, r"grid\[0\] must be an integer >= 1"),
        (AnchorEmbedding(low=5.0, high=2.0), X, r"low=5.0 to high=2.0"),
        (AnchorNeighborsClassifier(metric="l2"), X, f"metric must be one of {', '.join(map(repr, METRICS))}, 'precomp"),
    ],
)
def test_bad_input_is_refused_in_one_line(estimator, given, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        estimator.fit(given, Y)
    assert "\n" not in str(caught.value)


def test_without_scikit_learn_the_extra_is_named():
    program = "import sys; sys.modules['sklearn'] = None; import anchorot.estimators"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "scikit-learn is not installed; get it with: pip install 'anchorot[learn]'" in done.stderr.splitlines()[-1]
    assert "MissingExtraError" in done.stderr.splitlines()[-1]
