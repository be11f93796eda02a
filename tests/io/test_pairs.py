"""Pairs of node names, read from files."""

import json

import pytest

import anchorot as ao
from anchorot.io.pairs import read_pairs

NAMES = ["a", 7, "c d"], ["x", "7", "z"]
PAIRS = [("a", "z"), (7, "x")]
FILES = {
    "s.csv": "a,z\n7, x\n",
    "header.csv": "first,second,confidence\na,z,0.9\n7,x,0.8\n",
    "s.tsv": "a\tz\n7\tx\n",
    "s.txt": "# known\na z\n\n7 x\n",
    "s.json": json.dumps(PAIRS),
    "object.json": json.dumps({"a": "z", "7": "x"}),
}


def read(folder, name, content):
    (folder / name).write_text(content)
    return read_pairs(folder / name, NAMES, ("A", "B"), 1 << 20)


@pytest.mark.parametrize("name", FILES)
def test_pairs_are_read_from_every_format(tmp_path, name):
    assert read(tmp_path, name, FILES[name]) == PAIRS


def test_names_with_spaces_are_read_from_tables(tmp_path):
    assert read(tmp_path, "s.csv", '"c d",7\n') == [("c d", "7")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.csv", "a,z\n7,y\n", "B has no node 'y'; a pair is a node of A, then one of B"),
        ("s.csv", "x,a\nz,7\n", "A has no node 'x'"),
        ("s.csv", "a\n", "two names are needed on every line, but one is 'a'"),
        ("s.csv", "a,\n", "two names are needed on every line"),
        ("s.csv", "", "the file is empty"),
        ("s.json", "{", "not JSON"),
        ("s.json", "[" * 100_000, "not JSON"),
        ("s.json", "[]", "an object"),
        ("s.json", '[["a"]]', "pairs of names are needed"),
        ("s.json", '[["a", ["z"]]]', "pairs of names are needed"),
        ("s.npy", "", "but this ends in '.npy'"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path, name, content, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        read(tmp_path, name, content)
    assert "\n" not in str(caught.value)
