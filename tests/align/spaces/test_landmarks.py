"""Dense alignments: landmarks are aligned, and all other points by their distances to them."""

import numpy as np
import pytest
import trimesh

import anchorot as ao
from anchorot.align.spaces.landmarks import nearest
from anchorot.distances.landmarks import farthest

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


def bumpy(level=3, seed=0):
    """A sphere with bumps of several sizes, so that it has no symmetry."""
    mesh = trimesh.creation.icosphere(level)
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(5, 3))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    height = np.exp(-8 * (1 - mesh.vertices @ centres.T)) @ rng.uniform(0.3, 1.2, 5)
    return np.asarray(mesh.vertices) * (1 + height)[:, None], np.asarray(mesh.faces)


def shuffled(mesh, seed):
    """The same mesh with other numbers, and the true match of each of its vertices."""
    vertices, faces = mesh
    order = np.random.default_rng(seed).permutation(len(vertices))
    truth = np.argsort(order)
    return (vertices[order], truth[faces]), truth


# -- what is chosen, and how points are matched --------------------------------------------------------------------


def test_chosen_vertices_have_the_costs_of_the_whole_and_their_numbers_as_labels():
    mesh = bumpy(2)
    whole = ao.from_mesh(mesh, geodesic="edge")
    part = ao.from_mesh(mesh, geodesic="edge", points=[7, 3, -1])
    assert part.labels == (7, 3, 161)
    np.testing.assert_array_equal(part.cost, whole.cost[np.ix_(part.labels, part.labels)])
    assert part.geometry.index.tolist() == [7, 3, 161]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": [0, 162]}, "points has entries from 0 to 162, but there are 162 points"),
        ({"points": [5, 0, 5]}, "points has the vertex 5 2 times, but once is needed"),
        ({"points": []}, "points is empty, but a space needs at least one point"),
        ({"points": [0.5]}, "points must be a list of integers"),
        ({"points": [0], "n_points": 3}, "got both points and n_points"),
    ],
)
def test_wrong_vertices_get_one_clear_line(options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.from_mesh(bumpy(2), geodesic="edge", **options)


@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
def test_vertices_of_another_component_cannot_be_chosen():
    vertices, faces = bumpy(1)
    island = np.concatenate([vertices, vertices[:3] + 9]), np.concatenate([faces, [[42, 43, 44]]])
    with pytest.raises(ao.InputError, match="the vertex 43, which is not in the largest component"):
        ao.from_mesh(island, geodesic="edge", points=[0, 43])


@pytest.mark.parametrize("geodesic", ["heat", "edge"])
def test_rows_are_those_of_the_matrix(geodesic):
    mesh = bumpy(2)
    rows = np.stack([ao.distances.MeshDistances(mesh, geodesic).row(i) for i in range(162)])
    np.testing.assert_allclose((rows + rows.T) / 2, ao.from_mesh(mesh, geodesic=geodesic).cost, atol=1e-12)


def test_landmarks_do_not_depend_on_numbers_and_each_is_the_farthest():
    mesh = bumpy(2)
    other, truth = shuffled(mesh, 1)
    first, second = (farthest(ao.distances.MeshDistances(m, "edge"), 20, 1.0) for m in (mesh, other))
    np.testing.assert_array_equal(truth[first.chosen], second.chosen)
    for k in range(1, 20):
        max_cost = first.rows[:k].min(axis=0)
        assert max_cost[first.chosen[k]] == max_cost.max()


def test_the_nearest_vector_is_that_of_all_distances():
    rng = np.random.default_rng(0)
    points, among = (rng.normal(size=(n, 6)).astype(np.float32) + 50 for n in (300, 200))
    expected = np.linalg.norm(points[:, None] - among, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest(points, among), expected)


# -- the whole -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_a_mesh_is_matched_with_its_shuffled_copy(seed):
    mesh = bumpy(seed=seed)
    other, truth = shuffled(mesh, seed)
    found = ao.align(ao.distances.MeshDistances(mesh), ao.distances.MeshDistances(other), n_landmarks=60)
    assert (found.matches == truth).mean() > 0.99
    assert found.objective < 1e-3
    assert found.alignment.plan.shape == (60, 60)
    np.testing.assert_array_equal(truth[found.landmarks[0]], found.landmarks[1][found.alignment.matches])
    np.testing.assert_array_equal(found.project(other[0]), other[0][found.matches])


def test_relabelling_points_permutes_the_answer():
    x, y = bumpy(seed=0), bumpy(seed=2)
    other, truth = shuffled(y, 3)
    found, moved = (
        ao.align(ao.distances.MeshDistances(x), ao.distances.MeshDistances(side), n_landmarks=50, rng=0)
        for side in (y, other)
    )
    assert (truth[found.matches] == moved.matches).mean() > 0.99
    assert moved.objective == pytest.approx(found.objective, rel=1e-3)


@pytest.mark.parametrize("kind", ["points", "space", "wrapped"])
def test_clouds_and_spaces_are_matched_with_their_shuffled_copies(kind):
    points = np.random.default_rng(5).normal(size=(700, 3)) * (1, 1.5, 2)
    order = np.random.default_rng(6).permutation(700)
    wrap = {
        "points": np.asarray,
        "space": ao.from_points,
        "wrapped": lambda p: ao.distances.PointDistances(p, "cityblock"),
    }[kind]
    found = ao.align(wrap(points), wrap(points[order]), n_landmarks=60)
    assert (order[found.matches] == np.arange(700)).mean() > 0.99


def test_with_as_many_landmarks_as_points_it_is_the_plain_alignment():
    rng = np.random.default_rng(7)
    x, y = (ao.from_points(rng.normal(size=(25, 3)), weights=rng.dirichlet(np.full(25, 3.0))) for _ in range(2))
    plain, found = ao.align(x, y, rng=0), ao.align(x, y, rng=0, n_landmarks=25)
    np.testing.assert_allclose(found.alignment.plan, plain.plan, rtol=1e-9, atol=1e-15)
    ends = [one.matches for one in (plain, plain.runner_up) if one is not None]
    assert any(np.array_equal(found.matches, matches) for matches in ends)
    assert found.rounds == 0


def test_landmarks_that_move_lower_the_discrepancy():
    mesh = bumpy(4)
    bent = mesh[0] + 0.1 * np.sin(2 * mesh[0][:, [1, 2, 0]]), mesh[1]
    other, truth = shuffled(bent, 8)
    found = ao.align(ao.distances.MeshDistances(mesh), ao.distances.MeshDistances(other), n_landmarks=60)
    first, second = (farthest(ao.distances.MeshDistances(side), 60, 1.0) for side in (mesh, other))
    rows = second.rows[found.alignment.matches]
    unmoved = nearest(first.rows.T, rows.T)
    before = np.sqrt(np.square(first.rows - rows[:, unmoved]).mean())
    assert found.rounds > 0
    assert found.objective < 0.95 * before
    apart = np.linalg.norm(other[0][found.matches] - other[0][truth], axis=1).mean()
    assert apart < 0.05 * np.ptp(other[0], axis=0).max()


@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
def test_points_that_take_no_part_have_no_match():
    vertices, faces = bumpy(2)
    island = np.concatenate([vertices[:3] + 9, vertices]), np.concatenate([[[0, 1, 2]], faces + 3])
    found = ao.align(ao.distances.MeshDistances(island), ao.distances.MeshDistances((vertices, faces)), n_landmarks=30)
    assert (found.matches[:3] == -1).all()
    assert (found.matches[3:] == np.arange(len(vertices))).mean() > 0.99
    assert np.isnan(found.project(np.ones(len(vertices)))[:3]).all()
    back = ao.align(ao.distances.MeshDistances((vertices, faces)), ao.distances.MeshDistances(island), n_landmarks=30)
    assert back.matches.min() >= 3


@pytest.mark.parametrize("scale", [1e-300, 1e150])
def test_very_small_and_very_large_distances_are_no_different(scale):
    points = np.random.default_rng(9).normal(size=(150, 3)) * (1, 1.5, 2)
    cost = ao.from_points(points).cost
    plain, scaled = (ao.align(c, c, n_landmarks=40, rng=0) for c in (cost, cost * scale))
    np.testing.assert_array_equal(plain.matches, scaled.matches)
    assert np.isfinite(scaled.objective)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_scale_of_one_side_changes_hardly_any_match(scale):
    rng = np.random.default_rng(1)
    points = rng.uniform(size=(300, 2)) * (1, 0.6)
    points = np.c_[points, 0.3 * np.sin(3 * points[:, :1]) + 0.2 * points[:, 1:] ** 2]
    order = rng.permutation(300)
    plain, scaled = (ao.align(points, factor * points[order], n_landmarks=60, rng=0) for factor in (1, scale))
    assert plain.hits(np.argsort(order)) > 0.9
    assert (plain.matches == scaled.matches).mean() > 0.9
    assert scaled.objective == pytest.approx(plain.objective, abs=0.01)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (np.zeros((9, 3)), {"n_landmarks": 1}, "n_landmarks must be an integer >= 2"),
        (np.zeros((9, 3)), {"n_landmarks": 4, "robust": True}, "n_landmarks is for costs alone"),
        (np.zeros((9, 3)), {"n_landmarks": 4, "start": np.ones((4, 4))}, "n_landmarks is for costs alone"),
        (np.zeros(9), {"n_landmarks": 4}, r"got an array of shape \(9,\), but"),
    ],
)
def test_bad_arguments_get_one_clear_line(x, options, message):
    with pytest.raises(ao.InputError, match=message):
        ao.align(x, x, **options)


def test_values_of_the_wrong_length_are_refused():
    points = np.random.default_rng(0).normal(size=(50, 3))
    found = ao.align(points, points, n_landmarks=10)
    with pytest.raises(ao.InputError, match=r"values has shape \(49,\), but one row for each of 50 points"):
        found.project(np.zeros(49))
    assert "landmarks: 10 and 10" in repr(found)


def test_meshes_are_sent_to_align_meshes():
    with pytest.raises(ao.InputError, match=r"got a mesh: align_meshes\(a, b\) aligns meshes"):
        ao.align(bumpy(1), bumpy(1), n_landmarks=10)
