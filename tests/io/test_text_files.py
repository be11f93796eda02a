"""Text files of every kind: byte-order marks, and unusual digits and numbers."""

import functools
import itertools
import re

import networkx as nx
import numpy as np
import pytest
import trimesh

import anchorot as ao
from anchorot.cli.sources import find_sources

MARK = b"\xef\xbb\xbf"
MATRIX = "0 1.5 2\n1.5 0 1\n2 1 0\n"
EDGES = "1 2\n2 3\n3 4\n"
SWC = "1 1 0 0 0 2 -1\n2 3 3 4 0 1 1\n7 3 3 4 2 1 2\n"
SUPERSCRIPT = "\N{SUPERSCRIPT TWO}"


def mesh(kind):
    found = trimesh.creation.box().export(file_type=kind, **({"encoding": "ascii"} if kind == "ply" else {}))
    return found if isinstance(found, str) else found.decode()


TEXTS = {
    "matrix.csv": MATRIX.replace(" ", ","),
    "matrix.txt": MATRIX,
    "authors.txt": f"3\n{MATRIX}",
    "weights.txt": f"3\n{MATRIX}0.5 0.25 0.25\n",
    "graph.edgelist": EDGES,
    "sized.edges": f"4 3\n{EDGES}",
    "graph.graphml": "\n".join(nx.generate_graphml(nx.path_graph(3))),
    "graph.gexf": "\n".join(nx.generate_gexf(nx.path_graph(3))),
    "graph.gml": "\n".join(nx.generate_gml(nx.path_graph(3))),
    "named.csv": ",a,b,c\na,0,1.5,2\nb,1.5,0,1\nc,2,1,0\n",
    "matrix.tsv": MATRIX.replace(" ", "\t"),
    "neuron.swc": SWC,
    "box.off": mesh("off"),
    "box.obj": mesh("obj"),
    "box.ply": mesh("ply"),
    "box.stl": mesh("stl_ascii"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_byte_order_mark_changes_nothing(tmp_path, name):
    (tmp_path / name).write_text(TEXTS[name])
    expected = ao.read(tmp_path / name, geodesic="edge")
    (tmp_path / name).write_bytes(MARK + TEXTS[name].encode())
    found = ao.read(tmp_path / name, geodesic="edge")
    np.testing.assert_array_equal(found.cost, expected.cost)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.labels == expected.labels


@pytest.mark.parametrize("name", ["matrix.csv", "graph.txt"])
def test_a_byte_order_mark_does_not_change_edges(tmp_path, name):
    text = EDGES.replace(" ", ",") if name.endswith("csv") else EDGES
    (tmp_path / name).write_bytes(MARK + text.encode())
    assert ao.read(tmp_path / name, kind="graph").labels == (1, 2, 3, 4)


def test_byte_order_marks_do_not_change_a_collection(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    for name, text in (("A", "1, 2\n2, 1\n"), ("graph_indicator", "1\n1\n2\n"), ("graph_labels", "1\n-1\n")):
        (folder / f"TOY_{name}.txt").write_bytes(MARK + text.encode())
    found = ao.io.read_tu(folder)
    assert [graph.shape[0] for graph in found.graphs] == [2, 1]
    assert found.labels.tolist() == [1, -1]


LONG = "1" * 5000


def complaint(path):
    """What our own error says about a file; whatever else is raised comes out."""
    try:
        assert np.isfinite(ao.read(path, weight=True, disconnected=9).cost).all()
    except ao.InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("word", [SUPERSCRIPT, "\N{ARABIC-INDIC DIGIT TWO}", LONG, "-" + LONG, LONG + ".5"])
@pytest.mark.parametrize("name", TEXTS)
def test_other_digits_and_very_long_numbers_do_not_crash(tmp_path, name, word):
    for old in ("1", "2", "3"):
        (tmp_path / name).write_text(TEXTS[name].replace(old, word, 1))
        reported = complaint(tmp_path / name)
        assert reported is None or (reported.startswith(name) and "\n" not in reported)


def test_a_superscript_is_not_a_number_of_points(tmp_path):
    (tmp_path / "x.txt").write_text(f"{SUPERSCRIPT}\n0 1\n1 0\n")
    with pytest.raises(ao.InputError, match="line 1 of numbers: could not convert"):
        ao.read(tmp_path / "x.txt")


def test_a_superscript_is_a_name_of_a_node(tmp_path):
    (tmp_path / "x.edges").write_text(f"{SUPERSCRIPT} 1\n1 2\n")
    assert ao.read(tmp_path / "x.edges").labels == (SUPERSCRIPT, 1, 2)


def test_files_are_sorted_by_their_numbers_whatever_their_names(tmp_path):
    names = ["cat2.csv", "cat10.csv", f"cat10{SUPERSCRIPT}.csv", f"1{SUPERSCRIPT}2.csv", "1.csv"]
    for name in names:
        (tmp_path / name).write_text("0")
    found = [source.name for source in find_sources([tmp_path])]
    assert sorted(found) == sorted(names)
    assert found.index("cat2.csv") < found.index("cat10.csv")


def test_hidden_files_of_a_folder_are_ignored(tmp_path):
    for name in ("a.csv", ".a-0123abcd.csv", "._a.csv", ".b.off"):
        (tmp_path / name).write_text("0" if name == "a.csv" else "half")
    assert [source.name for source in find_sources([tmp_path])] == ["a.csv"]
    assert [source.name for source in find_sources([tmp_path / "._a.csv"])] == ["._a.csv"]  # requested by name
    (tmp_path / "a.csv").unlink()
    with pytest.raises(ao.InputError, match="this folder has no file with a known ending"):
        find_sources([tmp_path])


LENGTHS = nx.Graph([("a_1", "b", {"weight": 10.0}), ("b", "c", {"weight": 4.0})])
NUMBERS = {  # files with a number 10, which is written as 1_0
    "matrix.csv": ("0,10\n10,0\n", {}),
    "matrix.tsv": ("0\t10\n10\t0\n", {}),
    "matrix.txt": ("0 10\n10 0\n", {}),
    "authors.txt": ("2\n0 10\n10 0\n", {}),
    "named.csv": (",a,b\na,0,10\nb,10,0\n", {}),
    "points.csv": ("x,y\n0,10\n1,2\n", {"kind": "points"}),
    "features.csv": ("x,y\n0,10\n1,20\n", {"kind": "points", "columns": ["x"], "features": "y"}),
    "graph.edgelist": ("a b 10\nb c 4\n", {"weight": True}),
    "graph.graphml": ("\n".join(nx.generate_graphml(LENGTHS)), {"weight": "weight"}),
    "graph.gexf": ("\n".join(nx.generate_gexf(LENGTHS)), {"weight": "weight"}),
    "graph.gml": ("\n".join(nx.generate_gml(LENGTHS)), {"weight": "weight"}),
    "neuron.swc": ("1 1 0 0 10 2 -1\n2 3 3 4 0 1 1\n", {}),
    "mesh.off": ("OFF\n3 1 0\n10 0 0\n0 1 0\n0 0 1\n3 0 1 2\n", {"geodesic": "edge"}),
    "mesh.obj": ("o cube_1\nv 10 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n", {"geodesic": "edge"}),
    "mesh.stl": (TEXTS["box.stl"].replace("0.5", "10"), {"geodesic": "edge"}),
    "mesh.ply": (TEXTS["box.ply"].replace("0.5", "10"), {"geodesic": "edge"}),
    "graphs.gin": ("1\n2 1\n0 1 1 10\n0 1 0 3\n", {}),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_an_underscore_is_not_part_of_a_number(tmp_path, name):
    text, options = NUMBERS[name]
    read = ao.io.read_gin if name.endswith(".gin") else ao.read
    (tmp_path / name).write_text(text)
    read(tmp_path / name, **options)
    for wrong in re.finditer(r"\b10\b", text):
        (tmp_path / name).write_text(text[: wrong.start()] + "1_0" + text[wrong.end() :])
        with pytest.raises(ao.InputError, match=f"^{name}: .*"):
            read(tmp_path / name, **options)


def test_an_underscore_in_a_name_is_only_that(tmp_path):
    (tmp_path / "x.edges").write_text("1_0 10\n10 2\n")
    assert ao.read(tmp_path / "x.edges").labels == ("1_0", 10, 2)
    nx.write_graphml_xml(nx.Graph([("1_0", "10", {"name": "2_0"})]), tmp_path / "x.graphml")
    assert ao.read(tmp_path / "x.graphml").labels == ("1_0", "10")


@pytest.mark.parametrize("name", ["x.edgelist", "x.csv"])
def test_nodes_that_are_written_differently_are_different(tmp_path, name):
    words = ["1", "01", "001", "1.0", "-1", "+1"]
    separator = "," if name == "x.csv" else " "
    (tmp_path / name).write_text("".join(f"{a}{separator}{b}\n" for a, b in itertools.pairwise(words)))
    assert ao.read(tmp_path / name, kind="graph").labels == (1, "01", "001", "1.0", "-1", "+1")


def test_types_that_are_written_differently_are_different(tmp_path):
    (tmp_path / "x.csv").write_text("x,kind,number,dose\n0,001,1,0.5\n1,1,2,1\n2,1.0,1,1.0\n")
    read = functools.partial(ao.read, tmp_path / "x.csv", kind="points", columns=["x"])
    assert read(types="kind").types == ("001", "1", "1.0")
    assert read(types="number").types == (1, 2, 1)
    assert read(types="dose").types == ("0.5", "1", "1.0")
    assert read(features="kind").features.ravel().tolist() == [1, 1, 1]
