"""The command line, run as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao

GOLDEN = Path(__file__).parent / "golden"
PAIR = [str(GOLDEN / "authors_1.txt"), str(GOLDEN / "authors_2.txt")]


def anchorot(*arguments, cwd=None, **environment):
    command = [sys.executable, "-c", "from anchorot.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, check=False, env=os.environ | {"COLUMNS": "100"} | environment
    )


def test_compare_prints_both_energies():
    result = anchorot("compare", *PAIR)
    assert result.returncode == 0
    assert "9.9270448" in result.stdout
    assert "0.0116" in result.stdout


def test_compare_as_json():
    found = json.loads(anchorot("compare", *PAIR, "--json").stdout)
    assert found["anchor_energy"] == pytest.approx(9.9270448)
    assert found["robust_anchor_energy"] == pytest.approx(0.0116)
    assert (found["n"], found["m"], found["p"]) == (10, 10, 1)
    assert set(found["seconds"]) == {"read_a", "read_b", "anchor_energy", "robust_anchor_energy"}


def test_compare_points(tmp_path):
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(9, 3)), rng.normal(size=(8, 2))]
    for name, cloud in zip("ab", clouds, strict=True):
        np.save(tmp_path / f"{name}.npy", cloud)
    arguments = ("compare", "a.npy", "b.npy", "--kind", "points", "--p", 2, "--json")
    found = json.loads(anchorot(*arguments, cwd=tmp_path).stdout)
    assert found["anchor_energy"] == pytest.approx(ao.anchor_energy(*map(ao.from_points, clouds), p=2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "missing.npz", PAIR[0]], "anchorot: missing.npz: No such file or directory"),
        (["compare", __file__, PAIR[0]], "anchorot: test_cli.py: files ending in '.py' are not read"),
        (
            ["compare", PAIR[0], PAIR[1], "--point-metric", "x", "--kind", "points"],
            "anchorot: authors_1.txt: metric 'x'",
        ),
        (["demo", "-o", "no/such/folder/x.png"], "there is no folder"),
    ],
)
def test_bad_input_is_one_line_and_status_two(tmp_path, arguments, message):
    result = anchorot(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["compare"], ["compare", "a", "b", "--p", "0"], ["nonsense"]])
def test_wrong_usage_is_status_two(arguments):
    assert anchorot(*arguments).returncode == 2


def test_demo_writes_a_picture_and_a_table(tmp_path):
    pytest.importorskip("matplotlib")
    result = anchorot("demo", "--n-points", 40, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "scale-free x1.7" in result.stdout
    assert (tmp_path / "anchorot-demo.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 1


def test_demo_finds_kinds_by_robust_energy(tmp_path):
    pytest.importorskip("matplotlib")
    found = json.loads(anchorot("demo", "-o", tmp_path / "x.png", "--json").stdout)
    assert found["pairs"] == 210
    assert found["robust AE"]["same_kind"] > 2 * found["AE"]["same_kind"]
    distances = np.array(found["AE"]["distances"])
    assert (distances == distances.T).all()


def test_demo_without_matplotlib_names_the_extra(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    result = anchorot("demo", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.returncode == 2
    assert result.stderr == "anchorot: matplotlib is not installed; get it with: pip install 'anchorot[plot]'\n"


def test_config_says_which_kernels():
    found = json.loads(anchorot("config", "--json").stdout)
    assert found == ao.config.config()
    assert anchorot("config", ANCHOROT_KERNELS="numpy").stdout.splitlines()[1].split() == ["kernels", "numpy"]


def test_version():
    assert anchorot("--version").stdout.strip() == ao.__version__


@pytest.mark.parametrize("command", ["compare", "demo", "config"])
def test_help_shows_an_example(command):
    assert f"Example: anchorot {command}" in anchorot(command, "--help").stdout
