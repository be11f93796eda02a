"""Read pairs of node names, such as seeds, from .csv, .tsv, .txt and .json files."""

import csv
import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from anchorot._validate import shown
from anchorot.exceptions import InputError, first_line
from anchorot.io.matrices import SEPARATORS
from anchorot.io.names import ending_of, full_ending
from anchorot.io.safe_open import content_of, lines_of

PAIR_ENDINGS = (".csv", ".tsv", ".txt", ".json")


def read_pairs(
    file: Path, names: tuple[Sequence[Any], Sequence[Any]], sides: tuple[str, str], limit: int
) -> list[tuple[Any, Any]]:
    """Read one pair of names a line, or from JSON a list of pairs or an object; later columns are not used.

    Names in a file are texts, so each refers to the node whose name has that text. A first line without a name of
    either graph is a header.
    """
    rows = _rows(file, limit)
    known: list[dict[str, Hashable]] = [{str(name): name for name in own} for own in names]
    is_node = [[cell in own for cell, own in zip(row, known, strict=False)] for row in rows]
    is_header = not any(cell in own for cell in rows[0] for own in known)
    if ending_of(file) != ".json" and is_header and len(rows) > 1:
        rows, is_node = rows[1:], is_node[1:]
    for row, found in zip(rows, is_node, strict=True):
        if not all(found):
            side = found.index(False)
            raise InputError(
                f"{sides[side]} has no node {row[side]!r}; a pair is a node of {sides[0]}, then one of {sides[1]}"
            )
    return [(known[0][row[0]], known[1][row[1]]) for row in rows]


def _rows(file: Path, limit: int) -> list[list[str]]:
    ending = ending_of(file)
    if ending not in PAIR_ENDINGS:
        raise InputError(
            f"pairs of nodes are read from {', '.join(PAIR_ENDINGS)}, but this ends in {full_ending(file)!r}"
        )
    if ending == ".json":
        return _json_rows(content_of(file, limit))
    lines = lines_of(file, limit, comment="#")
    if ending == ".txt":
        rows = [line.split() for line in lines]
    else:
        try:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=SEPARATORS[ending])]
        except csv.Error as error:
            raise InputError(f"not a table that can be read ({error})") from None
    for row in rows:
        if len(row) < 2 or not all(row[:2]):
            raise InputError(f"two names are needed on every line, but one is {shown(' '.join(row))}")
    return [row[:2] for row in rows]


def _json_rows(content: bytes) -> list[list[str]]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({first_line(error)})") from None
    pairs = list(found.items()) if isinstance(found, dict) else found
    if not isinstance(pairs, list) or not pairs:
        raise InputError(
            f'a list such as [["a", "x"]] or an object such as {{"a": "x"}} is needed, but got {shown(found)}'
        )
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(one, str | int) for one in pair):
            raise InputError(f"pairs of names are needed, but one is {shown(pair)}")
    return [[str(one) for one in pair] for pair in pairs]
