"""Pairs of networks that `reliable` of `align_graphs` is fitted to, and others that it is reported on.

A matching is right if at least 80 % of the nodes that have a true match are matched with it, with a twin of it or,
where it has at most eight neighbours, with one of these. Of rings and grids, whose symmetries nothing could tell apart,
it is right if it is worth as much as the true one.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import KDTree

import anchorot as ao
from anchorot.align.graphs.evidence import whole_features
from anchorot.align.graphs.inputs import Networks
from anchorot.align.graphs.score import judged
from calibration import Floats, Job, Seen, Task, fit_whole, judge_whole
from calibration_graphs import KINDS
from confidence import NETWORKS, network_pair
from drawn_pairs import Rng, level
from networks import adjacency

PAIRS = 10  # of each kind,
STRANGERS = 8  # and of networks of that kind with nothing in common
FIRST_HELD = 1000  # number of the first pair that is held out
MAX_EDGES = 1200
NEIGHBOURS = 8  # of a node: with more of them, a neighbour is not near
RIGHT = 0.8
WORTH = 0.999  # of the true matching's value
FEATURES = ("evidence", "regions")


def caves(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    size = int(rng.integers(5, 12))
    return nx.relaxed_caveman_graph(n // size, size, rng.uniform(0.05, 0.4), seed=seed)


def duplication(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    return nx.duplication_divergence_graph(n, rng.uniform(0.3, 0.6), seed=seed)


def trees(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    return nx.random_labeled_tree(n, seed=seed)


def regular(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    return nx.random_regular_graph(2 * int(rng.integers(2, 6)), n, seed=seed)


def symmetric(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    """A ring, or a grid."""
    if rng.random() < 0.5:
        return nx.circulant_graph(n, list(range(1, int(rng.integers(2, 4)))))
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(*rng.integers(5, 13, 2).tolist()))


def nearest_neighbours(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    """Random points of a box, each joined to the nearest three to six."""
    points, k = rng.uniform(size=(n, 3)) * rng.uniform(0.2, 1, 3), int(rng.integers(3, 7))
    near = KDTree(points).query(points, k + 1)[1][:, 1:]
    graph = nx.empty_graph(n)
    graph.add_edges_from(zip(np.repeat(np.arange(n), k).tolist(), near.ravel().tolist(), strict=True))
    return graph


Maker = Callable[[Rng, int, float, int], nx.Graph]
# Without hubs: nodes of one hub are alike until an edge is lost, so matchings that fit are wrong by the rule above.
FITTED: dict[str, Maker] = {kind: make for kind, make in KINDS.items() if kind != "hubs"}
HELD: dict[str, Maker] = {
    "caves": caves,
    "duplication and divergence": duplication,
    "trees": trees,
    "random regular": regular,
    "nearest neighbours": nearest_neighbours,
}
SYMMETRIC = "rings and grids"


def drawn_pair(kind: str, number: int, is_shared: bool) -> tuple[csr_array, csr_array, Floats]:
    """A network of 60 to 200 nodes and one made of it, or two of a kind; the truth is -1 where there is none.

    The second has lost up to half of its edges (trees, rings and grids a fifth), and got up to as many new ones; of
    every third pair the first has lost some too.
    """
    rng = np.random.default_rng([number, is_shared, *kind.encode()])
    n = int(rng.integers(60, 201))
    degree = min(level(rng, 3, 40), n / 2, 2 * MAX_EDGES / n)
    make = (FITTED | HELD | {SYMMETRIC: symmetric})[kind]
    graphs = [make(rng, n, degree, int(rng.integers(2**31))) for _ in range(1 if is_shared else 2)]
    graphs.sort(key=nx.Graph.number_of_nodes)
    n = graphs[-1].number_of_nodes()
    first, second = (np.array(graph.edges()).reshape(-1, 2) for graph in (graphs[0], graphs[-1]))
    order, truth = rng.permutation(n), np.full(n, -1)
    if is_shared:
        truth, lost = order, rng.uniform(0, 0.2 if kind in ("trees", SYMMETRIC) else 0.5)
        if rng.random() < 1 / 3:
            first = first[rng.random(len(first)) >= lost / 2]
        kept = second[rng.random(len(second)) >= lost]
        second = np.concatenate([kept, rng.integers(0, n, (int(rng.uniform(0, lost) * len(second)), 2))])
    return adjacency(first, n), adjacency(order[second], n), truth


def observe_drawn(kind: str, number: int, is_shared: bool) -> Seen:
    return observe(*drawn_pair(kind, number, is_shared), kind == SYMMETRIC)


def observe_real(folder: Path, number: int) -> Seen:
    first, second, truth = network_pair(folder, "real", number)
    return observe(*(adjacency(edges, len(truth)) for edges in (first, second)), truth)


def observe(first: csr_array, second: csr_array, truth: Floats, is_symmetric: bool = False) -> Seen:
    """Align two networks, of which the first is no larger, and look at the whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ao.align_graphs(first, second, rng=0, progress=False)
    networks = Networks.of((first, second), None, None, None, None, None)
    problem = networks.problem()
    regions, _ = judged(problem, found.matches, networks.hashes())
    is_right = share_near(found, second, truth) >= RIGHT
    if is_symmetric:
        is_right |= problem.value(found.matches) >= WORTH * problem.value(truth)
    return whole_features(problem, found.matches, regions) | {"is_right": np.array([is_right])}


def share_near(found: ao.GraphAlignment, second: csr_array, truth: Floats) -> float:
    """Share of the nodes with a true match whose match is it, a twin of it, or one of its few neighbours."""
    rows = np.flatnonzero(truth >= 0)
    if not len(rows):
        return 0.0
    here, goal, twins = found.matches[rows], truth[rows], found.twins[1]
    is_next = (second[goal, here] != 0) & (np.diff(second.indptr)[goal] <= NEIGHBOURS)
    return float(np.mean((twins[here] == twins[goal]) | is_next))


def jobs(folder: Path, is_fit: bool) -> Iterator[Job]:
    begin = 0 if is_fit else FIRST_HELD
    for kind in FITTED if is_fit else HELD:
        yield from (Job(kind, k, observe_drawn, (kind, begin + k, True)) for k in range(PAIRS))
        name = f"{kind}, nothing in common"
        yield from (Job(name, k, observe_drawn, (kind, begin + k, False)) for k in range(STRANGERS))
    if not is_fit:
        yield from (Job(SYMMETRIC, k, observe_drawn, (SYMMETRIC, begin + k, True)) for k in range(PAIRS))
        if (folder / "graph_alignment").exists():
            real = range(NETWORKS["real"])
            yield from (Job("proteins, e-mails, school", k, observe_real, (folder, k)) for k in real)


TASK = Task(
    jobs,
    partial(fit_whole, features=FEATURES),
    partial(judge_whole, features=FEATURES),
    {
        "whole": "pairs of random networks of eight kinds (preferential attachment with and without triangles, small "
        "worlds, geometric, blocks, Erdos-Renyi, planar, uneven blocks; 60 to 200 nodes, up to half of the edges lost "
        "and as many added), and pairs of these kinds with nothing in common",
    },
)
