"""Numbers of experiments in README and docs are those of the results."""

import json
import re
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import anchorot as ao
import experiments.__main__
from experiments.__main__ import app
from experiments.common import runner
from experiments.common.code import HERE
from experiments.common.filling import REGION, Results, fill, filled, pages, written_pages
from experiments.common.page import write_page
from experiments.common.rules import NAMES
from tests.requirements import ROOT

RECORD = """# Measured

| what | n | ours | rival |
|---|---|---|---|
| pairs | 10 | 1,250 ms (3.1 times) | 4 s |
| pairs | 20 | 2.5 s | |

| what | share |
|---|---|
| hits | 0.867 of 10 878 |
"""


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results" / "power"
    folder.mkdir(parents=True)
    part = {"what": "power of AE", "rule": "power.w2_sees", "verdict": "does not hold"}
    part |= {"value": 0.05, "low": 0.01, "high": 0.12, "error": None}
    claim = {"claim": "AE sees all.", "found": "It does not.", "verdict": "does not hold", "why": "", "parts": [part]}
    summary = {
        "title": "Power",
        "seconds": 3.0,
        "machine": "a machine",
        "claims": [claim],
        "notes": ["Of 20 points."],
        "values": {"crossed, AE": {"value": 0.0512, "tolerance": 0.1}},
    }
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    (folder / "power.csv").write_text("test,crossed\nAE,0.05\nW2,0.913\n", encoding="utf-8")
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "RESULTS.md").write_text(RECORD, encoding="utf-8")
    return Results(tmp_path / "results", ("power", "never run"), tmp_path / "record")


def asked(wanted, text=""):
    return f"Power: <!-- results: {wanted} -->{text}<!-- /results -->."


def test_pages_are_up_to_date():
    """`python -m experiments.fill` makes them so."""
    found = Results(HERE / "results", NAMES)
    for path in pages(ROOT):
        text = path.read_text(encoding="utf-8")
        assert filled(text, found) == text, f"{path.name} is not what the results say: run python -m experiments.fill"


# What looks measured and is not: parameters, arithmetic, limits, and what others have published.
TYPED = {
    "README.md": ["25 %", "76 %"],
    "docs/alignment.md": ["3 %", "8 %", "20 %", "35 %", "100 MB"],
    "docs/benchmarks.md": ["1 %", "0.01 and 0.001", "0.001"],
    "docs/faq.md": ["0.001", "80 %"],
    "docs/formats.md": ["4 GiB", "2 GiB"],
    "docs/gpu.md": ["2 s", "16 times", "0.003", "74.5 GiB", "7.5 GiB"],
    "docs/guides/graphs.md": [
        *("0.90 / 1.00", "0.67 / 0.98", "0.70 / 0.90", "0.75 / 0.82", "0.53 / 0.75", "0.45 / 0.45"),
        *("0.21 / 1.01", "0.28 / 0.88", "25 %", "20 %", "0.9 to 0.95", "0.4 to 0.5"),
    ],
    "docs/guides/shapes.md": ["8 %", "20 %", "35 %"],
    "docs/learning.md": ["5 times", "0.033", "0.167"],
    "docs/paper.md": ["0.027"],
    "docs/scale.md": [
        *("2 kB", "8 kB", "0.8 %", "0.2 %", "20.5 GB", "32 GB", "5 seconds", "2 minutes", "1 %", "10 %"),
    ],
    "docs/testing.md": ["0.029", "0.027", "0.0095", "1.4 times"],
}
LEVELS = {"5 %", "95 %"}  # that are asked for
UNITS = "s|ms|µs|ns|min|minutes|seconds|kB|MB|GB|GiB|times|%"
MEASURED = re.compile(
    rf"(?<![\w.^=])[-+]?\d+(?:[ ,]\d{{3}})*(?:\.\d+)?\s(?:{UNITS})(?!\w)"
    r"|(?<![\w.])[-+]?\d\.\d{3,}(?!\w)|\d\.\d+ (?:to|and|/) \d\.\d+"
)
NOT_PROSE = re.compile(r"<!-- backends -->.*?<!-- /backends -->|```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


@pytest.mark.parametrize("path", written_pages(ROOT), ids=lambda path: path.name)
def test_no_measured_figure_is_typed(path):
    """`bench` and `rows` bring those of benchmarks/*.md, `value`, `cell` and `part` those of experiments."""
    text = NOT_PROSE.sub("", REGION.sub("", path.read_text(encoding="utf-8")))
    found = {re.sub(r"\s", " ", figure) for figure in MEASURED.findall(text)}
    assert found - LEVELS == set(TYPED.get(path.relative_to(ROOT).as_posix(), []))


def test_no_line_begins_with_a_number_that_is_filled_in():
    """Markdown takes a line that begins with a comment for a block of its own, and breaks the sentence there."""
    for path in pages(ROOT):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if re.match(r"\s*<!-- results: .*<!-- /results -->", line)] == []


