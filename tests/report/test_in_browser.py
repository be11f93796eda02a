"""The page that shows a plan: what it does, in a real browser."""

from dataclasses import replace

import numpy as np
import pytest

import anchorot as ao
from anchorot.report import payload
from tests.project.pages import egg
from tests.report import browsing
from tests.report.browsing import PLACE_IN_PLANE, PLACES_IN_SPACE, opened

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("browser")]
driver = browsing.driver

NASTY = "</script><img src=x onerror=alert(1)><b>&amp;</b>"
HEAT = ["#e9ecf0", "#fbd9a0", "#f08a4b", "#c2345c", "#5a1761"]  # of page.css


def towns():
    """Two small clouds in the plane with names, the first with a point that weighs nothing."""
    rng = np.random.default_rng(0)
    weights = np.append(np.full(11, 1 / 11), 0)
    labels = [NASTY, *(f"city {i}" for i in range(11, 0, -1))]
    x = ao.from_points(rng.uniform(size=(12, 2)), weights=weights, labels=labels)
    return x, ao.from_points(rng.uniform(size=(15, 2)), labels=[f"town {i}" for i in range(15)])


def assert_table(page, shares, names):
    """The table holds the ten best matches, their shares in percent and the running total."""
    best = np.argsort(-shares, kind="stable")[:10]
    rows = page.table()
    assert [row[0] for row in rows] == best.tolist()
    assert [row[1] for row in rows] == [names(point) for point in best]
    np.testing.assert_allclose([float(row[2].removesuffix(" %")) for row in rows], 100 * shares[best], rtol=5e-3)
    totals = 100 * shares[best].cumsum()
    np.testing.assert_allclose([float(row[3].removesuffix(" %")) for row in rows], totals, rtol=5e-3)


def assert_lit(page, side, shares):
    """Points of a side are as large and as hot as the shares say, whatever the other shares are."""
    colours, sizes = page.points(side)
    warmth = np.cbrt(shares)
    np.testing.assert_allclose(sizes / sizes[0], (0.7 + warmth) / (0.7 + warmth[0]), rtol=0.02)
    stops = np.array([[int(stop[k : k + 2], 16) for k in (1, 3, 5)] for stop in HEAT])
    expected = [np.interp(warmth, np.linspace(0, 1, len(stops)), stop) for stop in stops.T]
    shown = [[int(number) for number in colour[4:-1].split(",")] for colour in colours]
    np.testing.assert_allclose(shown, np.transpose(expected), atol=4)


def test_a_click_in_the_plane_lights_up_where_the_mass_goes(driver, tmp_path):
    x, y = towns()
    plan = ao.anchor_energy_plan(x, y)
    page = opened(driver, tmp_path, x, y, plan)
    assert driver.title == "A and B"
    before = [page.points(side)[0] for side in (0, 1)]
    for side, (own, other, direction) in enumerate([(x, y, plan), (y, x, plan.T)]):
        page.click(page.run(PLACE_IN_PLANE, side, 0), own.labels[0])
        shares = direction[0] / direction[0].sum()
        assert_table(page, shares, other.labels.__getitem__)
        page.wait(lambda side=side: page.points(1 - side)[0] != before[1 - side])
        assert_lit(page, 1 - side, shares)
        page.press("ESCAPE")
        page.wait(lambda: [page.points(side)[0] for side in (0, 1)] == before)
        assert not page.driver.find_element("id", "matches").is_displayed()
    page.assert_quiet()


