"""Read numbers from .npz, .npy, .csv, .tsv and .txt files; nothing is ever unpickled."""

import csv
import math
import os
import re
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import InputError
from anchorot.io.attributes import attributes_of
from anchorot.io.columns import Columns
from anchorot.io.names import ending_of
from anchorot.io.options import ReadOptions
from anchorot.io.safe_open import (
    check_limit,
    check_no_underscore,
    is_number,
    lines_of,
    numbers,
    opened,
    reading,
    whole_number,
)
from anchorot.io.stored import STORED

FORMS = ({"cost"}, {"points"}, {"V", "F"})  # what an .npz file may hold, and the optional arrays of each:
ATTRIBUTES = {"types", "features"}
POINTWISE = ATTRIBUTES | {"weights", "labels"}
EXTRAS = {"cost": POINTWISE | STORED, "points": POINTWISE, "V": ATTRIBUTES, "F": ATTRIBUTES}  # others are ignored
PIECE_BYTES = 1 << 24  # bytes read at a time
_PARSING = threading.Lock()  # headers are Python literals, and CPython 3.11's parser is not thread-safe
SEPARATORS = {".csv": ",", ".tsv": "\t"}
MISSING_TEXTS = ("", "nan")
INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")


def read_npz(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Return the arrays of an .npz file that make a space: `cost`, `points`, or a mesh `V` and `F`; and `EXTRAS`.

    Types and features are the arrays with these names, or those named in the options.
    """
    with opened(file) as handle:
        return arrays_in(handle, options)


def arrays_in(handle: BinaryIO, options: ReadOptions) -> dict[str, Any]:
    """Return the arrays of an open .npz file that make a space."""
    with reading("an .npz archive of plain numbers"), zipfile.ZipFile(handle) as archive:
        known = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        forms = [form for form in FORMS if form <= set(known)]
        if len(forms) != 1:
            found_names = ", ".join(known) or "nothing"
            raise InputError(f"an .npz file needs one of: 'cost'; 'points'; 'V' and 'F'. This one holds {found_names}")
        extras = set().union(*(EXTRAS[name] for name in forms[0])) & set(known)
        wanted = {name: known[name] for name in {*forms[0], *extras}}
        wanted |= {name: Columns("array", known)[name] for name in options.wanted}
        check_limit(sum(member.file_size for member in wanted.values()), "its content", options.limit)
        arrays = {}
        for name, member in wanted.items():
            with archive.open(member) as part:
                arrays[name] = _array(part, member.file_size, member.filename)
    found = {name: arrays[name] for name in {*forms[0], *extras}}
    rows = next(found[name] for name in ("cost", "points", "V") if name in found)
    for name in {"types", "labels"} & set(found):
        found[name] = _names(found[name], name, rows)
    return found | named_attributes(rows, Columns("array", arrays), options) if options.wanted else found


def members_of(file: Path) -> set[str]:
    """Return the names of the arrays of an .npz file."""
    with opened(file) as handle, reading("an .npz archive"), zipfile.ZipFile(handle) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist()}


def _array(handle: IO[bytes], size: int, name: str) -> Any:
    """Return the array of an .npy file of `size` bytes; raise before allocating if the header promises another size."""
    with _PARSING:
        version = np.lib.format.read_magic(handle)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read_header(handle)
    if dtype.hasobject:
        raise InputError(f"{name} holds Python objects, but plain numbers or text are needed")
    count = math.prod(int(side) for side in shape)
    promised = count * dtype.itemsize + handle.tell()
    if promised != size or (dtype.itemsize == 0 and count > size):
        raise InputError(f"the header of {name} promises {count} entries, {promised} bytes, but it has {size}")
    array = np.empty(count, dtype)
    rest = array.view(np.uint8).data if array.nbytes else memoryview(b"")
    while rest:
        data = handle.read(min(len(rest), PIECE_BYTES))
        if not data:
            raise InputError(f"{name} ends before its header says")
        rest[: len(data)] = data
        rest = rest[len(data) :]
    return array.reshape(shape, order="F" if is_fortran else "C")


def _names(names: Any, what: str, rows: Any) -> list[Any]:
    if names.ndim != 1 or rows.ndim == 0 or len(names) != len(rows):
        raise InputError(f"{what} has shape {names.shape}, but one value per point is needed")
    return names.tolist()


def read_npy(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Read the array of a .npy file."""
    with opened(file) as handle, reading("a .npy array of plain numbers"):
        size = os.fstat(handle.fileno()).st_size
        check_limit(size, "the file", options.limit)
        found = _array(handle, size, "the array")
    return {"cost": found, **named_attributes(found, Columns("column"), options)}


def read_txt(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Read a matrix of numbers separated by blanks, or the format of the paper's authors."""
    found = _matrix_of(lines_of(file, options.limit))
    return found | named_attributes(found["cost"], Columns("column"), options)


def _matrix_of(lines: list[str]) -> dict[str, Any]:
    head = lines[0].split()
    n = whole_number(head[0]) if len(head) == 1 else None
    if n is None or len(lines) == 1:
        return {"cost": numbers(lines, None)}
    if len(lines) not in (n + 1, n + 2):
        raise InputError(
            f"the first line promises {n} lines of {n} costs (and one of weights), but {len(lines) - 1} follow"
        )
    found: dict[str, Any] = {"cost": numbers(lines[1 : n + 1], None)}
    if found["cost"].shape != (n, n):
        shape = " x ".join(map(str, found["cost"].shape))
        raise InputError(f"the first line promises a {n} x {n} matrix, but the lines hold {shape} numbers")
    if len(lines) == n + 2:
        found["weights"] = numbers(lines[n + 1 :], None)[0]
    return found


@dataclass(frozen=True, eq=False)
class Table:
    """A table of unparsed cells, with names of columns and rows, if any."""

    columns: dict[str, list[str]]
    header: bool
    index: str | None  # the column that names the rows

    @property
    def labels(self) -> list[str] | None:
        """Names of the rows."""
        return None if self.index is None else self.columns[self.index]


def read_table(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Read numbers from a .csv or .tsv file, with types and features named in the options, and names of rows.

    The first line is a header if its first cell is empty or another cell is a text. A first column that has no name, or
    that holds texts and is not requested, holds the names of the rows.
    """
    lines = lines_of(file, options.limit)
    separator = SEPARATORS[ending_of(file)]
    requested = (*options.wanted, *(options.columns or ()))
    first = lines[0].split(separator)
    if all(is_number(cell) for cell in first):
        cost = numbers(lines, separator)
        return {"cost": cost, **named_attributes(cost, Columns("column"), options)}
    return _found(_parsed(lines, separator, requested), options)


def named_columns(file: Path, limit: int) -> Columns:
    """Return the columns of a .csv or .tsv file with a header, as numbers where all cells are, else as texts."""
    table = _parsed(lines_of(file, limit), SEPARATORS[ending_of(file)], ())
    if not table.header:
        raise InputError("columns are requested by name, but the first line is not a header")
    return _columns(table.columns)


def _found(table: Table, options: ReadOptions) -> dict[str, Any]:
    wanted = Columns("column", table.columns)
    taken = options.columns or [name for name in table.columns if name != table.index and name not in options.wanted]
    if not taken:
        raise InputError("there are no numbers beside the names of the rows, types and features")
    cost = np.stack([_numbers(wanted[name], name, table) for name in taken], axis=1)
    named = {name: cells for name, cells in table.columns.items() if table.header}
    columns = _columns(named, options.wanted)
    found: dict[str, Any] = {"cost": cost, **named_attributes(cost, columns, options, table.labels)}
    if table.labels is not None:
        found["labels"] = table.labels
    elif options.kind in (None, "cost") and cost.shape[0] == cost.shape[1]:
        found["labels"] = taken
    return found


def named_attributes(
    rows: Any, columns: Columns, options: ReadOptions, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the types and features named in the options, one per row."""
    count = len(rows) if np.ndim(rows) else 0
    attributes = attributes_of(options.types, options.features, names or range(count), columns, "the file")
    both = {"types": attributes.types, "features": attributes.features}
    return {name: values for name, values in both.items() if values is not None}


def _columns(cells: dict[str, list[str]], wanted: Sequence[str] | None = None) -> Columns:
    """Parse the wanted columns, as numbers where all cells are, else as texts; keep the others unparsed."""
    requested = list(cells) if wanted is None else [name for name in wanted if name in cells]
    values = {name: _values(cells[name]) for name in requested}
    return Columns("column", {**cells, **values}, {name: _ids(cells[name]) for name in requested})


def _parsed(lines: list[str], separator: str, requested: tuple[str, ...]) -> Table:
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    except csv.Error as error:
        raise InputError(f"not a table that can be read ({error})") from None
    head = rows[0]
    is_header = len(head) == 1 or not head[0] or not all(is_number(cell) for cell in head[1:])
    if is_header and len(rows) == 1:
        raise InputError("there is a header, but no line of numbers after it")
    body = rows[1:] if is_header else rows
    if is_header and len(body[0]) == len(head) + 1:  # R's format
        head = ["", *head]
    for number, row in enumerate(body, start=len(rows) - len(body) + 1):
        if len(row) != len(head):
            raise InputError(f"line {number} has {len(row)} cells, but line 1 has {len(head)}")
    names = head if is_header else [str(number) for number in range(len(head))]
    columns = {name: list(cells) for name, cells in zip(names, zip(*body, strict=True), strict=True)}
    if len(columns) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {twice!r}, but names must differ")
    is_index = not names[0] or (names[0] not in requested and not all(is_number(cell) for cell in columns[names[0]]))
    return Table(columns, is_header, names[0] if is_index else None)


def _numbers(cells: list[str], name: str, table: Table) -> Float64s:
    try:
        check_no_underscore(" ".join(cells))
        return np.array(cells, dtype=np.float64)
    except ValueError:
        wrong = next(number for number, cell in enumerate(cells) if not is_number(cell))
        raise InputError(
            f"the column {name!r} has {cells[wrong][:40]!r} in line {wrong + 1 + table.header}, but needs numbers; "
            "use it as types, or name the columns to read: columns=[...] (--columns)"
        ) from None


def _values(cells: list[str]) -> Any:
    """Return cells as an array of numbers (integers if all are), or as texts with None for missing ones."""
    if all(is_number(cell) for cell in cells):
        is_whole = all(whole_number(cell.removeprefix("-")) is not None for cell in cells)
        return np.array(cells, dtype=np.int64) if is_whole else np.array(cells, dtype=np.float64)
    return [None if cell.lower() in MISSING_TEXTS else cell for cell in cells]


def _ids(cells: list[str]) -> list[Any]:
    """Return cells as identifiers: integers if all are written as such, else texts with None for missing ones."""
    if all(INTEGER.fullmatch(cell) for cell in cells):
        return [int(cell) for cell in cells]
    return [None if cell.lower() in MISSING_TEXTS else cell for cell in cells]


MATRIX_READERS = {".npz": read_npz, ".npy": read_npy, ".csv": read_table, ".tsv": read_table, ".txt": read_txt}
