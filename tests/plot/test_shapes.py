"""Plots of single spaces: points, graphs and meshes."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import anchorot as ao
from anchorot._layout import scene
from anchorot.datasets.shapes import tree
from anchorot.geometry import Geometry
from anchorot.plot.shapes import view
from anchorot.plot.style import PALE
from tests.plot.fresh import drawn, plot

TREE = ao.from_graph(tree(9, np.random.default_rng(1)))


CUBE = np.array([[x + 0.3 * y, y + 0.2 * z, z + 0.1 * x] for x in (0, 1) for y in (0, 2) for z in (0, 3)])  # slanted


CUBE_FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 3, 7], [2, 7, 6]])


LONELY = ao.Space([[0.0]])


def mesh(points=range(8), faces=CUBE_FACES):
    costs = squareform(pdist(CUBE))
    return ao.Space(costs, geometry=Geometry(np.arange(8), 8, CUBE, np.asarray(faces))).take(list(points))


def node_colours(ax):
    """Colours of the nodes of both graphs, in their order."""
    return [np.round(dots.get_facecolor()[:, :3], 6).tolist() for dots in ax.collections if hasattr(dots, "get_sizes")]


def test_points_without_a_value_are_grey():
    from matplotlib.colors import to_hex

    points = ao.from_points([[0, 0], [1, 0], [2, 0], [3, 1]])
    with_gaps = plot.shape(points, [1, np.nan, 3, 2])
    (dots,) = with_gaps.collections
    whole = plot.shape(points.take([0, 2, 3]), [1, 3, 2]).collections[0].get_facecolor()
    np.testing.assert_allclose(dots.get_facecolor()[[0, 2, 3]], whole)
    assert to_hex(dots.get_facecolor()[1]) == PALE
    drawn(plot.shape(points, [np.nan] * 4))
    left, _ = node_colours(plot.matched_graphs(points, points, range(4), values=[1, np.nan, 3, 2]))
    assert to_hex(left[1]) == PALE


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
    assert drawn(plot.shape(space, np.ones(space.n))).has_data()
    assert drawn(plot.matched_graphs(space, LONELY, np.ones((space.n, 1)))).has_data()
    assert drawn(plot.anchor_cdfs(space, LONELY)).has_data()
    assert drawn(plot.plan(np.zeros((1, space.n)), order="match")).has_data()


def test_one_space_alone_can_be_drawn():
    assert drawn(plot.distance_matrix([[0]], ["alone"])).has_data()
    assert drawn(plot.distance_map([[0]], ["alone"], names=["alone"])).has_data()


def test_a_single_point_is_drawn_whatever_it_costs_itself():
    assert drawn(plot.shape([[3.0]], [1.0])).has_data()
    assert drawn(plot.matched_graphs([[-1e9]], [[5.0]], [0])).has_data()
