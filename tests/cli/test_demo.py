"""`anchorot demo`."""

import json

import numpy as np
import pytest

from tests.command_line import PAIR, PROGRAM, anchorot


def test_demo_prints_one_screen_and_writes_a_picture_and_a_page(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    result = anchorot("demo", "--n-points", 40, "--report", "dogs.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 80
    assert "anchorot compare" in lines[-1]
    assert (tmp_path / "anchorot-demo.png").read_bytes().startswith(b"\x89PNG")
    assert "A dog in two poses" in (tmp_path / "dogs.html").read_text()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("arguments", [["demo", "--n-points", 20], ["pairwise", *PAIR, "--picture", "D.png"]])
def test_pictures_are_written_without_pyplot(tmp_path, arguments):
    pytest.importorskip("matplotlib")
    program = f"import atexit, sys; atexit.register(lambda: print('matplotlib.pyplot' in sys.modules)); {PROGRAM}"
    assert anchorot(*arguments, cwd=tmp_path, program=program).stdout.endswith("\nFalse\n")
    assert list(tmp_path.glob("*.png"))


def test_demo_finds_creatures_points_and_groups(tmp_path):
    pytest.importorskip("matplotlib")
    found = json.loads(anchorot("demo", "-o", tmp_path / "x.png", "--json").stdout)
    creatures, dog, tissues = found["creatures"], found["dog"], found["tissues"]
    energies = np.array(creatures["energies"])
    assert (energies == energies.T).all()
    names = creatures["names"]
    assert [names[k].split()[0] for k in creatures["nearest"]] == [name.split()[0] for name in names]
    assert creatures["nearest_of_same_kind"] == 16
    assert dog["right"] == dog["points"] == 200
    assert dog["bound"] <= dog["loss"]
    assert dog["runner_up"] is None
    assert dog["confidence"] > 0.9
    assert tissues["pvalue"] < 0.05
    assert any(low < 0.1 < high for low, high in tissues["where"])  # the radius of the clumps
