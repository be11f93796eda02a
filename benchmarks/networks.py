"""How many nodes each method matches correctly: networks with a known correspondence, fixed seeds, one run, one thread.

    python benchmarks/networks.py                     align_graphs alone, in about ten minutes
    python benchmarks/networks.py --rivals 1          with the others, on the first graph of every cell
    python benchmarks/networks.py --fugal FOLDER      with FUGAL's program too, from a checkout of idea-iitd/Fugal
    python benchmarks/networks.py --large             all pairs of 5000 nodes of degree 10, and how time grows
    python benchmarks/networks.py --cells sparse      only what begins with these letters
    python benchmarks/networks.py --few 3             with a few candidates for each node: 20 000 nodes, three of a kind

Random graphs and their noise are those of arXiv 2510.03086 (n = 500), whose published figures stand beside: sparse ones
have degree 4, dense ones 80, regular ones 10. Edges of Erdős-Rényi graphs are lost with the chance that is the noise,
and as many others appear; in regular ones pairs of edges exchange ends. "common" is the share of the planted common
edges that a method finds (a better matching than the planted one is above 1), "right" the share of the nodes. Graphs
have the seeds 100 to 104, which nothing was tuned on. "FAQ from convex" starts where 200 steps of the convex problem
lead; on regular graphs that is the matrix of equal entries, so there it is plain FAQ. Times are CPU seconds. Real
networks: `graph_alignment` in the folder of data.

With --few the networks of 20 000 nodes have degree 10; one of them loses 5 % of its edges. Each is aligned in a process
of its own, for its memory; of several, the least share and the most time and memory are stated. Few candidates and all
pairs of nodes meet on small worlds of 1000 nodes, which lose or exchange 20 % of their edges.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads its BLAS

import argparse
import itertools
import random
import resource
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment, quadratic_assignment
from scipy.sparse import coo_array, csr_array

import anchorot as ao
from measure import Row, table, write_results

DATA = Path(os.environ.get("ANCHOROT_DATA", Path(__file__).parents[2] / "shared" / "data"))
SEEDS = range(100, 105)
SIZE, DEGREES = 500, {"sparse": 4, "dense": 80, "regular": 10}


class Pair(NamedTuple):
    """Two networks; node i of the first is truth[i] of the second."""

    first: csr_array
    second: csr_array
    truth: np.ndarray

    def common(self, matches: np.ndarray) -> float:
        """Number of common edges."""
        return float(self.first.multiply(self.second[matches][:, matches]).sum()) / 2


# -- networks ------------------------------------------------------------------------------------------------------


def random_pair(kind: str, noise: float, seed: int, n: int = SIZE) -> Pair:
    """A graph and its noisy copy, shuffled."""
    rng = np.random.default_rng([seed, round(noise * 1000), sorted(DEGREES).index(kind)])
    if kind == "regular":
        own = int(rng.integers(2**31))
        graph = nx.random_regular_graph(DEGREES[kind], n, seed=own)
        pair = graph, swapped(graph, noise, random.Random(own + 1))
        first, second = (nx.to_numpy_array(each, nodelist=range(n)) > 0 for each in pair)
    else:
        p = DEGREES[kind] / n
        first = erdos_renyi(n, p, rng)
        lost, new = erdos_renyi(n, noise, rng), erdos_renyi(n, p * noise / (1 - p), rng)
        second = np.where(first, ~lost, new)
    truth = rng.permutation(n)
    order = np.argsort(truth)
    return Pair(csr_array(first * 1.0), csr_array(second[np.ix_(order, order)] * 1.0), truth)


def erdos_renyi(n: int, p: float, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.random((n, n)) < p, 1)
    return upper | upper.T


def swapped(graph: nx.Graph, noise: float, rng: random.Random) -> nx.Graph:
    """Exchange ends of pairs of edges, so that degrees stay."""
    moved = graph.copy()
    ends = [*graph.edges, *((v, u) for u, v in graph.edges)]
    for u, v in ends:
        if rng.random() >= noise:
            continue
        for s, t in ends:
            if rng.random() >= noise or u == t or s == v:
                continue
            if moved.has_edge(u, v) and moved.has_edge(s, t) and not (moved.has_edge(u, t) or moved.has_edge(s, v)):
                moved.remove_edges_from([(u, v), (s, t)])
                moved.add_edges_from([(u, t), (s, v)])
    return moved


def rewired_pair(n: int, degree: int, noise: float, seed: int) -> Pair:
    """A sparse random graph of any size, and a copy with some edges lost and as many new ones."""
    rng = np.random.default_rng(seed)
    edges = np.unique(np.sort(rng.integers(0, n, (n * degree // 2 + n // 2, 2))), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    kept = edges[rng.random(len(edges)) >= noise]
    new = rng.integers(0, n, (len(edges) - len(kept), 2))
    return shuffled(edges, np.concatenate([kept, new]), n, rng)


def shuffled(first: np.ndarray, second: np.ndarray, n: int, rng: np.random.Generator) -> Pair:
    truth = rng.permutation(n)
    return Pair(adjacency(first, n), adjacency(truth[second], n), truth)


def adjacency(edges: np.ndarray, n: int) -> csr_array:
    edges = edges[edges[:, 0] != edges[:, 1]]
    found = coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n)).tocsr()
    found = found + found.T
    found.data[:] = 1
    return found


def real_pair(name: str, seed: int) -> Pair:
    """Networks from the folder of data: arenas loses a fifth of its edges, the others come in pairs."""
    edges, rng = np.load(DATA / "graph_alignment" / "graphs.npz"), np.random.default_rng(seed)
    if name == "arenas":
        whole = np.unique(np.sort(edges["arenas"]), axis=0)
        whole = whole[whole[:, 0] != whole[:, 1]]
        kept = whole[rng.permutation(len(whole))[: round(0.8 * len(whole))]]
        return shuffled(kept, whole, 1 + int(whole.max()), rng)
    first, second = {"yeast25": ("yeast0", "yeast25"), "hs80": ("hs80", "hs100")}[name]
    n = 1 + max(int(edges[part].max()) for part in (first, second))
    return shuffled(edges[first], edges[second], n, rng)


LARGE_SIZE = 20_000
LARGE_KINDS: dict[str, Callable[[int, int], nx.Graph]] = {
    "random": lambda n, seed: nx.gnm_random_graph(n, 5 * n, seed=seed),
    "preferential attachment": lambda n, seed: nx.barabasi_albert_graph(n, 5, seed=seed),
    "random regular": lambda n, seed: nx.random_regular_graph(10, n, seed=seed),
    "small world": lambda n, seed: nx.watts_strogatz_graph(n, 10, 0.1, seed=seed),
    "clusters with hubs": lambda n, seed: nx.powerlaw_cluster_graph(n, 5, 0.5, seed=seed),
    "geometric": lambda n, seed: nx.random_geometric_graph(n, np.sqrt(10 / (np.pi * n)), seed=seed),
}


def thinned_pair(kind: str, n: int, lost: float, seed: int, is_rewired: bool = False) -> Pair:
    """A large network, and a copy without some edges, or with others in their place."""
    rng = np.random.default_rng([seed, 7])
    edges = np.array(LARGE_KINDS[kind](n, seed).edges)
    kept = edges[rng.random(len(edges)) >= lost]
    new = rng.integers(0, n, (len(edges) - len(kept) if is_rewired else 0, 2))
    return shuffled(edges, np.concatenate([kept, new]), n, rng)


# -- methods -------------------------------------------------------------------------------------------------------


def ours(pair: Pair) -> np.ndarray:
    return ao.align_graphs(pair.first, pair.second, rng=0).matches


def ours_on_all_pairs(pair: Pair) -> np.ndarray:
    return ao.align_graphs(pair.first, pair.second, sparse=False, rng=0).matches


def ours_on_candidates(pair: Pair) -> np.ndarray:
    return ao.align_graphs(pair.first, pair.second, sparse=True, rng=0).matches


def ours_on_paths(pair: Pair) -> np.ndarray:
    spaces = [ao.from_graph(graph, disconnected=20.0) for graph in pair[:2]]
    return ao.align(*spaces, rng=0).matches


def faq(pair: Pair, start: np.ndarray | str = "barycenter") -> np.ndarray:
    first, second = pair.first.toarray(), pair.second.toarray()
    return quadratic_assignment(first, second, options={"maximize": True, "P0": start, "rng": 0}).col_ind


def faq_from_convex(pair: Pair) -> np.ndarray:
    return faq(pair, convex_plan(pair.first.toarray(), pair.second.toarray()))


def convex_plan(a: np.ndarray, b: np.ndarray, steps: int = 200) -> np.ndarray:
    """The doubly stochastic P of least |AP - PB|², nearly, by conditional gradient."""
    plan = np.full(a.shape, 1 / len(a))
    for _ in range(steps):
        gap = a @ plan - plan @ b
        gradient = a.T @ gap - gap @ b.T
        way = -plan
        way[np.arange(len(a)), linear_sum_assignment(gradient)[1]] += 1
        turn = a @ way - way @ b
        length = min(1.0, -float((gap * turn).sum()) / max(1e-30, float((turn * turn).sum())))
        if length < 1e-4:
            break
        plan += length * way
    return plan


def bapg(pair: Pair) -> np.ndarray:
    import ot

    plan = ot.gromov.BAPG_gromov_wasserstein(pair.first.toarray(), pair.second.toarray(), epsilon=0.1, max_iter=500)
    return linear_sum_assignment(plan, maximize=True)[1]


def fugal(pair: Pair) -> np.ndarray:
    from helpers.pred import predict_alignment

    graphs = [nx.from_scipy_sparse_array(graph) for graph in pair[:2]]
    found = predict_alignment([graphs[0]], [graphs[1]], mu=1, niter=15)[0][0]
    matches = np.zeros(pair.first.shape[0], np.int64)
    for i, j in found:
        matches[i] = j
    return matches


RIVALS = {
    "FAQ": faq,
    "FAQ from convex": faq_from_convex,
    "POT BAPG": bapg,
    "align on paths": ours_on_paths,
}


# -- the table -----------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """Five networks of one kind: their name, what must be reached, and what is published."""

    name: str
    make: Callable[[int], Pair]
    bar: float | None = None
    right: float | None = None
    published: str = ""


def cells() -> list[Cell]:
    bars = {
        ("sparse", 0.2): (0.99, "723 / 800 of 800"),
        ("sparse", 0.25): (0.97, "504 / 730 of 748"),
        ("sparse", 0.3): (0.90, "487 / 626 of 698"),
        ("sparse", 0.35): (0.83, "485 / 534 of 648"),
        ("dense", 0.2): (None, "15972 / 15779 of 16000"),
        ("dense", 0.25): (0.99, "7922 / 11227 of 15000"),
        ("dense", 0.3): (0.45, "6272 / 6258 of 13900"),
        ("regular", 0.05): (1.0, "425 / 2059 of 2036"),
        ("regular", 0.1): (0.8, "456 / 1438 of 1643"),
    }
    made = [
        Cell(f"{kind} {noise}", lambda seed, kind=kind, noise=noise: random_pair(kind, noise, seed), bar, None, said)
        for (kind, noise), (bar, said) in bars.items()
    ]
    if (DATA / "graph_alignment").is_dir():
        real = {"yeast25": (8320 / 8323, 0.73), "arenas": (None, 0.92), "hs80": (1.0, 1.0)}
        made += [
            Cell(name, lambda seed, name=name: real_pair(name, seed), bar, right) for name, (bar, right) in real.items()
        ]
    return made


def measured(method: Callable[[Pair], np.ndarray], pairs: list[Pair]) -> tuple[float, float, float]:
    """Mean share of the planted common edges, of the right nodes, and CPU seconds."""
    found = []
    for pair in pairs:
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matches = method(pair)
        spent = time.process_time() - begin
        found.append((pair.common(matches) / pair.common(pair.truth), np.mean(matches == pair.truth), spent))
    common, right, seconds = np.mean(found, axis=0)
    return float(common), float(right), float(seconds)


def rows_of(cell: Cell, n_rivals: int, rivals: dict[str, Callable[[Pair], np.ndarray]]) -> list[Row]:
    pairs = [cell.make(seed) for seed in SEEDS]
    planted = np.mean([pair.common(pair.truth) for pair in pairs])
    common, right, seconds = measured(ours, pairs)
    said = f"common {common:.3f} of {planted:.0f}, right {right:.3f}, {seconds:.1f} s"
    bars = [f"{name} {bar:.4g}" for name, bar in (("common", cell.bar), ("right", cell.right)) if bar is not None]
    holds = common >= (cell.bar or 0) - 5e-5 and right >= (cell.right or 0) - 5e-5 if bars else None
    published = f" (published, untrained / trained: {cell.published})" if cell.published else ""
    rows = [Row(f"{cell.name}: align_graphs{published}", said, ", ".join(bars), holds)]
    for name, method in rivals.items() if n_rivals else ():
        common, right, seconds = measured(method, pairs[:n_rivals])
        rows.append(Row(f"{cell.name}: {name}", f"common {common:.3f}, right {right:.3f}, {seconds:.1f} s"))
    print(table(rows), flush=True)
    return rows


def growth_rows() -> list[Row]:
    rows = []
    for n in (500, 1000, 2000, 5000):
        pair = rewired_pair(n, 10, 0.05, 100)
        common, right, seconds = measured(ours_on_all_pairs, [pair])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        is_last = n == 5000
        rows.append(
            Row(
                f"{n} nodes of degree 10, 5 % noise",
                f"common {common:.3f}, right {right:.3f}, {seconds:.0f} s, {peak:.1f} GB so far",
                "5 minutes, 8 GB" if is_last else "",
                seconds <= 300 and peak <= 8 if is_last else None,
            )
        )
        print(table(rows[-1:]), flush=True)
    return rows


def one_large(kind: str, n: int, lost: float, seed: int) -> tuple[float, float, float, float]:
    """Shares of common edges and right nodes, CPU seconds, and gigabytes, of a process that does nothing else."""
    pair = thinned_pair(kind, n, lost, seed)
    found = measured(ours, [pair])
    return *found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def few_rows(repeats: int, n: int, kinds: str) -> list[Row]:
    """Few candidates of each node: in large networks, and beside all pairs of nodes."""
    rows = []
    for kind in LARGE_KINDS:
        if not kind.startswith(kinds):
            continue
        found = []
        for seed in range(100, 100 + repeats):
            with ProcessPoolExecutor(1) as process:
                found.append(process.submit(one_large, kind, n, 0.05, seed).result())
        common, right, spent, peak = (np.array(part) for part in zip(*found, strict=True))
        said = f"common {common.min():.4f}, right {right.min():.4f}, {spent.max():.0f} s, {peak.max():.2f} GB"
        holds = common.min() >= 1 and spent.max() <= 60 and peak.max() <= 1.5
        rows.append(Row(f"{n} nodes, {kind}, 5 % lost, few candidates", said, "common 1, 60 s, 1.5 GB", bool(holds)))
        print(table(rows[-1:]), flush=True)
    return rows


def few_against_all_rows(repeats: int) -> list[Row]:
    rows = []
    for noise, is_rewired in (("lost", False), ("exchanged", True)):
        pairs = [thinned_pair("small world", 1000, 0.2, seed, is_rewired) for seed in range(100, 100 + repeats)]
        few, every = (measured(method, pairs) for method in (ours_on_candidates, ours_on_all_pairs))
        said = f"common {few[0]:.3f}, all pairs {every[0]:.3f}, {few[2]:.1f} s, {every[2]:.1f} s"
        holds = few[0] >= 0.9 * every[0]
        name = f"1000 nodes, small world, 20 % {noise}: few candidates"
        rows.append(Row(name, said, f"at least {0.9 * every[0]:.3f}", bool(holds)))
        print(table(rows[-1:]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", type=int, default=0, metavar="N", help="others, on N graphs of each cell")
    parser.add_argument("--fugal", type=Path, metavar="FOLDER", help="a checkout with FUGAL's helpers")
    parser.add_argument("--large", action="store_true", help="up to 5000 nodes too")
    parser.add_argument("--few", type=int, default=0, metavar="N", help="a few candidates, on N networks of each kind")
    parser.add_argument("--size", type=int, default=LARGE_SIZE, metavar="N", help="nodes, for --few")
    parser.add_argument("--cells", default="", metavar="NAME", help="what the names of cells begin with")
    parser.add_argument("--write", action="store_true", help="also write record.toml")
    options = parser.parse_args()
    rivals = dict(RIVALS)
    if options.fugal is not None:
        sys.path.insert(0, str(options.fugal))
        rivals["FUGAL"] = fugal
    chosen = [cell for cell in cells() if cell.name.startswith(options.cells)]
    if options.few:
        rows = few_rows(options.few, options.size, options.cells) + few_against_all_rows(options.few)
        print(table(rows))
        if options.write:
            write_results("networks.py", " ".join(sys.argv[1:]), table(rows))
        return
    rows = list(itertools.chain.from_iterable(rows_of(cell, options.rivals, rivals) for cell in chosen))
    rows += growth_rows() if options.large else []
    print(table(rows))
    if options.write:
        write_results("networks.py", " ".join(sys.argv[1:]), table(rows))


if __name__ == "__main__":
    main()
