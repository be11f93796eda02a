"""Names and endings of files, and of paths without a name."""

from pathlib import Path

import pytest

import anchorot as ao
from anchorot.io.names import ending_of, stem_of

SPACE = ao.from_points([[0.0], [1.0], [3.0]])
READERS = {
    "read": ao.read,
    "cache": lambda path: ao.read(path, cache=True),
    "read_gin": ao.io.read_gin,
    "read_tu": ao.io.read_tu,
    "read_matches": ao.read_matches,
    "from_mesh": ao.from_mesh,
    "from_cohort": lambda path: ao.from_cohort(path, sample="a", points="b"),
    "write": lambda path: ao.write(SPACE, path),
    "load": ao.SearchIndex.load,
    "build": lambda path: ao.SearchIndex.build([SPACE], path=path),
    "convert": lambda path: ao.convert([path], "spaces"),
    "pairwise": lambda path: ao.pairwise([path, path], progress=False),
    "align": lambda path: ao.align(path, path),
    "align_meshes": lambda path: ao.align_meshes(path, path),
    "align_graphs": lambda path: ao.align_graphs(path, path),
    "write matches": lambda path: ao.align(SPACE, SPACE).write(path),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("path", [".", "", "..", "/", Path("."), "./"], ids=repr)
def test_a_folder_without_a_name_is_named_as_it_was_given(tmp_path, monkeypatch, path, reader):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ao.InputError) as caught:
        READERS[reader](path)
    name, _, reason = str(caught.value).partition(": ")
    assert name
    assert reason
    assert "()" not in name
    assert "\n" not in reason


@pytest.mark.parametrize("entry_point", ["read", "cache", "align", "align_graphs", "convert"])
def test_a_folder_in_place_of_a_file_raises_an_error_that_names_the_right_command(tmp_path, entry_point):
    folder = tmp_path / "shapes"
    folder.mkdir()
    with pytest.raises(ao.InputError, match=rf"^shapes: this is a folder, .*: anchorot pairwise {folder}$"):
        READERS[entry_point](folder)


@pytest.mark.parametrize(
    ("name", "ending", "stem"),
    [
        ("a.csv", ".csv", "a"),
        ("a.b.CSV", ".csv", "a.b"),
        ("a.csv.gz", ".csv", "a"),
        ("a.b.csv.GZ", ".csv", "a.b"),
        ("a.npz.gz", ".npz.gz", "a"),
        ("a.gz", ".gz", "a"),
        ("a", "", "a"),
    ],
)
def test_the_ending_before_gz_gives_the_format(name, ending, stem):
    assert (ending_of(Path(name)), stem_of(Path(name))) == (ending, stem)
