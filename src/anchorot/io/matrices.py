"""Arrays of numbers from .npz, .npy and .txt files. Nothing here ever unpickles."""

import math
import os
import threading
import zipfile
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from anchorot.exceptions import InputError
from anchorot.io.gate import check_limit, opened, reading
from anchorot.io.marks import Columns
from anchorot.io.options import ReadOptions
from anchorot.io.stored import STORED
from anchorot.io.tables import marked, read_table
from anchorot.io.text import lines_of, numbers, whole_number

FORMS = ({"cost"}, {"points"}, {"V", "F"})  # what an .npz file may hold, and what goes with each:
MARKS = {"types", "features"}
POINTWISE = MARKS | {"weights", "labels"}
EXTRAS = {"cost": POINTWISE | STORED, "points": POINTWISE, "V": MARKS, "F": MARKS}  # others are left alone
PIECE = 1 << 24  # bytes read at a time
_PARSING = threading.Lock()  # headers are Python literals, which CPython 3.11 parses wrongly in two threads at once


def read_npz(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Arrays of an .npz file that make a space: `cost`, `points`, or a mesh `V` and `F`; and `EXTRAS`.

    Types and features are the arrays of these names, or those that the options name.
    """
    with opened(file) as handle:
        return arrays_in(handle, options)


def arrays_in(handle: BinaryIO, options: ReadOptions) -> dict[str, Any]:
    """Arrays that make a space, of an open .npz file."""
    with reading("an .npz archive of plain numbers"), zipfile.ZipFile(handle) as archive:
        known = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        forms = [form for form in FORMS if form <= set(known)]
        if len(forms) != 1:
            held = ", ".join(known) or "nothing"
            raise InputError(f"an .npz file needs one of: 'cost'; 'points'; 'V' and 'F'. This one holds {held}")
        extras = set().union(*(EXTRAS[name] for name in forms[0])) & set(known)
        wanted = {name: known[name] for name in {*forms[0], *extras}}
        wanted |= {name: Columns("array", known)[name] for name in options.wanted}
        check_limit(sum(member.file_size for member in wanted.values()), "what is packed into it", options.limit)
        arrays = {name: _member(archive, member) for name, member in wanted.items()}
    found = {name: arrays[name] for name in {*forms[0], *extras}}
    rows = next(found[name] for name in ("cost", "points", "V") if name in found)
    for name in {"types", "labels"} & set(found):
        found[name] = _names(found[name], name, rows)
    return found | marked(rows, Columns("array", arrays), options) if options.wanted else found


def members_of(file: Path) -> set[str]:
    """Names of the arrays of an .npz file."""
    with opened(file) as handle, reading("an .npz archive"), zipfile.ZipFile(handle) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist()}


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    with archive.open(member) as handle:
        return _array(handle, member.file_size, member.filename)


def _array(handle: IO[bytes], size: int, name: str) -> Any:
    """Array of an .npy file of so many bytes; a header that promises another size is refused before memory is taken."""
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
    if array.nbytes:
        _fill(array.view(np.uint8).data, handle, name)
    return array.reshape(shape, order="F" if is_fortran else "C")


def _fill(memory: memoryview, handle: IO[bytes], name: str) -> None:
    while memory:
        data = handle.read(min(len(memory), PIECE))
        if not data:
            raise InputError(f"{name} ends before its header says")
        memory[: len(data)] = data
        memory = memory[len(data) :]


def _names(names: Any, what: str, rows: Any) -> list[Any]:
    if names.ndim != 1 or rows.ndim == 0 or len(names) != len(rows):
        raise InputError(f"{what} has shape {names.shape}, but one for each point is needed")
    return names.tolist()


def read_npy(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Array of a .npy file."""
    with opened(file) as handle, reading("a .npy array of plain numbers"):
        size = os.fstat(handle.fileno()).st_size
        check_limit(size, "the file", options.limit)
        found = _array(handle, size, "the array")
    return {"cost": found, **marked(found, Columns("column"), options)}


def read_txt(file: Path, options: ReadOptions) -> dict[str, Any]:
    """Matrix of numbers separated by blanks, or the format of the authors' program."""
    found = _matrix_of(lines_of(file, options.limit))
    return found | marked(found["cost"], Columns("column"), options)


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
        held = " x ".join(map(str, found["cost"].shape))
        raise InputError(f"the first line promises a {n} x {n} matrix, but the lines hold {held} numbers")
    if len(lines) == n + 2:
        found["weights"] = numbers(lines[n + 1 :], None)[0]
    return found


MATRIX_READERS = {".npz": read_npz, ".npy": read_npy, ".csv": read_table, ".tsv": read_table, ".txt": read_txt}
