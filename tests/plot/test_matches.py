"""Plots of plans and matches."""

from dataclasses import replace

import numpy as np
import pytest

import anchorot as ao
from anchorot.datasets.shapes import tree
from anchorot.plot.style import PALE
from tests.plot.fresh import drawn, plot

RNG = np.random.default_rng(0)


CLOUD = ao.from_points(RNG.normal(size=(12, 3)))


TREE = ao.from_graph(tree(9, np.random.default_rng(1)))


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
    left, right = node_colours(drawn(plot.matched_graphs(points, ao.distances.PointDistances(points[::-1]), found)))
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
    grey = np.round(to_rgb(PALE), 6).tolist()
    assert left[39] == grey
    assert grey not in right


def test_of_very_many_matches_some_have_a_line():
    points = np.random.default_rng(0).normal(size=(3000, 2))
    lines = plot.matched_graphs(points, points, np.arange(3000)).collections[0].get_segments()
    assert 50 <= len(lines) <= 300


def test_only_highlighted_nodes_have_lines():
    ax = plot.matched_graphs(TREE, TREE, [0, 1, 2, 3, 4, 5, 6, 7, -1], highlight=[3, 5, 8])
    assert len(ax.collections[0].get_segments()) == 2
    *_, rings_x, rings_y = node_colours(ax)
    assert rings_x == [node_colours(ax)[0][i] for i in (3, 5, 8)]
    assert rings_y == [node_colours(ax)[0][i] for i in (3, 5)]
    assert not drawn(plot.matched_graphs(TREE, TREE, np.arange(9), highlight=[])).collections[0].get_segments()
