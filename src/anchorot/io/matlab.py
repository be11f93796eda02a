"""Numeric arrays of MATLAB files (level 5), at the top or in a struct.

SciPy's reader crashes the whole process on some damaged files; here every length is checked against the bytes that are
there, and a struct is not followed deeper than one level.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anchorot.exceptions import InputError

HEADER = 128
MATRIX, COMPRESSED = 14, 15
STRUCT = 2
NUMERIC_CLASSES = range(6, 16)  # double, single, and the integers
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MOST_BYTES = 1 << 31  # what the format itself allows


class Element(NamedTuple):
    """A piece of the file: what it is, and its bytes."""

    kind: int
    data: bytes


def read_matlab(file: Path) -> dict[str, Any]:
    """Numeric arrays by name; a struct is a dictionary of those in it. Anything else is left out."""
    content = file.read_bytes()
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None or len(content) <= HEADER:
        raise InputError("not a MATLAB file of level 5 (-v6 or -v7)")
    found: dict[str, Any] = {}
    for element in _elements(content[HEADER:], order):
        for part in _inflated(element, order):
            if part.kind == MATRIX:
                name, value = _matrix(part.data, order, depth=0)
                if value is not None:
                    found[name] = value
    return found


def _elements(data: bytes, order: str) -> Iterator[Element]:
    """Split bytes into tagged elements; those of up to four bytes have a short tag."""
    at = 0
    while at + 8 <= len(data):
        head = np.frombuffer(data, f"{order}u4", 2, at)
        kind, size = int(head[0]), int(head[1])
        if kind >> 16:
            kind, size = kind & 0xFFFF, kind >> 16
            begin, step = at + 4, 8
        else:
            begin = at + 8
            step = 8 + (size if kind == COMPRESSED else -(-size // 8) * 8)
        if begin + size > len(data) or (step == 8 and size > 4):
            raise InputError("the MATLAB file is damaged: a part of it is longer than the whole")
        yield Element(kind, data[begin : begin + size])
        at += step


def _inflated(element: Element, order: str) -> Iterator[Element]:
    if element.kind != COMPRESSED:
        yield element
        return
    try:
        data = zlib.decompressobj().decompress(element.data, MOST_BYTES)
    except zlib.error as error:
        raise InputError(f"the MATLAB file is damaged: {error}") from None
    yield from _elements(data, order)


def _matrix(data: bytes, order: str, depth: int) -> tuple[str, Any]:
    """Name and value of an array; None for what is neither numbers nor a struct of them."""
    parts = list(_elements(data, order))
    if len(parts) < 3 or len(parts[0].data) < 4:
        return "", None
    array_class = int(np.frombuffer(parts[0].data, f"{order}u4", 1)[0]) & 0xFF
    shape = [int(side) for side in _numbers(parts[1], order)]
    name = parts[2].data.decode("latin-1").rstrip("\0")
    if array_class in NUMERIC_CLASSES and len(parts) > 3:
        values = _numbers(parts[3], order)
        if min(shape, default=-1) < 0 or np.prod([float(side) for side in shape]) != len(values):
            raise InputError(f"the MATLAB file is damaged: an array of {shape} has {len(values)} numbers")
        return name, values.reshape(shape, order="F")
    if array_class == STRUCT and depth == 0 and len(parts) > 4:
        return name, _fields(parts, order)
    return name, None


def _fields(parts: list[Element], order: str) -> dict[str, Any]:
    widths = _numbers(parts[3], order)
    width = int(widths[0]) if len(widths) else 0
    if width < 1:
        raise InputError("the MATLAB file is damaged: a struct whose fields have no names")
    names = parts[4].data
    fields = [names[at : at + width].partition(b"\0")[0].decode("latin-1") for at in range(0, len(names), width)]
    values = [part for part in parts[5:] if part.kind == MATRIX]
    return {name: _matrix(part.data, order, depth=1)[1] for name, part in zip(fields, values, strict=False)}


def _numbers(element: Element, order: str) -> Any:
    letters = NUMBERS.get(element.kind)
    if letters is None or len(element.data) % int(letters[1]):
        raise InputError("the MATLAB file is damaged: no numbers where some should be")
    return np.frombuffer(element.data, order + letters)