def test_a_click_on_a_dense_map_shows_the_match_and_what_goes_there(driver, tmp_path):
    x = egg(60, 0)
    mesh = x.geometry.positions, x.geometry.faces
    found = ao.align(x.cost, x.cost, n_landmarks=30, rng=0)
    matches = np.arange(60)
    matches[:3], matches[5] = 3, -1
    page = opened(driver, tmp_path, mesh, mesh, replace(found, matches=matches))
    assert page.text("unmatched") == "A: 1 of 60 points unmatched, grey"
    page.find(0, "1")
    assert page.text("found-title") == "Match of point 1 of A"
    assert [row[0] for row in page.table()] == [3]
    assert not page.driver.find_element("id", "spread").is_displayed()
    page.find(1, "3")
    assert page.text("found-title") == "Points matched with point 3 of B"
    assert [row[0] for row in page.table()] == [0, 1, 2, 3]
    page.find(1, "0")
    assert page.text("no-match") == "No point of A is matched with it."
    page.assert_quiet()


def test_a_click_in_space_lights_up_where_the_mass_goes(driver, tmp_path):
    x, y = egg(40, 0), ao.from_points(np.random.default_rng(0).normal(size=(30, 3)))
    plan = ao.anchor_energy_plan(x, y)
    page = opened(driver, tmp_path, x, y, plan)
    for side, direction in ((0, plan), (1, plan.T)):
        before = page.points(1 - side)[0]
        places = np.array(page.run(PLACES_IN_SPACE, side, 1))
        point = int(places[:, 2].argmin())
        page.click(places[point], f"point {point}")
        shares = direction[point] / direction[point].sum()
        assert_table(page, shares, lambda match: f"point {match}")
        page.wait(lambda side=side, before=before: page.points(1 - side)[0] != before)
        if side == 0:  # points on a surface are drawn darker than their colour
            assert_lit(page, 1, shares)
    page.assert_quiet()


def test_a_click_on_a_surface_means_the_nearest_point_and_turning_it_means_none(driver, tmp_path):
    surface = egg(300, 0)
    x = surface.take(np.arange(20))
    page = opened(driver, tmp_path, x, ao.Space([[0.0]]), np.full((20, 1), 1 / 20))
    sites = np.array(page.run(PLACES_IN_SPACE, 0, 0))
    site = 20 + int(sites[20:, 2].argmin())
    nearest = int(surface.cost[site, :20].argmin())
    page.drag(sites[site], f"point {nearest}")
    assert page.text("found-title") == ""
    page.find(0, "1")
    page.click(page.run(PLACES_IN_SPACE, 0, 0)[site], f"point {nearest}")
    assert f"point {nearest} in" in page.text("found-title")
    page.assert_quiet()


def test_a_click_on_a_row_marks_the_match(driver, tmp_path):
    x, y = towns()
    page = opened(driver, tmp_path, x, y, ao.anchor_energy_plan(x, y))
    page.find(1, "3")
    assert "town 3 in B comes from" in page.text("found-title")
    match = page.table()[2][0]
    driver.find_elements("css selector", "#matches tbody tr")[2].click()
    script = "const { data } = document.getElementById('plot-0'); return [data[2].x, data[1].x[arguments[0]]]"
    page.wait(lambda: page.run(script, match)[0] == [page.run(script, match)[1]])
    assert page.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    driver.find_element("id", "reset").click()
    page.wait(lambda: page.run(script, match)[0] == [])


def test_points_are_found_by_label_and_number_and_names_are_only_text(driver, tmp_path):
    x, y = towns()
    page = opened(driver, tmp_path, x, y, ao.anchor_energy_plan(x, y), names=(NASTY, "B"))
    for text, name in (("city 1", "city 1"), ("CITY 11", "city 11"), ("3", "city 9")):
        page.find(0, text)
        assert f"of {name} in" in page.text("found-title")
    page.find(0, "0")
    assert page.text("found-title") == f"Where the mass of {NASTY} in {NASTY} goes"
    assert page.run("return document.querySelectorAll('img').length") == 0
    page.find(0, "99")
    assert page.run("return document.getElementById('find-point').validationMessage") == f"{NASTY} has no such point"
    page.find(0, "11")
    assert page.text("no-match") == "No mass: this point has no match."
    assert page.table() == []
    page.assert_quiet()


