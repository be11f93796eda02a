"""What all alignments share: matches that carry numbers and labels over, are scored, written and read back."""

import os
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.align.plans import sparse_plan
from tests import reference
from tests.strategies import examples

POINTS = np.random.default_rng(0).normal(size=(60, 3)) * (1, 1.5, 2)
ORDER = np.random.default_rng(1).permutation(60)  # point i of the second is point ORDER[i] of the first
TRUTH = np.argsort(ORDER)
KINDS = {
    "alignment": lambda: ao.align(ao.from_points(POINTS), ao.from_points(POINTS[ORDER])),
    "dense": lambda: ao.align(POINTS, POINTS[ORDER], n_landmarks=20),
    "embedding": lambda: ao.align_embeddings(POINTS, POINTS[ORDER], metric="euclidean", rng=0),
    "mesh": lambda: mesh_alignment(TRUTH),
}
_made = {}


def mesh_alignment(matches):
    """What `align_meshes` returns, with given matches."""
    only = ao.Candidate("landmarks", 0.05, 1.0, matches, details={"orientation": 0.9, "distortion": 0.01})
    return ao.MeshAlignment(matches, np.where(matches >= 0, 0.9, 0.0), 0.95, 0.05, (only,), None, 60)


@pytest.fixture(params=KINDS)
def found(request):
    """An alignment of every kind, of a cloud and its shuffled copy."""
    if request.param not in _made:
        _made[request.param] = KINDS[request.param]()
    return _made[request.param]


def partial_alignment():
    """Twelve points, of which the last three are not matched."""
    pytest.importorskip("ot")
    return ao.align(ao.from_points(POINTS[:12]), ao.from_points(POINTS[:9]), mass=1.0)


# -- what all kinds share ------------------------------------------------------------------------------------------


def test_every_alignment_has_the_fields_of_a_correspondence(found):
    assert isinstance(found, ao.Correspondence)
    assert found.shape == (60, 60)
    np.testing.assert_array_equal(found.matches, TRUTH)
    np.testing.assert_array_equal(ao.match(found), TRUTH)
    tolerance = 0.06 if isinstance(found, ao.MeshAlignment) else 1e-12  # of its chance to be the wrong way round
    assert found.candidates[0].objective == pytest.approx(0, abs=tolerance)
    assert found.converged
    assert found.runner_up is None or found.runner_up.differs > 0
    assert found.candidates[0].objective == found.objective
    assert (found.candidates[0].matches == found.matches).all()
    assert found.candidates[0].differs == 0
    assert found.facts(full=True).items() >= found.facts().items()
    assert "60 and 60, all matched" in repr(found)
    assert found.hits(TRUTH) == 1
    assert found.soft().shape == (60, 60)
    np.testing.assert_array_equal(found.backward()[TRUTH], np.arange(60))
    assert "<table>" in found._repr_html_()


def test_matches_are_written_one_to_a_line_and_read_back(found, tmp_path):
    found.write(tmp_path / "map.txt")
    assert (tmp_path / "map.txt").read_text() == "".join(f"{match}\n" for match in TRUTH)
    np.testing.assert_array_equal(ao.read_matches(tmp_path / "map.txt"), TRUTH)
    assert ao.alignment_scores(ao.read_matches(tmp_path / "map.txt"), TRUTH).hits == 1
    partial = partial_alignment()
    partial.write(tmp_path / "map.txt")
    assert ao.read_matches(tmp_path / "map.txt").tolist() == [*range(9), -1, -1, -1]
    with pytest.raises(ao.InputError, match=r"map.csv: matches are written as .txt, one to a line"):
        found.write(tmp_path / "map.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["map.txt"]


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        ("1\n2.5\n", 2, "2.5"),
        ("1\n\n2\n", 2, ""),
        ("-2\n", 1, "-2"),
        ("1_0", 1, "1_0"),
        ("a b", 1, "a b"),
        ("٣", 1, "٣"),
    ],
)
def test_a_file_that_holds_no_matches_is_one_clear_line(tmp_path, text, line, shown):
    (tmp_path / "map.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ao.InputError) as caught:
        ao.read_matches(tmp_path / "map.txt")
    assert str(caught.value).startswith(f"map.txt: line {line} is {shown!r}, but the number of a match is needed")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="there are no devices")
