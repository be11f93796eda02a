"""Crystals: the quality of distances as scores for duplicates, comparisons per neighbour search, and times.

    python benchmarks/crystals.py ../shared/data/crystals

The data are carbon_24: structures, and pairs with what pymatgen's StructureMatcher says of them. k is chosen on a
random half of the pairs; figures are of the other half, for many such splits. With `average-minimum-distance` (the
package `amd`, not a dependency) its times are measured in the same run.
"""

import argparse
import importlib.util
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import numpy as np
from sklearn.metrics import average_precision_score

import anchorot as ao

KS = (10, 20, 30, 50, 75, 100, 150)
K = 100  # of the times
SPLITS = 200


class Carbon:
    """The structures of a file."""

    def __init__(self, folder: Path) -> None:
        found, pairs = np.load(folder / "carbon_24.npz"), np.load(folder / "carbon_24_pairs.npz")
        self.cells, self.places = found["cell"], np.split(found["frac"], np.cumsum(found["n_atoms"])[:-1])
        self.i, self.j, self.weight, self.same = (pairs[name] for name in ("i", "j", "weight", "same_strict"))

    def rows(self, index: int, k: int) -> ao.Rows:
        """Distances to the k nearest atoms in a structure."""
        return ao.from_crystal(self.cells[index], self.places[index], k=k)

    def precision(self, values: np.ndarray, some: np.ndarray) -> float:
        """Average precision of small values as signs of duplicates, by the weights of the pairs."""
        return average_precision_score(self.same[some], -values[some], sample_weight=self.weight[some])


def values_of(carbon: Carbon, k: int) -> dict[str, np.ndarray]:
    """All scores of all pairs."""
    rows = {i: carbon.rows(i, k) for i in np.unique([carbon.i, carbon.j])}
    features = {i: ao.AnchorFeatures.of(each) for i, each in rows.items()}
    means = {i: each.weights @ np.sort(each.values, axis=1) for i, each in rows.items()}
    exact = {"epsilon": 0.0}
    scores = {
        "AW linf": lambda i, j: ao.anchor_wasserstein(rows[i], rows[j], **exact, row_metric="linf").cost,
        "AW": lambda i, j: ao.anchor_wasserstein(rows[i], rows[j], **exact).cost,
        "SAW": lambda i, j: features[i].sliced_to(features[j]),
        "AMD, mean difference": lambda i, j: np.abs(means[i] - means[j]).mean(),
        "AMD, largest difference": lambda i, j: np.abs(means[i] - means[j]).max(),
        "AE": lambda i, j: features[i].energy_to(features[j]),
    }
    pairs = list(zip(carbon.i.tolist(), carbon.j.tolist(), strict=True))
    return {name: np.array([score(i, j) for i, j in pairs]) for name, score in scores.items()}


def quality(carbon: Carbon) -> None:
    values = {k: values_of(carbon, k) for k in KS}
    halves = [np.random.default_rng(seed).random(len(carbon.i)) < 0.5 for seed in range(SPLITS)]
    for name in values[K]:
        found = []
        for half in halves:
            best = max(KS, key=lambda k, half=half, name=name: carbon.precision(values[k][name], half))
            found.append(carbon.precision(values[best][name], ~half))
        low, middle, high = np.quantile(found, [0.1, 0.5, 0.9])
        print(f"{name}: {middle:.3f} ({low:.3f} to {high:.3f}) on the other half, {SPLITS} splits")


def neighbors(carbon: Carbon, k: int) -> None:
    rows = [carbon.rows(i, k) for i in range(len(carbon.cells))]
    start = time.process_time()
    found = ao.pairwise(rows, metric="saw", k=10, n_jobs=1, progress=False)
    each = 1e3 * (time.process_time() - start) / len(rows)
    print(f"10 nearest of {len(rows)}, k={k}: {found.n_exact / len(rows):.1f} comparisons and {each:.2f} ms each")


def times(carbon: Carbon) -> None:
    some = range(0, len(carbon.cells), 10)
    report("from_crystal", lambda: [carbon.rows(i, K) for i in some], len(some))
    features = [ao.AnchorFeatures.of(carbon.rows(i, K)) for i in some]
    pairs = np.random.default_rng(0).integers(0, len(some), (3000, 2)).tolist()
    report("SAW", lambda: [features[i].sliced_to(features[j]) for i, j in pairs], len(pairs))
    report("AE", lambda: [features[i].energy_to(features[j]) for i, j in pairs], len(pairs))
    if importlib.util.find_spec("amd") is None:
        return
    import amd

    made = [amd.PeriodicSet(carbon.places[i] @ carbon.cells[i], carbon.cells[i]) for i in some]
    report("amd.PDD", lambda: [amd.PDD(each, K) for each in made], len(made))
    matrices = [amd.PDD(each, K) for each in made]
    report("amd.EMD", lambda: [amd.EMD(matrices[i], matrices[j]) for i, j in pairs], len(pairs))


def report(what: str, work: object, count: int) -> None:
    """Print the least processor time of several runs."""
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        work()  # type: ignore[operator]
        best = min(best, time.process_time() - start)
    print(f"{what}: {1e6 * best / count:.1f} µs each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    carbon = Carbon(parser.parse_args().folder)
    times(carbon)
    quality(carbon)
    neighbors(carbon, 50)


if __name__ == "__main__":
    main()
