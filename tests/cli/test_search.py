"""`anchorot search`: an index changed and queried from the command line."""

import json

import numpy as np

import anchorot as ao
from tests.command_line import anchorot_each, assert_one_line


def write_clouds(folder, count=5):
    rng = np.random.default_rng(0)
    for number in range(count):
        np.savetxt(folder / f"{number}.csv", rng.normal(size=(20, 2)) * (1 + number), delimiter=",")
    return [f"{number}.csv" for number in range(count)]


def test_an_index_is_changed_and_asked(tmp_path):
    files, how = write_clouds(tmp_path), ["--kind", "points", "--n-points", 9, "--seed", 3]
    results = anchorot_each(
        ["search", "build", *files[:3], "-o", "x.index", *how],
        ["search", "add", "x.index", *files[3:], "--json"],
        ["search", "remove", "x.index", "1.csv", "--json"],
        ["search", "query", "x.index", "4.csv", "-k", 2, "--json"],
        ["search", "add", "x.index", "1.csv"],
        cwd=tmp_path,
    )
    assert [(result.returncode, result.stderr) for result in results] == [(0, "")] * 5
    assert [file.name for file in tmp_path.iterdir() if file.suffix != ".csv"] == ["x.index"]
    assert "index of 3 spaces" in results[0].stdout
    assert "written: x.index" in results[0].stdout
    printed = [json.loads(result.stdout) for result in results[1:4]]
    assert (printed[0]["added"], printed[0]["spaces"]) == ([3, 4], 5)
    assert (printed[1]["removed"], printed[1]["spaces"]) == (1, 4)
    assert printed[2]["nearest"][0] == {"name": "4.csv", "id": 4, "value": 0.0}
    index = ao.SearchIndex.load(tmp_path / "x.index")
    assert index.ids.tolist() == [0, 2, 3, 4, 5]
    assert index.reading == {"kind": "points", "n_points": 9, "rng": 3}
    assert index.query(tmp_path / "1.csv", 1).names == ("1.csv",)


def test_compacting_makes_the_file_smaller(tmp_path):
    files = write_clouds(tmp_path)
    index = ao.SearchIndex.build([tmp_path / file for file in files[:3]], files[:3], path=tmp_path / "x", kind="points")
    index.add([tmp_path / file for file in files[3:]] * 20, map(str, range(40)))
    index.remove(range(3, 43))
    before = (tmp_path / "x").stat().st_size
    done, refused = anchorot_each(["search", "compact", "x", "--json"], ["search", "compact", "y"], cwd=tmp_path)
    assert json.loads(done.stdout)["spaces"] == 3
    assert (tmp_path / "x").stat().st_size < before
    assert_one_line(refused, "y")


def test_files_of_one_name_are_noted(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_clouds(tmp_path / name, 3)
    how = ["--kind", "points", "--json"]
    build, add = anchorot_each(
        ["search", "build", "a", "b", "-o", "x", *how], ["search", "add", "x", "a/1.csv", "--json"], cwd=tmp_path
    )
    rest = "queries cannot distinguish them, and remove removes all of them\n"
    note = "anchorot: note: 3 names belong to several spaces of the index: '0.csv' to 2, ...; "
    assert (json.loads(build.stdout)["spaces"], build.stderr) == (6, note + rest)
    note = "anchorot: note: a name belongs to several spaces of the index: '1.csv' to 3; "
    assert (json.loads(add.stdout)["spaces"], add.stderr) == (7, note + rest)


def test_an_index_overwrites_neither_its_inputs_nor_other_files(tmp_path):
    files = write_clouds(tmp_path, 3)
    before = [(tmp_path / file).read_bytes() for file in files]
    build = ["search", "build", *files[:2], "--kind", "points", "-o"]
    over_input, over_other = anchorot_each([*build, files[0]], [*build, files[2]], cwd=tmp_path)
    assert_one_line(over_input, "0.csv: would overwrite 0.csv, which is an input; choose another file")
    assert_one_line(over_other, "2.csv: already exists and is not a search index; give another path")
    assert [(tmp_path / file).read_bytes() for file in files] == before


def test_what_cannot_be_removed_is_one_line(tmp_path):
    ao.SearchIndex.build([np.eye(2)], ["cat"]).save(tmp_path / "named")
    ao.SearchIndex.build([np.eye(2)]).save(tmp_path / "bare")
    results = anchorot_each(
        ["search", "remove", "named", "dog"], ["search", "remove", "bare", "dog"], ["search", "remove", "bare", "0"],
        cwd=tmp_path,
    )  # fmt: skip
    assert_one_line(results[0], "the index has no space named 'dog'")
    assert_one_line(results[1], "the spaces of this index have no names; give their ids instead of 'dog'")
    assert results[2].returncode == 0
    assert len(ao.SearchIndex.load(tmp_path / "bare")) == 0


def test_an_index_of_another_metric(tmp_path):
    files = write_clouds(tmp_path)
    build, query, table, refused = anchorot_each(
        ["search", "build", *files, "-o", "x.index", "--kind", "points", "--metric", "saw", "--p", 2, "--json"],
        ["search", "query", "x.index", "2.csv", "-k", 2, "--json"],
        ["search", "query", "x.index", "2.csv", "-k", 1],
        ["search", "build", *files, "-o", "y.index", "--kind", "points", "--p", 2],
        cwd=tmp_path,
    )
    built, found = json.loads(build.stdout), json.loads(query.stdout)
    assert (built["metric"], built["p"]) == (found["metric"], found["p"]) == ("saw", 2)
    spaces = [ao.read(tmp_path / file, kind="points") for file in files]
    values = [ao.sliced_anchor_wasserstein(spaces[2], space, 2) for space in spaces]
    assert [each["value"] for each in found["nearest"]] == sorted(values)[:2]
    assert "sliced anchor wasserstein" in " ".join(table.stdout.split())
    assert_one_line(refused, "an index of metric 'ae' takes p=1, but got p=2")
