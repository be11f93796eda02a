"""Plots of anchors as bundles of distribution functions."""

import numpy as np
import pytest
from hypothesis import given

import anchorot as ao
from anchorot.datasets.shapes import sphere, torus, tree
from anchorot.plot.cdfs import share_field
from tests import reference
from tests.plot.fresh import drawn, plot
from tests.strategies import spaces

RNG = np.random.default_rng(0)


CLOUD = ao.from_points(RNG.normal(size=(12, 3)))


TREE = ao.from_graph(tree(9, np.random.default_rng(1)))


LONELY = ao.Space([[0.0]])


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
def test_the_integrand_integrates_to_the_anchor_energy(robust, weighted):
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


def test_the_shading_is_red_where_more_red_curves_have_passed():
    ax = plot.anchor_cdfs([[0, 1], [1, 0]], [[0, 3], [3, 0]])
    ink = ax.images[0].get_array()
    assert ink.max() == 2
    assert ink.min() == 0
    red, green, blue, _ = ax.images[0].to_rgba(np.array([[2.0]]))[0, 0]
    assert red > 2 * max(green, blue)


def test_few_thin_curves_represent_many():
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


def test_points_of_weight_zero_do_not_change_the_shading():
    heavy = ao.Space([[0, 1], [1, 0]])
    padded = ao.Space([[0, 1, 9], [1, 0, 9], [9, 9, 9]], [0.5, 0.5, 0])
    images = [plot.anchor_cdfs(space, TREE).images[0] for space in (heavy, padded)]
    assert images[0].get_extent() == images[1].get_extent()
    np.testing.assert_array_equal(images[0].get_array(), images[1].get_array())
    drawn(plot.shape(padded))
    drawn(plot.matched_graphs(padded, heavy, ao.anchor_energy_plan(padded, heavy)))
