"""Text files of every kind: marks, digits and numbers that readers stumble over."""

import networkx as nx
import numpy as np
import pytest
import trimesh

import anchorot as ao
from anchorot.cli.sources import find_sources

pytestmark = pytest.mark.kernel_free

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
def test_a_byte_order_mark_changes_nothing_of_edges(tmp_path, name):
    text = EDGES.replace(" ", ",") if name.endswith("csv") else EDGES
    (tmp_path / name).write_bytes(MARK + text.encode())
    assert ao.read(tmp_path / name, kind="graph").labels == (1, 2, 3, 4)


def test_byte_order_marks_change_nothing_of_a_collection(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    for name, text in (("A", "1, 2\n2, 1\n"), ("graph_indicator", "1\n1\n2\n"), ("graph_labels", "1\n-1\n")):
        (folder / f"TOY_{name}.txt").write_bytes(MARK + text.encode())
    found = ao.read_tu(folder)
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
def test_digits_of_other_kinds_and_endless_numbers_are_no_crash(tmp_path, name, word):
    for old in ("1", "2", "3"):
        (tmp_path / name).write_text(TEXTS[name].replace(old, word, 1))
        told = complaint(tmp_path / name)
        assert told is None or (told.startswith(name) and "\n" not in told)


def test_a_superscript_is_no_number_of_points(tmp_path):
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
