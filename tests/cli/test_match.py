"""`anchorot match`: matches are printed, written and reported."""

import csv
import json

import numpy as np
import pytest

import anchorot as ao
from anchorot.report import write_report
from tests.command_line import FEW, MIDDLE, anchorot, assert_one_line
from tests.project.pages import decoded_plan, reported, versions


@pytest.mark.system
def test_match_prints_writes_and_reports(tmp_path):
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(8, 3)) * [1, 2, 4]
    np.savez(tmp_path / "a.npz", points=cloud, labels=list("abcdefgh"))
    np.savez(tmp_path / "b.npz", points=cloud[::-1] + 5, labels=list("hgfedcba"))
    result = anchorot("match", "a.npz", "b.npz", "--metric", "aw", "--epsilon", 0, "-o", "m.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "written: m.csv" in result.stdout
    with (tmp_path / "m.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["a"], row["b"]) for row in rows] == [(name, name) for name in "abcdefgh"]
    assert all(float(row["share"]) == pytest.approx(1) for row in rows)
    found = json.loads(
        anchorot(
            "match", "a.npz", "b.npz", "--plan", "aep", "-o", "m.npz", "--one-to-one", "--json", cwd=tmp_path
        ).stdout
    )
    assert sorted(found["match"]) == list(range(8))
    with np.load(tmp_path / "m.npz") as saved:
        expected = ao.anchor_energy_plan(*(ao.read(tmp_path / name) for name in ("a.npz", "b.npz")))
        np.testing.assert_array_equal(saved["plan"], expected)
        assert saved["match"].tolist() == found["match"]
        assert saved["labels_a"].tolist() == list("abcdefgh")
    assert anchorot("match", "a.npz", "b.npz", "--report", "r.html", cwd=tmp_path).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a.npz", "b.npz", "m.csv", "m.npz", "r.html"}


@pytest.mark.system
def test_the_page_shows_all_that_write_report_shows_of_an_alignment(tmp_path):
    """The value, the bound, the starts, the soft plan and the runner-up, of a shape that has a mirror image."""
    half = np.random.default_rng(0).normal(size=(9, 2)) + np.array([4, 0])
    cloud = np.concatenate([half, half * [-1, 1]])
    np.save(tmp_path / "a.npy", ao.from_points(cloud).cost)
    np.save(tmp_path / "b.npy", ao.from_points(cloud[::-1]).cost)
    assert anchorot("match", "a.npy", "b.npy", "--report", "by_command.html", cwd=tmp_path).returncode == 0
    x, y = (ao.read(tmp_path / name, rng=0, cache=True) for name in ("a.npy", "b.npy"))
    found = ao.align(x, y, rng=0)
    assert found.runner_up is not None
    write_report(tmp_path / "by_hand.html", x, y, found, names=("a.npy", "b.npy"))
    by_command, by_hand = ((tmp_path / f"{name}.html").read_text("utf-8") for name in ("by_command", "by_hand"))
    known, expected = reported(by_command), reported(by_hand)
    assert known.keys() >= {"method", "loss", "lower bound of the loss", "solver", "runner-up", "matches of a point"}
    assert {key: known[key] for key in expected} == expected
    shown, wanted = (versions(tmp_path / f"{name}.html") for name in ("by_command", "by_hand"))
    assert shown == wanted
    assert len(shown) == 2
    soft = decoded_plan(shown[0]["plan"]["whole"])
    assert np.count_nonzero(soft) > 18


def test_the_page_names_the_kind_of_plan(tmp_path):
    np.save(tmp_path / "a.npy", ao.from_points(np.random.default_rng(0).normal(size=(6, 2))).cost)
    command = ["match", "a.npy", "a.npy", "--plan", "aw", "--epsilon", "0", "--report", "r.html"]
    assert anchorot(*command, cwd=tmp_path).returncode == 0
    known = reported((tmp_path / "r.html").read_text("utf-8"))
    assert known["points"] == "6 and 6"
    assert float(known["value"]) == pytest.approx(0, abs=1e-9)
    assert (known["plan"], known["epsilon"]) == ("Anchor Wasserstein plan", "0")


# -- meshes of many vertices ---------------------------------------------------------------------------------------


@pytest.mark.system
def test_an_interrupted_alignment_of_surfaces_leaves_nothing_behind(small_meshes):
    folder, _ = small_meshes
    stop = FEW + MIDDLE.format("os.kill(os.getpid(), signal.SIGINT); threading.Event().wait(5)") + "\nmain()"
    result = anchorot("match", "a.off", "b.off", "-o", "map.txt", "--report", "r.html", cwd=folder, program=stop)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "anchorot: interrupted\n")
    assert {path.name for path in folder.iterdir()} == {"a.off", "b.off"}


# -- embeddings ----------------------------------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path):
    """Vectors of two models with 3 and 5 dimensions, the second's rows in another order; and who is who."""
    rng = np.random.default_rng(0)
    points, order = rng.normal(size=(40, 3)) * (3, 2, 1), rng.permutation(40)
    turn = np.linalg.qr(rng.normal(size=(5, 3)))[0].T
    np.save(tmp_path / "x.npy", points)
    np.savez(tmp_path / "y.npz", points=4 * points[order] @ turn, labels=[f"word {k}" for k in order])
    return tmp_path, np.argsort(order)


def test_embeddings_are_aligned_by_a_rotation_that_can_be_kept(vectors):
    folder, truth = vectors
    command = ["match", "x.npy", "y.npz", "--embeddings", "euclidean"]
    result = anchorot(*command, "-o", "map.npz", "--report", "r.html", cwd=folder)
    assert result.returncode == 0, result.stderr
    shown = " ".join(result.stdout.split())
    for words in ("the surest 10", "3 to 5 dimensions", "matches that are right: about 40 of 40", "word "):
        assert words in shown
    wanted = ao.align_embeddings(
        np.load(folder / "x.npy"), np.load(folder / "y.npz")["points"], metric="euclidean", rng=0
    )
    np.testing.assert_array_equal(wanted.matches, truth)
    with np.load(folder / "map.npz") as saved:
        np.testing.assert_array_equal(saved["match"], truth)
        for name in ("rotation", "scale", "offset", "confidence"):
            np.testing.assert_allclose(saved[name], getattr(wanted, name))
        assert saved["metric"] == "euclidean"
    assert reported((folder / "r.html").read_text("utf-8"))["method"].startswith("align_embeddings")
    found = json.loads(anchorot(*command, "--json", cwd=folder).stdout)
    assert (found["plan"], found["match"]) == ("embeddings", truth.tolist())
    assert found["labels_b"][found["match"][7]] == "word 7"
    assert found["confidence"] == pytest.approx(wanted.confidence.tolist())
    assert {"objective", "scale", "candidates", "runner_up", "converged"} <= found.keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--embeddings", "manhattan"], "--embeddings must be auto or cosine or euclidean, but got manhattan"),
        (["--embeddings", "cosine", "--mass", "0.5"], "--mass cannot be combined with --embeddings"),
        (["--embeddings", "cosine", "--plan", "aw"], "--plan cannot be combined with --embeddings"),
        (["--embeddings", "cosine", "--n-points", "9"], "--n-points cannot be combined with --embeddings"),
    ],
)
def test_what_embeddings_cannot_do_is_one_line(vectors, options, message):
    folder, _ = vectors
    assert_one_line(anchorot("match", "x.npy", "y.npz", *options, cwd=folder), message)


