"""Pictures of distances, anchors, plans, matches and shapes."""

import io
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.distance import pdist, squareform

import anchorot as ao
from anchorot._layout import classical_mds, scene
from anchorot.datasets.shapes import sphere, torus, tree
from anchorot.geometry import Geometry
from anchorot.plot.cdfs import share_field
from anchorot.plot.shapes import view
from anchorot.plot.style import NOTHING
from tests import reference
from tests.plot.fresh import plot
from tests.strategies import spaces

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
    "shape": lambda **ax: plot.shape(mesh(), np.arange(8), **ax),
    "null_distribution": lambda **ax: plot.null_distribution(ao.PermutationTest(0.3, 0.5, np.array([0.2, 0.4])), **ax),
}
every_picture = pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES.keys())


def drawn(ax):
    """Draw for real, so that what only drawing finds is found."""
    ax.figure.savefig(io.BytesIO(), format="png")
    return ax


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
    room = {"wspace": 0.4} if layout is None else None  # for names of axes, which an engine makes by itself
    axes = figure.subplots(1, 3, gridspec_kw=room)
    plot.plan(np.eye(3), ax=axes[0])
    plot.distance_matrix(DISTANCES, ax=axes[1])
    drawn(plot.distance_map(DISTANCES, ax=axes[2]))
    boxes = [ax.get_tightbbox() for ax in axes]
    scales = [ax.get_tightbbox() for ax in figure.axes[3:]]
    assert not any(scale.overlaps(box) for scale, box in zip(scales, boxes[1:], strict=False))
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))


def test_the_matrix_has_borders_and_names_where_groups_change():
    ax = plot.distance_matrix(DISTANCES, list("aabbc"))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_yticks().tolist() == [0.5, 2.5, 4]
    assert sorted({line.get_ydata()[0] for line in ax.lines}) == [0, 1.5, 3.5]  # 0: where the vertical ones begin
    np.testing.assert_array_equal(ax.images[0].get_array(), DISTANCES)
    named = plot.distance_matrix(DISTANCES, list("aabbc"), names=range(5))
    assert [label.get_text() for label in named.get_yticklabels()] == list("01234")
    assert [label.get_text() for label in named.get_xticklabels()] == list("abc")


def test_spaces_of_one_group_are_drawn_side_by_side():
    shuffled = [3, 0, 4, 1, 2]
    groups, names = [list("aabbc")[k] for k in shuffled], [f"s{k}" for k in shuffled]
    ax = plot.distance_matrix(DISTANCES[np.ix_(shuffled, shuffled)], groups, names=names)
    order = [3, 2, 0, 1, 4]  # b and a and c, as they come
    np.testing.assert_array_equal(ax.images[0].get_array(), DISTANCES[np.ix_(order, order)])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "a", "c"]
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"s{k}" for k in order]


@pytest.mark.parametrize("groups", [[k % 3 for k in range(300)], range(300)], ids=["three", "as many as spaces"])
def test_borders_never_hide_the_matrix(groups):
    ax = plot.distance_matrix(np.ones((300, 300)), list(groups))
    raw = io.BytesIO()
    ax.figure.savefig(raw, format="raw", dpi=ax.figure.dpi)
    width, height = (int(side) for side in ax.figure.get_size_inches() * ax.figure.dpi)
    box = ax.get_window_extent()
    pixels = np.frombuffer(raw.getvalue(), np.uint8).reshape(height, width, 4)
    pixels = pixels[height - int(box.y1) : height - int(box.y0), int(box.x0) : int(box.x1), :3]
    assert (pixels.astype(int).sum(axis=2) < 200).mean() > 0.9  # a one is nearly black


def test_names_of_hundreds_of_spaces_do_not_overlap():
    ax = drawn(plot.distance_matrix(np.ones((300, 300)), names=[f"space {i}" for i in range(300)]))
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert len(boxes) > 30
    assert all(a.y0 >= b.y1 - 1 for a, b in pairwise(boxes))
    assert all(label.get_fontsize() >= 5 for label in ax.get_yticklabels())


