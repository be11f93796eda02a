"""`anchorot demo`."""

import json

import numpy as np
import pytest

from tests.command_line import PAIR, PROGRAM, anchorot


def test_demo_writes_a_picture_and_a_table(tmp_path):
    pytest.importorskip("matplotlib")
    result = anchorot("demo", "--n-points", 40, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "scale-free x1.7" in result.stdout
    assert (tmp_path / "anchorot-demo.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("arguments", [["demo", "--n-points", 20], ["pairwise", *PAIR, "--picture", "D.png"]])
def test_pictures_are_written_without_pyplot(tmp_path, arguments):
    pytest.importorskip("matplotlib")
    program = f"import atexit, sys; atexit.register(lambda: print('matplotlib.pyplot' in sys.modules)); {PROGRAM}"
    assert anchorot(*arguments, cwd=tmp_path, program=program).stdout.endswith("\nFalse\n")
    assert list(tmp_path.glob("*.png"))


def test_demo_finds_kinds_by_robust_energy(tmp_path):
    pytest.importorskip("matplotlib")
    found = json.loads(anchorot("demo", "-o", tmp_path / "x.png", "--json").stdout)
    assert found["pairs"] == 210
    assert found["robust AE"]["same_kind"] > 2 * found["AE"]["same_kind"]
    distances = np.array(found["AE"]["distances"])
    assert (distances == distances.T).all()
