"""The page that shows a plan: what it does, in a real browser."""

import shutil

import numpy as np
import pytest

import anchorot as ao
from anchorot.report import packing, write_report

from conftest import require_or_skip
from pages import egg

pytestmark = pytest.mark.kernel_free

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
    "--window-size=1400,900",
]
NASTY = "</script><img src=x onerror=alert(1)><b>&amp;</b>"
HOTTEST = "rgb(90,23,97)"
PLACE_IN_PLANE = """
    const plot = document.getElementById(`plot-${arguments[0]}`), { xaxis: x, yaxis: y } = plot._fullLayout;
    const trace = plot.data[1], at = arguments[1], box = plot.getBoundingClientRect();
    return [box.left + x._offset + x.l2p(trace.x[at]), box.top + y._offset + y.l2p(trace.y[at])];"""
# Pixels and depths of a trace's points, by the matrices that plotly draws with.
PLACES_IN_SPACE = """
    const plot = document.getElementById(`plot-${arguments[0]}`), scene = plot._fullLayout.scene._scene;
    const { model, view, projection } = scene.glplot.cameraParams, trace = plot.data[arguments[1]];
    const times = (m, v) => [0, 1, 2, 3].map((r) => [0, 1, 2, 3].reduce((sum, c) => sum + m[4 * c + r] * v[c], 0));
    const box = plot.getBoundingClientRect();
    return Array.from(trace.x, (_, i) => {
      const v = [trace.x[i], trace.y[i], trace.z[i]].map((value, k) => value * scene.dataScale[k]);
      const [x, y, z, w] = times(projection, times(view, times(model, [...v, 1])));
      return [box.left + (box.width * (1 + x / w)) / 2, box.top + (box.height * (1 - y / w)) / 2, z / w];
    });"""


class Page:
    """A page in the browser: a reader's hands and eyes."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get(path.as_uri())
        self.wait(lambda: self.run("return document.documentElement.dataset.ready === 'yes'"))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 30, poll_frequency=0.05).until(lambda _: condition())

    def text(self, element):
        return self.run("return document.getElementById(arguments[0]).innerText", element)

    def points(self, side):
        """Colours and sizes of the points as they are drawn."""
        marker = self.run("return document.getElementById(`plot-${arguments[0]}`).data[1].marker", side)
        return marker["color"], np.array(marker["size"])

    def table(self):
        return self.run(
            "return [...document.querySelectorAll('#matches tbody tr')].map((row) =>"
            " [Number(row.dataset.point), ...[...row.cells].map((cell) => cell.innerText)])"
        )

    def point_at(self, place, name):
        """Move the mouse there, and wait until the page says what is below it."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        builder = ActionBuilder(self.driver)
        builder.pointer_action.move_to_location(round(place[0]), round(place[1]))
        builder.perform()
        tip = self.driver.find_element("id", "tip")
        self.wait(lambda: tip.is_displayed() and tip.text == name)

    def click(self, place, name):
        from selenium.webdriver.common.action_chains import ActionChains

        self.point_at(place, name)
        before = self.text("found-title")
        ActionChains(self.driver).click().perform()
        self.wait(lambda: self.text("found-title") != before)

    def drag(self, place, name):
        from selenium.webdriver.common.action_chains import ActionChains

        self.point_at(place, name)
        ActionChains(self.driver).click_and_hold().pause(0.3).move_by_offset(9, 5).pause(0.3).release().perform()

    def find(self, side, text):
        self.run("document.getElementById('find-side').value = arguments[0]", str(side))
        box = self.driver.find_element("id", "find-point")
        box.clear()
        box.send_keys(text + "\n")

    def press_escape(self):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()

    def assert_quiet(self):
        """Nothing was complained about, nothing was asked of any network."""
        assert not [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert self.run("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    require_or_skip(chromium and chromedriver, "chromium and chromedriver are not installed")
    try:
        from selenium import webdriver
    except ImportError:
        require_or_skip(False, "selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield browser
    browser.quit()


def towns():
    """Two small clouds in the plane with names, the first with a point that weighs nothing."""
    rng = np.random.default_rng(0)
    weights = np.append(np.full(11, 1 / 11), 0)
    labels = [NASTY, *(f"city {i}" for i in range(11, 0, -1))]
    x = ao.from_points(rng.uniform(size=(12, 2)), weights=weights, labels=labels)
    return x, ao.from_points(rng.uniform(size=(15, 2)), labels=[f"town {i}" for i in range(15)])


def opened(driver, folder, x, y, plan, **options):
    path = folder / "page.html"
    write_report(path, x, y, plan, **options)
    return Page(driver, path)


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
    """Points of a side are as large and as hot as the shares say; the five best are the hottest."""
    colours, sizes = page.points(side)
    warmth = np.minimum(shares / np.sort(shares)[-5], 1)
    lightest, largest = sizes.max() * 0.7 / 1.7, sizes.max() / 1.7
    np.testing.assert_allclose(sizes, lightest + largest * warmth, rtol=0.02)
    assert {i for i, colour in enumerate(colours) if colour == HOTTEST} == set(np.argsort(-shares)[:5])


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
        page.press_escape()
        page.wait(lambda: [page.points(side)[0] for side in (0, 1)] == before)
        assert not page.driver.find_element("id", "matches").is_displayed()
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
    assert page.text("no-mass") == "No mass: this point has no match."
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
    monkeypatch.setattr(packing, "LEVELS", ())
    monkeypatch.setattr(packing, "N_BEST_ALONE", 7)
    x, y = towns()
    plan = ao.anchor_energy_plan(x, y)
    page = opened(driver, tmp_path, x, y, plan)
    page.find(0, "4")
    shares = np.where(plan[4] >= np.sort(plan[4])[-7], plan[4], 0) / plan[4].sum()
    page.wait(lambda: page.points(1)[1].max() > page.points(1)[1].min())
    assert_lit(page, 1, shares)
