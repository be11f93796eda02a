"""Figures in README and docs are those of the records."""

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import anchorot as ao
import experiments.__main__
from benchmarks.record import RECORD
from experiments.__main__ import app
from experiments.common import runner
from experiments.common.code import HERE
from experiments.common.filling import FIGURES, Figure, QuotedTable, Results, fill, read_figures, rewritten
from experiments.common.page import write_page
from experiments.common.record import write_results
from experiments.common.rules import NAMES
from tests.requirements import ROOT, needs_results

MEASURED = """
[[section]]
command = "python benchmarks/pairs.py"
machine = "a machine"
commit = "1234567"

[[section.part]]
text = "Medians."

[[section.part]]
columns = ["what", "n", "ours", "runner-up"]
rows = [
    ["pairs", 10, { time = { value = 1_250, unit = "ms" }, over = 3.1 }, "4 s"],
    ["pairs", 20, { value = 2.50, unit = "s" }, ""],
]

[[section.part]]
columns = ["what", "share"]
rows = [["hits", "0.867 of 10 878"], ["both", { values = [7, 8.0] }]]
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
    (tmp_path / "record.toml").write_text(MEASURED, encoding="utf-8")
    return Results(tmp_path / "results", ("power", "never run"), tmp_path / "record.toml")


def on_page(text, listed, results):
    return rewritten(text, [Figure("page.md", "Power: {}.", (listed,))], results)


def write_pages(folder, text, *values):
    """A README with this text, and the list of its figures; each value is a key, or a key and a format."""
    lines = ["[[figure]]", 'page = "README.md"', 'text = "Power: {}."', f"values = [{', '.join(values)}]"]
    (folder / "docs").mkdir()
    (folder / FIGURES).write_text("\n".join(lines), encoding="utf-8")
    (folder / "README.md").write_text(text, encoding="utf-8")


@needs_results
def test_figures_on_pages_are_those_of_the_records():
    """The list is docs/figures.toml."""
    found = Results(HERE / "results", NAMES)
    for name, listed in read_figures(ROOT).items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert rewritten(text, listed, found) == text, f"{name} differs from the records: python -m experiments.fill"


@needs_results
def test_the_page_of_results_is_made_of_the_summaries_alone(tmp_path):
    """`python -m experiments` makes it so; it names the code of each result."""
    for path in (HERE / "results").glob("*/summary.json"):
        (tmp_path / path.parent.name).mkdir()
        (tmp_path / path.parent.name / path.name).write_bytes(path.read_bytes())
    page = write_page(tmp_path, list(NAMES)).read_text(encoding="utf-8")
    assert page == (HERE / "results" / "RESULTS.md").read_text(encoding="utf-8")


def test_the_page_of_benchmarks_is_generated_from_the_record(tmp_path):
    (tmp_path / "record.toml").write_bytes(RECORD.read_bytes())
    page = write_results(tmp_path / "record.toml").read_text(encoding="utf-8")
    message = "benchmarks/RESULTS.md differs from record.toml: python -m experiments.fill"
    assert page == RECORD.with_name("RESULTS.md").read_text(encoding="utf-8"), message


@pytest.mark.parametrize(
    ("key", "form", "text"),
    [
        ("value power | crossed, AE", ".2f", "0.05"),
        ("value power | crossed, AE", "", "0.0512"),
        ("verdict power | 1", "", "does not hold"),
        ("part power | power of AE", "", "0.05 (0.01 to 0.12)"),
        ("cell power | power.csv | test=AE | crossed", "", "0.05"),
        ("cell power | power.csv | test=W2; crossed=0.913 | crossed", ".0%", "91%"),
        ("bench what=pairs; n=20 | ours", "", "2.50 s"),
        ("bench what=pairs; n=20 | ours | value", "", "2.50"),
        ("bench what=pairs; n=10 | ours", "", "1 250 ms, over 3.1"),
        ("bench what=pairs; n=10 | ours | over", "", "3.1"),
        ("bench what=pairs; n=10 | ours | time", ".2f x0.001", "1.25"),
        ("bench what=pairs; n=10 | runner-up | value", "", "4"),
        ("bench what=hits | share", ".0f x100", "87"),
        ("bench what=hits | share | of", "", "10 878"),
        ("bench what=both | share | values | 2", "", "8.0"),
    ],
)
def test_a_figure_is_rewritten_whatever_it_was(key, form, text, results):
    assert on_page("Power: old.", (key, form), results) == f"Power: {text}."
    assert on_page(f"Power: {text}.", (key, form), results) == f"Power: {text}."


def test_line_breaks_in_the_text_do_not_matter(results):
    listed = [Figure("page.md", "of {} in {} runs", (("verdict power | 1", ""), ("bench what=pairs; n=20 | ours", "")))]
    assert rewritten("of\nthat in 3 s\nruns", listed, results) == "of\ndoes not hold in 2.50 s\nruns"
    assert rewritten("of does\nnot hold in 3 s runs", listed, results) == "of does\nnot hold in 2.50 s runs"


def test_a_table_is_rewritten_below_its_header(results):
    header = "| points | ours |"
    listed = [QuotedTable("page.md", header, "rows n as points; ours | what=pairs")]
    table = f"{header}\n|---|---|\n| 10 | 1 250 ms, over 3.1 |\n| 20 | 2.50 s |\n"
    assert rewritten(f"A\n\n{header}\n|---|---|\n| 1 | 2 |\n\nB", listed, results) == f"A\n\n{table}\nB"
    assert rewritten(table, listed, results) == table
    with pytest.raises(ao.InputError, match="0 tables with the header"):
        rewritten("A", listed, results)


def test_all_claims_are_listed_with_their_verdicts(results):
    assert "| AE sees all. | **does not hold** | `power` |" in results.text("verdicts")


@pytest.mark.parametrize(
    "key",
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
        "bench what=pairs; n=10 | ours | under",
        "rows what",
        "rows n | what=trios",
    ],
)
def test_a_key_without_an_entry_is_named_in_one_line(key, results):
    with pytest.raises(ao.InputError, match="asks for") as refused:
        results.text(key)
    assert key in str(refused.value)


@pytest.mark.parametrize("text", ["", "Power: 1. Power: 2."])
def test_text_that_is_missing_or_repeated_is_named_in_one_line(text, results):
    with pytest.raises(ao.InputError, match="correct the text"):
        on_page(text, ("value power | crossed, AE", ""), results)


def test_only_pages_whose_figures_changed_are_written(results, tmp_path):
    write_pages(tmp_path, "Power: ?.", '{ key = "value power | crossed, AE" }')
    assert [path.name for path in fill(tmp_path, results)] == ["README.md"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "Power: 0.0512."
    assert fill(tmp_path, results) == []


@pytest.mark.parametrize("arguments", [["power"], ["power", "--quick"]])
def test_full_runs_bring_pages_up_to_date_and_quick_ones_leave_them(arguments, monkeypatch, tmp_path):
    code = SimpleNamespace(run=lambda study: study.value("share", 0.5, 0.1), TITLE="", QUESTION="", DATA=())
    monkeypatch.setattr(runner, "_load", lambda _: code)
    monkeypatch.setattr(runner, "CHECKOUT", tmp_path)
    monkeypatch.setattr(experiments.__main__, "CHECKOUT", tmp_path)
    monkeypatch.setattr(runner, "default_output", lambda _: tmp_path / "results")
    monkeypatch.setattr(runner, "differences", lambda _: [])
    write_pages(tmp_path, "Power: ?.", '{ key = "value power | share" }')
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert ("0.5" in (tmp_path / "README.md").read_text(encoding="utf-8")) == (arguments == ["power"])
