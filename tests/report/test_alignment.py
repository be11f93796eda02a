"""The page that shows an alignment: what is in it."""

import dataclasses

import numpy as np
import pytest

import anchorot as ao
from anchorot.report import payload, write_report
from anchorot.report.payload import NO_COLOUR
from tests.project.pages import butterflies, decoded_plan, egg, embedded, rivals, unpacked, versions


def cloud(n, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)) * np.arange(1, dim + 1)


def test_the_page_says_where_an_alignment_comes_from(tmp_path):
    x, y, found = rivals()
    write_report(tmp_path / "page.html", x, y, found, details={"seed": "7"})
    text = (tmp_path / "page.html").read_text()
    for key, value in {
        "method": "align",
        "points": "12 and 12, all matched",
        "loss": f"{found.value:.6g}",
        "lower bound of the loss": f"{found.bound:.6g}, a gap of {found.gap:.3g}",
        "matches that are right": f"about {found.confidence.sum():.0f} of 12",
        "runner-up": f"mirrored, {found.runner_up.objective:.6g}, 100% of the matches differ",
        "seed": "7",
    }.items():
        assert f"<dt>{key}</dt><dd>{value}</dd>" in text
    for one in found.candidates:
        assert f"<td>{one.name}</td><td>{one.objective:.4g}</td>" in text


def test_an_alignment_that_did_not_converge_or_leaves_mass_out_says_so(tmp_path):
    x, _, found = rivals()
    evidence = found._evidence._replace(is_whole=False)
    partial = dataclasses.replace(found, plan=found.plan / 2, _evidence=evidence, converged=False)
    write_report(tmp_path / "page.html", x, x, partial)
    text = (tmp_path / "page.html").read_text()
    assert "<dd>NOT converged, best of" in text
    assert "<dt>mass matched</dt><dd>0.5</dd>" in text
    assert "lower bound" not in text


def test_the_soft_plans_light_up_and_the_sharp_matches_are_marked(tmp_path):
    x, y, found = rivals()
    write_report(tmp_path / "page.html", x, y, found)
    shown = versions(tmp_path / "page.html")
    for version, soft, matches in zip(
        shown,
        (found.soft(), found.soft(found.runner_up)),
        (found.matches, found.runner_up.matches),
        strict=True,
    ):
        large = soft > 0.01 * soft.max()
        np.testing.assert_allclose(decoded_plan(version["plan"]["whole"])[large], soft[large], rtol=0.03)
        assert unpacked(version["matches"][0]).tolist() == matches.tolist()
        assert unpacked(version["matches"][1]).tolist() == np.argsort(matches).tolist()
        assert version["sharp"]
    np.testing.assert_allclose(unpacked(shown[0]["spread"][0]), found.spread, rtol=1e-6)


def test_the_runner_up_of_an_alignment_is_as_soft_as_the_best_match():
    x, y = butterflies()
    found = ao.align(x, y, rng=0)
    for candidate, plan in ((None, found.plan), (found.runner_up, found.runner_up.details["plan"])):
        soft, matches = found.soft(candidate), (candidate or found).matches
        np.testing.assert_allclose(soft.sum(axis=0), y.weights, atol=1e-9)
        np.testing.assert_allclose(soft.sum(axis=1), x.weights, atol=1e-9)
        assert np.mean(soft.argmax(axis=1) == matches) > 0.8
        assert (soft[plan == 0] > 0).any()


def test_shares_are_relative_to_weights_and_unmatched_points_are_grey(tmp_path):
    points = cloud(40)
    x, y = ao.from_points(points), ao.from_points(points[:30])
    found = ao.align(x, y, mass=0.9)
    write_report(tmp_path / "page.html", x, y, found)
    version = versions(tmp_path / "page.html")[0]
    alone = found.matches < 0
    assert 0 < alone.sum() < 40
    for side, weights in enumerate(found.weights):
        total = found.soft().sum(axis=1 - side) / weights
        np.testing.assert_allclose(unpacked(version["plan"]["matched"][side]), total, rtol=1e-5, atol=1e-6)
        colours = unpacked(version["colours"][side]).reshape(-1, 3)
        grey = (colours == NO_COLOUR).all(axis=1)
        assert grey.tolist() == (unpacked(version["matches"][side]) < 0).tolist()
    assert unpacked(version["matches"][0])[alone].tolist() == [-1] * alone.sum()


# -- dense maps ----------------------------------------------------------------------------------------------------


