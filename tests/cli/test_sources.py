"""Spaces named on the command line: files, folders and collections."""

import json

import numpy as np
import pytest

from tests.command_line import anchorot, write_lines

pytestmark = pytest.mark.system


def test_pairwise_of_a_folder_is_in_natural_order(tmp_path):
    for number in (10, 9, 1):
        np.save(tmp_path / f"x{number}.npy", np.zeros((2, 2)))
    (tmp_path / "notes.md").write_text("not a space")
    found = json.loads(anchorot("pairwise", tmp_path, "--metric", "slb", "--robust", "--json").stdout)
    assert found["names"] == ["x1.npy", "x9.npy", "x10.npy"]
    assert found["distances"] == [[0.0] * 3] * 3


def test_pairwise_of_a_tu_folder(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text("1, 2\n4, 5\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n2\n3\n3\n")
    (folder / "TOY_graph_labels.txt").write_text("1\n2\n1\n")
    found = json.loads(anchorot("pairwise", folder, "--json").stdout)
    assert found["names"] == ["TOY/1", "TOY/2", "TOY/3"]
    assert found["distances"][0][2] == 0 < found["distances"][0][1]


def test_pairwise_names_a_bad_file_or_skips_it(tmp_path):
    paths = [*write_lines(tmp_path), tmp_path / "bad.csv"]
    paths[-1].write_text("a,b\n")
    result = anchorot("pairwise", *paths, "--json")
    assert result.returncode == 2
    assert "bad.csv: there is a header, but no line of numbers" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    skipped = anchorot("pairwise", *paths, "--json", "--skip-errors")
    assert json.loads(skipped.stdout)["distances"][3] == [None] * 4
    assert skipped.stderr.startswith("anchorot: note: 1 of 4 spaces cannot be used")
