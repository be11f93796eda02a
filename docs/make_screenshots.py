"""Make the screenshots of the report page, with Chromium: `python docs/make_screenshots.py TOSCA_FOLDER`."""

import shutil
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

import anchorot as ao
from anchorot.report import write_report

IMAGES = Path(__file__).parent / "images"
FLAGS = "--headless --no-sandbox --disable-gpu --enable-unsafe-swiftshader --hide-scrollbars --no-first-run"


def main() -> None:
    """Align two cats; photograph the page as it opens, and with a point lit up."""
    cats = [
        ao.read(Path(sys.argv[1]) / name, n_points=500, sampling="farthest", rng=0) for name in ("cat0.mat", "cat1.mat")
    ]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "cats.html"
        write_report(page, *cats, ao.align(*cats, rng=0), names=("cat0.mat", "cat1.mat"), details={"seed": "0"})
        photograph(page, None, "report_colours.png")
        photograph(page, "7", "report_lit.png")


def photograph(page: Path, point: str | None, name: str) -> None:
    """Open a page, choose a point of its first side, and keep what is seen."""
    options = webdriver.ChromeOptions()
    for flag in [*FLAGS.split(), "--window-size=1400,960", f"--user-data-dir={tempfile.mkdtemp()}"]:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    with webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver"))) as browser:
        browser.get(page.as_uri())
        ready = "return document.documentElement.dataset.ready === 'yes'"
        WebDriverWait(browser, 60).until(lambda shown: shown.execute_script(ready))
        if point is not None:
            choose = "document.getElementById('find-point').value = arguments[0];"
            browser.execute_script(choose + "document.getElementById('find').requestSubmit()", point)
        WebDriverWait(browser, 10).until(lambda shown: shown.execute_async_script("setTimeout(arguments[0], 2000, 1)"))
        browser.save_screenshot(str(IMAGES / name))


if __name__ == "__main__":
    main()
