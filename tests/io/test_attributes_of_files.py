"""Types and features by the names that files have for them; collections of graphs; tables with a header."""

import anndata
import h5py
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import anchorot as ao
from anchorot.cli import app
from anchorot.cli.sources import find_sources

POINTS = np.random.default_rng(3).normal(size=(9, 2))


KINDS = ["C", "O", "C", "N", "H", "H", "O", "C", "S"]


CHARGES = [0.5, -1.0, 2.0, 0.0, 1.5, 3.0, -2.0, 7.0, 4.25]


def molecule():
    graph = nx.cycle_graph(9)
    for i in graph:
        graph.nodes[i].update(element=KINDS[i], charge=CHARGES[i], number=i)
    return graph


def write_cells(path):
    obs = pd.DataFrame({"kind": pd.Categorical(KINDS), "name": KINDS, "charge": CHARGES, "number": range(9)})
    obs["flag"] = pd.array([True, False] * 4 + [True], dtype="boolean")
    obs["count"] = pd.array([*range(8), None], dtype="Int64")
    obs.index = [f"cell{i}" for i in range(9)]
    anndata.AnnData(POINTS, obs=obs, obsm={"both": np.stack([CHARGES, range(9)], axis=1)}).write_h5ad(path)


def write_ply(path):
    head = ["ply", "format ascii 1.0", "element vertex 4", *(f"property float {axis}" for axis in "xyz")]
    head += [*(f"property uchar {c}" for c in ("red", "green", "blue")), "property float quality", "property int part"]
    rows = ["0 0 0 9 0 0 0.5 1", "1 0 0 0 9 0 0.25 2", "1 1 0 0 0 9 0.75 1", "0 1 0 9 9 9 1 3", "3 0 1 2", "3 0 2 3"]
    tail = ["element face 2", "property list uchar int vertex_indices", "end_header", *rows]
    path.write_text("\n".join([*head, *tail, ""]))


WRITERS = {"graphml": nx.write_graphml, "gexf": nx.write_gexf, "gml": nx.write_gml}


@pytest.mark.parametrize("ending", WRITERS)
def test_node_attributes_of_files(tmp_path, ending):
    path = tmp_path / f"molecule.{ending}"
    WRITERS[ending](molecule(), path)
    found = ao.read(path, types="element", features=["charge", "number"])
    assert found.types == tuple(KINDS)
    np.testing.assert_array_equal(found.features, np.stack([CHARGES, range(9)], axis=1))
    plain = ao.read(path)
    np.testing.assert_array_equal(plain.cost, ao.from_graph(molecule()).cost)
    assert (plain.types, plain.features) == (None, None)
    with pytest.raises(ao.InputError, match=rf"molecule\.{ending}: no node attribute is called 'atom'; there are: "):
        ao.read(path, types="atom")
    drawn = ao.read(path, types="element", n_points=4, rng=2)
    assert drawn.types == tuple(KINDS[int(label)] for label in drawn.labels)


def test_missing_attributes_have_the_default_of_the_file(tmp_path):
    nodes = "".join(f'<node id="{i}"/>' for i in range(2)) + '<node id="2"><data key="k">O</data></node>'
    (tmp_path / "x.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="k" for="node" attr.name="atom" '
        'attr.type="string"><default>C</default></key><graph edgedefault="undirected">'
        f'{nodes}<edge source="0" target="1"/><edge source="1" target="2"/></graph></graphml>'
    )
    assert ao.read(tmp_path / "x.graphml", types="atom").types == ("C", "C", "O")


def test_unique_labels_become_names_of_nodes(tmp_path):
    for labels, expected in (("aä", ("a", "ä")), ("aa", (5, 6))):
        nodes = "".join(f'node [ id {5 + i} label "{label}" ]\n' for i, label in enumerate(labels))
        (tmp_path / "x.gml").write_text(f"graph [\n{nodes}edge [ source 5 target 6 length 2.5 ]\n]\n")
        found = ao.read(tmp_path / "x.gml", types="label", weight="length")
        assert found.labels == expected
        assert found.types == tuple(labels)
        assert found.cost[0, 1] == 2.5


@pytest.mark.parametrize(("ending", "text"), [("gml", "graph [ node [ id 1"), ("gexf", "<gexf"), ("gml", "")])
def test_broken_graphs_get_one_clear_line(tmp_path, ending, text):
    (tmp_path / f"x.{ending}").write_text(text)
    with pytest.raises(ao.InputError, match=rf"x\.{ending}: not a {ending.upper()} file that can be read") as caught:
        ao.read(tmp_path / f"x.{ending}")
    assert "\n" not in str(caught.value)


