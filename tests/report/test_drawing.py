"""Drawings of a page: positions of points, and rotations."""

import numpy as np
import pytest

import anchorot as ao
from anchorot.geometry import Geometry
from anchorot.report import drawing, write_report
from anchorot.report.drawing import eye, place, turn_onto, unit_box, upright
from tests.project.pages import egg, embedded, unpacked


def test_a_fine_surface_is_drawn_coarser_and_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "MAX_FACES", 100)
    x = egg(300, 0)
    write_report(tmp_path / "page.html", x, x, np.eye(300) / 300)
    side = embedded(tmp_path / "page.html")["sides"][0]
    faces = unpacked(side["body"]["faces"]).reshape(-1, 3)
    sites = unpacked(side["body"]["sites"]).reshape(-1, 3)
    assert 20 < len(faces) <= 100
    assert faces.max() < len(sites)
    assert len(unpacked(side["points"])) == 3 * 300
    assert f"drawn with {len(faces)} of 596 triangles" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("order", [1, -1])
def test_points_stand_a_little_off_their_surface_whichever_way_its_triangles_turn(order):
    x = egg(50, 0)
    turned = Geometry(x.geometry.index, 50, x.geometry.positions, x.geometry.faces[:, ::order])
    space = ao.Space(x.cost, geometry=turned)
    drawn = drawing.Drawing(space, place(space, space, np.eye(50)).first).points
    away = np.linalg.norm(drawn, axis=1) / np.linalg.norm(unit_box(upright(x.geometry.positions)), axis=1)
    assert (away > 1).all()
    assert (away < 1.03).all()


@pytest.mark.parametrize("kind", ["edges", "dots"])
def test_what_is_too_many_to_draw_is_thinned_out_and_the_page_says_so(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(drawing, "MAX_EDGES", 3)
    monkeypatch.setattr(drawing, "MAX_DOTS", 3)
    places = np.random.default_rng(0).normal(size=(20, 2))
    edges = np.column_stack([np.arange(19), np.arange(1, 20)]) if kind == "edges" else None
    x = ao.Space(ao.from_points(places[:4]).cost, geometry=Geometry(np.arange(4), 20, places, edges=edges))
    write_report(tmp_path / "page.html", x, x, np.eye(4) / 4)
    body = embedded(tmp_path / "page.html")["sides"][0]["body"]
    assert len(unpacked(body["edges" if kind == "edges" else "sites"])) == 6
    assert ("3 of 19 edges" if kind == "edges" else "3 of 16 other points") in (tmp_path / "page.html").read_text()


def animal():
    """Something long on four legs, with a head and a tail, narrow in the first axis, the third upwards."""
    rng = np.random.default_rng(0)
    body = rng.uniform([-0.5, -2, 1.8], [0.5, 2, 2.4], size=(400, 3))
    ends = rng.uniform([-0.1, -3, 2], [0.1, 3, 2.2], size=(200, 3))
    feet = np.array([[x, y, 0] for x in (-0.5, 0.4) for y in (-2, 1.9)])
    return np.concatenate([body, ends, np.repeat(feet, 50, axis=0) + rng.uniform(0, [0.1, 0.1, 2], (200, 3))])


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (1, 2, 0)])
def test_objects_are_upright_and_not_mirrored(axes):
    # `axes` puts the third axis of the animal last or in the middle, which files do.
    sides = np.where(np.array(axes) == 0, np.linalg.det(np.eye(3)[:, axes]), 1)
    came = animal()[:, axes] * sides
    placed = upright(came)
    np.testing.assert_allclose(placed[:, 2], animal()[:, 2])
    assert np.ptp(placed, axis=0).argsort()[[0, 2]].tolist() == [1, 0]
    turn, *_ = np.linalg.lstsq(came, placed, rcond=None)
    np.testing.assert_allclose(np.linalg.det(turn), 1)


def test_an_object_in_mid_air_is_drawn_with_its_third_axis_upwards():
    jumping = animal()
    jumping = jumping[jumping[:, 2] > 1]  # no feet
    np.testing.assert_allclose(upright(jumping)[:, 2], jumping[:, 2])


