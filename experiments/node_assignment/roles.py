"""Where the Anchor Energy Plan sends the most central node of a graph, and the most peripheral one."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from experiments.node_assignment.matchings import Labelled, energy_plan


@dataclass(frozen=True, eq=False)
class Role:
    """A node of the first graph, and its row of the plan, which sums to one.

    Attributes
    ----------
    node : int
    row : ndarray of shape (m,)
    best : float
        How peripheral its heaviest match is: 0 is the most central node of the second graph, 1 the most peripheral.
    mean : float
        The same, averaged over the row.
    """

    node: int
    row: NDArray[np.float64]
    best: float
    mean: float


def roles(x: Labelled, y: Labelled) -> tuple[Role, Role]:
    """Return the most central node of x by closeness, and the most peripheral one."""
    closeness_x, closeness_y = (np.array(list(nx.closeness_centrality(graph.graph).values())) for graph in (x, y))
    plan = energy_plan(x, y, ties="split")
    place = np.searchsorted(np.sort(-closeness_y), -closeness_y) / (len(closeness_y) - 1)
    found = []
    for node in (int(closeness_x.argmax()), int(closeness_x.argmin())):
        row = plan[node] / plan[node].sum()
        found.append(Role(node, row, float(place[row.argmax()]), float(place @ row)))
    return found[0], found[1]
