"""Costs between the nodes of a graph: shortest paths, heat distance or resistance.

    paths         the length of the shortest path
    heat          1 - sqrt(K_t(i, j)), K_t = exp(-t L), L = 1 - D^-1/2 W D^-1/2 the normalised Laplacian
    resistance    M_ii + M_jj - 2 M_ij, M the pseudoinverse of D - W

W are the edge weights, 1 by default. Adding or removing one edge changes thousands of paths, but heat and resistance
only a little. Heat is finite between components: it runs from 1 - sqrt(K_t(i, i)) at the node itself to 1 where no heat
arrives. By time t, heat has made t steps on average.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_choice, check_finite_number, check_memory
from anchorot.exceptions import InputError
from anchorot.io.geodesics import COSTS, adjacency, components, shortest_paths

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TIME = 3.0  # default number of steps


class GraphCost(NamedTuple):
    """The kind of cost; `time` is for heat only."""

    kind: str = "paths"
    time: float = TIME

    @classmethod
    def of(cls, kind: str | None, time: float | None) -> "GraphCost":
        """Validate the arguments."""
        name = "paths" if kind is None else check_choice(kind, "cost", COSTS)
        if time is None:
            return cls(name)
        if name != "heat":
            raise InputError(f"time is for cost='heat' (--costs heat), but got time={time!r} with {name}")
        number = check_finite_number(time, "time")
        if not number > 0:
            raise InputError(f"time must be a positive number of steps, but got {time!r}")
        return cls(name, number)

    @property
    def is_finite(self) -> bool:
        """Whether costs between components are finite."""
        return self.kind == "heat"

    def graph(self, n: int, edges: Int64s, numbers: Float64s | None, *, directed: bool) -> "csr_array":
        """Return the sparse matrix of lengths (or strengths); of parallel edges the shortest (or strongest) counts."""
        if self.kind == "paths" or numbers is None:
            return adjacency(n, edges, numbers, directed=directed)
        found = adjacency(n, edges, -numbers, directed=directed)
        found.data *= -1
        found.eliminate_zeros()
        return found

    def between(self, graph: "csr_array", nodes: Int64s, *, directed: bool, unweighted: bool) -> Float64s:
        """Return the costs (k, k) between some nodes of a graph; infinite for unreachable pairs."""
        if self.kind == "paths":
            return shortest_paths(graph, nodes, unweighted=unweighted)
        if directed:
            raise InputError(f"cost={self.kind!r} needs an undirected graph; pass directed=False, or use cost='paths'")
        check_memory(graph.shape[0], 32, f"{self.kind} between")
        found = _heat(graph, self.time) if self.kind == "heat" else _resistance(graph)
        return found[np.ix_(nodes, nodes)]


def _heat(graph: "csr_array", time: float) -> Float64s:
    weights, _ = _without_loops(graph)
    degree = weights.sum(axis=1)
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    values, vectors = np.linalg.eigh(np.diag((degree > 0).astype(np.float64)) - root[:, None] * weights * root)
    values[values < len(values) * np.finfo(np.float64).eps] = 0  # rounding errors would lose all heat at long times
    kernel = (vectors * np.exp(-time * values)) @ vectors.T
    return 1 - np.sqrt(np.clip((kernel + kernel.T) / 2, 0, 1))


def _resistance(graph: "csr_array") -> Float64s:
    weights, unit = _without_loops(graph)
    found = np.full(weights.shape, np.inf)
    for part in components(graph, directed=False):
        own = weights[np.ix_(part, part)]
        mean = 1 / len(part)
        inverse = np.linalg.inv(np.diag(own.sum(axis=1)) - own + mean) - mean  # of L + J/n, which is invertible
        diagonal = inverse.diagonal()
        costs = np.maximum(diagonal[:, None] + diagonal - 2 * inverse, 0)
        np.fill_diagonal(costs, 0)
        found[np.ix_(part, part)] = (costs + costs.T) / 2 / unit
    return found


def _without_loops(graph: "csr_array") -> tuple[Float64s, float]:
    """Return weights in a unit in which the largest is about 1, and that unit."""
    weights: Float64s = graph.toarray()
    np.fill_diagonal(weights, 0)
    unit = unit_of(float(weights.max(initial=0.0)))
    return weights / unit, unit
