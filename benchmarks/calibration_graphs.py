"""Pairs of networks that the confidence of `align_graphs` is fitted to, and others that it is reported on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import Delaunay

import anchorot as ao
from anchorot.align.graphs.inputs import Networks
from anchorot.align.graphs.score import features_of, observations
from calibration import Fit, Floats, Job, Models, Seen, Task, fitted, joined, linear, weights_of
from confidence import NETWORKS, network_pair
from drawn_pairs import Rng, level
from networks import adjacency

PAIRS = 30  # of each kind
STRANGERS = 2  # and of networks of that kind with nothing in common
# Of the weight of another kind. Two geometric networks, say, have as many edges in common as noisy copies of one: with
# a weight of 1 the chances of such copies were farther off. Chosen on the kinds of the fit, one left out at a time.
STRANGERS_SHARE = 0.1
MAX_EDGES = 1500  # of a network: the time of belief propagation grows with the square
NOTHING, NOTHING_SPARSE = "nothing in common", "nothing in common, sparse"
LEAST_LOST, MOST_LOST = 0.005, 0.5  # share of the edges
DEGREES, SPARSE_DEGREES = (3, 70), (1.2, 3.5)  # without the latter the fit extrapolates to trees, and errs there


def attached(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    """Preferential attachment."""
    return nx.barabasi_albert_graph(n, max(1, round(degree / 2)), seed=seed)


def attached_in_triangles(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    return nx.powerlaw_cluster_graph(n, max(1, round(degree / 2)), rng.uniform(0.2, 0.9), seed=seed)


def small_world(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    return nx.watts_strogatz_graph(n, 2 * max(1, round(degree / 2)), rng.uniform(0.05, 0.5), seed=seed)


def geometric(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    return nx.random_geometric_graph(n, np.sqrt(degree / (np.pi * n)), seed=seed)


def blocks(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    """Three to six communities, with four to twenty times as many edges within as between."""
    k, ratio = int(rng.integers(3, 7)), rng.uniform(4, 20)
    inside = min(0.9, degree / (n / k * (1 + (k - 1) / ratio)))
    block = np.arange(n) % k
    chance = np.where(block[:, None] == block, inside, inside / ratio)
    # stochastic_block_model of networkx draws other edges in other versions
    return joined_by(np.argwhere(np.triu(rng.random((n, n)) < chance, 1)), n)


def erdos_renyi(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    return nx.gnp_random_graph(n, degree / n, seed=seed)


def planar(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    """Delaunay triangles of random points; sides are lost where the degree is to be below 6."""
    corners = Delaunay(rng.uniform(size=(n, 2))).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    sides = np.unique(np.sort(sides, axis=1), axis=0)
    if degree < 2 * len(sides) / n:
        sides = sides[rng.random(len(sides)) < degree * n / 2 / len(sides)]
    return joined_by(sides, n)


def hubs(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    """Three to twelve hubs, which 40 to 90 % of the edges lead to; the others join any nodes."""
    count, size = int(rng.integers(3, 13)), max(1, round(degree * n / 2))
    edges = rng.integers(0, n, (size, 2))
    edges[: int(rng.uniform(0.4, 0.9) * size), 0] %= count
    return joined_by(edges[edges[:, 0] != edges[:, 1]], n)


def uneven_blocks(rng: Rng, n: int, degree: float, seed: int) -> nx.Graph:
    """Communities whose nodes have expected degrees of heavy tails."""
    k, ratio, size = int(rng.integers(3, 7)), rng.uniform(4, 20), 1 + rng.pareto(rng.uniform(1.5, 3), n)
    block = np.arange(n) % k
    chance = size[:, None] * size * np.where(block[:, None] == block, 1, 1 / ratio)
    chance = np.triu(np.minimum(0.9, chance * degree * n / chance.sum()), 1)
    return joined_by(np.argwhere(rng.random((n, n)) < chance), n)


def joined_by(edges: Floats, n: int) -> nx.Graph:
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges.tolist())
    return graph


KINDS: dict[str, Callable[[Rng, int, float, int], nx.Graph]] = {
    "preferential attachment": attached,
    "attachment in triangles": attached_in_triangles,
    "small worlds": small_world,
    "geometric": geometric,
    "blocks": blocks,
    "Erdos-Renyi": erdos_renyi,
    "planar": planar,
    "hubs": hubs,
    "uneven blocks": uneven_blocks,
}
SPARSE = "sparse, of all kinds in turn"


def drawn_pair(kind: str, number: int, is_shared: bool) -> tuple[csr_array, csr_array, Floats]:
    """A network of 60 to 320 nodes, and one made of it, or another of that kind; the truth is -1 where there is none.

    The second has lost up to half of its edges, in every second pair as often in each decade, and got up to as many
    new ones. Every third first network lacks up to a fifth of its nodes.
    """
    rng = np.random.default_rng([number, is_shared, *kind.encode()])
    n = int(rng.integers(60, 321))
    degrees, draw = DEGREES, KINDS.get(kind)
    if draw is None:
        degrees, draw = SPARSE_DEGREES, list(KINDS.values())[number % len(KINDS)]
    degree = min(level(rng, *degrees), n / 2, 2 * MAX_EDGES / n)
    graphs = [draw(rng, n, degree, int(rng.integers(2**31))) for _ in range(1 if is_shared else 2)]
    first, second = (np.array(graph.edges()) for graph in (graphs[0], graphs[-1]))
    order, truth = rng.permutation(n), np.full(n, -1)
    if is_shared:
        lost = rng.uniform(0, MOST_LOST) if number % 2 else level(rng, LEAST_LOST, MOST_LOST)
        kept = second[rng.random(len(second)) >= lost]
        second = np.concatenate([kept, rng.integers(0, n, (int(rng.uniform(0, lost) * len(second)), 2))])
        truth = order
    sides = adjacency(first, n), adjacency(order[second], n)
    if rng.random() < 1 / 3:
        left = np.sort(rng.permutation(n)[: n - int(rng.uniform(0, 0.2) * n)])
        return sides[0][left][:, left], sides[1], truth[left]
    return *sides, truth


def observe_drawn(kind: str, number: int, is_shared: bool) -> Seen:
    return observe(*drawn_pair(kind, number, is_shared))


def observe_held(folder: Path, kind: str, number: int) -> Seen:
    first, second, truth = network_pair(folder, kind, number)
    return observe(*(adjacency(edges, len(truth)) for edges in (first, second)), truth)


def observe(first: csr_array, second: csr_array, truth: Floats) -> Seen:
    """Align two networks, of which the first is no larger, and look at all matches."""
    networks = Networks.of((first, second), None, None, None, None, None)
    matches = ao.align_graphs(first, second, rng=0).matches
    return observations(networks.problem(), matches, networks.hashes()) | {"is_right": matches == truth}


def jobs(folder: Path, is_fit: bool) -> Iterator[Job]:
    if not is_fit:
        for kind, count in NETWORKS.items():
            if kind != "real" or (folder / "graph_alignment").exists():
                yield from (Job(f"held out, {kind}", k, observe_held, (folder, kind, k)) for k in range(count))
        return
    for kind in (*KINDS, SPARSE):
        yield from (Job(kind, k, observe_drawn, (kind, k, True)) for k in range(PAIRS))
    strangers = [(kind, k, False) for k in range(STRANGERS) for kind in KINDS]
    yield from (Job(NOTHING, k, observe_drawn, arguments) for k, arguments in enumerate(strangers))
    yield from (Job(NOTHING_SPARSE, k, observe_drawn, (SPARSE, k, False)) for k in range(STRANGERS * len(KINDS)))


def fit(found: dict[str, list[Seen]]) -> dict[str, Fit]:
    """Both models: `by_chance` from networks with nothing in common, `match` from all."""
    strangers = [*found[NOTHING], *found[NOTHING_SPARSE]]
    alone = joined(strangers, ("degree", "common edges"))
    by_chance = linear({"degree": alone["degree"]}, alone["common edges"])
    seen = [one for pairs in found.values() for one in pairs]
    known = [_features(one, by_chance) for one in seen]
    total = joined(seen, ("is_right", "alike"))
    counts = [sum(len(one["is_right"]) for one in pairs) for pairs in found.values()]
    weights = weights_of(counts, [STRANGERS_SHARE if kind in (NOTHING, NOTHING_SPARSE) else 1.0 for kind in found])
    match = fitted(joined(known, known[0]), total["is_right"], weights, total["alike"])
    return {
        "match": Fit(match, len(seen), len(weights)),
        "by_chance": Fit(by_chance, len(strangers), len(strangers)),
    }


def _features(seen: Seen, by_chance: object) -> dict[str, Floats]:
    """Features of all nodes, also of those features that all nodes share."""
    return {name: np.broadcast_to(value, len(seen["is_right"])) for name, value in features_of(seen, by_chance).items()}


def judge(pairs: list[Seen], models: Models) -> dict[str, tuple[Floats, Floats]]:
    chances = [models["match"].probability(_features(one, models["by_chance"])) / one["alike"] for one in pairs]
    return {"": (np.concatenate(chances), np.concatenate([one["is_right"] for one in pairs]))}


TASK = Task(
    jobs,
    fit,
    judge,
    {
        "match": "pairs of random networks of nine kinds (preferential attachment with and without triangles, small "
        "worlds, geometric, blocks, Erdos-Renyi, planar, hubs, uneven blocks; 60 to 320 nodes, degree 3 to 34, up to "
        "half of the edges lost and as many added, a third with up to a fifth of the nodes missing), sparse ones of "
        "degree 1.2 to 3.5, and, with a tenth of the weight, pairs with nothing in common",
        "by_chance": "pairs of random networks of these kinds with nothing in common, by least squares",
    },
)
