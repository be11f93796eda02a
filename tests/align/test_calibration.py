"""Properties of the logistic models and of the file that holds their coefficients."""

import datetime
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from anchorot.align.calibration import Logistic, load, sigmoid, tables

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAMES = [f"{task}.{part}" for task, parts in tables().items() for part in parts]


def test_probability_is_the_logistic_function_of_the_score():
    model = Logistic({"size": 2.0, "shape": -1.0}, 0.5)
    features = {"size": np.array([0.0, 1.0]), "shape": np.array([0.5, 0.0]), "unused": 7.0}
    np.testing.assert_allclose(model.score(features), [0.0, 2.5])
    np.testing.assert_allclose(model.probability(features), [0.5, 1 / (1 + np.exp(-2.5))], rtol=1e-15)


def test_large_scores_neither_overflow_nor_lose_small_chances():
    with np.errstate(over="raise", invalid="raise"):
        found = sigmoid(np.array([-1e6, -700.0, 0.0, 700.0, 1e6]))
    assert found[[0, 2, 3, 4]].tolist() == [0, 0.5, 1, 1]
    assert found[1] == pytest.approx(np.exp(-700.0), rel=1e-12, abs=0)


def test_unknown_features_are_an_error():
    with pytest.raises(KeyError, match="shape"):
        Logistic({"shape": 1.0}, 0.0).score({"size": 1.0})


@pytest.mark.parametrize("name", NAMES)
def test_every_model_has_finite_coefficients_and_their_provenance(name):
    model = load(name)
    assert np.isfinite([model.constant, *model.coefficients.values()]).all()
    task, part = name.split(".")
    table = tables()[task][part]
    assert {"fitted_on", "pairs", "points", "date", "version", "command"} <= set(table)
    assert isinstance(table["date"], datetime.date)


def test_the_package_does_not_hide_the_function_of_its_name():
    program = "import anchorot.align.calibration, anchorot; assert callable(anchorot.align)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_fit_finds_the_coefficients_that_labels_were_drawn_with(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    fitted = importlib.import_module("calibration").fitted
    rng, truth = np.random.default_rng(0), Logistic({"size": 2.0, "shape": -1.0}, 0.5)
    features = {name: rng.normal(size=100_000) for name in truth.coefficients}
    divisor = rng.integers(1, 4, 100_000)  # matches that are as good
    is_right = rng.random(100_000) < truth.probability(features) / divisor
    found = fitted(features, is_right, np.full(100_000, 1e-5), divisor)
    np.testing.assert_allclose(list(found.coefficients.values()), list(truth.coefficients.values()), atol=0.05)
    assert found.constant == pytest.approx(truth.constant, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["graphs", "spaces"])
def test_a_tiny_fit_runs_twice_alike(kind):
    command = [sys.executable, BENCHMARKS / "calibrate.py", "--fit", kind, "--limit", "1", "--jobs", "1"]
    first, second = (
        subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout
        for more in ([], ["--resume"])
    )
    assert first == second
    assert "| match | constant |" in first
