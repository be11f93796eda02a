"""The data in a page: masses within the stated precision, best matches and colours."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import anchorot as ao
from anchorot.report import payload, write_report
from anchorot.report.payload import NO_COLOUR, place_colours
from tests.project.pages import decoded_plan, egg, unpacked, versions

TINY = st.floats(1e-12, 1.0) | st.just(0.0)


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
    whole = versions(tmp_path / "page.html")[0]["plan"]["whole"]
    assert_whole_plan(plan, whole)
    assert whole["levels"] >= 63


def test_a_large_plan_keeps_many_best_matches_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "LEVELS", ((1000, 255),))
    x = egg(60, 0)
    write_report(tmp_path / "page.html", x, x, ao.anchor_energy_plan(x, x))
    plan = versions(tmp_path / "page.html")[0]["plan"]
    assert plan["whole"] is None
    assert plan["best"][0]["count"] == plan["best"][1]["count"] == payload.N_BEST_ALONE
    assert "only the 50 best matches of each point are highlighted" in (tmp_path / "page.html").read_text()


def test_coarse_masses_are_admitted(tmp_path, monkeypatch):
    monkeypatch.setattr(payload, "LEVELS", ((1000, 7),))
    plan = np.array([[0.3, 0.01, 0.001], [0.02, 0.2, 0.469]])
    x, y = ao.from_points([[0.0], [1.0]]), ao.from_points([[0.0], [1.0], [2.0]])
    write_report(tmp_path / "page.html", x, y, plan)
    assert_whole_plan(plan, versions(tmp_path / "page.html")[0]["plan"]["whole"])
    assert re.search(r"colours are accurate to \d\d %", (tmp_path / "page.html").read_text())


def test_a_point_has_the_colour_of_its_best_match(tmp_path):
    points = np.random.default_rng(0).normal(size=(5, 2))
    x = ao.from_points(points)
    plan = np.eye(5)[:, [2, 0, 1, 4]] / 5 + 0.001
    plan[:, 3] = 0
    write_report(tmp_path / "page.html", x, x.take([0, 1, 2, 3]), plan)
    [version] = versions(tmp_path / "page.html")
    first, second = (unpacked(colours).reshape(-1, 3) for colours in version["colours"])
    assert len({tuple(colour) for colour in first}) == 5
    assert second[:3].tolist() == first[[2, 0, 1]].tolist()
    assert tuple(second[3]) == NO_COLOUR


def test_points_at_one_place_have_one_colour():
    places = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [5.0, 1.0]])
    colours = place_colours(places)
    assert colours[0].tolist() == colours[2].tolist()
    assert colours[1].tolist() == colours[3].tolist()
