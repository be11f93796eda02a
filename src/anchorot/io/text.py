"""Text files: lines, and numbers in them."""

from pathlib import Path

import numpy as np

from anchorot._typing import Float64s
from anchorot.exceptions import InputError, first_line
from anchorot.io.gate import content_of


def lines_of(file: Path, limit: int, comment: str | None = None) -> list[str]:
    """Lines of a text file that are neither blank nor comments; a byte-order mark counts for nothing."""
    try:
        text = content_of(file, limit).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not a text file") from None
    lines = [line for line in text.splitlines() if line.strip()]
    if comment is not None:
        lines = [line for line in lines if line.lstrip()[0] not in comment]
    if not lines:
        raise InputError("the file is empty")
    return lines


def whole_number(word: str) -> int | None:
    """Return the number that a word of ASCII digits stands for, if it fits into 64 bits; else None.

    Neither `str.isdigit` nor `int` will do: the one takes "²" for a number, the other refuses very long ones.
    """
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None


def check_no_underscore(text: str) -> None:
    """Refuse numbers such as "1_0", which is 10 to Python and to nobody else who reads the file."""
    if "_" in text:
        wrong = next(word for word in text.split() if "_" in word)
        raise InputError(f"could not convert string to float: {wrong[:40]!r}")


def numbers(lines: list[str], separator: str | None) -> Float64s:
    """Matrix of the numbers in the lines; all need the same number of them."""
    if not lines:
        raise InputError("there are no numbers")
    rows: list[Float64s] = []
    for number, line in enumerate(lines, start=1):
        try:
            check_no_underscore(line)
            row = np.array(line.split(separator), dtype=np.float64)
        except ValueError as error:
            raise InputError(f"line {number} of numbers: {first_line(error)}") from None
        if rows and len(row) != len(rows[0]):
            raise InputError(f"line {number} of numbers has {len(row)} of them, but line 1 has {len(rows[0])}")
        rows.append(row)
    return np.stack(rows)