def test_structures_of_a_neuron(tmp_path):
    (tmp_path / "n.swc").write_text("1 1 0 0 0 2 -1\n2 3 3 4 0 1 1\n7 3 3 4 2 0.5 2\n4 2 -1 0 0 1 1\n")
    found = ao.read(tmp_path / "n.swc", types="structure", features="radius")
    assert found.types == (1, 3, 3, 2)
    assert found.features.ravel().tolist() == [2, 1, 0.5, 1]
    assert ao.read(tmp_path / "n.swc").types is None
    with pytest.raises(ao.InputError, match="no value of the samples is called 'kind'; there are: structure, radius"):
        ao.read(tmp_path / "n.swc", types="kind")


def test_columns_of_cells(tmp_path):
    write_cells(tmp_path / "x.h5ad")
    for name in ("kind", "name"):
        found = ao.read(tmp_path / "x.h5ad", types=name, features=["charge", "both"], n_points=5, rng=1)
        numbers = [int(label[4:]) for label in found.labels]
        assert found.types == tuple(KINDS[i] for i in numbers)
        np.testing.assert_array_equal(found.features, [[CHARGES[i], CHARGES[i], i] for i in numbers])
        np.testing.assert_array_equal(found.cost, ao.read(tmp_path / "x.h5ad", n_points=5, rng=1).cost)
    assert ao.read(tmp_path / "x.h5ad", types="number").types == tuple(range(9))
    assert ao.read(tmp_path / "x.h5ad", types="flag").types == (True, False) * 4 + (True,)
    assert ao.read(tmp_path / "x.h5ad", types="kind", n_neighbors=3, disconnected=9).types == tuple(KINDS)
    with pytest.raises(ao.InputError, match=r"x\.h5ad: 'count' has no value at 'cell8'"):
        ao.read(tmp_path / "x.h5ad", types="count")
    with pytest.raises(ao.InputError, match=r"x\.h5ad: no column of obs or array of obsm is called 'kin'; there are: "):
        ao.read(tmp_path / "x.h5ad", types="kin")


