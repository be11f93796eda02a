"""What new users try first works, or raises an error of one line that says what to call."""

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from tests.command_line import COMMANDS, anchorot, anchorot_each

SQUARE = ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.fixture
def collection(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
    return ao.io.read_tu(folder)


def said(attempt):
    with pytest.raises(ao.InputError) as caught:
        attempt()
    assert "\n" not in str(caught.value)
    return str(caught.value)


DISTANCES = (ao.anchor_energy, ao.anchor_wasserstein, ao.gromov_wasserstein, ao.align, ao.anchor_energy_plan)


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda distance: distance.__name__)
def test_every_distance_raises_an_error_that_explains_how_to_make_a_space(distance, tmp_path, collection):
    file = tmp_path / "cat.off"
    if distance is not ao.align:  # which reads files itself
        assert "anchorot.read(" in said(lambda: distance(str(file), SQUARE))
        assert "anchorot.read(" in said(lambda: distance(SQUARE, file))
    assert "anchorot.from_graph(" in said(lambda: distance(nx.path_graph(4), SQUARE))
    assert "anchorot.from_graph(" in said(lambda: distance(collection.graphs[0], SQUARE))
    assert ".spaces()" in said(lambda: distance(collection, SQUARE))
    assert "list of spaces" in said(lambda: distance([SQUARE, SQUARE], SQUARE))


@pytest.mark.parametrize("distance", DISTANCES[1:], ids=lambda distance: distance.__name__)
def test_distances_that_need_more_than_features_ask_for_the_space(distance):
    message = said(lambda: distance(ao.AnchorFeatures.of(SQUARE), SQUARE))
    assert "AnchorFeatures" in message
    assert "give the Space that" in message


def test_igraph_and_meshes_are_known_too():
    igraph, trimesh = pytest.importorskip("igraph"), pytest.importorskip("trimesh")
    assert "anchorot.from_graph(" in said(lambda: ao.anchor_energy(igraph.Graph.Ring(4), SQUARE))
    assert "anchorot.from_mesh(" in said(lambda: ao.anchor_energy(trimesh.creation.box(), SQUARE))


def test_pairwise_says_what_to_make_of_collections_and_graphs(collection):
    assert ".spaces()" in said(lambda: ao.pairwise(collection))
    message = said(lambda: ao.pairwise(collection.graphs))
    assert message.startswith("spaces[0]: ")
    assert "anchorot.from_graph(" in message
    assert "values()" in said(lambda: ao.pairwise({"square": SQUARE}))
    np.testing.assert_array_equal(ao.pairwise(collection.spaces()).shape, (2, 2))


def test_a_collection_of_graphs_is_a_sequence(tmp_path):
    (tmp_path / "graphs.txt").write_text("3\n2 7\n0 1 1 0.5\n5 1 0 1.5\n1 8\n0 0 2\n3 9\n1 1 1 0\n2 2 0 2 1\n3 1 1 2\n")
    graphs = ao.io.read_gin(tmp_path / "graphs.txt")
    assert len(graphs) == 3
    assert [graph.shape for graph in graphs] == [(2, 2), (1, 1), (3, 3)]
    assert graphs[-1] is graphs.graphs[2]
    with pytest.raises(IndexError):
        graphs[3]
    for places in (slice(1, None), slice(None, None, -1), slice(5, 9)):
        part = graphs[places]
        assert isinstance(part, ao.io.GraphSet)
        assert part.graphs == graphs.graphs[places]
        assert part.labels.tolist() == graphs.labels.tolist()[places]
        assert part.types == graphs.types[places]
        assert part.features == graphs.features[places]
        repr(part)
    assert ".spaces()" in said(lambda: ao.from_graph(graphs))
    assert [space.types for space in graphs[1:].spaces()] == [(0,), (1, 2, 3)]
    assert graphs[:2].labels.tolist() == [7, 8]


def test_match_of_spaces_says_that_a_plan_is_needed():
    assert "match(align(x, y))" in said(lambda: ao.match(SQUARE, SQUARE))
    assert "match(align(x, y))" in said(lambda: ao.match(SQUARE))
    matched = ao.match(ao.anchor_wasserstein(SQUARE, SQUARE, epsilon=0))
    assert sorted(matched.tolist()) == [0, 1, 2, 3]


def test_the_package_runs_as_a_program():
    done = anchorot(program="import runpy; runpy.run_module('anchorot', run_name='__main__', alter_sys=True)")
    assert "anchorot compare" in done.stdout
    assert not done.stderr


def test_every_command_accepts_the_short_help_option():
    runs = [[], *([*name.split()] for name in COMMANDS)]
    for words, done in zip(runs, anchorot_each(*([*words, "-h"] for words in runs)), strict=True):
        assert done.returncode == 0, (words, done.stderr)
        assert f"anchorot {' '.join(words)}".strip() in done.stdout


def test_files_that_are_not_there_are_named_whatever_their_ending(tmp_path):
    missing = ("shapes", "*.nothing", "cat.off", "graphs/")
    commands = ("compare {0} {0}", "pairwise {0} {0}", "convert {0} -o out", "test {0} --against {0}")
    runs = [command.format(name).split() for command in commands for name in missing]
    for words, done in zip(runs, anchorot_each(*runs, cwd=tmp_path), strict=True):
        assert done.returncode == 2
        assert f"{words[1].rstrip('/')}: No such file or directory" in done.stderr, words
        assert done.stderr.count("\n") == 1


