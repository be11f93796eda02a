"""Plots of distances: matrices and maps."""

import io
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import anchorot as ao
from anchorot._layout import classical_mds
from tests.plot.fresh import drawn, plot

RNG = np.random.default_rng(0)


DISTANCES = squareform(pdist(RNG.normal(size=(5, 3))))


def test_the_matrix_has_borders_and_names_where_groups_change():
    ax = plot.distance_matrix(DISTANCES, list("aabbc"))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_yticks().tolist() == [0.5, 2.5, 4]
    assert sorted({line.get_ydata()[0] for line in ax.lines}) == [0, 1.5, 3.5]  # 0: where the vertical ones begin
    np.testing.assert_array_equal(ax.images[0].get_array(), DISTANCES)
    named = plot.distance_matrix(DISTANCES, list("aabbc"), names=range(5))
    assert [label.get_text() for label in named.get_yticklabels()] == list("01234")
    assert [label.get_text() for label in named.get_xticklabels()] == list("abc")


def test_spaces_of_one_group_are_adjacent():
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


def test_the_map_distinguishes_more_groups_than_colours():
    count = 25
    ax = plot.distance_map(1 - np.eye(count), range(count), names=range(count))
    looks = {(group.get_facecolor().tobytes(), group.get_paths()[0].vertices.tobytes()) for group in ax.collections}
    assert len(looks) == count
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [str(i) for i in range(count)]
    assert [text.get_text() for text in ax.texts] == [str(i) for i in range(count)]
