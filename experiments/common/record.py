"""The record of the benchmarks, `benchmarks/record.toml`, whose entries and rows pages quote."""

import re
from pathlib import Path

from benchmarks.record import Cell, number, read, shown, to_toml
from experiments.common.files import write_whole
from experiments.common.page import markdown_table

INTRODUCTION = "Generated from `record.toml` by `python -m experiments.fill`.\n"

Row = dict[str, Cell]
Table = list[Row]


def read_tables(record: Path) -> list[Table]:
    """Return the tables of a record, each as its rows by column."""
    parts = [part for section in read(record) for part in section["part"] if "columns" in part]
    return [[dict(zip(part["columns"], row, strict=True)) for row in part["rows"]] for part in parts]


def write_record(record: Path) -> None:
    """Write a record anew, where measurements that were typed as text become numbers with units."""
    write_whole(record, to_toml(read(record)))


def write_results(record: Path) -> Path:
    """Write RESULTS.md beside a record: its texts and tables, with command, machine and commit."""
    page = [INTRODUCTION]
    for section in read(record):
        title = section["command"]
        page.append(f"# {f'`{title}`' if title.startswith('python') else title}\n")
        how = ", measured by hand" if section.get("by_hand") else ""
        page.append(f"{section['machine']}; commit {section['commit']}{how}\n")
        for part in section["part"]:
            if "text" in part:
                page.append(part["text"] + "\n")
            else:
                shown_rows = [map(shown, row) for row in part["rows"]]
                page.append(markdown_table([dict(zip(part["columns"], row, strict=True)) for row in shown_rows]))
    path = record.with_name("RESULTS.md")
    write_whole(path, "\n".join(page))
    return path


def entry(tables: list[Table], where: str, column: str, *names: str) -> Cell:
    """Return an entry of the one row that has the given entries; or what it has under a name, and so on."""
    [row] = _chosen(tables, conditions(where), [column])
    found = row[column]
    for name in names:
        found = _numbers(found)[int(name) - 1] if name.isdigit() else found[name]
    return found


def _numbers(found: Cell) -> list[Cell]:
    """Return all numbers of an entry, in their order."""
    if isinstance(found, dict | list):
        return [one for its in (found.values() if isinstance(found, dict) else found) for one in _numbers(its)]
    return [] if isinstance(found, str | bool) else [found]


def number_of(found: Cell) -> float:
    """Return the number that an entry is, without its unit."""
    if isinstance(found, dict):
        found = found["value"]
    return float(number(found) if isinstance(found, str) else found)


def formatted(value: float, form: str) -> str:
    """Return a number in one of the forms of Python; `.1f x0.001` has a factor, and makes seconds of milliseconds."""
    spec, _, factor = form.partition(" x")
    return format(value * float(factor or 1), spec)


def rows(tables: list[Table], columns: str, where: str = "") -> str:
    """Return the columns, as `name` or `name as another`, of all rows of one table that have the given entries."""
    names = dict((name.split(" as ") * 2)[:2] for name in columns.split("; "))
    chosen = _chosen(tables, conditions(where), list(names))
    return markdown_table([{to: shown(row[name]) for name, to in names.items()} for row in chosen])


def conditions(where: str) -> dict[str, str]:
    """Return the entries that a row must have, from `column=entry; column=entry`."""
    return dict(pair.split("=", 1) for pair in where.split("; ")) if where else {}


def _chosen(tables: list[Table], entries: dict[str, str], columns: list[str]) -> Table:
    """Return the rows with these entries of the one table that has such rows and columns."""
    wanted = {*entries, *columns}
    fitting = [
        [row for row in table if all(_plain(shown(row[key])) == _plain(its) for key, its in entries.items())]
        for table in tables
        if table and wanted <= table[0].keys()
    ]
    [only] = [table for table in fitting if table]
    return only


def _plain(text: str) -> str:
    """Return a text whose numbers do not have their thousands apart."""
    return re.sub(r"(?<=\d)[ ,](?=\d{3})", "", text)
