"""Text files compressed by gzip: the same spaces, the same limits, one line if damaged."""

import gzip
import shutil

import numpy as np
import pytest

import anchorot as ao
from anchorot.cli.match_graphs import holds_network
from anchorot.cli.sources import find_sources
from anchorot.io.cache import cache_info
from tests.io.test_text_files import EDGES, TEXTS
from tests.strategies import assert_same

TU = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "1\n-1\n", "node_labels": "4\n5\n6\n"}


def packed(path):
    """The same file, packed beside it."""
    found = path.with_name(f"{path.name}.gz")
    found.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_a_compressed_file_gives_the_same_space(tmp_path, name):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    assert_same(ao.read(packed(path), geodesic="edge"), ao.read(path, geodesic="edge"))


def test_the_ending_may_be_in_capitals(tmp_path):
    (tmp_path / "X.CSV.GZ").write_bytes(gzip.compress(TEXTS["matrix.csv"].encode()))
    assert ao.read(tmp_path / "X.CSV.GZ").n == 3


@pytest.mark.parametrize("name", ["edges.csv", "edges.tsv", "edges.txt"])
def test_compressed_edges_are_a_graph(tmp_path, name):
    path = tmp_path / name
    path.write_text(EDGES.replace(" ", {"csv": ",", "tsv": "\t"}.get(name[-3:], " ")))
    assert_same(ao.read(packed(path), kind="graph"), ao.read(path, kind="graph"))
    assert holds_network(packed(path), {"kind": "graph"})


def test_columns_of_compressed_tables_are_chosen_by_name(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,y,kind\n0,0,a\n3,4,b\n")
    options = {"kind": "points", "types": "kind"}
    assert_same(ao.read(packed(path), **options), ao.read(path, **options))
    cohort = ao.from_cohort(packed(path), sample="kind", points=["x", "y"])
    assert cohort.samples == ("a", "b")


def test_compressed_collections_are_the_same(tmp_path):
    (tmp_path / "gin.txt").write_text("1\n3 7\n0 1 1\n5 2 0 2\n0 1 1\n")
    found = ao.io.read_gin(packed(tmp_path / "gin.txt"))
    assert (found.name, found.types) == ("gin", ((0, 5, 0),))
    with pytest.raises(ao.InputError, match="read_gin reads it"):
        ao.read(tmp_path / "gin.txt.gz")
    assert find_sources([tmp_path / "gin.txt.gz"])[0].name == "gin/1"
    folder = tmp_path / "TOY"
    folder.mkdir()
    for name, text in TU.items():
        (folder / f"TOY_{name}.txt.gz").write_bytes(gzip.compress(text.encode()))
    found = ao.io.read_tu(folder)
    assert (found.labels.tolist(), found.types) == ([1, -1], ((4, 5), (6,)))
    assert [source.name for source in find_sources([folder])] == ["TOY/1", "TOY/2"]


def test_compressed_matches_are_read(tmp_path):
    (tmp_path / "map.txt").write_text("2\n-1\n0\n")
    np.testing.assert_array_equal(ao.read_matches(packed(tmp_path / "map.txt")), [2, -1, 0])


def test_compressed_meshes_are_meshes_everywhere(tmp_path):
    (tmp_path / "box.off").write_text(TEXTS["box.off"])
    path = packed(tmp_path / "box.off")
    assert_same(ao.from_mesh(path, geodesic="edge"), ao.from_mesh(tmp_path / "box.off", geodesic="edge"))
    with pytest.raises(ao.InputError, match="align_meshes"):
        ao.align(path, path, n_landmarks=4)


def test_folders_and_groups_include_compressed_files(tmp_path):
    for name in ("cat2.off.gz", "cat10.off.gz", "dog1.csv.gz", "notes.gz", "x.npz.gz"):
        (tmp_path / name).touch()
    found = [(source.name, source.group) for source in find_sources([tmp_path])]
    assert found == [("cat2.off.gz", "cat"), ("cat10.off.gz", "cat"), ("dog1.csv.gz", "dog")]


def test_converted_files_lose_both_endings(tmp_path):
    (tmp_path / "box.off").write_text(TEXTS["box.off"])
    (file,) = ao.convert([packed(tmp_path / "box.off")], tmp_path / "spaces", geodesic="edge")
    assert file.name == "box.npz"
    assert ao.read(file).origin.source.name == "box.off.gz"


def test_compression_is_detected_by_name_in_the_cache_too(tmp_path, monkeypatch):
    monkeypatch.setenv("ANCHOROT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "long.edgelist"
    rng = np.random.default_rng(0)
    path.write_text("\n".join(f"{i} {int(rng.integers(i))}" for i in range(1, 5000)))
    options = {"n_points": 5, "rng": 0, "cache": True}
    first = ao.read(packed(path), **options)
    assert cache_info().n_spaces == 1
    assert_same(ao.read(packed(path), **options), first)
    shutil.copy(packed(path), tmp_path / "long.graphml.gz")
    shutil.copy(packed(path), path)
    for other in ("long.graphml.gz", "long.edgelist"):  # the same bytes, but not of that kind
        with pytest.raises(ao.InputError, match=f"^{other}: "):
            ao.read(tmp_path / other, **options)


# -- bad ones ---------------------------------------------------------------------------------------------------------


def injuries():
    content = gzip.compress(TEXTS["matrix.csv"].encode() * 50, mtime=0)
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 255
    return {
        "cut": content[:-4],
        "no end": content[: len(content) // 2],
        "flipped": bytes(flipped),
        "wrong sum": content[:-8] + bytes(8),
        "more after it": content + b"more",
        "not packed": TEXTS["matrix.csv"].encode(),
    }


@pytest.mark.parametrize("injury", injuries())
@pytest.mark.parametrize("ending", ["csv", "txt", "off", "graphml", "edgelist"])
def test_damaged_ones_are_one_clear_line(tmp_path, injury, ending):
    path = tmp_path / f"x.{ending}.gz"
    path.write_bytes(injuries()[injury])
    with pytest.raises(ao.InputError, match=rf"^x\.{ending}\.gz: not a gzip file that can be read \(.+\)$"):
        ao.read(path)


@pytest.mark.parametrize("ending", ["csv", "txt", "obj", "gexf", "swc"])
def test_a_small_file_that_unpacks_to_much_is_refused_at_the_limit(tmp_path, ending):
    path = tmp_path / f"bomb.{ending}.gz"
    path.write_bytes(gzip.compress(b"0 " * 4_000_000))
    assert path.stat().st_size < 20_000
    with pytest.raises(
        ao.InputError, match=r"^bomb\..*: it unpacks to more than 0\.001 GB; if you trust it, raise max"
    ):
        ao.read(path, max_bytes="1MB")


@pytest.mark.parametrize("ending", ["csv", "txt", "edgelist", "swc"])
def test_a_compressed_file_without_its_ending_raises_an_error_that_names_it(tmp_path, ending):
    (tmp_path / f"x.{ending}").write_bytes(gzip.compress(b"0 1\n1 0\n"))
    with pytest.raises(
        ao.InputError, match=r"not a text file in UTF-8; it is compressed by gzip, so its name should end"
    ):
        ao.read(tmp_path / f"x.{ending}")


@pytest.mark.parametrize("name", ["x.npz.gz", "x.h5ad.gz", "x.npy.gz", "x.mat.gz", "x.gz", "x.foo.gz"])
def test_other_compressed_files_are_refused_by_their_ending(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"0"))
    with pytest.raises(ao.InputError, match=rf"unknown ending '{name[1:]}'; .*\.gz may follow all but .*\.npz$"):
        ao.read(tmp_path / name)