def test_categories_of_older_files(tmp_path):
    write_cells(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as handle:
        codes, categories = handle["obs/kind/codes"][...], handle["obs/kind/categories"][...]
        del handle["obs/kind"]
        handle["obs/kind"] = codes
        handle["obs/__categories/kind"] = categories
        handle["obs/kind"].attrs["categories"] = handle["obs/__categories/kind"].ref
    assert ao.read(tmp_path / "x.h5ad", types="kind").types == tuple(KINDS)
    cohort = ao.from_cohort(tmp_path / "x.h5ad", sample="kind", points="both")
    assert cohort.samples == ("C", "O", "N", "H", "S")
    with pytest.raises(ao.InputError, match="there are: charge, count, flag, kind, name, number, both"):
        ao.read(tmp_path / "x.h5ad", types="kin")


@pytest.mark.parametrize("codes", [[9] * 9, [-2] * 9, [0.5] * 9, [0] * 4])
def test_damaged_categories_get_one_clear_line(tmp_path, codes):
    write_cells(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as handle:
        del handle["obs/kind/codes"]
        handle["obs/kind/codes"] = np.array(codes)
    with pytest.raises(ao.InputError, match=r"x\.h5ad: .*'kind'") as caught:
        ao.read(tmp_path / "x.h5ad", types="kind")
    assert "\n" not in str(caught.value)


def test_values_of_the_vertices_of_a_ply_file(tmp_path):
    write_ply(tmp_path / "x.ply")
    options = {"geodesic": "edge", "types": "part"}
    found = ao.read(tmp_path / "x.ply", features=["quality", "red"], **options)
    assert found.types == (1, 2, 1, 3)
    assert found.features.tolist() == [[0.5, 9], [0.25, 0], [0.75, 0], [1, 9]]
    same = ao.from_mesh(tmp_path / "x.ply", features="color", **options)
    assert same.features.tolist() == [[9, 0, 0], [0, 9, 0], [0, 0, 9], [9, 9, 9]]
    with pytest.raises(ao.InputError, match=r"x\.ply: no value of the vertices is called 'size'; there are: x, y, z"):
        ao.from_mesh(tmp_path / "x.ply", features="size")


def test_arrays_of_an_npz_file(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, points=POINTS, types=KINDS, features=CHARGES, other=np.arange(9))
    found = ao.read(path, n_points=4, rng=1)
    numbers = [
        int(np.flatnonzero((found.geometry.positions[i] == POINTS).all(axis=1))[0]) for i in found.geometry.index
    ]
    assert found.types == tuple(KINDS[i] for i in numbers)
    assert found.features.ravel().tolist() == [CHARGES[i] for i in numbers]
    assert ao.read(path, types="other", features=["features", "other"]).types == tuple(range(9))
    assert ao.read(path, n_neighbors=3, point_metric="euclidean", disconnected=9).types == tuple(KINDS)
    with pytest.raises(
        ao.InputError, match=r"x\.npz: no array is called 'kind'; there are: points, types, features, o"
    ):
        ao.read(path, types="kind")
    vertices, faces = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]
    np.savez(tmp_path / "mesh.npz", V=vertices, F=faces, types=list("abcd"))
    assert ao.read(tmp_path / "mesh.npz", geodesic="edge").types == tuple("abcd")


TABLE = "name,x,kind,y,charge\nc0,0,a,0,5\nc1,3,b,4,6\nc2,0,a,1,7\n"


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_columns_of_a_table(tmp_path, ending, separator):
    path = tmp_path / f"x.{ending}"
    path.write_text(TABLE.replace(",", separator))
    found = ao.read(path, kind="points", types="kind", features="charge")
    assert found.cost[0].tolist() == [0, 5, 1]
    assert found.labels == ("c0", "c1", "c2")
    assert found.types == ("a", "b", "a")
    assert found.features.ravel().tolist() == [5, 6, 7]
    only = ao.read(path, kind="points", columns=["x", "y"], n_points=2, rng=0, types="charge")
    assert only.types == tuple({"c0": 5, "c1": 6, "c2": 7}[label] for label in only.labels)
    with pytest.raises(ao.InputError, match=rf"x\.{ending}: the column 'kind' has 'a' in line 2, but needs numbers"):
        ao.read(path, kind="points")
    with pytest.raises(ao.InputError, match="no column is called 'k'; there are: name, x, kind, y, charge"):
        ao.read(path, kind="points", types="k", columns=["x"])


COST = [[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]]


NAMED = pd.DataFrame(COST, index=list("abc"), columns=list("abc"))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (NAMED.to_csv(), ("a", "b", "c")),
        (NAMED.to_csv(index=False), ("a", "b", "c")),
        (NAMED.to_csv(header=False), ("a", "b", "c")),
        (NAMED.to_csv(index_label="name"), ("a", "b", "c")),
        (NAMED.to_csv().removeprefix(","), ("a", "b", "c")),  # as R writes it
        (NAMED.to_csv(quoting=2), ("a", "b", "c")),
        (NAMED.rename(columns=str.upper).reset_index(drop=True).to_csv(), ("0", "1", "2")),
        (NAMED.to_csv(header=False, index=False), None),
    ],
)
def test_a_cost_matrix_with_names_is_the_same_matrix(tmp_path, text, labels):
    for ending, found in (("csv", text), ("tsv", text.replace(",", "\t"))):
        (tmp_path / f"x.{ending}").write_text(found)
        space = ao.read(tmp_path / f"x.{ending}")
        assert space.cost.tolist() == COST
        assert space.labels == labels


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n", {}, "there is a header, but no line of numbers after it"),
        ("garbage", {}, "there is a header, but no line of numbers after it"),
        ("a,b\n1,2\n3\n", {}, "line 3 has 1 cells, but line 1 has 2"),
        ("a,a\n1,2\n3,4\n", {}, "two columns are called 'a'"),
        ("a,b\n1,2\n3,\n", {}, "the column 'b' has '' in line 3, but needs numbers"),
        ("a\nx\ny\n", {}, "there are no numbers beside the names of the rows"),
        ("a,b,t\n0,1,x\n1,0,\n", {"types": "t"}, "'t' has no value at 1"),
        ("0,1\n1,0\n", {"types": "t"}, "no column is called 't'; there are none"),
        ('a,b\n"' + "x" * 200_000 + '",1\n', {}, "not a table that can be read"),
        ("a,b\n1,2\n", {"types": 3}, "types must be a name that occurs in the file, such as 'label', but got 3"),
        ("a,b\n1,2\n", {"types": ["a"]}, "types must be a name that occurs in the file"),
        ("a,b\n1,2\n", {"features": []}, "features must be a name that occurs in the file"),
    ],
)
def test_bad_tables_get_one_clear_line(tmp_path, text, options, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.read(tmp_path / "x.csv", **options)
    assert "\n" not in str(caught.value)


def test_files_without_names_raise_a_clear_error(tmp_path):
    np.save(tmp_path / "x.npy", COST)
    np.savetxt(tmp_path / "x.txt", COST)
    (tmp_path / "x.edges").write_text("1 2\n")
    for name, kind in (("x.npy", "column"), ("x.txt", "column"), ("x.edges", "node attribute")):
        with pytest.raises(ao.InputError, match=f"{name}: no {kind} is called 'kind'; there are none"):
            ao.read(tmp_path / name, types="kind")


def test_attributes_on_the_command_line(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(TABLE)
    options = ["--kind", "points", "--types", "kind", "--columns", "x,y", "--features", "charge", "--features", "x"]
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    done = CliRunner().invoke(app, ["compare", *files, *options, "--json"])
    assert done.exit_code == 0, done.output
    (source,) = find_sources([tmp_path / "a.csv"])
    reading = {"kind": "points", "types": "kind", "columns": ("x", "y"), "features": ("charge", "x")}
    assert source.unread(reading)().features.tolist() == [[5, 0], [6, 3], [7, 0]]
