"""The page that shows a plan: what is in it."""

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import anchorot as ao
from anchorot.geometry import Geometry
from anchorot.report import drawing, payload, write_report
from anchorot.report.drawing import eye, place, unit_box, upright
from anchorot.report.payload import NO_COLOUR, place_colours
from tests.project.pages import answers, decoded_plan, egg, embedded, unpacked

NASTY = "</script><script>alert('<b>&amp;')</script>"
TINY = st.floats(1e-12, 1.0) | st.just(0.0)


def square(**options):
    return ao.Space(ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]]).cost, **options)


def packed(plan):
    return payload.pack_plan(plan, (plan.sum(axis=1), plan.sum(axis=0)), payload.levels_for([plan]))


def assert_whole_plan(plan, whole):
    decoded = decoded_plan(whole)
    shown = plan >= payload.MIN_SHOWN * np.minimum(plan.max(axis=1)[:, None], plan.max(axis=0))
    np.testing.assert_allclose(decoded[shown], plan[shown], rtol=np.expm1(whole["step"] / 2) * (1 + 1e-9) + 1e-12)
    assert not decoded[~shown].any()


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=15), elements=TINY))
def test_every_mass_that_is_not_faint_is_kept_within_the_precision_that_is_stated(plan):
    assert_whole_plan(plan, packed(plan)["whole"])


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=15), elements=TINY))
def test_best_matches_are_exact_in_both_directions(plan):
    for direction, best in zip((plan, plan.T), packed(plan)["best"], strict=True):
        index = unpacked(best["index"]).reshape(len(direction), best["count"])
        shares = unpacked(best["share"]).reshape(index.shape)
        total = direction.sum(axis=1, keepdims=True)
        exact = np.divide(direction, total, out=np.zeros_like(direction), where=total > 0)
        np.testing.assert_allclose(shares, np.take_along_axis(exact, index, axis=1), rtol=1e-6)
        np.testing.assert_allclose(shares, -np.sort(-exact, axis=1)[:, : payload.N_BEST], rtol=1e-6, atol=1e-9)


def test_equal_matches_come_in_the_order_of_their_numbers():
    row = np.array([[0.2, 0.4, 0.4 * (1 + 1e-15), 0.2 * (1 - 1e-15), 0.4]])
    assert payload.best_matches(row, 4).tolist() == [[1, 2, 4, 0]]


@pytest.mark.system
def test_a_page_of_two_thousand_points_is_small_and_holds_the_whole_plan(tmp_path):
    x, y = egg(2000, 0), egg(2000, 1, stretch=(3, 2, 1))
    plan = ao.anchor_energy_plan(x, y)
    write_report(tmp_path / "page.html", x, y, plan)
    assert (tmp_path / "page.html").stat().st_size < 8_000_000
    whole = answers(tmp_path / "page.html")[0]["plan"]["whole"]
    assert_whole_plan(plan, whole)
    assert whole["levels"] >= 63


def test_a_large_plan_keeps_many_best_matches_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "LEVELS", ((1000, 255),))
    x = egg(60, 0)
    write_report(tmp_path / "page.html", x, x, ao.anchor_energy_plan(x, x))
    plan = answers(tmp_path / "page.html")[0]["plan"]
    assert plan["whole"] is None
    assert plan["best"][0]["count"] == plan["best"][1]["count"] == payload.N_BEST_ALONE
    assert "only the 50 best matches light up" in (tmp_path / "page.html").read_text()


def test_coarse_masses_are_admitted(tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "LEVELS", ((1000, 7),))
    plan = np.array([[0.3, 0.01, 0.001], [0.02, 0.2, 0.469]])
    x, y = ao.from_points([[0.0], [1.0]]), ao.from_points([[0.0], [1.0], [2.0]])
    write_report(tmp_path / "page.html", x, y, plan)
    assert_whole_plan(plan, answers(tmp_path / "page.html")[0]["plan"]["whole"])
    assert re.search(r"lit masses are within \d\d %", (tmp_path / "page.html").read_text())


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


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def parsed(path):
    tags = Tags()
    tags.feed(path.read_text(encoding="utf-8"))
    return tags


def test_text_from_outside_stays_text(tmp_path):
    x = square(labels=[NASTY] * 4)
    options = {"names": (NASTY, "$style"), "title": NASTY, "details": {NASTY: NASTY}}
    write_report(tmp_path / "nasty.html", x, x, np.eye(4) / 4, **options)
    write_report(tmp_path / "plain.html", x, x, np.eye(4) / 4, details={"a": "b"})
    nasty, plain = parsed(tmp_path / "nasty.html"), parsed(tmp_path / "plain.html")
    assert [tag for tag, _ in nasty.found] == [tag for tag, _ in plain.found]
    assert nasty.text.count(NASTY) == 6  # title twice, details twice, name in a heading and in the choice of sides
    side = embedded(tmp_path / "nasty.html")["sides"][0]
    assert side["labels"] == [NASTY] * 4
    assert side["name"] == NASTY


def test_the_page_says_which_files_were_read_and_how(tmp_path):
    np.savetxt(tmp_path / "<x>.csv", np.random.default_rng(0).normal(size=(9, 2)), delimiter=",")
    x = ao.read(tmp_path / "<x>.csv", kind="points", n_points=5, rng=2)
    y = square()
    write_report(tmp_path / "page.html", x, y, ao.anchor_energy_plan(x, y))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<dt>first space</dt><dd>&lt;x&gt;.csv, kind=&#x27;points&#x27;, n_points=5, rng=2</dd>" in page
    assert "second space" not in page


