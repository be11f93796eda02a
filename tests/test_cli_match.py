"""`anchorot match`: which point is which, printed, written and reported."""

import csv
import json

import numpy as np
import pytest

import anchorot as ao

from command_line import anchorot

pytestmark = [pytest.mark.kernel_free, pytest.mark.lengthy]


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
    assert (tmp_path / "r.html").read_text().lower().startswith("<!doctype html>")
    assert {path.name for path in tmp_path.iterdir()} == {"a.npz", "b.npz", "m.csv", "m.npz", "r.html"}


def test_match_aligns_unless_told_otherwise(tmp_path):
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
    assert {start["name"] for start in found["starts"]} >= {"near", "middle", "product"}
    shown = anchorot("match", "a.npy", "b.npy", "--start", "product", cwd=tmp_path).stdout
    assert all(text in shown for text in ("loss ", "a gap of ", "│ product │"))
    assert "near" not in shown


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
    told = anchorot("match", "a.npy", "b.npy", "--mass", "most", cwd=tmp_path)
    assert (told.returncode, "or 'free', but got 'most'" in told.stderr) == (2, True)


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
