"""Read graphs from edge lists, GraphML, GEXF and GML, and neurons from SWC files."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.columns import Columns
from anchorot.io.graph_costs import adjacency, components
from anchorot.io.graph_inputs import EdgeTable, edge_table, number_nodes
from anchorot.io.names import ending_of
from anchorot.io.safe_open import check_no_underscore, content_of, is_number, lines_of, numbers, reading, whole_number

NO_PARENT = -1  # of the root, in SWC files
MAX_QUOTE_LENGTH = 60  # characters of a line in a message
MAX_IDENTIFIER = 2**53  # larger integers are not exact in float64


def read_edge_list(file: Path, weight: str | bool | None, directed: bool | None, limit: int) -> EdgeTable:
    """Read lines of two node names, and a length if `weight`; separated by blanks or commas; # and % start comments.

    A first line ``n m`` before exactly m edges between nodes 0 to n - 1 (or 1 to n) gives the sizes.
    """
    rows = [line.replace(",", " ").split() for line in lines_of(file, limit, comment="#%")]

    def check(odd: Sequence[int], needed: str) -> None:
        if odd:
            line = " ".join(rows[odd[0]])[:MAX_QUOTE_LENGTH]
            raise InputError(f"line {odd[0] + 1} of edges is {line!r}, but {needed}")

    check([i for i, row in enumerate(rows) if len(row) < 2], "two nodes are needed")
    n = _promised_nodes(rows)
    if n is not None:
        rows = rows[1:]
    unused = weight is None and any(len(row) > 2 and is_number(row[2]) and float(row[2]) != 1 for row in rows)
    pairs_only = [i for i, row in enumerate(rows) if len(row) == 2]
    if len(rows) > 1 and pairs_only in ([0], [len(rows) - 1]):  # a header with wrong sizes, or an incomplete edge
        check(pairs_only, "all others have a third word")
    lengths = None
    if weight:
        check(pairs_only, "lengths are requested")
        lengths = numbers([row[2] for row in rows], None)[:, 0]
    if n is None:
        pairs = [(_name(row[0]), _name(row[1])) for row in rows]
        return edge_table(number_nodes(pairs, lengths, bool(directed), unused), weight, directed)
    edges = np.array([[int(word) for word in row[:2]] for row in rows], dtype=np.int64).reshape(-1, 2)
    first = int(edges.max(initial=0) == n)  # are nodes numbered from 1?
    names = tuple(range(first, first + n))
    return edge_table(
        EdgeTable(n, edges - first, lengths, bool(directed), names, has_unused_lengths=unused), weight, directed
    )


def _promised_nodes(rows: list[list[str]]) -> int | None:
    """Return the n of a first line ``n m``, if the other lines agree with it."""
    head, rest = rows[0], [[whole_number(word) for word in row[:2]] for row in rows[1:]]
    n, m = (whole_number(word) for word in head[:2])
    nodes = [node for pair in rest for node in pair if node is not None]
    if len(head) != 2 or n is None or m != len(rest) or len(nodes) != 2 * len(rest):
        return None
    most_nodes = 2 * len(rest) + 1000  # a few nodes may have no edge; a much larger n is not a size
    fits = not nodes or max(nodes) < n or (max(nodes) == n and min(nodes) >= 1)
    return n if 1 <= n <= most_nodes and fits else None


def _name(word: str) -> int | str:
    """Return an integer if the word is written like one; "01" and "1" are different names."""
    number = whole_number(word)
    return word if number is None or str(number) != word else number


def read_networkx(file: Path, weight: str | bool | None, directed: bool | None, limit: int) -> EdgeTable:
    """Read a GraphML, GEXF or GML file with networkx; unique labels become the names of nodes."""
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("networkx", "graph") from None
    ending = ending_of(file)
    kind, parse = NETWORKX_READERS[ending]
    content = content_of(file, limit)
    with reading(kind):
        graph = parse(networkx, content)
    table = edge_table(graph, weight, directed)
    return table if ending == ".graphml" else _by_labels(table)


def _by_labels(table: EdgeTable) -> EdgeTable:
    if "label" not in table.columns:
        return table
    labels = table.columns["label"]
    is_unique = all(isinstance(label, str | int) for label in labels) and len(set(labels)) == table.n
    return replace(table, names=tuple(labels)) if is_unique else table


def _checked_xml(content: bytes) -> io.BytesIO:
    """Raise on "1_0" where a number is declared; networkx would parse it as Python does."""
    elements = list(ElementTree.fromstring(content).iter()) if UNDERSCORED.search(content) else []
    numeric = {each.get("id") for each in elements if (each.get("attr.type") or each.get("type")) in NUMERIC}
    for each in elements:
        stated = each.get("value") if each.get("for") in numeric else each.get("weight")
        check_no_underscore((each.text if each.get("key") in numeric else stated) or "")
    return io.BytesIO(content)


def _gml(networkx: Any, content: bytes) -> Any:
    lines = content.decode("utf-8-sig").splitlines()  # networkx accepts only ASCII
    return networkx.parse_gml([line for line in lines if line.strip()], label=None)


UNDERSCORED = re.compile(rb"[0-9]_[0-9]")
NUMERIC = ("int", "integer", "long", "short", "byte", "float", "double", "bigdecimal", "biginteger")
NETWORKX_READERS: dict[str, tuple[str, Callable[[Any, bytes], Any]]] = {
    ".gexf": ("a GEXF file", lambda networkx, content: networkx.read_gexf(_checked_xml(content))),
    ".gml": ("a GML file", _gml),
    ".graphml": ("a GraphML file", lambda networkx, content: networkx.read_graphml(_checked_xml(content))),
}


def read_swc(file: Path, limit: int) -> tuple[EdgeTable, Float64s]:
    """Read the tree of an SWC file (lines of id, type, x, y, z, radius, parent) and the positions of its samples.

    Its columns are ``structure`` (the type: 1 is the soma, 2 the axon, 3 and 4 are dendrites) and ``radius``.
    """
    table = numbers(lines_of(file, limit, comment="#"), None)
    if table.shape[1] < 7:
        raise InputError(f"lines of {table.shape[1]} numbers, but SWC needs 7: id, type, x, y, z, radius, parent")
    names, parents, positions = table[:, 0], table[:, 6], table[:, 2:5].copy()
    whole = np.isfinite(table).all() and (np.abs(table[:, [0, 6]]) < MAX_IDENTIFIER).all()
    if not whole or (names != np.floor(names)).any():
        raise InputError("identifiers must be integers and positions must be finite")
    order = np.argsort(names, kind="stable")
    if (np.diff(names[order]) == 0).any():
        twice = names[order][:-1][np.diff(names[order]) == 0][0]
        raise InputError(f"two samples have the identifier {twice:.0f}")
    child = np.flatnonzero(parents != NO_PARENT)
    place = np.minimum(np.searchsorted(names[order], parents[child]), len(names) - 1)
    parent = order[place]
    if (names[parent] != parents[child]).any():
        lost = child[names[parent] != parents[child]][0]
        raise InputError(f"sample {names[lost]:.0f} has the parent {parents[lost]:g}, which is not in the file")
    _check_tree(len(names), child, parent, names)
    lengths = np.linalg.norm(positions[child] - positions[parent], axis=1)
    columns = Columns("value of the samples", {"structure": _whole(table[:, 1]), "radius": table[:, 5]})
    edges = np.stack([child, parent], axis=1)
    tree = EdgeTable(len(names), edges, lengths, False, tuple(int(name) for name in names), columns)
    return edge_table(tree, None, None), positions


def _check_tree(n: int, child: Int64s, parent: Int64s, names: Float64s) -> None:
    """Raise on cycles: each component of a forest has one sample without a parent."""
    parts = components(adjacency(n, np.stack([child, parent], axis=1), None, directed=False), directed=False)
    has_root = np.ones(n, bool)
    has_root[child] = False
    for part in parts:
        if not has_root[part].any():
            above, place = dict(zip(child.tolist(), parent.tolist(), strict=True)), int(part[0])
            for _ in part:  # after as many steps as samples, we are on the cycle
                place = above[place]
            raise InputError(f"sample {names[place]:.0f} is among its own ancestors, but a neuron is a tree")


def _whole(codes: Float64s) -> Float64s | Int64s:
    """Return codes as integers if all are; some files have other codes."""
    is_whole = (np.abs(codes) < MAX_IDENTIFIER).all() and (codes == np.floor(codes)).all()
    return codes.astype(np.int64) if is_whole else codes
