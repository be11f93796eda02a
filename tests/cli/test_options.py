"""Options of commands that read files: results record them, and queries use them."""

import gzip
import json

import numpy as np

from tests.command_line import anchorot_each


def write_clouds(folder, count=4):
    """Clouds of 40 points each, as files of coordinates."""
    rng = np.random.default_rng(0)
    for number in range(count):
        np.savetxt(folder / f"cloud{number}.csv", rng.normal(size=(40, 2)) * [1, 1 + number], delimiter=",")
    return [folder / f"cloud{number}.csv" for number in range(count)]


def test_a_query_is_read_as_the_index_was_built(tmp_path):
    paths = write_clouds(tmp_path)
    how = ["--kind", "points", "--n-points", 12, "--seed", 5, "--point-metric", "cityblock"]
    build, plain, repeated, other = anchorot_each(
        ["search", "build", *paths, "-o", "x.index", *how, "--json"],
        ["search", "query", "x.index", paths[1], "--json"],
        ["search", "query", "x.index", paths[1], "--json", *how],
        ["search", "query", "x.index", paths[1], "--json", "--n-points", 13],
        cwd=tmp_path,
    )
    wanted = {"kind": "points", "n_points": 12, "seed": 5, "point_metric": "cityblock", "sampling": "farthest"}
    assert wanted.items() <= json.loads(build.stdout)["reading"].items()
    nearest = json.loads(plain.stdout)["nearest"]
    assert nearest[0]["name"] == "cloud1.csv"
    assert nearest[0]["value"] == 0
    assert json.loads(repeated.stdout)["nearest"] == nearest
    assert plain.stderr == repeated.stderr == ""
    note = "this was read with different options from the index: n_points=13 where the index has 12"
    assert other.stderr == f"anchorot: note: {note}\n"


def test_results_of_pairwise_say_how_files_were_read(tmp_path):
    paths = write_clouds(tmp_path)
    how = ["--kind", "points", "--n-points", 12, "--seed", 5, "--no-cache"]
    shown, written = anchorot_each(
        ["pairwise", *paths, *how, "--p", 2, "--json"], ["pairwise", *paths, *how, "-o", "D.npz"], cwd=tmp_path
    )
    wanted = {"kind": "points", "n_points": 12, "seed": 5, "point_metric": "euclidean", "sampling": "farthest"}
    found = json.loads(shown.stdout)
    assert found["p"] == 2
    assert wanted.items() <= found["reading"].items()
    assert written.returncode == 0
    with np.load(tmp_path / "D.npz") as saved:
        assert json.loads(str(saved["reading"])) == found["reading"]
        assert json.loads(str(saved["options"]))["p"] == 1


def test_packed_files_are_read_as_the_others_are(tmp_path):
    for path in write_clouds(tmp_path):
        (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    how = ["--kind", "points", "--n-points", 12]
    pairs, build, query, match = anchorot_each(
        ["pairwise", ".", *how, "--json"],
        ["search", "build", ".", "-o", "x.index", *how, "--json"],
        ["search", "query", "x.index", "cloud2.csv.gz", "--json"],
        ["match", "cloud0.csv.gz", "cloud1.csv.gz", *how, "--json"],
        cwd=tmp_path,
    )
    assert json.loads(pairs.stdout)["names"] == [f"cloud{number}.csv.gz" for number in range(4)]
    assert json.loads(build.stdout)["spaces"] == 4
    nearest = json.loads(query.stdout)["nearest"][0]
    assert (nearest["name"], nearest["value"]) == ("cloud2.csv.gz", 0)
    assert match.returncode == 0
