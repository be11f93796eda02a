"""Costs between the nodes of a graph: shortest paths, heat distance or resistance.

    paths         the length of the shortest path
    heat          1 - sqrt(K_t(i, j)), K_t = exp(-t L), L = 1 - D^-1/2 W D^-1/2 the normalised Laplacian
    resistance    M_ii + M_jj - 2 M_ij, M the pseudoinverse of D - W

W are the edge weights, 1 by default. Adding or removing one edge changes thousands of paths, but heat and resistance
only a little. Heat is finite between components: it runs from 1 - sqrt(K_t(i, i)) at the node itself to 1 where no heat
arrives. By time t, heat has made t steps on average.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anchorot._rescale import unit_of
from anchorot._typing import Float64s, Int64s
from anchorot._validate import check_choice, check_finite_number, check_memory
from anchorot.exceptions import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COSTS = ("paths", "heat", "resistance")
TIME = 3.0  # default number of steps
BLOCK_NUMBERS = 1 << 21  # distances computed at a time, 16 MB


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


def adjacency(n: int, edges: Int64s, lengths: Float64s | None, *, directed: bool) -> "csr_array":
    """Return the sparse matrix of edge lengths (1 if none are given); of parallel edges the shortest counts.

    Undirected edges are stored in both directions. Lengths of zero are kept as edges.
    """
    from scipy.sparse import csr_array

    heads, tails = edges.reshape(-1, 2).T
    data = np.ones(len(heads)) if lengths is None else lengths
    if not directed:
        heads, tails, data = np.concatenate([heads, tails]), np.concatenate([tails, heads]), np.tile(data, 2)
    order = np.lexsort((data, tails, heads))
    heads, tails, data = heads[order], tails[order], data[order]
    first = np.append(True, (heads[1:] != heads[:-1]) | (tails[1:] != tails[:-1]))[: len(heads)]
    starts = np.searchsorted(heads[first], np.arange(n + 1))
    return csr_array((data[first], tails[first], starts), shape=(n, n))


def components(graph: "csr_array", *, directed: bool) -> list[Int64s]:
    """Return the nodes of every (if directed: strongly) connected component, the largest first."""
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(graph, directed=directed, connection="strong")
    order = np.argsort(component, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return sorted(parts, key=len, reverse=True)


def shortest_paths(graph: "csr_array", nodes: Int64s, *, unweighted: bool) -> Float64s:
    """Return the lengths (k, k) of the shortest paths between k nodes; infinite if there is no path.

    Dijkstra's algorithm (or breadth-first search) from each node. rustworkx, if installed, computes all pairs of an
    unweighted graph.
    """
    from scipy.sparse.csgraph import dijkstra

    check_memory(len(nodes), 9)
    n = graph.shape[0]
    if unweighted and np.array_equal(nodes, np.arange(n)) and find_spec("rustworkx") is not None:
        return _all_hops(graph)
    found = np.empty((len(nodes), len(nodes)))
    step = max(1, BLOCK_NUMBERS // n)
    for start in range(0, len(nodes), step):
        sources = nodes[start : start + step]
        found[start : start + step] = dijkstra(graph, indices=sources, unweighted=unweighted)[:, nodes]
    return found


def _all_hops(graph: "csr_array") -> Float64s:
    import rustworkx

    n = graph.shape[0]
    heads = np.repeat(np.arange(n), np.diff(graph.indptr))
    built = rustworkx.PyDiGraph(multigraph=False)
    built.add_nodes_from(range(n))
    built.extend_from_edge_list(list(zip(heads.tolist(), graph.indices.tolist(), strict=True)))
    # One thread: functions that compare many spaces run in parallel themselves.
    return rustworkx.distance_matrix(built, parallel_threshold=n + 1, null_value=np.inf)