@pytest.mark.parametrize("make", [os.mkdir, lambda path: path.symlink_to(os.devnull)], ids=["folder", "device"])
def test_matches_are_read_from_regular_files_only(tmp_path, make):
    make(tmp_path / "map.txt")
    with pytest.raises(ao.InputError, match=r"^map.txt: this is a .*, but a (regular )?file is needed$"):
        ao.read_matches(tmp_path / "map.txt")


def test_an_alignment_is_no_space_and_the_error_says_what_to_do(found, tmp_path):
    for wrong in (lambda: ao.write(found, tmp_path / "map.npz"), lambda: ao.anchor_energy(found, found)):
        with pytest.raises(ao.InputError, match=r"but a Space .* is needed; .* found.write\(\"map.txt\"\) writes"):
            wrong()


# -- numbers and labels --------------------------------------------------------------------------------------------


def test_numbers_are_carried_over_and_back(found):
    np.testing.assert_allclose(found.project(POINTS[ORDER], soft=False), POINTS, rtol=1e-12)
    np.testing.assert_allclose(found.project(POINTS, onto="second", soft=False), POINTS[ORDER], rtol=1e-12)
    np.testing.assert_allclose(found.project(np.full(60, 1e300)), 1e300, rtol=1e-9)


@pytest.mark.parametrize("labels", [list("abc"), [3, 1, 2], [None, "b", 3], [1.5, 2.5, 0.5], [("a", 1), ("b", 2), ()]])
def test_labels_of_any_kind_are_carried_over_and_back(found, labels):
    names = [labels[k % 3] for k in range(60)]
    for onto, given_names, expected in (
        ("first", [names[k] for k in ORDER], names),
        ("second", names, [names[k] for k in ORDER]),
    ):
        carried, share = found.transfer(given_names, onto=onto, soft=False)
        assert carried.tolist() == expected
        np.testing.assert_allclose(share, 1, atol=0.01)


def test_labels_keep_their_kind(found):
    for labels in (np.array(["cat", "dog"] * 30), np.arange(60), np.array([True, False] * 30)):
        assert found.transfer(labels)[0].dtype == labels.dtype
    pandas = pytest.importorskip("pandas")
    kinds = pandas.Categorical(["B", "T", "B"] * 20)
    assert found.transfer(kinds, soft=False)[0].tolist() == np.asarray(kinds)[TRUTH].tolist()
    assert found.transfer(iter(kinds), soft=False)[0].tolist() == np.asarray(kinds)[TRUTH].tolist()


def test_the_label_of_most_mass_wins_and_its_share_is_told():
    plan = np.array([[0.2, 0.1, 0.05], [0.0, 0.3, 0.35], [0.0, 0.0, 0.0]])
    found = _aligned(plan)
    labels, share = found.transfer(["cat", "dog", "cat"])
    assert labels.tolist() == ["cat", "cat", None]
    np.testing.assert_allclose(share, [0.25 / 0.35, 0.35 / 0.65, 0])
    back, share_back = found.transfer([1, 2, 3], onto="second")
    assert back.tolist() == [1, 2, 2]
    np.testing.assert_allclose(share_back, [1, 0.75, 0.875])


def test_equal_votes_do_not_depend_on_how_points_are_numbered():
    found, turned = _aligned(np.full((1, 4), 0.25)), _aligned(np.full((1, 4), 0.25))
    assert found.transfer(["b", "a", "a", "b"])[0] == turned.transfer(["a", "b", "b", "a"])[0] == ["a"]


def _aligned(plan, soft=None):
    weights = plan.sum(axis=1), plan.sum(axis=0)
    softened = SimpleNamespace(soften=lambda plan: plan if soft is None else soft)
    return ao.Alignment(plan, 0.0, 0.0, (), None, True, 0.0, weights, None, softened)


