"""Sections around the drawings of a page: a verdict, candidates, categories, and confidence."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

import anchorot as ao
from anchorot.align.correspondence import Candidate
from anchorot.align.meshes.result import MeshAlignment
from anchorot.report import payload, write_report
from anchorot.report.sections import confidences
from tests.project.pages import egg, embedded, rivals, unpacked, versions
from tests.report import browsing
from tests.report.browsing import PLACES_IN_SPACE, opened

driver, phone = browsing.driver, browsing.phone
SURFACE = egg(60, 0)
MESH = SURFACE.geometry.positions, SURFACE.geometry.faces
NASTY = "<b>&</b>"


def mesh_map(reliable=0.95, orientation=0.97, rival=True, n=60):
    """A map of a surface onto itself, three of whose vertices share a match and one of which has none."""
    matches = np.arange(n)
    matches[:3], matches[5] = 3, -1
    names = ("orientation", "distortion", "curvature", "turns", "rigidity")
    scores = dict(zip(names, (orientation, 0.0123, 0.876, 0.765, 0.21), strict=True))
    chosen = Candidate(NASTY, 1 - reliable, 1.5, matches, 0.0, scores)
    scores = dict(zip(names, (-0.5, 0.03, 0.2, -0.4, 0.6), strict=True))
    other = Candidate("functions", 0.93, 2.5, np.roll(matches, 1), 0.9, scores)
    confidence = np.where(matches >= 0, np.linspace(0.2, 1, n), 0.0)
    return MeshAlignment(matches, confidence, reliable, 1 - reliable, (chosen, other), other if rival else None, n)


def page_of(folder, found, **options):
    write_report(folder / "page.html", MESH, MESH, found, **options)
    return (folder / "page.html").read_text("utf-8")


def said(page):
    found = re.search(r'<p class="(verdict[^"]*)">(.*?)</p>', page)
    return found and (found[1], html.unescape(re.sub("<.*?>", "", found[2])))


def test_a_reliable_map_has_no_warning(tmp_path):
    kind, text = said(page_of(tmp_path, mesh_map()))
    assert kind == "verdict"
    assert text == ("The chance that this alignment is right as a whole is estimated at 95%.")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"reliable": 0.49},
            ["Warning: No alignment was found that can be trusted (reliable=0.49)", "look at it"],
        ),
        (
            {"reliable": 0.1, "rival": False},
            ["Warning: ", "(reliable=0.1)"],
        ),
        ({"orientation": -0.9}, ["at 95%", "Seen from outside, it exchanges left and right."]),
        ({"orientation": None}, ["The faces do not tell inside from outside"]),
    ],
)
def test_an_unreliable_map_has_a_warning(tmp_path, options, words):
    kind, text = said(page_of(tmp_path, mesh_map(**options)))
    assert all(word in text for word in words)
    assert ("warning" in kind) == ("Warning" in text) == (options.get("reliable", 1) < 0.5)


def test_all_candidates_are_listed_with_their_scores_and_names_are_text(tmp_path):
    page = page_of(tmp_path, mesh_map())
    table = re.search(r'id="candidates">.*?<tbody>(.*?)</tbody>', page)[1]
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr.*?</tr>", table)]
    assert [html.unescape(cell) for cell in rows[0]] == [
        NASTY,
        "0.05",
        "0.97",
        "0.0123",
        "0.876",
        "0.765",
        "0.21",
        "0.0%",
        "1.5",
    ]
    assert rows[1] == ["functions", "0.93", "-0.5", "0.03", "0.2", "-0.4", "0.6", "90.0%", "2.5"]
    assert table.count('class="kept"') == 1
    assert NASTY not in page


def test_confidence_goes_into_the_page_and_to_matches_as_their_mean(tmp_path):
    found = mesh_map()
    page_of(tmp_path, found)
    best, other = versions(tmp_path / "page.html")
    assert "confidence" not in other
    first, second = (unpacked(side) for side in best["confidence"])
    np.testing.assert_allclose(first[found.matches >= 0], found.confidence[found.matches >= 0], rtol=1e-6)
    assert np.isnan(first[5])
    assert second[3] == pytest.approx(found.confidence[:4].mean())
    assert np.isfinite(second).all()  # what no vertex goes to has the value of what is near
    assert np.isnan(confidences(found)[1][:3]).all()


def test_plans_without_confidence_have_no_such_sections(tmp_path):
    x, y, found = rivals()
    write_report(tmp_path / "page.html", x, y, found.plan)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert said(page) is None
    assert 'id="candidates"' not in page
    assert 'id="surest"' not in page
    assert embedded(tmp_path / "page.html")["categories"] is None


def test_categories_of_any_plan_are_counted_and_the_diagonal_share_is_shown(tmp_path):
    x, y, found = rivals()
    labels = ["left", "right"] * 6
    other = [labels[k] for k in np.argsort(found.matches)]
    other[found.matches[0]] = NASTY
    for plan in (found, found.plan):
        write_report(tmp_path / "page.html", x, y, plan, labels=(labels, other))
        numbers = embedded(tmp_path / "page.html")["categories"]
        counts = unpacked(numbers["counts"]).reshape(len(numbers["rows"]), len(numbers["columns"]))
        assert counts[numbers["rows"].index("left"), numbers["columns"].index(NASTY)] == 1
        assert counts.sum() == 12
        colours = [[tuple(row) for row in unpacked(side).reshape(-1, 3)] for side in numbers["colours"]]
        assert len(set(zip(labels, colours[0], strict=True))) == len(set(colours[0])) == 2
        assert dict(zip(other, colours[1], strict=True))["left"] == colours[0][labels.index("left")]
        assert "91.7% of the points have a match in their own category." in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(ao.InputError, match="there are 3 labels of the first space, but 12 points"):
        write_report(tmp_path / "page.html", x, y, found, labels=(["a"] * 3, other))


def test_the_surest_and_the_least_sure_matches_are_listed(tmp_path):
    pytest.importorskip("networkx")
    ring = [(k, (k + 1) % 12) for k in range(12)] + [(0, 3), (1, 7), (2, 9)]
    found = ao.align_graphs(ring, ring)
    chances = np.linspace(0.99, 0.01, 12)
    write_report(tmp_path / "page.html", ring, ring, replace(found, confidence=chances))
    tables = re.search(r'id="surest">(.*?)</section>', (tmp_path / "page.html").read_text("utf-8"))[1].split("<h3>")[1:]
    points = [[int(k) for k in re.findall(r'data-point="(\d+)"', table)] for table in tables]
    assert points == [list(range(10)), [11, 10]]
    assert "99.0%" in tables[0]
    assert "1.0%" in tables[1]


# -- embeddings ----------------------------------------------------------------------------------------------------


def embeddings():
    """A cloud, its turned copy in more dimensions and another order, and the map between them."""
    points = np.random.default_rng(0).normal(size=(40, 3)) * (3, 2, 1)
    order, turn = (
        np.random.default_rng(1).permutation(40),
        np.linalg.qr(np.random.default_rng(2).normal(size=(5, 3)))[0],
    )
    other = 4 * points[order] @ turn.T + 1
    return points, other, order, ao.align_embeddings(points, other, metric="euclidean", rng=0)


def test_embeddings_are_drawn_in_one_plane_after_the_map(tmp_path):
    x, y, order, found = embeddings()
    labels = [f"kind {k % 3}" for k in range(40)]
    write_report(tmp_path / "page.html", x, y, found, labels=(labels, [labels[k] for k in order]))
    page, data = (tmp_path / "page.html").read_text("utf-8"), embedded(tmp_path / "page.html")
    first, second = (unpacked(side["points"]).reshape(-1, 2) for side in data["sides"])
    np.testing.assert_allclose(second, first[order], atol=1e-5)
    for key, value in {"method": "align_embeddings", "points": "40 and 40, all matched"}.items():
        assert f"<dt>{key}</dt><dd>{value}</dd>" in page
    assert "3 to 5 dimensions" in page
    assert "100.0% of the points have a match in their own category." in page
    version = data["versions"][0]
    assert unpacked(version["matches"][0]).tolist() == np.argsort(order).tolist()
    np.testing.assert_allclose(unpacked(version["confidence"][0]), found.confidence, rtol=1e-6)
    assert not version["map"]
    assert 'id="surest"' in page


def test_embeddings_of_more_points_than_a_page_can_hold_show_matches_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "MAX_ENTRIES", 1000)
    x, y, _, found = embeddings()
    write_report(tmp_path / "page.html", x, y, found)
    assert versions(tmp_path / "page.html")[0]["map"]
    with pytest.raises(ao.InputError, match="X and Y have 39 and 40 rows"):
        write_report(tmp_path / "page.html", x[1:], y, found)


# -- in a browser --------------------------------------------------------------------------------------------------


CHOOSE = """
const box = document.getElementById("colour"); box.value = arguments[0]; box.dispatchEvent(new Event("change"));"""


def surface_colours(page, side):
    return page.run(f"return document.getElementById('plot-{side}').data[0].vertexcolor")


@pytest.mark.system
@pytest.mark.xdist_group("browser")
def test_on_a_map_of_surfaces_colours_stay_and_can_show_confidence(driver, tmp_path):
    page = opened(driver, tmp_path, MESH, MESH, mesh_map())
    before = [surface_colours(page, side) for side in (0, 1)]
    assert "The points of B are coloured by position; each point of A has" in page.text("colour-text")
    page.find(0, "7")
    n_highlighted = "return document.getElementById(`plot-${arguments[0]}`).data[2].x.length"
    page.wait(lambda: [page.run(n_highlighted, side) for side in (0, 1)] == [1, 1])
    assert [surface_colours(page, side) for side in (0, 1)] == before
    assert page.table()[0][-1] == f"{100 * mesh_map().confidence[7]:.3g} %"
    page.find(1, "3")
    page.wait(lambda: [page.run(n_highlighted, side) for side in (0, 1)] == [4, 1])
    page.run(CHOOSE, "confidence")
    page.wait(lambda: surface_colours(page, 0) != before[0] and surface_colours(page, 1) != before[1])
    assert page.driver.find_element("id", "confidence-scale").is_displayed()
    page.driver.find_element("id", "switch").click()
    page.wait(lambda: page.run("return document.getElementById('colour').value") == "place")
    assert not page.driver.find_element("id", "confidence-scale").is_displayed()
    page.assert_quiet()


@pytest.mark.system
@pytest.mark.xdist_group("browser")
def test_a_surface_of_thousands_of_vertices_has_no_dots_but_can_be_clicked_on(driver, tmp_path):
    surface = egg(2100, 0)
    mesh = surface.geometry.positions, surface.geometry.faces
    page = opened(driver, tmp_path, mesh, mesh, mesh_map(n=2100))
    assert page.run("return document.getElementById('plot-0').data[1].visible") is False
    sites = np.array(page.run(PLACES_IN_SPACE, 0, 0))
    vertex = int(sites[:, 2].argmin())
    page.click(sites[vertex], f"point {vertex}")
    assert page.text("found-title") == f"Match of point {vertex} of A"
    assert [row[0] for row in page.table()] == [vertex]
    page.assert_quiet()


@pytest.mark.system
@pytest.mark.xdist_group("browser")
def test_categories_are_drawn_and_fit_a_phone(phone, tmp_path):
    labels = [f"category {k % 30} {NASTY}" for k in range(60)]
    page = opened(phone, tmp_path, MESH, MESH, mesh_map(), labels=(labels, labels))
    page.wait(lambda: page.run("return document.getElementById('categories').data?.length") == 1)
    shares = page.run("return document.getElementById('categories').data[0].z")
    assert np.shape(shares) == (30, 30)
    before = surface_colours(page, 1)
    page.run(CHOOSE, "category")
    page.wait(lambda: surface_colours(page, 1) != before)
    assert page.run("return document.querySelectorAll('#categories b').length") == 0
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.assert_quiet()
