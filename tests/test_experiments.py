"""The experiments: their quick forms find what is expected, and the command that runs them speaks clearly."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.kernel_free

CHECKOUT = Path(__file__).parents[1]
NAMES = sorted(path.parent.name for path in CHECKOUT.glob("experiments/*/experiment.py"))


def reproduce(*arguments, cwd=CHECKOUT, **environment):
    command = [sys.executable, "-c", "from anchorot.cli import main; main()", "reproduce", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, check=False, env=os.environ | {"COLUMNS": "100"} | environment
    )


@pytest.mark.parametrize("name", NAMES)
def test_quick_form_finds_what_is_expected(name, data, tmp_path):
    result = reproduce(name, "--quick", "--data", data, "--output", tmp_path, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)
    assert found["experiments"][name]["values"]
    assert found["experiments"][name]["verdicts"]
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    summary = json.loads((tmp_path / name / "summary.json").read_text(encoding="utf-8"))
    assert summary["figures"]
    for listed in (*summary["figures"], *summary["tables"]):
        assert (tmp_path / name / listed["file"]).stat().st_size > 0
        assert f"{name}/{listed['file']}" in page


def test_every_experiment_has_a_folder_and_every_folder_is_listed():
    from experiments.common.runner import NAMES as LISTED

    assert sorted(LISTED) == NAMES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say which experiment: scalability, trade_off"),
        (["alchemy"], "there is no experiment 'alchemy'; there are scalability"),
        (["scalability", "--expect"], "--expect is of --quick"),
    ],
)
def test_reproduce_refuses_bad_arguments_in_one_line(arguments, message):
    result = reproduce(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_reproduce_needs_a_checkout(tmp_path):
    result = reproduce("all", cwd=tmp_path)
    assert result.returncode == 2
    assert "is not in a checkout of anchorot" in result.stderr


def test_missing_data_are_named_with_where_to_get_them(tmp_path):
    result = reproduce("scalability", "--quick", "--data", tmp_path, "--output", tmp_path / "out")
    assert result.returncode == 2
    assert f"there is no tosca_nonrigid3d in {tmp_path}; say where with --data or ANCHOROT_DATA" in result.stderr
    assert "TOSCA of the Technion" in result.stderr
    assert not list((tmp_path / "out").iterdir())


@pytest.fixture
def study(tmp_path):
    from experiments.common.datasets import DataSets
    from experiments.common.study import Study

    return Study("scalability", DataSets(tmp_path), tmp_path, tmp_path, quick=True)


def test_a_value_out_of_tolerance_is_a_surprise(study, monkeypatch, tmp_path):
    from experiments.common import runner

    monkeypatch.setattr(runner, "HERE", tmp_path)
    (tmp_path / "scalability").mkdir()
    assert runner.differences(study) == ["scalability: there is no expected.json"]
    study.value("accuracy", 0.5, 0.01)
    study.value("error", 2.0, 1.0)
    runner.expect(study)
    assert runner.differences(study) == []
    study.value("accuracy", 0.52, 1.0)
    assert runner.differences(study) == ["scalability: accuracy is 0.52, expected 0.5 ± 0.01"]
    study.value("accuracy", float("nan"), 1.0)
    assert len(runner.differences(study)) == 1
    study.values = {"error": {"value": 2.0, "tolerance": 0}, "new": {"value": 0.0, "tolerance": 0}}
    assert [line.split(": ")[1] for line in runner.differences(study)] == [
        "accuracy is expected only",
        "new is reported only",
    ]


def test_an_interrupted_experiment_leaves_the_last_answers(tmp_path, monkeypatch):
    from types import SimpleNamespace

    from experiments.common import runner
    from experiments.common.datasets import DataSets

    def interrupted(study):
        study.note("half")
        raise KeyboardInterrupt

    (tmp_path / "beyond").mkdir()
    (tmp_path / "beyond" / "summary.json").write_text("{}")
    monkeypatch.setattr(runner, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(runner, "import_module", lambda name: SimpleNamespace(run=interrupted))
    with pytest.raises(KeyboardInterrupt):
        runner.run("beyond", DataSets(tmp_path), tmp_path, quick=True, n_jobs=1)
    assert [path.name for path in tmp_path.iterdir() if path.name != "checkout"] == ["beyond"]
    assert (tmp_path / "beyond" / "summary.json").read_text() == "{}"


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    import anchorot as ao

    from experiments.common import runner
    from experiments.common.datasets import DataSets

    def missing(name):
        raise ModuleNotFoundError(f"No module named 'networkx' for {name}", name="networkx")

    monkeypatch.setattr(runner, "CHECKOUT", tmp_path)
    monkeypatch.setattr(runner, "import_module", missing)
    with pytest.raises(ao.InputError, match="beyond needs the package networkx; pip install"):
        runner.run("beyond", DataSets(tmp_path), tmp_path, quick=True, n_jobs=1)
