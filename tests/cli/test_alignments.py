"""How the command line shows an alignment."""

import json

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import FEW, anchorot
from tests.project.pages import reported


def test_match_aligns_by_default(tmp_path):
    cloud = np.random.default_rng(0).normal(size=(20, 3))
    order = np.random.default_rng(1).permutation(20)
    np.save(tmp_path / "a.npy", ao.from_points(cloud).cost)
    np.save(tmp_path / "b.npy", ao.from_points(cloud[order] + 5).cost)
    found = json.loads(anchorot("match", "a.npy", "b.npy", "--json", cwd=tmp_path).stdout)
    assert found["plan"] == "align"
    assert order[found["match"]].tolist() == list(range(20))
    assert 0 <= found["bound"] <= found["value"] < 1e-12
    assert found["gap"] == found["value"] - found["bound"]
    assert (found["unmatched"], found["runner_up"], found["converged"]) == (0, None, True)
    assert {start["name"] for start in found["candidates"]} >= {"near", "middle"}
    shown = anchorot("match", "a.npy", "b.npy", "--start", "product", cwd=tmp_path).stdout
    assert all(text in shown for text in ("loss: ", "a gap of ", "│ product │"))
    assert "near" not in shown


# -- meshes of many vertices ---------------------------------------------------------------------------------------


def test_meshes_are_aligned_as_surfaces_and_all_facts_are_printed(small_meshes):
    folder, truth = small_meshes
    files = ["-o", "map.txt", "--report", "r.html"]
    result = anchorot("match", "a.off", "b.off", *files, cwd=folder, program=FEW + "main()")
    assert result.returncode == 0, result.stderr
    told_text = " ".join(result.stdout.split())
    for words in (
        "candidates, best first",
        "orientation: ",
        "reliable: ",
        "│ confidence",
        "written: map.txt",
    ):
        assert words in told_text.replace("┃", "│")
    matches = ao.read_matches(folder / "map.txt")
    found = ao.align_meshes(folder / "a.off", folder / "b.off", rng=0)
    np.testing.assert_array_equal(matches, found.matches)
    assert (matches == truth).mean() > 0.9
    assert reported((folder / "r.html").read_text("utf-8"))["method"] == "align_meshes"
    assert ("WARNING" in told_text) == (found.reliable < 0.5)


@pytest.mark.system
def test_json_holds_all_facts_of_a_map_of_surfaces(small_meshes):
    folder, _ = small_meshes
    command = ["match", "a.off", "b.off", "--json", "-o", "m.npz"]
    found = json.loads(anchorot(*command, cwd=folder, program=FEW + "main()").stdout)
    wanted = ao.align_meshes(folder / "a.off", folder / "b.off", rng=0)
    assert (found["plan"], found["n"], found["m"], found["unmatched"]) == ("meshes", 162, 162, 0)
    assert found["match"] == wanted.matches.tolist()
    assert found["reliable"] == pytest.approx(wanted.reliable)
    assert found["orientation"] == pytest.approx(wanted.orientation)
    assert found["confidence"] == pytest.approx(wanted.confidence.tolist())
    assert [one["name"] for one in found["candidates"]] == [one.name for one in wanted.candidates]
    assert (found["runner_up"] is None) == (wanted.runner_up is None)
    assert found["seconds"]["plan"] > 0
    with np.load(folder / "m.npz") as saved:
        assert saved["match"].tolist() == found["match"]
        assert saved["confidence"].tolist() == pytest.approx(found["confidence"])


@pytest.mark.system
def test_a_map_that_may_be_mirrored_is_printed_with_a_warning(small_meshes):
    folder, _ = small_meshes
    doubt = FEW + "from dataclasses import replace; import anchorot as ao; align = ao.align_meshes; "
    doubt += "ao.align_meshes = lambda *a, **o: (lambda found: replace(found, reliable=0.3, runner_up="
    doubt += "replace(found.candidates[0], differs=0.4)))(align(*a, **o)); main()"
    result = anchorot("match", "a.off", "b.off", cwd=folder, program=doubt)
    shown = " ".join(result.stdout.split())
    assert "WARNING: No alignment was found that can be trusted (reliable=0.3); look at it" in shown
    assert "40% of the matches differ" in shown
    assert result.returncode == 0
