"""The page of an alignment in a real browser: buttons, keys and touch."""

import re

import numpy as np
import pytest

import anchorot as ao
from tests.project.pages import egg, rivals
from tests.report import browsing
from tests.report.browsing import PLACE_IN_PLANE, PLACES_IN_SPACE, opened

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("browser")]
driver, phone = browsing.driver, browsing.phone

EYES = """
    const eye = (s) => document.getElementById(`plot-${s}`)._fullLayout.scene._scene.getCamera().eye;
    return [0, 1].map((s) => ["x", "y", "z"].map((axis) => eye(s)[axis]));"""
VIEW = "const { xaxis, yaxis } = document.getElementById('plot-0')._fullLayout; return [xaxis.range, yaxis.range]"


def shares_shown(page):
    return {row[0]: float(row[2].removesuffix(" %")) / 100 for row in page.table()}


def assert_table_of(page, plan, weights, point):
    expected = plan[point] / weights[point]
    shown = shares_shown(page)
    assert next(iter(shown)) == expected.argmax()
    np.testing.assert_allclose(list(shown.values()), expected[list(shown)], rtol=6e-3)


def focused(page):
    return page.run("return document.activeElement.id")


def tab_to(page, element):
    for _ in range(12):
        if focused(page) == element:
            return
        page.press("TAB")
    raise AssertionError(f"the tab key does not reach {element}")


def test_a_button_shows_the_mass_of_the_runner_up_and_back(driver, tmp_path):
    x, y, found = rivals()
    page = opened(driver, tmp_path, x, y, found)
    colours = page.points(1)[0]
    page.find(0, "3")
    assert_table_of(page, found.soft(), x.weights, 3)
    button = driver.find_element("id", "switch")
    button.click()
    assert_table_of(page, found.soft(found.runner_up), x.weights, 3)
    assert button.get_attribute("aria-pressed") == "true"
    assert f"the runner-up, objective {found.runner_up.objective:.6g}" in page.text("version")
    page.press("ESCAPE")
    mirror = np.roll(np.arange(12), 6)
    back = np.argsort(found.matches)
    page.wait(lambda: page.points(1)[0] != colours)
    assert [page.points(0)[0][i] for i in mirror[back]] == page.points(1)[0]
    button.click()
    page.wait(lambda: page.points(1)[0] == colours)
    page.assert_quiet()


def test_the_match_is_marked_in_the_drawing_and_the_table(driver, tmp_path):
    x, y, found = rivals()
    page = opened(driver, tmp_path, x, y, found)
    page.find(0, "3")
    marked = [row[0] for row in page.table() if row[1].startswith("◆")]
    assert marked == [found.matches[3]]
    script = "const { data } = document.getElementById('plot-1'); return [data[2].x, data[2].marker.symbol]"
    place = page.run("return document.getElementById('plot-1').data[1].x[arguments[0]]", int(found.matches[3]))
    page.wait(lambda: page.run(script) == [[place], ["diamond-open"]])


def test_the_effective_number_of_matches_is_shown_for_the_point_and_its_matches(driver, tmp_path):
    x, y, found = rivals()
    plan = np.full((12, 12), 1 / 144)
    page = opened(driver, tmp_path, x, y, plan)
    page.find(0, "3")
    assert page.text("spread") == "Effective number of matches: 12.0"
    assert {row[4] for row in page.table()} == {"12.0"}
    page = opened(driver, tmp_path, x, y, found)
    page.find(0, "3")
    reported = re.match("Effective number of matches: ([0-9.]+)[.,] ", page.text("spread"))
    assert float(reported[1]) == pytest.approx(found.spread[3], rel=0.05)


def test_without_a_runner_up_or_space_there_is_nothing_to_switch(driver, tmp_path):
    x, y, found = rivals()
    page = opened(driver, tmp_path, x, y, found.plan)
    assert not driver.find_element("id", "switch").is_displayed()
    assert not driver.find_element("id", "link-views").is_displayed()
    assert page.run("return document.getElementById('unmatched').children.length") == 0


def test_points_without_a_match_are_listed_and_can_be_chosen(driver, tmp_path):
    points = np.random.default_rng(0).normal(size=(20, 2)) * [1, 2]
    x, y = ao.from_points(points), ao.from_points(points[:15])
    found = ao.align(x, y, mass=0.9)
    page = opened(driver, tmp_path, x, y, found)
    alone = np.flatnonzero(found.matches < 0)
    assert f"A: {len(alone)} of 20 points unmatched, grey" in page.text("unmatched")
    driver.find_element("css selector", "#unmatched summary").click()
    buttons = driver.find_elements("css selector", "#unmatched button[data-side='0']")
    assert [button.text for button in buttons] == [f"point {point}" for point in alone]
    colours = page.points(0)[0]
    assert {point for point, colour in enumerate(colours) if colour == "rgb(154,160,170)"} == set(alone)
    buttons[0].click()
    assert f"point {alone[0]} in A" in page.text("found-title")
    assert page.text("no-match").startswith(("Unmatched: only", "No mass"))


