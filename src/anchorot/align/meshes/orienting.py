"""Faces that all run anticlockwise, seen from outside: files often mix both senses, or have all of them inside out."""

from __future__ import annotations

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.align.meshes.laplacian import face_normals

MIN_ROUNDNESS = 0.03  # of a body that tells inside from outside by its volume; 1 is a ball, 0 a sheet
MIN_AREA = 1e-100  # of a piece, where all areas together are 1
MAX_CONFLICTS = 0.01  # of the edges, that faces on both sides of may disagree: there are scans with knots in them


def oriented(vertices: Float64s, faces: Int64s) -> tuple[Int64s, bool]:
    """Turn faces over so that neighbours agree, and so that the volume inside is positive; and say if that worked.

    A sheet that holds no volume keeps the sense that most of its faces have.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    first, second, agree = _neighbours(faces)
    count = len(faces)
    # Every face stands in the graph twice, as it is and turned over; what must go together is joined.
    heads = np.concatenate([first, first + count])
    tails = np.concatenate([np.where(agree, second, second + count), np.where(agree, second + count, second)])
    sense = np.ones(count)
    graph = csr_array((np.ones(len(heads), np.int8), (heads, tails)), shape=(2 * count, 2 * count))
    _, part = connected_components(graph, directed=False)
    is_torn = part[:count] == part[count:]
    if is_torn.any():  # somewhere there is a way around a band with one side only: a tree of neighbours decides
        sense = _along_tree(count, first, second, agree)
    else:
        sense[part[:count] > part[count:]] = -1
    conflicts = float(np.mean(sense[first] * sense[second] != np.where(agree, 1, -1))) if len(first) else 0.0
    pieces = np.unique(np.minimum(part[:count], part[count:]), return_inverse=True)[1]
    areas = np.linalg.norm(face_normals(vertices, faces), axis=1)
    a, b, c = (vertices[corner] - vertices.mean(axis=0) for corner in faces.T)
    volumes = sense * (a * np.cross(b, c)).sum(axis=1) / 6
    volume, area, given = (np.bincount(pieces, values) for values in (volumes, areas / 2, sense * areas))
    roundness = 6 * np.sqrt(np.pi) * np.abs(volume) / np.maximum(area, MIN_AREA) ** 1.5
    turn = np.where(roundness > MIN_ROUNDNESS, np.sign(volume), np.where(given < 0, -1, 1))
    sense = sense * turn[pieces]
    return np.where(sense[:, None] < 0, faces[:, ::-1], faces), conflicts <= MAX_CONFLICTS


def _neighbours(faces: Int64s) -> tuple[Int64s, Int64s, np.ndarray]:
    """Pairs of faces that share an edge with no other face, and whether they run along it in opposite directions."""
    starts, ends = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    owner = np.repeat(np.arange(len(faces)), 3)
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    order = np.lexsort((high, low))
    low, high, owner, forward = low[order], high[order], owner[order], (starts < ends)[order]
    begins = np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0))
    counts = np.diff(np.append(np.flatnonzero(begins), len(low)))
    at = np.flatnonzero(begins)[counts == 2]
    return owner[at], owner[at + 1], forward[at] != forward[at + 1]


def _along_tree(count: int, first: Int64s, second: Int64s, agree: np.ndarray) -> Float64s:
    """The sense of every face along a tree of neighbours, for surfaces on which not all neighbours can agree."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph = csr_array((np.where(agree, 1, -1), (first, second)), shape=(count, count))
    graph = (graph + graph.T).tocsr()
    sense = np.ones(count)
    _, part = connected_components(abs(graph), directed=False)
    for root in np.unique(part, return_index=True)[1]:
        order, before = breadth_first_order(abs(graph), root, directed=False)
        relative = np.asarray(graph[before[order[1:]], order[1:]]).ravel()
        for face, previous, way in zip(order[1:], before[order[1:]], relative, strict=True):
            sense[face] = sense[previous] * (1 if way > 0 else -1)
    return sense