def test_parts_of_graphs_are_refused_in_one_line_where_one_space_is_read(tmp_path):
    (tmp_path / "two.edgelist").write_text("a b\nb c\nd e\n")
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text("1, 2\n3, 4\n5, 6\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n1\n1\n2\n2\n")
    runs = [["compare", "two.edgelist", "two.edgelist"], ["pairwise", "TOY"], ["pairwise", "two.edgelist", "TOY"]]
    for done in anchorot_each(*([*words, "--disconnected", "split"] for words in runs), cwd=tmp_path):
        assert done.returncode == 2
        assert "disconnected='split'" in done.stderr
        assert "'largest'" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_collection_says_in_one_line_of_how_many_graphs_parts_are_left_out(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text("1, 2\n3, 4\n4, 3\n6, 7\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n3\n3\n3\n")
    runs = ["pairwise TOY", "convert TOY -o spaces", "search build TOY -o toy.index"]
    runs.append("test TOY --against TOY --statistic anchors --resamples 9")
    for words in runs:
        printed = anchorot(*words.split(), "--disconnected", "largest", cwd=tmp_path).stderr
        said = "2 of 3 graphs that are not connected; the largest part of each is kept, 6 of 8 nodes"
        assert [line for line in printed.splitlines() if "TOY" in line] == [f"anchorot: note: TOY has {said}"], words


def test_tables_of_long_names_keep_names_and_numbers_on_a_narrow_terminal(tmp_path):
    names = [f"{'a_long_name_' * 5}{letter}.npy" for letter in "xyz"]
    for scale, name in enumerate(names, start=1):
        np.save(tmp_path / name, scale * SQUARE.cost)
    values = ao.pairwise([scale * SQUARE.cost for scale in (1, 2, 3)])
    printed = anchorot("pairwise", *names, cwd=tmp_path, COLUMNS="80").stdout
    assert all(len(line) <= 80 for line in printed.splitlines())
    columns = [[part.strip() for part in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]
    assert "".join(row[0] for row in columns).count(names[0]) == 2
    assert "".join(row[1] for row in columns).count(names[2]) == 2
    assert [row[2] for row in columns if row[2]] == [f"{value:.6g}" for value in values[[0, 1, 0], [1, 2, 2]]]


SUBPACKAGES = ("anchors", "config", "distances", "io", "search")
LAZY = ("datasets", "estimators", "plot", "torch")
WITHOUT = """
import sys
class Blind:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {packages!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Blind, sys.meta_path)
import anchorot as ao
try:
    {call}
except ao.MissingExtraError as error:
    print(error)
"""


def test_the_package_lists_public_names_only():
    program = "import anchorot as ao; print(*dir(ao)); print(*(name for name in ao.lazy if name in vars(ao)))"
    done = anchorot(program=program.replace("ao.lazy", repr(LAZY)), fresh=True)
    listed, loaded = done.stdout.splitlines()
    assert set(listed.split()) >= set(ao.__all__)
    assert set(listed.split()) <= {*ao.__all__, *SUBPACKAGES, *LAZY}
    assert loaded == ""


def test_help_of_the_package_needs_no_extra():
    program = WITHOUT.format(packages=("torch", "sklearn", "matplotlib"), call="import pydoc; pydoc.render_doc(ao)")
    done = anchorot(program=program, fresh=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("name", LAZY)
def test_subpackages_are_imported_on_first_use(name):
    pytest.importorskip({"datasets": "numpy", "estimators": "sklearn", "plot": "matplotlib"}.get(name, name))
    assert name not in ao.__all__
    assert getattr(ao, name).__name__ == f"anchorot.{name}"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'anchorot' has no attribute 'distance'"):
        ao.distance  # noqa: B018


def test_the_length_of_a_space_is_its_number_of_points():
    assert len(SQUARE) == SQUARE.n == 4


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"x": [0.0, 3.0, 0.0], "y": [0.0, 4.0, 1.0]}, index=["oak", "elm", "ash"])


def test_points_of_a_data_frame_keep_its_index_as_labels(frame):
    x = ao.from_points(frame)
    assert x.labels == ("oak", "elm", "ash")
    np.testing.assert_array_equal(x.cost, ao.from_points(frame.to_numpy()).cost)
    drawn = ao.from_points(frame, n_points=2, rng=0)
    np.testing.assert_array_equal(drawn.cost, x.take([x.labels.index(name) for name in drawn.labels]).cost)
    assert ao.from_neighbors(frame, 2, "euclidean").labels == x.labels
    assert ao.from_points(frame, labels=[1, 2, 3]).labels == (1, 2, 3)


def test_costs_in_a_data_frame_keep_its_index_as_labels(frame):
    costs = type(frame)(ao.from_points(frame).cost, index=frame.index, columns=frame.index)
    x = ao.Space(costs)
    assert x.labels == ("oak", "elm", "ash")
    assert ao.anchor_energy(costs, x) == 0
    assert ao.Space(costs, labels="abc").labels == ("a", "b", "c")


def test_rows_without_names_have_no_labels(frame):
    assert ao.from_points(frame.reset_index(drop=True)).labels is None
    assert ao.from_points(frame.to_numpy()).labels is None


def test_costs_whose_rows_and_columns_have_other_names_are_refused(frame):
    costs = type(frame)(np.zeros((3, 3)), index=frame.index, columns=frame.index[::-1])
    assert "rows and columns" in said(lambda: ao.Space(costs))
    assert ao.Space(type(frame)(np.zeros((3, 3)), index=frame.index)).labels == ("oak", "elm", "ash")
