"""ENZYMES as GraphRNN's authors read and split it, and files of generated graphs. A graph is its adjacency, in NumPy.

They drop nodes without an edge, then graphs of fewer than 10 nodes, shuffle the rest by Python's `random` with seed
123, and train on the first 80 %; before they compare graphs, they keep the largest component of each. So do we, but we
train on the largest components as well.
"""

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Adjacency = NDArray[np.bool_]

MIN_NODES = 10
SPLIT_SEED = 123
TRAINING_SHARE = 0.8


def read_graphs(folder: str | Path, name: str = "ENZYMES", min_nodes: int = MIN_NODES) -> list[Adjacency]:
    """Return the largest component of every graph of a TU folder that has enough nodes with an edge."""
    folder = Path(folder)
    edges = np.loadtxt(folder / f"{name}_A.txt", delimiter=",", dtype=np.int64) - 1
    graph_of_node = np.loadtxt(folder / f"{name}_graph_indicator.txt", dtype=np.int64) - 1
    first_node = np.searchsorted(graph_of_node, np.arange(graph_of_node[-1] + 2))  # nodes come graph by graph
    graph_of_edge = graph_of_node[edges[:, 0]]
    graphs = []
    for graph, (start, stop) in enumerate(pairwise(first_node)):
        adjacency = from_edges(stop - start, edges[graph_of_edge == graph] - start)
        if np.count_nonzero(adjacency.any(axis=1)) >= min_nodes:
            graphs.append(largest_component(adjacency))
    return graphs


def from_edges(n_nodes: int, edges: NDArray[np.integer[Any]]) -> Adjacency:
    """Return the adjacency of a simple undirected graph; loops are left out."""
    adjacency = np.zeros((n_nodes, n_nodes), dtype=bool)
    adjacency[edges[:, 0], edges[:, 1]] = True
    adjacency |= adjacency.T
    np.fill_diagonal(adjacency, False)
    return adjacency


def largest_component(adjacency: Adjacency) -> Adjacency:
    """Return the part of a graph that is its largest connected component, the first of equal ones."""
    unseen = np.ones(len(adjacency), dtype=bool)
    largest = np.zeros(len(adjacency), dtype=bool)
    while unseen.any():
        reached = np.zeros(len(adjacency), dtype=bool)
        front = np.arange(len(adjacency)) == np.argmax(unseen)
        while front.any():
            reached |= front
            front = adjacency[front].any(axis=0) & ~reached
        unseen &= ~reached
        if reached.sum() > largest.sum():
            largest = reached
    return adjacency[np.ix_(largest, largest)]


def split(graphs: Sequence[Adjacency], seed: int = SPLIT_SEED) -> tuple[list[Adjacency], list[Adjacency]]:
    """Return the training and the test graphs; the usual seed gives the split of GraphRNN's authors."""
    shuffled = list(graphs)
    random.Random(seed).shuffle(shuffled)
    n_training = int(TRAINING_SHARE * len(shuffled))
    return shuffled[:n_training], shuffled[n_training:]


def save_graphs(path: str | Path, graphs: Sequence[Adjacency], **facts: Any) -> None:
    """Write graphs as edge lists of bytes, with facts about their making beside them."""
    lists = [np.argwhere(np.tril(adjacency)) for adjacency in graphs]
    sizes = np.array([len(adjacency) for adjacency in graphs])
    if sizes.max() > 256:
        raise ValueError(f"a graph has {sizes.max()} nodes, but a byte counts 256")
    np.savez_compressed(
        path,
        sizes=sizes.astype(np.uint16),
        n_edges=np.array([len(edges) for edges in lists], dtype=np.uint16),
        edges=np.concatenate(lists).astype(np.uint8),
        **facts,
    )


def load_graphs(path: str | Path) -> list[Adjacency]:
    """Read graphs that `save_graphs` wrote."""
    with np.load(path) as stored:
        sizes, n_edges, edges = stored["sizes"].tolist(), stored["n_edges"], stored["edges"].astype(np.int64)
    lists = np.split(edges, np.cumsum(n_edges, dtype=np.int64)[:-1])
    return [from_edges(size, part) for size, part in zip(sizes, lists, strict=True)]
