"""Make the screenshots of the report page, with Chromium: `python docs/make_screenshots.py TOSCA_FOLDER`."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

IMAGES = Path(__file__).parent / "images"
FLAGS = "--headless --no-sandbox --disable-gpu --enable-unsafe-swiftshader --hide-scrollbars --no-first-run"


def main() -> None:
    """Match two cats in two ways; photograph one page as it opens, the other with a point lit up."""
    shapes = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cats = [str(shapes / "cat0.mat"), str(shapes / "cat1.mat"), "--n-points", "500", "--sampling", "farthest"]
        match(*cats, "--metric", "aw", "--epsilon", "0", "--report", folder / "cats.html")
        match(*cats, "--report", folder / "plan.html")
        photograph(folder / "cats.html", None, "report_colours.png")
        photograph(folder / "plan.html", "7", "report_lit.png")


def match(*arguments: str | Path) -> None:
    """Run `anchorot match`."""
    program = [sys.executable, "-c", "from anchorot.cli import main; main()", "match"]
    subprocess.run([*program, *map(str, arguments)], check=True)


def photograph(page: Path, point: str | None, name: str) -> None:
    """Open a page, choose a point of its first side, and keep what is seen."""
    options = webdriver.ChromeOptions()
    for flag in [*FLAGS.split(), "--window-size=1400,870", f"--user-data-dir={tempfile.mkdtemp()}"]:
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
