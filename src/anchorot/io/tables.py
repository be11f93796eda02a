"""Tables of text, .csv and .tsv: numbers alone, or with a header, names of the rows, and columns of texts."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import InputError
from anchorot.io.marks import Columns, marks_of
from anchorot.io.options import ReadOptions
from anchorot.io.text import check_no_underscore, lines_of, numbers, whole_number

SEPARATORS = {".csv": ",", ".tsv": "\t"}
MISSING = ("", "nan")
WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of cells as they are written, with their names and those of the rows where there are any."""

    columns: dict[str, list[str]]
    header: bool
    index: str | None  # the column that names the rows

    @property
    def labels(self) -> list[str] | None:
        """Names of the rows."""
        return None if self.index is None else self.columns[self.index]


def read_table(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Numbers of a .csv or .tsv file, the types and features that the options name, and names of the rows.

    A first line with a text beyond its first cell, or with nothing in that, is a header. A first column without a name,
    or of texts that nobody asks for, has the names of the rows.
    """
    lines = lines_of(file, options.limit)
    separator = SEPARATORS[file.suffix.lower()]
    asked = (*options.wanted, *(options.columns or ()))
    first = lines[0].split(separator)
    if all(_is_number(cell) for cell in first):
        cost = numbers(lines, separator)
        return {"cost": cost, **marked(cost, Columns("column"), options)}
    return _found(_parsed(lines, separator, asked), options)


def named_columns(file: Path, limit: int) -> Columns:
    """Columns of a .csv or .tsv file with a header: numbers where all cells are, else texts."""
    table = _parsed(lines_of(file, limit), SEPARATORS[file.suffix.lower()], ())
    if not table.header:
        raise InputError("columns are asked for by name, but the first line is no header")
    return _columns(table.columns)


def _found(table: Table, options: ReadOptions) -> dict[str, Any]:
    wanted = Columns("column", table.columns)
    taken = options.columns or [name for name in table.columns if name != table.index and name not in options.wanted]
    if not taken:
        raise InputError("there are no numbers beside the names of the rows, types and features")
    cost = np.stack([_numbers(wanted[name], name, table) for name in taken], axis=1)
    named = {name: cells for name, cells in table.columns.items() if table.header}
    columns = _columns(named, options.wanted)
    found: dict[str, Any] = {"cost": cost, **marked(cost, columns, options, table.labels)}
    if table.labels is not None:
        found["labels"] = table.labels
    elif options.kind in (None, "cost") and cost.shape[0] == cost.shape[1]:
        found["labels"] = taken
    return found


def marked(rows: Any, columns: Columns, options: ReadOptions, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Types and features that the options name, of as many points as there are rows."""
    count = len(rows) if np.ndim(rows) else 0
    marks = marks_of(options.types, options.features, names or range(count), columns, "the file")
    both = {"types": marks.types, "features": marks.features}
    return {name: values for name, values in both.items() if values is not None}


def _columns(cells: dict[str, list[str]], wanted: Sequence[str] | None = None) -> Columns:
    """Columns of numbers where all cells are, else of texts; only those that are wanted, but all by name."""
    asked = list(cells) if wanted is None else [name for name in wanted if name in cells]
    values = {name: _values(cells[name]) for name in asked}
    return Columns("column", {**cells, **values}, {name: _ids(cells[name]) for name in asked})


def _parsed(lines: list[str], separator: str, asked: tuple[str, ...]) -> Table:
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    except csv.Error as error:
        raise InputError(f"not a table that can be read ({error})") from None
    head = rows[0]
    is_header = len(head) == 1 or not head[0] or not all(_is_number(cell) for cell in head[1:])
    if is_header and len(rows) == 1:
        raise InputError("there is a header, but no line of numbers after it")
    body = rows[1:] if is_header else rows
    if is_header and len(body[0]) == len(head) + 1:  # as R writes them
        head = ["", *head]
    for number, row in enumerate(body, start=len(rows) - len(body) + 1):
        if len(row) != len(head):
            raise InputError(f"line {number} has {len(row)} cells, but line 1 has {len(head)}")
    names = head if is_header else [str(number) for number in range(len(head))]
    columns = {name: list(cells) for name, cells in zip(names, zip(*body, strict=True), strict=True)}
    if len(columns) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {twice!r}, but each needs a name of its own")
    is_index = not names[0] or (names[0] not in asked and not all(_is_number(cell) for cell in columns[names[0]]))
    return Table(columns, is_header, names[0] if is_index else None)


def _numbers(cells: list[str], name: str, table: Table) -> Float64s:
    try:
        check_no_underscore(" ".join(cells))
        return np.array(cells, dtype=np.float64)
    except ValueError:
        wrong = next(number for number, cell in enumerate(cells) if not _is_number(cell))
        raise InputError(
            f"the column {name!r} has {cells[wrong][:40]!r} in line {wrong + 1 + table.header}, but needs numbers; "
            "ask for it as types, or name the columns to take: columns=[...] (--columns)"
        ) from None


def _values(cells: list[str]) -> Any:
    """Return cells as an array of numbers, integers if all are, or as texts, None where there is none."""
    if all(_is_number(cell) for cell in cells):
        is_whole = all(whole_number(cell.removeprefix("-")) is not None for cell in cells)
        return np.array(cells, dtype=np.int64) if is_whole else np.array(cells, dtype=np.float64)
    return [None if cell.lower() in MISSING else cell for cell in cells]


def _ids(cells: list[str]) -> list[Any]:
    """Return cells as names: integers if all are written as such, else texts; None where there is none."""
    if all(WHOLE.fullmatch(cell) for cell in cells):
        return [int(cell) for cell in cells]
    return [None if cell.lower() in MISSING else cell for cell in cells]


def _is_number(cell: str) -> bool:
    if "_" in cell:
        return False
    try:
        np.float64(cell)
    except ValueError:
        return False
    return True
