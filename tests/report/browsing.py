"""Open a page in a real browser, and use its mouse and keyboard."""

import shutil
import time

import numpy as np
import pytest

from anchorot.report import write_report
from tests.requirements import require_or_skip

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
PLACE_IN_PLANE = """
    const plot = document.getElementById(`plot-${arguments[0]}`), { xaxis: x, yaxis: y } = plot._fullLayout;
    const trace = plot.data.find(({ name }) => name === 'points'), at = arguments[1];
    const box = plot.getBoundingClientRect();
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
        named = "data.find(({ name }) => name === 'points')"  # in a network edges come before it
        marker = self.run(f"return document.getElementById(`plot-${{arguments[0]}}`).{named}.marker", side)
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
        tip = self.driver.find_element("id", "tooltip")
        self.wait(lambda: tip.is_displayed() and tip.text == name)

    def click(self, place, name):
        from selenium.webdriver.common.action_chains import ActionChains

        self.point_at(place, name)
        before = self.text("found-title")
        ActionChains(self.driver).click().perform()
        self.wait(lambda: self.text("found-title") != before)

    def drag(self, place, name, right=9, down=5):
        self.point_at(place, name)
        self.pull(right, down)

    def pull(self, right, down):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).click_and_hold().pause(0.3).move_by_offset(right, down).pause(0.3).release().perform()

    def find(self, side, text):
        self.run("document.getElementById('find-side').value = arguments[0]", str(side))
        box = self.driver.find_element("id", "find-point")
        box.clear()
        box.send_keys(text + "\n")

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key)).perform()

    def middle(self, element):
        script = "const box = document.getElementById(arguments[0]).getBoundingClientRect();"
        return self.run(script + "return [box.x + box.width / 2, box.y + box.height / 2]", element)

    def swipe(self, place, right=0, down=0):
        """Draw a finger over the glass; without a way it is a tap."""
        self._touch("touchStart", place)
        for part in np.linspace(0.1, 1, 10) if right or down else ():
            self._touch("touchMove", (place[0] + part * right, place[1] + part * down))
            time.sleep(0.02)
        time.sleep(0.1)  # a finger that rests does not fling the page on
        self._touch("touchEnd")

    def _touch(self, kind, *places):
        points = [{"x": x, "y": y} for x, y in places]
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

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
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield browser
    browser.quit()


@pytest.fixture
def phone(driver):
    """The browser with a screen as small as a phone's."""
    screen = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    yield driver
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def opened(driver, folder, x, y, plan, **options):
    path = folder / "page.html"
    write_report(path, x, y, plan, **options)
    return Page(driver, path)
