"""Random graphs of Erdős-Rényi and Barabási-Albert, fitted by the rule of GraphRNN's authors (their option "general").

Every training graph of n nodes and e edges has a parameter of its own: for Erdős-Rényi the share e / (n (n - 1) / 2)
of pairs that are linked; for Barabási-Albert, where n nodes of m links each have (n - m) m edges, the number of links
m = (n - sqrt(n² - 4 e)) / 2. The parameters of graphs of equal n are averaged. A new graph has the size of a training
graph drawn at random, and the parameter of that size (m rounded). Of each, as in their comparisons, we keep the largest
component.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

MODELS: dict[str, Callable[[int, float, int], nx.Graph]] = {
    "Erdős-Rényi": nx.fast_gnp_random_graph,
    "Barabási-Albert": lambda n, links, seed: nx.barabasi_albert_graph(n, int(np.clip(np.rint(links), 1, n - 1)), seed),
}


def share_of_pairs(n_nodes: int, n_edges: int) -> float:
    """Return the density of a graph."""
    return n_edges / (n_nodes * (n_nodes - 1) / 2)


def links_per_node(n_nodes: int, n_edges: int) -> float:
    """Return how many links a new node brings; at most n / 2, with which the model has the most edges."""
    return (n_nodes - np.sqrt(max(0, n_nodes**2 - 4 * n_edges))) / 2


RULES = {"Erdős-Rényi": share_of_pairs, "Barabási-Albert": links_per_node}


@dataclass(frozen=True)
class FittedModel:
    """A random graph model with a parameter for every number of nodes.

    Attributes
    ----------
    name : str
        Erdős-Rényi or Barabási-Albert.
    sizes : tuple of int
        Numbers of nodes of the training graphs.
    parameters : dict
        The parameter for each number of nodes.
    """

    name: str
    sizes: tuple[int, ...]
    parameters: dict[int, float]

    def sample(self, n_graphs: int, rng: np.random.Generator) -> list[nx.Graph]:
        """Draw graphs."""
        return [self.one_of(size, rng) for size in rng.choice(self.sizes, n_graphs).tolist()]

    def one_of(self, n_nodes: int, rng: np.random.Generator) -> nx.Graph:
        """Draw a graph, and return its largest component."""
        graph = MODELS[self.name](n_nodes, self.parameters[n_nodes], int(rng.integers(2**31)))
        return nx.convert_node_labels_to_integers(graph.subgraph(max(nx.connected_components(graph), key=len)))


def rewired(graph: nx.Graph, rng: np.random.Generator) -> nx.Graph:
    """Return a connected graph of the same degrees, by swaps of pairs of edges, about three for each edge.

    Degrees stay; triangles, which are all that clustering sees, do not. A graph in which nothing can be swapped stays.
    """
    other = graph.copy()
    if len(graph) >= 4 and graph.number_of_edges() > 1:
        nx.connected_double_edge_swap(other, 3 * graph.number_of_edges(), seed=int(rng.integers(2**31)))
    return other


def fit(name: str, graphs: Sequence[nx.Graph]) -> FittedModel:
    """Fit a model to graphs by the rule."""
    found = defaultdict(list)
    for graph in graphs:
        found[len(graph)].append(RULES[name](len(graph), graph.number_of_edges()))
    parameters = {n_nodes: float(np.mean(values)) for n_nodes, values in found.items()}
    return FittedModel(name, tuple(len(graph) for graph in graphs), parameters)
