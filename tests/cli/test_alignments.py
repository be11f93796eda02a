"""How the command line shows an alignment."""

import json
import re
from html import unescape

import numpy as np
import pytest

import anchorot as ao
from tests.command_line import anchorot


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
    assert {start["name"] for start in found["candidates"]} >= {"near", "middle", "product"}
    shown = anchorot("match", "a.npy", "b.npy", "--start", "product", cwd=tmp_path).stdout
    assert all(text in shown for text in ("loss: ", "a gap of ", "│ product │"))
    assert "near" not in shown


def reported(page):
    """What the top of a page says, by name."""
    return {unescape(key): unescape(value) for key, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)}


# -- meshes of many vertices ---------------------------------------------------------------------------------------


@pytest.fixture
def meshes(tmp_path):
    """Two bumpy balls of 2 562 vertices, the second the first with other numbers; and which vertex is which."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(4)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 3))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    height = np.exp(-8 * (1 - ball.vertices @ centres.T)) @ rng.uniform(0.3, 1.2, 5)
    vertices, order = ball.vertices * (1 + height)[:, None], rng.permutation(2562)
    trimesh.Trimesh(vertices, ball.faces, process=False).export(tmp_path / "a.off")
    truth = np.argsort(order)
    trimesh.Trimesh(vertices[order], truth[ball.faces], process=False).export(tmp_path / "b.off")
    return tmp_path, truth


# Let meshes of few vertices be aligned as large ones are.
FEW = "import anchorot.cli.match; from anchorot.cli import main; import sys; "


FEW += "sys.modules['anchorot.cli.match'].LARGE_MESH = 50; "


@pytest.fixture
def small_meshes(tmp_path):
    """Two bumpy balls of 162 vertices, the second the first with other numbers; and which vertex is which."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2)
    rng = np.random.default_rng(0)
    bumps = 1 + 0.5 * np.exp(-6 * (1 - ball.vertices @ np.linalg.qr(rng.normal(size=(3, 3)))[0])) @ (1, 0.7, 0.4)
    vertices, order = ball.vertices * bumps[:, None], rng.permutation(162)
    trimesh.Trimesh(vertices, ball.faces, process=False).export(tmp_path / "a.off")
    truth = np.argsort(order)
    trimesh.Trimesh(vertices[order], truth[ball.faces], process=False).export(tmp_path / "b.off")
    return tmp_path, truth


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
