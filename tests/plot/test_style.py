"""What all plots share: their axes, colour scales, names and errors."""

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import anchorot as ao
from anchorot.datasets.shapes import tree
from anchorot.geometry import Geometry
from tests.plot.fresh import drawn, plot, plt

RNG = np.random.default_rng(0)


DISTANCES = squareform(pdist(RNG.normal(size=(5, 3))))


CLOUD = ao.from_points(RNG.normal(size=(12, 3)))


TREE = ao.from_graph(tree(9, np.random.default_rng(1)))


CUBE = np.array([[x + 0.3 * y, y + 0.2 * z, z + 0.1 * x] for x in (0, 1) for y in (0, 2) for z in (0, 3)])  # slanted


CUBE_FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 3, 7], [2, 7, 6]])


VECTORS = RNG.normal(size=(30, 3)) * (3, 2, 1)


TURNED = ao.align_embeddings(VECTORS, VECTORS[::-1], metric="euclidean", rng=0)


LONELY = ao.Space([[0.0]])


def mesh(points=range(8), faces=CUBE_FACES):
    costs = squareform(pdist(CUBE))
    return ao.Space(costs, geometry=Geometry(np.arange(8), 8, CUBE, np.asarray(faces))).take(list(points))


SCALES = ao.scale_test(
    [np.minimum(np.abs(np.subtract.outer(range(9), range(9))), 4.0 + k) for k in (0, 0, 0, 1, 1, 1)], "aaabbb", rng=0
)


TYPE_PAIRS = ao.scale_test(
    ao.datasets.tissues(4, n_cells=20, rng=0), list("aaaabbbb"), attributes="types", type_pairs=True, rng=0
)


PICTURES = {
    "distance_matrix": lambda **ax: plot.distance_matrix(DISTANCES, list("aabbc"), **ax),
    "distance_map": lambda **ax: plot.distance_map(DISTANCES, list("aabbc"), **ax),
    "plan": lambda **ax: plot.plan(np.full((2, 3), 1 / 6), **ax),
    "anchor_cdfs": lambda **ax: plot.anchor_cdfs(CLOUD, TREE, **ax),
    "embedding_pair": lambda **ax: plot.embedding_pair(TURNED, VECTORS, VECTORS[::-1], (range(30), range(30)), **ax),
    "error_curve": lambda **ax: plot.error_curve(ao.alignment_scores([1, 0], [0, 0], [[0, 1], [1, 0]]), **ax),
    "matching": lambda **ax: plot.matching([1, 0, -1], (list("aab"), list("bac")), **ax),
    "matched_graphs": lambda **ax: plot.matched_graphs(TREE, TREE, np.arange(9), **ax),
    "scale_curve": lambda **ax: plot.scale_curve(SCALES, **ax),
    "type_pairs": lambda **ax: plot.type_pairs(TYPE_PAIRS, **ax),
    "shape": lambda **ax: plot.shape(mesh(), np.arange(8), **ax),
    "null_distribution": lambda **ax: plot.null_distribution(ao.PermutationTest(0.3, 0.5, np.array([0.2, 0.4])), **ax),
}


every_picture = pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES.keys())


@every_picture
def test_a_picture_is_drawn_on_the_axes_given_and_returned(picture):
    ax, other = plot.new_figure(6, 3).subplots(1, 2)
    assert picture(ax=ax) is ax
    assert drawn(ax).has_data()
    assert not other.has_data()


@every_picture
def test_without_matplotlib_the_error_names_the_extra(picture, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ao.MissingExtraError, match=r"anchorot\[plot\]"):
        picture()


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_scales_of_colours_leave_neighbours_alone(layout):
    figure = plot.new_figure(9, 3)
    figure.set_layout_engine(layout)
    spacing = {"wspace": 0.4} if layout is None else None  # for names of axes, which an engine makes by itself
    axes = figure.subplots(1, 3, gridspec_kw=spacing)
    plot.plan(np.eye(3), ax=axes[0])
    plot.distance_matrix(DISTANCES, ax=axes[1])
    drawn(plot.distance_map(DISTANCES, ax=axes[2]))
    boxes = [ax.get_tightbbox() for ax in axes]
    scales = [ax.get_tightbbox() for ax in figure.axes[3:]]
    assert not any(scale.overlaps(box) for scale, box in zip(scales, boxes[1:], strict=False))
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))


