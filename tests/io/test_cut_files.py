"""Truncated files, as from a full disk or a broken download: an error, or the lines before the cut.

`docs/formats.md` lists the formats that carry no count: there a cut between two lines cannot be seen.
"""

import re

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import trimesh

import anchorot as ao

CUTS = 30
BALL = trimesh.creation.icosphere(1)
VERTICES, FACES = np.asarray(BALL.vertices), np.asarray(BALL.faces)
QUADS = "OFF\n6 2 0\n0 0 0\n1 0 0\n2 0 0\n0 1 0\n1 1 0\n2 1 0\n4 0 1 4 3 255 0 0\n4 1 2 5 4\n"
MIXED = """ply
format ascii 1.0
element vertex 5
property float x
property float y
property float z
property uchar red
element face 2
property list uchar int vertex_indices
property float quality
end_header
0 0 0 9
1 0 0 9
1 1 0 0
0 1 0 0
2 2 0 9
4 0 1 2 3 0.5
3 2 3 4 0.75
"""


def exported(kind, **options):
    found = BALL.export(file_type=kind, **options)
    return found if isinstance(found, bytes) else found.encode()


def graph(write):
    def made(path):
        tree = nx.random_labeled_tree(20, seed=0)
        nx.set_edge_attributes(tree, 2.5, "weight")
        write(tree, path)

    return made


def table(path, **options):
    np.savetxt(path, VERTICES, fmt="%.6f", **options)


def cells(path):
    frame = pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 21)}, index=[f"cell{i}" for i in range(42)])
    anndata.AnnData(VERTICES, obs=frame, obsm={"X_pca": VERTICES}).write_h5ad(path)


def text(content):
    return lambda path: path.write_text(content)


def neuron(path):
    lines = [f"{i} 3 {i % 7} {i % 5} 0 1.5 {i // 2 if i > 1 else -1}" for i in range(1, 40)]
    path.write_text("\n".join(["# a neuron", *lines, ""]))


SURFACE = {**dict(zip("XYZ", VERTICES.T, strict=True)), "TRIV": FACES + 1}
COST = ao.from_points(VERTICES[:9]).cost
MESH, POINTS, GRAPH = {"geodesic": "edge"}, {"kind": "points"}, {"weight": True, "disconnected": 9.0}
KINDS = {  # a name, what makes the file, and how it is read
    "off": ("x.off", lambda path: path.write_bytes(exported("off")), MESH),
    "off of quads": ("x.off", text(QUADS), MESH),
    "binary ply": ("x.ply", lambda path: path.write_bytes(exported("ply")), MESH),
    "binary ply of a text": (
        "x.ply",
        lambda path: path.write_bytes(exported("ply").replace(b"\nelement", b"\ncomment of an ascii file\nelement", 1)),
        MESH,
    ),
    "ascii ply": ("x.ply", lambda path: path.write_bytes(exported("ply", encoding="ascii")), MESH),
    "mixed ply": ("x.ply", text(MIXED), MESH),
    "obj": ("x.obj", lambda path: path.write_bytes(exported("obj")), MESH),
    "binary stl": ("x.stl", lambda path: path.write_bytes(exported("stl")), MESH),
    "ascii stl": ("x.stl", lambda path: path.write_bytes(exported("stl_ascii")), MESH),
    "mat": (
        "x.mat",
        lambda path: scipy.io.savemat(
            path, {"surface": {**dict(zip("XYZ", VERTICES.T, strict=True)), "TRIV": FACES + 1}}
        ),
        MESH,
    ),
    "npz": ("x.npz", lambda path: np.savez(path, cost=COST), {}),
    "packed npz": ("x.npz", lambda path: np.savez_compressed(path, V=VERTICES, F=FACES), MESH),
    "npy": ("x.npy", lambda path: np.save(path, COST), {}),
    "costs in csv": ("x.csv", lambda path: np.savetxt(path, COST, delimiter=","), {}),
    "points in csv": ("x.csv", lambda path: table(path, delimiter=","), POINTS),
    "named csv": ("x.csv", lambda path: table(path, delimiter=",", header="x,y,z", comments=""), POINTS),
    "tsv": ("x.tsv", lambda path: table(path, delimiter="\t"), POINTS),
    "txt": ("x.txt", lambda path: np.savetxt(path, COST), {}),
    "authors' txt": ("x.txt", lambda path: np.savetxt(path, COST, header="9", comments=""), {}),
    "gin": ("x.gin", text("2\n3 1\n0 1 1 0.5\n4 2 0 2 1\n0 1 1 -2\n2 -1\n5 1 1 3\n6 1 0 4\n"), {}),
    "edgelist": ("x.edgelist", graph(lambda tree, path: nx.write_edgelist(tree, path, data=["weight"])), GRAPH),
    "plain edges": ("x.edges", text("".join(f"a{i} a{i + 1}\n" for i in range(40))), {"disconnected": 9.0}),
    "unread lengths": ("x.edges", text("".join(f"{i} {i + 1} 1\n" for i in range(40))), {"disconnected": 9.0}),
    "graphml": ("x.graphml", graph(nx.write_graphml_xml), GRAPH),
    "gexf": ("x.gexf", graph(nx.write_gexf), GRAPH),
    "gml": ("x.gml", graph(nx.write_gml), GRAPH),
    "swc": ("x.swc", neuron, {}),
    "h5ad": ("x.h5ad", cells, {}),
}
COUNTLESS = {"obj", "points in csv", "named csv", "tsv", "edgelist", "plain edges", "unread lengths", "swc"}