def test_points_without_a_match_get_no_number_and_no_label():
    found = partial_alignment()
    assert np.isnan(found.project(np.arange(9.0))[9:]).all()
    labels, share = found.transfer(list("abcdefghi"), soft=False)
    assert labels.tolist() == [*"abcdefghi", None, None, None]
    assert share.tolist() == [1.0] * 9 + [0.0] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found.project(["a"] * 60), r"values are not all real numbers, .*; transfer\(labels\) carries"),
        (lambda found: found.project(np.ones(59)), r"values has shape \(59,\), but one row for each of 60 points"),
        (lambda found: found.project(np.full(60, np.nan)), "values must be finite"),
        (lambda found: found.project(np.ones(60), onto="third"), "onto must be one of 'first', 'second'"),
        (lambda found: found.transfer(["a"] * 59), "labels has 59 entries, but there are 60 points"),
        (lambda found: found.transfer([["a"]] * 60), "labels must be hashable"),
        (lambda found: found.transfer("a" * 60), "labels must be one label for each of 60 points"),
        (lambda found: found.transfer(3), "labels must be one per point and in order, such as a list, but got 3"),
    ],
)
def test_what_cannot_be_carried_over_is_one_clear_line(found, call, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        call(found)
    assert "\n" not in str(caught.value)


# -- scores --------------------------------------------------------------------------------------------------------


def test_every_alignment_is_scored(found):
    y = ao.from_points(POINTS[ORDER])
    labels = [k % 4 for k in range(60)]
    for cost in (y, y.cost, POINTS[ORDER], ao.distances.PointDistances(POINTS[ORDER])):
        scores = ao.alignment_scores(found, TRUTH, cost, (labels, [labels[k] for k in ORDER]), soft=False)
        assert (scores.hits, scores.error, scores.label_transfer, scores.n_matched) == (1, 0, 1, 60)
        assert scores.diameter == pytest.approx(y.cost.max(), rel=0.2)


def test_errors_row_by_row_are_those_of_the_matrix():
    """Of matches that are wrong, missing, and mirrored."""
    rng = np.random.default_rng(3)
    matches, mirror = rng.integers(-1, 60, 40), rng.permutation(60)
    truth = rng.permutation(60)[:40]
    cost = ao.from_points(POINTS).cost
    matrix, rows = (ao.alignment_scores(matches, truth, of, symmetry=mirror) for of in (cost, POINTS))
    assert rows.hits == matrix.hits
    assert rows.is_mirrored == matrix.is_mirrored
    assert rows.error == pytest.approx(matrix.error, rel=0.02)  # the mean cost is that of the rows at hand
    all_matched = np.abs(matches)
    matrix, rows = (ao.alignment_scores(all_matched, truth, of, symmetry=mirror) for of in (cost, POINTS))
    assert rows.error == pytest.approx(matrix.error, rel=1e-12)
    assert rows.error_up_to_symmetry == pytest.approx(matrix.error_up_to_symmetry, rel=1e-12)


def test_the_error_of_a_dense_map_of_meshes_is_geodesic():
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2)
    mesh = np.asarray(ball.vertices), np.asarray(ball.faces)
    antipode = np.array([np.argmin(np.linalg.norm(mesh[0] + vertex, axis=1)) for vertex in mesh[0]])
    scores = ao.alignment_scores(antipode, np.arange(162), mesh)
    assert scores.error == pytest.approx(np.pi, rel=0.05)
    assert scores.error / scores.diameter == pytest.approx(1, rel=0.05)


