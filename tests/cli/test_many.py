"""`anchorot pairwise`, `search` and `barycenter`: many spaces from files."""

import csv
import json

import numpy as np
import pytest

import anchorot as ao
from anchorot.cli.many import _closest_pairs
from anchorot.many import shards
from tests.command_line import PROGRAM, anchorot, anchorot_each, assert_one_line, write_lines

pytestmark = pytest.mark.system


def test_pairwise_prints_writes_and_draws(tmp_path):
    paths = write_lines(tmp_path)
    expected = ao.pairwise([ao.read(path) for path in paths])
    result = anchorot("pairwise", *paths, "-o", "D.npz", "--picture", "D.png", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "3 pairs in" in result.stdout
    assert f"{expected[0, 2]:.4g}" in result.stdout
    with np.load(tmp_path / "D.npz") as saved:
        np.testing.assert_array_equal(saved["distances"], expected)
        assert saved["names"].tolist() == ["line1.csv", "line2.csv", "dots10.csv"]
        assert saved["groups"].tolist() == ["line", "line", "dots"]
        assert json.loads(str(saved["options"]))["metric"] == "ae"
    assert (tmp_path / "D.png").read_bytes().startswith(b"\x89PNG")
    assert anchorot("pairwise", *paths, "-o", "D.csv", cwd=tmp_path).returncode == 0
    rows = list(csv.reader((tmp_path / "D.csv").read_text().splitlines()))
    assert rows[0] == ["", "line1.csv", "line2.csv", "dots10.csv"]
    assert [[float(value) for value in row[1:]] for row in rows[1:]] == expected.tolist()


def test_pairwise_finds_the_nearest(tmp_path):
    paths = write_lines(tmp_path)
    wanted = ao.pairwise([ao.read(path) for path in paths], k=1)
    result = anchorot("pairwise", *paths, "--nearest", 1, "-o", "knn.npz", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert f"{wanted.value[2, 0]:.6g}" in result.stdout
    with np.load(tmp_path / "knn.npz") as saved:
        np.testing.assert_array_equal(saved["index"], wanted.index)
        np.testing.assert_array_equal(saved["value"], wanted.value)
        assert saved["names"].tolist() == ["line1.csv", "line2.csv", "dots10.csv"]
    found = json.loads(anchorot("pairwise", *paths, "--nearest", 1, "--json", cwd=tmp_path).stdout)
    assert (found["index"], found["value"]) == (wanted.index.tolist(), wanted.value.tolist())
    assert anchorot("pairwise", *paths, "--nearest", 1, "-o", "knn.csv", cwd=tmp_path).returncode == 0
    rows = list(csv.reader((tmp_path / "knn.csv").read_text().splitlines()))
    assert rows[:2] == [["space", "neighbour", "value"], ["line1.csv", "line2.csv", str(wanted.value[0, 0])]]


def test_pairwise_writes_a_matrix_that_is_never_in_memory(tmp_path):
    paths = write_lines(tmp_path)
    expected = ao.pairwise([ao.read(path) for path in paths])
    result, in_json = anchorot_each(
        ["pairwise", *paths, "-o", "D.npy"], ["pairwise", *paths, "-o", "E.npy", "--json"], cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "written: D.npy" in result.stdout
    for name in ("D.npy", "E.npy"):
        np.testing.assert_array_equal(np.load(tmp_path / name), expected)
    found = json.loads(in_json.stdout)
    assert (found["distances"], found["output"], found["names"][0]) == (None, "E.npy", "line1.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--nearest 1 -o D.npy", "D.npy: --nearest finds two arrays, index and value; write them as .npz or .csv"),
        ("-o letter.npy", "out='letter.npy' exists and is not an .npy file; choose another file"),
    ],
)
def test_pairwise_refuses_what_is_no_matrix_file(tmp_path, words, message):
    paths = write_lines(tmp_path)
    (tmp_path / "letter.npy").write_text("Dear")
    assert_one_line(anchorot("pairwise", *paths, *words.split(), cwd=tmp_path), message)
    assert (tmp_path / "letter.npy").read_text() == "Dear"


def test_the_closest_pairs_are_those_of_a_sort_of_all():
    rng = np.random.default_rng(0)
    d = rng.integers(0, 9, (30, 30)).astype(float)
    d[rng.random((30, 30)) < 0.2] = np.nan
    rows, columns = np.triu_indices(30, 1)
    order = np.argsort(d[rows, columns], kind="stable")[:12]
    expected = [(int(rows[k]), int(columns[k])) for k in order if not np.isnan(d[rows[k], columns[k]])]
    assert _closest_pairs(d, 12) == expected
    assert _closest_pairs(np.full((3, 3), np.nan), 12) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--nearest", 3], "k=3 nearest spaces are asked for, but a space has only 2 others here"),
        (["--nearest", 1, "--picture", "D.png"], "--picture draws the matrix, which --nearest does not compute"),
    ],
    ids=str,
)
def test_pairwise_refuses_too_many_neighbours(tmp_path, options, problem):
    result = anchorot("pairwise", *write_lines(tmp_path), *options, cwd=tmp_path)
    assert result.returncode == 2
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_pairwise_resumes_from_its_checkpoint(tmp_path):
    paths = write_lines(tmp_path)
    arguments = ("pairwise", *paths, "--checkpoint", "parts", "--json")
    first = json.loads(anchorot(*arguments, cwd=tmp_path).stdout)["distances"]
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert json.loads(anchorot(*arguments, "--jobs", 1, cwd=tmp_path).stdout)["distances"] == first
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()} == times
    other = anchorot(*arguments, "--robust", cwd=tmp_path)
    assert other.returncode == 2
    assert "is of another run: robust is False there and True here" in other.stderr