def test_the_page_refers_to_nothing_outside_itself(tmp_path):
    write_report(tmp_path / "page.html", square(), square(), np.eye(4) / 4)
    attributes = [
        (tag, name, value) for tag, found in parsed(tmp_path / "page.html").found for name, value in found.items()
    ]
    assert [found for found in attributes if found[1] in {"src", "href"}] == [("link", "href", "data:,")]
    policy = next(value for _, name, value in attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_a_point_has_the_colour_of_its_best_match(tmp_path):
    points = np.random.default_rng(0).normal(size=(5, 2))
    x = ao.from_points(points)
    plan = np.eye(5)[:, [2, 0, 1, 4]] / 5 + 0.001
    plan[:, 3] = 0
    write_report(tmp_path / "page.html", x, x.take([0, 1, 2, 3]), plan)
    [answer] = answers(tmp_path / "page.html")
    first, second = (unpacked(colours).reshape(-1, 3) for colours in answer["colours"])
    assert len({tuple(colour) for colour in first}) == 5
    assert second[:3].tolist() == first[[2, 0, 1]].tolist()
    assert tuple(second[3]) == NO_COLOUR


def test_points_at_one_place_have_one_colour():
    places = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [5.0, 1.0]])
    colours = place_colours(places)
    assert colours[0].tolist() == colours[2].tolist()
    assert colours[1].tolist() == colours[3].tolist()


def animal():
    """Something long on four legs, with a head and a tail, narrow in the first axis, the third upwards."""
    rng = np.random.default_rng(0)
    body = rng.uniform([-0.5, -2, 1.8], [0.5, 2, 2.4], size=(400, 3))
    ends = rng.uniform([-0.1, -3, 2], [0.1, 3, 2.2], size=(200, 3))
    feet = np.array([[x, y, 0] for x in (-0.5, 0.4) for y in (-2, 1.9)])
    return np.concatenate([body, ends, np.repeat(feet, 50, axis=0) + rng.uniform(0, [0.1, 0.1, 2], (200, 3))])


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (1, 2, 0)])
def test_things_stand_on_their_feet_and_are_not_mirrored(axes):
    # `axes` puts the third axis of the animal last or in the middle, which files do.
    sides = np.where(np.array(axes) == 0, np.linalg.det(np.eye(3)[:, axes]), 1)
    came = animal()[:, axes] * sides
    placed = upright(came)
    np.testing.assert_allclose(placed[:, 2], animal()[:, 2])
    assert np.ptp(placed, axis=0).argsort()[[0, 2]].tolist() == [1, 0]
    turn, *_ = np.linalg.lstsq(came, placed, rcond=None)
    np.testing.assert_allclose(np.linalg.det(turn), 1)


def test_a_thing_that_jumps_is_drawn_with_its_third_axis_upwards():
    jumping = animal()
    jumping = jumping[jumping[:, 2] > 1]  # no feet
    np.testing.assert_allclose(upright(jumping)[:, 2], jumping[:, 2])


@pytest.mark.parametrize("stretch", [(1, 1, 1), (9, 1, 1), (1, 1, 9), (0, 0, 0)])
def test_the_eye_sees_everything(stretch):
    things = unit_box(np.random.default_rng(0).normal(size=(200, 3)) * stretch)
    place = eye(things)
    forward = -place / np.linalg.norm(place)
    right = np.cross(forward, [0, 0, 1])
    seen = (things - place) @ np.column_stack([right / np.linalg.norm(right), np.cross(right, forward), forward])
    assert (np.abs(seen[:, :2]).max(axis=1) <= np.tan(np.pi / 8) * seen[:, 2]).all()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (np.eye(3), r"plan has shape \(3, 3\), but the spaces have 4 and 1 points"),
        ([[0.1], [0.2], [-0.3], [0.2]], r"plan must not be negative, but plan\[2, 0\] is -0.3"),
        ([[0.1], [0.2], [np.nan], [0.2]], "plan must be finite"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_in_one_line(tmp_path, plan, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        write_report(tmp_path / "page.html", square(), ao.Space([[0.0]]), plan)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_names_that_are_no_text_are_written_out(tmp_path):
    name = os.fsdecode(b"cat\xff")
    x = ao.Space(square().cost, labels=[name, "b", "c", "d"])
    options = {"names": (name, "B"), "title": name, "details": {name: name}, "labels": ([name] * 4, ["b"] * 4)}
    write_report(tmp_path / "page.html", x, x, ao.anchor_energy_plan(x, x), **options)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count(r"cat\udcff") >= 6


def test_without_plotly_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ao.MissingExtraError, match=r"plotly is not installed.*anchorot\[report\]"):
        write_report(tmp_path / "page.html", square(), square(), np.eye(4) / 4)


def test_a_write_that_fails_leaves_the_old_page(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("old")

    def full(self, text, **options):
        with self.open("w") as file:
            file.write(text[:10])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        write_report(tmp_path / "page.html", square(), square(), np.eye(4) / 4)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.html", "old")]
