"""The site in build/docs, in a real browser; `nox -s docs` runs it after the build, `pytest` alone does not."""

import functools
import http.server
import json
import re
import threading
import zlib
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest

import anchorot
import anchorot.report
from tests.report import browsing

SITE = Path(__file__).parents[2] / "build" / "docs"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts)
WRITTEN = [page for page in PAGES if not page.startswith("api/generated/")]
SHOWN = [page for page in WRITTEN if page not in ("genindex.html", "py-modindex.html", "search.html")]
driver, phone = browsing.driver, browsing.phone


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    """Where the site is served on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Browser:
    """A reader of the site, who notes what pages ask for and complain about."""

    def __init__(self, driver, address):
        self.driver, self.address = driver, address
        driver.get("about:blank")  # ends the browser's own first page, whose requests are not the site's
        driver.execute_cdp_cmd("Network.enable", {})
        self.take_log()

    def open(self, page):
        self.driver.get(f"{self.address}/{page}")
        here = f"location.href.startsWith('{self.address}')"
        self.wait(f"return {here} && document.readyState == 'complete' && document.querySelectorAll('h1').length")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 30, poll_frequency=0.1).until(lambda _: self.run(script))

    def take_log(self):
        """Return all addresses that were asked for, and all complaints, since the last time."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return asked, [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture
def browser(driver, address):
    return Browser(driver, address)


def test_pages_load_in_peace_and_no_request_leaves_the_site(browser):
    for page in SHOWN:
        browser.open(page)
        broken = "return [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
        assert browser.run(broken) == [], page
    asked, complaints = browser.take_log()
    elsewhere = {url for url in asked if urlsplit(url).scheme != "data" and not url.startswith(browser.address)}
    assert not elsewhere, elsewhere
    assert not complaints, complaints


def test_no_page_names_a_script_style_or_picture_elsewhere():
    wanted = re.compile(r'<(?:script|img|iframe|source)[^>]+src="https?:[^"]*"|<link[^>]+href="https?:[^"]*"')
    found = {page: hits for page in PAGES if (hits := wanted.findall((SITE / page).read_text(encoding="utf-8")))}
    assert not found, found


@pytest.mark.parametrize("name", ["align", "pairwise", "read"])
def test_search_finds_the_function_of_a_name_first(browser, name):
    browser.open(f"search.html?q={name}")
    hits = browser.wait("return [...document.querySelectorAll('#search-results li a')].map((a) => a.href)")
    assert hits[0].split("#")[0].endswith(f"api/generated/anchorot.{name}.html")


def test_search_finds_a_function(browser):
    browser.open("search.html?q=anchor_energy")
    hits = browser.wait("return [...document.querySelectorAll('#search-results li a')].map((a) => a.href)")
    assert any(hit.split("#")[0].endswith("api/generated/anchorot.anchor_energy.html") for hit in hits)


def test_formulas_are_set(browser):
    page = next(page for page in SHOWN if 'class="math' in (SITE / page).read_text(encoding="utf-8"))
    browser.open(page)
    assert browser.wait("return document.querySelectorAll('mjx-container').length > 0")


def test_every_example_of_the_gallery_has_a_picture(browser):
    browser.open("auto_gallery/index.html")
    sizes = browser.run(
        "return [...document.querySelectorAll('.sphx-glr-thumbcontainer img')].map((i) => [i.src, i.naturalWidth])"
    )
    examples = list((SITE.parents[1] / "docs" / "gallery").rglob("plot_*.py"))
    assert len(sizes) == len(examples)
    assert all(width > 100 and "no_image" not in source for source, width in sizes), sizes
    for example in examples:
        made = list((SITE / "_images").glob(f"sphx_glr_{example.stem}_0*.png"))
        assert made, f"{example.name} draws nothing"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_reader_may_choose_between_light_and_dark(browser, theme):
    browser.open("index.html")
    browser.run("localStorage.setItem('mode', arguments[0]); localStorage.setItem('theme', arguments[0])", theme)
    browser.open("which.html")
    colours = browser.run(
        "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    browser.run("localStorage.clear()")
    back, front = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (back < 150 < 450 < front) if theme == "dark" else (front < 250 < 600 < back)


def test_no_page_is_wider_than_a_phone(browser, phone):
    wide = {}
    for page in SHOWN:
        browser.open(page)
        width = browser.run("return document.documentElement.scrollWidth")
        if width > 390:
            wide[page] = width
    assert not wide, wide


def test_every_public_name_has_its_place():
    packages = [package for name in dir(anchorot) if isinstance(package := getattr(anchorot, name), ModuleType)]
    names = {
        f"{package.__name__}.{name}" for package in (anchorot, anchorot.report, *packages) for name in package.__all__
    }
    inventory = zlib.decompress((SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    places = {words[0]: words[3].partition("#")[0] for words in map(str.split, inventory.splitlines())}
    assert not names - set(places), names - set(places)
    assert all((SITE / places[name]).is_file() for name in names)
