"""Pictures of large maps: curves of errors, and which categories go together."""

import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot import plot
from tests.strategies import examples

pytest.importorskip("matplotlib")

LINE = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))


def drawn(ax):
    """Draw for real, so that what only drawing finds is found."""
    ax.figure.savefig(io.BytesIO(), format="png")
    return ax


@examples(12)
@given(st.lists(st.integers(-1, 8), min_size=1, max_size=12), st.integers(0, 1000))
def test_the_curve_is_the_share_of_points_whose_error_is_at_most_that(matches, seed):
    truth = np.random.default_rng(seed).integers(0, 9, len(matches))
    scores = ao.alignment_scores(np.array(matches), truth, LINE)
    ax = plot.error_curve(scores, unit="cost")
    [line] = ax.lines
    places, heights = line.get_xdata(), line.get_ydata()
    for x in (0, 0.5, 1, 2.9, 3, 8):
        if x <= places[-1]:
            assert heights[np.searchsorted(places, x, "right") - 1] == pytest.approx(np.mean(scores.errors <= x))
    assert heights[-1] == 1
    assert line.get_label() == f"mean {scores.error:.3g}"


def test_curves_are_told_in_roots_of_area_where_all_maps_have_one():
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(1)
    mesh = ao.MeshDistances((np.asarray(ball.vertices), np.asarray(ball.faces)), "edge")
    on_mesh = ao.alignment_scores(np.roll(np.arange(42), 1), np.arange(42), mesh, symmetry=np.roll(np.arange(42), 1))
    on_line = ao.alignment_scores([0, 3], [0, 1], LINE)
    ax = plot.error_curve({"ours": on_mesh})
    assert ax.get_xlabel() == "geodesic error x 100 / root of area"
    assert ax.lines[0].get_label() == f"ours: mean {100 * on_mesh.error_in_roots_of_area:.3g}"
    assert plot.error_curve({"a": on_mesh, "b": on_line}).get_xlabel() == "error x 100 / diameter"
    mirrored = drawn(plot.error_curve(on_mesh, up_to_symmetry=True))
    assert mirrored.lines[0].get_label() == "mean 0"
    assert mirrored.get_xlabel().endswith("up to symmetry")


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ({"a": ao.alignment_scores([0], [0])}, {}, "the scores of 'a' have no errors; give .* truth and cost"),
        (ao.alignment_scores([0], [0], LINE), {"up_to_symmetry": True}, "scores have no errors; .* and symmetry"),
        (ao.alignment_scores([0], [0], LINE), {"unit": "root area"}, "scores have no root area: .* given a mesh"),
        (ao.alignment_scores([0], [0], LINE), {"unit": "mm"}, "unit must be one of"),
        ({}, {}, "scores is empty"),
    ],
)
def test_scores_without_errors_are_one_clear_line(scores, options, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        plot.error_curve(scores, **options)
    assert "\n" not in str(caught.value)


def names_on(ax):
    return [[label.get_text() for label in ticks()] for ticks in (ax.get_yticklabels, ax.get_xticklabels)]


@examples(8)
@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 1000), st.booleans())
def test_every_cell_counts_the_points_of_its_two_categories(n, m, seed, common):
    rng = np.random.default_rng(seed)
    matches = rng.integers(-1, m, n)
    first = [f"c{k}" for k in rng.integers(0, 5, n)]
    second = [f"{'c' if common else 'd'}{k}" for k in rng.integers(0, 4, m)]
    ax = plot.matching(matches, (first, second), counts=True)
    rows, columns = names_on(ax)
    assert sorted(rows) == sorted(set(first))
    assert sorted(columns) == sorted(set(second))
    wanted = [
        [sum(first[i] == a and j >= 0 and second[j] == b for i, j in enumerate(matches)) for b in columns] for a in rows
    ]
    np.testing.assert_array_equal(ax.images[0].get_array(), wanted)
    shares = plot.matching(matches, (first, second)).images[0].get_array()
    np.testing.assert_allclose(shares, np.array(wanted) / [[first.count(a)] for a in rows])
    order = rng.permutation(n)
    again = plot.matching(matches[order], ([first[k] for k in order], second), counts=True)
    assert names_on(again) == [rows, columns]


def test_categories_that_are_confused_stand_side_by_side_and_hits_on_the_diagonal():
    kinds = [f"kind {k}" for k in (7, 2, 9, 4, 0, 5)]
    labels = [kind for kind in kinds for _ in range(10)]
    matches = np.arange(60)
    for a, b in ((0, 3), (1, 5), (2, 4)):  # a third of each goes to its twin
        matches[10 * a : 10 * a + 3], matches[10 * b : 10 * b + 3] = 10 * b + np.arange(3), 10 * a + np.arange(3)
    ax = plot.matching(matches, (labels, labels))
    rows, columns = names_on(ax)
    assert rows == columns
    np.testing.assert_allclose(np.diag(ax.images[0].get_array()), 0.7)
    for a, b in ((0, 3), (1, 5), (2, 4)):
        assert abs(rows.index(kinds[a]) - rows.index(kinds[b])) == 1


def test_columns_of_other_categories_stand_at_the_rows_that_they_match():
    ax = plot.matching(np.arange(6), (list("abcabc"), [{"a": "Z", "b": "Y", "c": "X"}[k] for k in "abcabc"]))
    np.testing.assert_array_equal(ax.images[0].get_array(), np.eye(3))


def test_forty_categories_of_many_objects_can_be_read():
    rng = np.random.default_rng(0)
    labels = [f"category {k}" for k in rng.integers(0, 45, 1854)]
    ax = drawn(plot.matching(rng.permutation(1854), (labels, labels)))
    for ticks, low, high in ((ax.get_yticklabels(), "y0", "y1"), (ax.get_xticklabels(), "x0", "x1")):
        boxes = [label.get_window_extent() for label in ticks]
        assert len(boxes) == 45
        spans = sorted((getattr(box, low), getattr(box, high)) for box in boxes)
        assert all(a[1] <= b[0] + 1.5 for a, b in pairwise(spans))


def test_points_without_labels_are_drawn_by_their_numbers_and_in_blocks():
    few = plot.matching([2, -1, 0]).images[0].get_array()
    assert few.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    ax = drawn(plot.matching(np.arange(1854)))
    blocks = ax.images[0].get_array()
    assert blocks.shape == (400, 400)
    assert blocks.sum() == np.trace(blocks) == 1854
    wide = ao.align(np.random.default_rng(0).normal(size=(30, 2)), np.zeros((50, 2)), n_landmarks=5)
    assert plot.matching(wide).images[0].get_array().shape == (30, 50)


@pytest.mark.parametrize(
    ("found", "labels", "message"),
    [
        (
            [0.5, 1.0],
            None,
            "got an array of shape .2,. and dtype float64, but an alignment or the match of every point",
        ),
        ([0, -2], None, "-1 for none"),
        ([0, 5], (["a", "b"], ["a"]), "there are 1 labels of the second space, but a point is matched with 5"),
        ([0, 5], ["a", "b", "c"], "labels must be a pair"),
        ([0, 5], (["a"], ["a"]), "there are 1 labels of the first space, but 2 points"),
    ],
)
def test_what_is_no_matching_is_one_clear_line(found, labels, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        plot.matching(found, labels)
    assert "\n" not in str(caught.value)