def test_pairwise_by_several_jobs_is_written_by_the_last(tmp_path):
    paths = write_lines(tmp_path)
    words = ("pairwise", *paths, "--checkpoint", "run", "-o", "D.npz", "--shard")
    last, late, reported, plain = anchorot_each(
        [*words, "1/3"], [*words, "2/3"], [*words, "0/3", "--json"], [*words[:-1], "--json"], cwd=tmp_path
    )
    assert "written: D.npz" in last.stdout
    again = "to assemble it again, leave out --shard"
    assert late.stdout == f"shard 2/3: another job has assembled the result; {again}\n"
    assert {result.returncode for result in (last, late, reported)} == {0}
    found = json.loads(reported.stdout)
    assert (found["shard"], found["assembled"], found["distances"]) == ("0/3", True, None)
    assert json.loads(plain.stdout)["distances"] == np.load(tmp_path / "D.npz")["distances"].tolist()


def test_pairwise_leaves_tiles_of_running_jobs_to_them(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "BEAT_SECONDS", 0.02)
    paths = write_lines(tmp_path)
    (tmp_path / "run").mkdir()
    with shards.Claims(tmp_path / "run", "living") as living:
        assert living.take(tmp_path / "run" / "000000-000000.npy")
        words = ("pairwise", *paths, "--checkpoint", "run", "-o", "D.npz", "--shard", "0/2")
        quick = f"from anchorot.many import shards; shards.BEAT_SECONDS = 0.02; {PROGRAM}"
        done = anchorot(*words, cwd=tmp_path, program=quick)
    assert done.returncode == 0
    assert done.stdout.startswith("shard 0/2: done in ")
    assert done.stdout.endswith(" s; other jobs compute the last tiles, and the last of them writes D.npz\n")
    assert not (tmp_path / "D.npz").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--shard 3/3 --checkpoint run",
            "shard must be (i, n) with i from 0 to n - 1, but got (3, 3); if jobs count from 1, subtract 1",
        ),
        ("--shard /100 --checkpoint run", "--shard must be I/N such as 0/100, for job I of N, but got '/100'"),
        ("--shard 1/2", "shard 1 of 2 needs the folder that all jobs share; give it as checkpoint"),
    ],
)
def test_a_bad_shard_is_one_line(tmp_path, words, message):
    assert_one_line(anchorot("pairwise", *write_lines(tmp_path), *words.split(), cwd=tmp_path), message)
    assert not (tmp_path / "run").exists()


def test_search_finds_what_was_built(tmp_path):
    paths = write_lines(tmp_path)
    built = anchorot("search", "build", *paths, "-o", "x.index", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert "index of 3 spaces" in built.stdout
    found = json.loads(anchorot("search", "query", "x.index", "line2.csv", "-k", 2, "--json", cwd=tmp_path).stdout)
    expected = ao.pairwise([ao.read(path) for path in paths])[1]
    assert [row["name"] for row in found["nearest"]] == ["line2.csv", "line1.csv"]
    assert [row["value"] for row in found["nearest"]] == [0.0, expected[0]]
    assert found["exact"] is True
    shown = anchorot("search", "query", "x.index", "line2.csv", "--candidates", 1, "-k", 1, cwd=tmp_path).stdout
    assert "approximate, compared with 1 of 3 spaces" in shown


def test_a_damaged_index_is_one_line(tmp_path):
    paths = write_lines(tmp_path)
    anchorot("search", "build", *paths, "-o", "x.index", cwd=tmp_path)
    whole = (tmp_path / "x.index").read_bytes()
    (tmp_path / "x.index").write_bytes(whole[: len(whole) // 2])
    result = anchorot("search", "query", "x.index", "line1.csv", cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "x.index" in result.stderr


def test_barycenter_of_one_space_is_that_space(tmp_path):
    pytest.importorskip("torch")
    square = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    np.savetxt(tmp_path / "square.csv", square, delimiter=",")
    arguments = ("barycenter", "square.csv", "--kind", "points", "--support", 4, "--restarts", 4, "-o", "mean.csv")
    result = anchorot(*arguments, "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["loss"] < 0.1 * found["first_loss"]
    assert np.loadtxt(tmp_path / "mean.csv", delimiter=",").shape == (4, 2)
