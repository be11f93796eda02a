"""`anchorot search`: an index that is one file, or a folder of shards, changed from the command line."""

import json

import numpy as np
import pytest

import anchorot as ao

from command_line import anchorot_each, assert_one_line

pytestmark = [pytest.mark.kernel_free, pytest.mark.lengthy]

KINDS = {"file": [], "folder": ["--shards"]}


def write_clouds(folder, count=5):
    rng = np.random.default_rng(0)
    for number in range(count):
        np.savetxt(folder / f"{number}.csv", rng.normal(size=(20, 2)) * (1 + number), delimiter=",")
    return [f"{number}.csv" for number in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_is_changed_and_asked(kind, tmp_path):
    files, how = write_clouds(tmp_path), ["--kind", "points", "--n-points", 9, "--seed", 3]
    results = anchorot_each(
        ["search", "build", *files[:3], "-o", "x.index", *KINDS[kind], *how],
        ["search", "add", "x.index", *files[3:], "--json"],
        ["search", "remove", "x.index", "1.csv", "--json"],
        ["search", "query", "x.index", "4.csv", "-k", 2, "--json"],
        ["search", "add", "x.index", "1.csv"],
        cwd=tmp_path,
    )
    assert [(result.returncode, result.stderr) for result in results] == [(0, "")] * 5
    assert (tmp_path / "x.index").is_dir() is (kind == "folder")
    assert "index of 3 spaces" in results[0].stdout
    assert "written: x.index" in results[0].stdout
    said = [json.loads(result.stdout) for result in results[1:4]]
    assert (said[0]["added"], said[0]["spaces"]) == ([3, 4], 5)
    assert (said[1]["removed"], said[1]["spaces"]) == (1, 4)
    assert said[2]["nearest"][0] == {"name": "4.csv", "id": 4, "value": 0.0}
    index = ao.SearchIndex.load(tmp_path / "x.index")
    assert index.ids.tolist() == [0, 2, 3, 4, 5]
    assert index.reading == {"kind": "points", "n_points": 9, "rng": 3}
    assert index.query(tmp_path / "1.csv", 1).names == ("1.csv",)


def test_compacting_joins_what_was_added(tmp_path):
    files = write_clouds(tmp_path)
    index = ao.SearchIndex.build([tmp_path / file for file in files[:3]], files[:3], path=tmp_path / "x", kind="points")
    index.add([tmp_path / file for file in files[3:]], files[3:])
    done, refused = anchorot_each(["search", "compact", "x", "--json"], ["search", "compact", "y"], cwd=tmp_path)
    assert json.loads(done.stdout)["spaces"] == 5
    assert len(list((tmp_path / "x").glob("*.part"))) == 1
    assert_one_line(refused, "y")


def test_what_cannot_be_removed_is_one_line(tmp_path):
    ao.SearchIndex.build([np.eye(2)], ["cat"]).save(tmp_path / "named")
    ao.SearchIndex.build([np.eye(2)]).save(tmp_path / "bare")
    results = anchorot_each(
        ["search", "remove", "named", "dog"], ["search", "remove", "bare", "dog"], ["search", "compact", "named"],
        ["search", "remove", "bare", "0"],
        cwd=tmp_path,
    )  # fmt: skip
    assert_one_line(results[0], "there is no space called 'dog' in the index")
    assert_one_line(results[1], "the spaces of this index have no names, so give their ids, not 'dog'")
    assert_one_line(results[2], "compact() is for an index in a folder")
    assert results[3].returncode == 0
    assert len(ao.SearchIndex.load(tmp_path / "bare")) == 0