def read(path, **options):
    return ao.io.read_gin(path) if path.suffix == ".gin" else ao.read(path, **options)


def complaint(attempt):
    """What our own error says; whatever else is raised comes out."""
    try:
        attempt()
    except ao.InputError as error:
        return str(error)
    return None


def cuts_of(content):
    return sorted({len(content) * k // (CUTS + 1) for k in range(1, CUTS + 1)})


def loses_lines_or_digits(content, cut):
    """Whether a cut takes whole lines, and of the line before at most the end of its last word."""
    line = content[content.rfind(b"\n", 0, cut) + 1 :].partition(b"\n")[0]
    kept = content[content.rfind(b"\n", 0, cut) + 1 : cut]
    split = re.compile(rb"[\s,]+")
    return not kept.strip() or len(split.split(kept.strip())) == len(split.split(line.strip()))


def loses_nothing_but_digits(content, cut):
    """Whether what a cut takes is blank, or the end of the last word."""
    return not re.search(rb"[\s,]", content[cut:].strip()) and loses_lines_or_digits(content, cut)


@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")  # of a cut mesh parts are left out
@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_file_is_refused_or_read_up_to_its_last_whole_line(tmp_path, kind):
    name, make, options = KINDS[kind]
    make(tmp_path / name)
    content = (tmp_path / name).read_bytes()
    read(tmp_path / name, **options)  # which is sound
    harmless = loses_lines_or_digits if kind in COUNTLESS else loses_nothing_but_digits
    for cut in cuts_of(content):
        (tmp_path / name).write_bytes(content[:cut])
        reported = complaint(lambda: read(tmp_path / name, **options))
        is_one_line = reported is not None and re.fullmatch(rf"{re.escape(name)}: [^\n]+", reported)
        assert is_one_line or (reported is None and harmless(content, cut)), (reported, content[:cut][-40:])


TU = {
    "A": "".join(f"{i}, {i + 1}\n{i + 1}, {i}\n" for i in range(1, 20)),
    "graph_indicator": "1\n" * 20,
    "graph_labels": "1\n",
    "node_labels": "".join(f"{i % 3}, {i % 2}\n" for i in range(20)),
    "node_attributes": "".join(f"{i}.5, {i}.25\n" for i in range(20)),
}


@pytest.mark.parametrize("part", TU)
def test_a_collection_with_a_truncated_file_is_refused_or_read_up_to_whole_lines(tmp_path, part):
    folder = tmp_path / "TOY"
    folder.mkdir()
    for name, content in TU.items():
        (folder / f"TOY_{name}.txt").write_text(content)
    assert len(ao.io.read_tu(folder).graphs) == 1
    content = TU[part].encode()
    harmless = loses_lines_or_digits if part == "A" else loses_nothing_but_digits
    for cut in cuts_of(content):
        (folder / f"TOY_{part}.txt").write_bytes(content[:cut])
        reported = complaint(lambda: ao.io.read_tu(folder))
        is_one_line = reported is not None and re.fullmatch(r"TOY_\w+\.txt: [^\n]+", reported)
        assert is_one_line or (reported is None and harmless(content, cut)), (reported, content[:cut][-40:])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.off", QUADS.replace("6 2 0", "6 3 0"), "its header promises 3 faces, but 2 follow"),
        ("x.off", QUADS.replace("4 1 2 5 4\n", "4 1 2 5\n"), "line 2 of its faces has 4 numbers, but 5 are needed"),
        ("x.ply", MIXED.replace("face 2", "face 3"), "its header promises 3 faces, but 2 follow"),
        (
            "x.ply",
            MIXED.replace("4 0 1 2 3 0.5\n", "4 0 1 2 3\n"),
            "line 1 of its faces has 5 numbers, but 6 are needed",
        ),
        ("x.ply", MIXED.replace("2 2 0 9\n", ""), "its header promises 2 faces, but 1 follow"),
        ("x.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2\n", "a face of fewer than three corners: 'f 1 2'"),
    ],
)
def test_meshes_hold_what_their_headers_promise(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ao.InputError, match=f"{name}: {message}"):
        ao.read(tmp_path / name, geodesic="edge")
