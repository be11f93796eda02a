"""Files turned into files of spaces: nothing is lost or overwritten, and all warnings are passed on."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.many.convert import target_files
from tests.command_line import anchorot_each
from tests.io.test_cache import grid_mesh, neuron
from tests.strategies import assert_same

HOW = {"geodesic": "edge", "n_points": 9, "rng": 4}


@pytest.fixture
def mixed(tmp_path):
    np.savetxt(tmp_path / "cloud.csv", np.ones((3, 3)), delimiter=",")
    return [grid_mesh(tmp_path / "mesh.off"), neuron(tmp_path / "cell.swc"), tmp_path / "cloud.csv"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_converted_file_is_the_space_that_was_read(tmp_path, mixed, n_jobs):
    written = ao.convert(mixed, tmp_path / "new" / "spaces", n_jobs=n_jobs, **HOW)
    assert [file.name for file in written] == ["mesh.npz", "cell.npz", "cloud.npz"]
    for source, file in zip(mixed, written, strict=True):
        assert_same(ao.read(file), ao.read(source, **HOW))


def test_a_converted_file_keeps_the_notes_of_its_reader(tmp_path, mixed):
    (file, *_) = ao.convert(mixed, tmp_path / "spaces", **HOW)
    digest = hashlib.sha256(mixed[0].read_bytes()).hexdigest()
    assert ao.read(file).origin.source == ao.io.Origin("mesh.off", HOW, digest, ao.__version__)
    assert ao.read(file).origin.reading == HOW


def test_a_seed_that_was_drawn_is_recorded(tmp_path, mixed):
    (file,) = ao.convert(mixed[:1], tmp_path / "spaces", n_points=9, geodesic="edge", rng=None)
    seed = ao.read(file).origin.reading["rng"]
    assert_same(ao.read(file), ao.read(mixed[0], n_points=9, geodesic="edge", rng=seed))


@pytest.mark.parametrize(
    ("sources", "wanted"),
    [
        (["a/x.off", "a/y.off"], ["x.npz", "y.npz"]),
        (["a/x.off", "a/x.ply"], ["x.npz", "x.ply.npz"]),
        (["a/x.off", "b/x.off", "c/x.off"], ["x.npz", "x.off.npz", "x.off-2.npz"]),
        (["a/x.off", "a/X.ply"], ["x.npz", "X.ply.npz"]),
        (["spaces/x.npz", "a/x.off"], ["x.npz.npz", "x.off.npz"]),
        (["a/x.off", "a/x.off"], ["x.npz", "x.off.npz"]),
        (["a/x.off.ply", "a/x.off", "b/x.ply"], ["x.off.npz", "x.npz", "x.ply.npz"]),
    ],
)
def test_no_two_files_get_one_name_and_no_source_is_overwritten(tmp_path, sources, wanted):
    targets = target_files([tmp_path / source for source in sources], tmp_path / "spaces")
    assert [path.relative_to(tmp_path / "spaces") for path in targets] == [Path(name) for name in wanted]


def test_converting_twice_gives_the_same_files(tmp_path, mixed):
    first = [file.read_bytes() for file in ao.convert(mixed, tmp_path / "spaces", **HOW)]
    assert [file.read_bytes() for file in ao.convert(mixed, tmp_path / "spaces", **HOW)] == first
    assert len(list((tmp_path / "spaces").iterdir())) == 3


def test_bad_files_are_skipped_with_a_note_or_raised(tmp_path, mixed):
    (tmp_path / "bad.off").write_text("no mesh")
    paths = [mixed[1], tmp_path / "bad.off", tmp_path / "missing.off", mixed[2]]
    with pytest.raises(ao.InputError, match=r"^bad\.off: "):
        ao.convert(paths, tmp_path / "one")
    with pytest.warns(ao.InputWarning, match=r"^2 of 4 files were not converted: bad\.off: .* \(and 1 more\)$"):
        written = ao.convert(paths, tmp_path / "two", errors="skip")
    assert [None if file is None else file.name for file in written] == ["cell.npz", None, None, "cloud.npz"]
    assert sorted(file.name for file in (tmp_path / "two").iterdir()) == ["cell.npz", "cloud.npz"]


def test_wrong_arguments_get_one_clear_line(tmp_path, mixed):
    with pytest.raises(ao.InputError, match="paths must be a sequence of paths, but got one"):
        ao.convert(mixed[0], tmp_path / "spaces")
    with pytest.raises(ao.InputError, match="errors must be one of 'raise', 'skip', but got 'ignore'"):
        ao.convert(mixed, tmp_path / "spaces", errors="ignore")
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        ao.convert(mixed, tmp_path / "spaces", speed=3)


def test_the_command_line_converts_files_folders_and_graphs(tmp_path, mixed):
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text("1, 2\n2, 3\n4, 5\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n1\n2\n2\n")
    (tmp_path / "bad.off").write_text("no mesh")
    words = ["convert", *mixed, "TOY", "bad.off", "-o", "spaces", "--geodesic", "edge", "--n-points", 2]
    failed, skipped, shown, index, query = anchorot_each(
        words,
        [*words, "--skip-errors", "--json"],
        [*words, "--skip-errors"],
        ["search", "build", "spaces", "-o", "x.index"],
        ["search", "query", "x.index", mixed[0], "-k", 1, "--json"],
        cwd=tmp_path,
    )
    assert failed.returncode == 2
    assert failed.stderr.startswith("anchorot: bad.off: ")
    found = json.loads(skipped.stdout)
    names = ["mesh.npz", "cell.npz", "cloud.npz", "TOY-1.npz", "TOY-2.npz", None]
    assert [each["file"] for each in found["files"]] == names
    assert found["reading"]["n_points"] == 2
    assert skipped.stderr.startswith("anchorot: note: 1 of 6 files were not converted: bad.off: ")
    assert "5 of 6 files converted to spaces" in shown.stdout
    assert ao.read(tmp_path / "spaces" / "TOY-2.npz").n == 2
    assert index.returncode == 0
    nearest = json.loads(query.stdout)["nearest"][0]  # read as the files were that the spaces were converted from
    assert (nearest["name"], nearest["value"]) == ("mesh.npz", 0.0)
