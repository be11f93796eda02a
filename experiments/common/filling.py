"""Numbers of experiments and benchmarks in pages of the documentation: put there from the results, never typed.

A page asks for what it wants between two comments, and what stands between them is replaced:

    <!-- results: value power | crossed, AE | .2f -->0.05<!-- /results -->
    <!-- results: cell beyond | cells.csv | data=scGEM; method=align | FOSCTTM -->0.208 ± 0.013<!-- /results -->
    <!-- results: part trade_off | AE less AW (exact) -->-0.041 ± 0.017 (-0.074 to -0.007)<!-- /results -->
    <!-- results: verdict barycenters | 1 -->undecided<!-- /results -->
    <!-- results: verdicts -->  all claims with their verdicts  <!-- /results -->
    <!-- results: bench n=1000; epsilon=0.01; solver=ours, with the costs | time -->0.428 s<!-- /results -->
    <!-- results: bench what=AE, float64, 1000 pairs | ours | 1 | .0f -->2<!-- /results -->
    <!-- results: bench what=in a table, where a bar would end the cell ¦ ours -->2.33 ms<!-- /results -->
    <!-- results: rows what as problem; ours | holds=yes -->  two columns of a table of benchmarks  <!-- /results -->
"""

import csv
import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import anchorot as ao
from experiments.common.files import write_whole
from experiments.common.page import markdown_table
from experiments.common.record import RECORD, Table, conditions, entry, formatted, read_tables, rows
from experiments.common.rules import Interval
from experiments.common.study import SUMMARY

REGION = re.compile(r"<!-- results: (?P<wanted>.*?) -->(?P<text>.*?)<!-- /results -->", re.DOTALL)
PAGES = ("README.md", "docs/*.md", "docs/guides/*.md")


class Results:
    """The answers that experiments wrote into a folder, in the order of the names, and the record of benchmarks."""

    def __init__(self, folder: Path, names: tuple[str, ...], benchmarks: Path = RECORD) -> None:
        self.folder = folder
        self.benchmarks = benchmarks
        self.summaries: dict[str, dict[str, Any]] = {
            name: json.loads((folder / name / SUMMARY).read_text(encoding="utf-8"))
            for name in names
            if (folder / name / SUMMARY).exists()
        }

    @cached_property
    def record(self) -> list[Table]:
        """All tables of the benchmarks."""
        return read_tables(self.benchmarks)

    def text(self, wanted: str) -> str:
        """Return what a page asks for."""
        first, *parts = re.split(r" [|¦] ", wanted)
        kind, _, name = first.partition(" ")
        try:
            return str(getattr(self, f"_{kind}")(*([name] if name else []), *parts))
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError, OSError):
            source = self.benchmarks if kind in ("bench", "rows") else self.folder
            raise ao.InputError(
                f"a page asks for {wanted!r}, which {source} does not have, or has twice; measure it, or ask otherwise"
            ) from None

    def _value(self, name: str, key: str, form: str = ".3g") -> str:
        return format(self.summaries[name]["values"][key]["value"], form)

    def _cell(self, name: str, file: str, where: str, column: str, form: str = "") -> str:
        """One entry of a table, of the first row that has the given entries."""
        wanted = conditions(where)
        with (self.folder / name / file).open(newline="", encoding="utf-8") as handle:
            row = next(row for row in csv.DictReader(handle) if all(row[key] == its for key, its in wanted.items()))
        return formatted(float(row[column]), form) if form else row[column]

    def _verdict(self, name: str, number: str) -> str:
        """Whether the claim of that number, from 1 on, holds."""
        return str(dict(enumerate(self.summaries[name]["claims"], 1))[int(number)]["verdict"])

    def _part(self, name: str, what: str) -> str:
        """Return a number that judges a claim, with its interval."""
        parts = [part for claim in self.summaries[name]["claims"] for part in claim["parts"]]
        part = next(part for part in parts if part["what"] == what)
        return str(Interval(*(part[key] for key in ("value", "low", "high", "error"))))

    def _bench(self, where: str, *options: str) -> str:
        """Return an entry of the record of benchmarks, or a number in it."""
        return entry(self.record, where, *options)

    def _rows(self, columns: str, *where: str) -> str:
        """Return a table of the record of benchmarks, or a part of it."""
        return rows(self.record, columns, *where)

    def _verdicts(self) -> str:
        """Every claim with its verdict."""
        rows = [
            {"claim": claim["claim"], "verdict": f"**{claim['verdict']}**", "experiment": f"`{name}`"}
            for name, summary in self.summaries.items()
            for claim in summary["claims"]
        ]
        return f"\n{markdown_table(rows)}"


def filled(text: str, results: Results) -> str:
    """Return a page with all that it asks for."""
    if text.count("<!-- results: ") != len(REGION.findall(text)):
        raise ao.InputError("a region of results is not closed; end it with <!-- /results -->")

    def region(found: re.Match[str]) -> str:
        return f"<!-- results: {found['wanted']} -->{results.text(found['wanted'])}<!-- /results -->"

    return REGION.sub(region, text)


def written_pages(checkout: Path) -> list[Path]:
    """Return the pages that people read."""
    return [path for pattern in PAGES for path in sorted(checkout.glob(pattern))]


def pages(checkout: Path) -> list[Path]:
    """Return those that ask for results."""
    return [path for path in written_pages(checkout) if "<!-- results: " in path.read_text(encoding="utf-8")]


def fill(checkout: Path, results: Results) -> list[Path]:
    """Bring all pages up to date; return those that changed."""
    changed = []
    for path in pages(checkout):
        old = path.read_text(encoding="utf-8")
        new = filled(old, results)
        if new != old:
            write_whole(path, new)
            changed.append(path)
    return changed
