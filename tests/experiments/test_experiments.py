"""The experiments: their quick forms find what is expected, and the command that runs them speaks clearly."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import anchorot as ao
from experiments.__main__ import app
from experiments.common import runner
from experiments.common.rules import NAMES as LISTED
from experiments.common.rules import Interval, Part
from experiments.common.study import Study
from experiments.common.workers import kept
from experiments.data import data_folder
from tests.command_line import anchorot
from tests.requirements import ROOT

NAMES = sorted(path.parent.name for path in ROOT.glob("experiments/*/experiment.py"))


def experiments(*arguments):
    command = [sys.executable, "-m", "experiments", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | {"COLUMNS": "100"}
    )


@pytest.mark.system
@pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")
@pytest.mark.parametrize("name", NAMES)
def test_quick_form_finds_what_is_expected(name, request, tmp_path):
    needed = import_module(f"experiments.{name}.experiment").DATA
    folder = request.getfixturevalue("data") if needed else tmp_path
    (prepared,) = runner.prepare([name], folder, quick=True)
    study = runner.run(prepared, tmp_path, quick=True, n_jobs=1)
    assert runner.differences(study) == []
    assert study.values
    assert study.claims
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    summary = json.loads((tmp_path / name / "summary.json").read_text(encoding="utf-8"))
    assert summary["figures"]
    for listed in (*summary["figures"], *summary["tables"]):
        assert (tmp_path / name / listed["file"]).stat().st_size > 0
        assert f"{name}/{listed['file']}" in page


def test_every_experiment_has_a_folder_and_every_folder_is_listed():
    assert sorted(LISTED) == NAMES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say which experiment: scalability, trade_off"),
        (["alchemy"], "there is no experiment 'alchemy'; there are scalability"),
        (["scalability", "--expect"], "--expect is of --quick"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(arguments, message):
    program = "import runpy; runpy.run_module('experiments', run_name='__main__', alter_sys=True)"
    result = anchorot(*arguments, cwd=ROOT, program=program)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.system
def test_missing_data_are_named_with_where_to_get_them(tmp_path):
    (tmp_path / "tu").mkdir()
    result = experiments("all", "--quick", "--data", tmp_path, "--output", tmp_path / "out")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "there is no tosca_nonrigid3d, shrec11_meshcnn, shrec11_robust, mnist_100_per_class.npz" in result.stderr
    assert f" in {tmp_path}; say where with --data or ANCHOROT_DATA" in result.stderr
    assert "TOSCA of the Technion" in result.stderr
    assert "Morris" not in result.stderr
    assert not (tmp_path / "out").exists()  # said before the work


def test_data_are_looked_for_where_it_was_said_and_then_beside_the_checkout(tmp_path, monkeypatch):
    monkeypatch.delenv("ANCHOROT_DATA", raising=False)
    assert data_folder() == ROOT.parent / "shared" / "data"
    monkeypatch.setenv("ANCHOROT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder("elsewhere") == Path("elsewhere")


@pytest.fixture
def study(tmp_path):
    return Study("scalability", {}, tmp_path, tmp_path, quick=True)


def exactly(value):
    """Return the part of a claim that holds if the value is below 1e-9, and not if it is above."""
    return [Part("difference", "scalability.exact", Interval.exact(value))]


def test_a_value_out_of_tolerance_is_a_surprise(study, monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "HERE", tmp_path)
    (tmp_path / "scalability").mkdir()
    assert runner.differences(study) == ["scalability: there is no expected.json"]
    study.value("accuracy", 0.5, 0.01)
    study.value("error", 2.0, 1.0)
    runner.expect(study)
    assert runner.differences(study) == []
    study.value("accuracy", 0.512, 1.0)
    assert runner.differences(study) == ["scalability: accuracy is 0.512, expected 0.5 ± 0.01"]
    study.value("accuracy", float("nan"), 1.0)
    assert len(runner.differences(study)) == 1
    study.values = {"error": {"value": 2.0, "tolerance": 0}, "new": {"value": 0.0, "tolerance": 0}}
    assert [line.split(": ")[1] for line in runner.differences(study)] == [
        "accuracy is expected only",
        "new is reported only",
    ]


def test_a_verdict_that_changes_is_a_surprise_unless_times_decide_it(study, monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "HERE", tmp_path)
    (tmp_path / "scalability").mkdir()
    study.claim("AE is better", "it is", exactly(0), "")
    study.claim("AE is faster", "it is", exactly(0), "", timed=True)
    runner.expect(study)
    study.claims.clear()
    study.claim("AE is better", "it is not", exactly(1), "")
    study.claim("AE is faster", "it is not", exactly(1), "", timed=True)
    assert runner.differences(study) == ["scalability: 'AE is better' does not hold, expected: holds"]
    study.claims.clear()
    assert runner.differences(study) == ["scalability: 'AE is better' is not judged, expected: holds"]


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_says_so_before_any_verdict(quick, monkeypatch, tmp_path):
    def refute(study):
        study.claim("AE is better", "it is not", exactly(1), "")

    code = SimpleNamespace(run=refute, TITLE="T", QUESTION="Q", DATA=())
    monkeypatch.setattr(runner, "_load", lambda _: code)
    monkeypatch.setattr(runner, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(runner, "differences", lambda _: [])
    arguments = ["beyond", "--output", str(tmp_path), *(["--quick"] if quick else [])]
    printed = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"}).stdout
    for text in (printed, (tmp_path / "RESULTS.md").read_text(encoding="utf-8")):
        before, _, _ = text.lower().partition("does not hold")
        assert before != text.lower()
        assert ("quick run" in before) == quick


def test_the_command_prints_verdicts_and_fails_on_a_surprise(study, monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "HERE", tmp_path)
    monkeypatch.setattr(runner, "run", lambda *_, **__: study)
    (tmp_path / "scalability").mkdir()
    study.claim("AE is [bold] and fast", "so it is", exactly(0), "sorting")
    study.value("accuracy", 0.5, 0.01)
    arguments = ["node_assignment", "--quick", "--output", str(tmp_path)]
    asked = CliRunner().invoke(app, [*arguments, "--expect", "--json"])
    assert asked.exit_code == 0, asked.output
    found = json.loads(asked.stdout)
    assert found["experiments"]["scalability"] == {
        "verdicts": ["holds"],
        "values": {"accuracy": {"value": 0.5, "tolerance": 0.01}},
    }
    assert found["surprises"] == []
    study.value("accuracy", 0.6, 0.01)
    asked = CliRunner().invoke(app, arguments)
    assert asked.exit_code == 1
    assert "AE is [bold] and fast" in asked.stdout
    assert "accuracy is 0.6, expected 0.5 ± 0.01" in asked.stdout


def test_an_interrupted_experiment_leaves_the_last_results(tmp_path, monkeypatch):
    def interrupted(study):
        study.note("half")
        raise KeyboardInterrupt

    (tmp_path / "beyond").mkdir()
    (tmp_path / "beyond" / "summary.json").write_text("{}")
    monkeypatch.setattr(runner, "CHECKOUT", tmp_path / "checkout")
    prepared = runner.Prepared("beyond", SimpleNamespace(run=interrupted), {})
    with pytest.raises(KeyboardInterrupt):
        runner.run(prepared, tmp_path, quick=True, n_jobs=1)
    assert [path.name for path in tmp_path.iterdir() if path.name != "checkout"] == ["beyond"]
    assert (tmp_path / "beyond" / "summary.json").read_text() == "{}"


@pytest.mark.parametrize("quick", [True, False])
def test_only_long_runs_resume_from_what_was_kept(quick, tmp_path, monkeypatch):
    found = []

    def once(study):
        found.append([path.name for path in study.scratch.iterdir()])
        (study.scratch / "checkpoint").touch()

    code = SimpleNamespace(run=once, TITLE="", QUESTION="")
    monkeypatch.setattr(runner, "CHECKOUT", tmp_path / "checkout")
    for _ in range(2):
        runner.run(runner.Prepared("beyond", code, {}), tmp_path, quick=quick, n_jobs=1)
    assert found == [[], [] if quick else ["checkpoint"]]
    assert [path.name for path in (tmp_path / "beyond").iterdir()] == ["summary.json"]
    monkeypatch.setattr(runner, "code_hash", lambda _: "other")  # what other code kept is of no use
    runner.run(runner.Prepared("beyond", code, {}), tmp_path, quick=quick, n_jobs=1)
    assert found[2] == []


def test_pieces_that_are_done_are_not_done_again(tmp_path):
    done = []
    for _ in range(2):
        assert kept(tmp_path / "piece.pickle", lambda: done.append(1) or "result") == "result"
    assert done == [1]


def test_all_skips_current_results_and_stale_lists_the_others(tmp_path, monkeypatch):
    code = SimpleNamespace(
        run=lambda study: study.claim("AE is exact", "it is", exactly(0), ""), TITLE="T", QUESTION="Q"
    )
    monkeypatch.setattr(runner, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(runner, "code_hash", lambda name: f"hash of {name}")
    assert runner.stale(["beyond", "power"], tmp_path) == dict.fromkeys(("beyond", "power"), "has no results")
    runner.run(runner.Prepared("beyond", code, {}), tmp_path, quick=False, n_jobs=1)
    assert list(runner.stale(["beyond", "power"], tmp_path)) == ["power"]
    monkeypatch.setattr(runner, "code_hash", lambda _: "another")
    result = CliRunner().invoke(app, ["stale", "--output", str(tmp_path)])
    assert result.exit_code == 1
    assert "beyond is of code hash of beyond, which is now another" in result.stdout


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named 'networkx' for {name}", name="networkx")

    monkeypatch.setattr(runner, "import_module", missing)
    with pytest.raises(ao.InputError, match="beyond needs the package networkx; pip install"):
        runner.prepare(["beyond"], tmp_path, quick=True)


@pytest.mark.parametrize("quick", [True, False])
def test_a_missing_competitor_is_named_before_a_full_run(quick, tmp_path, monkeypatch):
    code = SimpleNamespace(DATA=(), RIVALS=("no_such_rival",))
    monkeypatch.setattr(runner, "_load", lambda _: code)
    if quick:
        assert len(runner.prepare(["surfaces"], tmp_path, quick=True)) == 1
        return
    with pytest.raises(ao.InputError, match="surfaces needs the package no_such_rival; pip install"):
        runner.prepare(["surfaces"], tmp_path, quick=False)