def test_the_map_takes_distances_or_their_squares():
    groups = list("aabbc")
    maps = plot.distance_map(DISTANCES, groups, squared=False), plot.distance_map(DISTANCES**2, groups, squared=True)
    dots = [np.concatenate([group.get_offsets() for group in ax.collections]) for ax in maps]
    np.testing.assert_allclose(dots[0], classical_mds(DISTANCES**2))
    np.testing.assert_allclose(dots[0], dots[1])


def test_the_map_of_pairwise_energies_is_right_without_a_word():
    line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    energies = ao.pairwise([scale * line for scale in (1, 2, 4)])
    dots = plot.distance_map(energies).collections[0].get_offsets()
    apart = np.linalg.norm(dots[:, None] - dots, axis=2)
    np.testing.assert_allclose(apart, np.sqrt(energies), atol=1e-9)


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


def test_the_map_tells_more_groups_apart_than_there_are_colours():
    count = 25
    ax = plot.distance_map(1 - np.eye(count), range(count), names=range(count))
    looks = {(group.get_facecolor().tobytes(), group.get_paths()[0].vertices.tobytes()) for group in ax.collections}
    assert len(looks) == count
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [str(i) for i in range(count)]
    assert [text.get_text() for text in ax.texts] == [str(i) for i in range(count)]


@given(spaces(), spaces())
def test_the_field_counts_the_anchors_that_have_reached_each_level(x, y):
    count = 7
    field = share_field(x, y, count)
    costs = (field.edges[1:] + field.edges[:-1]) / 2
    levels = (np.arange(count) + 0.5) / count
    for k, s in np.ndindex(count, count):
        heights = np.concatenate([field.heights_x[:, s], field.heights_y[:, s]])
        if abs(heights - levels[k]).min() < 1e-9:
            continue  # whether it has just been reached is a matter of rounding
        shares = [reference.reached_share(z.cost, z.weights, costs[s], levels[k]) for z in (x, y)]
        assert abs(field.difference[k, s] - (shares[0] - shares[1])) < 1e-9


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_ink_together_is_the_anchor_energy(robust, weighted):
    rng = np.random.default_rng(2)
    pair = [
        ao.from_points(make(40, rng), weights=rng.dirichlet(np.ones(40)) if weighted else None)
        for make in (torus, sphere)
    ]
    ax = plot.anchor_cdfs(*pair, robust=robust)
    image = ax.images[0]
    left, right, bottom, top = image.get_extent()
    ink = np.abs(image.get_array()).mean() * (right - left) * (top - bottom)
    energy = ao.anchor_energy(*pair, robust=robust)
    assert ink == pytest.approx(energy, rel=0.01)
    assert f"AE = {energy:.4g}" in ax.get_legend().get_title().get_text()


def test_ink_is_red_where_more_red_curves_have_passed():
    ax = plot.anchor_cdfs([[0, 1], [1, 0]], [[0, 3], [3, 0]])
    ink = ax.images[0].get_array()
    assert ink.max() == 2
    assert ink.min() == 0
    red, green, blue, _ = ax.images[0].to_rgba(np.array([[2.0]]))[0, 0]
    assert red > 2 * max(green, blue)


def test_few_thin_curves_stand_for_many():
    ax = plot.anchor_cdfs(CLOUD, TREE, n_curves=3)
    assert [len(curves.get_segments()) for curves in ax.collections] == [3, 3]
    last = np.array([curve[-1] for curves in ax.collections for curve in curves.get_segments()])
    np.testing.assert_allclose(last[:, 1], 1)
    bare = plot.anchor_cdfs(CLOUD, TREE, n_curves=0)
    assert not any(curves.get_segments() for curves in bare.collections)


def test_bold_curves_are_the_mean_cdfs():
    ax = plot.anchor_cdfs([[0, 2], [1, 0]], LONELY, resolution=4)
    means = [line.get_ydata() for line in ax.lines if line.get_color() != "white"]
    assert means[0].tolist() == [0.5, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75, 0.75, 1]
    assert means[1].tolist() == [1] * 9


