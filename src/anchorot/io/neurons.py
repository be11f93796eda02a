"""Spaces from neurons: paths along the tree of an SWC file are the costs."""

from pathlib import Path

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.exceptions import InputError
from anchorot.io.graph_inputs import EdgeTable, edge_table
from anchorot.io.marks import Columns
from anchorot.io.shortest_paths import adjacency, components
from anchorot.io.text import lines_of, numbers

NO_PARENT = -1
MOST_SAMPLES = 2**53  # identifiers beyond this are not exact in float64


def read_swc(file: Path, limit: int) -> tuple[EdgeTable, Float64s]:
    """Read the tree of an SWC file (lines of id, type, x, y, z, radius, parent) and the positions of its samples.

    Its columns are ``structure`` (the type: 1 is the soma, 2 the axon, 3 and 4 are dendrites) and ``radius``.
    """
    table = numbers(lines_of(file, limit, comment="#"), None)
    if table.shape[1] < 7:
        raise InputError(f"lines of {table.shape[1]} numbers, but SWC needs 7: id, type, x, y, z, radius, parent")
    names, parents, positions = table[:, 0], table[:, 6], table[:, 2:5].copy()
    whole = np.isfinite(table).all() and (np.abs(table[:, [0, 6]]) < MOST_SAMPLES).all()
    if not whole or (names != np.floor(names)).any():
        raise InputError("identifiers must be integers, and positions finite")
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
    """Refuse samples that are their own ancestors: each part of a forest has one sample without a parent."""
    parts = components(adjacency(n, np.stack([child, parent], axis=1), None, directed=False), directed=False)
    has_root = np.ones(n, bool)
    has_root[child] = False
    for part in parts:
        if not has_root[part].any():
            above, place = dict(zip(child.tolist(), parent.tolist(), strict=True)), int(part[0])
            for _ in part:  # as many steps as there are samples end on the circle
                place = above[place]
            raise InputError(f"sample {names[place]:.0f} is among its own ancestors, but a neuron is a tree")


def _whole(codes: Float64s) -> Float64s | Int64s:
    """Return codes as integers, where they are; some files have others."""
    is_whole = (np.abs(codes) < MOST_SAMPLES).all() and (codes == np.floor(codes)).all()
    return codes.astype(np.int64) if is_whole else codes
