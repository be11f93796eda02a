"""The page that shows a plan: what is in it."""

import os
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.report import write_report
from tests.project.pages import embedded

NASTY = "</script><script>alert('<b>&amp;')</script>"


def square(**options):
    return ao.Space(ao.from_points([[0, 0], [0, 1], [1, 0], [1, 1]]).cost, **options)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def parsed(path):
    tags = Tags()
    tags.feed(path.read_text(encoding="utf-8"))
    return tags


def test_untrusted_text_is_escaped(tmp_path):
    x = square(labels=[NASTY] * 4)
    options = {"names": (NASTY, "$style"), "title": NASTY, "details": {NASTY: NASTY}}
    write_report(tmp_path / "nasty.html", x, x, np.eye(4) / 4, **options)
    write_report(tmp_path / "plain.html", x, x, np.eye(4) / 4, details={"a": "b"})
    nasty, plain = parsed(tmp_path / "nasty.html"), parsed(tmp_path / "plain.html")
    assert [tag for tag, _ in nasty.found] == [tag for tag, _ in plain.found]
    assert nasty.text.count(NASTY) == 6  # title twice, details twice, name in a heading and in the choice of sides
    side = embedded(tmp_path / "nasty.html")["sides"][0]
    assert side["labels"] == [NASTY] * 4
    assert side["name"] == NASTY


def test_the_page_says_which_files_were_read_and_how(tmp_path):
    np.savetxt(tmp_path / "<x>.csv", np.random.default_rng(0).normal(size=(9, 2)), delimiter=",")
    x = ao.read(tmp_path / "<x>.csv", kind="points", n_points=5, rng=2)
    y = square()
    write_report(tmp_path / "page.html", x, y, ao.anchor_energy_plan(x, y))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<dt>first space</dt><dd>&lt;x&gt;.csv, kind=&#x27;points&#x27;, n_points=5, rng=2</dd>" in page
    assert "second space" not in page


def test_the_page_refers_to_nothing_outside_itself(tmp_path):
    write_report(tmp_path / "page.html", square(), square(), np.eye(4) / 4)
    attributes = [
        (tag, name, value) for tag, found in parsed(tmp_path / "page.html").found for name, value in found.items()
    ]
    assert [found for found in attributes if found[1] in {"src", "href"}] == [("link", "href", "data:,")]
    policy = next(value for _, name, value in attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (np.eye(3), r"plan has shape \(3, 3\), but the spaces have 4 and 1 points"),
        ([[0.1], [0.2], [-0.3], [0.2]], r"plan must not be negative, but plan\[2, 0\] is -0.3"),
        ([[0.1], [0.2], [np.nan], [0.2]], "plan must be finite"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_in_one_line(tmp_path, plan, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        write_report(tmp_path / "page.html", square(), ao.Space([[0.0]]), plan)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_names_that_are_not_text_are_escaped(tmp_path):
    name = os.fsdecode(b"cat\xff")
    x = ao.Space(square().cost, labels=[name, "b", "c", "d"])
    options = {"names": (name, "B"), "title": name, "details": {name: name}, "labels": ([name] * 4, ["b"] * 4)}
    write_report(tmp_path / "page.html", x, x, ao.anchor_energy_plan(x, x), **options)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count(r"cat\udcff") >= 6


def test_without_plotly_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ao.MissingExtraError, match=r"plotly is not installed.*anchorot\[report\]"):
        write_report(tmp_path / "page.html", square(), square(), np.eye(4) / 4)


def test_a_write_that_fails_leaves_the_old_page(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("old")

    def full(self, text, **options):
        with self.open("w") as file:
            file.write(text[:10])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        write_report(tmp_path / "page.html", square(), square(), np.eye(4) / 4)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.html", "old")]
