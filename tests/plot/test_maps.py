"""Plots of large maps: error curves, and matched categories."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from tests.plot.fresh import drawn, plot
from tests.strategies import examples

LINE = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))


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


def test_error_curves_use_roots_of_area_where_all_maps_have_one():
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(1)
    mesh = ao.distances.MeshDistances((np.asarray(ball.vertices), np.asarray(ball.faces)), "edge")
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
        ({"a": ao.alignment_scores([0], [0])}, {}, "the scores of 'a' have no errors; pass truth and cost"),
        (ao.alignment_scores([0], [0], LINE), {"up_to_symmetry": True}, "scores have no errors; .* and symmetry"),
        (ao.alignment_scores([0], [0], LINE), {"unit": "root area"}, "scores have no root area; pass a mesh"),
        (ao.alignment_scores([0], [0], LINE), {"unit": "mm"}, "unit must be one of"),
        ({}, {}, "scores is empty"),
        (None, {}, "scores must be those of alignment_scores, or a mapping of names to them, but got None"),
        ([3], {}, "scores must be those of alignment_scores, .*but got \\[3\\]"),
        ({"a": 3}, {}, "scores must be those of alignment_scores, .*but got {'a': 3}"),
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


def test_categories_that_nobody_confuses_stay_in_their_own_order():
    labels = [k % 10 for k in range(60)]
    assert names_on(plot.matching(np.arange(60), (labels, labels))) == [[str(k) for k in range(10)]] * 2


def test_columns_of_other_categories_stand_at_the_rows_that_they_match():
    ax = plot.matching(np.arange(6), (list("abcabc"), [{"a": "Z", "b": "Y", "c": "X"}[k] for k in "abcabc"]))
    np.testing.assert_array_equal(ax.images[0].get_array(), np.eye(3))


@pytest.mark.system
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
        ([-1, -1], (["a", "b"], []), "there are no labels of the second space"),
        (np.array([0, 2**63], np.uint64), None, "a match of 9223372036854775808"),
    ],
)
def test_what_is_no_matching_is_one_clear_line(found, labels, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        plot.matching(found, labels)
    assert "\n" not in str(caught.value)


# -- two embeddings in one plane -----------------------------------------------------------------------------------

POINTS = np.random.default_rng(0).normal(size=(50, 4)) * (4, 3, 1, 0.5)
TURN = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
ORDER = np.random.default_rng(2).permutation(50)
OTHER = 7 * (POINTS @ TURN)[ORDER] + 3
FOUND = ao.align_embeddings(POINTS, OTHER, metric="euclidean", rng=0)


def dots(ax):
    """Places of the second side's rings and of the first side's dots."""
    return [np.asarray(one.get_offsets()) for one in ax.collections if hasattr(one, "get_sizes")][:2]


def test_after_the_map_a_turned_copy_lies_where_the_second_side_is():
    rings, own = dots(drawn(plot.embedding_pair(FOUND, POINTS, OTHER)))
    np.testing.assert_allclose(rings, own[ORDER], atol=1e-6)
    spread = np.linalg.svd(OTHER - OTHER.mean(axis=0), compute_uv=False)[:2]
    np.testing.assert_allclose(np.linalg.norm(rings - rings.mean(axis=0), axis=0), spread, rtol=1e-6)


def test_the_plane_is_the_same_however_the_first_side_is_turned_and_moved():
    moved = POINTS @ TURN.T - 5
    again = ao.align_embeddings(moved, OTHER, metric="euclidean", rng=0)
    pictures = plot.embedding_pair(FOUND, POINTS, OTHER), plot.embedding_pair(again, moved, OTHER)
    for one, other in zip(*map(dots, pictures), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_of_many_categories_the_ten_largest_have_colours():
    labels = [f"c{k}" for k in np.repeat(np.arange(14), [9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1])]
    others = [labels[k] for k in ORDER]
    ax = drawn(plot.embedding_pair(FOUND, POINTS, OTHER, (labels, others)))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[:5] == ["first", "second", "c0", "c1", "c2"]
    assert names[-1] == "others"
    assert len(names) == 13
    rings = next(one for one in ax.collections if hasattr(one, "get_sizes"))
    colours = {name: tuple(rings.get_edgecolors()[i]) for i, name in enumerate(others)}
    assert len(set(colours.values())) == 11


def test_lines_join_matches_and_can_be_left_out():
    from matplotlib.collections import LineCollection

    [lines] = [one for one in plot.embedding_pair(FOUND, POINTS, OTHER).collections if isinstance(one, LineCollection)]
    assert len(lines.get_segments()) == 50
    bare = plot.embedding_pair(FOUND, POINTS, OTHER, lines=False)
    assert not any(isinstance(one, LineCollection) for one in bare.collections)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_vectors_of_one_dimension_and_of_length_one_are_drawn(metric):
    line = np.concatenate([np.arange(1.0, 30), -(np.arange(1.0, 12) ** 1.5)])[:, None]
    found = ao.align_embeddings(line, line[::-1] * 3, metric=metric, rng=0)
    assert all(np.isfinite(side).all() for side in dots(drawn(plot.embedding_pair(found, line, line[::-1] * 3))))


def test_other_points_than_were_aligned_are_refused_in_one_line():
    with pytest.raises(ao.InputError, match="X and Y have 49 and 50 rows, but 50 and 50 points were aligned"):
        plot.embedding_pair(FOUND, POINTS[:-1], OTHER)
    with pytest.raises(ao.InputError, match=r"expected the result of align_embeddings, but got a list"):
        plot.embedding_pair([1, 0], POINTS, OTHER)


def test_names_of_categories_are_no_formulas():
    names = ["$5 to $10", "$x^$", "plain"]
    shown = {name.replace("$", r"\$") for name in names}
    assert list(map(set, names_on(drawn(plot.matching([0, 1, 2], (names, names)))))) == [shown, shown]
    few = POINTS[:3]
    pair = plot.embedding_pair(ao.align_embeddings(few, few, rng=0), few, few, (names, names))
    assert shown <= {text.get_text() for text in drawn(pair).get_legend().get_texts()}
