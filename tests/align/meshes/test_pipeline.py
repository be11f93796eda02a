"""Maps between surfaces: what changes them, what decides them, and what they report."""

import numpy as np
import pytest
import trimesh

import anchorot as ao
from anchorot.align.meshes.laplacian import areas, eigenfunctions, stiffness
from anchorot.align.meshes.orienting import oriented
from anchorot.align.meshes.refine import fitted, nearest_rows, turned, upsampled
from anchorot.align.meshes.score import misfits, scores_of, staying
from anchorot.align.meshes.shape import Shape, root_of_area, smoothed
from anchorot.io.meshes import open_mesh, surface_of

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


def bumpy(level=2, seed=0, *, two_sided=False):
    """A ball with bumps: without symmetry, or the same left and right of a plane."""
    mesh = trimesh.creation.icosphere(level)
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(5, 3))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    sizes = rng.uniform(0.3, 1.2, 5)
    if two_sided:
        centres, sizes = np.concatenate([centres, centres * (-1, 1, 1)]), np.tile(sizes, 2)
    height = np.exp(-8 * (1 - mesh.vertices @ centres.T)) @ sizes
    return np.asarray(mesh.vertices) * (1 + height)[:, None], np.asarray(mesh.faces)


def shuffled(mesh, seed):
    """The same mesh with vertices and faces in another order, and the true match of each vertex."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(mesh[0]))
    truth = np.argsort(order)
    faces = truth[mesh[1]][rng.permutation(len(mesh[1]))]
    return (mesh[0][order], np.roll(faces, 1, axis=1)), truth


def mirrored(mesh, flipped=True):
    return mesh[0] * (-1, 1, 1), mesh[1][:, ::-1] if flipped else mesh[1]


def shape_of(mesh):
    return Shape.of(surface_of(open_mesh(mesh)))


# -- parts -----------------------------------------------------------------------------------------------------------


def test_nearest_rows_are_those_of_all_distances():
    rng = np.random.default_rng(0)
    points, among = (rng.normal(size=(n, 6)).astype(np.float32) for n in (300, 200))
    expected = np.linalg.norm(points[:, None] - among, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_rows(points, among), expected)


def test_upsampling_is_what_its_formula_says():
    rng = np.random.default_rng(1)
    first, second, mass = rng.normal(size=(40, 12)), rng.normal(size=(30, 12)), rng.uniform(size=40)
    matches = start = rng.integers(0, 30, 40)
    for k in (5, 8, 12):
        carried = sum(mass[i] * np.outer(first[i, :k], second[matches[i], :k]) for i in range(40))
        images = [carried @ second[j, :k] for j in range(30)]
        matches = np.array([min(range(30), key=lambda j: np.linalg.norm(first[i, :k] - images[j])) for i in range(40)])
    np.testing.assert_array_equal(upsampled(first, mass, second, start, (5, 8, 12)), matches)


@pytest.mark.parametrize("count", [20, 150])
def test_eigenfunctions_are_orthonormal_and_those_of_a_ball_have_its_eigenvalues(count):
    ball = trimesh.creation.icosphere(3)
    vertices, faces = np.asarray(ball.vertices), np.asarray(ball.faces)
    mass = areas(vertices, faces)
    values, functions = eigenfunctions(stiffness(vertices, faces), mass, count)
    np.testing.assert_allclose(functions.T @ (mass[:, None] * functions), np.eye(count), atol=1e-4)
    np.testing.assert_allclose(values[:9], [0, 2, 2, 2, 6, 6, 6, 6, 6], rtol=0.02, atol=1e-3)


def test_faces_are_turned_so_that_neighbours_agree_and_the_outside_is_outside():
    vertices, faces = bumpy()
    mixed = faces.copy()
    mixed[::3] = mixed[::3, ::-1]
    for given in (faces, faces[:, ::-1], mixed, mixed[:, ::-1]):
        found, is_oriented = oriented(vertices, given)
        assert is_oriented
        a, b, c = (vertices[corner] for corner in found.T)
        assert ((np.cross(b - a, c - a) * (a + b + c)).sum(axis=1) > 0).mean() > 0.99


def test_a_moebius_band_has_no_outside():
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    edges = []
    for width in (-0.5, 0.5):
        radius = 2 + width * np.cos(angle / 2)
        edges.append(np.stack([radius * np.cos(angle), radius * np.sin(angle), width * np.sin(angle / 2)], axis=1))
    index = np.arange(40)
    after, low, high = (index + 1) % 40, index, index + 40
    next_low, next_high = np.where(after == 0, 40, after), np.where(after == 0, 0, after + 40)
    faces = np.concatenate([np.stack([low, next_low, high], axis=1), np.stack([high, next_low, next_high], axis=1)])
    assert not oriented(np.concatenate(edges), faces)[1]


def test_neighbourhoods_that_are_turned_fit_a_rotation_and_mirrored_ones_a_reflection():
    shape = shape_of(bumpy())
    own = shape.sample.chosen
    rotated, reflected = misfits(shape, shape, own, 0.3)
    np.testing.assert_allclose(rotated, 0, atol=1e-9)
    assert reflected.mean() > 0.01
    other = shape_of(mirrored(bumpy()))
    rotated, reflected = misfits(shape, other, own, 0.3)
    np.testing.assert_allclose(reflected, 0, atol=1e-9)
    assert rotated.mean() > 0.01


def test_noise_hardly_changes_the_area_of_a_large_mesh_and_a_small_one_stays_as_it_is():
    ball, rng = trimesh.creation.icosphere(6), np.random.default_rng(0)
    noisy = ball.vertices * (1 + 0.02 * rng.normal(size=(len(ball.vertices), 1)))  # edges have 0.017
    raw, clean = (surface_of(open_mesh((sites, ball.faces))) for sites in (noisy, ball.vertices))
    assert root_of_area(raw) > 1.2 * root_of_area(clean)
    assert root_of_area(smoothed(raw)) == pytest.approx(root_of_area(clean), rel=0.02)
    assert root_of_area(smoothed(clean)) == pytest.approx(root_of_area(clean), rel=0.005)
    small = surface_of(open_mesh(bumpy()))
    assert smoothed(small) is small


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_neighbourhoods_of_a_turned_copy_come_to_where_they_are(is_mirrored):
    vertices, faces = bumpy()
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation)) * (-1 if is_mirrored else 1)
    shape, other = shape_of((vertices, faces)), shape_of((vertices @ rotation, faces))
    places, normals = turned(shape, other, np.arange(len(vertices)), 0.1, is_mirrored=is_mirrored)
    np.testing.assert_allclose(places, other.vertices, atol=1e-9)
    np.testing.assert_allclose(normals, other.normals, atol=1e-9)


def test_a_blurred_map_is_sharpened_by_turning_neighbourhoods_as_a_whole():
    mesh = bumpy(3)
    shape, other = shape_of(mesh), shape_of((mesh[0] + 0.1 * np.sin(2 * mesh[0][:, [1, 2, 0]]), mesh[1]))
    points, index = np.unique(mesh[1][:, 0], return_index=True)
    start = np.arange(len(mesh[0]))
    start[points] = mesh[1][index, 1]  # to a neighbour

    def away(matches):
        return np.linalg.norm(other.vertices[matches] - other.vertices, axis=1).mean()

    assert away(fitted(shape, other, start, is_mirrored=False)) < 0.3 * away(start)


def test_turns_of_a_mirror_image_have_the_other_sign_and_even_signatures_are_the_same():
    shape, other = shape_of(bumpy()), shape_of(mirrored(bumpy()))
    np.testing.assert_allclose(other.signatures.even, shape.signatures.even, atol=1e-2)
    assert np.corrcoef(other.signatures.turns.ravel(), shape.signatures.turns.ravel())[0, 1] < -0.99
    same = scores_of(shape, shape, shape.sample.chosen)
    assert (same.orientation, round(same.distortion, 6), round(same.turns, 6)) == (1.0, 0.0, 1.0)
    assert scores_of(shape, other, shape.sample.chosen).orientation == -1.0


def test_the_surface_stays_where_no_other_map_fits_as_well():
    shape = shape_of(bumpy())
    own = shape.sample.chosen
    wrong = np.random.default_rng(0).permutation(own)
    apart = np.array([0.0, 0.9])
    assert staying(shape, shape, [own], [False], apart[:1]) == 1
    assert staying(shape, shape, [own, wrong], [False, False], apart) > 0.99
    assert staying(shape, shape, [wrong, own], [False, False], apart) < 0.2
    assert staying(shape, shape, [own, own], [False, False], apart) == pytest.approx(1 - 0.9 / 2)  # as good, elsewhere


# -- the whole -------------------------------------------------------------------------------------------------------


def test_a_mesh_is_matched_with_its_shuffled_moved_and_turned_copy():
    mesh = bumpy()
    (vertices, faces), truth = shuffled(mesh, 1)
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    found = ao.align_meshes(mesh, (100 + 7 * vertices @ rotation, faces))
    np.testing.assert_array_equal(found.matches, truth)
    assert 0.9 < found.reliable <= 1 - found.objective
    assert found.is_mirrored is False
    assert found.shape == (162, 162)
    assert found.candidates[0].differs == 0
    assert found.confidence.min() > 0.5
    np.testing.assert_array_equal(found.project(vertices), vertices[truth])


@pytest.mark.parametrize("flipped", [True, pytest.param(False, marks=pytest.mark.system)])
def test_a_mirror_image_without_symmetry_is_called_mirrored(flipped):
    mesh = bumpy()
    other, truth = shuffled(mirrored(mesh, flipped), 3)
    found = ao.align_meshes(mesh, other)
    assert found.is_mirrored
    assert (found.matches == truth).mean() > 0.99


@pytest.mark.system
def test_of_a_shape_with_two_like_sides_left_is_matched_with_left():
    mesh = bumpy(two_sided=True, seed=4)
    other, truth = shuffled(mesh, 5)
    found = ao.align_meshes(mesh, other)
    assert found.is_mirrored is False
    assert (found.matches == truth).mean() > 0.99


@pytest.mark.system
@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
def test_vertices_outside_the_largest_component_have_no_match():
    vertices, faces = bumpy()
    island = np.concatenate([vertices[:3] + 9, vertices]), np.concatenate([[[0, 1, 2]], faces + 3])
    found = ao.align_meshes(island, (vertices, faces))
    assert (found.matches[:3] == -1).all()
    assert (found.confidence[:3] == 0).all()
    assert (found.matches[3:] == np.arange(len(vertices))).all()


@pytest.mark.filterwarnings("default:no alignment was found")
def test_surfaces_that_have_nothing_in_common_are_called_unreliable_with_a_warning():
    ball = trimesh.creation.icosphere(2)
    with pytest.warns(ao.ConvergenceWarning, match="no alignment was found that can be trusted"):
        found = ao.align_meshes(bumpy(), (ball.vertices * (1, 2, 4), ball.faces))
    assert found.reliable < 0.5
    assert found.verdict()[1]


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (np.zeros((5, 3)), r"got points without faces, .* align\(x, y, n_landmarks=300\) takes points"),
        (ao.from_points([[0.0], [1.0]]), "got a Space, but meshes are needed"),
        ((np.eye(3), [[0, 1, 2]]), "a mesh of 3 vertices, but at least 10 are needed"),
        ((np.zeros((0, 3)), np.zeros((0, 3), int)), r"vertices has shape \(0, 3\)"),
        ((np.zeros((12, 3)), [[i, i + 1, i + 2] for i in range(10)]), "no area"),
        ((bumpy()[0] * (1, 1, 1e-200) * (1, 1e-13, 1), bumpy()[1]), "no area, or less than 1e-12 of the square of"),
        ((bumpy()[0] + 1e200 * np.eye(162, 3), bumpy()[1]), "no area, or less than 1e-12 of the square of its extent"),
    ],
)
def test_what_is_no_surface_gets_one_clear_line(mesh, message):
    with pytest.raises(ao.InputError, match=message):
        ao.align_meshes(mesh, bumpy())


@pytest.mark.parametrize("scales", [(1e150, 1), (1, 1e-150), (1e-150, 1e150), (1e-310, 1e307)])
def test_the_units_of_the_meshes_change_no_match(scales):
    vertices, faces = bumpy()
    (copy, turned_faces), truth = shuffled((vertices, faces), 1)
    found = ao.align_meshes((vertices * scales[0], faces), (copy * scales[1], turned_faces), rng=0)
    np.testing.assert_array_equal(found.matches, truth)
    assert found.reliable > 0.9


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_a_common_unit_changes_no_match_of_parts(scale):
    (vertices, faces), truth = bumpy(), np.arange(162)
    found = ao.align_meshes((vertices * scale, faces), (vertices * scale, faces), mass="free", rng=0)
    np.testing.assert_array_equal(found.matches, truth)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e-3, 1e3, 1e20, 1e150])
@pytest.mark.parametrize("mass", [0.5, "free"])
def test_parts_in_other_units_are_one_clear_line(scale, mass):
    (vertices, faces), pattern = bumpy(), f"the first mesh is {scale:.3g} times as large as the second"
    with pytest.raises(ao.InputError, match=pattern.replace("+", r"\+")):
        ao.align_meshes((vertices * scale, faces), (vertices, faces), mass=mass)


def test_meshes_far_from_zero_in_huge_units_are_matched():
    vertices, faces = bumpy()
    (copy, turned_faces), truth = shuffled((vertices, faces), 1)
    found = ao.align_meshes(((vertices + 1e8) * 1e300, faces), ((copy + 1e8) * 1e300, turned_faces), rng=0)
    assert (found.matches == truth).mean() > 0.99


def sheet(k, extra=()):
    """A flat, bent sheet without symmetry, and some faces more."""
    x, y = (side.ravel().astype(float) for side in np.meshgrid(np.arange(k), np.arange(k + 2), indexing="ij"))
    place = np.arange(len(x)).reshape(k, k + 2)
    a, b, c, d = place[:-1, :-1], place[1:, :-1], place[1:, 1:], place[:-1, 1:]
    faces = np.concatenate([np.stack(three, axis=-1).reshape(-1, 3) for three in ((a, b, c), (a, c, d))])
    return np.stack([x, y + 0.01 * x**2, 0 * x], axis=1), np.concatenate(
        [faces, np.reshape(extra, (-1, 3)).astype(int)]
    )


@pytest.mark.parametrize("extra", [[0, 1, 2], [0, 1, 1], [0, 1, 5]])
def test_a_face_without_area_changes_no_match_of_a_flat_mesh(extra):
    found = ao.align_meshes(sheet(5, extra), sheet(5), rng=0)
    np.testing.assert_array_equal(found.matches, np.arange(35))


@pytest.mark.parametrize("thin", [1, 1e-3, 1e-9])
def test_the_laplacian_is_never_indefinite(thin):
    vertices, faces = sheet(5, [0, 1, 2])
    values = np.linalg.eigvalsh(stiffness(vertices * (thin, 1, 1), faces).toarray())
    assert values.min() > -1e-12 * values.max()


def test_a_mass_that_matches_nothing_is_one_clear_line():
    with pytest.raises(ao.InputError, match="mass=1e-09 is too little to match any landmark; give a larger share"):
        ao.align_meshes(bumpy(), bumpy(), mass=1e-9, rng=0)


def test_faces_of_two_corners_change_no_side():
    vertices, faces = bumpy()
    found, is_oriented = oriented(vertices, np.concatenate([faces, [[0, 0, 1]] * 5]))
    np.testing.assert_array_equal(found[:-5], faces)
    assert is_oriented


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "^bad.off: a mesh of 3 vertices, but"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\nnan 1 0\n3 0 1 2\n", "^bad.off: vertices"),
        ("nothing", "^bad.off: (?!bad.off)"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_name(tmp_path, text, message):
    (tmp_path / "bad.off").write_text(text)
    with pytest.raises(ao.InputError, match=message):
        ao.align_meshes(bumpy(), tmp_path / "bad.off")


@pytest.mark.system
def test_a_mesh_with_an_edge_of_three_faces_is_aligned():
    vertices, faces = bumpy()
    fin = np.concatenate([vertices, [[3.0, 3.0, 3.0]]]), np.concatenate([faces, [[*faces[0, :2], len(vertices)]]])
    found = ao.align_meshes(fin, (vertices, faces))
    assert (found.matches[:-1] == np.arange(len(vertices))).mean() > 0.9


def part_matched_with_whole(seed):
    """The map of a mesh without its top fifth to the whole, and how far off its matches typically are."""
    vertices, faces = bumpy(3, seed)
    top = vertices[:, 2] > np.quantile(vertices[:, 2], 0.8)
    kept = np.flatnonzero(~top)
    places = np.cumsum(~top) - 1
    part = vertices[kept], places[faces[~top[faces].any(axis=1)]]
    found = ao.align_meshes(part, (vertices, faces), mass="free")
    return found, np.median(np.linalg.norm(vertices[found.matches] - part[0], axis=1))


@pytest.mark.system
def test_a_part_is_matched_with_the_whole():
    assert part_matched_with_whole(0)[1] < 0.1


@pytest.mark.system
def test_a_part_that_is_matched_wrongly_is_called_unreliable():
    found, away = part_matched_with_whole(1)
    assert away < 0.1 or found.reliable < 0.2


@pytest.mark.system
def test_a_larger_mesh_is_matched_with_its_bent_copy():
    mesh = bumpy(4)
    bent = mesh[0] + 0.1 * np.sin(2 * mesh[0][:, [1, 2, 0]]), mesh[1]  # lengths change by up to a fifth
    other, truth = shuffled(bent, 0)
    found = ao.align_meshes(mesh, other)
    apart = np.linalg.norm(other[0][found.matches] - other[0][truth], axis=1)
    assert apart.mean() < 0.02 * ao.distances.MeshDistances(other).root_area
    assert found.is_mirrored is False
    assert found.reliable > 0.8