def test_a_name_on_a_pin_is_only_text(driver, tmp_path):
    x = egg(8, 0)
    x = ao.Space(x.cost, labels=[NASTY] * 8, geometry=x.geometry)
    page = opened(driver, tmp_path, x, ao.Space([[0.0]]), np.full((8, 1), 1 / 8))
    page.find(0, "0")
    page.wait(lambda: page.run("return document.querySelector('#plot-0 .annotation-text')?.textContent") == NASTY)
    page.find(1, "0")
    assert [row[0] for row in page.table()] == list(range(8))
    page.assert_quiet()


def test_a_plan_too_large_to_keep_lights_up_the_best_matches(driver, tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "LEVELS", ())
    monkeypatch.setattr(payload, "N_BEST_ALONE", 7)
    x, y = towns()
    plan = ao.anchor_energy_plan(x, y)
    page = opened(driver, tmp_path, x, y, plan)
    page.find(0, "4")
    shares = np.where(plan[4] >= np.sort(plan[4])[-7], plan[4], 0) / plan[4].sum()
    page.wait(lambda: page.points(1)[1].max() > page.points(1)[1].min())
    assert_lit(page, 1, shares)


def test_a_click_on_a_node_leaves_its_edges_and_names_its_twins(driver, tmp_path):
    star = [(0, 1), (0, 2), (0, 3), (3, 4), (4, 5), (5, 6), (6, 3)]  # 1 and 2 are twins, and so are 4 and 6
    found = ao.align_graphs(star, star[:-1], rng=0)
    page = opened(driver, tmp_path, star, star[:-1], found)
    opacities = "return document.getElementById(`plot-${arguments[0]}`).data.map((trace) => trace.opacity ?? 1)"
    assert set(page.run(opacities, 0)) == {1}
    page.find(0, "1")
    assert page.text("found-title") == "Node 1 of A"
    assert "nothing tells which is which: 2." in page.text("edges")
    assert [name for _, name, *_ in page.table() if "its twin" in name] == [f"{3 - found.matches[1]} (its twin)"]
    page.find(0, "3")
    assert page.text("edges").startswith("3 edges, 2 common, matched with")
    body, odd, points, *own = page.run(opacities, 0)
    assert max(body, odd) < 0.1
    assert {points, *own} == {1}
    ends = page.run("return document.getElementById('plot-0').data.slice(3, 5).map((trace) => trace.x.length)")
    assert ends == [6, 3]  # two common edges and one other; each is two ends and a gap
    page.assert_quiet()


def test_edges_cover_nodes_only_if_their_node_is_selected(driver, tmp_path):
    """Later traces are drawn above earlier ones."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)]
    page = opened(driver, tmp_path, ring, [*ring[:-1], (1, 4)], ao.align_graphs(ring, [*ring[:-1], (1, 4)], rng=0))
    traces = "return document.getElementById('plot-0').data.map(({ mode, x }) => [mode, x.length])"
    assert [mode for mode, _ in page.run(traces)] == ["lines", "lines", "markers", "markers"]
    page.find(0, "0")
    page.wait(lambda: len(page.run(traces)) > 4)
    modes, sizes = zip(*page.run(traces), strict=True)
    assert modes == ("lines", "lines", "markers", "lines", "lines", "markers", "markers")
    assert sizes[2] == 5
    assert sizes[5] == 4  # the node and its three neighbours are above its edges
    page.assert_quiet()


def test_the_caption_follows_the_colours(driver, tmp_path):
    ring = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)]
    page = opened(driver, tmp_path, ring, ring, ao.align_graphs(ring, ring, rng=0))
    assert "coloured by position" in page.text("colour-text")
    page.run(
        "const menu = document.getElementById('colour'); menu.value = 'confidence';"
        "menu.dispatchEvent(new Event('change'))"
    )
    assert "chance that a match is right" in page.text("colour-text")