@pytest.mark.parametrize("dim", [2, 3])
def test_keys_alone_choose_points(driver, tmp_path, dim):
    points = np.random.default_rng(0).normal(size=(30, dim))
    x = ao.from_points(points)
    page = opened(driver, tmp_path, x, x, np.eye(30) / 30)
    tab_to(page, "plot-0")
    assert page.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    script = PLACE_IN_PLANE if dim == 2 else PLACES_IN_SPACE

    def places():
        return np.array([page.run(script, 0, i) for i in range(30)] if dim == 2 else page.run(script, 0, 1))

    def chosen():
        return int(page.text("found-title").split("point ")[1].split(" ")[0])

    page.press("HOME")
    assert chosen() == 0
    for key, axis, sign in (("ARROW_RIGHT", 0, 1), ("ARROW_UP", 1, -1), ("ARROW_LEFT", 0, -1), ("ARROW_DOWN", 1, 1)):
        before = chosen()
        page.press(key)
        way = sign * (places()[chosen()] - places()[before])[axis]
        assert way > -3 if dim == 3 else way >= 0  # in space what is nearer to the eye seems farther from the middle
    assert focused(page) == "plot-0"
    assert page.table()
    page.press("ESCAPE")
    page.wait(lambda: not driver.find_element("id", "matches").is_displayed())
    page.assert_quiet()


def test_arrow_keys_reach_every_point_of_a_line(driver, tmp_path):
    x = ao.from_points(np.arange(6.0)[:, None])
    page = opened(driver, tmp_path, x, x, np.eye(6) / 6)
    tab_to(page, "plot-0")
    page.press("HOME")
    seen = []
    for _ in range(6):
        seen.append(page.table()[0][0])
        page.press("ARROW_RIGHT")
    assert seen == list(range(6))
    assert page.table()[0][0] == 5  # there is nothing beyond the end


def test_drawings_have_names_for_screen_readers(driver, tmp_path):
    page = opened(driver, tmp_path, egg(20, 0), egg(20, 1), np.eye(20) / 20, names=("cat", "dog"))
    labels = page.run("return [...document.querySelectorAll('.plot')].map((plot) => plot.ariaLabel)")
    assert [label.split(";")[0] for label in labels] == ["Drawing of cat, 20 points", "Drawing of dog, 20 points"]
    canvases = page.run(
        "return [...document.querySelectorAll('canvas')].map(({ role, ariaLabel }) => [role, ariaLabel])"
    )
    assert canvases == [["img", "cat, 20 points"], ["img", "dog, 20 points"]]
    unlabelled = "return [...document.querySelectorAll('input, select')].filter((field) => !field.labels.length).length"
    assert page.run(unlabelled) == 0


def test_both_views_turn_together_if_asked_and_stay_so(driver, tmp_path):
    x = egg(30, 0)
    page = opened(driver, tmp_path, x, x, np.eye(30) / 30)
    box = driver.find_element("id", "link-views")
    assert box.is_selected()  # both face the same way
    start = np.array(page.run(EYES))
    place = np.array(page.run(PLACES_IN_SPACE, 0, 1))
    front = int(place[:, 2].argmin())
    page.drag(place[front], f"point {front}", 40, 0)
    page.wait(lambda: np.allclose(*page.run(EYES)) and not np.allclose(page.run(EYES), start))
    page.find(0, "3")
    page.wait(lambda: page.table())
    assert not np.allclose(page.run(EYES), start)
    assert np.allclose(*page.run(EYES))
    box.click()
    page.driver.find_element("id", "reset").click()
    place = np.array(page.run(PLACES_IN_SPACE, 1, 1))
    front = int(place[:, 2].argmin())
    page.drag(place[front], f"point {front}", 40, 0)
    page.wait(lambda: not np.allclose(*page.run(EYES)))
    box.click()
    page.wait(lambda: np.allclose(*page.run(EYES)))
    page.assert_quiet()


@pytest.mark.parametrize("axis", [0, 1])
def test_a_drag_along_one_axis_of_the_plane_moves_along_that_alone(driver, tmp_path, axis):
    x, y, found = rivals()
    page = opened(driver, tmp_path, x, y, found.plan)
    before = np.array(page.run(VIEW))
    page.drag(page.run(PLACE_IN_PLANE, 0, 0), "point 0", *(60 * np.eye(2, dtype=int)[axis]).tolist())
    page.wait(lambda: not np.allclose(page.run(VIEW), before))
    page.find(0, "3")  # what is drawn anew stays where it was moved
    page.wait(lambda: page.points(1)[1].max() > page.points(1)[1].min())
    moved = np.abs(np.array(page.run(VIEW)) - before).max(axis=1)
    assert moved[axis] > 0.05
    assert moved[1 - axis] < 1e-9


@pytest.mark.parametrize("dim", [2, 3])
def test_a_swipe_scrolls_the_page_until_a_tap_takes_hold_of_the_drawing(phone, tmp_path, dim):
    x = ao.from_points(np.random.default_rng(0).normal(size=(30, dim)))
    page = opened(phone, tmp_path, x, x, np.eye(30) / 30)
    assert page.run("return document.documentElement.scrollWidth") <= 390
    page.swipe(page.middle("plot-0"), down=-150)
    page.wait(lambda: page.run("return scrollY") > 50)
    assert page.text("found-title") == ""
    page.run("scrollTo(0, 0)")
    place = min(page.run(PLACES_IN_SPACE, 0, 1), key=lambda at: at[2]) if dim == 3 else page.run(PLACE_IN_PLANE, 0, 3)
    page.swipe(place[:2])
    page.wait(lambda: page.table())  # the tap chose a point as well
    view = page.run(VIEW if dim == 2 else EYES)
    page.swipe(page.middle("plot-0"), right=60, down=-40)
    page.wait(lambda: page.run(VIEW if dim == 2 else EYES) != view)
    assert page.run("return scrollY") == 0
    page.swipe(page.middle("name-0"))
    page.swipe(page.middle("plot-0"), down=-150)
    page.wait(lambda: page.run("return scrollY") > 50)
    page.assert_quiet()