def dense_map(shared=False):
    """A surface of 80 points, its shuffled copy, and a dense map between them, some of whose points share a match."""
    x = egg(80, 0)
    order = np.random.default_rng(3).permutation(80)
    mesh = x.geometry.positions, x.geometry.faces
    other = mesh[0][order], np.argsort(order)[mesh[1]]
    found = ao.align(x.cost, x.take(order).cost, n_landmarks=30, rng=0)
    if shared:
        matches = found.matches.copy()
        matches[:4], matches[5] = matches[4], -1
        found = dataclasses.replace(found, matches=matches)
    return mesh, other, found


def test_a_dense_map_is_shown_with_what_is_known_of_it(tmp_path):
    x, y, found = dense_map(shared=True)
    write_report(tmp_path / "page.html", x, y, found, details={"seed": "7"})
    text = (tmp_path / "page.html").read_text()
    for key, value in {
        "method": "align, by landmarks",
        "points": "80 and 80, 79 matched",
        "landmarks": "30 and 30",
        "mean difference of distances": f"{found.objective:.6g}",
        "loss of the landmarks": f"{found.alignment.value:.6g}",
        "seed": "7",
    }.items():
        assert f"<dt>{key}</dt><dd>{value}</dd>" in text
    assert "The plan is large" not in text
    sides = embedded(tmp_path / "page.html")["sides"]
    assert [side["count"] for side in sides] == [80, 80]
    assert [side["body"]["kind"] for side in sides] == ["mesh", "mesh"]


def test_of_a_dense_map_every_point_shows_its_match_and_back_those_that_share_it(tmp_path):
    x, y, found = dense_map(shared=True)
    write_report(tmp_path / "page.html", x, y, found)
    [version] = versions(tmp_path / "page.html")[:1]
    assert version["map"]
    assert unpacked(version["matches"][0]).tolist() == found.matches.tolist()
    forth, back = version["plan"]["best"]
    is_matched = found.matches >= 0
    assert unpacked(forth["index"])[is_matched].tolist() == found.matches[is_matched].tolist()
    assert unpacked(forth["share"]).tolist() == is_matched.tolist()
    index, share = (unpacked(back[key]).reshape(80, back["count"]) for key in ("index", "share"))
    for point in range(80):
        expected = np.flatnonzero(found.matches == point)
        shown = index[point][share[point] > 0]
        assert shown.tolist() == expected.tolist()
        np.testing.assert_allclose(share[point][: len(shown)], 1 / max(len(shown), 1), rtol=1e-6)
    own, places = (unpacked(colours).reshape(80, 3) for colours in version["colours"])
    np.testing.assert_array_equal(own[is_matched], places[found.matches[is_matched]])
    assert tuple(own[5]) == NO_COLOUR
    assert not (places == NO_COLOUR).all(axis=1).any()


def test_the_runner_up_of_a_dense_map_is_shown_too(tmp_path):
    x, y, found = dense_map()
    rival = ao.Candidate("other", 0.5, 0.1, np.roll(found.matches, 1), 1.0)
    write_report(tmp_path / "page.html", x, y, dataclasses.replace(found, runner_up=rival))
    other = versions(tmp_path / "page.html")[1]
    assert unpacked(other["matches"][0]).tolist() == rival.matches.tolist()
    assert other["text"] == "Shown: the runner-up, objective 0.5, with 100% different matches."
    assert "<dt>runner-up</dt><dd>other, 0.5, 100% of the matches differ</dd>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("dim", [2, 3, 7])
def test_dense_maps_of_clouds_and_spaces_are_drawn_as_they_are(tmp_path, dim):
    points = cloud(50, dim)
    found = ao.align(points, points[::-1], n_landmarks=20, rng=0)
    things = points, ao.distances.PointDistances(points[::-1]), ao.from_points(points[::-1])
    for second in things[1:]:
        write_report(tmp_path / "page.html", points, second, found)
        sides = embedded(tmp_path / "page.html")["sides"]
        assert [side["count"] for side in sides] == [50, 50]
        assert sides[0]["dim"] == min(dim, 3)


def test_a_dense_map_of_other_things_is_refused_in_one_line(tmp_path):
    x, _, found = dense_map()
    with pytest.raises(ao.InputError, match="the alignment is between 80 and 80 points, but the spaces have 80 and 9"):
        write_report(tmp_path / "page.html", x, np.zeros((9, 3)), found)


def test_two_candidates_take_the_space_of_one(monkeypatch):
    plan = np.random.default_rng(0).uniform(0.5, 1, size=(30, 30))
    monkeypatch.setattr(payload, "LEVELS", ((1000, 255), (2000, 63)))
    assert payload.levels_for([plan]) == 255
    assert payload.levels_for([plan, plan]) == 63
    assert payload.levels_for([plan, plan, plan]) is None
    assert payload.levels_for([np.eye(30)] * 3) == 255  # zeros take no space
