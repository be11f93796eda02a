"""Ways to match the nodes of two graphs: by a plan between them, or in the order of a centrality."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import anchorot as ao

from experiments.common.got import got

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ONE = 1e-7  # centralities that differ by less than this share of the largest are one value, but for rounding


@dataclass(frozen=True, eq=False)
class Labelled:
    """A graph with numbered nodes.

    Attributes
    ----------
    adjacency : ndarray of shape (n, n)
    order : ndarray of shape (n,)
        When each node joined: its latent order.
    """

    adjacency: Floats
    order: Ints

    @classmethod
    def grown(cls, n: int, rng: np.random.Generator) -> "Labelled":
        """Grow a graph by preferential attachment, two edges a node; nodes are numbered as they join."""
        graph = nx.barabasi_albert_graph(n, 2, seed=int(rng.integers(2**32)))
        return cls(nx.to_numpy_array(graph, nodelist=range(n)), np.arange(n))

    def shuffled(self, rng: np.random.Generator) -> "Labelled":
        """Return the same graph with its nodes numbered anew, at random."""
        places = rng.permutation(len(self.order))
        return Labelled(self.adjacency[np.ix_(places, places)], self.order[places])

    @cached_property
    def graph(self) -> nx.Graph:
        """The graph of networkx."""
        return nx.from_numpy_array(self.adjacency)

    @cached_property
    def space(self) -> ao.Space:
        """Its nodes, with shortest paths as costs."""
        return ao.from_graph(self.graph)


def energy_plan(x: Labelled, y: Labelled, ties: str) -> Floats:
    """Anchor Energy Plan."""
    return ao.anchor_energy_plan(x.space, y.space, ties=ties)


def anchor_plan(x: Labelled, y: Labelled, epsilon: float) -> Floats:
    """Plan of Anchor Wasserstein."""
    return ao.anchor_wasserstein(x.space, y.space, epsilon=epsilon).plan


def gromov_plan(x: Labelled, y: Labelled, epsilon: float | None) -> Floats:
    """Plan of Gromov-Wasserstein; at most 100 steps, after which small epsilons creep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.ConvergenceWarning)
        try:
            limit = None if epsilon is None else 100
            return ao.gromov_wasserstein(x.space, y.space, epsilon, start="product", max_iter=limit).plan
        except ao.InputError:  # no answer: no mass goes anywhere
            return np.zeros((x.space.n, y.space.n))


def proximal_plan(x: Labelled, y: Labelled, epsilon: float) -> Floats:
    """Plan of the proximal-point iteration by which GWL matches graphs: each step's plan is near the last one's."""
    import ot

    costs = [space.cost.astype(np.float64) for space in (x.space, y.space)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # inner problems are stopped early, as in GWL
        return ot.gromov.entropic_gromov_wasserstein(
            *costs, epsilon=epsilon, solver="PPA", max_iter=100, numItermax=50, tol=1e-6
        )


def signal_plan(x: Labelled, y: Labelled, n_iter: int) -> Floats:
    """Soft permutation of GOT."""
    return got(x.adjacency, y.adjacency, n_iter, np.random.default_rng(0), n_samples=3).plan


CENTRALITIES: dict[str, Callable[[nx.Graph], dict[int, float]]] = {
    "degree": nx.degree_centrality,
    "closeness": nx.closeness_centrality,
    "betweenness": nx.betweenness_centrality,
    "eigenvector": nx.eigenvector_centrality_numpy,
    "Katz": lambda graph: nx.katz_centrality_numpy(graph, alpha=0.5 / max(nx.adjacency_spectrum(graph).real)),
    "PageRank": lambda graph: nx.pagerank(graph, tol=1e-12),
    "HITS hub": lambda graph: nx.hits(graph, tol=1e-12)[0],
    "HITS authority": lambda graph: nx.hits(graph, tol=1e-12)[1],
}


def centrality_levels(graph: Labelled, name: str) -> Ints:
    """Return which node is how central: 0 for the most central ones, with one number for equal ones."""
    found = CENTRALITIES[name](graph.graph)
    values = -np.array([found[node] for node in range(len(found))])
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > ONE * np.abs(values).max()
    levels = np.empty(len(values), np.int64)
    levels[order] = np.concatenate([[0], np.cumsum(steps)])
    return levels


def match_in_order(levels_x: Ints, levels_y: Ints, rng: np.random.Generator | None) -> Ints:
    """Match nodes in order of centrality; equal ones in the order of their numbers or, with an rng, at random."""
    firsts = []
    for levels in (levels_x, levels_y):
        tiebreak = np.arange(len(levels)) if rng is None else rng.permutation(len(levels))
        firsts.append(np.lexsort([tiebreak, levels]))
    match = np.empty_like(firsts[0])
    match[firsts[0]] = firsts[1]
    return match
