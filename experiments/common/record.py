"""The record of the benchmarks: all tables in `benchmarks/*.md`, whose entries and rows pages quote.

Scripts write RESULTS.md by themselves; KEPT.md has figures that were measured by hand, and no script overwrites.
"""

import re
from pathlib import Path

from experiments.common.code import CHECKOUT
from experiments.common.page import markdown_table

RECORD = CHECKOUT / "benchmarks"
NUMBER = re.compile(r"(?<![\w.])[-+]?\d{1,3}(?:[ ,]\d{3})+(?![\d.])|(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

Row = dict[str, str]
Table = list[Row]


def read_tables(folder: Path) -> list[Table]:
    """Return the tables on all pages of a folder, each as its rows by column."""
    found: list[Table] = []
    head: list[str] | None = None
    for line in "\n\n".join(page.read_text(encoding="utf-8") for page in sorted(folder.glob("*.md"))).splitlines():
        if not line.startswith("|"):
            head = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if head is None:
            head = cells
            found.append([])
        elif not set(line) <= set("|-: "):
            found[-1].append(dict(zip(head, cells, strict=True)))
    return found


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
