"""Figures on pages, compared with the records they come from and rewritten from them.

`docs/figures.toml` lists them. A `[[figure]]` names a page, a piece of its text with `{}` in place of each figure, and
for each figure a key and a format; a `[[table]]` names a page, the header row of a table and a key. Keys are

    value power | crossed, AE                      a value of an experiment
    cell beyond | cells.csv | data=scGEM | FOSCTTM an entry of one of its tables
    part trade_off | AE less AW (exact)            a number that judges a claim, with its interval
    verdict barycenters | 1                        the verdict of its first claim
    bench n=1000; solver=ours | time               an entry of a benchmark's table, with its unit
    bench n=1000; solver=ours | time | value       what it has under that name; its numbers count from 1
    rows what as problem; ours | holds=yes         columns of a benchmark's table
    verdicts                                       all claims with their verdicts

and a format is one of Python's, with a factor if need be: `.1f x0.001` turns milliseconds into seconds.
"""

import csv
import json
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import anchorot as ao
from benchmarks.record import RECORD, Cell, shown
from experiments.common.files import write_whole
from experiments.common.page import markdown_table
from experiments.common.record import Table, conditions, entry, formatted, number_of, read_tables, rows
from experiments.common.rules import Interval
from experiments.common.study import SUMMARY

FIGURES = Path("docs") / "figures.toml"
HOLE = "{}"
LONGEST = 120  # characters of a figure


class Results:
    """The results that experiments wrote into a folder, in the order of the names, and the record of benchmarks."""

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

    def text(self, key: str, form: str = "") -> str:
        """Return the figure or table of a key."""
        first, *parts = key.split(" | ")
        kind, _, name = first.partition(" ")
        try:
            found = getattr(self, f"_{kind}")(*([name] if name else []), *parts)
            return formatted(number_of(found), form) if form else shown(found)
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError, OSError):
            source = self.benchmarks if kind in ("bench", "rows") else self.folder
            raise ao.InputError(
                f"{FIGURES} asks for {key!r} as {form!r}, but {source} has no such entry, or more than one; "
                "run the measurement or correct the key"
            ) from None

    def _value(self, name: str, key: str) -> str:
        return format(self.summaries[name]["values"][key]["value"], ".3g")

    def _cell(self, name: str, file: str, where: str, column: str) -> str:
        """One entry of a table, of the first row that has the given entries."""
        wanted = conditions(where)
        with (self.folder / name / file).open(newline="", encoding="utf-8") as handle:
            row = next(row for row in csv.DictReader(handle) if all(row[key] == its for key, its in wanted.items()))
        return row[column]

    def _verdict(self, name: str, number: str) -> str:
        """Whether the claim of that number, from 1 on, holds."""
        return str(dict(enumerate(self.summaries[name]["claims"], 1))[int(number)]["verdict"])

    def _part(self, name: str, what: str) -> str:
        """Return a number that judges a claim, with its interval."""
        parts = [part for claim in self.summaries[name]["claims"] for part in claim["parts"]]
        part = next(part for part in parts if part["what"] == what)
        return str(Interval(*(part[key] for key in ("value", "low", "high", "error"))))

    def _bench(self, where: str, *names: str) -> Cell:
        """Return an entry of the record of benchmarks, or what it has under these names."""
        return entry(self.record, where, *names)

    def _rows(self, columns: str, *where: str) -> str:
        """Return a table of the record of benchmarks, or a part of it."""
        return rows(self.record, columns, *where)

    def _verdicts(self) -> str:
        """Every claim with its verdict."""
        table = [
            {"claim": claim["claim"], "verdict": f"**{claim['verdict']}**", "experiment": f"`{name}`"}
            for name, summary in self.summaries.items()
            for claim in summary["claims"]
        ]
        return markdown_table(table)


@dataclass(frozen=True)
class Figure:
    """Figures in one piece of text: `{}` stands for each, with its key and format."""

    page: str
    text: str
    values: tuple[tuple[str, str], ...]

    def rewritten(self, page: str, results: Results) -> str:
        """Return the page with these figures as the results have them."""
        new = [results.text(key, form) for key, form in self.values]
        literals = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in self.text.split(HOLE)]
        figure = f"([^|]{{1,{LONGEST}}}?)"  # between whole words: in "0.5." it is "0.5", not "0"
        found = list(re.finditer(rf"(?<!\w){figure.join(literals)}(?!\w)", page))
        if len(found) != 1 or len(literals) != len(new) + 1:
            raise ao.InputError(
                f"{self.page} has {len(found)} places with the text {self.text!r}, but {FIGURES} needs one, "
                f"with {len(new)} figures; correct the text in {FIGURES}"
            )
        [place] = found
        for number in range(len(new), 0, -1):
            if place[number].split() != new[number - 1].split():
                page = page[: place.start(number)] + new[number - 1] + page[place.end(number) :]
        return page


@dataclass(frozen=True)
class QuotedTable:
    """A whole table of a page: all lines below its header row are made from a key."""

    page: str
    header: str
    key: str

    def rewritten(self, page: str, results: Results) -> str:
        """Return the page with this table as the results have it."""
        found = list(re.finditer(rf"^{re.escape(self.header)}\n(?:\|.*\n)*", page, re.MULTILINE))
        if len(found) != 1:
            raise ao.InputError(
                f"{self.page} has {len(found)} tables with the header {self.header!r}, but {FIGURES} needs one; "
                f"correct the header in {FIGURES}"
            )
        new = results.text(self.key)
        if not new.startswith(f"{self.header}\n"):
            raise ao.InputError(f"the table of {self.key!r} has another header than {self.header!r} in {FIGURES}")
        return page[: found[0].start()] + new + page[found[0].end() :]


def read_figures(checkout: Path) -> dict[str, list[Figure | QuotedTable]]:
    """Return what `docs/figures.toml` lists, by page."""
    listed = tomllib.loads((checkout / FIGURES).read_text(encoding="utf-8"))
    by_page: dict[str, list[Figure | QuotedTable]] = {}
    for one in listed.get("figure", []):
        values = tuple((value["key"], value.get("format", "")) for value in one["values"])
        by_page.setdefault(one["page"], []).append(Figure(one["page"], one["text"], values))
    for one in listed.get("table", []):
        by_page.setdefault(one["page"], []).append(QuotedTable(one["page"], one["header"], one["key"]))
    return by_page


def rewritten(page: str, listed: list[Figure | QuotedTable], results: Results) -> str:
    """Return the text of a page with all its figures as the results have them."""
    for one in listed:
        page = one.rewritten(page, results)
    return page


def fill(checkout: Path, results: Results) -> list[Path]:
    """Rewrite the figures on all pages; return the pages that changed."""
    changed = []
    for name, listed in read_figures(checkout).items():
        path = checkout / name
        old = path.read_text(encoding="utf-8")
        new = rewritten(old, listed, results)
        if new != old:
            write_whole(path, new)
            changed.append(path)
    return changed
