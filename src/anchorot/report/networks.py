"""Two aligned networks, drawn alike: matched nodes at the same places, so that what differs are edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anchorot._scene import Whole, stress_layout
from anchorot._typing import Float64s, Int64s
from anchorot.networks.result import GraphAlignment
from anchorot.origin import Geometry

if TYPE_CHECKING:
    from scipy.sparse import csr_array

APART = 2.0  # steps more than the longest path: how far parts of a network are drawn from each other


def drawn_alike(found: GraphAlignment) -> tuple[Whole, Whole]:
    """Both networks as what can be drawn, laid out by the edges of either where the first one's nodes are."""
    n, m = found.shape
    place = found.matches.copy()  # of the first network's nodes, in the layout of the second's
    alone = np.flatnonzero(place < 0)
    place[alone] = m + np.arange(len(alone))
    own, other = (_edges((graph + graph.T).tocsr()) for graph in found.graphs)
    positions = _layout(np.concatenate([place[own], other]), m + len(alone))
    common = (found.common + found.common.T).tocoo()
    shared = {tuple(sorted(pair)) for pair in place[np.stack(common.coords, axis=1)].tolist()}
    is_common = [
        np.array([tuple(sorted(pair)) in shared for pair in edges.tolist()], bool) for edges in (place[own], other)
    ]
    names = [tuple(map(str, side)) for side in found.names]
    return (
        Whole(Geometry(np.arange(n), n, positions[place], edges=own), names[0], is_common=is_common[0]),
        Whole(Geometry(np.arange(m), m, positions[:m], edges=other), names[1], is_common=is_common[1]),
    )


def _edges(graph: csr_array) -> Int64s:
    """(E, 2): each edge once, without loops."""
    pairs = np.stack(graph.nonzero(), axis=1).astype(np.int64)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def _layout(edges: Int64s, n: int) -> Float64s:
    """Places in the plane for the nodes of a network in any number of parts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    joined = csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    steps: Float64s = shortest_path(joined, directed=False, unweighted=True)
    longest = float(steps[np.isfinite(steps)].max(initial=0))
    steps[np.isinf(steps)] = longest + APART
    return stress_layout(steps)
