"""The record of the benchmarks, `benchmarks/record.toml`, whose entries and rows pages quote."""

import re
import tomllib
from pathlib import Path
from typing import Any

from experiments.common.code import CHECKOUT
from experiments.common.files import write_whole
from experiments.common.page import markdown_table

RECORD = CHECKOUT / "benchmarks" / "record.toml"
INTRODUCTION = "Generated from `record.toml` by `python -m experiments.fill`.\n"
NUMBER = re.compile(r"(?<![\w.])[-+]?\d{1,3}(?:[ ,]\d{3})+(?![\d.])|(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

Row = dict[str, str]
Table = list[Row]


def read_tables(record: Path) -> list[Table]:
    """Return the tables of a record, each as its rows by column."""
    parts = [part for section in _sections(record) for part in section["part"] if "columns" in part]
    return [[dict(zip(part["columns"], row, strict=True)) for row in part["rows"]] for part in parts]


def write_results(record: Path) -> Path:
    """Write RESULTS.md beside a record: its texts and tables, with command, machine and commit."""
    page = [INTRODUCTION]
    for section in _sections(record):
        title = section["command"]
        page.append(f"# {f'`{title}`' if title.startswith('python') else title}\n")
        how = ", measured by hand" if section.get("by_hand") else ""
        page.append(f"{section['machine']}; commit {section['commit']}{how}\n")
        for part in section["part"]:
            if "text" in part:
                page.append(part["text"] + "\n")
            else:
                page.append(markdown_table([dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]))
    path = record.with_name("RESULTS.md")
    write_whole(path, "\n".join(page))
    return path


def _sections(record: Path) -> list[dict[str, Any]]:
    sections: list[dict[str, Any]] = tomllib.loads(record.read_text(encoding="utf-8"))["section"]
    return sections


def entry(tables: list[Table], where: str, column: str, number: str = "", form: str = "") -> str:
    """Return an entry of the one row that has the given entries; or a number in it, counted from 1, in another form."""
    [row] = _chosen(tables, conditions(where), [column])
    text = row[column]
    if not number:
        return text
    found = NUMBER.findall(text)[int(number) - 1]
    return formatted(float(re.sub("[ ,]", "", found)), form) if form else str(found)


def formatted(number: float, form: str) -> str:
    """Return a number in one of the forms of Python; `.1f x0.001` has a factor, and makes seconds of milliseconds."""
    spec, _, factor = form.partition(" x")
    return format(number * float(factor or 1), spec)


def rows(tables: list[Table], columns: str, where: str = "") -> str:
    """Return the columns, as `name` or `name as another`, of all rows of one table that have the given entries."""
    names = dict((name.split(" as ") * 2)[:2] for name in columns.split("; "))
    chosen = _chosen(tables, conditions(where), list(names))
    return markdown_table([{shown: row[name] for name, shown in names.items()} for row in chosen])


def conditions(where: str) -> Row:
    """Return the entries that a row must have, from `column=entry; column=entry`."""
    return dict(pair.split("=", 1) for pair in where.split("; ")) if where else {}


def _chosen(tables: list[Table], entries: Row, columns: list[str]) -> Table:
    """Return the rows with these entries of the one table that has such rows and columns."""
    wanted = {*entries, *columns}
    fitting = [
        [row for row in table if all(row[key] == its for key, its in entries.items())]
        for table in tables
        if table and wanted <= table[0].keys()
    ]
    [only] = [table for table in fitting if table]
    return only