def test_columns_in_the_order_of_their_matches_make_a_diagonal():
    shuffled = np.random.default_rng(0).permutation(6)
    image = plot.plan(np.eye(6)[:, shuffled] / 6, order="match").images[0].get_array()
    np.testing.assert_array_equal(image, np.eye(6) / 6)
    more_columns = plot.plan([[0, 3, 1, 0], [2, 0, 0, 4]], order="match").images[0].get_array()
    assert more_columns.tolist() == [[3, 1, 0, 0], [0, 0, 2, 4]]


def test_a_large_plan_is_drawn_in_blocks_of_the_same_mass():
    plan = np.random.default_rng(0).dirichlet(np.ones(900)).reshape(900, 1) / np.ones((1, 500)) / 500
    ax = plot.plan(plan)
    blocks = ax.images[0].get_array()
    assert blocks.shape == (400, 400)
    assert blocks.sum() == pytest.approx(1)
    assert tuple(ax.images[0].get_extent()) == (-0.5, 499.5, 899.5, -0.5)


def test_the_sides_of_a_plan_show_its_marginals():
    plan = np.array([[0.1, 0.2, 0.0], [0.3, 0.0, 0.4]])
    top, side, _ = plot.plan(plan).child_axes
    np.testing.assert_allclose(top.patches[0].get_data().values, plan.sum(axis=0))
    np.testing.assert_allclose(side.patches[0].get_data().values, plan.sum(axis=1))
    assert len(plot.plan(plan, marginals=False).child_axes) == 1  # the scale of colours


def node_colours(ax):
    """Colours of the nodes of both graphs, in their order."""
    return [np.round(dots.get_facecolor()[:, :3], 6).tolist() for dots in ax.collections if hasattr(dots, "get_sizes")]


def test_matched_nodes_have_one_colour_and_a_line():
    shuffled = np.random.default_rng(0).permutation(9)
    found = np.argsort(shuffled)
    copy = TREE.take(shuffled)
    ax = plot.matched_graphs(TREE, copy, found)
    left, right = node_colours(ax)
    assert len({tuple(colour) for colour in left}) > 5
    assert [right[j] for j in found] == left
    lines = np.array(ax.collections[0].get_segments())
    places = [dots.get_offsets() for dots in ax.collections if hasattr(dots, "get_sizes")]
    np.testing.assert_allclose(lines, np.stack([places[0], places[1][found]], axis=1))
    assert places[0][:, 0].max() < places[1][:, 0].min()
    by_plan = plot.matched_graphs(TREE, copy, np.eye(9)[:, shuffled] / 9)
    assert node_colours(by_plan) == [left, right]
    by_transport = plot.matched_graphs(TREE, copy, ao.anchor_wasserstein(TREE, copy, epsilon=0))
    assert node_colours(by_transport)[0] == left


def test_nodes_without_a_match_are_grey_and_the_first_of_several_wins():
    left, right = node_colours(plot.matched_graphs(TREE, TREE, [4, 4, -1, 4, 4, 4, 4, 4, 0], values=range(9)))
    assert right[4] == left[0]
    assert right[0] == left[8]
    greys = [right[j] for j in (1, 2, 3, 5, 6, 7, 8)]
    assert all(grey == greys[0] for grey in greys)
    assert np.ptp(greys[0]) < 0.05


def test_alignments_are_drawn_as_their_matches_and_plans_are():
    pytest.importorskip("ot")
    shuffled = np.random.default_rng(0).permutation(12)
    found = ao.align(CLOUD, CLOUD.take(shuffled))
    by_matches = plot.matched_graphs(CLOUD, CLOUD.take(shuffled), found.matches)
    assert node_colours(plot.matched_graphs(CLOUD, CLOUD.take(shuffled), found)) == node_colours(by_matches)
    np.testing.assert_array_equal(plot.plan(found).images[0].get_array(), found.plan)
    image = plot.plan(found, order="match").images[0].get_array()
    np.testing.assert_array_equal(image, np.eye(12) / 12)


