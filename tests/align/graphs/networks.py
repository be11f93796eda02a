"""Networks that the tests of network alignment share."""

import itertools

import networkx as nx
import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

import anchorot as ao
from anchorot.align.graphs.problem import Problem


@st.composite
def matrices(draw, most=7, directed=False, weighted=False):
    """Any small network as a matrix: loops, several parts, nodes without edges."""
    n = draw(st.integers(1, most))
    weights = st.sampled_from([0, 0, 0.5, 1.0, 3.0]) if weighted else st.sampled_from([0, 0, 1.0])
    matrix = np.array(draw(st.lists(weights, min_size=n * n, max_size=n * n))).reshape(n, n)
    return matrix if directed else np.triu(matrix) + np.triu(matrix, 1).T


@st.composite
def pairs_of_matrices(draw, most=7):
    directed, weighted = draw(st.booleans()), draw(st.booleans())
    return *(draw(matrices(most, directed, weighted)) for _ in range(2)), directed


def aligned(x, y, directed=False, **options):
    return ao.align_graphs(csr_array(x), csr_array(y), directed=directed, weight=True, **{"rng": 0} | options)


def lopsided(n, seed, share=0.15):
    """A connected random graph without symmetries."""
    for more in itertools.count():
        graph = nx.gnp_random_graph(n, share, seed=seed + 1000 * more)
        colour = dict(graph.degree)
        for _ in range(6):  # nodes that refinement tells apart are not exchanged by any symmetry
            colour = {i: hash((colour[i], *sorted(colour[k] for k in graph[i]))) for i in graph}
        if nx.is_connected(graph) and len(set(colour.values())) == n:
            return graph
    return None


def noisy(graph, share, seed):
    """The graph without some edges, and with as many others."""
    rng = np.random.default_rng(seed)
    edges = list(graph.edges)
    lost = rng.permutation(len(edges))[: int(share * len(edges))]
    changed = graph.copy()
    changed.remove_edges_from([edges[e] for e in lost])
    others = list(nx.non_edges(graph))
    changed.add_edges_from([others[e] for e in rng.permutation(len(others))[: len(lost)]])
    return changed


def network(n, seed, share=0.2, directed=False, weighted=False):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < share, 1) * (rng.random((n, n)) if weighted else 1.0)
    matrix = upper + (np.triu(rng.random((n, n)) < share, 1).T if directed else upper.T)
    return csr_array(matrix.astype(np.float32))


def problem(seed=0, sizes=(20, 20), **options):
    return Problem(
        *(network(n, seed + k, **options) for k, n in enumerate(sizes)), is_directed=options.get("directed", False)
    )


def edges_of(matrix, directed):
    """Sum of squared weights of the edges, each counted once."""
    squares = np.square(matrix)
    return float(squares.sum() if directed else (squares.sum() + squares.diagonal().sum()) / 2)
