"""Ways to match the nodes of two graphs: by a plan between them, or in the order of a centrality."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import anchorot as ao
from experiments.common.got import got
from experiments.common.pot import entropic_by_pot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ITER = 100  # of entropic GW by POT
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


def baseline_plan(x: Labelled, y: Labelled, epsilon: float | None) -> Floats:
    """Plan of Gromov-Wasserstein by POT's solvers, started from the product of the weights."""
    if epsilon is None:
        return ao.gromov_wasserstein(x.space, y.space, start="product").plan
    return entropic_by_pot(x.space, y.space, epsilon, MAX_ITER).plan


def gromov_plan(x: Labelled, y: Labelled, epsilon: float | None) -> Floats:
    """Plan of Gromov-Wasserstein, the best of several starts."""
    return ao.gromov_wasserstein(x.space, y.space, epsilon, start="anchors").plan


def proximal_plan(x: Labelled, y: Labelled, epsilon: float) -> Floats:
    """Plan of the proximal-point iteration by which GWL matches graphs: each step's plan is near the last one's."""
    return entropic_by_pot(x.space, y.space, epsilon, MAX_ITER, "PPA").plan


def signal_plan(x: Labelled, y: Labelled, n_iter: int) -> Floats:
    """Soft permutation of GOT."""
    return got(x.adjacency, y.adjacency, n_iter, np.random.default_rng(0), n_samples=3).plan


Centrality = Callable[[nx.Graph], dict[int, float]]
CENTRALITIES: dict[str, Centrality] = {
    "degree": nx.degree_centrality,
    "closeness": nx.closeness_centrality,
    "betweenness": nx.betweenness_centrality,
    "eigenvector": nx.eigenvector_centrality_numpy,
    "HITS hub": lambda graph: nx.hits(graph, tol=1e-12)[0],
    "HITS authority": lambda graph: nx.hits(graph, tol=1e-12)[1],
}


def katz(graph: nx.Graph, share: float) -> dict[int, float]:
    """Katz centrality; alpha is this share of the largest that has one, the inverse of the spectral radius."""
    radius = float(np.linalg.eigvalsh(nx.to_numpy_array(graph))[-1])
    found: dict[int, float] = nx.katz_centrality_numpy(graph, alpha=share / radius)
    return found


def page_rank(graph: nx.Graph, damping: float) -> dict[int, float]:
    """PageRank."""
    found: dict[int, float] = nx.pagerank(graph, alpha=damping, tol=1e-12, max_iter=1000)
    return found


def centralities(quick: bool) -> dict[str, Centrality]:
    """Return all centralities, those with a parameter in several forms."""
    found = dict(CENTRALITIES)
    for share in (0.5, 0.9) if quick else (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        found[f"Katz (share {share:g})"] = partial(katz, share=share)
    for damping in (0.5, 0.85) if quick else (0.1, 0.3, 0.5, 0.7, 0.85, 0.95):
        found[f"PageRank (damping {damping:g})"] = partial(page_rank, damping=damping)
    return found


def centrality_levels(graph: Labelled, centrality: Centrality) -> Ints:
    """Return which node is how central: 0 for the most central ones, with one number for equal ones."""
    found = centrality(graph.graph)
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
