"""`anchorot match` of graphs, and the page that shows two aligned networks."""

import csv
import json

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from anchorot.report import write_report
from tests.command_line import anchorot
from tests.project.pages import decoded_plan, embedded, unpacked, versions


@pytest.fixture
def graphs(tmp_path):
    """A graph as a list of edges, and as GraphML with other names, fewer edges and a few new ones."""
    rng = np.random.default_rng(0)
    first = nx.gnp_random_graph(30, 0.2, seed=4)
    edges = list(first.edges)
    second = nx.Graph()
    second.add_nodes_from(range(32))
    second.add_edges_from([edges[e] for e in rng.permutation(len(edges))[6:]])
    second.add_edges_from([(30, 1), (30, 2), (31, 3)])
    (tmp_path / "a.edgelist").write_text("\n".join(f"{i} {k}" for i, k in edges))
    nx.write_graphml(nx.relabel_nodes(second, {i: f"n{i}" for i in range(32)}), tmp_path / "b.graphml")
    return tmp_path


def test_graphs_are_matched_by_their_edges(graphs):
    result = anchorot("match", "a.edgelist", "b.graphml", "-o", "pairs.tsv", cwd=graphs)
    assert result.returncode == 0, result.stderr
    assert "common edges" in result.stdout
    with (graphs / "pairs.tsv").open(newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    expected = ao.align_graphs(graphs / "a.edgelist", graphs / "b.graphml", rng=0)
    assert [(int(row["a"]), row["b"]) for row in rows] == expected.pairs()
    assert [float(row["confidence"]) for row in rows] == pytest.approx(expected.confidence, rel=1e-3)
    found = json.loads(anchorot("match", "a.edgelist", "b.graphml", "--json", "-o", "m.txt", cwd=graphs).stdout)
    assert found["match"] == expected.matches.tolist() == ao.read_matches(graphs / "m.txt").tolist()
    for name in ("common_edges", "edge_correctness", "induced_conserved_structure", "s3", "converged"):
        assert found[name] == getattr(expected, name)
    assert found["labels_b"][found["match"][0]] == dict(expected.pairs())[0]
    assert [start["name"] for start in found["candidates"]] == [start.name for start in expected.candidates]
    anchorot("match", "a.edgelist", "b.graphml", "-o", "m.npz", cwd=graphs)
    with np.load(graphs / "m.npz") as saved:
        assert saved["match"].tolist() == found["match"]
        np.testing.assert_allclose(saved["confidence"], found["confidence"])


def test_costs_are_asked_for_by_name(graphs):
    options = "a.edgelist", "b.graphml", "--disconnected", 9, "--json"
    found = json.loads(anchorot("match", *options, "--costs", "paths", cwd=graphs).stdout)
    assert found["plan"] == "align"
    assert "common_edges" not in found
    spaces = [ao.read(graphs / name, disconnected=9) for name in ("a.edgelist", "b.graphml")]
    assert found["value"] == pytest.approx(ao.align(*spaces, rng=0).value)
    heat = json.loads(anchorot("match", *options, "--costs", "heat", "--time", 2, cwd=graphs).stdout)
    assert heat["value"] != found["value"]
    robust = json.loads(anchorot("match", *options, "--robust", cwd=graphs).stdout)
    assert robust["plan"] == "align"


def test_only_a_part_of_the_nodes_is_matched_if_asked(graphs):
    found = json.loads(anchorot("match", "a.edgelist", "b.graphml", "--mass", 0.5, "--json", cwd=graphs).stdout)
    assert sum(match >= 0 for match in found["match"]) == 15


def test_seeds_are_read_from_a_file(graphs):
    (graphs / "seeds.csv").write_text("a,b\n0,n5\n1,n7\n")
    found = json.loads(
        anchorot("match", "a.edgelist", "b.graphml", "--seeds", "seeds.csv", "--json", cwd=graphs).stdout
    )
    matches = dict(zip(found["labels_a"], found["match"], strict=True))
    assert [found["labels_b"][matches[name]] for name in ("0", "1")] == ["n5", "n7"]
    result = anchorot("match", "a.edgelist", "b.graphml", "--seeds", "seeds.csv", "--costs", "paths", cwd=graphs)
    assert result.returncode == 2
    assert "leave out --seeds" in result.stderr


def test_bad_graphs_are_refused_in_one_line(graphs):
    (graphs / "half.edgelist").write_text("1\n")
    (graphs / "bad.tsv").write_text("0\tn99\n")
    good = "a.edgelist", "b.graphml"
    for options in (("half.edgelist", "b.graphml"), (*good, "--types", "kind"), (*good, "--seeds", "bad.tsv")):
        result = anchorot("match", *options, cwd=graphs)
        assert result.returncode == 2
        assert len(result.stderr.strip().splitlines()) == 1


def test_the_page_draws_both_networks_alike(graphs):
    found = ao.align_graphs(graphs / "a.edgelist", graphs / "b.graphml", rng=0)
    write_report(graphs / "page.html", graphs / "a.edgelist", graphs / "b.graphml", found, names=("old", "new"))
    data = embedded(graphs / "page.html")
    places = [unpacked(side["points"]).reshape(-1, 2) for side in data["sides"]]
    np.testing.assert_allclose(places[0], places[1][found.matches], atol=0.2)
    common = [int(unpacked(side["body"]["common"]).sum()) for side in data["sides"]]
    assert common == [found.common_edges] * 2
    edges = [len(unpacked(side["body"]["edges"])) // 2 for side in data["sides"]]
    assert edges == [graph.nnz // 2 for graph in found.graphs]
    page = (graphs / "page.html").read_text()
    assert f"<dt>S3</dt><dd>{found.s3:.4g}</dd>" in page
    assert f"{found.common_edges} common edges are grey" in page
    shown = versions(graphs / "page.html")[0]
    assert unpacked(shown["matches"][0]).tolist() == found.matches.tolist()
    masses = decoded_plan(shown["plan"]["whole"])
    np.testing.assert_allclose(masses[np.arange(30), found.matches], found.confidence, rtol=0.05)


def test_the_command_writes_that_page(graphs):
    result = anchorot("match", "a.edgelist", "b.graphml", "--report", "page.html", cwd=graphs)
    assert result.returncode == 0, result.stderr
    assert "a.edgelist and b.graphml" in (graphs / "page.html").read_text()