def test_axes_and_scales_of_colours_say_what_they_show():
    ax = plot.distance_map(DISTANCES)
    assert ax.get_xlabel() == "first coordinate (distance)"
    assert ax.get_ylabel() == "second coordinate (distance)"
    ax = plot.distance_matrix(DISTANCES, label="root of AE (units of the costs)")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("space", "space")
    assert [bar.get_ylabel() for bar in ax.child_axes] == ["root of AE (units of the costs)"]
    assert plot.distance_matrix(DISTANCES, list("aabbc")).get_xlabel() == ""  # the groups are named
    values = plot.shape(ao.from_points(np.eye(3)), [1, 2, 3], label="height (mm)")
    assert "height (mm)" in [ax.get_ylabel() for ax in (*values.figure.axes, *values.child_axes)]


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (lambda: plot.distance_matrix(np.ones((2, 3))), r"distances has shape \(2, 3\), but a square matrix"),
        (lambda: plot.distance_matrix(np.ones((0, 0))), "distances has shape"),
        (lambda: plot.distance_matrix([[0, np.nan], [0, 0]]), "distances must be finite"),
        (lambda: plot.distance_matrix(DISTANCES, ["a"]), "groups has 1 entries, but there are 5 spaces"),
        (lambda: plot.distance_matrix(DISTANCES, names=["a"]), "names has 1 entries, but there are 5 spaces"),
        (lambda: plot.distance_map(np.ones((2, 3))), r"distances has shape \(2, 3\)"),
        (lambda: plot.distance_map(DISTANCES, sizes=[1]), "sizes has 1 entries, but there are 5 spaces"),
        (lambda: plot.plan(np.ones(3)), r"plan has shape \(3,\), but \(n, m\)"),
        (lambda: plot.plan([[np.inf]]), "plan must be finite"),
        (lambda: plot.plan([[1.0]], order="size"), "order must be one of 'match', but got 'size'"),
        (lambda: plot.anchor_cdfs(CLOUD, TREE, resolution=0), "resolution must be an integer >= 2"),
        (lambda: plot.anchor_cdfs(CLOUD, TREE, n_curves=-1), "n_curves must be an integer >= 0"),
        (lambda: plot.matched_graphs(TREE, TREE, [0, 1]), "the match has 2 entries, but the first space has 9 points"),
        (lambda: plot.matched_graphs(TREE, TREE, [9] * 9), "the match ranges from 9 to 9, but must be from -1 to 8"),
        (lambda: plot.matched_graphs(TREE, TREE, [-2] * 9), "the match ranges from -2"),
        (lambda: plot.matched_graphs(TREE, TREE, np.ones((9, 2))), r"plan has shape \(9, 2\), but .* 9 and 9 points"),
        (lambda: plot.matched_graphs(TREE, TREE, [0.5] * 9), r"plan has shape \(9,\)"),
        (lambda: plot.matched_graphs(TREE, TREE, [[1], [1, 2]]), "plan_or_match is not an array of numbers"),
        (lambda: plot.matched_graphs(TREE, TREE, range(9), highlight=[9]), "highlight must hold integers from 0 to 8"),
        (
            lambda: plot.matched_graphs(TREE, TREE, range(9), values=[1]),
            r"values has shape \(1,\), but the space has 9",
        ),
        (lambda: plot.shape(TREE, [1, 2]), r"values has shape \(2,\), but the space has 9 points"),
        (lambda: plot.shape(LONELY, [np.inf]), "values must be finite or NaN, but values.0. is inf"),
        (
            lambda: plot.plan(ao.align(CLOUD.cost, CLOUD.cost, n_landmarks=5)),
            "a DenseAlignment has one match for each point but no plan; take its .matches",
        ),
        (
            lambda: plot.matched_graphs(TREE, TREE, ao.align(CLOUD, CLOUD)),
            "the match has 12 entries, but the first space has 9 points",
        ),
    ],
)
def test_wrong_input_gives_one_clear_line(picture, message):
    with pytest.raises(ao.InputError, match=message) as raised:
        picture()
    assert "\n" not in str(raised.value)


NO_TEXT = "cat\udcff"  # as a name of a file may be


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot.distance_matrix(DISTANCES, names=[NO_TEXT] * 5),
        lambda: plot.distance_matrix(DISTANCES, groups=[NO_TEXT] * 5),
        lambda: plot.distance_map(DISTANCES, groups=[NO_TEXT] * 5, names=[NO_TEXT] * 5),
        lambda: plot.anchor_cdfs(CLOUD, CLOUD, names=(NO_TEXT, "b")),
        lambda: plot.matching(np.arange(12), ([NO_TEXT] * 12, [NO_TEXT] * 12)),
        lambda: plot.embedding_pair(TURNED, VECTORS, VECTORS[::-1], labels=([NO_TEXT] * 30, [NO_TEXT] * 30)),
        lambda: plot.error_curve({NO_TEXT: ao.alignment_scores(np.arange(12), np.arange(12), cost=CLOUD.cost)}),
    ],
)
def test_names_that_are_no_text_are_drawn(draw):
    file = io.BytesIO()
    draw().figure.savefig(file, format="svg")
    assert file.getvalue()


@every_picture
def test_a_picture_is_drawn_on_the_current_axes_of_pyplot(picture, monkeypatch):
    _, (left, right) = plt.subplots(1, 2)
    monkeypatch.setattr(plt, "close", lambda number: None)
    assert picture() is right
    assert plt.gca() is right
    assert drawn(right).has_data()
    assert not left.has_data()


@every_picture
def test_a_picture_is_a_figure_of_pyplot_where_there_is_none(picture):
    figure = picture().figure
    assert plt.get_fignums() == [figure.number]
    shown, own = io.BytesIO(), io.BytesIO()
    plt.savefig(shown, format="png")
    picture(ax=plot.new_figure(*figure.get_size_inches()).subplots()).figure.savefig(own, format="png")
    assert shown.getvalue() == own.getvalue()


@every_picture
def test_a_picture_on_its_own_axes_is_no_figure_of_pyplot(picture):
    picture(ax=plot.new_figure(6, 3).subplots())
    assert not plt.get_fignums()


def test_pictures_are_drawn_in_threads_at_the_same_time():
    def one(name):
        return drawn(PICTURES[name](ax=plot.new_figure(6, 3).subplots())).has_data()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, [*PICTURES] * 2))


def test_pictures_on_given_axes_leave_pyplot_alone():
    program = "import sys, anchorot.plot as p; print('matplotlib' in sys.modules); "
    program += "p.plan([[1.0]], ax=p.new_figure(4, 4).subplots()); print('matplotlib.pyplot' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]