def bumpy_ball(scale=1.0):
    """A ball of 162 vertices without a symmetry, its diameter about 4.4 and its area known from its faces."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2)
    vertices = np.asarray(ball.vertices) * (1 + 0.3 * np.asarray(ball.vertices) @ (0.5, 0.3, 0.8))[:, None]
    return scale * vertices, np.asarray(ball.faces)


@examples(20)
@given(st.integers(0, 10_000))
def test_errors_are_those_of_the_loop_over_all_points_in_every_unit(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = bumpy_ball(rng.choice([0.01, 1, 300]))
    source = ao.distances.MeshDistances((vertices, faces), "edge")
    cost = np.array([source.row(vertex) for vertex in range(162)])
    n = int(rng.integers(1, 12))
    matches, truth, mirror = rng.integers(-1, 162, n), rng.integers(-1, 162, n), rng.permutation(162)
    truth[0], matches[truth < 0] = max(truth[0], 0), 0
    scores = ao.alignment_scores(matches, truth, source, symmetry=mirror)
    goals = truth, np.where(truth < 0, -1, mirror[truth])
    wanted, mirrored = (np.array(reference.match_errors(cost, matches, goal)) for goal in goals)
    known = (matches >= 0) & (truth >= 0)
    np.testing.assert_allclose(scores.errors[known], wanted[known], rtol=1e-12)
    assert np.isnan(scores.errors[truth < 0]).all()
    assert np.isfinite(scores.errors[truth >= 0]).all()
    root_area = reference.area(vertices, faces) ** 0.5
    assert scores.root_area == pytest.approx(root_area, rel=1e-12)
    assert scores.error == pytest.approx(np.nanmean(scores.errors))
    assert scores.error_in_roots_of_area == pytest.approx(scores.error / root_area)
    assert scores.error_in_diameters == pytest.approx(scores.error / scores.diameter)
    if known.sum() == (truth >= 0).sum():
        assert scores.error_up_to_symmetry == pytest.approx(min(np.nanmean(wanted), np.nanmean(mirrored)), abs=1e-12)
        better = mirrored if scores.is_mirrored else wanted
        np.testing.assert_allclose(scores.errors_up_to_symmetry, better, rtol=1e-12)
    ratio = scores.error_up_to_symmetry / root_area
    assert scores.error_in_roots_of_area_up_to_symmetry == pytest.approx(ratio)
    assert scores.error_in_diameters_up_to_symmetry == pytest.approx(scores.error_up_to_symmetry / scores.diameter)


def test_the_area_is_known_of_meshes_alone_and_a_point_has_no_diameter():
    matrix = ao.alignment_scores([1, 0], [0, 1], [[0, 2], [2, 0]])
    assert (matrix.root_area, matrix.error_in_roots_of_area, matrix.error_in_diameters) == (None, None, 1)
    assert matrix.errors.tolist() == [2, 2]
    assert ao.alignment_scores([0], [0], [[0.0]]).error_in_diameters == 0
    assert ao.alignment_scores([0], [0]).error_in_diameters is None


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_root_of_the_area_has_a_size_whatever_the_unit(scale):
    scores = ao.alignment_scores([1], [0], ao.distances.MeshDistances(bumpy_ball(scale), "edge"))
    plain = ao.alignment_scores([1], [0], ao.distances.MeshDistances(bumpy_ball(), "edge"))
    assert scores.error_in_roots_of_area == pytest.approx(plain.error_in_roots_of_area)


def test_images_are_needed_of_true_matches_alone():
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    scores = ao.alignment_scores([3, 2], [0, 1], cost, symmetry=[3, 2, -1, -1])
    assert (scores.error_up_to_symmetry, scores.is_mirrored) == (0, True)
    with pytest.raises(ao.InputError, match="symmetry has no image of the point 2, which is a true match"):
        ao.alignment_scores([3, 2], [0, 2], cost, symmetry=[3, 2, -1, -1])


@examples(50)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 10_000))
def test_label_hits_are_of_matches_and_label_transfer_is_of_mass(n, m, seed):
    rng = np.random.default_rng(seed)
    plan = rng.integers(0, 3, (n, m)) * rng.random((n, m)).round(1)
    kinds = [None, "b", 3]
    first, second = ([kinds[k] for k in rng.integers(0, 3, size)] for size in (n, m))
    found = _aligned(plan)
    scores = ao.alignment_scores(found, labels=(first, second))
    matched = [j >= 0 and first[i] == second[j] for i, j in enumerate(found.matches)]
    assert scores.label_hits == pytest.approx(np.mean(matched))
    assert ao.alignment_scores(found.matches, labels=(first, second)).label_hits == scores.label_hits
    assert ao.alignment_scores(found.matches, labels=(first, second)).label_transfer == scores.label_hits
    votes = [[sum(plan[i, j] for j in range(m) if second[j] == kind) for kind in kinds] for i in range(n)]
    is_clear = [sorted(vote)[-1] > sorted(vote)[-2] + 1e-9 or max(vote) == 0 for vote in votes]
    if all(is_clear):
        won = [max(vote) > 0 and first[i] == kinds[int(np.argmax(vote))] for i, vote in enumerate(votes)]
        assert scores.label_transfer == pytest.approx(np.mean(won))


@examples(50)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10_000))
def test_hits_are_top_one_and_more_candidates_never_hit_less(n, m, seed):
    rng = np.random.default_rng(seed)
    plan, soft = (rng.integers(0, 3, (n, m)) * rng.random((n, m)).round(1) for _ in range(2))
    found = _aligned(plan, soft)
    truth = rng.integers(0, m, n)
    scores = [ao.alignment_scores(found, truth, k=k) for k in range(1, m + 2)]
    assert scores[0].hits == scores[0].top_k
    assert all(less.top_k <= more.top_k for less, more in pairwise(scores))
    heavy = (soft[np.arange(n), truth] > 0) | (found.matches == truth)
    assert scores[-1].top_k == pytest.approx(heavy.mean())
    by_plan = ao.alignment_scores(plan + 0.01, truth, k=1)
    assert by_plan.hits == by_plan.top_k


class Listed(ao.Correspondence):
    """Matches, and other candidates of every point in order."""

    is_map = False
    shape = None

    def __init__(self, matches, listed, m):
        self.matches, self.listed, self.shape = matches, listed, (len(matches), m)

    def top_k(self, k):
        return self.listed[:, :k]

    def masses(self, soft=True):
        return sparse_plan(self.matches, self.shape[1])

    def _own_facts(self, full):
        return {}


@examples(50)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(1, 7), st.integers(0, 10_000))
def test_candidates_are_the_match_and_then_those_that_an_alignment_names(n, m, k, seed):
    rng = np.random.default_rng(seed)
    named = np.full((n, 8), -1)
    for row in named:
        count = rng.integers(0, m + 1)
        row[:count] = rng.permutation(m)[:count]
    matches, truth = rng.integers(-1, m, n), rng.integers(-1, m, n)
    truth[0] = max(truth[0], 0)
    found = Listed(matches, named, m)
    right = []
    for i in range(n):
        listed = [matches[i], *(j for j in named[i] if j != matches[i])]
        right.append(truth[i] in [j for j in listed if j >= 0][:k])
    scores = ao.alignment_scores(found, truth, k=k)
    assert scores.top_k == pytest.approx(np.mean(np.array(right)[truth >= 0]))
    assert ao.alignment_scores(found, truth, k=1).hits <= scores.top_k
    assert ao.alignment_scores(found, truth, k=k, soft=False).top_k is None


def test_the_soft_plan_of_an_embedding_gives_its_candidates_and_where_points_go():
    found = KINDS["embedding"]()
    cost = ao.from_points(POINTS[ORDER]).cost
    scores = ao.alignment_scores(found, TRUTH, cost, (TRUTH, np.arange(60)), k=3)
    assert (scores.hits, scores.top_k, scores.label_hits, scores.label_transfer) == (1, 1, 1, 1)
    assert scores.foscttm == ao.alignment_scores(found.soft(), TRUTH, cost).foscttm < 0.02


def test_vertices_without_a_match_carry_nothing_and_are_written_as_such(tmp_path):
    matches = TRUTH.copy()
    matches[[3, 7]] = -1
    found = mesh_alignment(matches)
    found.write(tmp_path / "map.txt")
    np.testing.assert_array_equal(ao.read_matches(tmp_path / "map.txt"), matches)
    colours = found.project(POINTS[ORDER])
    assert np.isnan(colours[[3, 7]]).all()
    np.testing.assert_array_equal(np.delete(colours, [3, 7], 0), np.delete(POINTS, [3, 7], 0))
    parts, share = found.transfer(ORDER)
    assert parts.tolist() == [None if k in (3, 7) else k for k in range(60)]
    assert share.tolist() == [float(k not in (3, 7)) for k in range(60)]
    onto, _ = found.transfer(np.arange(60), onto="second")
    assert onto.tolist() == [None if k in (3, 7) else k for k in ORDER]


def test_matches_alone_transfer_labels_too():
    scores = ao.alignment_scores([1, 0, -1], labels=(["a", "b", "a"], ["b", "a"]))
    assert scores.label_transfer == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([5, 1, 2], [0, 1, 2], np.ones((3, 3))), "the alignment has entries from 1 to 5, but they go from -1 to 2"),
        (([-5, 1, 2], [0, 1, 2]), "the alignment has entries from -5 to 2, but they go from -1"),
        (([0, 1, 2], [0, 1, 7], np.ones((3, 3))), "truth has entries from 0 to 7, but they go from -1 to 2"),
        (([0, 1, 2], [0, 1, 2], np.full((3, 3), np.nan)), "cost must be finite"),
        ((np.eye(3), [0, 1, 2], np.ones((4, 4))), "cost is of 4 points, but the alignment's second space has 3"),
        (([0, 1], None, None, ["a", "b", "c"]), "labels must be a pair"),
        (([0, 1], None, None, (["a"], ["b", "c"])), "there are 1 labels of the first space, but 2 points"),
        (([0, 1], None, None, ([["a"], ["b"]], [["b"], ["c"]])), "labels must be hashable"),
        (
            ([1, 2], None, None, (["a", "b"], ["b"])),
            "there are 1 labels of the second space, but a point .* with 2",
        ),
        ((np.array([0, 2**63], np.uint64), [0, 1]), "the alignment has entries from 0 to 9223372036854775808"),
    ],
)
def test_what_cannot_be_scored_is_one_clear_line(arguments, message):
    with pytest.raises(ao.InputError, match=message):
        ao.alignment_scores(*arguments)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_a_rotation_is_found_whatever_the_scale(scale):
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    moved = (POINTS @ rotation)[ORDER]
    found = KINDS["alignment"]().transform(POINTS * scale, moved * scale)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-9)


# -- every kind of array -------------------------------------------------------------------------------------------

ARGUMENTS = {  # what an alignment of `POINTS` takes that is an array
    "values": (POINTS, lambda found, given: found.project(given)),
    "labels": (np.arange(60) % 7, lambda found, given: found.transfer(given)[0]),
    "matches": (TRUTH, lambda _, given: ao.alignment_scores(given, TRUTH).hits),
    "truth": (TRUTH, lambda found, given: ao.alignment_scores(found, given).hits),
    "symmetry": (TRUTH, lambda found, given: ao.alignment_scores(found, TRUTH, symmetry=given).hits_up_to_symmetry),
    "own labels": (
        TRUTH,
        lambda found, given: ao.alignment_scores(found, labels=(given, np.arange(60))).label_transfer,
    ),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_tensors_are_taken_for_the_arrays_that_they_hold(found, argument):
    torch = pytest.importorskip("torch")
    array, ask = ARGUMENTS[argument]
    for values in (torch.tensor(array), list(torch.tensor(array))):
        np.testing.assert_array_equal(ask(found, values), ask(found, array))


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_gradients_and_masked_entries_are_refused_in_one_line(found, argument):
    torch = pytest.importorskip("torch")
    array, ask = ARGUMENTS[argument]
    hidden = np.ma.masked_array(array, np.arange(array.size).reshape(array.shape) == 3)
    for values, said in ((hidden, "masked"), (torch.tensor(array.astype(float)).requires_grad_(), "gradient")):
        with pytest.raises(ao.InputError, match=rf"^[^\n]*{said}[^\n]*$"):
            ask(found, values)


def test_errors_near_the_largest_float_are_numbers():
    cost = 0.8e308 * np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    scores = ao.alignment_scores([2, -1, 0, 2], [0, 1, 2, 0], cost)
    assert scores.error == pytest.approx(0.8e308 * ((2 + 8 / 9 + 2 + 2) / 4))