def test_the_page_of_results_is_made_of_the_answers_alone(tmp_path):
    """`python -m experiments` makes it so; it names the code that each answer is of."""
    for path in (HERE / "results").glob("*/summary.json"):
        (tmp_path / path.parent.name).mkdir()
        (tmp_path / path.parent.name / path.name).write_bytes(path.read_bytes())
    page = write_page(tmp_path, list(NAMES)).read_text(encoding="utf-8")
    assert page == (HERE / "results" / "RESULTS.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("value power | crossed, AE | .2f", "0.05"),
        ("value power | crossed, AE", "0.0512"),
        ("verdict power | 1", "does not hold"),
        ("part power | power of AE", "0.05 (0.01 to 0.12)"),
        ("cell power | power.csv | test=AE | crossed", "0.05"),
        ("cell power | power.csv | test=W2; crossed=0.913 | crossed | .0%", "91%"),
        ("cell power ¦ power.csv ¦ test=AE ¦ crossed", "0.05"),
        ("bench what=pairs; n=20 | ours", "2.5 s"),
        ("bench what=pairs; n=10 | ours | 2", "3.1"),
        ("bench what=pairs; n=10 | ours | 1 | .2f x0.001", "1.25"),
        ("bench what=hits | share | 1 | .0f x100", "87"),
        ("bench what=hits | share | 2", "10 878"),
        (
            "rows n as points; ours | what=pairs",
            "\n| points | ours |\n|---|---|\n| 10 | 1,250 ms (3.1 times) |\n| 20 | 2.5 s |\n",
        ),
    ],
)
def test_a_region_holds_what_it_asks_for_whatever_stood_there(wanted, text, results):
    assert filled(asked(wanted, "old"), results) == asked(wanted, text)
    assert filled(asked(wanted, text), results) == asked(wanted, text)


def test_all_claims_are_told_with_their_verdicts(results):
    assert "| AE sees all. | **does not hold** | `power` |" in filled(asked("verdicts"), results)


@pytest.mark.parametrize(
    "wanted",
    [
        "value power | unknown",
        "value alchemy | crossed, AE",
        "cell power | power.csv | test=W3 | crossed",
        "cell power | power.csv | test=AE | unknown",
        "cell power | none.csv | test=AE | crossed",
        "part power | power of AW",
        "verdict power | 2",
        "gold",
        "bench what=pairs | ours",
        "bench what=trios | ours",
        "bench what=pairs; n=10 | theirs",
        "bench what=pairs; n=10 | ours | 3",
        "rows what",
        "rows n | what=trios",
    ],
)
def test_what_results_do_not_have_is_named_in_one_line(wanted, results):
    with pytest.raises(ao.InputError, match="a page asks for") as refused:
        filled(asked(wanted), results)
    assert wanted in str(refused.value)


def test_a_region_without_an_end_is_refused(results):
    with pytest.raises(ao.InputError, match="not closed"):
        filled("<!-- results: verdicts --> and so on", results)


def test_only_pages_that_ask_are_written_and_only_if_they_change(results, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(asked("value power | crossed, AE"), encoding="utf-8")
    (tmp_path / "docs" / "other.md").write_text("0.05", encoding="utf-8")
    assert [path.name for path in fill(tmp_path, results)] == ["README.md"]
    assert "0.0512" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert fill(tmp_path, results) == []


@pytest.mark.parametrize("arguments", [["power"], ["power", "--quick"]])
def test_full_runs_bring_pages_up_to_date_and_quick_ones_leave_them(arguments, monkeypatch, tmp_path):
    code = SimpleNamespace(run=lambda study: study.value("share", 0.5, 0.1), TITLE="", QUESTION="", DATA=())
    monkeypatch.setattr(runner, "_load", lambda _: code)
    monkeypatch.setattr(runner, "CHECKOUT", tmp_path)
    monkeypatch.setattr(experiments.__main__, "CHECKOUT", tmp_path)
    monkeypatch.setattr(runner, "default_output", lambda _: tmp_path / "results")
    monkeypatch.setattr(runner, "differences", lambda _: [])
    page = tmp_path / "README.md"
    page.write_text(asked("value power | share"), encoding="utf-8")
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert ("0.5" in page.read_text(encoding="utf-8")) == (arguments == ["power"])