def test_dense_alignments_are_drawn_between_what_they_align(tmp_path):
    points = np.random.default_rng(0).normal(size=(40, 3))
    found = ao.align(points, points[::-1], n_landmarks=15)
    left, right = node_colours(drawn(plot.matched_graphs(points, ao.PointDistances(points[::-1]), found)))
    assert len(left) == len(right) == 40
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2)
    ball.export(tmp_path / "ball.off")
    path, matches = tmp_path / "ball.off", np.arange(162)
    first, second = drawn(plot.matched_graphs(path, str(path), matches)).collections[1:]
    differ = np.abs(first.get_facecolor() - second.get_facecolor()) > 1e-9
    assert differ.mean() < 0.05  # a face between two vertices may take the colour of either
    drawn(plot.shape(ball, matches))


def test_a_dense_map_that_is_not_onto_leaves_no_point_grey():
    from matplotlib.colors import to_rgb

    points = np.random.default_rng(0).normal(size=(40, 2))
    found = replace(ao.align(points, points, n_landmarks=15), matches=np.append(np.arange(39) // 2, -1))
    left, right = node_colours(plot.matched_graphs(points, points, found))
    assert [left[i] for i in range(39)] == [right[i // 2] for i in range(39)]
    grey = np.round(to_rgb(NOTHING), 6).tolist()
    assert left[39] == grey
    assert grey not in right


def test_of_very_many_matches_some_have_a_line():
    points = np.random.default_rng(0).normal(size=(3000, 2))
    lines = plot.matched_graphs(points, points, np.arange(3000)).collections[0].get_segments()
    assert 50 <= len(lines) <= 300


def test_points_without_a_value_are_grey():
    from matplotlib.colors import to_hex

    points = ao.from_points([[0, 0], [1, 0], [2, 0], [3, 1]])
    with_gaps = plot.shape(points, [1, np.nan, 3, 2])
    (dots,) = with_gaps.collections
    whole = plot.shape(points.take([0, 2, 3]), [1, 3, 2]).collections[0].get_facecolor()
    np.testing.assert_allclose(dots.get_facecolor()[[0, 2, 3]], whole)
    assert to_hex(dots.get_facecolor()[1]) == NOTHING
    drawn(plot.shape(points, [np.nan] * 4))
    left, _ = node_colours(plot.matched_graphs(points, points, range(4), values=[1, np.nan, 3, 2]))
    assert to_hex(left[1]) == NOTHING


def test_only_highlighted_nodes_have_lines():
    ax = plot.matched_graphs(TREE, TREE, [0, 1, 2, 3, 4, 5, 6, 7, -1], highlight=[3, 5, 8])
    assert len(ax.collections[0].get_segments()) == 2
    *_, rings_x, rings_y = node_colours(ax)
    assert rings_x == [node_colours(ax)[0][i] for i in (3, 5, 8)]
    assert rings_y == [node_colours(ax)[0][i] for i in (3, 5)]
    assert not drawn(plot.matched_graphs(TREE, TREE, np.arange(9), highlight=[])).collections[0].get_segments()


def test_dots_have_the_colour_of_their_value_and_the_size_of_their_weight():
    space = ao.from_points([[0, 0], [1, 0], [2, 0]], weights=[0.5, 0.25, 0.25])
    (dots,) = plot.shape(space, [1, 2, 1]).collections
    first, second, third = dots.get_facecolor().tolist()
    assert first == third != second
    assert dots.get_sizes()[0] == pytest.approx(2 * dots.get_sizes()[1])


def test_a_graph_is_drawn_with_its_edges():
    lines, dots = plot.shape(TREE, color="red").collections
    placed = scene(TREE)
    assert len(lines.get_segments()) == len(placed.edges)
    ends = np.array(lines.get_segments())
    np.testing.assert_allclose(ends, dots.get_offsets()[placed.edges])
    assert dots.get_facecolor().tolist() == [[1, 0, 0, 1]] * 9


def test_what_is_in_space_is_turned_not_mirrored_and_stands_upright():
    points = np.random.default_rng(0).normal(size=(50, 3)) * [3, 1, 5]
    seen = view(ao.from_points(points)).sites
    turn, *_ = np.linalg.lstsq(points - points.mean(axis=0), seen - seen.mean(axis=0))
    scale = np.cbrt(np.linalg.det(turn))
    assert scale > 0
    np.testing.assert_allclose(turn @ turn.T, scale**2 * np.eye(3), atol=1e-9)
    assert seen.std(axis=0).argmin() == 2
    assert np.corrcoef(points[:, 2], seen[:, 1])[0, 1] > 0.9  # z is up
    flat = view(ao.from_points(points[:, [0, 2, 1]])).sites
    assert np.corrcoef(points[:, 2], flat[:, 1])[0, 1] > 0.9  # seen along z, y is up


def test_a_mesh_hides_its_far_side_and_takes_colours_from_the_nearest_points():
    space = mesh()
    (surface,) = plot.shape(space).collections
    seen = view(space)
    depth = seen.sites[CUBE_FACES, 2].mean(axis=1)
    expected = seen.sites[CUBE_FACES[np.argsort(depth, kind="stable")], :2]
    triangles = np.array([path.vertices[:3] for path in surface.get_paths()])
    np.testing.assert_allclose(triangles, expected)
    turned = plot.shape(mesh(faces=CUBE_FACES[:, ::-1])).collections[0]
    np.testing.assert_allclose(turned.get_facecolor(), surface.get_facecolor(), atol=1e-9)
    middles = CUBE[CUBE_FACES[np.argsort(depth, kind="stable")]].mean(axis=1)
    to_first, to_second = (np.linalg.norm(middles - CUBE[point], axis=1) for point in (0, 7))
    _, green, blue, _ = plot.shape(mesh([0, 7]), [0, 1]).collections[0].get_facecolor().T
    assert (blue > green).tolist() == (to_first < to_second).tolist()  # dark violet, or yellow


@pytest.mark.parametrize("space", [LONELY, ao.Space(np.zeros((3, 3))), ao.from_points([[1.0, 2.0, 3.0]])])
def test_spaces_of_one_spot_can_be_drawn(space):
    drawn(plot.shape(space, np.ones(space.n)))
    drawn(plot.matched_graphs(space, LONELY, np.ones((space.n, 1))))
    drawn(plot.anchor_cdfs(space, LONELY))
    drawn(plot.plan(np.zeros((1, space.n)), order="match"))


def test_one_space_alone_can_be_drawn():
    drawn(plot.distance_matrix([[0]], ["alone"]))
    drawn(plot.distance_map([[0]], ["alone"], names=["alone"]))


def test_points_of_weight_zero_change_no_ink():
    heavy = ao.Space([[0, 1], [1, 0]])
    padded = ao.Space([[0, 1, 9], [1, 0, 9], [9, 9, 9]], [0.5, 0.5, 0])
    images = [plot.anchor_cdfs(space, TREE).images[0] for space in (heavy, padded)]
    assert images[0].get_extent() == images[1].get_extent()
    np.testing.assert_array_equal(images[0].get_array(), images[1].get_array())
    drawn(plot.shape(padded))
    drawn(plot.matched_graphs(padded, heavy, ao.anchor_energy_plan(padded, heavy)))


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
        (lambda: plot.matched_graphs(TREE, TREE, [9] * 9), "the match goes from 9 to 9, but must be from -1 to 8"),
        (lambda: plot.matched_graphs(TREE, TREE, [-2] * 9), "the match goes from -2"),
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


def test_a_single_point_is_drawn_whatever_it_costs_itself():
    drawn(plot.shape([[3.0]], [1.0]))
    drawn(plot.matched_graphs([[-1e9]], [[5.0]], [0]))


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
