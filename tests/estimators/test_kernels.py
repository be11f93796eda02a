"""Kernels between spaces: positive definite, and those of the energies of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import anchorot as ao
from anchorot.estimators import AnchorKernel, AnchorProcessKernel
from anchorot.estimators import kernels as kernels_module
from tests.estimators.clouds import ENERGIES, MORE, MORE_Y, X, Y
from tests.strategies import scale_of, spaces


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


@given(st.lists(spaces(), min_size=2, max_size=6), st.sampled_from([1, 2]), st.sampled_from(["rbf", "distance"]))
def test_kernels_of_sliced_distances_are_positive_definite(some, p, kind):
    kernel = AnchorKernel(kind, metric="saw", p=p, n_jobs=1)
    matrix = kernel.fit_transform(some)
    assert smallest_eigenvalue((matrix + matrix.T) / 2) >= -1e-7 * max(1.0, scale_of(*some) ** p)
    squares = ao.pairwise(some, metric="saw", p=p, n_jobs=1, progress=False) ** p
    if kind == "rbf":
        np.testing.assert_allclose(matrix, np.exp(-kernel.gamma_ * squares))
        process = AnchorProcessKernel(kernel.gamma_, metric="saw", p=p, n_jobs=1)
        np.testing.assert_allclose(process(some), matrix)


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


def counting(monkeypatch, module):
    """Let the module's comparisons of many spaces be counted."""
    calls, compare = [], module.compare
    monkeypatch.setattr(module, "compare", lambda *args, **options: calls.append(args) or compare(*args, **options))
    return calls


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


def test_a_process_kernel_refuses_powers_that_make_no_kernel():
    with pytest.raises(ao.InputError, match=r"got p=3"):
        AnchorProcessKernel(p=3)(X)
