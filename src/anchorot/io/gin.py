"""Collections of graphs in the text format of GIN, one file each."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anchorot._validate import check_bytes
from anchorot.exceptions import InputError
from anchorot.io.gate import MAX_BYTES, about, opened
from anchorot.io.graph_sets import GraphSet
from anchorot.io.shortest_paths import adjacency
from anchorot.io.text import check_no_underscore, lines_of, whole_number

HEAD_BYTES = 1 << 16  # of a file, to see what it holds


class Node(NamedTuple):
    """A line of a graph."""

    tag: int
    neighbours: list[int]
    attributes: list[float]


class Graph(NamedTuple):
    """The lines of a graph."""

    label: int
    nodes: list[Node]


def is_gin_file(file: Path) -> bool:
    """Whether a file begins as a collection does: a count, ``n class``, and a node.

    Of the format of the paper's authors only the matrix of two points can begin like that, and it has four lines.
    """
    try:
        with opened(file) as handle:
            text = handle.read(HEAD_BYTES).decode("utf-8-sig", "replace")
    except (OSError, InputError):
        return False
    rows = [line.split() for line in text.splitlines() if line.strip()][:5]
    if len(rows) < 3 or [len(row) for row in rows[:2]] != [1, 2] or len(rows[2]) < 2:
        return False
    count, n, degree = (whole_number(word) for word in (rows[0][0], rows[1][0], rows[2][1]))
    is_node = degree is not None and len(rows[2]) >= 2 + degree
    return bool(count and n and is_node and (count != 2 or len(rows) == 5))


def read_gin(path: str | os.PathLike[str], *, max_bytes: int | str = MAX_BYTES) -> GraphSet:
    r"""Read a collection of graphs in the text format of GIN, the "powerful-gnns" data sets.

    The first line is the number of graphs. Each graph begins with a line ``n class``; then a line for each of its n
    nodes: its tag, how many neighbours it has, these (counted from 0), and any number of attributes.

    Parameters
    ----------
    path : path
    max_bytes : int or str
        Refuse a file of more than this, such as ``"8GB"``.

    Returns
    -------
    GraphSet
        With ``.spaces()``; ``.types`` are the tags of the nodes, ``.features`` their attributes if they have any.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import anchorot as ao
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "graphs.txt")
    ...     _ = path.write_text("1\n3 7\n0 1 1\n5 2 0 2\n0 1 1\n")  # one graph of class 7: a path of 3 nodes
    ...     graphs = ao.read_gin(path)
    >>> graphs.labels.tolist(), graphs.spaces()[0].types
    ([7], (0, 5, 0))
    """
    file = Path(path)
    with about(file):
        graphs = _graphs(lines_of(file, check_bytes(max_bytes, "max_bytes")))
        widths = {len(node.attributes) for graph in graphs for node in graph.nodes}
        if len(widths) > 1:
            raise InputError(f"some nodes have {min(widths)} attributes and others {max(widths)}")
    features = tuple(np.array([node.attributes for node in graph.nodes]) for graph in graphs)
    return GraphSet(
        file.stem,
        tuple(adjacency(len(graph.nodes), _edges(graph), None, directed=False) for graph in graphs),
        np.array([graph.label for graph in graphs]),
        tuple(tuple(node.tag for node in graph.nodes) for graph in graphs),
        features if widths != {0} else None,
    )


def _edges(graph: Graph) -> np.ndarray:
    pairs = [(place, other) for place, node in enumerate(graph.nodes) for other in node.neighbours]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _graphs(lines: list[str]) -> list[Graph]:
    count = whole_number(lines[0].strip())
    if not count:
        raise InputError(f"the first line is {lines[0][:40]!r}, but the number of graphs is needed")
    found: list[Graph] = []
    place = 1
    while place < len(lines):
        head = lines[place].split()
        n, label = (whole_number(head[0]), _integer(head[1])) if len(head) == 2 else (None, None)
        if not n or label is None:
            raise InputError(f"line {place + 1} is {lines[place][:40]!r}, but a graph begins with 'n class'")
        if place + n >= len(lines):
            raise InputError(f"line {place + 1} promises {n} nodes, but {len(lines) - place - 1} lines follow")
        nodes = [_node(lines[at], at, n) for at in range(place + 1, place + 1 + n)]
        found.append(Graph(label, nodes))
        place += 1 + n
    if len(found) != count:
        raise InputError(f"the first line promises {count} graphs, but there are {len(found)}")
    return found


def _node(line: str, place: int, n: int) -> Node:
    words = line.split()
    tag, degree = (_integer(words[0]), whole_number(words[1])) if len(words) > 1 else (None, None)
    if tag is None or degree is None or len(words) < 2 + degree:
        raise InputError(f"line {place + 1} is {line[:40]!r}, but a tag, a number of neighbours and these are needed")
    neighbours = [whole_number(word) for word in words[2 : 2 + degree]]
    if any(other is None or other >= n for other in neighbours):
        raise InputError(f"line {place + 1} names a neighbour that is not from 0 to {n - 1}")
    return Node(tag, [other for other in neighbours if other is not None], _floats(words[2 + degree :], place))


def _floats(words: list[str], place: int) -> list[float]:
    try:
        check_no_underscore(" ".join(words))
        found = [float(word) for word in words]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise InputError(f"line {place + 1} has attributes that are not finite numbers")
    return found


def _integer(word: str) -> int | None:
    number = whole_number(word.removeprefix("-"))
    return number if number is None or not word.startswith("-") else -number