@pytest.mark.system
def test_what_holds_no_vectors_is_one_line(vectors):
    folder, _ = vectors
    (folder / "g.edgelist").write_text("a b\n")
    np.savez(folder / "mesh.npz", V=np.eye(3), F=[[0, 1, 2]])
    np.save(folder / "flat.npy", np.arange(4.0))
    np.save(folder / "nan.npy", np.full((2, 2), np.nan))
    for name, message in (
        ("g.edgelist", "g.edgelist: rows of numbers are needed"),
        ("mesh.npz", "mesh.npz: this is a mesh, but rows of numbers are needed"),
        ("flat.npy", "flat.npy: the array has shape (4,), but (n, d) is needed"),
        ("nan.npy", "nan.npy: the array must be finite, but 4 entries are not"),
        ("none.npy", "none.npy"),
    ):
        assert_one_line(anchorot("match", "x.npy", name, "--embeddings", "cosine", cwd=folder), message)


@pytest.mark.parametrize(
    ("options", "noted"),
    [
        (["--n-points", "50"], ""),
        (["--geodesic", "edge", "--mass", "1"], "since --geodesic edge needs costs between all points"),
        (["--robust"], "since --robust needs costs between all points"),
        (["--one-to-one"], "since --one-to-one needs costs between all points"),
        (["--start", "product"], "since --start needs costs between all points"),
    ],
)
def test_what_needs_all_costs_takes_a_sample_and_says_so(meshes, options, noted):
    pytest.importorskip("ot")
    folder, _ = meshes
    result = anchorot("match", "a.off", "b.off", *options, "--json", cwd=folder, program=FEW + "main()")
    assert result.returncode == 0, result.stderr
    assert (json.loads(result.stdout)["n"], json.loads(result.stdout)["m"]) == (50, 50)
    assert noted in result.stderr
    assert ("a.off has 2562 vertices, of which 50 are kept" in result.stderr) == bool(noted)
    others = [line for line in result.stderr.splitlines() if "no alignment was found" not in line]
    assert bool(others) == bool(noted)


