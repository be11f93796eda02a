"""How few rewired edges tests of graph generators detect, and how long they take.

    python benchmarks/generators.py                       `GraphDistance` and `graph_model_test`
    python benchmarks/generators.py --polygraph           beside polygraph-benchmark, if it is installed
    python benchmarks/generators.py --repeats 20 --sizes 32 128 512

Planar graphs (64 nodes, of a Delaunay triangulation), stochastic block models (3 blocks of 20) and lobsters, against as
many fresh ones of which a share of the edges leads elsewhere. Power is how often p <= 0.05.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
import time
import warnings
from collections.abc import Callable
from multiprocessing import Pool

import networkx as nx
import numpy as np
from scipy.spatial import Delaunay

import anchorot as ao

LEVEL = 0.05
REWIRED = (0.0, 0.01, 0.03, 0.1)


def planar(rng: np.random.Generator) -> nx.Graph:
    corners = Delaunay(rng.random((64, 2))).simplices
    return nx.Graph((int(a), int(b)) for three in corners for a, b in zip(three, np.roll(three, 1), strict=True))


def blocks(rng: np.random.Generator) -> nx.Graph:
    inside = np.equal.outer(np.arange(60) // 20, np.arange(60) // 20)
    found = nx.empty_graph(60)
    found.add_edges_from(np.argwhere(np.triu(rng.random((60, 60)) < np.where(inside, 0.3, 0.01), 1)).tolist())
    return found


def lobster(rng: np.random.Generator) -> nx.Graph:
    found = nx.empty_graph(0)
    while not 10 <= len(found) <= 100:
        found = nx.random_lobster(40, 0.7, 0.7, seed=int(rng.integers(1 << 30)))
    return nx.convert_node_labels_to_integers(found)


MODELS: dict[str, Callable[[np.random.Generator], nx.Graph]] = {"planar": planar, "SBM": blocks, "lobster": lobster}


def rewire(graph: nx.Graph, share: float, rng: np.random.Generator) -> nx.Graph:
    """Each edge, with this probability, leads from its first node to any other."""
    found = nx.empty_graph(len(graph))
    for a, b in graph.edges:
        other = int(rng.integers(len(graph))) if rng.random() < share else b
        found.add_edge(a, other if other != a else b)
    return found


def by_distance(first: list, second: list, seed: int) -> float:
    return ao.GraphDistance(first).compute(second, n_resamples=199, rng=seed).pvalue


def by_model_test(statistic: str) -> Callable[[list, list, int], float]:
    def pvalue(first: list, second: list, seed: int) -> float:
        return ao.graph_model_test(first, second, statistic, n_resamples=199, rng=seed, progress=False).pvalue

    return pvalue


def by_polygraph(descriptor: str) -> Callable[[list, list, int], float]:
    """Its permutation test of the largest MMD over kernel widths, on histograms of one descriptor."""

    def pvalue(first: list, second: list, seed: int) -> float:
        from polygraph.two_sample_tests import BootStrapMaxMMDTest
        from polygraph.utils import descriptors
        from polygraph.utils.kernels import AdaptiveRBFKernel

        makers = {
            "degree": descriptors.SparseDegreeHistogram,
            "clustering": lambda: descriptors.ClusteringHistogram(bins=100),
            "orbits": descriptors.OrbitCounts,
            "spectrum": descriptors.EigenvalueHistogram,
        }
        kernel = AdaptiveRBFKernel(descriptor_fn=makers[descriptor](), bw=np.array(WIDTHS))
        return float(BootStrapMaxMMDTest(first, kernel).compute(second, num_samples=199))

    return pvalue


def discrepancy(first: list, second: list) -> float:
    """PolyGraph Discrepancy of the same descriptors by logistic regression: a score without a p-value."""
    from polygraph.metrics.base.polygraphdiscrepancy import PolyGraphDiscrepancy
    from polygraph.utils import descriptors
    from sklearn.linear_model import LogisticRegression

    seen = {
        "degree": descriptors.SparseDegreeHistogram(),
        "clustering": descriptors.ClusteringHistogram(bins=100),
        "orbits": descriptors.OrbitCounts(),
        "spectrum": descriptors.EigenvalueHistogram(),
    }
    return float(PolyGraphDiscrepancy(first, seen, classifier=LogisticRegression(max_iter=1000)).compute(second)["pgd"])


WIDTHS = (0.01, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)  # its own
TESTS = {
    "GraphDistance": by_distance,
    "graph_model_test, degree": by_model_test("degree"),
    "graph_model_test, clustering": by_model_test("clustering"),
}


PEERS = {f"MMD, {name}": by_polygraph(name) for name in ("degree", "clustering", "orbits", "spectrum")}


def tested(job: tuple[str, int, float, int, bool]) -> list[tuple[float, float]]:
    """Whether each rejects, and its seconds; of the discrepancy its value."""
    model, size, share, seed, with_polygraph = job
    rng = np.random.default_rng([seed, size, round(1000 * share), list(MODELS).index(model)])
    first = [MODELS[model](rng) for _ in range(size)]
    second = [rewire(MODELS[model](rng), share, rng) for _ in range(size)]
    found = []
    for pvalue in (TESTS | PEERS if with_polygraph else TESTS).values():
        start = time.perf_counter()
        found.append((float(pvalue(first, second, seed) <= LEVEL), time.perf_counter() - start))
    if with_polygraph:
        start = time.perf_counter()
        found.append((discrepancy(first, second), time.perf_counter() - start))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 128, 512])
    parser.add_argument("--polygraph", action="store_true", help="its permutation MMDs and discrepancy")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [*TESTS, *([*PEERS, "discrepancy (its value)"] if options.polygraph else [])]
    print(f"| graphs | per side | rewired | {' | '.join(f'{name} | s' for name in names)} |")
    print((3 + 2 * len(names)) * "|---" + "|")
    with Pool() as pool:
        for model in MODELS:
            for size in options.sizes:
                for share in REWIRED:
                    jobs = [(model, size, share, seed, options.polygraph) for seed in range(options.repeats)]
                    found = np.array(pool.map(tested, jobs, chunksize=1), float).mean(axis=0)
                    shown = " | ".join(f"{power:.2f} | {seconds:.2g}" for power, seconds in found)
                    print(f"| {model} | {size} | {share:g} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
