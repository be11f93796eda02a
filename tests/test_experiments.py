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