def test_a_large_mesh_and_what_is_no_mesh_are_aligned_as_spaces(meshes):
    pytest.importorskip("ot")
    folder, _ = meshes
    np.save(folder / "cloud.npy", np.random.default_rng(0).normal(size=(60, 3)))
    command = ["match", "cloud.npy", "a.off", "--kind", "points", "--json"]
    result = anchorot(*command, cwd=folder, program=FEW + "main()")
    assert result.returncode == 0, result.stderr
    assert (json.loads(result.stdout)["n"], json.loads(result.stdout)["m"]) == (60, 50)
    assert "a.off has 2562 vertices, of which 50 are kept, since cloud.npy is not a mesh" in result.stderr


def test_match_leaves_out_what_is_missing(tmp_path):
    pytest.importorskip("ot")
    cloud = np.random.default_rng(2).normal(size=(20, 3))
    np.save(tmp_path / "a.npy", ao.from_points(cloud).cost)
    np.save(tmp_path / "b.npy", ao.from_points(cloud[:15]).cost)
    command = ["match", "a.npy", "b.npy", "--mass", "1", "-o", "m.npz"]
    found = json.loads(anchorot(*command, "--json", cwd=tmp_path).stdout)
    assert found["match"] == [*range(15), *[-1] * 5]
    assert found["unmatched"] == 0.25
    with np.load(tmp_path / "m.npz") as saved:
        assert saved["match"].tolist() == found["match"]
    assert "25.0% of the first space's points have no match" in anchorot(*command[:-2], cwd=tmp_path).stdout
    reported = anchorot("match", "a.npy", "b.npy", "--mass", "most", cwd=tmp_path)
    assert (reported.returncode, "or 'free', but got 'most'" in reported.stderr) == (2, True)


def test_every_plan_has_its_old_names(tmp_path):
    cloud = np.random.default_rng(3).normal(size=(6, 2))
    np.save(tmp_path / "a.npy", ao.from_points(cloud).cost)
    for old, new in (("ae", "aep"), ("aw", "aw"), ("gw", "gw")):
        found = json.loads(anchorot("match", "a.npy", "a.npy", "--metric", old, "--json", cwd=tmp_path).stdout)
        assert found["plan"] == new
        assert ("value" in found) == (old != "ae")


def test_match_without_a_partner(tmp_path):
    np.save(tmp_path / "a.npy", ao.from_points(np.arange(4.0)[:, None]).cost)
    np.save(tmp_path / "b.npy", ao.from_points(np.arange(2.0)[:, None]).cost)
    result = anchorot("match", "a.npy", "b.npy", "--one-to-one", "-o", "m.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "m.csv").read_text().count(",,0") == 2


def test_names_in_tables_are_no_formulas(tmp_path):
    labels = ["=1+1", "@x", "-7", "+a", "plain", "\t=x"]
    np.savez(tmp_path / "=a.npz", points=np.arange(6.0)[:, None] ** 2, labels=labels)
    assert anchorot("match", "=a.npz", "=a.npz", "--one-to-one", "-o", "m.csv", cwd=tmp_path).returncode == 0
    with (tmp_path / "m.csv").open(newline="") as handle:
        names = [row[0] for row in csv.reader(handle)][1:]
    assert names == ["'=1+1", "'@x", "-7", "'+a", "plain", "'\t=x"]
    assert anchorot("pairwise", "=a.npz", "=a.npz", "-o", "D.csv", cwd=tmp_path).returncode == 0
    rows = list(csv.reader((tmp_path / "D.csv").read_text().splitlines()))
    assert (rows[0], rows[1]) == (["", "'=a.npz", "'=a.npz"], ["'=a.npz", "0.0", "0.0"])