@pytest.mark.parametrize("stretch", [(1, 1, 1), (9, 1, 1), (1, 1, 9), (0, 0, 0)])
def test_everything_is_in_view(stretch):
    things = unit_box(np.random.default_rng(0).normal(size=(200, 3)) * stretch)
    place = eye(things)
    forward = -place / np.linalg.norm(place)
    right = np.cross(forward, [0, 0, 1])
    seen = (things - place) @ np.column_stack([right / np.linalg.norm(right), np.cross(right, forward), forward])
    assert (np.abs(seen[:, :2]).max(axis=1) <= np.tan(np.pi / 8) * seen[:, 2]).all()


def cloud(n, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)) * np.arange(1, dim + 1)


def rotation(dim, mirrored, seed=1):
    found, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))
    found[:, 0] *= -1 if (np.linalg.det(found) < 0) != mirrored else 1
    return found


def drawn(path):
    return [unpacked(side["points"]).reshape(-1, side["dim"]) for side in embedded(path)["sides"]]


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_cloud_and_its_moved_copy_are_drawn_at_the_same_places(tmp_path, dim, mirrored):
    points, order = cloud(25, dim), np.random.default_rng(2).permutation(25)
    moved = 7 * points[order] @ rotation(dim, mirrored) + 3
    plan = np.eye(25)[:, order] / 25
    write_report(tmp_path / "page.html", ao.from_points(points), ao.from_points(moved), plan)
    first, second = drawn(tmp_path / "page.html")
    np.testing.assert_allclose(second, first[order], atol=1e-6)
    assert max(np.ptp(first, axis=0)) == pytest.approx(1)
    said = "B: rotated and mirrored so" if mirrored else "B: rotated so"
    assert f"{said} that matched points are at the same positions" in (tmp_path / "page.html").read_text()


def turned_egg(turn):
    x = egg(60, 0, stretch=(3, 1, 2))
    return x, ao.Space(x.cost, geometry=Geometry(np.arange(60), 60, x.geometry.positions @ turn, x.geometry.faces))


def test_a_surface_is_turned_where_that_helps_and_never_mirrored():
    turn = rotation(3, mirrored=False)
    x, y = turned_egg(turn)
    places = place(x, y, np.eye(60))
    np.testing.assert_allclose(places.first.sites, places.second.sites, atol=1e-9)
    assert places.agree
    _, mirrored = turned_egg(rotation(3, mirrored=True))
    seen = place(x, mirrored, np.eye(60)).second.sites
    got, *_ = np.linalg.lstsq(mirrored.geometry.positions, seen - seen.mean(axis=0), rcond=None)
    assert np.linalg.det(got) > 0


def test_a_surface_stays_upright_under_a_uniform_plan():
    x, y = egg(60, 0), egg(60, 1)
    places = place(x, y, np.full((60, 60), 1 / 3600))
    np.testing.assert_array_equal(places.second.sites, place(y, x, np.eye(60)).first.sites)
    assert not places.notes
    assert not places.agree


@pytest.mark.parametrize("plan", [np.zeros((4, 4)), np.eye(4), np.full((4, 4), 1.0)])
@pytest.mark.parametrize("points", [np.zeros((4, 3)), np.eye(4)[:, :3] * 1e300, np.eye(4)[:, :2]])
def test_drawings_are_finite_and_within_the_box_whatever_is_drawn(plan, points):
    x = ao.Space(np.ones((4, 4)) - np.eye(4), geometry=Geometry(np.arange(4), 4, points))
    for drawn_place in place(x, x, plan)[:2]:
        assert (np.abs(drawn_place.sites) <= 0.5 + 1e-9).all()


def test_a_turn_agrees_fully_with_itself():
    points = cloud(20)
    turn = turn_onto(points, points @ rotation(3, mirrored=False), np.eye(20), mirrored=False)
    assert turn.agreement == pytest.approx(1)
    assert turn.before < 0.9
    assert not turn.is_mirrored
